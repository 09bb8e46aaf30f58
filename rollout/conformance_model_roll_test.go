package rollout_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// nodeView is what the update phase sees of a node.
type nodeView struct {
	*nodeSituation
	news, olds []*corev1.Pod // not marked for deletion, finished ones too
	created    bool          // the phase before creates a new one
	empty      bool          // there is no pod object at all
}

func (m *model) views(managed phaseOutcome) (views []nodeView) {
	for _, n := range m.view() {
		v := nodeView{nodeSituation: n, empty: len(n.pods) == 0}
		live := n.live()
		if m.on(missingPodsComeFirst) {
			v.created = slices.Contains(managed.creates.picked(m.ours.creates), n.name)
			gone := deleted.among(managed.fates.picked(m.ours.fates))
			live = slices.DeleteFunc(live, func(p *corev1.Pod) bool { return slices.Contains(gone, p.Name) })
		}
		for _, p := range live {
			if m.updated(p) {
				v.news = append(v.news, p)
			} else {
				v.olds = append(v.olds, p)
			}
		}
		views = append(views, v)
	}
	return views
}

// roll is the update phase. The controller runs it in a sync of its own, on the state before manage; M7 makes it see
// what manage has done.
func (m *model) roll(managed phaseOutcome) (p phaseOutcome, failed bool) {
	if m.recorded.set.rolling().Paused {
		return phaseOutcome{}, false
	}
	views := m.views(managed)
	createBurst, deleteBurst := m.burst(), m.burst()
	if m.on(burstIsPerPlan) {
		createBurst -= len(managed.creates.picked(m.ours.creates))
		deleteBurst -= len(deleted.among(managed.fates.picked(m.ours.fates)))
	}
	maxUnavailable, maxSurge := m.budgets()
	if maxSurge > 0 {
		return m.rollBeside(views, maxSurge, createBurst, deleteBurst)
	}
	p.fates = m.rollInTurn(views, maxUnavailable, deleteBurst)
	return p, false
}

// budgets of the recorded spec; both zero act as maxUnavailable 1.
func (m *model) budgets() (maxUnavailable, maxSurge int) {
	r := m.recorded.set.rolling()
	maxSurge = scaled(r.MaxSurge, m.desired, 0)
	maxUnavailable = scaled(r.MaxUnavailable, m.desired, 1)
	if maxSurge == 0 {
		maxUnavailable = max(maxUnavailable, 1)
	}
	return maxUnavailable, maxSurge
}

// serves tells whether a pod does its work for the budget.
func (m *model) serves(p *corev1.Pod) bool {
	return m.available(p) || m.on(readyPodServes) && !m.updated(p) && m.ready(p)
}

// rollInTurn is the update phase without surge: outdated pods are deleted, or updated in place.
func (m *model) rollInTurn(views []nodeView, maxUnavailable, burst int) act {
	var allowed, candidates []string
	unavailable := 0
	begun := m.begins(views)
	for _, v := range views {
		if begun[v.name] || m.on(heldNodesCount) {
			unavailable += m.unavailable(v)
		}
		switch {
		case !begun[v.name] || len(v.news) > 0 || len(v.olds) != 1 || leaving(v.olds[0]):
		case v.outcome != placement.Run && m.on(keepReplacesNothing):
		case m.serves(v.olds[0]):
			candidates = append(candidates, m.updateOf(v.olds[0])...)
		default:
			allowed = append(allowed, m.updateOf(v.olds[0])...)
		}
	}
	return inOrder(allowed, candidates, maxUnavailable-unavailable, burst)
}

