package canary

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// evidence is what the canary's pods show, whatever the time.
type evidence struct {
	// names are the names of the canary nodes, each once, in ascending order.
	names []string
	// available reports whether there are canary nodes, and each holds an available pod of the revision.
	available bool
	// seen are the pods of the revision.
	seen []seen
	// disturbing reports whether a pod that has failed, or is being evicted, is still there.
	disturbing bool
	// restarts has the last restart of each container, of live pods and of pods on their way out.
	restarts []restart
	// broken is the first pod that restarted too often (C4), nil if none did.
	broken *Finding
	// troubles are the reasons for an automatic pause (C3), by node, then pod.
	troubles []trouble
}

// seen is a pod with the restarts that do not count.
type seen struct {
	created time.Time
	base    Baseline
}

// restart is the last restart of a container.
type restart struct {
	at time.Time
	// update reports whether the restart may have been for an update in place. Then it does not count for how long restarts
	// go on (C4).
	update bool
	// finding names the pod, and the container of it that restarted most.
	finding Finding
}

// trouble is a reason for a pause that holds from an instant on. The zero time means that it has held all the time.
type trouble struct {
	from    time.Time
	finding Finding
}

// gather reads the pods. A pod that is terminating or has finished gives no reason for a pause or a fail: whatever was
// wrong with it is being dealt with, and ExtendedDaemonSet passes over it too. It does count as a disturbance, which delays
// a promotion (C2).
func gather(r rules, nodes []Node, base baselines) evidence {
	e := evidence{available: len(nodes) > 0}
	nodes = ordered(nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range nodes {
		n := &nodes[i]
		e.names = append(e.names, n.Name)
		e.available = e.available && n.Available
		for _, pod := range ordered(n.Pods, comparePods) {
			if pod != nil {
				e.look(r, n.Name, pod, base.of(pod))
			}
		}
	}
	e.names = slices.Compact(e.names)
	return e
}

// look reads one pod.
func (e *evidence) look(r rules, node string, pod *corev1.Pod, base Baseline) {
	e.seen = append(e.seen, seen{created: pod.CreationTimestamp.Time, base: base})
	report := examine(pod, base.Restarts)
	restarted := Finding{
		Node: node, Pod: pod.Name, Container: report.Restarted, Detail: report.Terminated, Restarts: report.Restarts,
	}
	for _, statuses := range [...][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			s := &statuses[i]
			if at := restartedAt(s); !at.IsZero() {
				once := max(0, s.RestartCount)-base.Restarts[s.Name] <= 1
				e.restarts = append(e.restarts, restart{at: at, update: base.InPlace && once, finding: restarted})
			}
		}
	}
	terminating := pod.DeletionTimestamp != nil
	if pod.Status.Phase == corev1.PodFailed || terminating && evicted(pod) {
		e.disturbing = true
	}
	if terminating || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return
	}
	if r.autoFail && report.Restarts > r.failRestarts && e.broken == nil {
		restarted.Phase, restarted.Reason = Failed, TooManyRestarts
		e.broken = &restarted
	}
	if r.autoPause {
		e.lookForTrouble(r, report, restarted, pod)
	}
}

// baselines returns the baselines of the pods that were there before the canary began, for its record.
func (e *evidence) baselines(began time.Time) []Baseline {
	var list []Baseline
	for i := range e.seen {
		if e.seen[i].base.UID != "" && predates(e.seen[i].created, began) {
			list = append(list, e.seen[i].base)
		}
	}
	slices.SortFunc(list, compareBaselines)
	return list
}

// lookForTrouble finds the reasons for a pause that one pod gives: that it cannot start, that it is slow to start, that it
// restarted too often, in this order.
func (e *evidence) lookForTrouble(r rules, report Report, restarted Finding, pod *corev1.Pod) {
	waits := restarted
	waits.Phase, waits.Container, waits.Detail = Paused, report.Container, report.Waiting
	if report.Container != report.Restarted {
		waits.Restarts = 0
	}
	switch {
	case report.Class.cannotStart() && r.slow == nil:
		waits.Reason = CannotStart
		e.troubles = append(e.troubles, trouble{finding: waits})
	case report.Class.cannotStart():
		waits.Reason = CannotStart
		e.troubles = append(e.troubles, trouble{from: slowFrom(*r.slow, pod), finding: waits})
	case report.Class == Creating && r.slow != nil:
		waits.Reason = SlowStart
		e.troubles = append(e.troubles, trouble{from: slowFrom(*r.slow, pod), finding: waits})
	}
	if report.Restarts > r.pauseRestarts {
		restarted.Phase, restarted.Reason = Paused, TooManyRestarts
		e.troubles = append(e.troubles, trouble{finding: restarted})
	}
}

// slowFrom is the first instant after the time that a pod has to start (C3). That time runs from the pod's start time, else
// from its creation. If neither is known, it is over, and slowFrom is the zero time.
func slowFrom(limit time.Duration, pod *corev1.Pod) time.Time {
	from := pod.CreationTimestamp.Time
	if start := pod.Status.StartTime; start != nil && !start.IsZero() {
		from = start.Time
	}
	if from.IsZero() {
		return time.Time{}
	}
	return from.Add(limit).Add(1)
}

// evicted reports whether a terminating pod was evicted, preempted or removed by a taint.
func evicted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// ordered returns the items in order. If they are not in order already, the result is a copy.
func ordered[T any](items []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(items, compare) {
		return items
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, compare)
	return items
}

// comparePods orders pods by name, then UID. Where a nil pod comes does not matter.
func comparePods(a, b *corev1.Pod) int {
	if a == nil || b == nil {
		a, b = cmp.Or(a, &corev1.Pod{}), cmp.Or(b, &corev1.Pod{})
	}
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}
