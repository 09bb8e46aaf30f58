package rollouttest

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// simulated is one pod of a cluster. Its object is replaced, never written to.
type simulated struct {
	*corev1.Pod
	// since is when the pod came into the condition from which the next delay counts: appeared, was bound, was
	// marked.
	since time.Time
}

// Tick lets the given time pass. Everything that falls due happens at its own instant, in order; of what falls due
// at one instant, older pods come first. Then, with a lagging watch, the next older state becomes visible. A negative
// duration counts as 0.
func (c *Cluster) Tick(d time.Duration) {
	end := c.now.Add(max(d, 0))
	for {
		p, kind, due := c.next()
		if p == nil || due.After(end) {
			break
		}
		c.now = due
		c.happen(p, kind)
	}
	c.now = end
	c.show()
}

// Next is the earliest instant at which the cluster changes by itself; zero if nothing is under way. It is never
// before Now.
func (c *Cluster) Next() time.Time {
	_, _, due := c.next()
	return due
}

func (c *Cluster) next() (pod *simulated, kind EventKind, at time.Time) {
	for _, p := range c.pods {
		k, due := c.due(p)
		if !due.IsZero() && (at.IsZero() || due.Before(at)) {
			pod, kind, at = p, k, due
		}
	}
	return pod, kind, at
}

// due says what happens to the pod next and when; zero: nothing.
func (c *Cluster) due(p *simulated) (EventKind, time.Time) {
	// An event that was due while a node or a spec was still another one happens now, not in the past.
	at := func(delay time.Duration) time.Time {
		if due := p.since.Add(delay); due.After(c.now) {
			return due
		}
		return c.now
	}
	node, ok := placement.TargetNode(p.Pod)
	switch exists := ok && c.nodes[node] != nil; {
	case p.Spec.NodeName == "" && p.DeletionTimestamp != nil:
		return PodGone, at(0)
	case p.Spec.NodeName != "" && !exists:
		return PodCollected, at(defaultStop)
	case p.DeletionTimestamp != nil:
		return PodGone, at(c.delay(p, c.behavior.Stop, defaultStop))
	case lifecycle.Terminal(p.Pod) || !exists:
		return 0, time.Time{}
	case p.Spec.NodeName == "":
		if !fits(p.Pod, c.nodes[node]) {
			return 0, time.Time{}
		}
		return PodBound, at(0)
	}
	hash := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	start := at(c.delay(p, c.behavior.Start, defaultStart))
	switch {
	case slices.Contains(c.behavior.Failing, hash):
		return PodFailed, start
	case slices.Contains(c.behavior.NeverReady, hash) || settledReady(p.Pod):
		return 0, time.Time{}
	default:
		return PodReady, start
	}
}

// fits is what the scheduler asks: the pod's own selector, affinity and tolerations against the node.
func fits(p *corev1.Pod, node *corev1.Node) bool {
	matcher, err := placement.Compile(&corev1.PodTemplateSpec{Spec: p.Spec})
	return err == nil && matcher.Evaluate(node).Outcome == placement.Run
}

// settledReady tells whether a kubelet has nothing to report about a running pod: it is Ready, and says since when.
func settledReady(p *corev1.Pod) bool {
	ready := false
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			ready = c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero()
		}
	}
	return ready && lifecycle.Ready(p) && p.Status.Phase == corev1.PodRunning
}

// delay is the configured one, or the default, longer by what the jitter says for this pod.
func (c *Cluster) delay(p *simulated, configured, otherwise time.Duration) time.Duration {
	if configured <= 0 {
		configured = otherwise
	}
	if c.behavior.Jitter == 0 {
		return configured
	}
	h := fnv.New64a()
	// Writing to a hash never fails.
	_, _ = h.Write([]byte(string(p.UID) + strconv.FormatUint(c.behavior.Jitter, 10)))
	return configured + configured*time.Duration(h.Sum64()%4)
}

// happen lets one event of a pod take place now.
func (c *Cluster) happen(p *simulated, kind EventKind) {
	p.since = c.now
	switch kind {
	case PodGone, PodCollected:
		c.remove(p)
	default:
		changed := p.DeepCopy()
		switch kind {
		case PodBound:
			changed.Spec.NodeName, _ = placement.TargetNode(p.Pod)
			setCondition(changed, corev1.PodScheduled, corev1.ConditionTrue, c.now)
		case PodFailed:
			changed.Status.Phase = corev1.PodFailed
			setCondition(changed, corev1.PodReady, corev1.ConditionFalse, c.now)
		default:
			Ready(c.now)(changed)
			setInPlaceReady(changed, c.now)
		}
		p.Pod = changed
	}
	c.record(kind, p.Pod)
}

// setInPlaceReady completes an in-place update that is under way.
func setInPlaceReady(p *corev1.Pod, now time.Time) {
	for _, c := range p.Status.Conditions {
		if c.Type == lifecycle.InPlaceUpdateReady && c.Status != corev1.ConditionTrue {
			setCondition(p, lifecycle.InPlaceUpdateReady, corev1.ConditionTrue, now)
			return
		}
	}
}
