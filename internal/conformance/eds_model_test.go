package conformance_test

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// edsModel is a naive model of what the ExtendedDaemonSet controller does with the input of a case, and of what it would do with
// some of our rules in place of its own. With no rule it must give what was recorded. With all rules it must give our plan.
type edsModel struct {
	*edsWorld
	rules edsRuleSet
	at    time.Time
	// picked are the canary nodes of the plan. Package canary chooses them (C1), so the model takes them over.
	picked []string
	// backoffs are those of Failed pods, kept from call to call. They are by node, or with our rule by node and revision.
	backoffs map[string]edsBackoff
}

type edsBackoff struct {
	delay time.Duration
	since time.Time
}

func newEDSModel(w *edsWorld, rules edsRuleSet) *edsModel {
	return &edsModel{edsWorld: w, rules: rules, at: w.now(), backoffs: make(map[string]edsBackoff)}
}

func (m *edsModel) on(r edsRule) bool { return m.rules&(1<<r) != 0 }

// edsView is a node after the filter.
type edsView struct {
	*edsNode
	outcome placement.Outcome
	// kept are the pods that stay. For the controller this is one at most, which may be on its way out.
	kept []*corev1.Pod
	// marked are pods on their way out that were not chosen to stay. blocked are pods that stay because of their back-off.
	marked, blocked []*corev1.Pod
	// failed are outdated pods that are deleted without a back-off.
	failed []*corev1.Pod
	// goes are the pods that the filter wants to be deleted, marked ones too.
	goes []*corev1.Pod
	// held reports whether some pod object keeps a new pod from being created.
	held bool
}

// placed returns whether the node runs the pod. For the controller it does or does not: a pod that may stay must be deleted as
// well.
func (m *edsModel) placed(n *edsNode) placement.Outcome {
	outcome := n.theirs
	if m.on(edsDefaultTolerations) {
		outcome = n.ours
	}
	if outcome == placement.Keep && !m.on(edsKeepStays) {
		outcome = placement.Leave
	}
	return outcome
}

// filter returns for each node which pods stay. It leaves out nodes of another replica set, and their pods.
func (m *edsModel) filter() (views []*edsView) {
	for _, n := range m.nodes {
		v := &edsView{edsNode: n, outcome: m.placed(n)}
		switch {
		case n.ignored && !m.on(edsWholeSet):
			if !n.given {
				continue
			}
			v.outcome, v.goes = placement.Leave, edsExcept(n.pods, n.kept)
		case v.outcome == placement.Leave:
			m.empty(v)
		default:
			m.choose(v, m.finished(v))
		}
		views = append(views, v)
	}
	return views
}

// empty filters a node that does not run the pod, or does not exist.
func (m *edsModel) empty(v *edsView) {
	for _, p := range v.pods {
		switch {
		case p.Status.Phase == corev1.PodUnknown && !m.on(edsUnknownIsPod):
		case v.object == nil && p.Spec.NodeName != "" && m.on(edsStraysStay):
		case !marked(p):
			v.goes = append(v.goes, p)
		}
	}
}

// finished takes out the pods about which there is nothing to choose.
func (m *edsModel) finished(v *edsView) (rest []*corev1.Pod) {
	for _, p := range v.pods {
		phase := p.Status.Phase
		if phase == corev1.PodUnknown && !m.on(edsUnknownIsPod) ||
			marked(p) && lifecycle.Terminal(p) && m.on(edsEndedIsIgnored) {
			continue
		}
		v.held = v.held || m.on(edsObjectHolds)
		switch {
		case phase == corev1.PodSucceeded && m.on(edsSucceededGoes) && !marked(p):
			v.goes = append(v.goes, p)
		case phase == corev1.PodFailed && m.on(edsFailedBackOff) && !marked(p):
			switch {
			case !m.upToDate(v.edsNode, p) && !m.resting(v.edsNode):
				v.failed = append(v.failed, p)
			case m.due(v.edsNode, p):
				v.goes = append(v.goes, p)
			default:
				v.blocked = append(v.blocked, p)
			}
		case phase == corev1.PodFailed && !m.on(edsFailedBackOff) && !v.given && m.due(v.edsNode, p):
			v.goes = append(v.goes, p)
		default:
			rest = append(rest, p)
		}
	}
	return rest
}

