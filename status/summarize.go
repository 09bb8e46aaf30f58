package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LifecycleCount says how many nodes have a condition of their lifecycle, such as MaintenanceInProgress.
type LifecycleCount struct {
	Condition corev1.NodeConditionType
	Nodes     int32
}

// Input is what [Summarize] derives the status from. All numbers are nodes; negative ones count as 0.
type Input struct {
	// Now is the time of the snapshot. It is used for transition times only; if it is zero, so are they.
	Now time.Time
	// Generation of the spec that was planned for.
	Generation int64
	// Counts as made by [Counts.Add]. Unavailable is computed anew, so that it cannot disagree.
	Counts Counts
	// UpdateRevision is the hash of the revision to roll out. Empty: it is not known, and its rollout is never recorded as
	// complete.
	UpdateRevision string
	// StableRevision is the hash of the last promoted revision; reported only.
	StableRevision string
	// CollisionCount as apps/v1 keeps it; nil: none so far. Reported only.
	CollisionCount *int32

	// Paused, Frozen, OnDelete as the spec has them (T4, T5).
	Paused, Frozen, OnDelete bool

	// Settled is the number of desired nodes with an available live pod of the update revision. It counts as no more than
	// Counts.Updated and Counts.Available. These two cannot replace it: under surge one node's new pod may be updated and
	// its old one available.
	Settled int32
	// Outdated is the number of desired nodes that have live pods, but none of the update revision, and of those that a first
	// installation leaves empty (T7).
	Outdated int32
	// Held is the number of those Outdated nodes that the spec keeps from being updated (T2 partition, T3 node selector).
	// With OnDelete all are.
	Held int32
	// Waiting is the number of those Outdated nodes that may be updated, but found no room in the budget.
	Waiting int32
	// Gated is the number of those Outdated nodes that may be updated, but that a policy keeps waiting: their part of a stage
	// is not open yet (T8), or too many nodes have failed (F3). Gate is what opens the next part.
	Gated int32
	Gate  Gate
	// TooManyFailed reports whether the update revision has failed on more nodes than may be, so that no further node is begun
	// (F3). FailedUnavailable is the number of failed nodes that count against the limit in force.
	TooManyFailed     bool
	FailedUnavailable int32
	// OnlyFailedLeft reports whether all that is left of the rollout, as far as it may go, are nodes that have failed.
	OnlyFailedLeft bool
	// Obstacle says in words what the rollout waits for, with names of nodes; it ends the message of Progressing. Empty: nothing.
	Obstacle string
	// Lifecycle counts, by conditions of their lifecycle, nodes that are not Settled: a drain or a maintenance may be why.
	// They end the message of Progressing, before Obstacle.
	Lifecycle []LifecycleCount
	// Obstructed is the number of those Outdated nodes that cannot be updated, because their pods cannot be updated in place and
	// the method is InPlaceOnly (I1). Nobody has asked for that, so that they are not Held.
	Obstructed int32
	// Undeclared is the number of those Outdated nodes that cannot be updated, because they do not declare a feature that the
	// new pod needs (T9).
	Undeclared int32
	// NotServing is the number of nodes whose pods do not serve although they should by now.
	NotServing int32
	// Moving reports whether something happens by itself: a pod starts and has not failed to for too long, terminates within its
	// grace period or waits for a hook, or the clock will open a gate. What neither acts nor moves goes on only when somebody
	// acts.
	Moving bool
	// Acting reports whether the plan has actions, or an earlier request is not observed yet.
	Acting bool

	// Trial is how the canary of the update revision stands (C rules). The zero value stands for no canary.
	Trial Trial

	// MaxUnavailable is the limit on unavailable nodes, percentages resolved (B1). 0 with surge.
	MaxUnavailable int32
	// Unavailable is what is spent of MaxUnavailable after the plan (B2). It is not Counts.Unavailable: an
	// outdated Ready pod serves here, and a pod that the plan deletes does not.
	Unavailable int32
	// MaxSurge is the number of surge places, percentages resolved (B1). 0: no surge.
	MaxSurge int32
	// HeldUnavailable is the number of nodes that count against the limit in force (MaxSurge, or without surge
	// MaxUnavailable) and that the planner will not repair because the spec holds them back.
	HeldUnavailable int32

	// Previous are the conditions of the last Status. Of two of one type the first counts; types other than
	// those of this package are dropped.
	Previous []metav1.Condition
	// CompletedRevision of the last Status. Empty: none.
	CompletedRevision string
}

// Gate is what the next part of a stage waits for (T8).
type Gate uint8

// The gates.
const (
	// GateNone: no part waits, or the next one is opened when the nodes of the open one are updated.
	GateNone Gate = iota
	// GateSoak: time passes first.
	GateSoak
	// GateApproval: somebody has to approve it first.
	GateApproval
	// GateEvidence: all nodes of the open part are left out, so that nothing shows whether the revision works there.
	GateEvidence
)

// Trial is what the status needs to know of the canary of a revision. It is about the revision, so that the reboot of a canary
// node changes nothing (S3).
type Trial struct {
	// State is Canary, CanaryPaused, CanaryFailed, or Stuck for a canary without nodes (C1). RolledBack is for a revision
	// that was given up without a trial (F3). With Unknown and any other state nothing is on trial.
	State SetState
	// Held reports whether something in the spec, such as partition (T2) or InPlaceOnly (I1), holds a node of the canary at
	// its old revision.
	Held bool
	// Starting reports whether the trial waits for a pod on a node of the canary. If nothing is in motion, nobody brings it.
	Starting bool
	// Promoted reports whether the update revision was tried and is promoted. It counts only while nothing is on trial.
	Promoted bool
	// Reason and Message of the condition Canary. A reason that the API would refuse in a condition, such as the empty one,
	// is replaced by one of this package. A message that is too long is cut.
	Reason, Message string
}

