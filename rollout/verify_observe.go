package rollout

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// verifier holds what Verify makes of the snapshot by itself, and what it found wrong with the plan.
type verifier struct {
	spec     Spec // with defaults
	snapshot Snapshot
	plan     Plan
	template []byte // as revisions store it (R1)
	found    []Violation

	nodes   []*verifiedNode // ascending by name
	nodeOf  map[string]*verifiedNode
	pods    map[types.UID]*verifiedPod
	strays  []*verifiedPod  // of no node, or of one that is not in the snapshot; ordered by node, name and UID
	updates map[string]bool // hashes of the update revision and its duplicates (R2, R3)
	newest  map[string]bool // those of updates that R3 may keep
	limits  verifiedLimits
	trial   verifiedTrial
	judged  *verifiedCanary // nil: the spec asks for no canary
	slow    verifiedSlow
	// remembered is the memory of the snapshot, if its layout is known.
	remembered Memory
	overrides  verifiedOverrides
	// predecessor tells whether a pod is of the set that this one takes over from.
	predecessor func(*corev1.Pod) bool
	// selector is the strategy's, as text; empty: it holds nothing (T3).
	selector string
	// backoffs are the ends of the back-offs of Failed pods (M2).
	backoffs map[verifiedBackoff]time.Time
	// templates of revisions and diffs from them to the template, by hash, as they are asked for.
	templates map[string]*corev1.PodTemplateSpec
	diffs     map[verifiedDiff]*inplace.Update
	// saysWaits are the nodes of which the plan says that the budget keeps them waiting, mayWait those of which it has more
	// important things to say.
	saysWaits, mayWait map[string]bool
}

// verifiedNode is one node with what is on it before and after the plan.
type verifiedNode struct {
	name    string
	object  *corev1.Node
	outcome placement.Outcome
	// tried is the outcome by the template of the update revision, wherever the node is to end.
	tried   placement.Outcome
	tainted bool  // a taint makes the outcome Leave (P3, M4)
	hold    Limit // what holds it: T2, T3 or T5
	canary  bool  // the plan tries the update revision here (C1)
	// goesStable: it is to end at the stable revision (T6); else at the update revision.
	goesStable bool
	overridden verifiedOverridden // what it gives to the containers of where it is to end (P8)
	exempt     bool               // the plan leaves it out of the budgets, and may (B8)
	pods       []*verifiedPod     // M1's ignored ones not; ordered by name and UID
	ignored    []*verifiedPod     // those
	// requested are hashes of pods that were asked for and are not observed: live, not Ready, nothing to
	// delete yet.
	requested []string
	// asksUpdated: creates of the update revision are in flight, observed or not; asksCurrent: of where the node is to end;
	// asksOther: of another than that; asksOld: of neither.
	asksUpdated, asksCurrent, asksOther, asksOld bool
	creates                                      []string // hashes of the pods that the plan creates here
}

// verifiedPod is one pod.
type verifiedPod struct {
	object    *corev1.Pod
	name      string        // of its node (P7); empty: not attributable
	node      *verifiedNode // nil: a stray
	hash      string        // of its revision; empty: none, or another set's
	marked    bool          // for deletion, in the snapshot or in flight
	terminal  bool          // Failed or Succeeded
	failed    bool          // Failed
	atUpdate  bool          // carries the update revision
	updated   bool          // and has the resources that its node wants there (P8)
	current   bool          // is where its node is to end: at that revision, with the resources wanted there
	ready     bool          // as B5 has it
	avail     bool          // as B5 has it
	complete  bool          // its update in place is (I5), if there was any
	leaving   bool          // labelled as PreparingDelete (L2)
	preparing bool          // labelled as PreparingUpdate (L3)
	patched   bool          // a patch of it is in flight

	deleted   bool           // by this plan
	dismissed bool           // this plan labels it as PreparingDelete
	begun     bool           // this plan begins, or goes on, to update it in place
	patches   []verifiedStep // of this plan, up to the first that cannot be read
}

// live is not marked for deletion: a pod that has Failed is live until then.
func (p *verifiedPod) live() bool { return !p.marked }

// stays is live after the plan. One that is to leave does, until its hook lets it go.
func (p *verifiedPod) stays() bool { return !p.marked && !p.deleted }

// goes is deleted by this plan, or labelled to be deleted when its hook lets it go (L2).
func (p *verifiedPod) goes() bool { return p.deleted || p.dismissed }

