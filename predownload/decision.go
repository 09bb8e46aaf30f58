package predownload

import "strconv"

// JobDecision is what Jobs does for an update revision.
type JobDecision uint8

// The decisions. Where several fit, the first of this order is taken, but for DecisionCreate, which is the last.
const (
	// DecisionNone: there was an error.
	DecisionNone JobDecision = iota
	// DecisionCreate: the jobs are to be created.
	DecisionCreate
	// DecisionDecided: the update revision carries a label by which OpenKruise remembers that it has decided.
	DecisionDecided
	// DecisionOnDelete: nothing is updated of itself, so there is nothing to be ahead of (T5).
	DecisionOnDelete
	// DecisionNotYet: desired is 0, as it is before the first status. To be asked again.
	DecisionNotYet
	// DecisionOneBatch: no node is held and the budget lets all be updated at once.
	DecisionOneBatch
	// DecisionNotNeeded: the pods of every old revision use all images, or there is no old revision.
	DecisionNotNeeded
	// DecisionHeld: partition holds all nodes (T2). To be asked again.
	DecisionHeld
	// DecisionMinUpdatedReadyPods: fewer updated pods than that are ready. To be asked again.
	DecisionMinUpdatedReadyPods

	decisions // count
)

// String is a short text for people. A value that is none of the decisions gives its number.
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
