package verify

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// verifier holds what is made of the snapshot here, independently of the planner, and what it found wrong with the plan.
type verifier struct {
	*terms
	kept     *kept
	snapshot rollout.Snapshot
	plan     rollout.Plan
	found    []Violation

	// alike: one node may stand for several. unsure: one of those for which another stands was asked for.
	alike, unsure bool
	picks         []pick
	statements    []statement // in the order of the plan

	nodes   []*node         // that are judged, ascending by name
	pods    []*pod          // on them, and the strays
	strays  []*pod          // of no node, or of one that is not in the snapshot
	updates map[string]bool // hashes of the update revision and its duplicates (R2, R3)
	newest  map[string]bool // those of updates that R3 may keep
	limits  limits
	history revisionHistory
	trial   trial
	older   map[string]bool // see olderRevisions
	judged  *judgedCanary   // nil: the spec asks for no canary
	slow    slowStart
	staging staging
	failed  failed
	// remembered is the memory of the snapshot, if its layout is known.
	remembered rollout.Memory
	// selector is the strategy's, as text; empty: it holds nothing (T3).
	selector string
	// backoffs are the ends of the back-offs of Failed pods (M2).
	backoffs map[backoffKey]time.Time
	// templates of revisions and diffs from them to the template, by hash, as they are asked for.
	templates map[string]*corev1.PodTemplateSpec
	diffs     map[diffKey]*inplace.Update
	differs   map[[2]*corev1.PodTemplateSpec]string
	// failures of pulls, by node; nil: nobody has asked.
	failures map[string][]predownload.Failure
	// others are the tallies of stray pods, and of owners that are not in the snapshot.
	others map[owner]*tally

	// What the enumerations of a Decision declare.
	states     codes[rollout.NodeState]
	targets    codes[rollout.Target]
	verbs      codes[rollout.Verb]
	reasons    codes[rollout.Reason]
	limitCodes codes[rollout.Limit]
}

// node is one node with what is on it before and after the plan.
type node struct {
	record *nodeRecord
	object *corev1.Node
	weight int // how many nodes it stands for
	nodeFacts
	outcome placement.Outcome
	tainted bool          // a taint makes the outcome Leave (P3, M4)
	hold    rollout.Limit // what holds it: T2, T3 or T5
	closed  rollout.Limit // why its part of a stage is not open (T8)
	// takesBack: a pod of it that leaves through its hook is taken back, whatever its revision (L2).
	takesBack bool
	canary    bool // the plan tries the update revision here (C1)
	// goesStable: it is to end at the stable revision (T6); else at the update revision.
	goesStable bool
	// goesBack: it is to end at the base, as its part of a stage is not open, and what it has does not work there (T8); backAt is
	// when that is so by the clock alone.
	goesBack   bool
	backAt     time.Time
	overridden overridden // what it gives to the containers of where it is to end (P8)
	// unavailable and surging: it counts by B2 and B4 after the plan, exempt or not.
	unavailable, surging bool
	// hasFailed: the update revision has failed on it (F1), since failsAt, or will then; saysFailed: so the plan is to say.
	hasFailed, saysFailed bool
	failsAt               time.Time
	exempt                bool // the plan leaves it out of the budgets, and may: by exemption
	exemption             rollout.Exemption
	// saysWaits: the plan says that the budget keeps it waiting; mayWait: the plan has more important things to say of it;
	// saysHeld: the plan says that it is held; saysGrace: that it waits for the end of a grace period, whatever else is done
	// there.
	saysWaits, mayWait, saysHeld, saysGrace bool
	// mightWait: it waits for budget or burst to be updated, unless something is wrong with its pod.
	mightWait bool
	pods      []*pod // M1's ignored ones not; ordered by name and UID
	ignored   []*pod // those
	// requested are hashes of pods that were asked for and are not observed: live, not Ready, nothing to
	// delete yet.
	requested []string
	// asksUpdated: creates of the update revision are in flight, observed or not; asksCurrent: of where the node is to end;
	// asksOther: of another than that; asksOld: of neither.
	asksUpdated, asksCurrent, asksOther, asksOld bool
	creates                                      []string // hashes of the pods that the plan creates here
	facts                                        status.Facts
	right                                        map[string]bool // see rightRevisions
	tally                                        tally
	sums
}

