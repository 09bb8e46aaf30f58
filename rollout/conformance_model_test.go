package rollout_test

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// model says naively what the recorded controller does with the input of a case, and what it would do with some of
// our rules in place of its own. With no rule it must give what was recorded; with all of them, what we plan.
type model struct {
	*situation
	rules ruleSet
	// ours is the plan that the outcome is compared with. Where a phase may choose and a rule makes the next phase
	// see what was chosen (M6, M7), this is the choice.
	ours decided
}

// outcome is a decision of the model: like the recorded one, phase by phase.
type outcome struct {
	status       statusCounters
	manage, roll phaseOutcome
	failed       bool // the update phase ended with an error and did nothing
}

type phaseOutcome struct{ create, delete act }

// act is what a phase does for sure, and how many of which others it picks freely.
type act struct {
	must, from []string
	count      int
}

func (m *model) on(r rule) bool { return m.rules&(1<<r) != 0 }

func (m *model) outcome() outcome {
	o := outcome{status: m.status(), manage: m.manage()}
	if m.recorded.DaemonSet.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		o.roll, o.failed = m.roll(o.manage)
	}
	return o
}

// updated tells whether the pod counts as updated. The controller believes either label.
func (m *model) updated(p *corev1.Pod) bool {
	hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if m.on(generationLabel) {
		return hash == m.update || !labelled && m.generationMatches(p)
	}
	return hash == m.update || m.generationMatches(p)
}

func (m *model) status() statusCounters {
	var s statusCounters
	for _, n := range m.nodes {
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
		s.Ready += count(slices.ContainsFunc(look, lifecycle.Ready))
		s.Available += count(slices.ContainsFunc(look, m.available))
		s.Updated += count(slices.ContainsFunc(look, m.updated))
	}
	s.Unavailable = s.Desired - s.Available
	return s
}

// manage is the phase that creates and deletes regardless of any rollout.
func (m *model) manage() phaseOutcome {
	var creates, deletes []queue
	var last queue // pods of vanished nodes come after all others
	excess := m.excess()
	for _, n := range m.nodes {
		switch {
		case n.vanished:
			for _, pod := range n.pods {
				again := marked(pod) && !m.on(deletedOnce)
				if pod.Spec.NodeName == "" && (again || !marked(pod)) {
					last.anyOrder = append(last.anyOrder, pod.Name)
				}
			}
		case n.outcome == placement.Leave:
			stays := m.lingering(n, &excess)
			var q queue
			for _, pod := range n.pods {
				if !marked(pod) && pod != stays {
					q.anyOrder = append(q.anyOrder, pod.Name)
				}
			}
			deletes = append(deletes, q)
		default:
			create, q := m.mend(n)
			deletes = append(deletes, q)
			if create {
				creates = append(creates, queue{anyOrder: []string{n.name}})
			}
		}
	}
	return phaseOutcome{create: m.limit(creates, queue{}), delete: m.limit(deletes, last)}
}

// mend is manage for a node that may hold a pod.
func (m *model) mend(n *nodeSituation) (create bool, q queue) {
	var running []*corev1.Pod
	var failed []string
	finished := false
	for _, pod := range n.pods {
		switch {
		case marked(pod):
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, pod.Name)
			finished = true
		case pod.Status.Phase == corev1.PodSucceeded:
			q.anyOrder = append(q.anyOrder, pod.Name)
			finished = true
		default:
			running = append(running, pod)
		}
	}
	if m.on(failedGoTogether) || len(failed) == 1 {
		q.anyOrder = append(q.anyOrder, failed...)
	} else {
		q.oneOf = failed
	}
	q.then = m.surplus(n, running)
	first := finished && m.on(finishedPodGoesFirst)
	beside := m.surge && len(running) == 0 && !first
	return n.outcome == placement.Run && (len(n.pods) == 0 || beside), q
}

