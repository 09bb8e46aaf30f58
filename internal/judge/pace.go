package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// begin is when the update of a node began, and of which pod.
type begin struct {
	at  time.Time
	pod types.UID
}

// forgetBegun forgets the nodes that are under way no more (B7): their old pod is gone, and the new one is available, has
// ended or had an interval of time to be available. Nothing is known of what another revision began.
func (j *Judge) forgetBegun(changed bool, last *view) {
	v, s := j.view, j.view.spec.Strategy.SlowStart
	if s == nil || changed || last == nil || last.update != v.update {
		clear(j.begun)
		return
	}
	for name, b := range j.begun {
		n := v.nodes[name]
		if n == nil || n.verdict != runs || b.at.After(v.now) { // the clock was set back
			delete(j.begun, name)
			continue
		}
		old := n.first(func(p *seenPod) bool { return p.UID == b.pod && hashOf(p.Pod) != v.update })
		fresh := n.first(func(p *seenPod) bool { return hashOf(p.Pod) == v.update && !ended(p.Pod) })
		switch {
		case old != nil && (!live(old.Pod) || old.prepared):
		case old == nil && fresh != nil && !fresh.available && v.now.Sub(b.at) < s.Interval-time.Second:
			// Objects have whole seconds only.
		default:
			delete(j.begun, name)
		}
	}
}

// judgeSlowStart: a rollout gathers speed (B7). How long it lasts is known at most: since the spec changed last.
func (j *Judge) judgeSlowStart(w *write) {
	v, s := j.view, j.view.spec.Strategy.SlowStart
	if s == nil {
		return
	}
	steps := 1
	if elapsed := v.now.Sub(j.repeats.since); elapsed > 0 {
		steps += int(elapsed / s.Interval)
	}
	limit := min(steps*rounded(s.Increase, v.desired, true), rounded(s.MaxParallel, v.desired, true))
	count := 0
	for name, n := range v.nodes {
		b, before := j.begun[name]
		if (before || j.turn.fresh[name]) && !v.isolated(n) && !v.waitsForRoom(n, b.pod) { // those hold no place (B7, B8)
			count++
		}
	}
	if count > limit {
		j.find(SlowStart, w.node.Name, w.pod, "%d nodes are under way with it, and slow start lets %d be", count, limit)
	}
}

// waitsForRoom reports whether the pod that an update began with is prepared, Ready, and held by no hook any more (B3). Only the
// hook that it was prepared for can hold it: one that is to be deleted keeps its handlers of inPlaceUpdate to the end.
func (v *view) waitsForRoom(n *seenNode, uid types.UID) bool {
	return n.first(func(p *seenPod) bool {
		hook := v.spec.Lifecycle.InPlaceUpdate
		if state(p.Pod) == preparingDelete {
			hook = v.spec.Lifecycle.PreDelete
		}
		return p.UID == uid && p.prepared && p.couldServe() && !matches(p.Pod, hook)
	}) != nil
}

// judgeBurst: the requests of one turn are bounded (M6, V11).
func (j *Judge) judgeBurst(pod *corev1.Pod, of kind) {
	j.turn.counts[of]++
	limit := max(rounded(j.view.spec.Burst, j.view.desired, false), 1)
	if count := j.turn.counts[of]; count > limit {
		j.find(Burst, target(pod), pod, "%d %s in one turn, and burst lets %d be", count, of, limit)
	}
}
