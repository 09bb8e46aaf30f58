// Package failure says which nodes a new revision has failed on, and what is done when too many have (F1 to F4).
//
// A node has failed when its pod of the update revision is not available for longer than a deadline, or has restarted too often.
// [Options.Of] judges one node:
//
//	verdict := options.Of(pod, series, now) // pod: the node's pod of the update revision; nil: it has none just now
//	if verdict.Failed { … }
//	wake := verdict.At // when the clock alone makes the node a failed one
//
// Failed pods are deleted and created anew, so that a pod on its own is always young. [Series] is what is remembered of the pods
// before it: the deadline runs from the first of them, and each counts as a restart.
//
// A planner of package rollout counts the failed nodes, pauses the rollout or takes it back, and leaves a few of them out of the
// budgets (quarantine).
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state. Arguments are neither written nor
// kept. Of assumes options that Default has completed and Validate accepts.
//
// # How the rules are read
//
//   - The deadline runs from the latest of these: the creation of the first pod of the series, the last update in place, and the
//     last time at which the pod was Ready and stopped to be. The condition Ready becomes False when a pod starts, too: that
//
// is no
//
//	  such time if it is within a second of the pod's start.
//	- Restarts are those of the container that restarted most, plus the failed pods that were deleted before. A pod that was
//
// updated
//
//	  in place is not judged by restarts, because the update restarts containers.
//	- Whether a node is down for other reasons is for others to say (B8, B9).
package failure
