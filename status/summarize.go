package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Input is what a set is summed up from. All numbers are nodes; negative ones count as 0.
type Input struct {
	// Now is the instant of the snapshot, used for transition times only. If it is zero, so are they.
	Now time.Time
	// Generation of the spec that was planned for.
	Generation int64
	// Counts as made by [Counts.Add]. Unavailable is derived again, so that it cannot disagree.
	Counts Counts
	// UpdateRevision is the hash of the revision to roll out; empty: unknown, its rollout is never latched as
	// complete.
	UpdateRevision string
	// StableRevision is the hash of the last promoted revision; reported only.
	StableRevision string
	// CollisionCount as apps/v1 keeps it; nil: none so far. Reported only.
	CollisionCount *int32

	// Paused, Frozen, OnDelete as the spec has them (T4, T5).
	Paused, Frozen, OnDelete bool

	// Settled are desired nodes with an available live pod of the update revision. More than Counts.Updated
	// or Counts.Available do not count. Those two cannot stand in for it: under surge one node's new pod may
	// be updated and its old one available.
	Settled int32
	// Outdated are desired nodes with live pods, none of the update revision, and those that a first installation
	// leaves empty (T7).
	Outdated int32
	// Held are those Outdated nodes that the spec keeps from being updated (T2, T3). With OnDelete all are.
	Held int32
	// Waiting are those Outdated nodes that may be updated, but found no room in the budget.
	Waiting int32
	// Acting: the plan acts, or an earlier request is not observed yet.
	Acting bool

	// Trial is how the canary of the update revision stands (C rules). The zero value: there is none.
	Trial Trial

	// MaxUnavailable is the limit on unavailable nodes, percentages resolved (B1). 0 with surge.
	MaxUnavailable int32
	// Unavailable is what is spent of MaxUnavailable after the plan (B2). It is not Counts.Unavailable: an
	// outdated Ready pod serves here, and a pod that the plan deletes does not.
	Unavailable int32
	// MaxSurge is the number of surge places, percentages resolved (B1). 0: no surge.
	MaxSurge int32
	// HeldUnavailable are nodes that count against the limit in force (MaxSurge, or without surge
	// MaxUnavailable) and that the planner will not mend because the spec holds them back.
	HeldUnavailable int32

	// Previous are the conditions of the last Status. Of two of one type the first counts; types other than
	// those of this package are dropped.
	Previous []metav1.Condition
	// CompletedRevision of the last Status. Empty: none.
	CompletedRevision string
}

// Trial is how the canary of a revision stands, as far as the status goes. It outlives the reboot of a canary node: what
// it says follows the revision (S3).
type Trial struct {
	// State is Canary, CanaryPaused, CanaryFailed, or Stuck for a canary without nodes (C1). Unknown, and any other:
	// nothing is on trial.
	State SetState
	// Held tells that something in the spec holds a node of the canary at its old revision (T2, I1).
	Held bool
	// Promoted tells that the update revision was tried and is promoted. It counts only while nothing is on trial.
	Promoted bool
	// Reason and Message of the condition Canary. A reason that the API would refuse for a condition, the empty one too,
	// gives way to one of this package; a message that is too long is cut.
	Reason, Message string
}

// on tells whether the revision is tried, or was and failed: its rollout is then not complete, wherever its pods are.
func (t *Trial) on() bool {
	switch t.State {
	case Canary, CanaryPaused, CanaryFailed, Stuck:
		return true
	default:
		return false
	}
}

// Status of a set. The zero value is that of a set not planned yet.
type Status struct {
	Counts
	// ObservedGeneration is the generation of the spec that was planned for.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// UpdateRevision is the hash of the revision that is rolled out.
	UpdateRevision string `json:"updateRevision,omitempty"`
	// StableRevision is the hash of the last promoted revision.
	StableRevision string `json:"stableRevision,omitempty"`
	// CollisionCount of revision names; nil: none so far.
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// State is the one word (S2), Reason why it is that one.
	State  SetState        `json:"state"`
	Reason ConditionReason `json:"reason"`
	// DisruptionsAllowed is how many more available nodes the budget would let go now (S4): max(0,
	// MaxUnavailable - Unavailable) of the Input. It tells of the budget alone, not whether anything is
	// paused or held.
	DisruptionsAllowed int32 `json:"disruptionsAllowed"`
	// Conditions are Available, Progressing and, of a revision that is or was tried, Canary, in this order.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// CompletedRevision is UpdateRevision if its rollout was seen complete, now or earlier, and empty
	// otherwise. A rollout that is superseded before it is complete clears it, so that a rollback is a
	// rollout again.
	CompletedRevision string `json:"completedRevision,omitempty"`
}

