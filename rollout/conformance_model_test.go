package rollout_test

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// model says naively what a recorded controller does with the input of a case, and what it would do with some of
// our rules in place of its own. With no rule it must give what was recorded; with all of them, what we plan.
//
// OpenKruise's controller grew out of the Kubernetes one. What only one of the two does is a rule that the other has
// anyway; what only OpenKruise knows at all is in conformance_kruise_model_test.go.
type model struct {
	*situation
	rules ruleSet
	// ours is the plan that the outcome is compared with. Where a phase may choose and a rule makes the next phase
	// see what was chosen (M6, M7), this is the choice.
	ours decided
}

func (m *model) on(r rule) bool { return (m.rules|m.native)&(1<<r) != 0 }

func (m *model) outcome() outcome {
	o := outcome{status: m.status(), manage: m.manage()}
	if m.recorded.set.Spec.UpdateStrategy.Type != string(appsv1.OnDeleteDaemonSetStrategyType) {
		o.roll, o.failed = m.roll(o.manage)
	}
	return o
}

// view is the nodes with the pods that count.
func (m *model) view() (nodes []*nodeSituation) {
	for _, n := range m.nodes {
		if m.on(endedPodIsIgnored) {
			some := *n
			some.pods = slices.DeleteFunc(slices.Clone(n.pods), func(p *corev1.Pod) bool { return marked(p) && lifecycle.Terminal(p) })
			n = &some
		}
		if !n.vanished || len(n.pods) > 0 {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// updated tells whether the pod counts as updated. The controller believes either label.
func (m *model) updated(p *corev1.Pod) bool {
	hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if m.on(generationLabel) {
		return hash == m.update || !labelled && m.generationMatches(p)
	}
	return hash == m.update || m.generationMatches(p)
}

// ready tells whether a pod is Ready. OpenKruise looks at nothing but the condition Ready.
func (m *model) ready(p *corev1.Pod) bool {
	if m.on(inPlaceConditionCounts) {
		return lifecycle.Ready(p)
	}
	c := condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func (m *model) available(p *corev1.Pod) bool {
	if !m.ready(p) || m.spec.MinReadySeconds == 0 {
		return m.ready(p)
	}
	since := condition(p, corev1.PodReady).LastTransitionTime.Time
	at := since.Add(time.Duration(m.spec.MinReadySeconds) * time.Second)
	if m.on(exactlyLongEnough) {
		return !since.IsZero() && !at.After(m.recorded.Now)
	}
	return !since.IsZero() && at.Before(m.recorded.Now)
}

func (m *model) status() statusCounters {
	var s statusCounters
	for _, n := range m.view() {
		if n.outcome != placement.Run {
			s.Misscheduled += count(!n.vanished && len(n.pods) > 0)
			continue
		}
		s.Desired++
		s.Current += count(len(n.pods) > 0)
		look := slices.Clone(n.pods)
		if !m.on(anyPodCounts) && len(look) > 0 {
			look = look[:1] // the oldest
		}
		if m.on(terminatingIsNotLive) {
			look = slices.DeleteFunc(look, marked)
		}
		s.Ready += count(slices.ContainsFunc(look, m.ready))
		s.Available += count(slices.ContainsFunc(look, m.availableInStatus))
		s.Updated += count(slices.ContainsFunc(look, m.updated))
	}
	s.Unavailable = s.Desired - s.Available
	return s
}

// manage is the phase that creates and deletes regardless of any rollout.
func (m *model) manage() phaseOutcome {
	var creates []*nodeSituation
	var deletes []queue
	var last queue // pods of vanished nodes come after all others
	excess := m.excess()
	for _, n := range m.view() {
		switch {
		case n.vanished:
			for _, pod := range n.pods {
				again := marked(pod) && !m.on(deletedOnce)
				if pod.Spec.NodeName == "" && (again || !marked(pod)) {
					last.anyOrder = append(last.anyOrder, m.removal(pod)...)
				}
			}
		case n.outcome == placement.Leave:
			stays := m.lingering(n, &excess)
			var q queue
			for _, pod := range n.pods {
				if !marked(pod) && pod != stays {
					q.anyOrder = append(q.anyOrder, m.removal(pod)...)
				}
			}
			deletes = append(deletes, q)
		default:
			create, q := m.mend(n)
			deletes = append(deletes, q)
			if create {
				creates = append(creates, n)
			}
		}
	}
	return phaseOutcome{creates: m.limitCreates(creates), fates: m.limit(deletes, last)}
}

// mend is manage for a node that may hold a pod.
func (m *model) mend(n *nodeSituation) (create bool, q queue) {
	var running []*corev1.Pod
	var failed []string
	finished := false
	beside := m.surge
	for _, pod := range n.pods {
		switch {
		case marked(pod):
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, m.removal(pod)...)
			finished = true
		case pod.Status.Phase == corev1.PodSucceeded && m.on(succeededPodGoes):
			q.anyOrder = append(q.anyOrder, m.removal(pod)...)
			finished = true
		case m.leaves(n, pod):
			q.anyOrder = append(q.anyOrder, m.removal(pod)...)
		default:
			running = append(running, pod)
			beside = false
		}
	}
	if m.on(failedGoTogether) || len(failed) == 1 {
		q.anyOrder = append(q.anyOrder, failed...)
	} else {
		q.oneOf = failed
	}
	for _, pod := range m.surplus(n, running) {
		q.then = append(q.then, m.removal(pod)...)
		running = slices.DeleteFunc(running, func(p *corev1.Pod) bool { return p == pod })
	}
	for _, pod := range running {
		if onItsWayOut(pod) {
			q.anyOrder = append(q.anyOrder, fateTakenBack.of(pod.Name)...)
		}
	}
	beside = beside && (!finished || !m.on(finishedPodGoesFirst))
	return n.outcome == placement.Run && (len(n.pods) == 0 || beside), q
}

// surplus says which of the running pods of a node go. The controller keeps the oldest, under surge the oldest of
// the update revision and of the others.
func (m *model) surplus(n *nodeSituation, running []*corev1.Pod) (surplus []*corev1.Pod) {
	running = slices.Clone(running)
	if m.on(bestPodStays) {
		slices.SortFunc(running, m.better)
	}
	if !m.surge && !m.on(bestPodStays) {
		return running[min(1, len(running)):]
	}
	var kept [2]*corev1.Pod // of the update revision, of another
	for _, p := range running {
		kind := 1
		if p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == m.update || m.on(generationLabel) && m.updated(p) {
			kind = 0
		}
		if kept[kind] == nil {
			kept[kind] = p
		} else {
			surplus = append(surplus, p)
		}
	}
	current, other := kept[0], kept[1]
	switch {
	case current == nil || other == nil:
	case m.on(keepReplacesNothing) && n.outcome == placement.Keep && current.Spec.NodeName == "":
		// It cannot start here, so it follows nobody.
	case m.available(current) && (!onItsWayOut(current) || !m.on(leavingIsGone)) || !m.ready(other):
		surplus = append(surplus, other)
	}
	return surplus
}

// excess is by how many the nodes that serve outnumber those that are to, for M4.
func (m *model) excess() int {
	excess := -int(m.desired)
	for _, n := range m.view() {
		serves := slices.ContainsFunc(n.live(), m.staysAvailable)
		if serves && (n.outcome == placement.Run || m.lingers(n)) {
			excess++
		}
	}
	return excess
}

func (m *model) staysAvailable(p *corev1.Pod) bool { return m.available(p) && !onItsWayOut(p) }

func (m *model) lingers(n *nodeSituation) bool {
	return m.on(servesWhileLeaving) && m.surge && !n.vanished && n.outcome == placement.Leave && n.test != placement.TestTaint
}

// lingering is the pod that serves on although its node is to be left, if any.
func (m *model) lingering(n *nodeSituation, excess *int) *corev1.Pod {
	if !m.lingers(n) || !slices.ContainsFunc(n.live(), m.staysAvailable) {
		return nil
	}
	if *excess > 0 {
		*excess--
		return nil
	}
	pods := slices.DeleteFunc(n.live(), func(p *corev1.Pod) bool { return lifecycle.Terminal(p) || onItsWayOut(p) })
	if len(pods) == 0 {
		return nil
	}
	return slices.MinFunc(pods, m.better)
}

// better is the order of M3; the controller's is by age alone.
func (m *model) better(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(count(m.available(b)), count(m.available(a))),
		cmp.Compare(count(m.ready(b)), count(m.ready(a))),
		cmp.Compare(count(b.Spec.NodeName != ""), count(a.Spec.NodeName != "")),
		cmp.Compare(count(onItsWayOut(a)), count(onItsWayOut(b))),
		oldest(a, b),
	)
}