// active is live and not finished.
func (p *verifiedPod) active() bool { return !p.marked && !p.terminal }

// ignored is M1's terminal pod that is already marked for deletion.
func (p *verifiedPod) ignored() bool { return p.marked && p.terminal }

// ran tells whether the pod can tell of its revision: on a keep node only if it is bound, because there it will not
// be bound any more.
func (p *verifiedPod) ran(node *verifiedNode) bool {
	return node.outcome != placement.Keep || p.object.Spec.NodeName != ""
}

// serves is B2 before the plan. An outdated pod that waits to be updated in place, or that may have been made unready by
// a patch in flight, does not: it stops as soon as its hook, or the watch, lets it.
func (p *verifiedPod) serves() bool {
	if !p.active() || p.leaving {
		return false
	}
	return !p.patched && (p.current && p.settled() || !p.current && p.ready && !p.preparing)
}

// settled is available, and done with its update in place: what cannot be completed must stop the rollout.
func (p *verifiedPod) settled() bool { return p.avail && p.complete }

// goesOnServing is B2 after the plan.
func (p *verifiedPod) goesOnServing() bool { return p.serves() && !p.goes() && !p.begun }

// any tells whether a pod of the node satisfies f.
func (n *verifiedNode) any(f func(*verifiedPod) bool) bool { return slices.ContainsFunc(n.pods, f) }

// verifiedGenerationLabel is R5's deprecated label.
const verifiedGenerationLabel = "pod-template-generation"

// observe attributes pods and requests to nodes and marks what the plan deletes, creates and patches.
func (v *verifier) observe() {
	v.templates, v.diffs = make(map[string]*corev1.PodTemplateSpec), make(map[verifiedDiff]*inplace.Update)
	if v.snapshot.Memory.Version == MemoryVersion {
		v.remembered = v.snapshot.Memory
	}
	v.updates, v.newest = v.updateRevision()
	v.predecessor = v.predecessors()
	v.overrides = v.compileOverrides()
	v.observeNodes()
	v.observePods()
	v.observeRequests()
	v.observeTrial()
	v.observeGoals()
	v.limits = v.resolveLimits()
	v.observeHolds()
	v.settleRequests()
	if v.spec.Strategy.Canary != nil {
		v.judged = v.observeCanary()
	}
	v.backoffs = v.backoffEnds(v.snapshot.Memory)
	for i := range v.plan.Deletes {
		if pod := v.pods[v.plan.Deletes[i].UID]; pod != nil {
			pod.deleted = true
		}
	}
	for i := range v.plan.Creates {
		if node := v.nodeOf[v.plan.Creates[i].Node]; node != nil {
			node.creates = append(node.creates, v.plan.Creates[i].Revision)
		}
	}
	v.saysWaits, v.mayWait = make(map[string]bool), make(map[string]bool)
	for i := range v.plan.Decisions {
		d := &v.plan.Decisions[i]
		v.saysWaits[d.Node] = d.Reason == ReasonBudget || d.Pulls > 0
		v.mayWait[d.Node] = !v.saysWaits[d.Node] && (d.Verb > VerbHold || d.Reason == ReasonBurst || d.Limit == LimitSlowStart)
	}
	v.observePatches()
	v.observeExempt()
	v.observeSlow()
}

func (v *verifier) observeNodes() {
	place := verifiedPlacement(&v.spec.Template)
	v.nodeOf = make(map[string]*verifiedNode, len(v.snapshot.Nodes))
	for _, object := range v.snapshot.Nodes {
		node := &verifiedNode{name: object.Name, object: object}
		node.outcome, node.tainted = place(object)
		node.tried = node.outcome
		v.nodes = append(v.nodes, node)
		v.nodeOf[node.name] = node
	}
	slices.SortFunc(v.nodes, func(a, b *verifiedNode) int { return cmp.Compare(a.name, b.name) })
}

func (v *verifier) observePods() {
	marked, patched := make(map[types.UID]bool), make(map[types.UID]bool)
	for _, uid := range v.snapshot.InFlight.Deletes {
		marked[uid] = true
	}
	for _, uid := range v.snapshot.InFlight.Patches {
		patched[uid] = true
	}
	v.pods = make(map[types.UID]*verifiedPod, len(v.snapshot.Pods))
	for _, object := range v.snapshot.Pods {
		pod := v.observePod(object, object.DeletionTimestamp != nil || marked[object.UID])
		pod.patched = patched[object.UID]
		v.pods[object.UID] = pod
		switch pod.node = v.nodeOf[pod.name]; {
		case pod.node == nil:
			v.strays = append(v.strays, pod)
		case pod.ignored():
			pod.node.ignored = append(pod.node.ignored, pod)
		default:
			pod.node.pods = append(pod.node.pods, pod)
		}
	}
	slices.SortFunc(v.strays, comparePods)
	for _, node := range v.nodes {
		slices.SortFunc(node.pods, comparePods) // the first of several is the one that a message names
		slices.SortFunc(node.ignored, comparePods)
	}
}

