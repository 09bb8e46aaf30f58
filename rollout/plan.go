package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/status"
)

// Plan is what to do next, and why. Execute the actions in the order of the fields: Revisions, Patches, Pulls, Deletes,
// Creates; each slice in its own order. Actions of one plan do not depend on the observed effect of one another,
// so any prefix may be executed and the rest dropped: the next plan goes on from what is observed then.
//
// A not-found or a conflict on an action is normal in a live cluster: drop the action and plan again.
//
// A Plan is a large struct: keep the one that [Planner.Plan] returned, and pass pointers to it. Its methods take one.
type Plan struct {
	// Revisions to create, renumber or delete. Before all else: pods refer to them by hash. If the name of one to
	// create is taken by an object that is not the set's, plan again with [Memory.Collided].
	Revisions []RevisionAction
	// Patches of pods. Before Deletes and Creates. If one fails, leave out the others of the same pod: the last of them
	// says that the ones before were made.
	Patches []Patch
	// Pulls of images ahead of the rollout (D1). They delay nothing: start them, and list them as in flight until they
	// end.
	Pulls []Pull
	// Deletes of pods: those of repair first, then those of the update, each in the order of M6 and B6.
	Deletes []Delete
	// Creates of pods, ordered as Deletes are. [Plan.Batches] groups them, [Planner.Pod] builds the object.
	Creates []Create

	// Decisions: exactly one per node of the snapshot, in ascending order of node names; after them one per pod
	// on a node that is gone and per pod without a node, in order of node, pod name and UID.
	Decisions []Decision
	// Budget shows the limits of this plan and what is spent of them.
	Budget Budget
	// BudgetUsers names the first nodes, in ascending order and at most five, that use up MaxUnavailable, or with
	// surge MaxSurge. Nil while no node is waiting for the budget.
	BudgetUsers []string
	// NodeSelector of the strategy in the words of kubectl, for explanations. Empty: none.
	NodeSelector string
	// Diffs say what updates in place from the revisions that candidates carry would change, or why they are not
	// possible (I2), in no order that means anything. Nil with method Recreate.
	Diffs []*RevisionDiff
	// Canary is how the trial of the update revision stands, with its nodes and what it waits for (C rules). Idle without
	// one.
	Canary Canary
	// OverrideConflicts are between overrides that match one node and container, and MalformedOverrides the annotations of
	// nodes that cannot be read (P8). Each in the order of nodes, then containers.
	OverrideConflicts  []OverrideConflict
	MalformedOverrides []MalformedOverride
	// Status of the set as the snapshot shows it, before any action of this plan.
	Status status.Status
	// Memory to pass to the next plan.
	Memory Memory
	// FailedPulls are those of the snapshot, to be handed in again: one per node and image, and none that lies in the
	// future, because a clock that was set back would keep it from ever being tried again.
	FailedPulls []predownload.Failure
	// PullWaits say for each image why no more pulls are asked for (D1). Nil while no node waits for its update.
	PullWaits []predownload.ImageWait
	// NextWake is when to plan again if nothing else happens: the same snapshot plans and reports the same at any
	// instant before it. Zero: for ever; only a change of the cluster or the spec calls for another plan.
	NextWake time.Time
}

// Empty reports whether the plan has no action.
func (p *Plan) Empty() bool {
	return len(p.Revisions)+len(p.Patches)+len(p.Pulls)+len(p.Deletes)+len(p.Creates) == 0
}

// Batches groups Creates into batches of 1, 2, 4, … (M6). Send the creates of one batch in parallel, and stop after
// a batch in which any fails: a quota or an admission webhook that refuses one pod is not asked 250 times. The
// batches share memory with Creates.
func (p *Plan) Batches() [][]Create {
	var batches [][]Create
	rest := p.Creates
	for size := 1; len(rest) > 0; size *= 2 {
		n := min(size, len(rest))
		batches = append(batches, rest[:n:n])
		rest = rest[n:]
	}
	return batches
}

// Create asks for a pod on a node.
type Create struct {
	// Node to pin the pod to.
	Node string
	// Revision is the hash of the revision to build the pod from.
	Revision string
	// Template is the pod template of that revision if it is not the update revision (T1); else nil.
	Template *corev1.PodTemplateSpec
	// Resources that differ on this node from those of the template (P8); nil: none.
	Resources []placement.Resources
	// Canary: the pod is one of the canary's, and is labelled so.
	Canary bool
	// Reason for this create.
	Reason Reason
}

// Canary is how the trial of a revision stands.
type Canary struct {
	// Finding is the phase, and the reason with what gave it.
	canary.Finding
	// Revision on trial, Stable the one to go back to, by hash.
	Revision, Stable string
	// Nodes of the canary, in ascending order, and how many there should be.
	Nodes  []string
	Wanted int32
	// Until is the earliest instant at which the clock can promote the revision (C2), if nothing happens until then; zero: not
	// by the clock.
	Until time.Time
	// Stale lists the commands that name another revision.
	Stale []string
}

