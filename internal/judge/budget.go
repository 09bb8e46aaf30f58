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
	limit := rounded(j.view.spec.Strategy.MaxUnavailable, j.view.desired, true)
	switch {
	case served:
		j.turn.down[w.node.Name] = true
		if n := j.view.unavailable(j.turn.down, false); n > limit {
			j.find(Budget, w.node.Name, p.Pod, "%d nodes of %d are unavailable with it, beside %d left out, of %d that may be",
				n, j.view.desired, j.view.exempt(), limit)
		}
	case was.couldServe() && was.prepared && (was.outdated || was.available):
		j.turn.letGo[w.node.Name] = true
		if n := j.view.unavailable(j.turn.letGo, true); n > limit {
			j.find(LetGo, w.node.Name, p.Pod,
				"it was prepared, is Ready and goes: %d nodes of %d are down with it, beside %d left out, of %d that may be",
				n, j.view.desired, j.view.exempt(), limit)
		}
	}
}

// unavailable counts the run nodes without a pod that serves, and those that stopped serving in this turn, without those that
// may be left out (B8). With prepared, pods that are Ready count until they go, whatever they are prepared for.
func (v *view) unavailable(down map[string]bool, prepared bool) int {
	count := 0
	for name, n := range v.nodes {
		serves := func(p *seenPod) bool { return p.couldServe() && (prepared || !p.prepared) }
		if n.verdict == runs && (down[name] || n.first(serves) == nil) {
			count++
		}
	}
	return max(count-v.exempt(), 0)
}

// exempt is how many nodes may be left out (B8), at most: those whose pod finds no room, or should be gone and is not, and
// those that are unreachable.
func (v *view) exempt() int {
	most := rounded(v.spec.Strategy.MaxUnschedulable, v.desired, true)
	count := 0
	for _, n := range v.nodes {
		if n.verdict == runs && (unreachable(n.Node) || n.first(func(p *seenPod) bool { return stranded(p.Pod, v.now) }) != nil) {
			count++
		}
	}
	return min(most, count)
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
	count := 0
	for name, n := range v.nodes {
		created := n.created
		if name == w.node.Name {
			created = append(slices.Clip(created), hashOf(w.pod))
		}
		if n.verdict == runs && (slices.Contains(created, v.update) || v.holdsPlace(n, j.turn.refused)) {
			count++
		}
	}
	if count = max(count-v.exempt(), 0); count > limit {
		j.find(Surge, w.node.Name, w.pod, "%d nodes hold a place of maxSurge with it, of %d that may", count, limit)
	}
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
