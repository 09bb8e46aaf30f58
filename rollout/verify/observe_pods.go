package verify

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// observePods begins anew with the pods of the nodes that are judged, and with the strays.
func (v *verifier) observePods() {
	v.layOutPods()
	for _, uid := range v.snapshot.InFlight.Deletes {
		if pod := v.podOf(uid); pod != nil {
			pod.marked = true
		}
	}
	for _, uid := range v.snapshot.InFlight.Patches {
		if pod := v.podOf(uid); pod != nil {
			pod.patched = true
		}
	}
	for _, pod := range v.pods {
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
		if node.record.pods.count > 1 {
			slices.SortFunc(node.pods, comparePods) // the first of several is the one that a message names
			slices.SortFunc(node.ignored, comparePods)
		}
	}
}

// layOutPods puts the pods of a node side by side, in the order of the nodes, and makes room for the list of each node. Strays
// come last.
func (v *verifier) layOutPods() {
	room, count := &v.kept.room, v.kept.strays.count
	for _, node := range v.nodes {
		count += node.record.pods.count
	}
	room.ofPods, room.podsOfNodes = resized(room.ofPods, count), resized(room.podsOfNodes, count)
	v.pods = slices.Grow(room.listOfPods[:0], count)
	for _, node := range v.nodes {
		next := len(v.pods)
		v.layOut(node.record.pods, node)
		node.pods = room.podsOfNodes[next:next:len(v.pods)]
	}
	v.layOut(v.kept.strays, nil)
	room.listOfPods = v.pods
}

func (v *verifier) layOut(list podList, node *node) {
	for r := list.first; r != nil; r = r.next {
		r.pod = &v.kept.room.ofPods[len(v.pods)]
		*r.pod = pod{record: r, object: r.object, node: node, podFacts: r.podFacts}
		v.date(r.pod)
		v.pods = append(v.pods, r.pod)
	}
}

func comparePods(a, b *pod) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.object.Name, b.object.Name),
		cmp.Compare(a.object.UID, b.object.UID))
}

// readPod reads what the object says, so that hardly any check needs to look at it again.
func (v *verifier) readPod(object *corev1.Pod) podFacts {
	hash, labelled := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if of := v.history.byHash[hash]; len(of) > 0 {
		hash = history.HashOf(of[0]) // the same text for all pods, so that it need not be fetched for each
	}
	facts := podFacts{
		name:          nodeNameOf(object),
		hash:          hash,
		isDeleted:     object.DeletionTimestamp != nil,
		terminal:      object.Status.Phase == corev1.PodFailed || object.Status.Phase == corev1.PodSucceeded,
		failed:        object.Status.Phase == corev1.PodFailed,
		complete:      !unfinished(object) || !knownIncomplete(object),
		digest:        digestOf(object),
		unschedulable: isUnschedulable(object),
	}
	facts.readySince, facts.ready = lifecycle.ReadySince(object)
	if facts.isDeleted {
		facts.gone = object.DeletionTimestamp.Time
	}
	state := lifecycle.StateOf(object)
	if state == lifecycle.PreparingNormal || state == lifecycle.Updated {
		facts.complete = false // its hook has not let it serve yet (L3)
	}
	facts.leaving, facts.preparing = state == lifecycle.PreparingDelete, state == lifecycle.PreparingUpdate
	switch {
	case v.predecessor(object): // whatever it carries was given by another set
		facts.hash, facts.inherited = "", true
	case !labelled && v.spec.TemplateGeneration != nil: // R5
		facts.numbered = true
		facts.isNumber = object.Labels[generationLabel] == strconv.FormatInt(*v.spec.TemplateGeneration, 10)
	}
	return facts
}

// date enters what the facts come to in this snapshot, but for what is in flight.
func (v *verifier) date(p *pod) {
	p.marked, p.stuck = p.isDeleted, v.isStuck(p)
	switch {
	case p.inherited:
	case p.numbered:
		p.atUpdate = p.isNumber
	default:
		p.atUpdate = v.updates[p.hash]
	}
	if p.ready {
		readiness := lifecycle.EvaluateSince(p.readySince, v.spec.MinReadySeconds, v.snapshot.Now)
		p.avail, p.availableAt = readiness.Available, readiness.AvailableAt
	}
}

// unfinished reports whether anything says that an update in place of the pod, or a hook around it, is under way. Where nothing
// does, it is over for everybody, whatever is left of its record.
func unfinished(pod *corev1.Pod) bool {
	switch lifecycle.StateOf(pod) {
	case "", lifecycle.Normal, lifecycle.PreparingDelete:
		return inplace.Unfinished(pod) || inplace.UnderWay(pod) || lifecycle.Unfinished(pod)
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