// OverrideConflict is between two overrides on several nodes (P8).
type OverrideConflict struct {
	placement.Conflict
	// Node is the first one, by name, Nodes their number.
	Node  string
	Nodes int32
}

// MalformedOverride is an annotation of a node that cannot be read (P8).
type MalformedOverride struct {
	// Node that has it.
	Node string
	placement.Malformed
}

// Delete asks for the deletion of one pod.
type Delete struct {
	// Node the pod belongs to; it need not exist any more (M5).
	Node string
	// Pod is its name.
	Pod string
	// UID to use as precondition, so that a namesake is never hit.
	UID types.UID
	// Revision is the hash the pod carries; empty if it carries none.
	Revision string
	// Reason for this delete.
	Reason Reason
}

// Patch changes one pod.
type Patch struct {
	// Node the pod belongs to.
	Node string
	// Pod is its name.
	Pod string
	// UID the pod must still have. The patch itself carries it too, so that the API server checks it.
	UID types.UID
	// Type of the patch.
	Type types.PatchType
	// Subresource to patch: "" is the pod itself.
	Subresource string
	// Data is the patch, ready for a client's Patch call.
	Data []byte
	// Revision is the hash the pod is at after this plan's last patch of it.
	Revision string
	// Reason for this patch.
	Reason Reason
}

// Pull asks for an image to be pulled on a node ahead of its update (D1).
type Pull struct {
	predownload.Pull
	// Revision is the hash of the revision that needs the image.
	Revision string
}

// RevisionDiff is what an update in place from one revision to another changes.
type RevisionDiff struct {
	// From and To are the hashes of the revisions.
	From, To string
	// Update has the changes, and what keeps them from being made in place.
	Update *inplace.Update
}

// RevisionAction changes one ControllerRevision.
type RevisionAction struct {
	// Verb says what to do.
	Verb RevisionVerb
	// Name of the revision.
	Name string
	// UID to use as precondition; empty for a create.
	UID types.UID
	// Number is the revision number after a create or renumber.
	Number int64
	// Object to create; nil for the other verbs.
	Object *appsv1.ControllerRevision
	// Annotations to set, and RemoveAnnotations those to remove, for AnnotateRevision.
	Annotations       map[string]string
	RemoveAnnotations []string
}

// RevisionVerb is what a RevisionAction does.
type RevisionVerb uint8

// The revision verbs.
const (
	// CreateRevision creates RevisionAction.Object.
	CreateRevision RevisionVerb = iota
	// RenumberRevision sets the revision number (a rollback makes an old revision the newest, R3).
	RenumberRevision
	// AnnotateRevision records the verdict of a canary on the revision (C6): RevisionAction.Annotations are to be set on its
	// metadata, RemoveAnnotations to be removed, as by a merge patch with UID as precondition. A verdict that cannot be written
	// is planned again, and until then rests on Plan.Memory alone.
	AnnotateRevision
	// DeleteRevision deletes a duplicate (R3) or one beyond the history limit (R4).
	DeleteRevision

	revisionVerbs // count
)

// String is the verb in one word.
func (v RevisionVerb) String() string {
	return name(revisionVerbNames[:], v)
}

var revisionVerbNames = [revisionVerbs]string{"create", "renumber", "annotate", "delete"}

// Budget shows the limits of a plan and what is spent of them, after its repairs and admissions.
type Budget struct {
	// Desired is the base of percentages: the number of nodes that are to run the pod (B1).
	Desired int32
	// MaxUnavailable in nodes, percentages resolved.
	MaxUnavailable int32
	// Unavailable is the number of nodes that count against MaxUnavailable (B2), those that this plan makes so
	// included: 0 <= Unavailable.
	Unavailable int32
	// MaxSurge in nodes, percentages resolved.
	MaxSurge int32
	// Surging is the number of places of MaxSurge that are taken (B4), by this plan's creates too.
	Surging int32
	// Burst is how many creates, how many deletes and how many new in-place updates one plan may hold (M6).
	Burst int32
	// Partition in nodes, a percentage resolved (T2).
	Partition int32
	// Partitioned is the number of nodes that take a place of Partition: <= Partition.
	Partitioned int32
	// SlowStart is how many nodes may be under way now (B7), UnderWay how many are before this plan's creates and
	// replacements. Both 0 without slow start or while no rollout is under way. While no node waits for them, they may change
	// before Plan.NextWake.
	SlowStart, UnderWay int32
	// MaxUnschedulable in nodes, a percentage resolved, and Exempt the number of nodes left out of the budgets for it (B8).
	MaxUnschedulable, Exempt int32
	// Waiting is the number of nodes that would be updated now if the budget or the burst let them. A pod that turns out
	// when its turn comes not to be one that can be updated (its record cannot be read, say) counts until then.
	Waiting int32
}
