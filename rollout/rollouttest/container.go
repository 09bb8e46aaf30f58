package rollouttest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
)

// running is what a container was made from.
type running struct {
	image string
	// env is the metadata that its environment read; see metadataRead.
	env string
}

// ImageID is the ID that the nodes of a [Cluster] know the image by: other images have others, except those that
// [Behavior].SameID names.
func ImageID(image string) string {
	h := fnv.New64a()
	// Writing to a hash never fails.
	_, _ = h.Write([]byte(image))
	return fmt.Sprintf("sim@sha256:%016x", h.Sum64())
}

// runningIn reads what a container of a pod runs that the cluster did not start itself. A kubelet that is behind shows
// the old image in its status. What the environment holds is nowhere to be seen: while an update that changed it is
// under way, the container has not restarted for it.
func runningIn(pod *corev1.Pod, i int) running {
	container := &pod.Spec.Containers[i]
	r := running{image: container.Image, env: metadataRead(pod, container)}
	if status := statusOf(pod, container.Name); status != nil && status.Image != "" && !sameImage(status.Image, container.Image) {
		r.image = status.Image
	}
	if conditionStatus(pod, lifecycle.InPlaceUpdateReady) != corev1.ConditionFalse {
		return r
	}
	if state, err := inplace.StateOf(pod); err == nil && state != nil && state.UpdateEnvFromMetadata {
		r.env = cmp.Or(r.env, "\n") // none that could be read
		if metadataRead(pod, container) != "" {
			r.env += "of before"
		}
	}
	return r
}

// metadataRead is the metadata of the pod that the container's environment reads, in one text; empty if none.
func metadataRead(pod *corev1.Pod, container *corev1.Container) string {
	var text strings.Builder
	for i := range container.Env {
		from := container.Env[i].ValueFrom
		if from == nil || from.FieldRef == nil {
			continue
		}
		inner, _ := strings.CutSuffix(from.FieldRef.FieldPath, "']")
		if key, ok := strings.CutPrefix(inner, "metadata.labels['"); ok {
			fmt.Fprintf(&text, "%s=%q\n", container.Env[i].Name, pod.Labels[key])
		} else if key, ok := strings.CutPrefix(inner, "metadata.annotations['"); ok {
			fmt.Fprintf(&text, "%s=%q\n", container.Env[i].Name, pod.Annotations[key])
		}
	}
	return text.String()
}

// sameImage tells whether two names of images mean the same one.
func sameImage(a, b string) bool {
	return a == b || predownload.Reported([]corev1.ContainerImage{{Names: []string{a}}}, b)
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// containersReady tells whether the kubelet reports each container as ready.
func containersReady(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		if status := statusOf(pod, pod.Spec.Containers[i].Name); status == nil || !status.Ready {
			return false
		}
	}
	return len(pod.Spec.Containers) > 0
}