func comparePods(a, b *verifiedPod) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.object.Name, b.object.Name),
		cmp.Compare(a.object.UID, b.object.UID))
}

func (v *verifier) observePod(object *corev1.Pod, marked bool) *verifiedPod {
	readiness := lifecycle.Evaluate(object, v.spec.MinReadySeconds, v.snapshot.Now)
	hash, labelled := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	pod := &verifiedPod{
		object:   object,
		name:     verifiedNodeName(object),
		hash:     hash,
		marked:   marked,
		terminal: object.Status.Phase == corev1.PodFailed || object.Status.Phase == corev1.PodSucceeded,
		failed:   object.Status.Phase == corev1.PodFailed,
		atUpdate: v.updates[hash],
		ready:    readiness.Ready,
		avail:    readiness.Available,
		complete: !unfinished(object) || !knownIncomplete(object),
	}
	state := lifecycle.StateOf(object)
	if state == lifecycle.PreparingNormal || state == lifecycle.Updated {
		pod.complete = false // its hook has not let it serve yet (L3)
	}
	if !marked {
		pod.leaving, pod.preparing = state == lifecycle.PreparingDelete, state == lifecycle.PreparingUpdate
	}
	switch {
	case v.predecessor(object): // whatever it carries was given by another set
		pod.hash, pod.atUpdate = "", false
	case !labelled && v.spec.TemplateGeneration != nil: // R5
		generation := strconv.FormatInt(*v.spec.TemplateGeneration, 10)
		pod.atUpdate = object.Labels[verifiedGenerationLabel] == generation
	}
	return pod
}

// unfinished tells whether anything says that an update in place of the pod, or a hook around it, is under way. Where nothing
// does, it is over for everybody, whatever is left of its record.
func unfinished(pod *corev1.Pod) bool {
	switch lifecycle.StateOf(pod) {
	case "", lifecycle.Normal, lifecycle.PreparingDelete:
		return inplace.Unfinished(pod) || inplace.Resizing(pod) || lifecycle.Unfinished(pod)
	default:
		return true
	}
}

// knownIncomplete tells whether the update in place of the pod waits for something (I5). A record that cannot be read tells
// nothing.
func knownIncomplete(pod *corev1.Pod) bool {
	waits := inplace.Completed(pod).Waits
	return len(waits) > 0 && !slices.Contains(waits, inplace.Wait{Code: inplace.UnreadableState})
}

// observeRequests notes what is in flight to the nodes.
func (v *verifier) observeRequests() {
	for _, create := range v.snapshot.InFlight.Creates {
		node := v.nodeOf[create.Node]
		if node == nil {
			continue
		}
		if v.isUpdate(create.Revision) {
			node.asksUpdated = true
		}
		if !slices.Contains(node.requested, create.Revision) {
			node.requested = append(node.requested, create.Revision)
		}
	}
}

// settleRequests drops the creates in flight of whose kind a live pod is there. A terminating one, or one that leaves, is
// more likely the one before.
func (v *verifier) settleRequests() {
	for _, node := range v.nodes {
		node.requested = slices.DeleteFunc(node.requested, func(hash string) bool {
			return node.any(func(p *verifiedPod) bool {
				return p.active() && !p.leaves() && v.sameRevision(p, hash)
			})
		})
	}
}

// sameRevision tells whether the pod is of the revision with the hash; the empty hash stands for the update
// revision. Where the node is to end, a pod with other resources is like one of another revision (P8).
func (v *verifier) sameRevision(p *verifiedPod, hash string) bool {
	switch {
	case v.isGoal(p.node, hash):
		return p.current
	case v.isUpdate(hash):
		return p.atUpdate
	default:
		return p.hash == hash
	}
}

// isUpdate tells whether the hash of a requested pod is the update revision's.
func (v *verifier) isUpdate(hash string) bool { return hash == "" || v.updates[hash] }
