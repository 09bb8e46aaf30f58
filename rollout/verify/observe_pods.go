package verify

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// observePods attributes the pods to the nodes (P7), and reads each once.
func (v *verifier) observePods() {
	marked, patched := make(map[types.UID]bool), make(map[types.UID]bool)
	for _, uid := range v.snapshot.InFlight.Deletes {
		marked[uid] = true
	}
	for _, uid := range v.snapshot.InFlight.Patches {
		patched[uid] = true
	}
	v.attributePods()
	for i, object := range v.snapshot.Pods {
		pod := v.pods[i]
		v.observePod(pod, object, object.DeletionTimestamp != nil || marked[object.UID])
		pod.patched = patched[object.UID]
		switch {
		case pod.node == nil:
			v.strays = append(v.strays, pod)
		case pod.ignored():
			pod.node.ignored = append(pod.node.ignored, pod)
		default:
			pod.node.pods = append(pod.node.pods, pod)
		}
	}
	for _, node := range v.nodes {
		slices.SortFunc(node.pods, comparePods) // the first of several is the one that a message names
		slices.SortFunc(node.ignored, comparePods)
	}
}

// attributePods makes the records of the pods, and finds their nodes (P7). Those of a node are put side by side, in the order
// of the nodes: every check goes over them again.
func (v *verifier) attributePods() {
	v.pods = make([]*pod, len(v.snapshot.Pods))
	found := make([]*node, len(v.snapshot.Pods))
	for i, object := range v.snapshot.Pods {
		if found[i] = v.nodeOf[nodeNameOf(object)]; found[i] != nil {
			found[i].expects++
		}
	}
	records, lists := make([]pod, len(v.snapshot.Pods)), make([]*pod, len(v.snapshot.Pods))
	end := 0
	for _, node := range v.nodes {
		node.next = end
		end += node.expects
		node.pods = lists[node.next:node.next:end]
	}
	for i, node := range found {
		next := &end // strays come last
		if node != nil {
			next = &node.next
		}
		v.pods[i] = &records[*next]
		v.pods[i].node = node
		*next++
	}
}

func comparePods(a, b *pod) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.object.Name, b.object.Name),
		cmp.Compare(a.object.UID, b.object.UID))
}

// observePod enters what the object says, so that hardly any check needs to look at it again.
func (v *verifier) observePod(p *pod, object *corev1.Pod, marked bool) {
	readiness := lifecycle.Evaluate(object, v.spec.MinReadySeconds, v.snapshot.Now)
	hash, labelled := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	*p = pod{
		object:      object,
		name:        nodeNameOf(object),
		node:        p.node,
		hash:        hash,
		marked:      marked,
		terminal:    object.Status.Phase == corev1.PodFailed || object.Status.Phase == corev1.PodSucceeded,
		failed:      object.Status.Phase == corev1.PodFailed,
		atUpdate:    v.updates[hash],
		ready:       readiness.Ready,
		avail:       readiness.Available,
		availableAt: readiness.AvailableAt,
		complete:    !unfinished(object) || !knownIncomplete(object),
		digest:      digestOf(object),
		stuck:       v.isStuck(object),
	}
	state := lifecycle.StateOf(object)
	if state == lifecycle.PreparingNormal || state == lifecycle.Updated {
		p.complete = false // its hook has not let it serve yet (L3)
	}
	p.leaving, p.preparing = state == lifecycle.PreparingDelete, state == lifecycle.PreparingUpdate
	switch {
	case v.predecessor(object): // whatever it carries was given by another set
		p.hash, p.atUpdate = "", false
	case !labelled && v.spec.TemplateGeneration != nil: // R5
		generation := strconv.FormatInt(*v.spec.TemplateGeneration, 10)
		p.atUpdate = object.Labels[generationLabel] == generation
	}
}

// unfinished reports whether anything says that an update in place of the pod, or a hook around it, is under way. Where nothing
// does, it is over for everybody, whatever is left of its record.
func unfinished(pod *corev1.Pod) bool {
	switch lifecycle.StateOf(pod) {
	case "", lifecycle.Normal, lifecycle.PreparingDelete:
		return inplace.Unfinished(pod) || inplace.Resizing(pod) || lifecycle.Unfinished(pod)
	default:
		return true
	}
}

// knownIncomplete reports whether the update in place of the pod waits for something (I5). A record that cannot be read tells
// nothing.
func knownIncomplete(pod *corev1.Pod) bool {
	waits := inplace.Completed(pod).Waits
	return len(waits) > 0 && !slices.Contains(waits, inplace.UpdateWait{Code: inplace.UnreadableState})
}
