package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/diagnosis"
	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/stage"
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
	// Revisions to create, renumber, annotate or delete. Before all else: pods refer to them by hash. If the name of one to
	// create is taken by an object that is not the set's, plan again with [Memory.Collided].
	Revisions []RevisionAction
	// Patches of pods. Before Deletes and Creates. If one fails, leave out the others of the same pod: the last of them
	// says that the ones before were made.
	Patches []Patch
	// Pulls of images ahead of the rollout (D1). No update waits for them: start them, and list them as in flight until they
	// end.
	Pulls []Pull
	// Deletes of pods: those of repair first, then those of the update. Repairs come in two passes, each in ascending order of
	// node names: first pods that need no room in the budget, then prepared ones, which do (B3). After them come pods whose node
	// is gone. Updates come in the order of B6.
	Deletes []Delete
	// Creates of pods: those of missing pods in ascending order of node names, then those of the update in the order of B6.
	// [Plan.Batches] groups them, and [Planner.Pod] builds the object.
	Creates []Create

	// Decisions has exactly one decision per node of the snapshot, in ascending order of node names. After them comes one per pod
	// whose node is gone or unknown, in the order of node, pod name and UID. Plans that follow each other with a Reading share
	// the decisions while every node is where it is to be: whoever writes to them writes to those of the plans before, too, so
	// that a copy is the place to write. Later plans are right in any case. If the plan was made in a [Workspace], the next
	// one overwrites them.
	Decisions []Decision
	// Budget shows the limits of this plan and what is spent of them.
	Budget Budget
	// Domains say how each value of each domain stands, by domain and value (B10). Nil without domains.
	Domains []DomainState
	// Parts say how each part of each stage stands, in the order in which they are opened (T8). Nil without stages, during a
	// trial and after one that failed, and once the revision is marked as rolled out everywhere.
	Parts []PartState
	// StaleApprovals are those that name another revision, in the order of the spec.
	StaleApprovals []stage.Approval
	// Causes say of each node whose pod does not serve why, in the words of the objects, in ascending order of nodes. Nodes whose
	// pods start or terminate as every pod does are not among them. Nil: there is none.
	Causes []NodeCause
	// Blockers say who is in the way while the state is [status.Stuck], since when, why, and what would help, in ascending order
	// of their first nodes. There is one at least. Nil in any other state.
	Blockers []Blocker
	// BudgetUsers names the first nodes, in ascending order and at most five, that use up MaxUnavailable, or with
	// surge MaxSurge. Nil while no node is waiting for the budget.
	BudgetUsers []string
	// NodeSelector of the strategy, as kubectl writes selectors, for explanations. Empty: it is unset or matches all nodes.
	NodeSelector string
	// Diffs say what updates in place from the revisions that candidates carry would change, or why they are not
	// possible (I2). Their order carries no meaning. Nil with method Recreate.
	Diffs []*RevisionDiff
	// Obstructions say, by node and for readers, what the Obstruction of its decision does not say: what the node lacks
	// (inplace.NodeLacks), or the words with which the API server refused the update (inplace.Refused). Nil: there are none.
	Obstructions map[string]string
	// Features are those that a node has to declare before a pod of the update revision can run there, in ascending order (T9).
	// Nil: it needs none.
	Features []string
	// Canary is how the trial of the update revision stands, with its nodes and what it waits for (C rules). Its phase is Idle
	// while there is no trial.
	Canary Canary
	// OverrideConflicts are the conflicts between overrides that match one node and container. MalformedOverrides are the
	// annotations of nodes that cannot be read (P8). Both are in the order of nodes, then containers.
	OverrideConflicts  []OverrideConflict
	MalformedOverrides []MalformedOverride
	// GaveUp says why the update revision is given up, by this plan or an earlier one: it has failed on too many nodes (F3).
	// All nodes go back to the base. Empty: it is not given up.
	GaveUp string
	// Status of the set as the snapshot shows it, before any action of this plan.
	Status status.Status
	// Memory to pass to the next plan.
	Memory Memory
	// FailedPulls are those of the snapshot, for the next one: while images are pulled, one per node and image, and none dated
	// in the future, because after a clock was set back such a pull might never be tried again.
	FailedPulls []predownload.Failure
	// PullWaits say for each image why no more pulls are asked for (D1). Nil while no node waits for its update.
	PullWaits []predownload.ImageWait
	// Reading is what was read off the nodes and pods: pass it to the next plan, which then reads only what has changed.
	Reading *Reading `json:"-"`
	// NextWake is when to plan again if nothing else happens: at any instant before it the same snapshot gives the same
	// actions and the same report. Zero: only a change of the cluster or the spec calls for another plan.
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
	// Resources that differ on this node from those of the template (P8). Nil: none differ.
	Resources []placement.Resources
	// Canary reports whether the pod is one of the canary's and gets [CanaryLabel].
	Canary bool
	// Reason for this create.
	Reason Reason
}

