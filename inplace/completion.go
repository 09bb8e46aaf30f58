package inplace

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Completion is how far the in-place update of a pod is (I5).
type Completion struct {
	// Done reports whether there is nothing to wait for. It is true exactly if Waits is empty.
	Done bool
	// Waits are what the update waits for, sorted by container, then code.
	Waits []UpdateWait
}

// UpdateWait is one thing that an update waits for.
type UpdateWait struct {
	// Container that the update waits for. Empty: it is the pod as a whole.
	Container string
	// Code says what the container or pod lacks.
	Code WaitCode
}

// WaitCode is the kind of a [UpdateWait].
type WaitCode uint8

// The kinds of waits. Zero is none of them.
const (
	// UnreadableState: an annotation of the update cannot be read. It does not change by itself: its writer has to correct it.
	UnreadableState WaitCode = iota + 1
	// GracePeriod: Kruise has begun the update, and its grace period runs.
	GracePeriod
	// NextBatch: the container is in a later batch.
	NextBatch
	// NotReady: the container has to be ready before the next batch.
	NotReady
	// StatusMissing: the kubelet reports no status of the container.
	StatusMissing
	// ImageUnchanged: the container still runs the image of before.
	ImageUnchanged
	// NotRestarted: the container has not restarted, and its environment holds the metadata of before.
	NotRestarted
	// ResourcesDiffer: the container does not have the resources of its spec yet.
	ResourcesDiffer
	// ResourcesUnreported: the kubelet does not report the resources of the container, and the container has not
	// restarted. Kubelets that cannot resize report none.
	ResourcesUnreported
	// ResizeDeferred: the node has no room for the resources now.
	ResizeDeferred
	// ResizeInfeasible: the node will never have room for the resources, or cannot resize.
	ResizeInfeasible
	// NotSeen: the kubelet has not seen the change yet, as the generation of its status says.
	NotSeen
)

// waitTexts are the texts of the codes, by number.
var waitTexts = [...]string{
	UnreadableState:     "an annotation of the update is unreadable",
	GracePeriod:         "the grace period is not over",
	NextBatch:           "it is in a later batch",
	NotReady:            "it is not ready, and the next batch waits for it",
	StatusMissing:       "it has no status",
	ImageUnchanged:      "it still runs the image of before",
	NotRestarted:        "it has not restarted",
	ResourcesDiffer:     "its resources are not those of the spec yet",
	ResourcesUnreported: "the kubelet does not report its resources",
	ResizeDeferred:      "the node has no room for its resources now",
	ResizeInfeasible:    "the node cannot give it its resources",
	NotSeen:             "its kubelet has not seen the change",
}

// String returns what is waited for, in a few words. A value that is none of the codes gives "WaitCode(n)".
func (c WaitCode) String() string {
	if c == 0 || int(c) >= len(waitTexts) {
		return fmt.Sprintf("WaitCode(%d)", uint8(c))
	}
	return waitTexts[c]
}

// String returns the container, if there is one, and what is waited for.
func (w UpdateWait) String() string {
	if w.Container == "" {
		return w.Code.String()
	}
	return "container " + w.Container + ": " + w.Code.String()
}

// Completed returns whether the in-place update of pod is complete (I5), and if not, all that it waits for. A pod that was never
// updated in place, or is nil, is done. If an annotation of the update cannot be read, the pod is not done.
//
// A container whose image changed is done when it reports another image ID or has started since, or when it is back at the image
// that it was made from: a kubelet restarts a container for every change of the text, even if that names the same image. Of an
// update of Kruise, it is done when it reports the wanted image under whatever spelling. A container whose environment reads
// changed metadata is done when it has started since. A resized one is done when its status has the resources of its spec, or,
// if the kubelet reports none, when it has started since.
//
// A pod that has a generation (Kubernetes 1.35 and later) is not done either while its kubelet reports an older one than that of
// the update. What others have resized since is not waited for.
//
// Completed decodes the state annotation. [Unfinished] is a cheap test that is false for most pods of a fleet.
func Completed(pod *corev1.Pod) Completion {
	progress, err := progressOf(pod)
	waits := progress.waits
	switch {
	case err != nil:
		waits = []UpdateWait{{Code: UnreadableState}}
	case progress.grace != nil:
		waits = append(waits, UpdateWait{Code: GracePeriod})
	case progress.state != nil:
		waits = append(waits, progress.later(pod)...)
	}
	slices.SortFunc(waits, func(a, b UpdateWait) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Code, b.Code))
	})
	return Completion{Done: len(waits) == 0, Waits: waits}
}

// progress is what the annotations of a pod say.
type progress struct {
	state *UpdateState // nil: never updated in place
	grace *grace       // nil: not in a grace period of Kruise
	next  work         // of later batches
	// waits are for the containers of the batches so far, in no order.
	waits []UpdateWait
}

