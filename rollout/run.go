package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/count"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// run is the state of the nine steps while one plan is made: what is given, and what the steps find out and decide. Each part is
// written by some of the steps, and later ones only read it (TestLifetimes). The records of nodes are split in the same way.
//
//   - facts: what there is. Steps 1 to 3. The traits of pods go on: what step 4 finds of them, and what steps 6 to 8 do to them.
//   - aim, nodeAim: where the rollout and each node are to end. Steps 3 and 4; what overrides give to nodes is known in step 1,
//     and which nodes go back to the base in step 5.
//   - opened, nodeFindings: how each part of a stage and each node stands. Step 5.
//   - draft, nodeDraft: what is left of the limits of this plan, and what it does about each node. Steps 4 to 7.
//   - plan: the result. Decisions are made in step 3, written to by all later steps, and completed in step 9.
//
// A node has an ordinal in the order of all names: its facts and its Decision are found by it. A node that was not set aside also
// has a record, with an index in run.nodes, which is what i, n and node are in all steps: run.decision(i) leads from the one to
// the other. Records and Decisions are flat slices, so that a plan allocates a constant number of objects however many nodes
// there are.
type run struct {
	*Planner
	snapshot   Snapshot
	remembered Memory
	claims     bool       // whether the pods of the snapshot are still to be claimed
	workspace  *Workspace // where records and Decisions are
	// usesCanaryLabel reports whether the canary label of pods is read, put on and taken off. Without a canary that is so while
	// the memory knows canary nodes, because their pods may still carry the label.
	usesCanaryLabel bool
	// revisionsInFlight are the names of revisions for which a request is in flight.
	revisionsInFlight map[string]bool

	facts
	aim
	opened
	plan Plan
	draft
}

// facts are what steps 1 and 2 read off the snapshot, and the records that step 3 makes of it.
type facts struct {
	nodeFacts *fleet.Nodes
	podFacts  *fleet.Pods
	nodes     []node // those that were not set aside, ascending by name
	pods      []pod  // of these nodes, grouped by node, node.first to node.end
	strays    []pod  // pods on no known node
	ignored   []pod  // finished and marked ones, which M1 ignores, by node; kept only if remembersIgnored
	hashes    []hash // the distinct revision hashes that pods carry
	// settledAside is how many settled nodes were set aside: each is desired, and has one available pod of the update revision.
	// settledFacts are the facts of each. Whatever counts nodes adds them: desired and the partition (step 4), parts (5), excess
	// and domains (6), pulls (8), the status (9).
	settledAside int32
}

// aim is where the rollout is to end, as steps 3 and 4 find out; the effects of overrides come from step 1. What it means for
// each node is in nodeAim.
type aim struct {
	revision history.Resolution
	// templates of the revisions, by hash.
	templates map[string]*olderTemplate
	// effects of overrides (P8); node.effect finds them.
	effects []placement.Overridden
	// trial is how the canary stands. record is what is known of the rollout.
	trial  canary.Judgement
	record Record
	// baseEverywhere reports whether every node that is to run the pod has one of the base, and no revision is marked as rolled
	// out everywhere (T8).
	baseEverywhere bool
	// otherCreates are, by the node's index in run.nodes, the revisions of its creates in flight that are neither the update
	// revision nor the stable one: those for which node.creates has ofOther.
	otherCreates map[int32][]string
}

// opened is what step 5 finds out about the parts of stages (T8), and about failed nodes (F2). It is zero while they are not
// followed.
type opened struct {
	// partCounts are how the nodes of each part stand, by its ordinal, and stages is what that means.
	partCounts []stage.Count
	stages     stage.Judgement
	// failed is how many nodes have failed. maxFailed is how many may fail (F2), and
	// maxQuarantined how many of those that did may be left out (F4).
	failed, maxFailed, maxQuarantined int32
}

