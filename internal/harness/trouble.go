package harness

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
)

// What keeps pods from coming up: nodes without room, images that cannot be pulled, containers that crash.

// dueUnscheduled is what the scheduler says of a pod for which its node has no room, once.
func dueUnscheduled(p *simulated, now time.Time) happening {
	if kubelet.ConditionStatus(p.Pod, corev1.PodScheduled) == corev1.ConditionFalse {
		return happening{}
	}
	return happening{kind: PodUnscheduled, at: now}
}

// silent reports whether the kubelet of the node does nothing.
func (c *Cluster) silent(node string) bool {
	return c.nodes[node] != nil && slices.Contains(c.behavior.Silent, node)
}

// breakNode takes the node of a pod down whose containers have started, if one of them runs an image that does that: its kubelet
// falls silent, and the pods there are not Ready any more.
func (c *Cluster) breakNode(p *simulated) {
	name := p.Spec.NodeName
	breaks := slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil && slices.Contains(c.behavior.Breaking, s.Image)
	})
	if !breaks || slices.Contains(c.behavior.Robust, name) || c.silent(name) {
		return
	}
	c.TakeDown(name, c.now)
}

// TakeDown makes the node not Ready since the given instant, and its pods as well. Its kubelet is silent from now on. It reports
// whether there is such a node.
func (c *Cluster) TakeDown(name string, since time.Time) bool {
	down := objects.NodeCondition(corev1.NodeReady, corev1.ConditionFalse, since)
	if !c.ChangeNode(name, objects.Recovered(since), objects.NotReady(), down) {
		return false
	}
	c.behavior.Silent = append(slices.Clone(c.behavior.Silent), name)
	for _, p := range c.pods {
		if p.Spec.NodeName == name && kubelet.ConditionStatus(p.Pod, corev1.PodReady) == corev1.ConditionTrue {
			changed := p.DeepCopy()
			kubelet.Unready(changed, c.now)
			c.replace(p, changed)
			p.up = false
			c.record(PodUnready, p.Pod)
		}
	}
	return true
}

// dueTrouble is what happens next to a pod that something keeps from coming up; false if nothing does.
func (c *Cluster) dueTrouble(p *simulated, hash string) (happening, bool) {
	waits, reason := kubelet.WaitingFor(p.Pod), c.behavior.Waiting[hash]
	starts := c.after(p.since, c.delay(p, c.behavior.Start, defaultStart))
	switch {
	case waits == kubelet.ContainerCreating && c.behavior.Create < 0:
		return happening{}, true
	case reason != "" && kubelet.YetToStart(p.Pod):
		if waits == kubelet.ContainerCreating && c.behavior.Create > 0 {
			starts = c.after(p.since, c.delay(p, c.behavior.Create, 0))
		}
		switch {
		case waits == reason && reason == kubelet.ErrImagePull:
			return happening{kind: ContainerWaiting, at: c.after(p.since, kubelet.PullBackOff)}, true
		case waits == reason, waits == kubelet.ImagePullBackOff && reason == kubelet.ErrImagePull:
			return happening{}, true
		default:
			return happening{kind: ContainerWaiting, at: starts}, true
		}
	case waits == kubelet.ContainerCreating && c.behavior.Create > 0:
		return happening{kind: ContainersCreated, at: c.after(p.since, c.delay(p, c.behavior.Create, 0))}, true
	case slices.Contains(c.behavior.Crashing, hash):
		if c.restarts(p) {
			return happening{}, true // what is to crash is not started yet
		}
		restarts := kubelet.Restarts(p.Pod)
		if c.behavior.Crashes > 0 && int(restarts) >= c.behavior.Crashes {
			return happening{}, false
		}
		again := c.delay(p, c.behavior.Start, defaultStart) + kubelet.BackOff(restarts)
		return happening{kind: ContainerCrashed, at: c.after(p.since, again)}, true
	}
	return happening{}, false
}

// wait lets the pod's containers wait for the next reason that its revision has.
func (c *Cluster) wait(p *simulated) {
	changed := p.DeepCopy()
	reason := c.behavior.Waiting[objects.RevisionOf(p.Pod)]
	if reason == kubelet.ErrImagePull && kubelet.WaitingFor(p.Pod) == kubelet.ErrImagePull {
		reason = kubelet.ImagePullBackOff
	}
	kubelet.SetWaiting(changed, reason)
	kubelet.Unready(changed, c.now)
	c.replace(p, changed)
	p.since = c.now
	c.recordDetail(ContainerWaiting, p.Pod, reason)
}

// crash ends the pod's first container, for the kubelet to start it again.
func (c *Cluster) crash(p *simulated) {
	if len(p.Spec.Containers) == 0 {
		return
	}
	changed := p.DeepCopy()
	if !kubelet.HasRun(changed, 0) {
		p.running[0] = kubelet.StartContainer(changed, 0, c.behavior.SameID, c.now)
	}
	kubelet.Crash(changed, 0, 1, "Error", c.now)
	c.replace(p, changed)
	p.up, p.since = false, c.now
	c.recordDetail(ContainerCrashed, p.Pod, changed.Spec.Containers[0].Name)
}
