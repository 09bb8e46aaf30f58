package harness

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// What befalls a cluster beside plans: its machines, its pods, and who administers them.

// SetBehavior lets the cluster behave in another way from now on: an image that can be pulled again, a node that is full.
// What is due at another instant now happens then, and at once if that has passed.
func (c *Cluster) SetBehavior(behavior Behavior) { c.behavior = behavior }

// Behavior is how the cluster behaves now.
func (c *Cluster) Behavior() Behavior { return c.behavior }

// ChangeNode applies the options to the node: it is cordoned, labelled, gets an annotation that overrides resources. It
// reports whether there is such a node.
func (c *Cluster) ChangeNode(name string, options ...func(*corev1.Node)) bool {
	node := c.nodes[name]
	if node == nil {
		return false
	}
	node = node.DeepCopy()
	for _, option := range options {
		option(node)
	}
	c.nodes[name] = node
	return true
}

// Drain cordons the node and marks all pods there for deletion, as an administrator does who does not leave daemon pods
// out. It reports whether there is such a node.
func (c *Cluster) Drain(name string) bool {
	if !c.ChangeNode(name, objects.Uncordoned(), objects.Cordoned()) {
		return false
	}
	for _, p := range slices.Clone(c.pods) {
		if p.Spec.NodeName != name || p.DeletionTimestamp != nil {
			continue
		}
		c.mark(p)
		c.record(PodDrained, p.Pod)
	}
	return true
}

// notice lets the kubelet of a node that was silent start the pods that were bound in the meantime.
func (c *Cluster) notice(node string) {
	for _, p := range c.pods {
		if p.Spec.NodeName == node && p.unnoticed {
			changed := p.DeepCopy()
			kubelet.Notice(changed, c.now)
			c.replace(p, changed)
			p.unnoticed = false
		}
	}
}

// Evict lets the pod of that name fail, as a kubelet does whose node is short of something. It reports whether there is such
// a pod that runs.
func (c *Cluster) Evict(pod string) bool {
	p := c.running(pod)
	if p == nil {
		return false
	}
	failed := p.DeepCopy()
	kubelet.Evict(failed, c.now)
	c.replace(p, failed)
	p.up, p.since = false, c.now
	c.recordDetail(PodFailed, p.Pod, kubelet.ReasonEvicted)
	return true
}

// Crash ends the first container of the pod of that name, once: its kubelet starts it again after [Behavior].Start. It
// reports whether there is such a pod that runs.
func (c *Cluster) Crash(pod string) bool {
	p := c.running(pod)
	if p == nil {
		return false
	}
	c.crash(p)
	return true
}

// running is the pod of that name, if it is on its node and neither finished nor on its way out.
func (c *Cluster) running(pod string) *simulated {
	i := slices.IndexFunc(c.pods, func(p *simulated) bool {
		return p.Name == pod && p.Spec.NodeName != "" && p.DeletionTimestamp == nil && !lifecycle.Terminal(p.Pod)
	})
	if i < 0 {
		return nil
	}
	return c.pods[i]
}

// PodsOn are the pods that the cluster has on the node now, in order of appearance, however far a watch is behind.
func (c *Cluster) PodsOn(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range c.pods {
		if on, ok := placement.TargetNode(p.Pod); ok && on == node {
			pods = append(pods, p.Pod)
		}
	}
	return pods
}
