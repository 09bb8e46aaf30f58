package harness

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// dueContainer is what a kubelet does about containers that are not what the pod says they should be.
func (c *Cluster) dueContainer(p *simulated) happening {
	if p.Spec.NodeName == "" || p.DeletionTimestamp != nil || lifecycle.Terminal(p.Pod) ||
		c.nodes[p.Spec.NodeName] == nil || !kubelet.HasGate(p.Pod, lifecycle.InPlaceUpdateReady) {
		return happening{}
	}
	var first happening
	for i := range kubelet.Count(p.Pod) {
		if c.restartsContainer(p, i) {
			h := happening{kind: ContainerRestarted, container: i}
			h.at = c.when(p, c.behavior.Restart, defaultRestart)
			if h.before(first) {
				first = h
			}
		}
		if changed := kubelet.Resized(p.Pod, i); len(changed) > 0 {
			h := happening{kind: ContainerResized, container: i}
			if kubelet.RestartsFor(kubelet.Container(p.Pod, i), changed) {
				h.kind = ContainerRestarted
			}
			h.at = c.when(p, c.behavior.Resize, defaultResize)
			if h.before(first) {
				first = h
			}
		}
	}
	return first
}

// when is the instant at which a kubelet acts on a change of the pod; zero: never.
func (c *Cluster) when(p *simulated, configured, otherwise time.Duration) time.Time {
	if configured < 0 {
		return time.Time{}
	}
	return c.after(p.changed, c.delay(p, configured, otherwise))
}

// restarts reports whether any container is to become another one.
func (c *Cluster) restarts(p *simulated) bool {
	for i := range kubelet.Count(p.Pod) {
		if c.restartsContainer(p, i) {
			return true
		}
	}
	return false
}

func (c *Cluster) restartsContainer(p *simulated, i int) bool {
	container := kubelet.Container(p.Pod, i)
	if !p.up && !kubelet.HasRun(p.Pod, i) || slices.Contains(c.behavior.Stuck, container.Image) {
		return false
	}
	return kubelet.Outdated(p.Pod, i, p.running[i], c.spec.Strategy.InPlace.EnvFromMetadata)
}

// moveContainer restarts or resizes a container.
func (c *Cluster) moveContainer(p *simulated, i int, kind EventKind) {
	changed := p.DeepCopy()
	if kind == ContainerRestarted {
		if reason := c.behavior.Waiting[objects.RevisionOf(p.Pod)]; reason != "" {
			p.running[i] = kubelet.HoldUpContainer(changed, i, reason, c.behavior.SameID, c.now)
		} else {
			p.running[i] = kubelet.RestartContainer(changed, i, c.behavior.SameID, c.now)
		}
		p.up, p.since = false, c.now
	} else {
		kubelet.ResizeContainer(changed, i)
	}
	c.replace(p, changed)
	c.recordDetail(kind, p.Pod, kubelet.Container(changed, i).Name)
	if kind == ContainerRestarted {
		c.breakNode(p)
	}
}

// startContainers makes all containers ready, and starts those that have not run yet.
func (c *Cluster) startContainers(p *simulated, changed *corev1.Pod) {
	kubelet.StartContainers(changed, p.running, c.behavior.SameID, c.now)
	p.up = true
}
