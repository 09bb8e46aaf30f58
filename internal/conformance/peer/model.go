package peer

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// Model is a naive model of what a controller does in a situation, and of what it would do with some of our rules in place of its
// own. With no rule it must give what the controller did; with all of them, what we plan. Tests use its exported methods to count
// by themselves, such as what is updated, available or held.
//
// OpenKruise's controller grew out of the Kubernetes one. Where only one of the two differs from us, its rule is switched on for
// the other one anyway. What only OpenKruise has is in kruise.go and hold.go.
type Model struct {
	*Situation
	Rules RuleSet
	// Ours is the plan that the outcome is compared with. Where a phase may choose and a rule makes the next phase
	// see what was chosen (M6, M7), this is the choice.
	Ours Decided
}

func (m *Model) on(r Rule) bool { return (m.Rules | m.native).Has(r) }

// Outcome returns what the controller does with some of our rules in place of its own. Where it may choose, what ours did is
// the choice that a later phase sees.
func (s *Situation) Outcome(rules RuleSet, ours Decided) Outcome {
	return (&Model{Situation: s, Rules: rules, Ours: ours}).outcome()
}

func (m *Model) outcome() Outcome {
	o := Outcome{Status: m.status(), Manage: m.manage()}
	if m.Case.Set.Spec.UpdateStrategy.Type != string(appsv1.OnDeleteDaemonSetStrategyType) {
		o.Roll, o.Failed = m.roll(o.Manage)
	}
	return o
}

// View returns the nodes with the pods that count.
func (m *Model) View() (nodes []*Node) {
	for _, n := range m.Nodes {
		some := *n
		some.Pods = slices.DeleteFunc(slices.Clone(n.Pods), m.ignores)
		if !n.Vanished || len(some.Pods) > 0 {
			nodes = append(nodes, &some)
		}
	}
	return nodes
}

// ignores reports whether a pod that is marked for deletion counts for nothing.
func (m *Model) ignores(p *corev1.Pod) bool {
	released := !m.on(TerminatingPodHoldsItsNode) && !m.selects(p)
	return marked(p) && (released || lifecycle.Terminal(p) && m.on(EndedPodIsIgnored))
}

// selects reports whether the set's selector matches the pod.
func (m *Model) selects(p *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(m.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(p.Labels))
}

// Updated reports whether the pod counts as updated. The controller believes either label.
func (m *Model) Updated(p *corev1.Pod) bool {
	hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if m.on(GenerationLabel) {
		return hash == m.update || !labelled && m.generationMatches(p)
	}
	return hash == m.update || m.generationMatches(p)
}

// Ready reports whether a pod is Ready. The controllers look at nothing but the condition Ready.
func (m *Model) Ready(p *corev1.Pod) bool {
	c := condition(p, corev1.PodReady)
	switch {
	case lifecycle.Terminal(p) && m.on(EndedPodIsNotReady):
		return false
	case m.on(InPlaceConditionCounts) && !lifecycle.Terminal(p):
		return lifecycle.Ready(p)
	default:
		return c != nil && c.Status == corev1.ConditionTrue
	}
}

// Available reports whether a pod has been ready for long enough.
func (m *Model) Available(p *corev1.Pod) bool {
	if !m.Ready(p) || m.Spec.MinReadySeconds == 0 {
		return m.Ready(p)
	}
	since := condition(p, corev1.PodReady).LastTransitionTime.Time
	at := since.Add(time.Duration(m.Spec.MinReadySeconds) * time.Second)
	if m.on(ExactlyLongEnough) {
		return !since.IsZero() && !at.After(m.Case.Now)
	}
	return !since.IsZero() && at.Before(m.Case.Now)
}

func (m *Model) status() Counters {
	var s Counters
	for _, n := range m.View() {
		if n.Outcome != placement.Run {
			s.Misscheduled += count(!n.Vanished && len(n.Pods) > 0)
			continue
		}
		s.Desired++
		s.Current += count(len(n.Pods) > 0)
		look := slices.Clone(n.Pods)
		if !m.on(AnyPodCounts) && len(look) > 0 {
			look = look[:1] // the oldest
		}
		if m.on(TerminatingIsNotLive) {
			look = slices.DeleteFunc(look, marked)
		}
		s.Ready += count(slices.ContainsFunc(look, m.Ready))
		s.Available += count(slices.ContainsFunc(look, m.availableInStatus))
		s.Updated += count(slices.ContainsFunc(look, m.Updated))
	}
	s.Unavailable = s.Desired - s.Available
	return s
}

// manage returns the phase that creates and deletes regardless of any rollout.
func (m *Model) manage() Phase {
	var creates []*Node
	var deletes []queue
	var last queue // pods of vanished nodes come after all others
	excess, room := m.excess(), m.room()
	for _, n := range m.View() {
		switch {
		case n.Vanished:
			for _, pod := range n.Pods {
				again := marked(pod) && !m.on(DeletedOnce)
				if pod.Spec.NodeName == "" && (again || !marked(pod)) {
					last.anyOrder = append(last.anyOrder, m.removal(pod)...)
				}
			}
		case n.Outcome == placement.Leave:
			stays := m.lingering(n, &excess)
			var q queue
			for _, pod := range n.Pods {
				if !marked(pod) && pod != stays {
					q.anyOrder = append(q.anyOrder, m.removal(pod)...)
				}
			}
			deletes = append(deletes, q)
		default:
			create, q := m.mend(n, &room)
			deletes = append(deletes, q)
			if create {
				creates = append(creates, n)
			}
		}
	}
	return Phase{Creates: m.limitCreates(creates), Fates: m.limit(deletes, last)}
}

