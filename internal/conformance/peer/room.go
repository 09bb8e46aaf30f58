package peer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// room returns how many nodes may be taken down at this instant. Nodes that only pods on their way out keep up are not down yet.
func (m *Model) room() int {
	if m.Surge {
		return 0 // an outdated pod goes when the new one is available
	}
	room, _ := m.Budgets()
	for _, n := range m.View() {
		switch n.Outcome {
		case placement.Run:
			up := slices.ContainsFunc(n.Live(), func(p *corev1.Pod) bool { return m.servesStill(p) || m.prepared(n, p) })
			room -= int(count(!n.Vanished && !up))
		case placement.Keep:
			v := nodeView{Node: n, news: slices.DeleteFunc(n.Live(), func(p *corev1.Pod) bool { return !m.Updated(p) })}
			bad, good := m.newPods(v)
			room -= int(count(!n.Vanished && bad && !good))
		case placement.Leave:
		}
	}
	return room
}

func (m *Model) servesStill(p *corev1.Pod) bool { return m.Serves(p) && !OnItsWayOut(p) }

// prepared reports whether the pod is outdated, on its way out and Ready all the same.
func (m *Model) prepared(n *Node, p *corev1.Pod) bool {
	return OnItsWayOut(p) && !m.Updated(p) && m.Ready(p) && n.Outcome == placement.Run
}

// waitsForRoom reports whether a pod that its hook has let go stays, because nothing else is Ready on its node but what was
// removed already, and too many nodes are down. If it goes, it takes its room.
func (m *Model) waitsForRoom(n *Node, p *corev1.Pod, removed []string, room *int) bool {
	keepsUp := func(other *corev1.Pod) bool {
		return m.servesStill(other) || other != p && m.prepared(n, other) && !slices.Contains(removed, Deleted.To(other.Name))
	}
	if !m.on(PreparedPodNeedsRoom) || !m.prepared(n, p) || slices.ContainsFunc(n.Live(), keepsUp) {
		return false
	}
	if *room <= 0 {
		return true
	}
	*room--
	return false
}