// surplus names which of the running pods of a node go. The controller keeps the oldest, under surge the oldest of
// the update revision and of the others.
func (m *model) surplus(n *nodeSituation, running []*corev1.Pod) (names []string) {
	if m.on(bestPodStays) {
		slices.SortFunc(running, m.better)
	}
	if !m.surge && !m.on(bestPodStays) {
		for _, p := range running[min(1, len(running)):] {
			names = append(names, p.Name)
		}
		return names
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
			names = append(names, p.Name)
		}
	}
	current, other := kept[0], kept[1]
	switch {
	case current == nil || other == nil:
	case m.on(keepReplacesNothing) && n.outcome == placement.Keep && current.Spec.NodeName == "":
		// It cannot start here, so it follows nobody.
	case m.available(current) || !lifecycle.Ready(other):
		names = append(names, other.Name)
	}
	return names
}

// excess is by how many the nodes that serve outnumber those that are to, for M4.
func (m *model) excess() int {
	excess := -int(m.desired)
	for _, n := range m.nodes {
		serves := slices.ContainsFunc(n.live(), m.available)
		if serves && (n.outcome == placement.Run || m.lingers(n)) {
			excess++
		}
	}
	return excess
}

func (m *model) lingers(n *nodeSituation) bool {
	return m.on(servesWhileLeaving) && m.surge && !n.vanished && n.outcome == placement.Leave && n.test != placement.TestTaint
}

// lingering is the pod that serves on although its node is to be left, if any.
func (m *model) lingering(n *nodeSituation, excess *int) *corev1.Pod {
	if !m.lingers(n) || !slices.ContainsFunc(n.live(), m.available) {
		return nil
	}
	if *excess > 0 {
		*excess--
		return nil
	}
	pods := slices.DeleteFunc(n.live(), lifecycle.Terminal)
	if len(pods) == 0 {
		return nil
	}
	return slices.MinFunc(pods, m.better)
}

// better is the order of M3; the controller's is by age alone.
func (m *model) better(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(count(m.available(b)), count(m.available(a))),
		cmp.Compare(count(lifecycle.Ready(b)), count(lifecycle.Ready(a))),
		oldest(a, b),
	)
}

// oldest orders a node's pods as the controller does; those that are not bound come last.
func oldest(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(count(a.Spec.NodeName == ""), count(b.Spec.NodeName == "")),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// queue is what there is to do on one node: first anyOrder and one of oneOf, in any order, and then the rest.
type queue struct{ anyOrder, oneOf, then []string }

func (q queue) len() int { return len(q.anyOrder) + min(1, len(q.oneOf)) + len(q.then) }

// limit applies burst to the queues, which come in any order, and to what comes after all of them. What is early in
// its queue is in any case among the first, what is late never. Our plan has no such order.
func (m *model) limit(queues []queue, last queue) (a act) {
	total := 0
	for _, q := range queues {
		total += q.len()
	}
	all := total + last.len()
	enter := func(names []string, latest, earliest int) {
		if m.on(burstIsPerPlan) {
			latest, earliest = all-1, 0
		}
		switch {
		case latest < m.burst:
			a.must = append(a.must, names...)
		case earliest < m.burst:
			a.from = append(a.from, names...)
		}
	}
	for _, q := range queues {
		before := total - q.len()
		first := q.len() - len(q.then)
		enter(q.anyOrder, before+first-1, 0)
		if len(q.oneOf) > 0 && m.burst > 0 {
			a.from = append(a.from, q.oneOf...)
		}
		for i, name := range q.then {
			enter([]string{name}, before+first+i, first+i)
		}
	}
	enter(last.anyOrder, all-1, total)
	a.count = min(m.burst, all) - len(a.must)
	return a
}

// possible lists all that may be done.
func (a *act) possible() []string { return slices.Concat(a.must, a.from) }

// picked lists what of the act is among names.
func (a *act) picked(names []string) []string {
	return slices.DeleteFunc(a.possible(), func(s string) bool { return !slices.Contains(names, s) })
}

// inOrder is an act that does the first, any number of them, and then at most n of the second.
func inOrder(first, second []string, n, burst int) act {
	n = max(min(n, len(second), burst-len(first)), 0)
	switch {
	case len(first) > burst:
		return act{from: first, count: burst}
	case n == len(second):
		return act{must: slices.Concat(first, second)}
	case n == 0:
		return act{must: first}
	default:
		return act{must: first, from: second, count: n}
	}
}

// scaled reads a budget; percentages are of the desired nodes, rounded up.
func scaled(v *intstr.IntOrString, of int32, unset int) int {
	if v == nil {
		return unset
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(of), true)
	if err != nil {
		return 0
	}
	return n
}