func progressOf(pod *corev1.Pod) (progress, error) {
	var p progress
	var err error
	if p.state, err = StateOf(pod); err != nil {
		return progress{}, err
	}
	if p.grace, err = graceOf(pod); err != nil {
		return progress{}, err
	}
	if p.grace != nil {
		p.grace.work.trim(pod)
	}
	if p.state == nil {
		if p.grace != nil {
			return progress{}, fmt.Errorf("%w grace period: no state beside it", ErrUnreadable)
		}
		return p, nil
	}
	p.next = p.state.next()
	p.next.trim(pod)
	for name := range p.next {
		if containerOf(pod, name) == nil {
			delete(p.next, name)
		}
	}
	for _, name := range p.state.involved(pod) {
		p.waits = p.state.waitsFor(p.waits, pod, name)
	}
	return p, nil
}

// later returns what the next batches wait for.
func (p *progress) later(pod *corev1.Pod) []UpdateWait {
	if len(p.next) == 0 {
		return nil
	}
	var waits []UpdateWait
	for name := range p.next {
		waits = append(waits, UpdateWait{Container: name, Code: NextBatch})
	}
	for _, name := range p.notReady(pod) {
		waits = append(waits, UpdateWait{Container: name, Code: NotReady})
	}
	return waits
}

// notReady returns the containers that keep the next batch from running.
func (p *progress) notReady(pod *corev1.Pod) []string {
	if p.state.PreCheckBeforeNext == nil {
		return nil
	}
	var names []string
	for _, name := range p.state.PreCheckBeforeNext.ContainersRequiredReady {
		if status := statusOf(pod, name); status == nil || !status.Ready {
			names = append(names, name)
		}
	}
	return names
}

// involved returns the containers of the batches so far, sorted.
func (s *UpdateState) involved(pod *corev1.Pod) []string {
	names := map[string]bool{}
	for name := range s.LastContainerStatuses {
		names[name] = true
	}
	for name := range s.Records {
		names[name] = true
	}
	if s.foreign() && (s.UpdateEnvFromMetadata || s.UpdateResources) {
		for name := range s.batched(pod) {
			names[name] = true
		}
	}
	return sortedKeys(names)
}

// foreign reports whether the state was written by Kruise, which does not record why a container is in a batch.
func (s *UpdateState) foreign() bool {
	return len(s.Records) == 0
}

// waitsFor appends what is waited for in one container.
func (s *UpdateState) waitsFor(waits []UpdateWait, pod *corev1.Pod, name string) []UpdateWait {
	if name == "" {
		return append(waits, wholeWaits(pod)...)
	}
	container, status := containerOf(pod, name), statusOf(pod, name)
	_, image := s.last(name)
	env, resized := s.readsChange(pod, name), s.resizes(name)
	if container == nil || status == nil {
		if image || env || resized {
			waits = append(waits, UpdateWait{Container: name, Code: StatusMissing})
		}
		return waits
	}
	record := s.Records[name]
	same := s.stillRuns(name, status)
	// A container that is back at the image it was made from needs no restart. A kubelet restarts one for every other text, even
	// if that names the same image. Where it is not known what the container was made from, its image has to do.
	wanted := record.Image != "" && record.Image == container.Image ||
		record.Image == "" && status.ImageID != "" && sameImage(container.Image, status.Image, status.ImageID)
	if image && same && !wanted {
		waits = append(waits, UpdateWait{Container: name, Code: ImageUnchanged})
	}
	if env && same && !record.Metadata.holds(pod) {
		waits = append(waits, UpdateWait{Container: name, Code: NotRestarted})
	}
	resized = resized && !record.isOverruled(container)
	if code := resizeWait(pod, container, status, !same); resized && code != 0 {
		waits = append(waits, UpdateWait{Container: name, Code: code})
	}
	if n := len(waits); s.isUnseen(pod) && (image || env || resized) && (n == 0 || waits[n-1].Container != name) {
		waits = append(waits, UpdateWait{Container: name, Code: NotSeen})
	}
	return waits
}

// isOverruled reports whether others have resized the container since, such as a vertical autoscaler.
func (r *Record) isOverruled(container *corev1.Container) bool {
	if r.Resources == nil {
		return false
	}
	has := container.Resources
	return !hasResources(r.Resources.Limits, has.Limits) || !hasResources(r.Resources.Requests, has.Requests)
}

// isUnseen reports whether the kubelet says that it has not seen the spec of the last batch yet. The pod may have an older one
// than the state says, if a patch changed nothing; then that is what the kubelet has to see.
func (s *UpdateState) isUnseen(pod *corev1.Pod) bool {
	seen := pod.Status.ObservedGeneration
	return seen > 0 && seen < min(s.Generation, pod.Generation)
}

