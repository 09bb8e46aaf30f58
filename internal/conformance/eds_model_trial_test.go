package conformance_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// update returns what the call does beside the filter. It updates the nodes of a revision on trial at once, and the others in
// turn.
func (m *edsModel) update(views []*edsView) edsOutcome {
	if m.role != edsOnTrial {
		return m.roll(views)
	}
	var trial, others []*edsView
	for _, v := range views {
		if m.tries(v.edsNode) {
			trial = append(trial, v)
		} else if m.on(edsWholeSet) {
			others = append(others, v)
		}
	}
	if m.on(edsCanaryInTurn) {
		return m.roll(slices.Concat(trial, others))
	}
	return m.try(trial).and(m.roll(others))
}

// revision returns the revision that the annotation of the pod names.
func (m *edsModel) revision(p *corev1.Pod) string {
	if m.role == edsFilterAlone {
		return edsThis
	}
	return p.Annotations[edsHash]
}

// target returns the revision that the node is to end at (T6). A call of the controller knows one revision only.
func (m *edsModel) target(n *edsNode) string {
	if !m.on(edsWholeSet) {
		return edsThis
	}
	stable := map[edsRole]string{edsStable: edsThis, edsOnTrial: edsOld}[m.role]
	paused, failed := m.judged()
	rests := (paused || m.paused() || m.frozen()) && m.on(edsCanaryRests)
	has := slices.ContainsFunc(n.pods, func(p *corev1.Pod) bool {
		return !marked(p) && !lifecycle.Terminal(p) && m.revision(p) == m.edsWorld.update()
	})
	switch {
	case stable == "":
		return m.edsWorld.update()
	case failed:
		return stable
	case m.tries(n) && !rests, has:
		return m.edsWorld.update()
	default:
		return stable
	}
}

// tries reports whether the node is one of the canary's.
func (m *edsModel) tries(n *edsNode) bool {
	if m.on(edsCanaryReplaced) && m.role != edsActive {
		return slices.Contains(m.picked, n.name)
	}
	return n.canary
}

// upToDate reports whether the pod is what its node should have.
func (m *edsModel) upToDate(n *edsNode, p *corev1.Pod) bool {
	if m.revision(p) != m.target(n) {
		return false
	}
	switch {
	case m.role == edsFilterAlone:
		return true
	case m.on(edsOverrides):
		wanted, malformed := edsWanted(n)
		given, known := edsGiven(n, p)
		return malformed || known && equality.Semantic.DeepEqual(wanted, given)
	default:
		return m.edsUpToDate(n, p) || m.target(n) != edsThis
	}
}

// resting reports whether no update begins on the node. The controller pauses and freezes all nodes but those of a canary.
func (m *edsModel) resting(n *edsNode) bool {
	trial := m.tries(n) && (m.role == edsOnTrial || m.on(edsWholeSet))
	paused, failed := m.judged()
	return (m.paused() || m.frozen()) && (!trial || m.on(edsCanaryRests)) ||
		trial && paused && !failed && m.on(edsCanaryRests) && m.target(n) == m.edsWorld.update()
}

// try updates the nodes of a revision on trial, all at once. It also counts nodes that do not run the pod.
func (m *edsModel) try(views []*edsView) (o edsOutcome) {
	paused, failed := m.judged()
	for _, v := range views {
		o.counters.Desired++
		switch {
		case v.outcome != placement.Run:
			o.counters.Desired -= count(m.on(edsWholeSet))
		case m.missing(v):
			if !paused && !failed {
				o.creates.Must = append(o.creates.Must, v.name)
			}
		case len(v.kept) > 0 && !marked(v.kept[0]) && !m.upToDate(v.edsNode, v.kept[0]):
			if !m.resting(v.edsNode) {
				o.deletes.Must = append(o.deletes.Must, v.kept[0].Name)
			}
		}
		if v.outcome == placement.Run {
			m.count(v, &o.counters)
		}
	}
	return o
}

// judged reports whether the revision on trial is paused or has failed.
func (m *edsModel) judged() (paused, failed bool) {
	if m.role != edsOnTrial && m.role != edsStable {
		return false, false
	}
	if m.role == edsOnTrial {
		paused, failed = m.Input.Replica.holds("Canary-Paused"), m.Input.Replica.holds("Canary-Failed")
	}
	for _, n := range m.nodes {
		for _, p := range n.pods {
			if !m.tries(n) || marked(p) || lifecycle.Terminal(p) || m.revision(p) != m.edsWorld.update() {
				continue
			}
			for _, c := range p.Status.ContainerStatuses { // maxRestarts has its default in all recordings
				failed = failed || c.RestartCount > canary.DefaultAutoFailMaxRestarts
				paused = paused || c.RestartCount > canary.DefaultAutoPauseMaxRestarts || m.cannotStart(p, c)
			}
		}
	}
	return paused, failed
}

// cannotStart reports whether a container waits in a way that pauses the canary.
func (m *edsModel) cannotStart(p *corev1.Pod, c corev1.ContainerStatus) bool {
	switch s := m.Input.Set.Spec.Strategy.Canary; {
	case c.State.Waiting == nil:
		return false
	case c.State.Waiting.Reason == "ContainerCreating":
		slow := s != nil && s.AutoPause.MaxSlowStartDuration != nil
		return slow && m.at.Sub(p.Status.StartTime.Time) > s.AutoPause.MaxSlowStartDuration.Duration
	default:
		return true
	}
}