// Canary is how the trial of a revision stands.
type Canary struct {
	// Finding is the phase, its reason, and the evidence for it.
	canary.Finding
	// Revision is the hash of the revision on trial, Stable that of the revision to go back to.
	Revision, Stable string
	// Nodes of the canary, in ascending order, and how many there should be.
	Nodes  []string
	Wanted int32
	// Until is the earliest instant at which the clock can promote the revision (C2), if nothing happens until then. Zero: the
	// clock alone does not promote it.
	Until time.Time
	// Stale lists the commands that name another revision.
	Stale []string
}

// OverrideConflict is a conflict between two overrides of one container, on one or more nodes (P8).
type OverrideConflict struct {
	placement.Conflict
	// Node is the first node by name on which the two conflict. Nodes is the number of such nodes.
	Node  string
	Nodes int32
}

// MalformedOverride is an annotation of a node that cannot be read (P8).
type MalformedOverride struct {
	// Node that has the annotation.
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
	// Revision is the hash that the pod carries. Empty: it carries none.
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
	// Type of the patch, such as a strategic merge patch.
	Type types.PatchType
	// Subresource to patch. Empty: the pod itself.
	Subresource string
	// Data is the patch, ready for a client's Patch call.
	Data []byte
	// Revision is the hash of the revision that the pod is at after this plan's last patch of it.
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
	// Update has the changes, and the obstacles that keep them from being made in place.
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
	// Annotations are set, and the keys in RemoveAnnotations removed, by AnnotateRevision. Nil for the other verbs.
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
	// AnnotateRevision records the verdict of a canary on the revision (C6), that it was given up or retried (F3), or that it was
	// rolled out everywhere (T8). [RevisionAction.Patch] is the merge patch that sets RevisionAction.Annotations and removes
	// RemoveAnnotations, with UID as precondition. A verdict that could not be written is planned again; until it is written,
	// only Plan.Memory holds it.
	AnnotateRevision
	// DeleteRevision deletes a duplicate (R3) or one beyond the history limit (R4).
	DeleteRevision

	revisionVerbs // count
)

// String returns the verb in one word; "unknown" for a value that was never declared.
func (v RevisionVerb) String() string {
	return name(revisionVerbNames[:], v)
}

var revisionVerbNames = [revisionVerbs]string{"create", "renumber", "annotate", "delete"}

// DomainState is how one value of a domain stands after a plan's repairs and admissions (B10).
type DomainState struct {
	// Index is the place of the domain in Policy.Domains, Key its key, and Value the value that these nodes have; "" for nodes
	// without the label, and for a domain without a key.
	Index      int32
	Key, Value string
	// Desired is how many nodes of the value are to run the pod, and Taken how many count as disturbed: those that are
	// unavailable (B2), or with surge hold a place (B4). Max is how many may be, or 0 if their number has no bound.
	Desired, Max, Taken int32
	// AtOnce is in how many values of the domain nodes may be disturbed, or 0 if in any number. Disturbed is in how many they
	// are.
	AtOnce, Disturbed int32
	// Users are the first nodes, at most five and in ascending order, that use up what others wait for: nodes of the value, or
	// if AtOnce is used up, of the domain. Nil: nobody waits for the value.
	Users []string
}

