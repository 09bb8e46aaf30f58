package harness

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// simulated is one pod of a cluster. Its object is replaced, never written to.
type simulated struct {
	*corev1.Pod
	// since is when the pod came into the condition from which the next delay counts: appeared, was bound, was
	// marked, had a container restarted.
	since time.Time
	// changed is when what its containers are to run was changed last, asked when its hooks were given something to do.
	changed, asked time.Time
	// unnoticed: the pod was bound while the kubelet of its node was silent.
	unnoticed bool
	// up: all containers are ready; whether the pod is Ready is then up to its readiness gates.
	up bool
	// running is what the containers were made from, in their order.
	running []kubelet.Running
}

// newSimulated takes the pod as it is.
func (c *Cluster) newSimulated(pod *corev1.Pod) *simulated {
	p := &simulated{Pod: pod, since: c.now, changed: c.now, asked: c.now}
	p.up = len(pod.Spec.ReadinessGates) > 0 &&
		(kubelet.ConditionStatus(pod, corev1.PodReady) == corev1.ConditionTrue || kubelet.ContainersReady(pod))
	for i := range kubelet.Count(pod) {
		p.running = append(p.running, kubelet.RunningIn(pod, i))
	}
	return p
}

// replace puts another state of the pod in the place of its present one.
func (c *Cluster) replace(p *simulated, pod *corev1.Pod) {
	if lifecycle.StateOf(pod) != lifecycle.StateOf(p.Pod) || (pod.DeletionTimestamp == nil) != (p.DeletionTimestamp == nil) {
		p.asked = c.now
	}
	pod.ResourceVersion = c.nextVersion()
	p.Pod = pod
}

// happening is what falls due next.
type happening struct {
	at   time.Time
	kind EventKind
	pod  *simulated // nil: it is about pull
	pull *pull
	// container is the ordinal of the container that restarts or is resized.
	container int
}

// before reports whether h comes before another, which may be none.
func (h happening) before(other happening) bool {
	return !h.at.IsZero() && (other.at.IsZero() || h.at.Before(other.at))
}

// Tick lets the given time pass. Everything that falls due happens at its own instant, in order; of what falls due
// at one instant, older pods come first, pulls of images last. Then, with a lagging watch, the next older state becomes
// visible. A negative duration counts as 0.
func (c *Cluster) Tick(d time.Duration) {
	end := c.now.Add(max(d, 0))
	for {
		h := c.next()
		if h.at.IsZero() || h.at.After(end) {
			break
		}
		c.now = h.at
		c.happen(h)
	}
	c.now = end
	c.show()
}

// Next is the earliest instant at which the cluster changes by itself; zero if nothing is under way. It is never
// before Now.
func (c *Cluster) Next() time.Time { return c.next().at }

func (c *Cluster) next() happening {
	var first happening
	for _, p := range c.pods {
		if h := c.due(p); h.before(first) {
			h.pod = p
			first = h
		}
	}
	for _, p := range c.pulls {
		if h := c.pullEnds(p); h.before(first) {
			first = h
		}
	}
	return first
}

// after is the instant that lies the delay after since. What was due while a node or a spec was still another one
// happens now, not in the past.
func (c *Cluster) after(since time.Time, delay time.Duration) time.Time {
	if due := since.Add(delay); due.After(c.now) {
		return due
	}
	return c.now
}

func (c *Cluster) delay(p *simulated, configured, otherwise time.Duration) time.Duration {
	return c.behavior.delay(string(p.UID), configured, otherwise)
}

// due says what happens to the pod next; nothing if it has no instant.
func (c *Cluster) due(p *simulated) happening {
	var first happening
	if c.silent(p.Spec.NodeName) {
		return c.dueHook(p)
	}
	for _, h := range [...]happening{c.dueContainer(p), c.duePod(p), c.dueHook(p)} {
		if h.before(first) {
			first = h
		}
	}
	return first
}

// duePod is what scheduler, kubelet and pod garbage collector do about the pod as a whole.
func (c *Cluster) duePod(p *simulated) happening {
	node, ok := placement.TargetNode(p.Pod)
	exists := ok && c.nodes[node] != nil
	bound, marked := p.Spec.NodeName != "", p.DeletionTimestamp != nil
	switch {
	case marked && len(p.Finalizers) > 0:
		return happening{}
	case !bound && marked:
		return happening{kind: PodGone, at: c.now}
	case bound && !exists:
		return happening{kind: PodCollected, at: c.after(p.since, defaultStop)}
	case marked:
		return happening{kind: PodGone, at: c.after(p.since, c.delay(p, c.behavior.Stop, defaultStop))}
	case lifecycle.Terminal(p.Pod) || !exists:
		return happening{}
	case bound:
		return c.dueReadiness(p)
	case !fits(p.Pod, c.nodes[node]):
		return happening{}
	case slices.Contains(c.behavior.Full, node), c.excluded(p) != "":
		return dueUnscheduled(p, c.now)
	}
	return happening{kind: PodBound, at: c.now}
}