// pod is one pod before and after the plan.
type pod struct {
	record *podRecord
	object *corev1.Pod
	node   *node // nil: a stray
	podFacts
	marked   bool // for deletion, in the snapshot or in flight
	atUpdate bool // carries the update revision
	updated  bool // and has the resources that its node wants there (P8)
	atGoal   bool // carries the revision where its node is to end
	current  bool // and has the resources wanted there
	avail    bool // as B5 has it
	// availableAt is when it becomes available by the clock alone; zero: never.
	availableAt time.Time
	stuck       bool // the scheduler finds no room for it, or it should be gone by now (B8)
	patched     bool // a patch of it is in flight

	deleted   bool       // by this plan
	dismissed bool       // this plan labels it as PreparingDelete
	begun     bool       // this plan begins, or goes on, to update it in place
	patches   []step     // of this plan, up to the first that cannot be read
	beginning *beginning // nil: nobody has asked
}

// live is not marked for deletion: a pod that has Failed is live until then.
func (p *pod) live() bool { return !p.marked }

// stays is live after the plan. One that is to leave does, until its hook lets it go.
func (p *pod) stays() bool { return !p.marked && !p.deleted }

// goes is deleted by this plan, or labelled to be deleted when its hook lets it go (L2).
func (p *pod) goes() bool { return p.deleted || p.dismissed }

// active is live and not finished.
func (p *pod) active() bool { return !p.marked && !p.terminal }

// ignored is M1's terminal pod that is already marked for deletion.
func (p *pod) ignored() bool { return p.marked && p.terminal }

// ran reports whether the pod can tell of its revision: on a keep node only if it is bound, because there it will not
// be bound any more.
func (p *pod) ran(node *node) bool {
	return node.outcome != placement.Keep || p.object.Spec.NodeName != ""
}

// serves is B2 before the plan. An outdated pod that waits to be updated in place, or that may have been made unready by
// a patch in flight, does not: it stops as soon as its hook, or the watch, lets it.
func (p *pod) serves() bool {
	if !p.active() || p.leaving {
		return false
	}
	return !p.patched && (p.current && p.settled() || !p.current && p.ready && !p.preparing)
}

// settled is available, and done with its update in place: what cannot be completed must stop the rollout.
func (p *pod) settled() bool { return p.avail && p.complete }

// goesOnServing is B2 after the plan.
func (p *pod) goesOnServing() bool { return p.serves() && !p.goes() && !p.begun }

// any reports whether a pod of the node satisfies f.
func (n *node) any(f func(*pod) bool) bool { return slices.ContainsFunc(n.pods, f) }

// generationLabel is R5's deprecated label.
const generationLabel = "pod-template-generation"

// observe attributes pods and requests to nodes and marks what the plan deletes, creates and patches.
func (v *verifier) observe() {
	v.others = make(map[owner]*tally)
	v.templates, v.diffs = make(map[string]*corev1.PodTemplateSpec), make(map[diffKey]*inplace.Update)
	v.differs = make(map[[2]*corev1.PodTemplateSpec]string)
	v.overrides.readers = make(map[*corev1.PodTemplateSpec]*placement.Overrides)
	v.observeNodes()
	v.observePods()
	v.observeStatements()
	v.observeCarried()
	v.observeRequests()
	v.observeGivenUp()
	v.observeBases()
	v.observeTrial()
	v.observeGoals()
	v.limits = v.resolveLimits()
	v.observeHolds()
	v.observeTakenBack()
	for _, node := range v.nodes {
		node.sumUp()
		v.settleRequests(node)
	}
	v.observeStaging()
	if v.spec.Strategy.Canary != nil && !v.failed.givenUp {
		v.judged = v.observeCanary()
	}
	v.backoffs = v.backoffEnds(v.snapshot.Memory)
	for i := range v.plan.Deletes {
		if pod := v.podOf(v.plan.Deletes[i].UID); pod != nil {
			pod.deleted = true
		}
	}
	for i := range v.plan.Creates {
		if node := v.nodeOf(v.plan.Creates[i].Node); node != nil {
			node.creates = append(node.creates, v.plan.Creates[i].Revision)
		}
	}
	for _, d := range v.statements {
		if node := d.node; node != nil {
			node.saysWaits = d.Reason == rollout.ReasonBudget || d.Pulls > 0
			node.mayWait = !node.saysWaits &&
				(acts(d.Verb) || d.Reason == rollout.ReasonBurst || d.Limit == rollout.LimitSlowStart)
			node.saysHeld = d.Target == rollout.TargetHeld
			node.saysGrace = d.Limit == rollout.LimitGracePeriod
		}
	}
	v.observePatches()
	for _, node := range v.nodes {
		v.sumUpAfter(node)
		node.facts = v.facts(node)
		node.unavailable, node.surging = v.isUnavailable(node), v.isSurging(node)
		node.mightWait = v.mightWait(node)
	}
	v.observeExempt()
	v.observeSlow()
}