// dueContainer is what a kubelet does about containers that are not what the pod says they should be.
func (c *Cluster) dueContainer(p *simulated) happening {
	if p.Spec.NodeName == "" || p.DeletionTimestamp != nil || lifecycle.Terminal(p.Pod) ||
		c.nodes[p.Spec.NodeName] == nil || !hasGate(p.Pod, lifecycle.InPlaceUpdateReady) {
		return happening{}
	}
	var first happening
	for i := range p.Spec.Containers {
		if c.restartsContainer(p, i) {
			h := happening{kind: ContainerRestarted, container: i}
			h.at = c.when(p, c.behavior.Restart, defaultRestart)
			if h.before(first) {
				first = h
			}
		}
		if changed := resized(p.Pod, i); len(changed) > 0 {
			h := happening{kind: ContainerResized, container: i}
			if restartsFor(&p.Spec.Containers[i], changed) {
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

// restarts tells whether any container is to become another one.
func (c *Cluster) restarts(p *simulated) bool {
	for i := range p.Spec.Containers {
		if c.restartsContainer(p, i) {
			return true
		}
	}
	return false
}

func (c *Cluster) restartsContainer(p *simulated, i int) bool {
	container := &p.Spec.Containers[i]
	if !p.up && unstarted(statusOf(p.Pod, container.Name)) || slices.Contains(c.behavior.Stuck, container.Image) {
		return false
	}
	r := p.running[i]
	return !sameImage(r.image, container.Image) ||
		c.spec.Strategy.InPlace.EnvFromMetadata && r.env != metadataRead(p.Pod, container)
}

// resized lists the resources that the container does not have yet. A container without a status has them when it
// starts.
func resized(p *corev1.Pod, i int) []corev1.ResourceName {
	container := &p.Spec.Containers[i]
	status := statusOf(p, container.Name)
	if unstarted(status) {
		return nil
	}
	var has corev1.ResourceRequirements
	if status.Resources != nil {
		has = *status.Resources
	}
	var changed []corev1.ResourceName
	for _, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if !sameQuantity(container.Resources.Limits, has.Limits, name) ||
			!sameQuantity(container.Resources.Requests, has.Requests, name) {
			changed = append(changed, name)
		}
	}
	return changed
}

func sameQuantity(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	x, inA := a[name]
	y, inB := b[name]
	return inA == inB && x.Cmp(y) == 0
}

// restartsFor tells whether the container restarts when these resources change.
func restartsFor(container *corev1.Container, changed []corev1.ResourceName) bool {
	return slices.ContainsFunc(container.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		return policy.RestartPolicy == corev1.RestartContainer && slices.Contains(changed, policy.ResourceName)
	})
}

// moveContainer restarts or resizes a container.
func (c *Cluster) moveContainer(p *simulated, i int, kind EventKind) {
	changed := p.DeepCopy()
	container := &changed.Spec.Containers[i]
	if kind == ContainerRestarted {
		if reason := c.behavior.Waiting[revisionOf(p.Pod)]; reason != "" {
			c.holdUp(p, changed, i, reason)
		} else {
			c.startContainer(p, changed, i)
		}
		setReady(changed, container.Name, false)
		if conditionStatus(changed, corev1.PodReady) == corev1.ConditionTrue {
			setCondition(changed, corev1.PodReady, corev1.ConditionFalse, c.now)
		}
		p.up, p.since = false, c.now
	} else {
		status := statusOf(changed, container.Name)
		status.Resources = container.Resources.DeepCopy()
	}
	c.replace(p, changed)
	c.recordDetail(kind, p.Pod, container.Name)
}

// startContainers makes all containers ready, and starts those that have not run yet.
func (c *Cluster) startContainers(p *simulated, changed *corev1.Pod) {
	for i := range changed.Spec.Containers {
		name := changed.Spec.Containers[i].Name
		if status := statusOf(changed, name); status == nil || status.State.Waiting != nil {
			c.startContainer(p, changed, i)
		}
		setReady(changed, changed.Spec.Containers[i].Name, true)
	}
	p.up = true
}

// startContainer makes a container from what the pod says now.
func (c *Cluster) startContainer(p *simulated, changed *corev1.Pod, i int) {
	container := &changed.Spec.Containers[i]
	status := statusOf(changed, container.Name)
	if status == nil {
		// A container that was running before anybody reported it began no later than the pod did.
		changed.Status.ContainerStatuses = append(slices.Clone(changed.Status.ContainerStatuses),
			corev1.ContainerStatus{Name: container.Name, RestartCount: -1})
		status = &changed.Status.ContainerStatuses[len(changed.Status.ContainerStatuses)-1]
	}
	if status.State.Waiting == nil { // one that waits is counted already, or never was
		status.RestartCount++
	}
	if status.ImageID == "" || !slices.Contains(c.behavior.SameID, container.Image) {
		status.ImageID = ImageID(container.Image)
	}
	status.Image = container.Image
	status.ContainerID = containerID(changed, container.Name, status.RestartCount)
	status.Started = new(true)
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.now)}}
	status.Resources = nil
	if !apiequality.Semantic.DeepEqual(container.Resources, corev1.ResourceRequirements{}) {
		status.Resources = container.Resources.DeepCopy()
	}
	p.running[i] = running{image: container.Image, env: metadataRead(changed, container)}
}

func containerID(pod *corev1.Pod, container string, restarts int32) string {
	return fmt.Sprintf("sim://%s/%s/%d", pod.UID, container, restarts)
}

func setReady(pod *corev1.Pod, container string, ready bool) {
	if status := statusOf(pod, container); status != nil {
		status.Ready = ready
	}
}
