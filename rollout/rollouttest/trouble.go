package rollouttest

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What keeps pods from coming up: nodes without room, images that cannot be pulled, containers that crash.

// Reasons for which kubelets let containers wait.
const (
	containerCreating = "ContainerCreating"
	errImagePull      = "ErrImagePull"
	imagePullBackOff  = "ImagePullBackOff"
	crashLoopBackOff  = "CrashLoopBackOff"
)

// The delays of a kubelet before it tries again.
const (
	pullBackOff     = 15 * time.Second
	crashBackOff    = 10 * time.Second
	maxCrashBackOff = 5 * time.Minute
)

// dueUnscheduled is what the scheduler says of a pod for which its node has no room, once.
func dueUnscheduled(p *simulated, now time.Time) happening {
	if conditionStatus(p.Pod, corev1.PodScheduled) == corev1.ConditionFalse {
		return happening{}
	}
	return happening{kind: PodUnscheduled, at: now}
}

func setUnscheduled(p *corev1.Pod, now time.Time) {
	setCondition(p, corev1.PodScheduled, corev1.ConditionFalse, now)
	p.Status.Conditions[len(p.Status.Conditions)-1].Reason = corev1.PodReasonUnschedulable
}

// silent tells whether the kubelet of the node does nothing.
func (c *Cluster) silent(node string) bool {
	return c.nodes[node] != nil && slices.Contains(c.behavior.Silent, node)
}

// dueTrouble is what happens next to a pod that something keeps from coming up; false if nothing does.
func (c *Cluster) dueTrouble(p *simulated, hash string) (happening, bool) {
	waits, reason := waitingFor(p.Pod), c.behavior.Waiting[hash]
	starts := c.after(p.since, c.delay(p, c.behavior.Start, defaultStart))
	switch {
	case waits == containerCreating && c.behavior.Create < 0:
		return happening{}, true
	case reason != "" && yetToStart(p.Pod):
		if waits == containerCreating && c.behavior.Create > 0 {
			starts = c.after(p.since, c.delay(p, c.behavior.Create, 0))
		}
		switch {
		case waits == reason && reason == errImagePull:
			return happening{kind: ContainerWaiting, at: c.after(p.since, pullBackOff)}, true
		case waits == reason, waits == imagePullBackOff && reason == errImagePull:
			return happening{}, true
		default:
			return happening{kind: ContainerWaiting, at: starts}, true
		}
	case waits == containerCreating && c.behavior.Create > 0:
		return happening{kind: ContainersCreated, at: c.after(p.since, c.delay(p, c.behavior.Create, 0))}, true
	case slices.Contains(c.behavior.Crashing, hash):
		if c.restarts(p) {
			return happening{}, true // what is to crash is not started yet
		}
		restarts := restartsOf(p.Pod)
		if c.behavior.Crashes > 0 && int(restarts) >= c.behavior.Crashes {
			return happening{}, false
		}
		again := c.delay(p, c.behavior.Start, defaultStart) + backOffAfter(restarts)
		return happening{kind: ContainerCrashed, at: c.after(p.since, again)}, true
	}
	return happening{}, false
}

// yetToStart tells whether the pod's first container has yet to start, or to start again.
func yetToStart(p *corev1.Pod) bool {
	if settledReady(p) || len(p.Spec.Containers) == 0 {
		return false
	}
	status := statusOf(p, p.Spec.Containers[0].Name)
	return status == nil || status.State.Waiting != nil
}

// backOffAfter is how long a kubelet waits before it starts a container that has ended so many times.
func backOffAfter(restarts int32) time.Duration {
	if restarts == 0 {
		return 0
	}
	delay := crashBackOff
	for range restarts - 1 {
		if delay = 2 * delay; delay >= maxCrashBackOff {
			return maxCrashBackOff
		}
	}
	return delay
}

