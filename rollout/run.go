package rollout

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// run is one way through a plan. Nodes and pods are flat slices, joined by ordinal; nothing is kept per node
// beyond one record and one Decision of the same ordinal, so that a plan allocates a constant number of objects
// however many nodes there are.
type run struct {
	*Planner
	snapshot Snapshot
	plan     Plan

	remembered Memory

	nodes    []node // ascending by name
	pods     []pod  // grouped by node, node.first to node.end
	strays   []pod  // pods on no known node
	ignored  []pod  // those M1 ignores, by node; kept only with holdRevision or a canary
	index    nodeIndex
	hashes   []hash           // the distinct revision hashes that pods carry
	ids      map[string]int32 // hash to ordinal in hashes
	revision history.Resolution
	// templates of the revisions, by hash.
	templates map[string]*olderTemplate

	// updateRuns is how many nodes run the pod by the template of the update revision (P2); step 1 counts them. It is the base
	// for canary nodes. Budget.Desired is the number of nodes that run the pod of the revision where they are to end (B1).
	updateRuns int32
	// ripening are the pods on leave nodes that become available by the clock alone; step 2 lists them.
	ripening []ripening
	// effects of overrides, one for each node that has any: see node.effect (P8).
	effects []placement.Overridden
	// trial is how the canary stands, record what is known of the rollout.
	trial  canary.Judgement
	record Record

	// otherCreates are the revisions, other than the update and the stable one, of the creates in flight for a node: those that
	// make up ofOther in node.creates.
	otherCreates map[int32][]string
	// usesCanaryLabel: the canary label of pods is read, put on and taken off. Without a canary that is so while the memory knows
	// canary nodes, whose pods may carry it still.
	usesCanaryLabel bool
	inFlight        inFlight
	backoffs        backoffs
	allowance       allowance
	slow            slow
	// hasPrepared: there is a pod of which isPrepared is true; step 5 looks.
	hasPrepared bool
	// down is how many nodes nothing serves by now, those that rely on prepared pods and those that B8 leaves out aside: the part
	// of the budget that is spent at this instant (B3). It is counted only with hasPrepared.
	down int32
	// installs is how many more nodes may get a pod in a first installation with a partition (T7), or unlimited.
	installs int32
}

// node is what a run knows about one node, beside its Decision.
type node struct {
	object     *corev1.Node
	first, end int32 // its pods: run.pods[first:end]
	// goalPod is the pod atGoal that stays (the new pod of the rules), outdatedPod the one not atGoal that stays (M3): ordinals
	// in run.pods, first <= ordinal < end, or none. Step 5 picks them.
	goalPod, outdatedPod int32
	// effect is the place in run.effects of what overrides give the node, counted from 1. 0: nothing.
	effect int32
	// creates is of which revisions there are creates in flight, expects what those will bring that are not settled (M1).
	creates revisionSet
	expects expectation
	// goal is the revision the node is to end at if nothing holds it (T1, T6).
	goal goal
	// canary: it is a canary node.
	canary bool
	// terminating: a pod is marked for deletion and not finished. finished: one that is not marked has.
	terminating, finished bool
	// preparingDelete: a pod leaves through its preDelete hook, so that it is neither goalPod nor outdatedPod (L2).
	preparingDelete bool
	// waiting: the node could be updated now if the budget or the burst let it. Budget.Waiting is the number of such nodes.
	waiting bool
	// slotted: this plan begins the node, and slow start has counted it (B7).
	slotted bool
	// spared: B8 leaves it out of what is down, see countDown.
	spared bool
	// creating: this plan creates a pod of the goal's revision here.
	creating bool
	// heldBy names what holds the node at its revision (T2, T3, T5); LimitNone: nothing does. What holds the whole rollout is
	// added by run.beginHeldBy.
	heldBy Limit
}

// none is no ordinal, unlimited no limit.
const (
	none      = -1
	unlimited = -1
)

// goal is a revision that nodes are to end at.
type goal uint8

const (
	toUpdate goal = iota
	toStable

	goals // count
)

// revisionSet says of which kinds of revisions there is something.
type revisionSet uint8

const (
	ofUpdate revisionSet = 1 << iota
	ofStable
	ofOther
)

