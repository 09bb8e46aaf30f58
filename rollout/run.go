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

	// overridden are the effects of overrides on nodes that have any, node.overridden - 1 being the ordinal (P8).
	overridden []placement.Overridden
	// trial is how the canary stands, record what is known of the rollout.
	trial  canary.Judgement
	record Record

	// askedOf are the revisions of which pods were asked for on a node, other than the update and the stable one.
	askedOf map[int32][]string
	// labels tells that canary labels are looked for.
	labels   bool
	inFlight inFlight
	backoffs backoffs
	left     left
	slow     slow
	// anyPrepared: there are prepared pods, see pod.prepared. down is how many nodes nothing serves by now, those with prepared
	// pods and those that B8 leaves out aside: the part of the budget that is spent at this instant (B3).
	anyPrepared bool
	down        int32
	// installs is how many more nodes may get a pod in a first installation with a partition (T7), or unlimited.
	installs int32
}

// node is what a run knows about one node, beside its Decision.
type node struct {
	object     *corev1.Node
	first, end int32 // its pods: run.pods[first:end]
	// current is the pod of the update revision that stays, other the one of another revision that stays (M3):
	// ordinals in run.pods, or none.
	current, other int32
	// overridden is the place in run.overridden of the node's overrides, counted from 1. 0: none.
	overridden int32
	// asked is of which revisions there are creates in flight, requested what that brings for the node's target.
	asked     asked
	requested requested
	// goal is the revision the node is to end at if nothing holds it (T1, T6).
	goal goal
	// canary: it is a canary node.
	canary bool
	// terminating: a pod is marked for deletion and not finished. finished: one that is not marked has.
	terminating, finished bool
	// leaving: a pod leaves through its preDelete hook, so that it is neither current nor other (L2).
	leaving bool
	// waits: the node could be updated now if the budget or the burst let it.
	waits bool
	// slotted: this plan begins the node, and slow start has counted it (B7).
	slotted bool
	// spared: B8 leaves it out of what is down, see countDown.
	spared bool
	// creating: this plan creates a pod of the target revision here.
	creating bool
	// hold names what holds the node at its revision (T2, T3, T5); LimitNone: nothing. See also run.holds.
	hold Limit
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

// asked is a set of revisions of which pods were asked for.
type asked uint8

const (
	askedUpdate asked = 1 << iota
	askedStable
	askedOther
)

// askedFor is what is asked for where a node is to end at a goal.
var askedFor = [goals]asked{toUpdate: askedUpdate, toStable: askedStable}

// requested tells of which kind an in-flight create on a node is.
type requested uint8

const (
	requestedNothing requested = iota
	requestedCurrent
	requestedOther
)

// pod is what a run knows about one pod.
type pod struct {
	object *corev1.Pod
	node   int32 // ordinal of its node
	hash   int32 // ordinal in run.hashes
	traits traits
}

// traits of a pod.
type traits uint32

const (
	marked       traits = 1 << iota // for deletion, or its deletion is in flight
	failed                          // phase Failed
	succeeded                       // phase Succeeded
	ready                           // B5
	available                       // B5
	bound                           // to its node by the scheduler
	byGeneration                    // no hash label; the template generation label matches (R5)
	updated                         // at the update revision, with the resources wanted there
	current                         // at the revision of its node's goal, with the resources wanted there
	digested                        // carries a digest of overridden resources (P8)
	labelled                        // carries the canary label
	doomed                          // this plan deletes it
	patched                         // a patch of it is in flight
	leaving                         // through its preDelete hook, as labelled or as this plan labels it (L2)
	preparing                       // for an in-place update, as labelled or as this plan labels it (L3)
	moving                          // an in-place update or a hook of it is not finished
	incomplete                      // though it may be ready, its in-place update or a hook of it is not complete (I5, L3)
	begun                           // this plan begins, or goes on, to update it in place
	touched                         // this plan patches it
	dismissed                       // this plan would delete it, if its hook, burst or frozen let it

	finished = failed | succeeded
	gone     = marked | doomed
)

func (t traits) has(some traits) bool { return t&some != 0 }

// hash is one distinct revision hash carried by pods.
type hash struct {
	value   string
	live    bool // by a pod that is neither seen to be marked nor finished
	update  bool // its revision is the update revision
	stable  bool // its revision is the stable one
	relabel bool // its revision is a duplicate of the update revision (R3)
	// diff is the ordinal in Plan.Diffs, plus 1, of what an in-place update of its pods to a goal would change; 0: nobody
	// asked.
	diff [goals]int32
}

// through walks the nine steps.
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
	r.mergeDuplicateRevisions()
	r.labelCanaries()
	r.pull()
	r.report()
	return nil
}

func (r *run) decision(i int32) *Decision { return &r.plan.Decisions[i] }

// podsOf lists the records of a node's pods. M1's ignored ones are not among them.
func (r *run) podsOf(n *node) []pod { return r.pods[n.first:n.end] }

func (r *run) outcome(i int32) placement.Outcome { return r.plan.Decisions[i].Placement.Outcome }

// surge tells whether new pods may stand beside old ones.
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
