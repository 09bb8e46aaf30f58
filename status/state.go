package status

import (
	"fmt"
	"slices"
)

// SetState is the one word for how a set is doing (S2). Its text form is its name.
type SetState uint8

// The states.
const (
	// Unknown is the zero value: nothing was summed up. Summarize never returns it.
	Unknown SetState = iota
	// Running: the rollout is complete, or as complete as the spec lets it be.
	Running
	// Updating: nodes have yet to reach the update revision, and it goes on by itself.
	Updating
	// Paused: the spec lets no further node begin (T4), or the next part of a stage lacks its approval (T8).
	Paused
	// Frozen: the spec lets nothing be created or deleted (T4).
	Frozen
	// Canary: the update revision is being tried on its canary nodes (C1).
	Canary
	// CanaryPaused: the trial was paused by its checks or by command (C3, C5).
	CanaryPaused
	// CanaryFailed: the update revision failed its trial (C4).
	CanaryFailed
	// RolledBack: the update revision failed on too many nodes and is given up (F3).
	RolledBack
	// Stuck: nodes wait, or the canary has no nodes, and the rollout goes on only when somebody acts.
	Stuck

	states // count
)

var stateNames = [states]string{
	"Unknown", "Running", "Updating", "Paused", "Frozen", "Canary", "CanaryPaused", "CanaryFailed", "RolledBack", "Stuck",
}

// String returns the name of the state, or SetState(n) for a value without a name.
func (s SetState) String() string {
	return text(stateNames[:], "SetState", s)
}

// MarshalText is String, but an error for a value without a name.
func (s SetState) MarshalText() ([]byte, error) {
	return marshal(stateNames[:], "SetState", s)
}

// UnmarshalText reads the name of a state. On error the receiver is left as it was.
func (s *SetState) UnmarshalText(data []byte) error {
	return unmarshal(stateNames[:], "SetState", s, data)
}

// ConditionReason says why a state or a condition is what it is. Its text form is its name, which is fit for the
// reason of a condition.
type ConditionReason uint8

// The reasons.
const (
	// ReasonNone is the zero value: nothing was summed up. Summarize never returns it.
	ReasonNone ConditionReason = iota
	// RolloutComplete: every desired node has an available pod of the update revision, or had one once (S3).
	RolloutComplete
	// RolloutInProgress: something is under way, or can begin with the next plan.
	RolloutInProgress
	// WaitingForAvailability: the rollout goes on when unavailable nodes become available.
	WaitingForAvailability
	// RolloutHeld: all nodes still outdated are held back, by partition or node selector (T2, T3).
	RolloutHeld
	// OnDelete: the outdated pods wait to be deleted by hand (T5).
	OnDelete
	// PausedBySpec: the spec pauses the rollout (T4).
	PausedBySpec
	// FrozenBySpec: the spec freezes the set (T4).
	FrozenBySpec
	// HeldPodsUseUpBudget: broken pods on nodes that the spec holds back use up the whole budget (B2).
	HeldPodsUseUpBudget
	// EnoughNodesAvailable: no more nodes are unavailable than maxUnavailable.
	EnoughNodesAvailable
	// TooFewNodesAvailable: more nodes are unavailable than maxUnavailable.
	TooFewNodesAvailable
	// CanaryOnTrial: the update revision is being tried (C1).
	CanaryOnTrial
	// CanaryOnHold: its trial is paused, until somebody lifts the pause (C3, C5).
	CanaryOnHold
	// CanaryRejected: it failed its trial, and all nodes go back to the stable revision (C4, C7).
	CanaryRejected
	// CanaryWithoutNodes: no node can be a canary node, so that nothing will be promoted (C1).
	CanaryWithoutNodes
	// CanaryHeld: the spec holds a node of the canary at its old revision, so that it cannot be promoted by the clock (T2, C7).
	CanaryHeld
	// CanaryPromoted: the update revision was tried and is promoted (C2, C5).
	CanaryPromoted
	// StageSoaking: the next part of a stage waits until the one before has soaked (T8).
	StageSoaking
	// ApprovalNeeded: the next part of a stage waits for its approval (T8).
	ApprovalNeeded
	// StageWithoutEvidence: all nodes of the open part of a stage are left out, so that nothing shows whether the revision works
	// there (T8).
	StageWithoutEvidence
	// TooManyFailures: the update revision has failed on more nodes than may be (F3).
	TooManyFailures
	// FailedNodesUseUpBudget: nodes that the update revision has failed on use up the whole budget (F1).
	FailedNodesUseUpBudget
	// FailedNodesLeft: all that is left of the rollout, as far as it may go, are nodes that the update revision has failed on
	// (F1).
	FailedNodesLeft
	// PodsNotServing: pods do not serve although they should by now, and nothing that the rollout may do changes that (P-A).
	PodsNotServing
	// InPlaceNotPossible: the pods that are left cannot be updated in place, and the method is InPlaceOnly (I1).
	InPlaceNotPossible
	// NodesLackFeatures: the nodes that are left do not declare a feature that the new pod needs, so that the scheduler would
	// not bind it there (T9).
	NodesLackFeatures
	// NothingMoves: the rollout is not at its end, nothing is in motion, and no clock will change that (P-A).
	NothingMoves

	reasons // count
)

var reasonNames = [reasons]string{
	"None", "RolloutComplete", "RolloutInProgress", "WaitingForAvailability", "RolloutHeld", "OnDelete",
	"PausedBySpec", "FrozenBySpec", "HeldPodsUseUpBudget", "EnoughNodesAvailable", "TooFewNodesAvailable",
	"CanaryOnTrial", "CanaryOnHold", "CanaryRejected", "CanaryWithoutNodes", "CanaryHeld", "CanaryPromoted",
	"StageSoaking", "ApprovalNeeded", "StageWithoutEvidence", "TooManyFailures", "FailedNodesUseUpBudget", "FailedNodesLeft",
	"PodsNotServing", "InPlaceNotPossible", "NodesLackFeatures", "NothingMoves",
}

// String returns the name of the reason, or ConditionReason(n) for a value without a name.
func (r ConditionReason) String() string {
	return text(reasonNames[:], "ConditionReason", r)
}

// MarshalText is String, but an error for a value without a name.
func (r ConditionReason) MarshalText() ([]byte, error) {
	return marshal(reasonNames[:], "ConditionReason", r)
}

// UnmarshalText reads the name of a reason. On error the receiver is left as it was.
func (r *ConditionReason) UnmarshalText(data []byte) error {
	return unmarshal(reasonNames[:], "ConditionReason", r, data)
}

func text[T ~uint8](names []string, kind string, code T) string {
	if int(code) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, uint8(code))
	}
	return names[code]
}

func marshal[T ~uint8](names []string, kind string, code T) ([]byte, error) {
	if int(code) >= len(names) {
		return nil, fmt.Errorf("status: %s(%d) has no name", kind, uint8(code))
	}
	return []byte(names[code]), nil
}

func unmarshal[T ~uint8](names []string, kind string, code *T, data []byte) error {
	i := slices.Index(names, string(data))
	if i < 0 {
		return fmt.Errorf("status: %q is no %s", data, kind)
	}
	if code == nil {
		return fmt.Errorf("status: no %s to store %q in", kind, data)
	}
	*code = T(i)
	return nil
}