// draft is what steps 4 to 7 remember of the plan that they write, such as what is left of its limits.
type draft struct {
	backoffs  backoffs
	allowance allowance
	slow      slow
	// downNow is how many nodes have no serving pod by now: the part of the budget that is spent at this instant (B3). Nodes
	// that rely on prepared pods and nodes that B8, B9 or F4 leaves out are not counted. Only what takes a prepared pod away asks
	// for it, so that it means nothing while no pod is prepared.
	downNow int32
	// domains count the nodes that are disturbed in each domain (B10). Step 6 makes them, and step 7 fills them. domainsNow are
	// what downNow is for maxUnavailable: those that are down at this instant.
	domains, domainsNow domain.Ledger
	// installsLeft is how many more nodes may get a pod in a first installation with a partition (T7), or unlimited.
	// Step 4 sets it.
	installsLeft int32
}

// node is what a run knows about one node, beside its Decision.
type node struct {
	*fleet.Node
	ordinal    int32 // of its facts and its decision
	first, end int32 // its pods: run.pods[first:end]
	nodeAim
	nodeFindings
	nodeDraft
}

// nodeAim is where a node is to end.
type nodeAim struct {
	// effect is the index in run.effects of what overrides give the node, for the revision of its goal; none: they give it
	// nothing.
	effect int32
	// creates says of which revisions there are creates in flight. Some of the pods may be in the snapshot already; expects says
	// what the others will bring (M1).
	creates revisionSet
	// goal is the revision the node is to end at if nothing holds it (T1, T6).
	goal goal
	// canary reports whether it is a canary node.
	canary bool
	// departing reports whether the node is on its way out of the cluster, and nothing is created, deleted or begun there (M8).
	departing bool
	// draining reports whether the node is being drained, or has been, so that nothing is begun there by choice (M8).
	draining bool
	// undeclared reports whether the node does not declare what a pod of the update revision needs (T9).
	undeclared bool
	// heldBy names what holds an outdated pod of this node at its revision: partition (T2), node selector (T3), T9 or OnDelete
	// (T5). LimitNone: nothing does. Three of the gates ask for it (gates.go).
	heldBy Limit
}

// nodeFindings is how a node stands on its way there. Step 5 sets it.
type nodeFindings struct {
	// goalPod is the pod atGoal that stays (the new pod of the rules), outdatedPod the pod not atGoal that stays (M3: of several
	// pods the best stays). Both are ordinals in run.pods, first <= ordinal < end, or none.
	goalPod, outdatedPod int32
	expects              expectation
	// terminating reports whether a pod is marked for deletion and not finished, hasFinished whether one is finished and not
	// marked.
	terminating, hasFinished bool
	// leavesByHook reports whether a pod leaves through its preDelete hook and is not taken back. It is then neither goalPod nor
	// outdatedPod (L2).
	leavesByHook bool
	// closed says why the part of a stage that the node is in is not open (T8), or nothing is begun anywhere (F3). LimitNone: the
	// part is open.
	closed Limit
	// failed reports whether the update revision has failed on the node, left out of the budgets or not (F1).
	failed bool
}

// nodeDraft is what this plan does about a node, as far as its Decision does not say so. Steps 6 and 7 set it.
type nodeDraft struct {
	// waiting reports whether the node is a candidate, and could be updated now if the budget, a domain, slow start or burst let
	// it. It has an outdated pod, then. Budget.Waiting is the number of such nodes.
	waiting bool
	// underWay reports whether slow start counts the node as under way before this plan's actions (B7).
	underWay bool
	// tookPlace reports whether this plan begins the node, and slow start has counted it (B7).
	tookPlace bool
	// exemptFromDown reports whether B8 (maxUnschedulable), B9 (outages) or F4 (quarantine) leaves the node out of run.downNow.
	// countDownNodes sets it.
	exemptFromDown bool
	// creating reports whether this plan creates a pod of the goal's revision here.
	creating bool
}

// none stands for no ordinal, unlimited for no limit.
const (
	none      = -1
	unlimited = -1
)

// goal is a revision that nodes are to end at.
type goal uint8

const (
	toUpdate goal = iota
	toStable
	toBase // back from a revision that has failed there, in a part that is not open (T8)

	goals // count
)

// revisionSet is a set of kinds of revisions, as seen from this plan.
type revisionSet uint8