// stillRuns reports whether a container is the one that ran before its last update: it reports no other image ID, and has not
// started since. The container's ID is the best evidence of that, because times have whole seconds: a start in the second of
// the update may be just before it or just after.
func (s *UpdateState) stillRuns(name string, status *corev1.ContainerStatus) bool {
	if status == nil {
		return true
	}
	// An empty ID is that of a container that does not run: the image is not there yet. If none ran before the update
	// either, the first to run may be one that was on its way when the update came, with the image of before.
	last, _ := s.last(name)
	if last.ImageID != "" && status.ImageID != "" && status.ImageID != last.ImageID {
		return false
	}
	record := s.Records[name]
	if record.ContainerID != "" && status.ContainerID != "" {
		return record.ContainerID == status.ContainerID
	}
	since := s.updatedAt(name)
	if record.StartedAt != nil {
		since = record.StartedAt.Time
	}
	return status.State.Running == nil || !status.State.Running.StartedAt.After(since)
}

// readsChange reports whether the environment of a container reads metadata that was changed in one of the batches so far. For a
// state that Kruise wrote it is a guess: the containers that read any metadata, or, if none does, all.
func (s *UpdateState) readsChange(pod *corev1.Pod, name string) bool {
	if !s.foreign() {
		return s.Records[name].Metadata != nil
	}
	if !s.UpdateEnvFromMetadata {
		return false
	}
	batched, anyReads := s.batched(pod), false
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if batched[container.Name] && readsMetadata(container) {
			if container.Name == name {
				return true
			}
			anyReads = true
		}
	}
	return batched[name] && !anyReads
}

// resizes reports whether a container was resized in one of the batches so far. For a state that Kruise wrote it is a guess.
func (s *UpdateState) resizes(name string) bool {
	if !s.foreign() {
		return s.Records[name].Resized
	}
	return s.UpdateResources
}

// holds reports whether pod has the recorded metadata: what a container reads is what it would read after a restart.
func (m *RefMetadata) holds(pod *corev1.Pod) bool {
	if m == nil || len(m.Labels)+len(m.Annotations) == 0 {
		return false
	}
	for key, value := range m.Labels {
		if pod.Labels[key] != value {
			return false
		}
	}
	for key, value := range m.Annotations {
		if pod.Annotations[key] != value {
			return false
		}
	}
	return true
}

// resizeWait returns what a resized container waits for; 0: nothing. A container that started since was made with the
// resources of its spec, whether its kubelet reports them or not.
func resizeWait(pod *corev1.Pod, container *corev1.Container, status *corev1.ContainerStatus, restarted bool) WaitCode {
	code := ResourcesDiffer
	switch {
	case status.Resources != nil:
		if hasResources(container.Resources.Limits, status.Resources.Limits) &&
			hasResources(container.Resources.Requests, status.Resources.Requests) {
			return 0
		}
	case restarted || !hasResizable(container):
		return 0
	default:
		code = ResourcesUnreported
	}
	return refusedResize(pod, code)
}

// refusedResize returns why a kubelet does not resize a pod, as its condition has it; code if it does not say.
func refusedResize(pod *corev1.Pod, code WaitCode) WaitCode {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type != corev1.PodResizePending || condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Reason {
		case corev1.PodReasonDeferred:
			return ResizeDeferred
		case corev1.PodReasonInfeasible:
			return ResizeInfeasible
		}
	}
	return code
}

// wholeWaits returns what the pod as a whole waits for after a resize. A kubelet that does not report its resources is not waited
// for: then those of the containers are all that can be seen.
func wholeWaits(pod *corev1.Pod) []UpdateWait {
	has := pod.Status.Resources
	if pod.Spec.Resources == nil || has == nil ||
		hasResources(pod.Spec.Resources.Limits, has.Limits) && hasResources(pod.Spec.Resources.Requests, has.Requests) {
		return nil
	}
	return []UpdateWait{{Code: refusedResize(pod, ResourcesDiffer)}}
}

// reportsResources reports whether the kubelet of pod can be seen to report resources, or has nothing to report on.
func reportsResources(pod *corev1.Pod) bool {
	runs := false
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Resources != nil {
			return true
		}
		runs = runs || status.State.Running != nil
	}
	return !runs
}

func hasResources(wanted, has corev1.ResourceList) bool {
	for _, name := range resizable {
		if quantity, ok := wanted[name]; ok {
			if present, ok := has[name]; !ok || present.Cmp(quantity) != 0 {
				return false
			}
		}
	}
	return true
}

func hasResizable(container *corev1.Container) bool {
	return !hasResources(container.Resources.Limits, nil) || !hasResources(container.Resources.Requests, nil)
}
