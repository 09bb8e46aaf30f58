package inplace

import (
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// These errors say what keeps an update from beginning or going on. The errors of this package wrap them.
var (
	// ErrObstacle: the change cannot be made in place at all, or not in this pod. The pod can only be recreated.
	ErrObstacle = errors.New("cannot be updated in place")
	// ErrUnreadable: a revision, or an annotation of the pod, cannot be understood. Nothing should be done to the pod.
	ErrUnreadable = errors.New("unreadable")
)

// Target is where an update leads.
type Target struct {
	// Revision is the hash of the new revision, the value of the label controller-revision-hash. It must not be empty.
	Revision string
	// Node is the node of the pod. It is asked only by updates that not every node can take ([Update.Lacks]); to those, nil is a
	// node that declares nothing.
	Node *corev1.Node
}

// Metadata is what the caller wants written in the same patch as the spec, such as the label of the lifecycle state. It
// wins over the template, but not over the revision label and the annotations of this package.
type Metadata struct {
	Labels, Annotations map[string]string
}

// Step is what to do now with one pod. The zero value stands for nothing.
type Step struct {
	// Patches, in the order in which they are to be sent. If some are not sent, or fail, the same call later returns those
	// that are still needed.
	Patches []lifecycle.Patch
	// Begun reports whether Patches has the one that changes the pod itself, with its revision label or its next batch.
	Begun bool
	// Until is when a grace period ends and the same call has more to do. Zero: none runs.
	Until time.Time
}

// Begin begins the update of pod, or goes on with it in and after the grace period (I4). Call it until the pod carries the label
// of the target, and [Continue] from then on.
//
// If a container restarts without which the pod does not serve on ([Options].ServeOn), the pod is first made not ready. The grace
// period runs from the transition of its InPlaceUpdateReady condition, in whole seconds; until it is over the step has only
// Until. Then, or at once if there is no grace period, come the patch of the resize subresource and that of the pod itself.
//
// An earlier update need not be complete: what it has not changed yet and the new one does not overrule is taken over. The first
// patch then carries the pod's resource version, if it has one. So a client that is behind gets a conflict, and calls Begin
// again when it sees what the earlier update has changed meanwhile.
//
// The error is an [ObstacleError], which wraps [ErrObstacle], if the change has obstacles or the pod cannot take it. That
// includes a pod that lacks a container or resource that changes, one whose QoS class would change because others gave it
// resources, one on a node that lacks what the update needs, and one to be resized whose kubelet reports no resources, because
// the API server refuses that. It wraps [ErrUnreadable] if an annotation of an earlier update cannot be read. An empty target is
// an error, too.
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
		return Step{}, obstacleInPod("spec", QOSClass, fmt.Sprintf("%s becomes %s", before, after))
	}
	if (b.work.resize() || b.whole != nil) && !reportsResources(pod) {
		return Step{}, obstacleInPod("", NodeUnable, "its kubelet reports no resources")
	}
	if lacks := u.Lacks(target.Node); lacks != "" {
		return Step{}, obstacleInPod("", NodeUnable, lacks)
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
			return obstacleInPod("", NoTemplate, "")
		}
		return &ObstacleError{Obstacles: u.Obstacles}
	}
	if obstruction := Obstruct(pod); obstruction != 0 {
		return &ObstacleError{Obstruction: obstruction}
	}
	for _, name := range sortedKeys(u.work) {
		if containerOf(pod, name) == nil {
			return obstacleInPod(elementPath("spec.containers", name), ContainerAdded, "")
		}
	}
	for _, change := range u.Resources {
		if change.Added || change.Container == "" {
			continue
		}
		container := containerOf(pod, change.Container)
		what, has := "requests", container.Resources.Requests
		if change.Limit {
			what, has = "limits", container.Resources.Limits
		}
		if _, ok := has[change.Resource]; !ok {
			path := elementPath(elementPath("spec.containers", change.Container)+".resources."+what, string(change.Resource))
			return obstacleInPod(path, ResourceAdded, "")
		}
	}
	return nil
}

