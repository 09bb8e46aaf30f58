package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// judgeTaken judges a request that takes a pod away, or changes it: whether its node stops serving for it (B2, B3), and
// what follows from that.
func (j *Judge) judgeTaken(w *write, take func(*seenPod)) {
	p := w.seen
	served, was := w.node.serving() != nil, *p
	take(p)
	if live(p.Pod) && !ended(p.Pod) && !was.deleted && !was.changed {
		j.judgeBegin(w, &was)
	}
	if w.node.verdict != runs || w.node.first((*seenPod).couldServe) != nil {
		return
	}
	v, limit := j.view, rounded(j.view.spec.Strategy.MaxUnavailable, j.view.desired, true)
	switch {
	case served:
		j.turn.down[w.node.Name] = true
		down := func(n *seenNode) bool { return n.isDown(j.turn.down, false) }
		if n, left := v.counting(v.those(down)); n > limit {
			j.find(Budget, w.node.Name, p.Pod, "%d nodes of %d are unavailable with it, beside %d left out, of %d that may be",
				n, v.desired, left, limit)
		}
		j.judgeDomains(w, p.Pod, down, func(n *seenNode) bool { return !j.turn.down[n.Name] && n.serving() == nil })
	case was.couldServe() && was.prepared && (was.outdated || was.available):
		j.turn.letGo[w.node.Name] = true
		down := func(n *seenNode) bool { return n.isDown(j.turn.letGo, true) }
		if n, left := v.counting(v.those(down)); n > limit {
			j.find(LetGo, w.node.Name, p.Pod,
				"it was prepared, is Ready and goes: %d nodes of %d are down with it, beside %d left out, of %d that may be",
				n, v.desired, left, limit)
		}
		j.judgeDomains(w, p.Pod, down, func(n *seenNode) bool {
			return !j.turn.letGo[n.Name] && n.first((*seenPod).couldServe) == nil
		})
	}
}

// those are the nodes that are such.
func (v *view) those(such func(*seenNode) bool) []*seenNode {
	var list []*seenNode
	for _, n := range v.nodes {
		if such(n) {
			list = append(list, n)
		}
	}
	return list
}

// isDown reports whether a run node has no pod that serves, or stopped serving in this turn. With prepared, pods that are Ready
// count as serving until they go, whatever they are prepared for.
func (n *seenNode) isDown(down map[string]bool, prepared bool) bool {
	serves := func(p *seenPod) bool { return p.couldServe() && (prepared || !p.prepared) }
	return n.verdict == runs && (down[n.Name] || n.first(serves) == nil)
}

func stranded(p *corev1.Pod, now time.Time) bool {
	return is(p, corev1.PodScheduled, corev1.ConditionFalse) || p.DeletionTimestamp != nil && !p.DeletionTimestamp.After(now)
}

// judgeSurge judges a new pod beside one that serves (B4).
func (j *Judge) judgeSurge(w *write) {
	v := j.view
	if w.node.verdict != runs || w.node.serving() == nil {
		return
	}
	limit := rounded(v.spec.Strategy.MaxSurge, v.desired, true)
	held := mayHoldPlace(w.node)
	j.turn.surged[w.node.Name] = true
	holds := func(n *seenNode) bool {
		created := n.created
		if n == w.node {
			created = append(slices.Clip(created), hashOf(w.pod))
		}
		return n.verdict == runs && (slices.Contains(created, v.update) || v.holdsPlace(n, j.turn.refused))
	}
	if count, _ := v.counting(v.those(holds)); count > limit {
		j.find(Surge, w.node.Name, w.pod, "%d nodes hold a place of maxSurge with it, of %d that may", count, limit)
	}
	if !held && holds(w.node) {
		j.judgeDomains(w, w.pod, holds, func(n *seenNode) bool { return !j.turn.surged[n.Name] && mayHoldPlace(n) })
	}
}

// mayHoldPlace reports whether a node may have had a place of maxSurge when the controller looked, or get one whatever is chosen:
// one without a pod.
func mayHoldPlace(n *seenNode) bool {
	return len(n.asked) > 0 || n.first(func(p *seenPod) bool { return p.ready }) == nil ||
		n.first(func(p *seenPod) bool { return !p.available }) != nil
}

// holdsPlace reports whether a node had a place of maxSurge when the controller looked: a live pod of the update revision that
// is not available, or one that was asked for. A Failed one counts only if no request of the turn was refused: it may have
// been the one to delete it.
func (v *view) holdsPlace(n *seenNode, refused bool) bool {
	if slices.Contains(n.asked, v.update) {
		return true
	}
	if v.overrides() {
		return false // its resources may make it an outdated one (P8)
	}
	return n.first(func(p *seenPod) bool {
		return live(p.Pod) && hashOf(p.Pod) == v.update && !v.open && !p.outdated && !p.available && !p.requested &&
			!p.deleted && (!refused || !ended(p.Pod))
	}) != nil
}
