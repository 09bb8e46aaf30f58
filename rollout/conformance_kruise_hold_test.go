package rollout_test

import (
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// partition is how many nodes are not to be updated; a percentage is of so many.
func (m *model) partition(of int) int {
	if !m.on(partitionOfDesired) {
		of = int(m.recorded.set.Status.DesiredNumberScheduled)
	}
	return scaledTo(m.recorded.set.rolling().Partition, int32(of), 0, false)
}

func (m *model) selected(n *nodeSituation) bool {
	selector := m.recorded.set.rolling().Selector
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(n.object.Labels))
}

// begins names the nodes that the update phase looks at. OpenKruise first takes those that are updated or about to be,
// then those selected, all by descending name, and cuts off as many as the partition says.
func (m *model) begins(views []nodeView) map[string]bool {
	begun := make(map[string]bool)
	if m.on(partitionOfRunNodes) {
		held := m.held()
		for _, v := range views {
			begun[v.name] = !held[v.name]
		}
		return begun
	}
	var updated, updating, rest []string
	all := 0
	for _, v := range slices.Backward(views) {
		if v.vanished || v.empty && v.outcome != placement.Run {
			continue
		}
		all++
		switch {
		case len(v.news) > 0 || len(v.olds) > 1:
			updated = append(updated, v.name)
		case len(v.olds) == 0 || onItsWayOut(v.olds[0]):
			updating = append(updating, v.name)
		case m.selected(v.nodeSituation):
			rest = append(rest, v.name)
		}
	}
	names := slices.Concat(updated, updating, rest)
	for _, name := range names[:max(0, min(all-m.partition(int(m.desired)), len(names)))] {
		begun[name] = true
	}
	return begun
}

// held names the nodes that our rules T2, T3 and T5 hold. T2 goes by what is there regardless of hooks, because the
// hook's pod is taken back where a node is held.
func (m *model) held() map[string]bool {
	held := make(map[string]bool)
	onDelete := m.recorded.set.Spec.UpdateStrategy.Type == string(appsv1.OnDeleteDaemonSetStrategyType)
	var turns [3][]string
	base := 0
	for _, n := range m.view() {
		unselected := !m.selected(n)
		held[n.name] = onDelete || unselected
		live := slices.DeleteFunc(n.live(), lifecycle.Terminal)
		if n.outcome == placement.Run || n.outcome == placement.Keep && len(live) > 0 {
			base++
		}
		turn := 2
		switch {
		case n.outcome == placement.Leave || len(live) == 0 || slices.ContainsFunc(live, m.updated):
			continue
		case n.outcome == placement.Keep:
			turn = 0
		case unselected:
			turn = 1
		}
		turns[turn] = append(turns[turn], n.name)
	}
	names := slices.Concat(turns[:]...)
	for _, name := range names[:min(len(names), m.partition(base))] {
		held[name] = true
	}
	return held
}

// filled tells whether a run node has its place in a first installation: it has a pod, be it on its way out, and what
// it loses comes back there.
func (m *model) filled(n *nodeSituation) bool {
	return n.outcome == placement.Run && m.on(scalingInstalls) && slices.ContainsFunc(n.pods, m.updated)
}

// scaling is how many nodes may get a pod that lack one, if the partition has a say in it.
func (m *model) scaling() (limit int, ordered bool) {
	base, fresh, filled := 0, 0, 0
	for _, n := range m.view() {
		live := n.live()
		running := slices.DeleteFunc(n.live(), lifecycle.Terminal)
		news := slices.DeleteFunc(n.live(), func(p *corev1.Pod) bool { return !m.updated(p) })
		base += int(count(n.outcome == placement.Run || n.outcome == placement.Keep && len(running) > 0))
		fresh += int(count(!n.vanished && len(news) == 1 && len(live) <= 2))
		filled += int(count(m.filled(n)))
	}
	if !m.on(partitionOfRunNodes) {
		base = int(m.desired)
	}
	partition := m.partition(base)
	if partition == 0 {
		return 0, false
	}
	scale := m.recorded.set.Spec.ScaleStrategy
	first := len(m.recorded.Revisions) == 1
	if scale == nil || !scale.PartitionedScaling || m.on(scalingInstalls) && !first {
		return math.MaxInt, true
	}
	if m.on(scalingInstalls) {
		fresh = filled
	}
	return max(0, int(m.desired)-fresh-max(0, min(partition, int(m.desired)))), true
}

// leaves tells whether a pod goes because it was on its way out. We take it back if it is what its node is to have, or
// if nothing would follow it.
func (m *model) leaves(n *nodeSituation, p *corev1.Pod) bool {
	if !onItsWayOut(p) || !m.on(deletionIsTakenBack) {
		return onItsWayOut(p)
	}
	switch n.outcome {
	case placement.Run:
		return !m.updated(p) && !m.held()[n.name]
	default:
		return n.outcome != placement.Keep
	}
}
