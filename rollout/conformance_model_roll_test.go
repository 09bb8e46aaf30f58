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
	going      []*corev1.Pod // on their way out, but held by a hook
	created    bool          // the phase before creates a new one
	empty      bool          // there is no pod object at all
}

func (m *model) views(managed phaseOutcome) (views []nodeView) {
	for _, n := range m.view() {
		v := nodeView{nodeSituation: n, empty: len(n.pods) == 0}
		var gone []string
		if m.on(missingPodsComeFirst) {
			v.created = slices.Contains(managed.creates.picked(m.ours.creates), n.name)
			gone = managed.fates.picked(m.ours.fates)
		}
		for _, p := range n.live() {
			switch {
			case slices.Contains(gone, fateDeleted.to(p.Name)):
			case slices.Contains(gone, fatePreparing.to(p.Name)), m.leaves(n, p) && m.on(leavingIsGone):
				v.going = append(v.going, p)
			case m.updated(p):
				v.news = append(v.news, p)
			default:
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
	if m.recorded.set.rolling().Paused && (m.surge || !m.on(inPlaceConditionCounts)) {
		return phaseOutcome{}, false
	}
	views := m.views(managed)
	burst := bursts{m.burst(), m.burst(), m.burst(), m.ordered()}
	if m.on(burstIsPerPlan) {
		burst.creates -= len(managed.creates.picked(m.ours.creates))
		burst.deletes -= len(fateDeleted.among(managed.fates.picked(m.ours.fates)))
	}
	maxUnavailable, maxSurge := m.budgets()
	if maxSurge > 0 {
		return m.rollBeside(views, maxSurge, burst)
	}
	p.fates = m.rollInTurn(views, maxUnavailable, burst)
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
func (m *model) rollInTurn(views []nodeView, maxUnavailable int, burst bursts) act {
	var finishing, allowed, candidates []string
	unavailable := 0
	begun := m.begins(views)
	for _, v := range views {
		if begun[v.name] || m.on(heldNodesCount) {
			unavailable += m.unavailable(v)
		}
		old := m.candidate(v)
		switch {
		case old == nil || !begun[v.name]:
		case v.outcome != placement.Run && m.on(keepReplacesNothing):
		case m.on(inPlaceConditionCounts) && m.begunInPlace(old):
			finishing = append(finishing, m.updateOf(old)...)
		case m.recorded.set.rolling().Paused:
		case m.serves(old):
			candidates = append(candidates, m.updateOf(old)...)
		default:
			allowed = append(allowed, m.updateOf(old)...)
		}
	}
	a := inOrder(allowed, candidates, maxUnavailable-unavailable, burst)
	a.must = append(a.must, finishing...)
	return a
}

// candidate is the pod of the node that is to be updated, if nothing else is there. We look at what repair leaves: of
// pods that burst or a hook keeps from going the best is the node's pod, and if it is broken it need not wait for them.
func (m *model) candidate(v nodeView) *corev1.Pod {
	olds := slices.DeleteFunc(slices.Clone(v.olds), lifecycle.Terminal)
	if !m.on(missingPodsComeFirst) || len(olds) == 0 {
		if len(v.news) > 0 || len(v.olds) != 1 || onItsWayOut(v.olds[0]) {
			return nil
		}
		olds = v.olds
	}
	best := slices.MinFunc(olds, m.better)
	alone := len(v.olds)+len(v.news)+len(v.going) == 1
	if !alone && (m.ready(best) || slices.ContainsFunc(v.news, func(p *corev1.Pod) bool { return !lifecycle.Terminal(p) })) {
		return nil
	}
	return best
}

// unavailable is how much of maxUnavailable a node uses up. For the Kubernetes controller it does if it has pods, and
// they are not exactly one that is available, and if it lacks one.
func (m *model) unavailable(v nodeView) int {
	live := slices.DeleteFunc(slices.Concat(v.news, v.olds), onItsWayOut)
	switch {
	case v.outcome != placement.Run && m.on(budgetCountsRunNodes):
		bad, good := m.newPods(v)
		return int(count(v.outcome == placement.Keep && bad && !good))
	case v.empty:
		return int(count(v.outcome == placement.Run))
	case len(v.news) == 0 && len(v.olds) == 1 && len(live) == 1 && !m.on(brokenNodesCount):
		return 0
	case len(v.news) == 1 && len(v.olds) == 1 && onItsWayOut(v.news[0]) && len(live) == 1 && !m.on(leavingIsGone):
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
	for _, p := range slices.Concat(v.news, v.going) {
		if !m.updated(p) || v.outcome == placement.Keep && p.Spec.NodeName == "" && m.on(budgetCountsRunNodes) {
			continue
		}
		serves := m.available(p) && (!onItsWayOut(p) || m.on(leavingIsGone))
		bad = bad || !serves
		good = good || serves
	}
	return bad, good
}

// rollBeside is the update phase with surge: new pods are created beside the outdated ones. On nodes that are to have
// none, available outdated pods go as far as available nodes outnumber desired.
func (m *model) rollBeside(views []nodeView, maxSurge int, burst bursts) (p phaseOutcome, failed bool) {
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
		case len(v.news) > 1 || len(v.olds) != 1 || !v.vanished && !begun[v.name] || onItsWayOut(v.olds[0]):
		case len(v.news) == 1:
			if m.available(v.news[0]) && !onItsWayOut(v.news[0]) && !kept {
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
		case v.created || len(v.going) > 0:
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
	p.creates = inOrder(allowed, candidates, maxSurge-places, burst)
	p.fates = inOrder(superseded, outnumbered, excess, burst)
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
		return len(v.olds) > 0 && !onItsWayOut(v.olds[0]) && bad && !good
	}
}
