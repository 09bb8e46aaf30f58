package peer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// nodeView is what the update phase sees of a node.
type nodeView struct {
	*Node
	news, olds []*corev1.Pod // not marked for deletion, finished ones too
	going      []*corev1.Pod // on their way out, but held by a hook
	created    bool          // the phase before creates a new one
	empty      bool          // there is no pod object at all
}

func (m *Model) views(managed Phase) (views []nodeView) {
	for _, n := range m.View() {
		v := nodeView{Node: n, empty: len(n.Pods) == 0}
		var gone []string
		if m.on(MissingPodsComeFirst) {
			v.created = slices.Contains(managed.Creates.picked(m.Ours.Creates), n.Name)
			gone = managed.Fates.picked(m.Ours.Fates)
		}
		for _, p := range n.Live() {
			switch {
			case slices.Contains(gone, Deleted.To(p.Name)):
			case slices.Contains(gone, Preparing.To(p.Name)), m.leaves(n, p) && m.on(LeavingIsGone):
				v.going = append(v.going, p)
			case m.Updated(p):
				v.news = append(v.news, p)
			default:
				v.olds = append(v.olds, p)
			}
		}
		views = append(views, v)
	}
	return views
}

// roll returns the update phase. The controller runs it in a sync of its own, on the state before manage; M7 makes it see
// what manage has done.
func (m *Model) roll(managed Phase) (p Phase, failed bool) {
	if m.Case.Set.Rolling().Paused && (m.Surge || !m.on(InPlaceConditionCounts)) {
		return Phase{}, false
	}
	views := m.views(managed)
	burst := bursts{m.Burst(), m.Burst(), m.Burst(), m.ordered()}
	if m.on(BurstIsPerPlan) {
		burst.creates -= len(managed.Creates.picked(m.Ours.Creates))
		burst.deletes -= len(Deleted.Among(managed.Fates.picked(m.Ours.Fates)))
	}
	maxUnavailable, maxSurge := m.Budgets()
	if maxSurge > 0 {
		return m.rollBeside(views, maxSurge, burst)
	}
	p.Fates = m.rollInTurn(views, maxUnavailable, burst)
	return p, false
}

// Budgets of the set; both zero act as maxUnavailable 1.
func (m *Model) Budgets() (maxUnavailable, maxSurge int) {
	r := m.Case.Set.Rolling()
	maxSurge = Scaled(r.MaxSurge, m.Desired, 0)
	maxUnavailable = Scaled(r.MaxUnavailable, m.Desired, 1)
	if maxSurge == 0 && m.Desired > 0 {
		maxUnavailable = max(maxUnavailable, 1)
	}
	return maxUnavailable, maxSurge
}

// Serves reports whether a pod counts as serving for the budget.
func (m *Model) Serves(p *corev1.Pod) bool {
	return m.Available(p) || m.on(ReadyPodServes) && !m.Updated(p) && m.Ready(p)
}

// rollInTurn returns the update phase without surge: outdated pods are deleted, or updated in place.
func (m *Model) rollInTurn(views []nodeView, maxUnavailable int, burst bursts) Act {
	var finishing, allowed, candidates []string
	unavailable := 0
	begun := m.begins(views)
	for _, v := range views {
		if begun[v.Name] || m.on(HeldNodesCount) {
			unavailable += m.unavailable(v)
		}
		old := m.candidate(v)
		switch {
		case old == nil || !begun[v.Name]:
		case v.Outcome != placement.Run && m.on(KeepReplacesNothing):
		case m.on(InPlaceConditionCounts) && m.begunInPlace(old):
			finishing = append(finishing, m.UpdateOf(old)...)
		case m.Case.Set.Rolling().Paused:
		case m.Serves(old):
			candidates = append(candidates, m.UpdateOf(old)...)
		default:
			allowed = append(allowed, m.UpdateOf(old)...)
		}
	}
	a := inOrder(allowed, candidates, maxUnavailable-unavailable, burst)
	a.Must = append(a.Must, finishing...)
	return a
}

// candidate returns the pod of the node that is to be updated, if nothing else is there. We look at what repair leaves: of
// pods that burst or a hook keeps from going the best is the node's pod, and if it is broken it need not wait for them.
func (m *Model) candidate(v nodeView) *corev1.Pod {
	olds := slices.DeleteFunc(slices.Clone(v.olds), lifecycle.Terminal)
	if !m.on(MissingPodsComeFirst) || len(olds) == 0 {
		if len(v.news) > 0 || len(v.olds) != 1 || OnItsWayOut(v.olds[0]) {
			return nil
		}
		olds = v.olds
	}
	best := slices.MinFunc(olds, m.better)
	alone := len(v.olds)+len(v.news)+len(v.going) == 1
	if !alone && (m.Ready(best) || slices.ContainsFunc(v.news, func(p *corev1.Pod) bool { return !lifecycle.Terminal(p) })) {
		return nil
	}
	return best
}

