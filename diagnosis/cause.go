package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// Cause is why a pod does not serve. The zero value is that of a pod that does.
type Cause struct {
	// Reason is one word, as objects have it: CrashLoopBackOff, ImagePullBackOff, ContainerCreating, Unschedulable, Evicted; and
	// where no object has a word for it, one of the constants of this package.
	Reason string
	// Container is the one in the way; "" if it is none.
	Container string
	// Message is what the object says beside the word: that of the scheduler, of a pull, of the node's condition; "" if it says
	// nothing.
	Message string
	// Last is how the container ended last: the word that the kubelet has for it, such as OOMKilled; "" if it did not end, or
	// none is known. ExitCode is its exit code then.
	Last     string
	ExitCode int32
	// Ended reports whether the container has ended, so that ExitCode means something.
	Ended bool
	// Restarts of the container; negative counts of a damaged status are 0.
	Restarts int32
	// Finalizers are what holds a pod that should be gone.
	Finalizers []string
	// Gate is the readiness gate that is not open; "" if it is something else.
	Gate corev1.PodConditionType
	// Since is since when it is so, as far as the objects tell: of a pod that is terminating, since its deletion was asked for;
	// zero: they do not.
	Since time.Time
}

// The reasons for which objects have no word.
const (
	// Terminating is a pod that is marked for deletion, within its grace period.
	Terminating = "Terminating"
	// DeletionOverdue is a pod that should be gone by now: its finalizers hold it, or its kubelet does not answer.
	DeletionOverdue = "DeletionOverdue"
	// NodeNotReady is a pod whose node is not Ready.
	NodeNotReady = "NodeNotReady"
	// NotScheduled is a pod that the scheduler has not looked at yet.
	NotScheduled = "NotScheduled"
	// GateClosed is a pod of which a readiness gate is not open, with the word that the kubelet has for it.
	GateClosed = "ReadinessGatesNotReady"
	// NotReady is a pod of which nothing else is known but that it is not Ready.
	NotReady = "NotReady"
	// Crashed is a container that has ended and waits for nothing, with no word of the kubelet for it.
	Crashed = "Crashed"
)

// Of returns why a pod on a node does not serve at that time. found is false if it does: it is Ready, and nobody deletes it. A
// nil pod does not serve, and nothing is known of it. A nil node is one that is not known.
//
// What says most comes first: a deletion, a node that is down, a pod that has ended, the scheduler, init containers, containers
// that cannot start or crash, containers that are about to start, the readiness probe, readiness gates.
func Of(pod *corev1.Pod, node *corev1.Node, now time.Time) (cause Cause, found bool) {
	switch {
	case pod == nil:
		return Cause{}, false
	case pod.DeletionTimestamp != nil:
		return deletion(pod, node, now), true
	}
	if down, isDown := nodeDown(node); isDown && pod.Spec.NodeName != "" {
		return down, true
	}
	if lifecycle.Ready(pod) && !lifecycle.Terminal(pod) {
		return Cause{}, false
	}
	cause = notReady(pod)
	if cause.Since.IsZero() {
		cause.Since = since(pod)
	}
	return cause, true
}

func deletion(pod *corev1.Pod, node *corev1.Node, now time.Time) Cause {
	if now.Before(pod.DeletionTimestamp.Time) {
		asked := pod.DeletionTimestamp.Time
		if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace > 0 {
			asked = asked.Add(-time.Duration(min(*grace, maxGraceSeconds)) * time.Second)
		}
		return Cause{Reason: Terminating, Since: asked}
	}
	cause := Cause{Reason: DeletionOverdue, Since: pod.DeletionTimestamp.Time, Finalizers: slices.Clone(pod.Finalizers)}
	if down, isDown := nodeDown(node); isDown && len(cause.Finalizers) == 0 {
		cause.Message = down.String()
	}
	return cause
}

// maxGraceSeconds is more than any grace period, and keeps a duration from overflowing.
const maxGraceSeconds = 1 << 32

// nodeDown says what the node's condition Ready says, if it is not True.
func nodeDown(node *corev1.Node) (cause Cause, down bool) {
	if node == nil {
		return Cause{}, false
	}
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return Cause{Reason: NodeNotReady, Message: joined(c.Reason, c.Message), Since: c.LastTransitionTime.Time}, true
		}
	}
	return Cause{}, false
}

func notReady(pod *corev1.Pod) Cause {
	if lifecycle.Terminal(pod) {
		cause := Cause{Reason: cmp.Or(pod.Status.Reason, string(pod.Status.Phase)), Message: pod.Status.Message}
		if at := worst(pod, func(s *corev1.ContainerStatus) bool {
			return s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
		}); at != nil {
			cause.Container = at.Name
			cause.ended(at)
		}
		return cause
	}
	scheduled := condition(pod, corev1.PodScheduled)
	if scheduled != nil && scheduled.Status == corev1.ConditionFalse {
		return Cause{
			Reason: cmp.Or(scheduled.Reason, NotScheduled), Message: scheduled.Message, Since: scheduled.LastTransitionTime.Time,
		}
	}
	if s := worst(pod, troubled); s != nil {
		return ofContainer(s)
	}
	if pod.Status.Reason != "" {
		return Cause{Reason: pod.Status.Reason, Message: pod.Status.Message}
	}
	if s := worst(pod, func(s *corev1.ContainerStatus) bool { return s.State.Waiting != nil }); s != nil {
		return ofContainer(s)
	}
	ready := condition(pod, corev1.PodReady)
	if s := worst(pod, func(s *corev1.ContainerStatus) bool { return s.State.Running != nil && !s.Ready }); s != nil {
		cause := ofContainer(s)
		if ready != nil {
			cause.Reason, cause.Message = cmp.Or(ready.Reason, NotReady), ready.Message
		}
		return cause
	}
	if gate := closedGate(pod); gate != "" {
		return Cause{Reason: GateClosed, Gate: gate, Message: "readiness gate " + string(gate) + " is not True"}
	}
	switch {
	case ready != nil && ready.Status != corev1.ConditionTrue && ready.Reason != "":
		return Cause{Reason: ready.Reason, Message: ready.Message}
	case pod.Spec.NodeName == "":
		return Cause{Reason: NotScheduled}
	default:
		return Cause{Reason: NotReady}
	}
}