// dueReadiness is what a kubelet reports of a bound pod: Ready if all containers are ready and all readiness gates are
// open.
func (c *Cluster) dueReadiness(p *simulated) happening {
	hash := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	start := c.after(p.since, c.delay(p, c.behavior.Start, defaultStart))
	open := kubelet.GatesOpen(p.Pod)
	switch {
	case !open && kubelet.ConditionStatus(p.Pod, corev1.PodReady) == corev1.ConditionTrue:
		return happening{kind: PodUnready, at: c.now}
	case slices.Contains(c.behavior.Failing, hash):
		if c.restarts(p) {
			return happening{} // what is to fail is not started yet
		}
		return happening{kind: PodFailed, at: start}
	case slices.Contains(c.behavior.NeverReady, hash):
		return happening{}
	}
	if h, troubled := c.dueTrouble(p, hash); troubled {
		return h
	}
	settled := kubelet.Settled(p.Pod)
	switch {
	case kubelet.HasGate(p.Pod, lifecycle.InPlaceUpdateReady) && (!open || settled) && !kubelet.ContainersReady(p.Pod),
		!open && p.Status.Phase != corev1.PodRunning: // a closed gate keeps a pod from being Ready, not from running
		return happening{kind: PodStarted, at: start}
	case !open || settled:
		return happening{}
	case p.up:
		return happening{kind: PodReady, at: c.now}
	}
	return happening{kind: PodReady, at: start}
}

// excluded returns what the scheduler says of a pod that another one keeps off their node; "": nothing.
func (c *Cluster) excluded(p *simulated) string {
	target, _ := placement.TargetNode(p.Pod)
	for _, other := range c.pods {
		if other == p || other.Spec.NodeName != target {
			continue
		}
		if why := kubelet.Excluded(p.Pod, other.Pod, c.nodes[target], nil); why != "" {
			return why
		}
	}
	return ""
}

// fits is what the scheduler asks: the pod's own selector, affinity and tolerations against the node.
func fits(p *corev1.Pod, node *corev1.Node) bool {
	matcher, err := placement.Compile(&corev1.PodTemplateSpec{Spec: p.Spec})
	return err == nil && matcher.Evaluate(node).Outcome == placement.Run
}

// happen lets what is due take place now.
func (c *Cluster) happen(h happening) {
	p := h.pod
	switch h.kind {
	case PullDone, PullFailed:
		c.endPull(h.pull, h.kind)
		return
	case PodReleased, PodHooked:
		c.seeTo(p, h.kind)
		return
	case ContainerRestarted, ContainerResized:
		c.moveContainer(p, h.container, h.kind)
		return
	case ContainerCrashed:
		c.crash(p)
		return
	case ContainerWaiting:
		c.wait(p)
		return
	case PodGone, PodCollected:
		c.remove(p)
	default:
		changed := p.DeepCopy()
		if p.unnoticed && !c.silent(p.Spec.NodeName) {
			p.unnoticed = false
			kubelet.Notice(changed, c.now)
		}
		switch h.kind {
		case PodBound:
			node, _ := placement.TargetNode(p.Pod)
			kubelet.Bind(changed, node, c.now)
			if p.unnoticed = c.silent(node); !p.unnoticed {
				kubelet.Notice(changed, c.now)
			}
			if c.behavior.Create != 0 {
				kubelet.SetWaiting(changed, kubelet.ContainerCreating)
			}
		case PodUnscheduled:
			kubelet.Unschedulable(changed, c.excluded(p), c.now)
		case ContainersCreated:
			kubelet.CreateContainers(changed, p.running, c.behavior.SameID, c.now)
		case PodFailed:
			kubelet.Fail(changed, c.now)
		case PodUnready:
			kubelet.Unready(changed, c.now)
		case PodStarted:
			changed.Status.Phase = corev1.PodRunning
			c.startContainers(p, changed)
		default:
			c.startContainers(p, changed)
			kubelet.Ready(changed, c.now)
		}
		c.replace(p, changed)
	}
	p.since = c.now
	c.record(h.kind, p.Pod)
	switch h.kind {
	case PodStarted, PodReady, ContainersCreated:
		c.breakNode(p)
	default: // nothing has started
	}
}
