package conformance_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// These are revisions by their names in the recordings. edsNewer is the revision of another replica set.
const (
	edsThis  = "hash-new"
	edsOld   = "hash-old"
	edsNewer = "hash-newer"
)

// edsOutcome is what one call does to nodes and pods.
type edsOutcome struct {
	creates, deletes peer.Act
	counters         edsCounters
	panics           bool
}

// outcome returns what the controller does in one call.
func (m *edsModel) outcome() (o edsOutcome) {
	if m.role == edsFilterAlone {
		return m.filterAlone()
	}
	if m.delayed("LastFullSync") || m.undefaulted() && !m.on(edsNoDelay) {
		return edsOutcome{}
	}
	idle := !m.on(edsWholeSet) && (m.role == edsUndecided || m.role == edsSuperseded)
	rolls := m.on(edsWholeSet) || m.role != edsOnTrial
	switch views := m.filter(); {
	case idle:
	case rolls && m.unreadable():
		o.panics = true
	default:
		o = m.update(views)
		if m.delayed("PodCreation") {
			o.panics = m.Input.Replica.condition("PodDeletion") == nil
			o.creates = peer.Act{}
		}
		if m.delayed("PodDeletion") {
			o.deletes = peer.Act{}
		}
		if !m.frozen() || !m.on(edsFrozenRests) {
			o.deletes.Must = append(o.deletes.Must, edsCleanUp(views)...)
		}
	}
	return o
}

// delayed reports whether the controller waits because it did something a short time ago.
func (m *edsModel) delayed(kind string) bool {
	frequency := 10 * time.Second
	if f := m.Input.Set.Spec.Strategy.ReconcileFrequency; f != nil {
		frequency = f.Duration
	}
	c := m.Input.Replica.condition(kind)
	return c != nil && m.at.Sub(c.LastUpdateTime.Time) < frequency && !m.on(edsNoDelay)
}

// filterAlone returns the outcome of a call of the filter alone. Its creates are the nodes that the filter takes for empty.
func (m *edsModel) filterAlone() (o edsOutcome) {
	views := m.filter()
	for _, v := range views {
		o.counters.Desired += count(v.outcome == placement.Run)
		if v.outcome != placement.Run {
			continue
		}
		m.count(v, &o.counters)
		if m.missing(v) {
			o.creates.Must = append(o.creates.Must, v.name)
		}
	}
	o.deletes.Must = edsCleanUp(views)
	return o
}

// frozen and paused return what the annotations of the set say.
func (m *edsModel) frozen() bool { return m.Input.Set.Annotations[edsFrozen] == "true" }

func (m *edsModel) paused() bool { return m.Input.Set.Annotations[edsPaused] == "true" }

// unreadable reports whether a quantity of the strategy cannot be read.
func (m *edsModel) unreadable() bool {
	r := m.Input.Set.Spec.Strategy.RollingUpdate
	return slices.ContainsFunc([]*intstr.IntOrString{r.MaxUnavailable, r.MaxPodSchedulerFailure, r.SlowStartAdditiveIncrease},
		func(q *intstr.IntOrString) bool {
			_, err := intstr.GetScaledValueFromIntOrPercent(q, 100, true)
			return err != nil
		})
}

// undefaulted reports whether a field of the strategy is unset, so that the controller waits for another controller to set its
// default.
func (m *edsModel) undefaulted() bool {
	return m.Input.Set.Spec.Strategy.ReconcileFrequency == nil && m.Input.Replica.UID != "" && m.role != edsFilterAlone
}

// missing reports whether the node lacks a pod.
func (m *edsModel) missing(v *edsView) bool {
	if m.on(edsObjectHolds) {
		return len(v.kept) == 0 && !v.held
	}
	return len(v.kept)+len(v.marked)+len(v.blocked) == 0
}

// serves reports whether the budget counts the node as having a serving pod.
func (m *edsModel) serves(v *edsView) bool {
	pods := v.kept
	if !m.on(edsMarkedIsGone) {
		pods = slices.Concat(v.kept, v.marked)
	}
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
		return edsReady(p) && (!marked(p) || !m.on(edsMarkedIsGone) && m.upToDate(v.edsNode, p))
	})
}

