package inplace

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// What keeps an update from beginning or going on; the errors of this package wrap them.
var (
	// ErrObstacle: the change cannot be taken in place at all, or not by this pod. Recreating the pod is what is left.
	ErrObstacle = errors.New("cannot be updated in place")
	// ErrUnreadable: a revision, or an annotation of the pod, cannot be understood. Nothing should be done to the pod.
	ErrUnreadable = errors.New("unreadable")
)

// Target is where an update leads.
type Target struct {
	// Revision is the hash of the new revision, the value of the label controller-revision-hash. Not empty.
	Revision string
}

// Metadata is what the caller wants written in the same patch as the spec, such as the label of the lifecycle state. It
// wins over the template, but not over the revision label and the annotations of this package.
type Metadata struct {
	Labels, Annotations map[string]string
}

// Step is what to do now with one pod. The zero value: nothing.
type Step struct {
	// Patches in the order to send. If some are not sent, or fail, the same call finds out and goes on.
	Patches []lifecycle.Patch
	// Begun: the patch that changes the pod itself, with its revision label or its next batch, is among Patches.
	Begun bool
	// Until is when a grace period ends and the same call has more to do; zero: none runs.
	Until time.Time
}

// Begin begins the update of pod, or goes on with it in and after the grace period (I4). It is called until the pod
// carries the label of the target; from then on [Continue] is.
//
// If a container restarts, the pod is first made not ready. The grace period runs from the transition of its
// InPlaceUpdateReady condition, in whole seconds; until it is over the step has only Until. Then, or at once if there is
// none, come the patch of the resize subresource and that of the pod itself.
//
// An earlier update need not be complete: what it has not brought yet and the new one does not overrule is taken over.
// The first patch then carries the pod's resource version, if it has one: a client that is behind gets a conflict, and
// asks again when it sees what the earlier update has brought meanwhile.
//
// The error wraps [ErrObstacle] if the update or the pod cannot be updated in place, which includes a pod that lacks a
// container or resource that changes, whose QoS class would change because others gave it resources, or that is to be
// resized by a kubelet that reports no resources, which the API server refuses. It wraps [ErrUnreadable] if an
// annotation of an earlier update cannot be read. An empty target is an error too.
func (u *Update) Begin(pod *corev1.Pod, target Target, metadata Metadata, now time.Time) (Step, error) {
	if err := u.obstructed(pod); err != nil {
		return Step{}, err
	}
	if target.Revision == "" {
		return Step{}, errors.New("no revision to update to")
	}
	progress, err := progressOf(pod)
	if err != nil {
		return Step{}, err
	}
	b := u.batchFor(pod, &progress, target.Revision, now)
	if before, after := b.qosClasses(); before != after {
		return Step{}, fmt.Errorf("%w: %s (%s becomes %s)", ErrObstacle, QOSClass, before, after)
	}
	if b.work.resize() && !reportsResources(pod) {
		return Step{}, fmt.Errorf("%w: the kubelet reports no resources, so its node cannot resize", ErrObstacle)
	}
	grace := time.Duration(max(u.options.GracePeriodSeconds, 0)) * time.Second
	step, wait, err := unready(b, grace)
	if err != nil || wait {
		return step, err
	}
	return b.begin(step, target.Revision, metadata)
}

// obstructed returns why pod cannot take the update, whatever its progress.
func (u *Update) obstructed(pod *corev1.Pod) error {
	if !u.InPlace() {
		if u == nil || len(u.Obstacles) == 0 {
			return fmt.Errorf("%w: %s", ErrObstacle, NoTemplate)
		}
		texts := make([]string, len(u.Obstacles))
		for i, obstacle := range u.Obstacles {
			texts[i] = obstacle.String()
		}
		return fmt.Errorf("%w: %s", ErrObstacle, strings.Join(texts, "; "))
	}
	if obstruction := Obstruct(pod); obstruction != 0 {
		return fmt.Errorf("%w: %s", ErrObstacle, obstruction)
	}
	for _, name := range sortedKeys(u.work) {
		container := containerOf(pod, name)
		if container == nil {
			return fmt.Errorf("%w: the pod has no container %q", ErrObstacle, name)
		}
		for _, lists := range []struct {
			what        string
			wanted, has corev1.ResourceList
		}{
			{"limit", u.work[name].limits, container.Resources.Limits},
			{"request", u.work[name].requests, container.Resources.Requests},
		} {
			for _, resource := range slices.Sorted(maps.Keys(lists.wanted)) {
				if _, ok := lists.has[resource]; !ok {
					return fmt.Errorf("%w: container %q of the pod has no %s of %s", ErrObstacle, name, lists.what, resource)
				}
			}
		}
	}
	return nil
}

