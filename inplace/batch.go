package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// batch is what one step changes of a pod: the containers of the next batch, and what is written beside them.
type batch struct {
	pod      *corev1.Pod
	now      time.Time
	state    *UpdateState // to be written, brought up to date by send
	work     work         // of this batch and the later ones, settled
	metadata changedMetadata
	// whole is what the pod as a whole is to have of cpu and memory, and does not have; tolerations are what is to be added.
	whole       *corev1.ResourceRequirements
	tolerations []corev1.Toleration
	// serveOn are containers without which the pod serves on.
	serveOn []string
	// unfinished are containers of earlier batches that are not done.
	unfinished map[string]bool
	// version of the pod that the next patch must find; empty: any. It is set while an earlier update is unfinished, whose
	// effects this one could otherwise take for its own.
	version string
}

// choose returns the containers of the next batch, sorted (I5): those without a launch priority, those of the highest
// one, and those that read a label or annotation that one of these reads, because it cannot change for one alone.
// Unfinished containers of a higher priority keep those of lower ones waiting.
func (b *batch) choose() []string {
	chosen := map[string]bool{}
	for i := range b.pod.Spec.InitContainers {
		chosen[b.pod.Spec.InitContainers[i].Name] = true // they have no launch priority: the pod has waited for them
	}
	highest := 0
	var withHighest []string
	for i := range b.pod.Spec.Containers {
		container := &b.pod.Spec.Containers[i]
		if b.work[container.Name] == nil && !b.unfinished[container.Name] {
			continue
		}
		n, ok := priority(container)
		switch {
		case !ok:
			chosen[container.Name] = true
		case withHighest == nil || n > highest:
			highest, withHighest = n, []string{container.Name}
		case n == highest:
			withHighest = append(withHighest, container.Name)
		}
	}
	for _, name := range withHighest {
		chosen[name] = true
	}
	maps.DeleteFunc(chosen, func(name string, _ bool) bool { return b.work[name] == nil })
	for grown := true; grown; {
		grown = false
		for name, c := range b.work {
			if !chosen[name] && b.shares(c, chosen) {
				chosen[name], grown = true, true
			}
		}
	}
	return sortedKeys(chosen)
}

// shares reports whether c reads a label or annotation that a chosen container reads.
func (b *batch) shares(c *containerWork, chosen map[string]bool) bool {
	for name := range chosen {
		if sharesKey(c.labels, b.work[name].labels) || sharesKey(c.annotations, b.work[name].annotations) {
			return true
		}
	}
	return false
}

func sharesKey(a, b map[string]string) bool {
	for key := range a {
		if _, ok := b[key]; ok {
			return true
		}
	}
	return false
}

// send writes the patches of the next batch: the resize first, because the revision label, in the patch of the spec,
// must not claim what the spec does not contain (V9).
func (b *batch) send(revision string, caller Metadata) ([]lifecycle.Patch, error) {
	names := b.choose()
	resized, changed := bodySpec{Resources: b.whole}, bodySpec{}
	for _, containers := range [][]corev1.Container{b.pod.Spec.InitContainers, b.pod.Spec.Containers} {
		for i := range containers {
			name := containers[i].Name
			c := b.work[name]
			if c == nil || !slices.Contains(names, name) {
				continue
			}
			init := initContainerIn(&b.pod.Spec, name) != nil
			if c.resizes() {
				resources := c.resources()
				resized.add(bodyContainer{Name: name, Resources: &resources}, init)
			}
			if c.image != "" {
				changed.add(bodyContainer{Name: name, Image: c.image}, init)
			}
		}
	}
	if lacking := missing(b.tolerations, b.pod.Spec.Tolerations); len(lacking) > 0 {
		// The list is replaced as a whole, and nothing may be taken from it.
		changed.Tolerations = slices.Concat(b.pod.Spec.Tolerations, lacking)
	}
	b.record(names)
	b.state.Generation = b.generation(!resized.isEmpty(), !changed.isEmpty())
	labels, annotations, err := b.written(names, revision, caller)
	if err != nil {
		return nil, err
	}
	var patches []lifecycle.Patch
	if !resized.isEmpty() {
		p, err := patch("resize", body{Metadata: b.metadataOfNext(), Spec: &resized})
		if err != nil {
			return nil, err
		}
		patches = append(patches, p)
	}
	spec := body{Metadata: b.metadataOfNext()}
	spec.Metadata.Labels, spec.Metadata.Annotations = labels, annotations
	if !changed.isEmpty() {
		spec.Spec = &changed
	}
	p, err := patch("", spec)
	if err != nil {
		return nil, err
	}
	return append(patches, p), nil
}

