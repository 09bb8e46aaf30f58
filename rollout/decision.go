package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/status"
)

// Decision is what was decided about one node, or about one pod whose node is gone or unknown. It holds codes and
// small numbers; [Plan.Explain] renders it.
type Decision struct {
	// Node name; empty for a pod that no node can be read off (P7).
	Node string
	// Pod that the reason speaks of; empty where it speaks of the node.
	Pod string
	// Placement of the node: whether it runs the pod, and if not, which test failed (P2, P3, P5).
	Placement placement.Verdict
	// Facts from which the counters of the status are derived (S1).
	Facts status.Facts
	// State the node is in before the plan.
	State NodeState
	// Target is the revision at which the node should end.
	Target Target
	// Verb is the most important thing done about the node now.
	Verb Verb
	// Reason for the verb.
	Reason Reason
	// Limit that kept more from being done; LimitNone if nothing did.
	Limit Limit
	// Unavailable: the node counts against MaxUnavailable, after this plan (B2). Surging: it holds a place of
	// MaxSurge, after this plan (B4).
	Unavailable, Surging bool
	// Resources: the pod is of the right revision, and outdated because its resources are not those wanted on the node (P8).
	ResourcesDiffer bool
	// Exempt: the node would count, but is left out of the budgets (B8).
	Exempt bool
	// Canary: it is a canary node.
	Canary bool
	// Obstruction is what keeps the node's outdated pod from being updated in place, whatever the change (I3). Zero:
	// nothing, or nobody asked.
	Obstruction inplace.Obstruction
	// Diff is the change, one of [Plan.Diffs], that cannot be made in place (I2). Nil: there is none, or nobody asked.
	// Decisions about pods of one revision share it.
	Diff *RevisionDiff
	// Creates, Deletes, Patches and Pulls of the plan that belong to this decision; each action belongs to exactly one.
	Creates, Deletes, Patches, Pulls int32
	// Until is when the clock alone ends the wait; zero if it does not.
	Until time.Time
}

// obstructed reports whether something keeps the pod from being updated in place.
func (d *Decision) obstructed() bool { return d.Obstruction != 0 || d.Diff != nil }

// NodeState is where a node stands.
type NodeState uint8

// The states of a node. Whether the node may run the pod counts before what its pods are.
const (
	// StateIneligible is a node that does not run the pod and holds none.
	StateIneligible NodeState = iota
	// StateLeaving is a node that may not run the pod (any more) and still holds one (M4).
	StateLeaving
	// StateKept is a node that would not get the pod today but may keep the one it has (P3).
	StateKept
	// StateMissing is a node that should run the pod and has no pod object (M1).
	StateMissing
	// StateTerminating is a node whose only pods are marked for deletion, or leave through their preDelete hook (M1).
	StateTerminating
	// StateBroken is a node whose only live pods have Failed or Succeeded (M2).
	StateBroken
	// StateStarting is a node whose only pod is at the update revision and not yet available.
	StateStarting
	// StateUpdated is a node whose pod is at the update revision and available.
	StateUpdated
	// StateStable is a node whose pod is at the stable revision, as it should be, and available (T6).
	StateStable
	// StateOutdated is a node whose pod is of another revision than it should be, or has other resources (P8).
	StateOutdated
	// StateSurging is a node that holds a pod of the update revision beside one of another (B4).
	StateSurging
	// StateVanished is a pod whose node does not exist (M5).
	StateVanished
	// StateUnattributed is a pod that no node can be read off (P7).
	StateUnattributed

	states // count
)

// String is the state in one word.
func (s NodeState) String() string {
	return name(stateNames[:], s)
}

var stateNames = [states]string{
	"ineligible", "leaving", "kept", "missing", "terminating", "broken", "starting", "updated", "stable", "outdated",
	"surging", "vanished", "unattributed",
}

// Target is the revision a node should end at.
type Target uint8

// The targets.
const (
	// TargetNone is a node that is not to run the pod.
	TargetNone Target = iota
	// TargetUpdate is the update revision (T1).
	TargetUpdate
	// TargetStable is the stable revision, while another is tried elsewhere or has failed (T6).
	TargetStable
	// TargetHeld is whatever the node has; if that is lost, the update revision (T1).
	TargetHeld

	targets // count
)

// String is the target in one word.
func (t Target) String() string {
	return name(targetNames[:], t)
}

var targetNames = [targets]string{"none", "update", "stable", "held"}

// Verb is what is done about a node.
type Verb uint8

// The verbs.
const (
	// VerbNone: nothing is to be done.
	VerbNone Verb = iota
	// VerbWait: something is to be done, later.
	VerbWait
	// VerbHold: the spec keeps the node from being updated.
	VerbHold
	// VerbPatch: a pod is patched, to finish what was begun or as repair.
	VerbPatch
	// VerbDelete: pods are deleted, as repair.
	VerbDelete
	// VerbCreate: a pod is created, as repair.
	VerbCreate
	// VerbPrepare: a pod is marked for its hook, or made unready, before it is deleted or updated in place.
	VerbPrepare
	// VerbReplace: the outdated pod is deleted, to be created anew when it is gone.
	VerbReplace
	// VerbUpdate: the outdated pod is updated in place.
	VerbUpdate
	// VerbSurge: a pod of the update revision is created beside the outdated one.
	VerbSurge

	verbs // count
)

// String is the verb in one word.
func (v Verb) String() string {
	return name(verbNames[:], v)
}

var verbNames = [verbs]string{"none", "wait", "hold", "patch", "delete", "create", "prepare", "replace",
	"update", "surge"}

// Limit names a bound that kept a plan from doing more for a node.
type Limit uint8

// The limits.
const (
	// LimitNone: nothing bound.
	LimitNone Limit = iota
	// LimitMaxUnavailable (B3).
	LimitMaxUnavailable
	// LimitMaxSurge (B4).
	LimitMaxSurge
	// LimitBurst (M6).
	LimitBurst
	// LimitBackoff of failed pods (M2).
	LimitBackoff
	// LimitMinReadySeconds (B5).
	LimitMinReadySeconds
	// LimitDesired: available pods must outnumber desired before this one may go (M4).
	LimitDesired
	// LimitPaused (T4).
	LimitPaused
	// LimitFrozen (T4).
	LimitFrozen
	// LimitOnDelete (T5).
	LimitOnDelete
	// LimitPartition (T2, T7).
	LimitPartition
	// LimitNodeSelector of the strategy (T3).
	LimitNodeSelector
	// LimitInPlaceOnly: the method is InPlaceOnly, and the pod cannot be updated in place (I1).
	LimitInPlaceOnly
	// LimitHook: a hook is waited for (L2, L3).
	LimitHook
	// LimitGracePeriod between making a pod unready and updating it in place (I4).
	LimitGracePeriod
	// LimitCanary: the canary is paused (C7), or has failed with nothing to go back to.
	LimitCanary
	// LimitSlowStart: as many nodes are under way as the rollout may begin with (B7).
	LimitSlowStart

	limits // count
)

// String is the limit as the spec calls it.
func (l Limit) String() string {
	return name(limitNames[:], l)
}

var limitNames = [limits]string{
	"none", "maxUnavailable", "maxSurge", "burst", "backoff", "minReadySeconds", "desired", "paused", "frozen",
	"onDelete", "partition", "nodeSelector", "inPlaceOnly", "hook", "gracePeriodSeconds",
	"canary", "slowStart",
}