const (
	ofUpdate revisionSet = 1 << iota
	ofStable
	ofOther
)

// ofGoal is the kind of revision that a goal stands for.
var ofGoal = [goals]revisionSet{toUpdate: ofUpdate, toStable: ofStable}

// expectation is what the creates in flight for a node will bring.
type expectation uint8

const (
	expectsNothing expectation = iota
	expectsGoalPod
	expectsOutdatedPod
)

// pod is what a run knows about one pod.
type pod struct {
	*fleet.Pod
	host   int32 // index in run.nodes of the record of its node; none: a stray
	hash   int32 // ordinal in run.hashes
	traits traits
}

// traits of a pod. The lower bits are those of its facts.
type traits uint32

// What the object says. A pod that is marked, or whose deletion is in flight, is neither ready nor available, and what hooks and
// updates have begun on it does not matter any more.
const (
	marked          = traits(fleet.Marked) // for deletion, or its deletion is in flight
	phaseFailed     = traits(fleet.Failed)
	phaseSucceeded  = traits(fleet.Succeeded)
	ready           = traits(fleet.Ready)
	bound           = traits(fleet.Bound)
	digested        = traits(fleet.Digested)
	labelled        = traits(fleet.Labelled)
	preparingDelete = traits(fleet.PreparingDelete) // this plan may label it so, too
	preparingUpdate = traits(fleet.PreparingUpdate)
	inTransition    = traits(fleet.InTransition)
	restarting      = traits(fleet.Restarting)
	outOfService    = traits(fleet.OutOfService)
	unreadable      = traits(fleet.Unreadable)
)

const (
	// What step 3 adds, by the time, the spec and the requests in flight.

	available     traits = 1 << (16 + iota) // B5; implies ready
	byGeneration                            // no hash label; the template generation label matches (R5)
	patchInFlight                           // a patch of it is in flight

	// These are what step 4 finds, once the goal of the pod's node is known.

	atUpdate // at the update revision; with the goal toUpdate also with the resources wanted on the node
	atGoal   // at the revision of its node's goal, and whole

	// These are what this plan does to the pod.

	planDeletes    // deletes it
	planPatches    // patches it
	planUpdates    // begins, or goes on, to update it in place
	deleteDeferred // would delete it, and does not yet: its hook, burst, frozen or its departing node keeps it

	finished = phaseFailed | phaseSucceeded
	// A pod with the trait deleting is marked for deletion, or will be by this plan. Its object may still hold its node.
	deleting = marked | planDeletes
)

func (t traits) hasAny(some traits) bool { return t&some != 0 }

// hash is one distinct revision hash carried by pods.
type hash struct {
	value   string
	live    bool // a pod carries it that is not finished, and whose object is not marked for deletion
	update  bool // its revision is the update revision
	stable  bool // its revision is the stable one
	base    bool // its revision is the base (T8)
	relabel bool // its revision is a duplicate of the update revision (R3)
	// changes are what updates in place of its pods to each goal would change. They are compared when they are first needed.
	changes [goals]change
}

// settledFacts are those of a settled node (S1).
const settledFacts = status.Desired | status.Present | status.Ready | status.Available | status.Updated

// decision returns that of the node whose record has the index i.
func (r *run) decision(i int32) *Decision { return &r.plan.Decisions[r.nodes[i].ordinal] }

// podsOf lists the records of a node's pods. Finished pods that are marked for deletion are not among them (M1 ignores them).
func (r *run) podsOf(n *node) []pod { return r.pods[n.first:n.end] }

func (r *run) outcome(i int32) placement.Outcome { return r.decision(i).Placement.Outcome }

// wake moves NextWake to at, if at is in the future and earlier than NextWake.
func (r *run) wake(at time.Time) {
	if at.After(r.snapshot.Now) && (r.plan.NextWake.IsZero() || at.Before(r.plan.NextWake)) {
		r.plan.NextWake = at
	}
}

