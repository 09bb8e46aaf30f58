package failure

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// Series is what is remembered of failed pods of one node and revision that were deleted, one after the other (M2). The zero
// value is that of none.
type Series struct {
	// First is since when the first of them was unavailable: see [UnavailableSince].
	First time.Time
	// Deleted is how often some of them were seen to be gone.
	Deleted int32
	// Retried is when the revision came again after it was given up (F3). The deadline does not begin before, because what was
	// before was judged already; of restarts see [Series.Counts]. Zero: it was not given up.
	Retried time.Time
	// Back is when the node was Ready again that was down, where that is why the pod did not serve: see [BackSince] and
	// [StartedSince]. The deadline does not begin before. Zero: it was not down, or is not the reason.
	Back time.Time
	// Up is since when the node is Ready: see [BackSince]. Restarts of a container that ended before are the doing of what took
	// the node down, a reboot say, and do not count. Zero: it is not Ready, or does not say since when.
	Up time.Time
}

// Verdict says whether a node has failed.
type Verdict struct {
	// Failed reports whether it has.
	Failed bool
	// At is when the clock alone makes it a failed one; zero: the clock alone does not, or it has failed already.
	At time.Time
}

// Of judges a node whose pod of the update revision is not available; of one that is available see [Options.Restarting]. A
// nil pod stands for a node that has none just now, because a failed one was deleted.
func (o Options) Of(pod *corev1.Pod, series Series, now time.Time) Verdict {
	since := series.First
	if pod != nil {
		since = unavailableSince(pod, series.First)
	}
	if o.tooMany(pod, series) {
		return Verdict{Failed: true}
	}
	if since.IsZero() {
		return Verdict{}
	}
	since = later(later(since, series.Retried), series.Back)
	if at := since.Add(o.Deadline); at.After(now) {
		return Verdict{At: at}
	}
	return Verdict{Failed: true}
}

// Restarting reports whether a pod, available or not, has restarted more often than MaxRestarts allows, as far as these restarts
// count: of the series Retried and Up are asked. A pod that crashes again and again may be available in between, and its node has
// failed all the same. It is false for a pod that was updated in place, and for nil.
func (o Options) Restarting(pod *corev1.Pod, series Series) bool {
	return pod != nil && o.tooMany(pod, Series{Retried: series.Retried, Up: series.Up})
}

// Crashing says whether a pod crashes again and again although it was created, or updated in place, longer than Deadline ago: it
// is not Ready, and the last run of a container that is not ready was shorter than Deadline. Such a pod may be Ready for seconds
// between two crashes, and then its last change says nothing about for how long it has not served. Its node has not failed
// because of that alone; it only is nobody to wait for.
func (o Options) Crashing(pod *corev1.Pod, now time.Time) Verdict {
	begun := pod.CreationTimestamp.Time
	if state, err := inplace.StateOf(pod); err == nil && state != nil {
		begun = later(begun, state.UpdateTimestamp.Time)
	}
	if lifecycle.Ready(pod) || !o.crashes(pod) {
		return Verdict{}
	}
	if at := begun.Add(o.Deadline); at.After(now) {
		return Verdict{At: at}
	}
	return Verdict{Failed: true}
}

// loop is how often a container has restarted that is taken for one that goes on doing so. A kubelet that doubles its pause from
// ten seconds on takes ten minutes for it.
const loop = 6

// crashes reports whether a container that is not ready has restarted often, its last run was short, and the pod stopped to serve
// soon after it.
func (o Options) crashes(pod *corev1.Pod) bool {
	stopped := UnavailableSince(pod)
	for _, containers := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range containers {
			waiting, ended := containers[i].State.Waiting, containers[i].LastTerminationState.Terminated
			switch {
			case containers[i].Ready || containers[i].RestartCount < loop:
			case ended == nil || ended.StartedAt.IsZero(): // nobody knows how long it ran
				if waiting != nil && waiting.Reason == "CrashLoopBackOff" {
					return true
				}
			case ended.FinishedAt.Sub(ended.StartedAt.Time) < o.Deadline && ended.FinishedAt.Add(o.Deadline).After(stopped):
				return true
			}
		}
	}
	return false
}