// Summarize derives the status of a set.
//
// The state is the first that applies:
//   - Frozen, Paused: the spec says so, even if nothing is left to do. Both stop a canary (C7).
//   - CanaryFailed, CanaryPaused: the trial says so.
//   - Stuck: the canary has no nodes; or nodes wait for the budget, nothing is under way, and HeldUnavailable alone uses
//     up the limit in force.
//   - Canary: the revision is on trial.
//   - Updating: nodes that are not held are outdated, or the first rollout of the revision is not complete.
//     The reason is WaitingForAvailability if nothing is under way and either nodes wait for the budget or no
//     node is left to update.
//   - Running: otherwise. The reason tells whether held nodes remain.
//
// A rollout is complete when every desired node is settled. Without desired nodes it is complete too, but
// recorded as such only if no other node has a pod either: one there may be outdated, and its node may become
// desired. While the revision is on trial, and after it failed, it is not complete, even if canary nodes are all there
// are; what was recorded before is forgotten.
func Summarize(in Input) Status {
	in.Counts.Unavailable = minus(in.Counts.Desired, in.Counts.Available)
	p := progressOf(&in)
	s := Status{
		Counts:             in.Counts,
		ObservedGeneration: in.Generation,
		UpdateRevision:     in.UpdateRevision,
		StableRevision:     in.StableRevision,
		CollisionCount:     clone(in.CollisionCount),
		DisruptionsAllowed: minus(in.MaxUnavailable, in.Unavailable),
	}
	s.State, s.Reason = stateOf(&in, p)
	s.Conditions = conditions(&in, p, s.State, s.Reason)
	if p.latched {
		s.CompletedRevision = in.UpdateRevision
	}
	return s
}

// DaemonSetStatus is s as an apps/v1 status, which kubectl understands: the counters, observed generation,
// collision count and conditions. It has no place for the rest. Nothing in it is shared with s.
func (s Status) DaemonSetStatus() appsv1.DaemonSetStatus {
	var conditions []appsv1.DaemonSetCondition
	for _, c := range s.Conditions {
		conditions = append(conditions, appsv1.DaemonSetCondition{
			Type:               appsv1.DaemonSetConditionType(c.Type),
			Status:             corev1.ConditionStatus(c.Status),
			LastTransitionTime: c.LastTransitionTime,
			Reason:             c.Reason,
			Message:            c.Message,
		})
	}
	return appsv1.DaemonSetStatus{
		CurrentNumberScheduled: s.Current,
		NumberMisscheduled:     s.Misscheduled,
		DesiredNumberScheduled: s.Desired,
		NumberReady:            s.Ready,
		ObservedGeneration:     s.ObservedGeneration,
		UpdatedNumberScheduled: s.Updated,
		NumberAvailable:        s.Available,
		NumberUnavailable:      s.Unavailable,
		CollisionCount:         clone(s.CollisionCount),
		Conditions:             conditions,
	}
}

// progress is how far the rollout is.
type progress struct {
	settled  int32
	held     int32
	free     int32 // outdated and not held
	reached  bool  // the rollout is as far as the spec lets it go
	complete bool  // reached, and nothing is held
	latched  bool  // complete now or earlier, and known by the revision's name
}

func progressOf(in *Input) progress {
	outdated := max(0, in.Outdated)
	p := progress{
		settled: max(0, min(in.Settled, in.Counts.Updated, in.Counts.Available)),
		held:    max(0, min(in.Held, outdated)),
	}
	if in.OnDelete {
		p.held = outdated
	}
	p.free = outdated - p.held
	if in.Trial.on() {
		return p
	}
	p.reached = p.free == 0 && int64(p.settled)+int64(p.held) >= int64(in.Counts.Desired)
	p.complete = p.reached && p.held == 0
	seen := p.complete && (in.Counts.Desired > 0 || in.Counts.Misscheduled <= 0)
	p.latched = in.UpdateRevision != "" && (seen || in.UpdateRevision == in.CompletedRevision)
	return p
}

func stateOf(in *Input, p progress) (SetState, ConditionReason) {
	switch {
	case in.Frozen:
		return Frozen, FrozenBySpec
	case in.Paused:
		return Paused, PausedBySpec
	case in.Trial.State == CanaryFailed:
		return CanaryFailed, CanaryRejected
	case in.Trial.State == CanaryPaused:
		return CanaryPaused, CanaryOnHold
	case in.Trial.State == Stuck:
		return Stuck, CanaryWithoutNodes
	case stuck(in):
		return Stuck, HeldPodsUseUpBudget
	case in.Trial.State == Canary && in.Trial.Held && !in.Acting:
		return Stuck, CanaryHeld
	case in.Trial.State == Canary:
		return Canary, CanaryOnTrial
	case p.free > 0 || !p.reached && !p.latched:
		if !in.Acting && (in.Waiting > 0 || p.free == 0) {
			return Updating, WaitingForAvailability
		}
		return Updating, RolloutInProgress
	default:
		return Running, restReason(in, p)
	}
}

// stuck tells whether only a person helps. While held nodes leave any room in the budget, the other
// unavailable nodes may come back by themselves and free it, so that is not stuck.
func stuck(in *Input) bool {
	limit := in.MaxUnavailable
	if in.MaxSurge > 0 {
		limit = in.MaxSurge
	}
	return in.Waiting > 0 && !in.Acting && in.HeldUnavailable > 0 && in.HeldUnavailable >= limit
}

// restReason says why a rollout with nothing left to do rests.
func restReason(in *Input, p progress) ConditionReason {
	switch {
	case p.held == 0:
		return RolloutComplete
	case in.OnDelete:
		return OnDelete
	default:
		return RolloutHeld
	}
}

// minus is a - b, but no less than 0 and without overflow.
func minus(a, b int32) int32 {
	d := int64(max(0, a)) - int64(max(0, b))
	return int32(max(0, d))
}

func clone(v *int32) *int32 {
	if v == nil {
		return nil
	}
	return new(*v)
}