// unavailable returns how much of maxUnavailable a node uses up. For the Kubernetes controller it does if it has pods, and
// they are not exactly one that is available, and if it lacks one.
func (m *Model) unavailable(v nodeView) int {
	live := slices.DeleteFunc(slices.Concat(v.news, v.olds), OnItsWayOut)
	switch {
	case v.Outcome != placement.Run && m.on(BudgetCountsRunNodes):
		bad, good := m.newPods(v)
		return int(count(v.Outcome == placement.Keep && bad && !good))
	case v.empty:
		return int(count(v.Outcome == placement.Run))
	case len(v.news) == 0 && len(v.olds) == 1 && len(live) == 1 && !m.on(BrokenNodesCount):
		return 0
	case len(v.news) == 1 && len(v.olds) == 1 && OnItsWayOut(v.news[0]) && len(live) == 1 && !m.on(LeavingIsGone):
		return 1 + int(count(!m.Available(v.news[0])))
	case m.on(OneServingPodWillDo):
		return int(count(!slices.ContainsFunc(live, m.Serves)))
	default:
		return int(count(len(v.news) > 1 || len(v.olds) > 1 || len(live) != 1 || !m.Serves(live[0])))
	}
}

// newPods reports whether a node has pods of the update revision that are not available, and such that are. On a keep
// node one that is not bound cannot start, and says nothing.
func (m *Model) newPods(v nodeView) (bad, good bool) {
	bad = v.created
	for _, p := range slices.Concat(v.news, v.going) {
		if !m.Updated(p) || v.Outcome == placement.Keep && p.Spec.NodeName == "" && m.on(BudgetCountsRunNodes) {
			continue
		}
		serves := m.Available(p) && (!OnItsWayOut(p) || m.on(LeavingIsGone))
		bad = bad || !serves
		good = good || serves
	}
	return bad, good
}

// rollBeside returns the update phase with surge: new pods are created beside the outdated ones. On nodes that are to have
// none, available outdated pods go as far as available nodes outnumber desired.
func (m *Model) rollBeside(views []nodeView, maxSurge int, burst bursts) (p Phase, failed bool) {
	var allowed, candidates, superseded, outnumbered []string
	places, excess := 0, -int(m.Desired)
	begun := m.begins(views)
	for _, v := range views {
		if m.holdsPlace(v) && (begun[v.Name] || m.on(HeldNodesCount)) {
			places++
		}
		if len(v.news) <= 1 && len(v.olds) <= 1 {
			first := slices.Concat(v.olds, v.news)
			excess += int(count(len(first) > 0 && m.Available(first[0])))
		}
		kept := m.Lingers(v.Node) || v.Outcome != placement.Run && m.on(KeepReplacesNothing)
		switch {
		case len(v.news) > 1 || len(v.olds) != 1 || !v.Vanished && !begun[v.Name] || OnItsWayOut(v.olds[0]):
		case len(v.news) == 1:
			if m.Available(v.news[0]) && !OnItsWayOut(v.news[0]) && !kept {
				superseded = append(superseded, m.removal(v.olds[0])...)
			}
		case v.Vanished:
			failed = failed || !m.on(VanishedNodeStopsNothing)
		case v.Outcome != placement.Run && m.on(SurgesWhereItMayRun):
			switch {
			case kept:
			case m.Serves(v.olds[0]):
				outnumbered = append(outnumbered, m.removal(v.olds[0])...)
			default:
				superseded = append(superseded, m.removal(v.olds[0])...)
			}
		case v.created || len(v.going) > 0:
		case m.on(FinishedPodGoesFirst) && slices.ContainsFunc(v.Live(), lifecycle.Terminal):
		case m.Serves(v.olds[0]):
			candidates = append(candidates, v.Name)
		default:
			allowed = append(allowed, v.Name)
		}
	}
	if failed {
		return Phase{}, true
	}
	if m.on(UnavailableNewPodHoldsPlace) {
		places += len(allowed)
	}
	p.Creates = inOrder(allowed, candidates, maxSurge-places, burst)
	p.Fates = inOrder(superseded, outnumbered, excess, burst)
	return p, false
}

// holdsPlace reports whether a node uses up one of maxSurge. For the controller it does with an outdated pod and a new
// one that is not available, and with several of a kind.
func (m *Model) holdsPlace(v nodeView) bool {
	bad, good := m.newPods(v)
	switch {
	case m.on(BudgetCountsRunNodes) && (v.Vanished || v.Outcome == placement.Leave):
		return false
	case !m.on(OneServingPodWillDo) && (len(v.news) > 1 || len(v.olds) > 1):
		return true
	case m.on(UnavailableNewPodHoldsPlace):
		return bad
	default:
		return len(v.olds) > 0 && !OnItsWayOut(v.olds[0]) && bad && !good
	}
}
