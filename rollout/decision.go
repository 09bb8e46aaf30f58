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
	// Facts of the node from which the counters of the status are derived (S1).
	Facts status.Facts
	// State that the node is in before this plan's actions.
	State NodeState
	// Target is the revision that the node is to have for now.
	Target Target
	// Verb is the most important thing done about the node now.
	Verb Verb
	// Reason for the verb.
	Reason Reason
	// Limit that kept more from being done. LimitNone: nothing did.
	Limit Limit
	// Unavailable reports whether the node counts against MaxUnavailable after this plan (B2), Surging whether it holds a
	// place of MaxSurge after this plan (B4).
	Unavailable, Surging bool
	// ResourcesDiffer reports whether the node's pod is of the right revision, but outdated because its resources are not
	// those wanted on the node (P8).
	ResourcesDiffer bool
	// Exemption says by which rule the node is left out of the budgets although it would count. ExemptionNone: it is not.
	Exemption Exemption
	// Failed reports whether the update revision has failed on the node (F1).
	Failed bool
	// Canary reports whether the node is a canary node.
	Canary bool
	// Obstruction is what keeps the node's outdated pod from being updated in place, whatever the change (I3). Zero:
	// nothing does, or the plan did not need to know. [Plan.Obstructions] has what it does not say.
	Obstruction inplace.Obstruction
	// Domain says for which domain the node waits: its place in [Plan.Domains], counted from 1. 0: for none (B10).
	Domain int32
	// Part says which part of a stage the node waits for to be opened: its place in [Plan.Parts], counted from 1. 0: for none, or
	// for the stages of an earlier revision (T8).
	Part int32
	// Diff is the change, one of [Plan.Diffs], that cannot be made in place (I2). Nil: there is no such change, or the plan
	// did not need to know. Decisions about pods of one revision share it.
	Diff *RevisionDiff
	// Creates, Deletes, Patches and Pulls are how many actions of the plan belong to this decision. Each action belongs to
	// exactly one decision.
	Creates, Deletes, Patches, Pulls int32
	// Until is when the clock alone ends the wait. Zero: it does not, or the node waits for a part that soaks, of which
	// [Plan.Parts] says when.
	Until time.Time
}

// Exempt reports whether the node is left out of the budgets although it would count (B8, B9, F4).
func (d *Decision) Exempt() bool { return d.Exemption != ExemptionNone }

// obstructed reports whether something keeps the pod from being updated in place.
func (d *Decision) obstructed() bool { return d.Obstruction != 0 || d.Diff != nil }

// NodeState is where a node stands.
type NodeState uint8

// The states of a node. They say first whether the node may run the pod, and then what pods it has.
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
	// StateStarting is a node whose only pod is at the revision where the node is to end, and not yet available, or requested
	// and not seen yet. Where it does not seem to become so, [Plan.CauseOf] says why, and Explain calls the node failing.
	StateStarting
	// StateUpdated is a node whose pod is at the update revision and available, and that is to end there.
	StateUpdated
	// StateStable is a node whose pod is at the stable revision and available, and that is to end there (T6).
	StateStable
	// StateOutdated is a node whose pod is of another revision than it should be, or has other resources (P8).
	StateOutdated
	// StateSurging is a node that holds, or is about to get, both a pod of the revision where it is to end and an outdated
	// one (B4).
	StateSurging
	// StateVanished is a pod whose node does not exist (M5).
	StateVanished
	// StateUnattributed is a pod that no node can be read off (P7).
	StateUnattributed

	states // count
)

// String returns the state in one word; "unknown" for a value that was never declared.
func (s NodeState) String() string {
	return name(stateNames[:], s)
}

var stateNames = [states]string{
	"ineligible", "leaving", "kept", "missing", "terminating", "broken", "starting", "updated", "stable", "outdated",
	"surging", "vanished", "unattributed",
}

// Target is the revision that a node is to have for now: that of its goal, or while a rule holds it, what it has.
type Target uint8

// The targets.
const (
	// TargetNone is a node that is not to run the pod.
	TargetNone Target = iota
	// TargetUpdate is the update revision (T1).
	TargetUpdate
	// TargetStable is the stable revision, while another is tried elsewhere or has failed (T6).
	TargetStable
	// TargetBase is the base, the revision that was rolled out everywhere before: the node's part of a stage is not open, and
	// what it has was not rolled out everywhere, and has failed there or was given up (T8).
	TargetBase
	// TargetHeld is what the node has, because a rule holds it there (T1). With holdRevision, and in a part of a stage that is
	// not open (T8, F3), it is also the older revision at which a pod that the node has lost comes back.
	TargetHeld

	targets // count
)

// String returns the target in one word; "unknown" for a value that was never declared.
func (t Target) String() string {
	return name(targetNames[:], t)
}

var targetNames = [targets]string{"none", "update", "stable", "base", "held"}

// Verb is what is done about a node.
type Verb uint8

// The verbs.
const (
	// VerbNone: nothing is to be done.
	VerbNone Verb = iota
	// VerbWait: something is to be done, but later.
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
	// VerbSurge: a new pod is created beside the outdated one.
	VerbSurge

	verbs // count
)

// String returns the verb in one word; "unknown" for a value that was never declared.
func (v Verb) String() string {
	return name(verbNames[:], v)
}

var verbNames = [verbs]string{"none", "wait", "hold", "patch", "delete", "create", "prepare", "replace",
	"update", "surge"}

// Exemption names the rule that leaves a node out of the budgets.
type Exemption uint8

// The exemptions.
const (
	// ExemptionNone: the node is not left out.
	ExemptionNone Exemption = iota
	// ExemptionUnschedulable: nothing that is done to the node would help now (B8).
	ExemptionUnschedulable
	// ExemptionOut: the node was down before its update began, or its update is not what took it down (B9).
	ExemptionOut
	// ExemptionQuarantined: the update revision has failed on the node, and the policy leaves as many failed nodes out (F4).
	ExemptionQuarantined

	exemptions // count
)

// String returns the exemption in one word; "unknown" for a value that was never declared.
func (e Exemption) String() string {
	return name(exemptionNames[:], e)
}

var exemptionNames = [exemptions]string{"none", "unschedulable", "out", "quarantined"}