// on reports whether the revision is being tried, or failed its trial. Its rollout is then not complete, wherever its pods are.
func (t *Trial) on() bool {
	switch t.State {
	case Canary, CanaryPaused, CanaryFailed, Stuck, RolledBack:
		return true
	default:
		return false
	}
}

// Status is the status of a set. The zero value is that of a set for which there was no plan yet.
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
	// DisruptionsAllowed is how many more available nodes the budget would let go now (S4): max(0, MaxUnavailable -
	// Unavailable) of the Input. It does not consider whether anything is paused or held.
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
//   - RolledBack, CanaryFailed, CanaryPaused: the verdict on the revision or its trial says so.
//   - Stuck: the canary has no nodes; or nodes wait for the budget, nothing is under way, and HeldUnavailable alone uses
//     up the limit in force; or too many nodes have failed, or failed and held ones alone use up the limit in force, or are
//     all that is left.
//   - Stuck: the trial waits for pods on its nodes, and nothing is done or in motion. Canary: the revision is on trial otherwise.
//   - Stuck: nothing shows whether the revision works in the open part of a stage. Paused: the next part lacks its approval.
//   - Stuck: nodes that are not held are outdated, or the first rollout of the revision is not complete, and nothing is done or
//     in motion. The reason is PodsNotServing, InPlaceNotPossible, NodesLackFeatures or NothingMoves.
//   - Updating: nodes that are not held are outdated, or the first rollout of the revision is not complete.
//     The reason is WaitingForAvailability if nothing is under way and either nodes wait for the budget or no
//     node is left to update.
//   - Running: otherwise. The reason shows whether held nodes remain.
//
// A rollout is complete when every desired node is settled. Without desired nodes it is complete, too, but is recorded as
// such only if no other node has a pod either, because such a pod may be outdated and its node may become desired. While the
// revision is on trial, and after it failed, its rollout is not complete, even if all nodes are canary nodes, and an earlier
// record of its completion is dropped.
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

// DaemonSetStatus returns s as an apps/v1 status, which kubectl understands: the counters, observed generation, collision
// count and conditions. It has no place for the rest. It shares no memory with s.
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
	case in.Trial.State == RolledBack:
		return RolledBack, TooManyFailures
	case in.Trial.State == CanaryFailed:
		return CanaryFailed, CanaryRejected
	case in.Trial.State == CanaryPaused:
		return CanaryPaused, CanaryOnHold
	case in.Trial.State == Stuck:
		return Stuck, CanaryWithoutNodes
	case stuck(in):
		return Stuck, HeldPodsUseUpBudget
	case in.TooManyFailed:
		return Stuck, TooManyFailures
	case in.Waiting > 0 && !in.Acting && in.FailedUnavailable > 0 && in.FailedUnavailable+max(0, in.HeldUnavailable) >= limit(in):
		return Stuck, FailedNodesUseUpBudget
	case in.OnlyFailedLeft && !in.Acting && in.Waiting <= 0 && !p.reached && !p.latched:
		return Stuck, FailedNodesLeft
	case in.Trial.State == Canary && in.Trial.Held && !in.Acting:
		return Stuck, CanaryHeld
	case in.Trial.State == Canary && in.Trial.Starting && !in.Acting && !in.Moving:
		return Stuck, standing(in, p)
	case in.Trial.State == Canary:
		return Canary, CanaryOnTrial
	case in.Gated > 0 && in.Gate == GateEvidence && !in.Acting:
		return Stuck, StageWithoutEvidence
	case in.Gated > 0 && in.Gate == GateApproval:
		return Paused, ApprovalNeeded
	case in.Gated > 0 && in.Gate == GateSoak:
		return Updating, StageSoaking
	case (p.free > 0 || !p.reached && !p.latched) && !in.Acting && !in.Moving:
		return Stuck, standing(in, p)
	case p.free > 0 || !p.reached && !p.latched:
		if !in.Acting && (in.Waiting > 0 || p.free == 0) {
			return Updating, WaitingForAvailability
		}
		return Updating, RolloutInProgress
	default:
		return Running, restReason(in, p)
	}
}

// standing returns why nothing is in motion although the rollout is not at its end.
func standing(in *Input, p progress) ConditionReason {
	switch {
	case in.NotServing > 0:
		return PodsNotServing
	case p.free > 0 && in.Obstructed >= p.free:
		return InPlaceNotPossible
	case p.free > 0 && in.Obstructed+in.Undeclared >= p.free:
		return NodesLackFeatures
	default:
		return NothingMoves
	}
}

// stuck reports whether the rollout goes on only when somebody acts, because held nodes alone use the budget up. While they
// leave any room in it, the other unavailable nodes may come back by themselves and free the rest.
func stuck(in *Input) bool {
	return in.Waiting > 0 && !in.Acting && in.HeldUnavailable > 0 && in.HeldUnavailable >= limit(in)
}

// limit returns the limit in force.
func limit(in *Input) int32 {
	if in.MaxSurge > 0 {
		return in.MaxSurge
	}
	return in.MaxUnavailable
}

// restReason returns why a rollout with nothing left to do rests.
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

// minus returns a - b, but no less than 0 and without overflow. Negative numbers count as 0.
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