func (o Options) tooMany(pod *corev1.Pod, series Series) bool {
	return o.MaxRestarts != nil && restarts(pod, series) > int64(*o.MaxRestarts) && (pod == nil || !updatedInPlace(pod))
}

func updatedInPlace(pod *corev1.Pod) bool {
	state, err := inplace.StateOf(pod)
	return err == nil && state != nil
}

// UnavailableSince returns since when a pod that is not available was not, as far as it says: the latest of its creation, its
// last update in place, and the instant at which it was Ready last and stopped to be. One that is Ready and not available yet
// does not say when it stopped; it counts from the instant at which it became Ready, for it was not in trouble then.
func UnavailableSince(pod *corev1.Pod) time.Time { return unavailableSince(pod, time.Time{}) }

// unavailableSince returns the same, with the beginning of the pod's series in the place of its creation; zero: it is of none.
func unavailableSince(pod *corev1.Pod, first time.Time) time.Time {
	since := pod.CreationTimestamp.Time
	if !first.IsZero() && first.Before(since) {
		since = first
	}
	if state, err := inplace.StateOf(pod); err == nil && state != nil {
		since = later(since, state.UpdateTimestamp.Time)
	}
	return later(since, turned(pod))
}

// BackSince returns since when the node is Ready; zero: it is not, or does not say since when.
func BackSince(node *corev1.Node) time.Time {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// StartedSince returns since when the node is Ready, if its kubelet had not started the pod before, as far as the two say:
// nothing of the revision ran there. Zero: it had, or there is nothing to tell.
func StartedSince(node *corev1.Node, pod *corev1.Pod) time.Time {
	back := BackSince(node)
	if start := pod.Status.StartTime; start != nil && start.Time.Before(back) {
		return time.Time{}
	}
	return back
}

// TroubleSince returns since when a pod that is not available is in trouble that its revision may be blamed for:
// [UnavailableSince], but not while its node was down and its kubelet had not started it ([StartedSince]). A nil node was not
// down.
func TroubleSince(node *corev1.Node, pod *corev1.Pod) time.Time {
	since := UnavailableSince(pod)
	if node == nil {
		return since
	}
	return later(since, StartedSince(node, pod))
}

// turned returns when the pod stopped to be Ready, or became so; zero: it never was, or has ended while it was.
func turned(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != corev1.PodReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			if lifecycle.Terminal(pod) {
				return time.Time{}
			}
			return c.LastTransitionTime.Time
		}
		// A kubelet sets the condition to False when it starts the pod, which says nothing.
		if start := pod.Status.StartTime; start == nil || !c.LastTransitionTime.After(start.Add(time.Second)) {
			return time.Time{}
		}
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// restarts is how often the container that restarted most did, of those whose restarts count, with the failed pods that were
// deleted before. It does not fit into 32 bits for numbers that only a damaged status has.
func restarts(pod *corev1.Pod, series Series) int64 {
	most := int32(0)
	if pod != nil && series.Counts(pod) {
		for _, containers := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range containers {
				if !series.isByReboot(&containers[i]) {
					most = max(most, containers[i].RestartCount)
				}
			}
		}
	}
	return int64(most) + int64(max(0, series.Deleted))
}

// isByReboot reports whether the node became Ready after the container had ended last: then it did not end by itself, as far as
// anybody knows.
func (s Series) isByReboot(status *corev1.ContainerStatus) bool {
	ended := status.LastTerminationState.Terminated
	return !s.Up.IsZero() && ended != nil && !ended.FinishedAt.After(s.Up)
}

// Counts reports whether restarts of the pod say that its node has failed. Those of a pod that is older than the retry were
// judged already, and count again when one of its containers has ended after it (F3).
func (s Series) Counts(pod *corev1.Pod) bool {
	if !pod.CreationTimestamp.Time.Before(s.Retried) {
		return true
	}
	for _, containers := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range containers {
			if ended := containers[i].LastTerminationState.Terminated; ended != nil && ended.FinishedAt.After(s.Retried) {
				return true
			}
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
