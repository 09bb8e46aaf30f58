package peer

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

// Partition returns how many nodes are not to be updated; a percentage is of so many, or of the stored status.
func (m *Model) Partition(of int) int {
	if !m.on(PartitionOfDesired) {
		of = int(m.Case.Set.Status.DesiredNumberScheduled)
	}
	return scaledTo(m.Case.Set.Rolling().Partition, int32(of), 0, false)
}

func (m *Model) selected(n *Node) bool {
	selector := m.Case.Set.Rolling().Selector
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(n.Object.Labels))
}

// begins names the nodes that the update phase considers. OpenKruise first takes those that are updated or about to be,
// then those selected, all by descending name, and drops as many from the end as the partition says.
func (m *Model) begins(views []nodeView) map[string]bool {
	begun := make(map[string]bool)
	if m.on(PartitionOfRunNodes) {
		held := m.Held()
		for _, v := range views {
			begun[v.Name] = !held[v.Name]
		}
		return begun
	}
	var updated, updating, rest []string
	all := 0
	for _, v := range slices.Backward(views) {
		if v.Vanished || v.empty && v.Outcome != placement.Run {
			continue
		}
		all++
		switch {
		case len(v.news) > 0 || len(v.olds) > 1:
			updated = append(updated, v.Name)
		case len(v.olds) == 0 || OnItsWayOut(v.olds[0]):
			updating = append(updating, v.Name)
		case m.selected(v.Node):
			rest = append(rest, v.Name)
		}
	}
	names := slices.Concat(updated, updating, rest)
	for _, name := range names[:max(0, min(all-m.Partition(int(m.Desired)), len(names)))] {
		begun[name] = true
	}
	return begun
}

// Held names the nodes that our rules T2 (partition), T3 (node selector) and T5 (OnDelete) hold. T2 counts pods that leave
// through a hook, because they are taken back where a node is held.
func (m *Model) Held() map[string]bool {
	held := make(map[string]bool)
	onDelete := m.Case.Set.Spec.UpdateStrategy.Type == string(appsv1.OnDeleteDaemonSetStrategyType)
	var turns [3][]string
	base := 0
	for _, n := range m.View() {
		unselected := !m.selected(n)
		held[n.Name] = onDelete || unselected
		live := slices.DeleteFunc(n.Live(), lifecycle.Terminal)
		if n.Outcome == placement.Run || n.Outcome == placement.Keep && len(live) > 0 {
			base++
		}
		turn := 2
		switch {
		case n.Outcome == placement.Leave || len(live) == 0 || slices.ContainsFunc(live, m.Updated):
			continue
		case n.Outcome == placement.Keep:
			turn = 0
		case unselected:
			turn = 1
		}
		turns[turn] = append(turns[turn], n.Name)
	}
	names := slices.Concat(turns[:]...)
	for _, name := range names[:max(0, min(len(names), m.Partition(base)))] {
		held[name] = true
	}
	return held
}

// filled reports whether a run node has its place in a first installation: it has an updated pod, also one on its way out, so
// that what it loses comes back there.
func (m *Model) filled(n *Node) bool {
	return n.Outcome == placement.Run && m.on(ScalingInstalls) && slices.ContainsFunc(n.Pods, m.Updated)
}

// Scaling returns how many nodes may get a pod that lack one, if the partition has a say in it.
func (m *Model) Scaling() (limit int, ordered bool) {
	base, fresh, filled := 0, 0, 0
	for _, n := range m.View() {
		live := n.Live()
		running := slices.DeleteFunc(n.Live(), lifecycle.Terminal)
		news := slices.DeleteFunc(n.Live(), func(p *corev1.Pod) bool { return !m.Updated(p) })
		base += int(count(n.Outcome == placement.Run || n.Outcome == placement.Keep && len(running) > 0))
		fresh += int(count(!n.Vanished && len(news) == 1 && len(live) <= 2))
		filled += int(count(m.filled(n)))
	}
	if !m.on(PartitionOfRunNodes) {
		base = int(m.Desired)
	}
	partition := m.Partition(base)
	if partition == 0 {
		return 0, false
	}
	scale := m.Case.Set.Spec.ScaleStrategy
	first := len(m.Case.Revisions) == 1
	if scale == nil || !scale.PartitionedScaling || m.on(ScalingInstalls) && !first {
		return math.MaxInt, true
	}
	if m.on(ScalingInstalls) {
		fresh = filled
	}
	return max(0, int(m.Desired)-fresh-max(0, min(partition, int(m.Desired)))), true
}

// leaves reports whether a pod goes because it was on its way out. We take it back if it is what its node is to have, or
// if nothing would follow it.
func (m *Model) leaves(n *Node, p *corev1.Pod) bool {
	if !OnItsWayOut(p) || !m.on(DeletionIsTakenBack) {
		return OnItsWayOut(p)
	}
	switch n.Outcome {
	case placement.Run:
		return !m.Updated(p) && !m.Held()[n.Name]
	default:
		return n.Outcome != placement.Keep
	}
}