// mend is manage for a node that may hold a pod.
func (m *Model) mend(n *Node, room *int) (create bool, q queue) {
	var running []*corev1.Pod
	var failed []string
	finished := false
	beside := m.Surge
	for _, pod := range n.Pods {
		switch {
		case marked(pod):
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, m.removal(pod)...)
			finished = true
		case pod.Status.Phase == corev1.PodSucceeded && m.on(SucceededPodGoes):
			q.anyOrder = append(q.anyOrder, m.removal(pod)...)
			finished = true
		case m.leaves(n, pod):
			if !m.Hooked(pod) && m.waitsForRoom(n, pod, q.anyOrder, room) {
				continue
			}
			q.anyOrder = append(q.anyOrder, m.removal(pod)...)
		default:
			running = append(running, pod)
			beside = false
		}
	}
	if m.on(FailedGoTogether) || len(failed) == 1 {
		q.anyOrder = append(q.anyOrder, failed...)
	} else {
		q.oneOf = failed
	}
	for _, pod := range m.surplus(n, running) {
		q.then = append(q.then, m.removal(pod)...)
		running = slices.DeleteFunc(running, func(p *corev1.Pod) bool { return p == pod })
	}
	for _, pod := range running {
		if OnItsWayOut(pod) {
			q.anyOrder = append(q.anyOrder, TakenBack.Of(pod.Name)...)
		}
	}
	beside = beside && (!finished || !m.on(FinishedPodGoesFirst))
	return n.Outcome == placement.Run && (len(n.Pods) == 0 || beside), q
}

// surplus says which of the running pods of a node go. The controller keeps the oldest, under surge the oldest of
// the update revision and of the others.
func (m *Model) surplus(n *Node, running []*corev1.Pod) (surplus []*corev1.Pod) {
	running = slices.Clone(running)
	if m.on(BestPodStays) {
		slices.SortFunc(running, m.better)
	}
	if !m.Surge && !m.on(BestPodStays) {
		return running[min(1, len(running)):]
	}
	var kept [2]*corev1.Pod // of the update revision, of another
	for _, p := range running {
		kind := 1
		if m.ofUpdate(p) {
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
	case m.on(KeepReplacesNothing) && n.Outcome == placement.Keep && current.Spec.NodeName == "":
		// It cannot start here, so it follows nobody.
	case m.on(BestPodStays) && !m.Surge && n.Outcome == placement.Run && unschedulable(current) && m.Ready(other):
		surplus = append(surplus, current) // it may find no place beside the other one
	case m.Available(current) && (!OnItsWayOut(current) || !m.on(LeavingIsGone)) || !m.Ready(other):
		surplus = append(surplus, other)
	}
	return surplus
}

// unschedulable reports whether the scheduler has found no place for the pod.
func unschedulable(p *corev1.Pod) bool {
	c := condition(p, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

// ofUpdate reports whether the pod counts as one of the update revision.
func (m *Model) ofUpdate(p *corev1.Pod) bool {
	return p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == m.update || m.on(GenerationLabel) && m.Updated(p)
}

// serves is B2 for one pod.
func (m *Model) serves(p *corev1.Pod) bool {
	switch {
	case OnItsWayOut(p):
		return false
	case m.ofUpdate(p):
		return m.Available(p)
	default:
		return m.Ready(p)
	}
}

// excess returns by how many the nodes that serve outnumber those that are to, for M4.
func (m *Model) excess() int {
	excess := -int(m.Desired)
	for _, n := range m.View() {
		serves := slices.ContainsFunc(n.Live(), m.StaysAvailable)
		if serves && (n.Outcome == placement.Run || m.Lingers(n)) {
			excess++
		}
	}
	return excess
}

// StaysAvailable reports whether a pod is available and does not wait for its preDelete hook.
func (m *Model) StaysAvailable(p *corev1.Pod) bool { return m.Available(p) && !OnItsWayOut(p) }

// Lingers reports whether an available pod may go on serving although its node is to be left.
func (m *Model) Lingers(n *Node) bool {
	return m.on(ServesWhileLeaving) && m.Surge && !n.Vanished && n.Outcome == placement.Leave && n.Test != placement.TestTaint
}

// lingering returns the pod that serves on although its node is to be left, if any.
func (m *Model) lingering(n *Node, excess *int) *corev1.Pod {
	if !m.Lingers(n) || !slices.ContainsFunc(n.Live(), m.StaysAvailable) {
		return nil
	}
	if *excess > 0 {
		*excess--
		return nil
	}
	return slices.MinFunc(slices.DeleteFunc(n.Live(), func(p *corev1.Pod) bool { return !m.StaysAvailable(p) }), m.better)
}

// better returns the order of M3; the controller's is by age alone.
func (m *Model) better(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(count(m.serves(b)), count(m.serves(a))),
		cmp.Compare(count(m.Available(b)), count(m.Available(a))),
		cmp.Compare(count(m.Ready(b)), count(m.Ready(a))),
		cmp.Compare(count(b.Spec.NodeName != ""), count(a.Spec.NodeName != "")),
		cmp.Compare(count(OnItsWayOut(a)), count(OnItsWayOut(b))),
		Oldest(a, b),
	)
}