// generation returns which one the pod's spec has after the patches; 0: that is not known, because the pod has none. A patch of
// metadata alone leaves it as it is.
func (b *batch) generation(resizes, changes bool) int64 {
	after := b.pod.Generation
	if after == 0 {
		return 0
	}
	for _, patched := range [...]bool{resizes, changes} {
		if patched {
			after++
		}
	}
	return after
}

// metadataOfNext returns the metadata that says which pod the next patch is for. Only the first patch of a step has the version,
// because each patch changes it.
func (b *batch) metadataOfNext() bodyMetadata {
	metadata := bodyMetadata{UID: b.pod.UID, ResourceVersion: b.version}
	b.version = ""
	return metadata
}

// record updates the state: it notes what each container of the batch ran, and what is left for later batches.
func (b *batch) record(names []string) {
	s, at := b.state, metav1.NewTime(b.now)
	s.NextContainerImages, s.NextContainerResources, s.NextContainerRefMetadata = nil, nil, nil
	s.PreCheckBeforeNext, s.ServeOn = nil, nil
	for _, name := range names {
		if !hasEnded(b.pod, name) {
			b.recordContainer(name, at)
		}
	}
	if b.whole != nil {
		put(&s.Records, "", Record{Timestamp: at, Resized: true})
	}
	// Kruise knows nothing of init containers, and would wait for them for ever.
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return initContainerIn(&b.pod.Spec, name) != nil })
	later := false
	for name, c := range b.work {
		if slices.Contains(names, name) || initContainerIn(&b.pod.Spec, name) != nil {
			continue
		}
		later = true
		if slices.Contains(b.serveOn, name) {
			s.ServeOn = append(s.ServeOn, name)
		}
		if c.image != "" {
			put(&s.NextContainerImages, name, c.image)
		}
		if c.resizes() {
			put(&s.NextContainerResources, name, c.resources())
		}
		if c.reads() {
			put(&s.NextContainerRefMetadata, name, c.refs())
		}
	}
	slices.Sort(s.ServeOn)
	if later {
		required := maps.Clone(b.unfinished)
		for _, name := range names {
			put(&required, name, true)
		}
		maps.DeleteFunc(required, func(name string, _ bool) bool {
			return name == "" || initContainerIn(&b.pod.Spec, name) != nil
		})
		s.PreCheckBeforeNext = &PreCheck{ContainersRequiredReady: sortedKeys(required)}
	}
	if len(names) > 0 {
		s.ContainerBatchesRecord = append(slices.Clip(s.ContainerBatchesRecord), Batch{Timestamp: at, Containers: names})
	}
}