// stuck reports whether no action on the node would help now, so that it can be left out of the budget (B8).
func (m *edsModel) stuck(v *edsView) bool {
	if !m.on(edsStuckAtOnce) {
		return slices.ContainsFunc(slices.Concat(v.kept, v.marked), func(p *corev1.Pod) bool { return edsStuck(p, m.at) })
	}
	unreachable := slices.ContainsFunc(v.object.Spec.Taints,
		func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
	return unreachable || slices.ContainsFunc(v.pods, func(p *corev1.Pod) bool {
		if marked(p) && lifecycle.Terminal(p) {
			return false
		}
		c := condition(p, corev1.PodScheduled)
		return marked(p) && !p.DeletionTimestamp.After(m.at) ||
			!marked(p) && c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// breaks reports whether a keep node has a pod of the update revision that is not available (B2). A pod that is not bound does
// not count, because it never ran there.
func (m *edsModel) breaks(v *edsView) bool {
	of := func(p *corev1.Pod) bool {
		return m.revision(p) == m.edsWorld.update() && p.Spec.NodeName != "" && !marked(p)
	}
	pods := slices.Concat(v.kept, v.blocked)
	return slices.ContainsFunc(pods, of) && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return of(p) && edsReady(p) })
}

// roll returns the update of all nodes that the call handles.
func (m *edsModel) roll(views []*edsView) (o edsOutcome) {
	var missing, broken, healthy []string
	unavailable, stuck, underWay := 0, 0, 0
	places := edsPlaces{underWay: map[string]bool{}}
	for _, v := range views {
		if v.outcome != placement.Run {
			unavailable += int(count(v.outcome == placement.Keep && m.breaks(v)))
			continue
		}
		o.counters.Desired++
		isStuck := m.stuck(v)
		stuck += int(count(isStuck && (!m.on(edsStuckAtOnce) || !m.serves(v))))
		if isStuck && !m.on(edsStuckIsOutdated) {
			unavailable++
			continue
		}
		if !m.serves(v) {
			unavailable++
		}
		m.count(v, &o.counters)
		if m.on(edsUnderWay) && m.underWay(v) && !isStuck {
			underWay++
			for _, p := range v.pods {
				places.underWay[p.Name] = true
			}
		}
		switch old := m.outdated(v); {
		case m.missing(v):
			missing = append(missing, v.name)
		case old == nil || m.resting(v.edsNode):
		case edsReady(old):
			healthy = append(healthy, old.Name)
		default:
			broken = append(broken, old.Name)
		}
	}
	o.counters.Ignored = int32(stuck)
	rolling := m.Input.Set.Spec.Strategy.RollingUpdate
	maxUnavailable := peer.Scaled(rolling.MaxUnavailable, o.counters.Desired, 1)
	unavailable -= min(stuck, peer.Scaled(rolling.MaxPodSchedulerFailure, o.counters.Desired, 0))
	room := edsMaxCreation(rolling, o.counters.Desired, m.elapsed())
	room -= underWay
	if m.frozen() {
		missing = nil
	}
	creates := max(0, min(room, len(missing)))
	places.free = max(0, room-creates)
	for _, v := range views { // in their order, because pods that have Failed are deleted as repair
		switch failed := edsPodNames(v.failed); {
		case len(failed) == 0:
		case v.outcome != placement.Run || len(v.kept) > 0 || !m.on(edsUnderWay):
			o.deletes.Must = append(o.deletes.Must, failed...)
		case m.frozen():
		case places.underWay[failed[0]]:
			o.deletes.Must = append(o.deletes.Must, failed...)
		case places.free > 0:
			o.deletes.Must = append(o.deletes.Must, failed...)
			places.free--
		}
	}
	if m.ordered() { // missing pods by ascending node name (M6)
		missing = missing[:creates]
	}
	o.creates = m.some(missing, creates)
	m.replace(&o, broken, healthy, maxUnavailable-unavailable, places)
	return o
}

// count counts the node as current if it has a pod of the revision that the call handles, or that the set has.
func (m *edsModel) count(v *edsView, counters *edsCounters) {
	pods := slices.Concat(v.kept, v.marked)
	if m.on(edsAnyPodCounts) {
		pods = v.pods
	}
	for _, p := range pods {
		updated := m.upToDate(v.edsNode, p)
		if m.on(edsWholeSet) {
			updated = m.revision(p) == m.edsWorld.update() && (updated || m.target(v.edsNode) != m.edsWorld.update())
		}
		if updated && (!marked(p) || !m.on(edsMarkedIsGone)) && (p.Status.Phase != corev1.PodUnknown || m.on(edsUnknownIsPod)) {
			counters.Current++
			counters.Ready += count(edsReady(p))
			counters.Available += count(edsReady(p))
			return
		}
	}
}

// outdated returns the pod of the node that must be replaced, nil if there is none.
func (m *edsModel) outdated(v *edsView) *corev1.Pod {
	if len(v.kept) != 1 || marked(v.kept[0]) || m.upToDate(v.edsNode, v.kept[0]) ||
		edsReady(v.kept[0]) && len(v.blocked) > 0 && m.on(edsObjectHolds) {
		return nil
	}
	return v.kept[0]
}

// underWay reports whether the node waits for a pod to be gone or to be available (B7).
func (m *edsModel) underWay(v *edsView) bool {
	interval := m.Input.Set.Spec.Strategy.RollingUpdate.SlowStartIntervalDuration
	return len(v.marked) > 0 || slices.ContainsFunc(v.kept, func(p *corev1.Pod) bool {
		return m.upToDate(v.edsNode, p) && !edsReady(p) && interval != nil &&
			m.at.Sub(p.CreationTimestamp.Time) < interval.Duration
	})
}

// elapsed returns how long the slow start has been going on.
func (m *edsModel) elapsed() time.Duration {
	if !m.Input.Replica.holds("Active") {
		return 0
	}
	elapsed := m.at.Sub(m.Input.Replica.condition("Active").LastTransitionTime.Time)
	if m.on(edsUnderWay) {
		elapsed = max(0, elapsed)
	}
	return elapsed
}

// edsMaxCreation returns how many pods may be created by now.
func edsMaxCreation(r edsRolling, nodes int32, elapsed time.Duration) int {
	steps := 1 + int(elapsed/r.SlowStartIntervalDuration.Duration)
	return min(steps*peer.Scaled(r.SlowStartAdditiveIncrease, nodes, 1), int(*r.MaxParallelPodCreation))
}

// ordered reports whether the choice is made as B6 and M6 make it. The controller chooses freely. Our choice is one of the
// controller's, so it is no difference by itself, and only the model with all rules makes it.
func (m *edsModel) ordered() bool { return m.rules == edsAllRules }

// some returns a free choice of so many of the names, which are in the order of node names. If the model is ordered, it returns
// the last ones.
func (m *edsModel) some(names []string, number int) peer.Act {
	number = max(0, min(number, len(names)))
	if m.ordered() {
		return peer.Act{Must: names[len(names)-number:]}
	}
	if number == len(names) {
		return peer.Act{Must: names}
	}
	if number == 0 {
		return peer.Act{}
	}
	return peer.Act{From: names, Count: number}
}

// replace picks the pods to delete. The controller picks from broken pods and healthy ones alike, within a budget that the broken
// ones raise. By B3 all broken pods are deleted, and healthy ones within the budget, the last by node name first (B6).
func (m *edsModel) replace(o *edsOutcome, broken, healthy []string, budget int, places edsPlaces) {
	rolling := m.Input.Set.Spec.Strategy.RollingUpdate
	if !m.on(edsBrokenInFull) {
		all := slices.Concat(broken, healthy)
		number := min(budget+len(broken), peer.Scaled(rolling.MaxUnavailable, o.counters.Desired, 1))
		o.deletes = o.deletes.And(m.someInPlaces(all, number, &places))
		return
	}
	o.deletes = o.deletes.And(m.someInPlaces(broken, len(broken), &places)).And(m.someInPlaces(healthy, budget, &places))
}

// edsPlaces are those of slow start (B7): free ones, and those of the nodes that are under way, with the names of their pods.
type edsPlaces struct {
	free     int
	underWay map[string]bool
}

// someInPlaces is some for pods that are to be replaced, which need a place of slow start.
func (m *edsModel) someInPlaces(pods []string, number int, places *edsPlaces) peer.Act {
	if !m.on(edsUnderWay) {
		return m.some(pods, number)
	}
	var act peer.Act
	var others []string
	for _, pod := range slices.Backward(pods) {
		switch {
		case !places.underWay[pod] && !m.ordered():
			others = append(others, pod)
		case len(act.Must) >= number:
		case places.underWay[pod]:
			act.Must = append(act.Must, pod)
		case places.free > 0:
			act.Must = append(act.Must, pod)
			places.free--
		}
	}
	number = max(0, min(number-len(act.Must), len(others), places.free))
	places.free -= number
	return act.And(m.some(others, number))
}

// and returns the outcome of doing both, for different nodes each.
func (o edsOutcome) and(p edsOutcome) edsOutcome {
	c, d := o.counters, p.counters
	return edsOutcome{
		creates: o.creates.And(p.creates), deletes: o.deletes.And(p.deletes),
		counters: edsCounters{c.Desired + d.Desired, c.Current + d.Current, c.Ready + d.Ready, c.Available + d.Available,
			c.Ignored + d.Ignored},
	}
}

func edsPodNames(pods []*corev1.Pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}
