package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// judgeFrozen: a set that is frozen creates and deletes nothing (T4, V7).
func (j *Judge) judgeFrozen(pod *corev1.Pod, of kind) {
	if j.view.spec.Strategy.Frozen {
		j.find(Frozen, target(pod), pod, "it is one of the %s while the set is frozen", of)
	}
}

// judgeBegin judges whether the update of a node may begin now: the pod, which is outdated and has not ended, is to go or to
// change.
func (j *Judge) judgeBegin(w *write, p *seenPod) {
	v, n := j.view, w.node
	if n.verdict != runs || n.alone() == nil || v.update == "" || hashOf(p.Pod) == v.update || !live(p.Pod) || ended(p.Pod) {
		return
	}
	j.turn.updated[n.Name] = true
	back := j.serveNobody(p)
	if of := v.revisions[hashOf(p.Pod)]; !back || of == nil || !of.failed { // what failed goes back past T2 and T3 (C7)
		j.judgeHeld(w)
	}
	if !p.prepared && !underWay(p) {
		if !j.mayGoBack() && !back {
			j.judgeOpen(w, "the update of the node was begun")
			j.judgeFailures(w, "it was begun")
		}
		j.judgePaused(w)
		j.turn.fresh[n.Name] = true
		j.judgeSlowStart(w)
		j.begun[n.Name] = begin{at: v.now, pod: p.UID}
	}
}

// underWay reports whether an update in place of the pod was begun: it was made unready for it.
func underWay(p *seenPod) bool { return is(p.Pod, "InPlaceUpdateReady", "False") }

// judgePaused: a set that is paused begins no node (T4).
func (j *Judge) judgePaused(w *write) {
	if s := &j.view.spec.Strategy; s.Paused || s.Frozen {
		j.find(Paused, w.node.Name, w.pod, "the update of the node was begun while the set is paused")
	}
}

// judgeHeld: nodes that the partition (T2, V5), the selector (T3, V6) or OnDelete (T5) holds keep what they have. Nodes with
// an outdated pod that the controller gives up in this turn are counted; what begun before may end.
func (j *Judge) judgeHeld(w *write) {
	v, s := j.view, &j.view.spec.Strategy
	if v.revisions[v.update].failed || v.open && !v.trial { // the nodes go back, past T2 and T3 (C7)
		return
	}
	if s.Type == rollout.OnDelete {
		j.find(Held, w.node.Name, w.pod, "the node was updated although the strategy is OnDelete")
	}
	if !selects(s.NodeSelector, w.node.Labels) {
		j.find(Held, w.node.Name, w.pod, "the node was updated although the selector of the strategy does not match it")
	}
	if s.Partition == nil || v.overrides() {
		return
	}
	base, old := 0, 0
	for name, n := range v.nodes {
		has := n.first(func(p *seenPod) bool { return live(p.Pod) && !p.asked && !ended(p.Pod) }) != nil
		if n.verdict != runs && (n.verdict != keep || !has) {
			if n.verdict == unclear {
				return
			}
			continue
		}
		base++
		// While a revision is on trial, an empty node that is to get the stable one counts like one that has it (C7, V5).
		is := v.open || slices.ContainsFunc(n.asked, func(hash string) bool { return hash != v.update })
		updated := slices.Contains(n.asked, v.update)
		for _, p := range n.pods {
			is = is || live(p.Pod) && !p.asked && hashOf(p.Pod) != v.update
			updated = updated || live(p.Pod) && !p.asked && !p.deleted && hashOf(p.Pod) == v.update
		}
		if is && !updated && !j.turn.updated[name] {
			old++
		}
	}
	if places := rounded(s.Partition, base, false); old < places {
		j.find(Held, w.node.Name, w.pod, "only %d of %d nodes are left at an older revision, and the partition holds %d",
			old, base, places)
	}
}