// ofGoal is the revision that a goal stands for.
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
	object *corev1.Pod
	node   int32 // ordinal of its node
	hash   int32 // ordinal in run.hashes
	traits traits
}

// ripening is when a pod of a node becomes available by the clock alone.
type ripening struct {
	node int32
	at   time.Time
}

// traits of a pod.
type traits uint32

// What step 2 reads off the object and what is in flight for it.
const (
	marked          traits = 1 << iota // for deletion, or its deletion is in flight
	failed                             // phase Failed
	succeeded                          // phase Succeeded
	ready                              // B5; never with marked
	available                          // B5; implies ready
	bound                              // to its node by the scheduler
	byGeneration                       // no hash label; the template generation label matches (R5)
	digested                           // carries a digest of overridden resources (P8)
	labelled                           // carries the canary label
	patchInFlight                      // a patch of it is in flight
	preparingDelete                    // leaves through its preDelete hook (L2); this plan may label it so, too
	preparingUpdate                    // is prepared for an update in place (L3)
	inTransition                       // an in-place update or a hook of it is not finished
	outOfService                       // though it may be ready, its in-place update or a hook of it is not complete (I5, L3)

	// What step 4 finds, once it is known where the pod's node is to end.

	updated // at the update revision; with the goal toUpdate also with the resources wanted on the node
	atGoal  // at the revision of its node's goal, with the resources wanted on the node

	// What this plan does.

	planDeletes   // deletes it
	planPatches   // patches it
	planUpdates   // begins, or goes on, to update it in place
	deleteRefused // would delete it, if its hook, burst or frozen let it

	finished = failed | succeeded
	// gone is what counts as gone, although it may still hold its node.
	gone = marked | planDeletes
)

func (t traits) has(some traits) bool { return t&some != 0 }

// hash is one distinct revision hash carried by pods.
type hash struct {
	value   string
	live    bool // by a pod that is neither seen to be marked nor finished
	update  bool // its revision is the update revision
	stable  bool // its revision is the stable one
	relabel bool // its revision is a duplicate of the update revision (R3)
	// changes are what updates in place of its pods to each goal would change. They are compared when they are first needed.
	changes [goals]change
}

// through walks the nine steps. Each is one method, in the file of its name.
func (r *run) through() error {
	if err := r.place(); err != nil {
		return err
	}
	if err := r.join(); err != nil {
		return err
	}
	if err := r.resolve(); err != nil {
		return err
	}
	r.target()
	r.classify()
	r.repair()
	r.admit()
	r.act()
	r.report()
	return nil
}

func (r *run) decision(i int32) *Decision { return &r.plan.Decisions[i] }

// podsOf lists the records of a node's pods. M1's ignored ones are not among them.
func (r *run) podsOf(n *node) []pod { return r.pods[n.first:n.end] }

func (r *run) outcome(i int32) placement.Outcome { return r.plan.Decisions[i].Placement.Outcome }

// surge reports whether new pods may stand beside old ones.
func (r *run) surge() bool {
	return r.spec.Strategy.Type == RollingUpdate && r.maxSurge.Value > 0
}

// wake moves NextWake forward to at, if that is in the future and earlier.
func (r *run) wake(at time.Time) {
	if at.After(r.snapshot.Now) && (r.plan.NextWake.IsZero() || at.Before(r.plan.NextWake)) {
		r.plan.NextWake = at
	}
}

// checkRevisions refuses revisions of another controller, too: what is not the set's would be trimmed as its own.
func checkRevisions(revisions []*appsv1.ControllerRevision, owner types.UID) error {
	seen := make(map[string]bool, len(revisions))
	for i, revision := range revisions {
		if revision == nil {
			return at("Revisions", i, "must not be nil")
		}
		if of := metav1.GetControllerOfNoCopy(revision); of != nil && owner != "" && of.UID != owner {
			return at("Revisions", i, fmt.Sprintf("must not belong to another controller, as %s does: "+
				"ClaimRevisions picks the set's", revision.Name))
		}
		if seen[revision.Name] {
			return at("Revisions", i, "must have a name of its own: there is another "+revision.Name)
		}
		seen[revision.Name] = true
	}
	return nil
}