// unavailable is how much of maxUnavailable a node uses up. For the Kubernetes controller it does if it has pods, and
// they are not exactly one that is available, and if it lacks one.
func (m *model) unavailable(v nodeView) int {
	live := slices.DeleteFunc(slices.Concat(v.news, v.olds), leaving)
	switch {
	case v.outcome != placement.Run && m.on(budgetCountsRunNodes):
		bad, good := m.newPods(v)
		return int(count(v.outcome == placement.Keep && bad && !good))
	case v.empty:
		return int(count(v.outcome == placement.Run))
	case len(v.news) == 0 && len(v.olds) == 1 && len(live) == 1 && !m.on(brokenNodesCount):
		return 0
	case len(v.news) == 1 && len(v.olds) == 1 && leaving(v.news[0]) && len(live) == 1 && !m.on(leavingCountsOnce):
		return 1 + int(count(!m.available(v.news[0])))
	case m.on(oneServingPodWillDo):
		return int(count(!slices.ContainsFunc(live, m.serves)))
	default:
		return int(count(len(v.news) > 1 || len(v.olds) > 1 || len(live) != 1 || !m.serves(live[0])))
	}
}

// newPods tells whether a node has pods of the update revision that are not available, and such that are. On a keep
// node one that is not bound cannot start, and says nothing.
func (m *model) newPods(v nodeView) (bad, good bool) {
	bad = v.created
	for _, p := range v.news {
		if v.outcome == placement.Keep && p.Spec.NodeName == "" && m.on(budgetCountsRunNodes) {
			continue
		}
		serves := m.available(p) && !leaving(p)
		bad = bad || !serves
		good = good || serves
	}
	return bad, good
}

// rollBeside is the update phase with surge: new pods are created beside the outdated ones. On nodes that are to have
// none, available outdated pods go as far as available nodes outnumber desired.
func (m *model) rollBeside(views []nodeView, maxSurge, createBurst, deleteBurst int) (p phaseOutcome, failed bool) {
	var allowed, candidates, superseded, outnumbered []string
	places, excess := 0, -int(m.desired)
	begun := m.begins(views)
	for _, v := range views {
		if m.holdsPlace(v) && (begun[v.name] || m.on(heldNodesCount)) {
			places++
		}
		if len(v.news) <= 1 && len(v.olds) <= 1 {
			first := slices.Concat(v.olds, v.news)
			excess += int(count(len(first) > 0 && m.available(first[0])))
		}
		kept := m.lingers(v.nodeSituation) || v.outcome != placement.Run && m.on(keepReplacesNothing)
		switch {
		case len(v.news) > 1 || len(v.olds) != 1 || !v.vanished && !begun[v.name] || leaving(v.olds[0]):
		case len(v.news) == 1:
			if m.available(v.news[0]) && !leaving(v.news[0]) && !kept {
				superseded = append(superseded, m.removal(v.olds[0])...)
			}
		case v.vanished:
			failed = failed || !m.on(vanishedNodeStopsNothing)
		case v.outcome != placement.Run && m.on(surgesWhereItMayRun):
			switch {
			case kept:
			case m.serves(v.olds[0]):
				outnumbered = append(outnumbered, m.removal(v.olds[0])...)
			default:
				superseded = append(superseded, m.removal(v.olds[0])...)
			}
		case v.created:
		case m.on(finishedPodGoesFirst) && slices.ContainsFunc(v.live(), lifecycle.Terminal):
		case m.serves(v.olds[0]):
			candidates = append(candidates, v.name)
		default:
			allowed = append(allowed, v.name)
		}
	}
	if failed {
		return phaseOutcome{}, true
	}
	if m.on(unavailableNewPodHoldsPlace) {
		places += len(allowed)
	}
	p.creates = inOrder(allowed, candidates, maxSurge-places, createBurst)
	p.fates = inOrder(superseded, outnumbered, excess, deleteBurst)
	return p, false
}

// holdsPlace tells whether a node uses up one of maxSurge. For the controller it does with an outdated pod and a new
// one that is not available, and with several of a kind.
func (m *model) holdsPlace(v nodeView) bool {
	bad, good := m.newPods(v)
	switch {
	case m.on(budgetCountsRunNodes) && (v.vanished || v.outcome == placement.Leave):
		return false
	case !m.on(oneServingPodWillDo) && (len(v.news) > 1 || len(v.olds) > 1):
		return true
	case m.on(unavailableNewPodHoldsPlace):
		return bad
	default:
		return len(v.olds) > 0 && !leaving(v.olds[0]) && bad && !good
	}
}