// decided is the node that a Decision of the plan is about, which has the same place if the plan is in order; nil: it is
// about a stray pod.
func (v *verifier) decided(i int) *node {
	name := v.plan.Decisions[i].Node
	if i < len(v.nodes) && v.nodes[i].name == name {
		return v.nodes[i]
	}
	return v.nodeOf(name)
}

// nodeOf is the node of the name; nil: the snapshot has none.
func (v *verifier) nodeOf(name string) *node {
	r := v.kept.nodes.byKey[name]
	if r == nil {
		return nil
	}
	v.unsure = v.unsure || r.node == nil
	return r.node
}

// podOf is the pod with the UID; nil: the snapshot has none.
func (v *verifier) podOf(uid types.UID) *pod {
	r := v.kept.pods.byKey[uid]
	if r == nil {
		return nil
	}
	v.unsure = v.unsure || r.pod == nil
	return r.pod
}

// observeNodes begins anew with the nodes that are judged.
func (v *verifier) observeNodes() {
	room := &v.kept.room
	room.ofNodes = resized(room.ofNodes, len(v.picks))
	v.nodes = slices.Grow(room.listOfNodes[:0], len(v.picks))
	for i, pick := range v.picks {
		r, n := v.kept.byName[pick.place], &room.ofNodes[i]
		*n = node{
			record: r, weight: pick.weight, object: r.object, nodeFacts: r.nodeFacts, outcome: r.tried, tainted: r.triedTainted,
			requested: n.requested[:0], creates: n.creates[:0], ignored: n.ignored[:0],
		}
		r.node = n
		v.nodes = append(v.nodes, n)
	}
	room.listOfNodes = v.nodes
}

// observeStatements finds out which node each Decision is about.
func (v *verifier) observeStatements() {
	decisions, statements := v.plan.Decisions, v.kept.room.statements[:0]
	next := 0
	if v.alike { // they are in the order of the nodes, but for those about stray pods
		for i, pick := range v.picks {
			statements = append(statements, statement{&decisions[pick.place], v.nodes[i], pick.weight})
		}
		next = len(v.kept.kinds)
	}
	for i := next; i < len(decisions); i++ {
		statements = append(statements, statement{&decisions[i], v.decided(i), 1})
	}
	v.statements, v.kept.room.statements = statements, statements
}

// release gives up what was made of this plan.
func (v *verifier) release() {
	for _, node := range v.nodes {
		node.record.node = nil
	}
	for _, pod := range v.pods {
		pod.record.pod = nil
	}
	clear(v.statements)
}

// observeRequests notes what is in flight to the nodes.
func (v *verifier) observeRequests() {
	seen := make(map[rollout.InFlightCreate]bool)
	for _, create := range v.snapshot.InFlight.Creates {
		node := v.nodeOf(create.Node)
		if node == nil || seen[create] {
			continue
		}
		seen[create] = true
		if v.isUpdate(create.Revision) {
			node.asksUpdated = true
		}
		node.requested = append(node.requested, create.Revision)
	}
}

// settleRequests drops the creates in flight of whose kind a live pod is there. A terminating one, or one that leaves, is
// more likely the one before; so is one that was to leave and is not what stays (M3).
func (v *verifier) settleRequests(node *node) {
	if len(node.requested) == 0 {
		return
	}
	there := make(map[string]bool) // hashes
	current, atUpdate := false, false
	for _, p := range node.pods {
		stays := !p.leaving || p == node.bestCurrent || p == node.bestOutdated
		if p.active() && !p.leaves() && stays {
			there[p.hash] = true
			current, atUpdate = current || p.current, atUpdate || p.atUpdate
		}
	}
	node.requested = slices.DeleteFunc(node.requested, func(hash string) bool {
		// Where the node is to end, a pod with other resources is like one of another revision (P8).
		switch {
		case v.isGoal(node, hash):
			return current
		case v.isUpdate(hash):
			return atUpdate
		default:
			return there[hash]
		}
	})
	node.requestsGoal = slices.ContainsFunc(node.requested, func(hash string) bool { return v.isGoal(node, hash) })
}

// sameRevision reports whether the pod is of the revision with the hash; the empty hash stands for the update
// revision. Where the node is to end, a pod with other resources is like one of another revision (P8).
func (v *verifier) sameRevision(p *pod, hash string) bool {
	switch {
	case v.isGoal(p.node, hash):
		return p.current
	case v.isUpdate(hash):
		return p.atUpdate
	default:
		return p.hash == hash
	}
}

// isUpdate reports whether the hash of a requested pod is the update revision's.
func (v *verifier) isUpdate(hash string) bool { return hash == "" || v.updates[hash] }