// waitingFor is the reason for which the first container that waits does; empty if none waits.
func waitingFor(p *corev1.Pod) string {
	for i := range p.Status.ContainerStatuses {
		if waiting := p.Status.ContainerStatuses[i].State.Waiting; waiting != nil {
			return waiting.Reason
		}
	}
	return ""
}

// restartsOf is how often the first container has restarted.
func restartsOf(p *corev1.Pod) int32 {
	if len(p.Spec.Containers) == 0 {
		return 0
	}
	if status := statusOf(p, p.Spec.Containers[0].Name); status != nil {
		return status.RestartCount
	}
	return 0
}

// unstarted tells whether a container has never run.
func unstarted(status *corev1.ContainerStatus) bool {
	return status == nil || status.State.Waiting != nil && status.ContainerID == ""
}

// beginCreating is what a kubelet reports of a pod that was bound to its node just now.
func (c *Cluster) beginCreating(p *corev1.Pod) {
	p.Status.StartTime = new(metav1.NewTime(c.now))
	if c.behavior.Create == 0 {
		return
	}
	setWaiting(p, containerCreating)
}

// setWaiting lets all containers wait for one reason.
func setWaiting(p *corev1.Pod, reason string) {
	statuses := make([]corev1.ContainerStatus, 0, len(p.Spec.Containers))
	for i := range p.Spec.Containers {
		status := corev1.ContainerStatus{Name: p.Spec.Containers[i].Name, Image: p.Spec.Containers[i].Image}
		if known := statusOf(p, status.Name); known != nil {
			status = *known
		}
		status.Ready, status.Started = false, new(false)
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		statuses = append(statuses, status)
	}
	p.Status.ContainerStatuses = statuses
}

// createContainers starts all containers; they are not ready yet.
func (c *Cluster) createContainers(p *simulated, changed *corev1.Pod) {
	changed.Status.Phase = corev1.PodRunning
	for i := range changed.Spec.Containers {
		c.startContainer(p, changed, i)
	}
	setCondition(changed, corev1.PodReady, corev1.ConditionFalse, c.now)
}

// wait lets the pod's containers wait for the next reason that its revision has.
func (c *Cluster) wait(p *simulated) {
	changed := p.DeepCopy()
	reason := c.behavior.Waiting[p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]
	if reason == errImagePull && waitingFor(p.Pod) == errImagePull {
		reason = imagePullBackOff
	}
	setWaiting(changed, reason)
	setCondition(changed, corev1.PodReady, corev1.ConditionFalse, c.now)
	c.replace(p, changed)
	p.since = c.now
	c.recordDetail(ContainerWaiting, p.Pod, reason)
}

// holdUp lets a container that ended for an update in place wait instead of starting again. It reports what it ran before.
func (c *Cluster) holdUp(p *simulated, changed *corev1.Pod, i int, reason string) {
	container := &changed.Spec.Containers[i]
	c.startContainer(p, changed, i)
	if was := statusOf(p.Pod, container.Name); was != nil {
		status := statusOf(changed, container.Name)
		status.Image, status.ImageID, status.ContainerID = was.Image, was.ImageID, was.ContainerID
		status.Started = new(false)
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
}

// crash ends the pod's first container, for the kubelet to start it again.
func (c *Cluster) crash(p *simulated) {
	if len(p.Spec.Containers) == 0 {
		return
	}
	changed := p.DeepCopy()
	container := &changed.Spec.Containers[0]
	if unstarted(statusOf(changed, container.Name)) {
		c.startContainer(p, changed, 0)
	}
	status := statusOf(changed, container.Name)
	status.RestartCount++
	status.Ready, status.Started = false, new(false)
	status.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(c.now), ContainerID: status.ContainerID,
	}}
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashLoopBackOff}}
	changed.Status.Phase = corev1.PodRunning
	setCondition(changed, corev1.PodReady, corev1.ConditionFalse, c.now)
	c.replace(p, changed)
	p.up, p.since = false, c.now
	c.recordDetail(ContainerCrashed, p.Pod, container.Name)
}