// troubled reports whether a container cannot start, or has ended although it is to run.
func troubled(s *corev1.ContainerStatus) bool {
	switch {
	case s.State.Waiting != nil:
		return !isStarting(s.State.Waiting.Reason) || s.LastTerminationState.Terminated != nil && s.RestartCount > 0
	case s.State.Terminated != nil:
		return s.State.Terminated.ExitCode != 0
	default:
		return false
	}
}

// isStarting reports whether a container waits for what every container waits for.
func isStarting(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

// worst returns the first container of which something is so: init containers first, because the others wait for them.
func worst(pod *corev1.Pod, is func(*corev1.ContainerStatus) bool) *corev1.ContainerStatus {
	for _, statuses := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if is(&statuses[i]) {
				return &statuses[i]
			}
		}
	}
	return nil
}

func ofContainer(s *corev1.ContainerStatus) Cause {
	cause := Cause{Reason: NotReady, Container: s.Name, Restarts: max(0, s.RestartCount)}
	switch {
	case s.State.Waiting != nil:
		cause.Reason, cause.Message = cmp.Or(s.State.Waiting.Reason, "ContainerCreating"), s.State.Waiting.Message
		if strings.Contains(cause.Reason, "Image") && s.Image != "" && !strings.Contains(cause.Message, s.Image) {
			cause.Message = joined(cause.Message, "image "+s.Image)
		}
	case s.State.Terminated != nil:
		cause.Reason, cause.Message = Crashed, s.State.Terminated.Message
	}
	cause.ended(s)
	return cause
}

// ended notes how the container ended last.
func (c *Cause) ended(s *corev1.ContainerStatus) {
	last := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
	if last != nil {
		c.Last, c.ExitCode, c.Ended = last.Reason, last.ExitCode, true
	}
	c.Restarts = max(0, s.RestartCount)
}

// closedGate returns the first readiness gate of the pod that is not open; "" if all are.
func closedGate(pod *corev1.Pod) corev1.PodConditionType {
	for _, gate := range pod.Spec.ReadinessGates {
		if c := condition(pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			return gate.ConditionType
		}
	}
	return ""
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// since returns since when the pod is not Ready, by its condition, else its creation.
func since(pod *corev1.Pod) time.Time {
	if c := condition(pod, corev1.PodReady); c != nil && c.Status != corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	return pod.CreationTimestamp.Time
}

// Ordinary reports whether the cause is what every pod goes through: it is scheduled, its containers are created, start and
// become ready, or it terminates within its grace period.
func (c Cause) Ordinary() bool {
	if c.Ended || c.Restarts > 0 {
		return false
	}
	switch c.Reason {
	case "", NotReady, NotScheduled, Terminating, "ContainerCreating", "PodInitializing", "ContainersNotReady",
		"ContainersNotInitialized", GateClosed:
		return true
	default:
		return false
	}
}

// Brief is String without what differs from pod to pod or changes again and again, such as restarts, so that pods with one cause
// are one group.
func (c Cause) Brief() string {
	c.Restarts = 0
	return c.String()
}

// String returns the cause in words, without since when: "container main: CrashLoopBackOff, last OOMKilled with exit code 137, 33
// restarts". It is empty for the zero value.
func (c Cause) String() string {
	if c.Reason == "" {
		return ""
	}
	var b strings.Builder
	switch {
	case c.Container != "" && c.Reason == NotReady:
		b.WriteString("container " + c.Container + " runs, and is not ready")
	case c.Container != "":
		b.WriteString("container " + c.Container + ": " + c.Reason)
	case c.Reason == DeletionOverdue:
		b.WriteString("its deletion is overdue")
	case c.Reason == NodeNotReady:
		b.WriteString("the node is not Ready")
	case c.Reason == NotScheduled:
		b.WriteString("it is not scheduled yet")
	case c.Reason == NotReady && c.Message == "":
		b.WriteString("it is not Ready, and nothing says why")
	default:
		b.WriteString(c.Reason)
	}
	if c.Message != "" {
		b.WriteString(": " + strings.TrimSuffix(c.Message, "."))
	}
	if len(c.Finalizers) > 0 {
		b.WriteString(", held by finalizer " + strings.Join(c.Finalizers, ", "))
	}
	if c.Ended {
		last := "last"
		if c.Last != "" {
			last = "last " + c.Last + " with"
		}
		fmt.Fprintf(&b, ", %s exit code %d", last, c.ExitCode)
	}
	switch {
	case c.Restarts == 1:
		b.WriteString(", 1 restart")
	case c.Restarts > 1:
		fmt.Fprintf(&b, ", %d restarts", c.Restarts)
	}
	return b.String()
}

func joined(words ...string) string {
	return strings.TrimSuffix(strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ": "), ".")
}