// PartState is how a part of a stage stands before a plan's actions (T8).
type PartState struct {
	// Stage is its name; "" for the nodes that no stage selects. Key is the stage's key, and Value the value that these nodes
	// have; "" for nodes without the label, and for a stage without a key.
	Stage, Key, Value string
	// Phase that it is in.
	Phase stage.Phase
	// Nodes is how many are to run the pod, of which Held cannot be updated whatever part is open (T3, I1).
	Nodes, Held int32
	// Exempt is how many are left out (B8, B9, F4). Away is how many say nothing for now: departing ones (M8), whether they serve
	// or not, and those that only a taint keeps from running the pod, or from getting another one.
	Exempt, Away int32
	// Of the others Settled have an available pod of the update revision, Unavailable one that is not available, and Behind none.
	// A node out of reach, which is unreachable or has a pod whose deletion is overdue, is unavailable and not behind. A node
	// that may only keep its pod counts as unavailable if B2 counts it, and else nowhere here.
	Settled, Unavailable, Behind int32
	// Done is when the part was first seen to be done, of the last one that is; zero for others. Until is when the time to
	// soak is over: of the part that soaks, and of the one that waits for it; zero for others.
	Done, Until time.Time
	// Blocking are the first nodes, at most five and in ascending order, that keep an open part from being done. Nil for others.
	Blocking []string
}

// NodeCause is why the pod of a node does not serve.
type NodeCause struct {
	// Node and Pod are their names.
	Node, Pod string
	// Cause in the words of the objects.
	diagnosis.Cause
}

// Blocker is what keeps a rollout from going on, on one or more nodes or in the spec.
type Blocker struct {
	// Nodes are the first nodes, at most five and in ascending order, and Count is how many there are. Nil and 0: it is no node
	// that is in the way.
	Nodes []string
	Count int32
	// Since is since when the first of them has been in the way; zero: the objects do not tell.
	Since time.Time
	// Why is the reason in words, that of the objects where they have one.
	Why string
	// Helps are what a user can do about it, one thing each: a field to change, a command, a node to look at. Never empty.
	Helps []string
}

// Budget shows the limits of a plan and what is spent of them, after its repairs and admissions.
type Budget struct {
	// Desired is the base of percentages: the number of nodes that are to run the pod (B1).
	Desired int32
	// MaxUnavailable in nodes, with percentages resolved. 0 with OnDelete.
	MaxUnavailable int32
	// Unavailable is the number of nodes that count against MaxUnavailable (B2), those that this plan makes so
	// included: 0 <= Unavailable.
	Unavailable int32
	// MaxSurge in nodes, with percentages resolved. 0 with OnDelete.
	MaxSurge int32
	// Surging is the number of places of MaxSurge that are taken (B4), by this plan's creates too.
	Surging int32
	// Burst is how many creates, how many deletes and how many new in-place updates one plan may hold (M6).
	Burst int32
	// Partition in nodes, with a percentage resolved (T2). 0 with OnDelete.
	Partition int32
	// Partitioned is the number of nodes that take a place of Partition: <= Partition.
	Partitioned int32
	// SlowStart is how many nodes may be under way now (B7). UnderWay is how many are, before this plan's creates and
	// replacements. Both are 0 without slow start and while no rollout is under way. While no node waits for them, they may
	// change before Plan.NextWake.
	SlowStart, UnderWay int32
	// MaxUnschedulable in nodes, with a percentage resolved (B8).
	MaxUnschedulable int32
	// MaxExempt of Outages in nodes, with a percentage resolved (B9). 0 without Outages.
	MaxExempt int32
	// MaxQuarantined is Quarantine of Failures in nodes, with a percentage resolved (F4). 0 without Failures.
	MaxQuarantined int32
	// Exempt is the number of nodes that are left out of the budgets. Of them B9 leaves ExemptOut out, F4 leaves Quarantined
	// out, and B8 the others: ExemptOut <= MaxExempt, Quarantined <= MaxQuarantined, and the others <= MaxUnschedulable.
	Exempt, ExemptOut, Quarantined int32
	// Failed is the number of nodes that the update revision has failed on, those that B8 or B9 leaves out aside (F1), and
	// MaxFailed is how many may (F2). Both are 0 without Failures.
	Failed, MaxFailed int32
	// Waiting is the number of nodes that would be updated now if the budget, slow start or burst let them. Some pods turn
	// out only when their turn comes to be ones that cannot be updated, such as one whose record cannot be read. They count
	// until then.
	Waiting int32
}
