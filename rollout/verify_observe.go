package rollout

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
	// backoffs are the ends of the back-offs of Failed pods (M2).
	backoffs map[verifiedBackoff]time.Time
}

// verifiedNode is one node with what is on it before and after the plan.
type verifiedNode struct {
	name    string
	outcome placement.Outcome
	tainted bool           // a taint makes the outcome Leave (P3, M4)
	pods    []*verifiedPod // M1's ignored ones not; ordered by name and UID
	// requested are hashes of pods that were asked for and are not observed: live, not Ready, nothing to
	// delete yet.
	requested []string
	// mixed: creates of the update revision and of another one were asked for.
	mixed   bool
	creates []string // hashes of the pods that the plan creates here
}

// verifiedPod is one pod.
type verifiedPod struct {
	object   *corev1.Pod
	name     string        // of its node (P7); empty: not attributable
	node     *verifiedNode // nil: a stray
	hash     string        // of its revision; empty: none
	marked   bool          // for deletion, in the snapshot or in flight
	terminal bool          // Failed or Succeeded
	failed   bool          // Failed
	updated  bool          // at the update revision
	ready    bool          // as B5 has it
	avail    bool          // as B5 has it
	deleted  bool          // by this plan
}

// live is not marked for deletion: a pod that has Failed is live until then.
func (p *verifiedPod) live() bool { return !p.marked }

// stays is live after the plan.
func (p *verifiedPod) stays() bool { return !p.marked && !p.deleted }

// active is live and not finished.
func (p *verifiedPod) active() bool { return !p.marked && !p.terminal }

// ignored is M1's terminal pod that is already marked for deletion.
func (p *verifiedPod) ignored() bool { return p.marked && p.terminal }

// ran tells whether the pod can tell of its revision: on a keep node only if it is bound, because there it will not
// be bound any more.
func (p *verifiedPod) ran(node *verifiedNode) bool {
	return node.outcome != placement.Keep || p.object.Spec.NodeName != ""
}

// serves is B2 before the plan.
func (p *verifiedPod) serves() bool { return p.active() && (p.avail || !p.updated && p.ready) }

// any tells whether a pod of the node satisfies f.
func (n *verifiedNode) any(f func(*verifiedPod) bool) bool { return slices.ContainsFunc(n.pods, f) }

// verifiedGenerationLabel is R5's deprecated label.
const verifiedGenerationLabel = "pod-template-generation"

// observe attributes pods and requests to nodes and marks what the plan deletes and creates.
func (v *verifier) observe() {
	v.updates, v.newest = v.updateRevision()
	v.observeNodes()
	v.observePods()
	v.observeRequests()
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
	v.limits = v.resolveLimits()
}

func (v *verifier) observeNodes() {
	place := verifiedPlacement(&v.spec.Template)
	v.nodeOf = make(map[string]*verifiedNode, len(v.snapshot.Nodes))
	for _, object := range v.snapshot.Nodes {
		node := &verifiedNode{name: object.Name}
		node.outcome, node.tainted = place(object)
		v.nodes = append(v.nodes, node)
		v.nodeOf[node.name] = node
	}
	slices.SortFunc(v.nodes, func(a, b *verifiedNode) int { return cmp.Compare(a.name, b.name) })
}

func (v *verifier) observePods() {
	marked := make(map[types.UID]bool)
	for _, uid := range v.snapshot.InFlight.Deletes {
		marked[uid] = true
	}
	v.pods = make(map[types.UID]*verifiedPod, len(v.snapshot.Pods))
	for _, object := range v.snapshot.Pods {
		pod := v.observePod(object, object.DeletionTimestamp != nil || marked[object.UID])
		v.pods[object.UID] = pod
		switch pod.node = v.nodeOf[pod.name]; {
		case pod.node == nil:
			v.strays = append(v.strays, pod)
		case !pod.ignored():
			pod.node.pods = append(pod.node.pods, pod)
		}
	}
	slices.SortFunc(v.strays, comparePods)
	for _, node := range v.nodes {
		slices.SortFunc(node.pods, comparePods) // the first of several is the one that a message names
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
		updated:  v.updates[hash],
		ready:    readiness.Ready,
		avail:    readiness.Available,
	}
	if !labelled && v.spec.TemplateGeneration != nil { // R5
		generation := strconv.FormatInt(*v.spec.TemplateGeneration, 10)
		pod.updated = object.Labels[verifiedGenerationLabel] == generation
	}
	return pod
}

// observeRequests drops the creates in flight whose pod is there. Only a live pod proves that: a
// terminating one of the same revision is more likely the one before.
func (v *verifier) observeRequests() {
	update, other := make(map[string]bool), make(map[string]bool)
	for _, create := range v.snapshot.InFlight.Creates {
		node := v.nodeOf[create.Node]
		if node == nil {
			continue
		}
		if v.isUpdate(create.Revision) {
			update[node.name] = true
		} else {
			other[node.name] = true
		}
		node.mixed = update[node.name] && other[node.name]
		observed := node.any(func(p *verifiedPod) bool { return p.active() && v.sameRevision(p, create.Revision) })
		if !observed && !slices.Contains(node.requested, create.Revision) {
			node.requested = append(node.requested, create.Revision)
		}
	}
}

// sameRevision tells whether the pod is of the revision with the hash; the empty hash stands for the update
// revision.
func (v *verifier) sameRevision(p *verifiedPod, hash string) bool {
	if v.isUpdate(hash) {
		return p.updated
	}
	return p.hash == hash
}

// isUpdate tells whether the hash of a requested pod is the update revision's.
func (v *verifier) isUpdate(hash string) bool { return hash == "" || v.updates[hash] }
