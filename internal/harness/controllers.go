package harness

import "github.com/daemonplan/daemonplan/internal/kubelet"

// The controllers that users run beside the planner: they see to the hooks of the spec in force (L1), take back what
// others have to say about a pod's readiness, and take finalizers off what is terminating.

// dueHook says when they do something about the pod.
func (c *Cluster) dueHook(p *simulated) happening {
	if c.behavior.Hook < 0 {
		return happening{}
	}
	asked, takeOff := kubelet.Asked(p.Pod, c.spec.Lifecycle)
	if !asked {
		return happening{}
	}
	kind := PodHooked
	if takeOff {
		kind = PodReleased
	}
	return happening{kind: kind, at: c.after(p.asked, c.delay(p, c.behavior.Hook, defaultHook))}
}

// seeTo does what the pod asks of its controllers.
func (c *Cluster) seeTo(p *simulated, kind EventKind) {
	changed := p.DeepCopy()
	done := kubelet.SeeTo(changed, c.spec.Lifecycle, c.now)
	c.replace(p, changed)
	c.recordDetail(kind, p.Pod, done)
}