// batchFor lays the update over what an earlier one has left to do.
func (u *Update) batchFor(pod *corev1.Pod, p *progress, revision string, now time.Time) *batch {
	b := &batch{pod: pod, now: now, work: work{}, unfinished: map[string]bool{}}
	b.state = &Progress{Revision: revision, UpdateTimestamp: metav1.NewTime(now)}
	// What is left of a state that is not of the revision the pod is at, nobody knows.
	if p.state != nil && p.state.Revision == pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] {
		b.work.add(p.next)
	}
	if p.grace != nil {
		b.work.add(p.grace.work)
		b.metadata.add(p.grace.metadata)
	}
	b.work.add(u.work)
	b.metadata.add(u.metadata)
	b.work.settle(pod)
	for _, wait := range p.waits {
		b.unfinished[wait.Container] = true
		b.version = pod.ResourceVersion
		p.state.carry(b.state, pod, wait.Container)
	}
	for _, c := range b.work {
		b.state.UpdateImages = b.state.UpdateImages || c.image != ""
		b.state.UpdateResources = b.state.UpdateResources || c.resized
		b.state.UpdateEnvFromMetadata = b.state.UpdateEnvFromMetadata || c.reads()
	}
	return b
}

// carry hands what is known of an unfinished container over to the state of the next update.
func (s *Progress) carry(to *Progress, pod *corev1.Pod, name string) {
	record, ok := s.Records[name]
	if !ok {
		record = Record{Timestamp: metav1.NewTime(s.updatedAt(name)), Resized: s.resizes(name)}
		if s.readsChange(pod, name) {
			record.Metadata = &RefMetadata{}
		}
	}
	if s.stillRuns(name, statusOf(pod, name)) {
		if last, ok := s.LastContainerStatuses[name]; ok {
			put(&to.LastContainerStatuses, name, last)
			to.UpdateImages = true
		}
	} else {
		// Image and environment are done; what is waited for are the resources.
		record.Image, record.Metadata = "", nil
	}
	put(&to.Records, name, record)
	to.UpdateResources = to.UpdateResources || record.Resized
	to.UpdateEnvFromMetadata = to.UpdateEnvFromMetadata || record.Metadata != nil
}

// qosClasses returns the QoS class of the pod before and after all that is to change.
func (b *batch) qosClasses() (before, after corev1.PodQOSClass) {
	before = qosClass(&b.pod.Spec)
	spec := b.pod.Spec
	spec.Containers = slices.Clone(spec.Containers)
	for i := range spec.Containers {
		container := &spec.Containers[i]
		if c := b.work[container.Name]; c != nil && c.resizes() {
			container.Resources.Limits = changedResources(container.Resources.Limits, c.limits)
			container.Resources.Requests = changedResources(container.Resources.Requests, c.requests)
		}
	}
	return before, qosClass(&spec)
}

func changedResources(has, changes corev1.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	maps.Copy(list, has)
	maps.Copy(list, changes)
	return list
}

// unready is the first half of I4: it makes the pod not ready if a container restarts, and keeps it so for the grace period. wait: that is all for now.
func unready(b *batch, grace time.Duration) (step Step, wait bool, err error) {
	if !b.work.restarts(b.pod) {
		return Step{}, false, nil
	}
	since := b.now
	condition := conditionOf(b.pod, lifecycle.InPlaceUpdateReady)
	if condition == nil || condition.Status != corev1.ConditionFalse {
		p, err := unreadyPatch(b.pod, b.metadataOfNext(), b.now)
		if err != nil {
			return Step{}, false, err
		}
		step.Patches = append(step.Patches, p)
	} else {
		since = condition.LastTransitionTime.Time
	}
	if until := since.Add(grace); until.After(b.now) {
		step.Until = until
		return step, true, nil
	}
	return step, false, nil
}

// begin adds the patches of the next batch to a step.
func (b *batch) begin(step Step, revision string, metadata Metadata) (Step, error) {
	patches, err := b.send(revision, metadata)
	if err != nil {
		return Step{}, err
	}
	step.Patches = append(step.Patches, patches...)
	step.Begun = true
	return step, nil
}

// Continue goes on with an update under way: the next batch, what is left when a grace period of Kruise is over, the
// InPlaceUpdateReady condition True when all is done. A pod with the readiness gate that lacks the condition gets it. In
// all other cases, and for a nil pod, one marked for deletion and one that has ended, there is nothing to do; so it is
// for a pod that was only made not ready, which is up to [Update.Begin] or [Cancel]. See [Unfinished].
//
// The error wraps [ErrUnreadable].
func Continue(pod *corev1.Pod, now time.Time) (Step, error) {
	if over(pod) {
		return Step{}, nil
	}
	p, err := progressOf(pod)
	if err != nil {
		return Step{}, err
	}
	switch {
	case p.grace != nil:
		return p.endGrace(pod, now)
	case len(p.waits) > 0:
		return Step{}, nil
	case len(p.next) > 0:
		if len(p.notReady(pod)) > 0 {
			return Step{}, nil
		}
		return p.nextBatch(pod, now)
	case p.preparing(pod):
		return Step{}, nil
	}
	return becomeReady(pod, now)
}