// batchFor joins the update with what an earlier one has left to do; where both change the same thing, the update wins.
func (u *Update) batchFor(pod *corev1.Pod, p *progress, revision string, now time.Time) *batch {
	b := &batch{pod: pod, now: now, work: work{}, unfinished: map[string]bool{}}
	b.state = &UpdateState{Revision: revision, UpdateTimestamp: metav1.NewTime(now)}
	// If the state is not of the revision that the pod is at, what it has left to do is unknown.
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
	b.tolerations, b.serveOn = u.Tolerations, u.options.ServeOn
	b.resizeWhole(u.whole)
	for name, c := range b.work {
		if initContainerIn(&pod.Spec, name) != nil {
			continue // Kruise would look for them among the containers
		}
		b.state.UpdateImages = b.state.UpdateImages || c.image != ""
		b.state.UpdateResources = b.state.UpdateResources || c.resized
		b.state.UpdateEnvFromMetadata = b.state.UpdateEnvFromMetadata || c.reads()
	}
	return b
}

// carry hands what is known of an unfinished container over to the state of the next update.
func (s *UpdateState) carry(to *UpdateState, pod *corev1.Pod, name string) {
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
		// Image and environment are done; only the resources are waited for.
		record.Image, record.Metadata, record.Last = "", nil, nil
	}
	put(&to.Records, name, record)
	to.UpdateResources = to.UpdateResources || record.Resized
	to.UpdateEnvFromMetadata = to.UpdateEnvFromMetadata || record.Metadata != nil
}

// unready is the first half of I4: it makes the pod not ready if a container restarts without which it does not serve on, and
// keeps it so for the grace period. wait reports whether that period runs, so that there is no more to do for now.
func unready(b *batch, grace time.Duration) (step Step, wait bool, err error) {
	if !b.work.interrupts(b.pod, b.serveOn) {
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

// Continue goes on with an update under way: it sends the next batch, makes the change of Kruise when a grace period of Kruise
// is over, or sets the InPlaceUpdateReady condition True when all is done. A pod with the readiness gate that lacks the
// condition gets it. In all other cases there is nothing to do, nor for a nil pod, one marked for deletion and one that has
// ended. A pod that was only made not ready is left to [Update.Begin] or [Cancel]. See [Unfinished].
//
// The error wraps [ErrUnreadable] if an annotation of the update cannot be read.
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

// endGrace does what Kruise would: it waits for the end of the grace period, then changes the containers. If the pod has got
// another revision meanwhile, it drops the change.
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

// nextBatch updates the containers that come next. Kruise lets a pod be ready before a last batch of resources only, so that the
// pod is made not ready again if that batch restarts containers.
func (p *progress) nextBatch(pod *corev1.Pod, now time.Time) (Step, error) {
	b := &batch{pod: pod, now: now, state: p.state, work: p.next, serveOn: p.state.ServeOn}
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

// Cancel undoes that pod was made not ready for an update whose spec patch was not sent: it sets the InPlaceUpdateReady
// condition True again. It does nothing for a pod of which [Preparing] is false. The error wraps [ErrUnreadable] if an
// annotation of the update cannot be read.
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

// Preparing reports whether pod was made not ready for an update whose spec patch was not sent: its InPlaceUpdateReady
// condition became False after the last patch that its state annotation records, if any. Such a pod is for [Update.Begin],
// or for [Cancel] if it is not to be updated any more. Preparing is false if an annotation cannot be read.
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

// Unfinished reports whether [Continue] or [Cancel] may have something to do for pod. It neither decodes nor allocates, because
// it is called for each pod of a fleet. If it is false, both do nothing; but a resize that restarts nothing may still be under
// way, which [Completed] shows.
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
	text, _ := annotation(pod, StateKey, oldStateKey)
	return mayHave(text, `"nextContainer`) // all three fields of later batches begin like this
}

// mayHave reports whether JSON may have a field whose name begins like that, as far as can be seen without decoding it. What is
// quoted inside a value is none, and a writer may have escaped letters that need no escape.
func mayHave(text, field string) bool {
	if strings.IndexByte(text, '\\') < 0 {
		return strings.Contains(text, field)
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			if i+1 < len(text) && text[i+1] == 'u' && !isSpecial(text[min(i+2, len(text)):]) {
				return true
			}
			i++ // what is escaped begins no name
		case strings.HasPrefix(text[i:], field):
			return true
		}
	}
	return false
}

// isSpecial reports whether the digits of an escape are those of a character that writers escape: <, > and &, or one that ends
// lines in JavaScript.
func isSpecial(digits string) bool {
	for _, special := range [...]string{"003c", "003e", "0026", "2028", "2029"} {
		if len(digits) >= len(special) && strings.EqualFold(digits[:len(special)], special) {
			return true
		}
	}
	return false
}
