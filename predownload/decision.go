package predownload

import "strconv"

// JobDecision is what Jobs does for an update revision.
type JobDecision uint8

// The decisions. Where several fit, the first in this order is taken, except that DecisionCreate comes last.
const (
	// DecisionNone: there was an error.
	DecisionNone JobDecision = iota
	// DecisionCreate: the jobs are to be created.
	DecisionCreate
	// DecisionDecided: the update revision carries a label by which OpenKruise remembers that it has decided.
	DecisionDecided
	// DecisionOnDelete: with OnDelete nothing is updated by itself, so that nothing is pulled ahead (T5).
	DecisionOnDelete
	// DecisionNotYet: desired is 0, as it is before the first status. This may change: ask again.
	DecisionNotYet
	// DecisionOneBatch: no node is held and the budget lets all be updated at once.
	DecisionOneBatch
	// DecisionNotNeeded: the pods of every old revision use all images, or there is no old revision.
	DecisionNotNeeded
	// DecisionHeld: partition holds all nodes (T2). This may change: ask again.
	DecisionHeld
	// DecisionMinUpdatedReadyPods: fewer updated pods are ready than minUpdatedReadyPods. This may change: ask again.
	DecisionMinUpdatedReadyPods

	decisions // count
)

// String returns a short text for people. A value that is none of the decisions gives its number.
func (d JobDecision) String() string {
	names := [decisions]string{
		DecisionNone:                "no decision",
		DecisionCreate:              "create the jobs",
		DecisionDecided:             "decided before",
		DecisionOnDelete:            "nothing is updated before a pod is deleted",
		DecisionNotYet:              "desired is not known yet",
		DecisionOneBatch:            "all nodes may update in one batch",
		DecisionNotNeeded:           "no old pod lacks an image",
		DecisionHeld:                "partition holds all nodes",
		DecisionMinUpdatedReadyPods: "waiting for minUpdatedReadyPods",
	}
	if d >= decisions {
		return "decision " + strconv.Itoa(int(d))
	}
	return names[d]
}