// earlier returns the earlier of two instants; the zero time is later than any other.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Planner makes plans for one spec. [New] compiles it. It is immutable and safe for concurrent use.
type Planner struct {
	spec            Spec
	resolver        *history.Resolver
	maxUnavailable  count.Quantity
	maxSurge        count.Quantity
	burst           count.Quantity
	partitionSize   count.Quantity
	increase        count.Quantity   // of SlowStart
	maxParallel     count.Quantity   // of SlowStart
	unschedulable   count.Quantity   // MaxUnschedulable
	outages         *outage.Options  // nil: they are off
	proving         outage.Options   // what is evidence of what took a node down: the outages, else the default ones
	maxExempt       count.Quantity   // of outages
	failures        *failure.Options // nil: they are off
	failing         failure.Options  // when a pod counts as failed: those of failures, else the default ones
	failedLimit     count.Quantity   // MaxFailed of failures
	quarantineLimit count.Quantity   // Quarantine of failures
	rules           *fleet.Rules     // for reading nodes and pods
	noOwner         error            // why nothing can be claimed; nil: it can
	claimer         fleet.Claimer    // of pods
	images          []string         // of the template
	features        []string         // that a node has to declare before a pod of the template runs there (T9)
	secrets         []string         // to pull them with
	gates           []gate           // those of the features that the spec uses
	ledgers         []ledger
	adjustAside     func(*run, *asideRule) // for tests; nil: nothing is adjusted
}

// surges reports whether new pods may stand beside old ones.
func (p *Planner) surges() bool { return p.spec.Strategy.Type == RollingUpdate && p.maxSurge.Value > 0 }

// sparesDeparting reports whether M8 leaves nodes alone that are on their way out of the cluster or being drained.
func (p *Planner) sparesDeparting() bool { return p.outages != nil && !p.outages.Touch }

// allowance is how many pods the plan may still create, delete and begin to update in place (M6).
type allowance struct{ creates, deletes, updates int32 }

// slow is what slow start lets a plan begin (B7: it bounds the nodes that are under way). The zero value bounds nothing.
type slow struct {
	on bool
	// free is how many more nodes may be under way. missing is how many of them are kept for nodes that miss a pod.
	free, missing int32
	// expiry is when the clock alone ends the first node's being under way, step is when the limit rises next; zero: never.
	expiry, step time.Time
}

// change is what an update in place of the pods of one revision to a goal would change.
type change struct {
	// update is nil until the two are compared.
	update *inplace.Update
	// listed is the element of Plan.Diffs that shows it; nil: no decision has needed it so far.
	listed *RevisionDiff
}

// olderTemplate is the template of a revision. It is decoded when it is first needed.
type olderTemplate struct {
	revision *appsv1.ControllerRevision // still to be decoded; nil: it was decoded, or there are two of that hash
	template *corev1.PodTemplateSpec    // nil: cannot be read
	// overrides compiled for its containers; nil: they were not needed so far.
	overrides *placement.Overrides
}

// backoffs slow down the deletion of failed pods (M2), and know since when pods fail on a node, and how often they did (F1).
type backoffs struct {
	now     time.Time
	entries map[backoffKey]Backoff // as remembered
	changed map[backoffKey]Backoff // by this plan; apart from entries, so that a deletion delays no other pod in this plan
}

// Workspace is memory for plans that follow each other: each works where the one before it did, so that a plan in the middle of
// a rollout allocates little and takes about half the time. What a plan says does not depend on it. The zero value is ready to
// use.
//
// The price is that a plan is good only until the next call: the next plan of the same Workspace overwrites Plan.Decisions, which
// Plan.Explain and the like read, too. Whoever keeps a plan for longer gets it of [Planner.Plan], or clones its Decisions. The
// rest of a plan, with its Reading and Memory, stays as it is.
//
// A Workspace may be used with any planner and snapshot, but not by several goroutines at once. It keeps no objects, and as much
// memory as its largest plan has needed: 144 bytes a node, and 84 more for each node that was not where it is to be. When all
// nodes are, the Reading takes the Decisions over, and the next plan that needs room gets other memory.
type Workspace struct {
	decisions   []Decision
	nodeRecords []node
	podRecords  []pod
	// unsettled are the ordinals of the nodes that get records.
	unsettled []int32
}

type backoffKey struct{ node, revision string }