// choose decides which of several pods stay. The controller keeps the oldest of those that are bound. By M3 one pod of the wanted
// revision and one of another revision stay, the best of each, and pods that are on their way out do not count.
func (m *edsModel) choose(v *edsView, rest []*corev1.Pod) {
	if !m.on(edsBestPodStays) {
		slices.SortStableFunc(rest, peer.Oldest)
		if v.given {
			rest = slices.Concat(edsOnly(rest, v.edsNode.kept), edsExcept(rest, v.edsNode.kept))
			if v.edsNode.kept == nil {
				v.goes = append(v.goes, rest...)
				return
			}
		}
		v.kept, v.goes = rest[:min(1, len(rest))], append(v.goes, rest[min(1, len(rest)):]...)
		return
	}
	slices.SortFunc(rest, betterEDS)
	var best [2]*corev1.Pod // the best of the wanted revision, and of any other
	for _, p := range rest {
		kind := int(count(!m.upToDate(v.edsNode, p)))
		switch {
		case marked(p):
			v.marked = append(v.marked, p)
		case best[kind] == nil:
			best[kind] = p
		default:
			v.goes = append(v.goes, p)
		}
	}
	cannotStart := best[0] != nil && v.outcome == placement.Keep && best[0].Spec.NodeName == ""
	if best[0] != nil && best[1] != nil && !cannotStart && (edsReady(best[0]) || !edsReady(best[1])) {
		v.goes, best[1] = append(v.goes, best[1]), nil
	}
	if best[0] != nil && best[1] != nil && v.outcome == placement.Run && edsUnschedulable(best[0]) {
		v.goes = append(v.goes, best[0]) // it may find no place beside the other one, which is updated when it is gone
	}
	v.kept = edsExcept(best[:], nil)
}

// edsUnschedulable reports whether the scheduler has found no place for the pod.
func edsUnschedulable(p *corev1.Pod) bool {
	c := condition(p, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

func edsOnly(pods []*corev1.Pod, p *corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(q *corev1.Pod) bool { return q != p })
}

func edsExcept(pods []*corev1.Pod, p *corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(q *corev1.Pod) bool { return q == p })
}

// betterEDS compares two pods by the order of M3.
func betterEDS(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(count(edsReady(b)), count(edsReady(a))),
		cmp.Compare(count(b.Spec.NodeName != ""), count(a.Spec.NodeName != "")),
		peer.Oldest(a, b),
	)
}

// due reports whether a Failed pod may be deleted now, and counts it. The controller has one back-off for the node, so the second
// pod of the same call waits. By M2 all Failed pods of a node are deleted together, and outdated ones without a back-off.
func (m *edsModel) due(n *edsNode, p *corev1.Pod) bool {
	const longest = 15 * time.Minute
	key, delay := n.name, 10*time.Second
	if m.on(edsFailedBackOff) {
		key, delay = n.name+" "+m.revision(p), time.Second
	}
	entry, ok := m.backoffs[key]
	switch {
	case ok && m.on(edsFailedBackOff) && entry.since.Equal(m.at):
		return true
	case !ok, m.at.Sub(entry.since) > 2*longest:
		entry = edsBackoff{delay: delay, since: m.at}
	case m.at.Sub(entry.since) < entry.delay:
		return false
	default:
		entry = edsBackoff{delay: min(2*entry.delay, longest), since: m.at}
	}
	m.backoffs[key] = entry
	return true
}

// edsCleanUp lists the pods that are deleted because of the filter. Those that are marked already are not listed.
func edsCleanUp(views []*edsView) (names []string) {
	for _, v := range views {
		for _, p := range v.goes {
			if !marked(p) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}