// recordContainer notes what a container runs, so that its update can later be seen to be complete. If the container still runs
// what it ran before an earlier, unfinished update, the record of that update stays in force.
func (b *batch) recordContainer(name string, at metav1.Time) {
	c, status := b.work[name], statusOf(b.pod, name)
	before, known := b.state.Records[name]
	record := Record{Timestamp: at, Resized: c.resized || before.Resized, ServesOn: slices.Contains(b.serveOn, name)}
	if record.Resized && b.pod.Generation > 0 {
		has := containerOf(b.pod, name).Resources
		record.Resources = &corev1.ResourceRequirements{
			Limits: changedResources(has.Limits, c.limits), Requests: changedResources(has.Requests, c.requests),
		}
	}
	ran := status != nil && status.ImageID != ""
	if status != nil {
		record.ContainerID = status.ContainerID
		if status.State.Running != nil {
			record.StartedAt = status.State.Running.StartedAt.DeepCopy()
		}
	}
	same := b.state.stillRuns(name, status) // asked before its last status is replaced
	unfinished, ok := b.state.last(name)
	if ok = ok && same; ok {
		b.setLast(&record, name, unfinished)
	} else {
		delete(b.state.LastContainerStatuses, name)
	}
	unknown := ok && before.Image == "" // it runs what it ran before an update that did not say what that was
	same = same && known
	if c.image != "" {
		last := ContainerStatus{}
		if status != nil {
			last.ImageID = status.ImageID
		}
		b.setLast(&record, name, last)
		if ran && !unknown {
			record.Image = containerOf(b.pod, name).Image
		}
	}
	if same && before.Image != "" {
		record.Image = before.Image
	}
	if c.reads() {
		record.Metadata = &RefMetadata{
			Labels: present(c.labels, b.pod.Labels), Annotations: present(c.annotations, b.pod.Annotations),
		}
	}
	if same && before.Metadata != nil {
		if record.Metadata == nil {
			record.Metadata = &RefMetadata{}
		}
		overlay(&record.Metadata.Labels, before.Metadata.Labels)
		overlay(&record.Metadata.Annotations, before.Metadata.Annotations)
	}
	put(&b.state.Records, name, record)
}

// setLast notes what a container reported before its image changed: where Kruise looks for it, or, of a sidecar, in its record.
func (b *batch) setLast(record *Record, name string, last ContainerStatus) {
	if initContainerIn(&b.pod.Spec, name) != nil {
		record.Last = &last
	} else {
		put(&b.state.LastContainerStatuses, name, last)
	}
}

// present returns the values that a pod has under the keys of wanted. A missing one is empty, as an environment variable has it.
func present(wanted, has map[string]string) map[string]string {
	var values map[string]string
	for key := range wanted {
		put(&values, key, has[key])
	}
	return values
}

func overlay(onto *map[string]string, values map[string]string) {
	for key, value := range values {
		put(onto, key, value)
	}
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// written returns the labels and annotations of the patch: those of the template, unless the caller writes the same key, and
// those of this package, which nothing overrides.
func (b *batch) written(names []string, revision string, caller Metadata) (labels, annotations map[string]*string, err error) {
	labels, annotations = map[string]*string{}, map[string]*string{}
	write := func(onto map[string]*string, values map[string]string) {
		for key, value := range values {
			onto[key] = &value
		}
	}
	// A null for a key that is not there would be kept by some clients.
	changed := func(onto, values map[string]*string, has map[string]string) {
		for key, value := range values {
			if _, ok := has[key]; ok || value != nil {
				onto[key] = value
			}
		}
	}
	changed(labels, b.metadata.labels, b.pod.Labels)
	changed(annotations, b.metadata.annotations, b.pod.Annotations)
	for _, name := range names {
		write(labels, b.work[name].labels)
		write(annotations, b.work[name].annotations)
	}
	write(labels, caller.Labels)
	write(annotations, caller.Annotations)
	if revision != "" {
		labels[appsv1.DefaultDaemonSetUniqueLabelKey] = &revision
	}
	encoded, err := json.Marshal(b.state)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the state of an in-place update: %w", err)
	}
	text := string(encoded)
	annotations[StateKey] = &text
	for _, key := range []string{GraceKey, oldGraceKey, oldStateKey} {
		if _, ok := b.pod.Annotations[key]; ok {
			annotations[key] = nil
		}
	}
	return labels, annotations, nil
}