// over reports whether nothing more is to be done to pod.
func over(pod *corev1.Pod) bool {
	return pod == nil || pod.DeletionTimestamp != nil || lifecycle.Terminal(pod)
}

// becomeReady sets the condition True, if pod has the gate and the condition is not True.
func becomeReady(pod *corev1.Pod, now time.Time) (Step, error) {
	condition := conditionOf(pod, lifecycle.InPlaceUpdateReady)
	if !hasGate(pod) || condition != nil && condition.Status == corev1.ConditionTrue {
		return Step{}, nil
	}
	p, err := readyPatch(pod, now)
	if err != nil {
		return Step{}, err
	}
	return Step{Patches: []lifecycle.Patch{p}}, nil
}

// endGrace does what Kruise would: it waits, then changes the containers; if the pod has got another revision
// meanwhile, it forgets the change.
func (p *progress) endGrace(pod *corev1.Pod, now time.Time) (Step, error) {
	b := &batch{pod: pod, now: now, state: p.state, work: work{}}
	if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == p.grace.revision {
		if until := p.state.UpdateTimestamp.Add(p.grace.period); until.After(now) {
			return Step{Until: until}, nil
		}
		b.work.add(p.grace.work)
		b.metadata = p.grace.metadata
	}
	return b.proceed()
}

// nextBatch updates the containers that come next. Kruise lets a pod be ready before its last batch, if that has
// resources only: if it restarts containers, the pod must not be.
func (p *progress) nextBatch(pod *corev1.Pod, now time.Time) (Step, error) {
	b := &batch{pod: pod, now: now, state: p.state, work: p.next}
	return b.proceed()
}

// proceed sends a batch to a pod whose update has begun.
func (b *batch) proceed() (Step, error) {
	b.work.settle(b.pod)
	step := Step{}
	if hasGate(b.pod) {
		var err error
		if step, _, err = unready(b, 0); err != nil {
			return Step{}, err
		}
	}
	return b.begin(step, "", Metadata{})
}

// Cancel takes back that pod was made not ready for an update whose spec patch was not sent: the condition is True
// again. It does nothing for a pod of which [Preparing] is false. The error wraps [ErrUnreadable].
func Cancel(pod *corev1.Pod, now time.Time) (Step, error) {
	if over(pod) {
		return Step{}, nil
	}
	p, err := progressOf(pod)
	if err != nil || !p.preparing(pod) {
		return Step{}, err
	}
	return becomeReady(pod, now)
}

// Preparing reports whether pod was made not ready for an update whose spec patch was not sent: its
// InPlaceUpdateReady condition is False since after the last patch that its state annotation tells of, if any. Such a pod
// is for [Update.Begin], or for [Cancel] if it is not to be updated any more. False if an annotation cannot be read.
func Preparing(pod *corev1.Pod) bool {
	if over(pod) {
		return false
	}
	p, err := progressOf(pod)
	return err == nil && p.preparing(pod)
}

func (p *progress) preparing(pod *corev1.Pod) bool {
	condition := conditionOf(pod, lifecycle.InPlaceUpdateReady)
	if condition == nil || condition.Status != corev1.ConditionFalse || p.grace != nil {
		return false
	}
	// While an update is under way, the condition is that update's, whatever the clocks of its writers say.
	return p.state == nil || len(p.waits) == 0 && condition.LastTransitionTime.After(p.state.lastPatch())
}

// Unfinished reports whether [Continue] or [Cancel] may have something to do for pod. It neither decodes nor allocates,
// for it is asked of each pod of a fleet. Where it says false, both do nothing; a resize that restarts nothing may be under
// way all the same, which [Completed] tells.
func Unfinished(pod *corev1.Pod) bool {
	if over(pod) {
		return false
	}
	if _, ok := annotation(pod, GraceKey, oldGraceKey); ok {
		return true
	}
	if hasGate(pod) {
		condition := conditionOf(pod, lifecycle.InPlaceUpdateReady)
		if condition == nil || condition.Status != corev1.ConditionTrue {
			return true
		}
	}
	// All three fields of later batches begin like this, unless somebody has escaped what needs no escape.
	text, _ := annotation(pod, StateKey, oldStateKey)
	return strings.Contains(text, `"nextContainer`) || strings.IndexByte(text, '\\') >= 0
}
