package inplace_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// These are the numbers of the entries of batches.
const (
	resourcesNeedGate = iota
	resourcesLast
	statusMissing
	nothingChanges
	noSuchResize
	patchOfRead
	barrierUnreadable
)

var batchesPeer = peer[batchesCase]{
	file: "kruise-inplace/batches.jsonl",
	entries: []entry{
		resourcesNeedGate: {
			id: "resources-need-gate", rule: "I2", uncalculated: true,
			why: "given resources without the gate Kruise lists containers and changes nothing",
		},
		resourcesLast: {
			id: "resources-last", rule: "I5",
			why: "Kruise never runs later batches of resources only; here they run, and the update completes",
		},
		statusMissing: {
			id: "status-missing", rule: "I5",
			why: "Kruise takes a container without a status for updated at once; here it has to report an image",
		},
		nothingChanges: {
			id: "nothing-changes", rule: "I5", unrecorded: true,
			why: "Kruise waits for containers that have their image, resources and metadata already; here they are in no batch",
		},
		noSuchResize: {
			id: "no-such-resize", rule: "I2", uncalculated: true, unrecorded: true,
			why: "given a resize of what the pod lacks while containers are updated in turn, or to another QoS class, Kruise sends it",
		},
		patchOfRead: {
			id: "patch-of-read", rule: "I5", uncalculated: true, unrecorded: true,
			why: "given a change at once of metadata that a container of a later batch reads, Kruise does both",
		},
		barrierUnreadable: {
			id: "barrier-unreadable", rule: "I5", unrecorded: true,
			why: "a barrier without a number is the priority 0 for Kruise, and one without a config map makes it panic; here they are none",
		},
	},
	recorded: func(c *batchesCase) any { return c.Expect.normal() },
	model:    func(c *batchesCase, on rules) any { return c.model(on).normal() },
	ours:     playBatches,
	vary:     (*batchesCase).vary,
	reverse:  func(c *batchesCase) { slices.Reverse(c.Input.Pod.Spec.Containers) },
}

// modelBatches is a pod during an update by Kruise, with what is still to do.
type modelBatches struct {
	on        rules
	pod       *corev1.Pod
	gate      bool
	state     inplace.UpdateState
	images    map[string]string
	resources map[string]corev1.ResourceRequirements
	refs      map[string]inplace.RefMetadata
}

func (c *batchesCase) model(on rules) (out batchesOutcome) {
	in := &c.Input
	b := modelBatches{on: on, pod: in.Pod.DeepCopy(), gate: in.FeatureGates.InPlaceWorkloadVerticalScaling}
	b.images, b.resources, b.refs = maps.Clone(in.ContainerImages), maps.Clone(in.ContainerResources), maps.Clone(in.ContainerRefMetadata)
	if on.has(resourcesNeedGate) && !b.gate {
		b.resources = nil
	}
	if on.has(noSuchResize) && b.refused() {
		return batchesOutcome{Refused: true}
	}
	if !on.has(barrierUnreadable) && slices.ContainsFunc(b.pod.Spec.Containers, panicsOf) {
		return batchesOutcome{Panic: "nil"}
	}
	at := metav1.NewTime(time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC))
	if on.has(nothingChanges) {
		b.leaveOut()
	}
	b.state = inplace.UpdateState{
		Revision: "new", UpdateTimestamp: at, UpdateImages: len(b.images) > 0, UpdateResources: len(b.resources) > 0,
		UpdateEnvFromMetadata: len(b.refs) > 0,
	}
	for _, m := range []struct {
		annotation bool
		values     *map[string]string
		patch      patchedMap
	}{{false, &b.pod.Labels, in.MetadataPatch.Metadata.Labels}, {true, &b.pod.Annotations, in.MetadataPatch.Metadata.Annotations}} {
		if *m.values == nil || m.patch.Wiped {
			*m.values = map[string]string{}
		}
		for key, value := range m.patch.Values {
			if on.has(patchOfRead) && b.read(m.annotation, key) {
				continue
			}
			if value == nil {
				delete(*m.values, key)
			} else {
				(*m.values)[key] = *value
			}
		}
	}
	without := func(name string) bool { return b.status(name) == nil }
	out.batchOutcome = b.next(at)
	if c.tried() {
		// A kubelet that was silent about a container reports it as ready with its first status, whoever looks for one that is not. Where
		// all containers of the first batch are such, Kruise goes on, and what it does then is no later batch of the recording.
		goesOn := !on.has(statusMissing) && len(out.UpdateNext) > 0 && !slices.ContainsFunc(out.UpdateNow, func(name string) bool { return !without(name) })
		if goesOn = goesOn && len(b.images)+len(b.refs) > 0; goesOn {
			b.next(at)
		}
		out.AdvancesWhileNotReady = &goesOn
	}
	for range b.pod.Spec.Containers {
		// The kubelet reports a status for every container.
		for _, container := range b.pod.Spec.Containers {
			if b.status(container.Name) == nil {
				b.pod.Status.ContainerStatuses = append(b.pod.Status.ContainerStatuses,
					corev1.ContainerStatus{Name: container.Name, ImageID: "old-" + container.Name})
			}
		}
		if len(b.images)+len(b.refs) == 0 && (len(b.resources) == 0 || !on.has(resourcesLast)) {
			break
		}
		out.LaterBatches = append(out.LaterBatches, b.next(at))
	}
	out.CompletedAtEnd = len(b.images)+len(b.refs)+len(b.resources) == 0
	if slices.ContainsFunc(in.Pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return gate.ConditionType == lifecycle.InPlaceUpdateReady
	}) {
		out.InPlaceUpdateReadyAtEnd = "True"
	}
	return out
}

// next updates the containers of one batch and keeps the others for later.
func (b *modelBatches) next(at metav1.Time) batchOutcome {
	now := b.choose()
	for i := range b.pod.Spec.Containers {
		container := &b.pod.Spec.Containers[i]
		if !now[container.Name] {
			continue
		}
		if image, ok := b.images[container.Name]; ok {
			container.Image = image
			if status := b.status(container.Name); status != nil || b.on.has(statusMissing) {
				last := inplace.ContainerStatus{}
				if status != nil {
					last.ImageID = status.ImageID
				}
				b.state.LastContainerStatuses = maps.Clone(b.state.LastContainerStatuses)
				if b.state.LastContainerStatuses == nil {
					b.state.LastContainerStatuses = map[string]inplace.ContainerStatus{}
				}
				b.state.LastContainerStatuses[container.Name] = last
			}
		}
		if b.gate {
			amounts := b.resources[container.Name]
			container.Resources.Limits = withAmounts(container.Resources.Limits, amounts.Limits)
			container.Resources.Requests = withAmounts(container.Resources.Requests, amounts.Requests)
		}
	}
	for name, ref := range b.refs {
		if now[name] {
			maps.Copy(b.pod.Labels, ref.Labels)
			maps.Copy(b.pod.Annotations, ref.Annotations)
		}
	}
	maps.DeleteFunc(b.images, func(name, _ string) bool { return now[name] })
	maps.DeleteFunc(b.refs, func(name string, _ inplace.RefMetadata) bool { return now[name] })
	maps.DeleteFunc(b.resources, func(name string, _ corev1.ResourceRequirements) bool { return now[name] || !b.gate })
	names := slices.Sorted(maps.Keys(now))
	left := involved(b.images, b.refs, b.resources)
	b.state.NextContainerImages, b.state.NextContainerRefMetadata = maps.Clone(b.images), maps.Clone(b.refs)
	b.state.NextContainerResources, b.state.PreCheckBeforeNext = maps.Clone(b.resources), nil
	if len(left) > 0 {
		b.state.PreCheckBeforeNext = &inplace.PreCheck{ContainersRequiredReady: names}
	}
	if names == nil {
		names = []string{}
	}
	if len(names) > 0 || !b.on.has(nothingChanges) {
		b.state.ContainerBatchesRecord = append(slices.Clip(b.state.ContainerBatchesRecord), inplace.Batch{Timestamp: at, Containers: names})
	}
	out := batchOutcome{
		UpdateNow: names, UpdateNext: left, StateAnnotation: b.state,
		PodLabels: maps.Clone(b.pod.Labels), PodAnnotations: maps.Clone(b.pod.Annotations),
		PodImages: map[string]string{}, PodResources: map[string]corev1.ResourceRequirements{},
	}
	if b.state.PreCheckBeforeNext != nil {
		out.ContainersRequiredReadyBeforeNext = names
	}
	for _, container := range b.pod.Spec.Containers {
		out.PodImages[container.Name] = container.Image
		out.PodResources[container.Name] = *container.Resources.DeepCopy()
	}
	return out
}

// choose returns the containers without a priority, those of the highest priority, and those that share changed metadata with any
// of these.
func (b *modelBatches) choose() map[string]bool {
	chosen, byPriority := map[string]bool{}, map[int][]string{}
	for _, container := range b.pod.Spec.Containers {
		_, image := b.images[container.Name]
		_, resized := b.resources[container.Name]
		_, reads := b.refs[container.Name]
		if !image && !resized && !reads {
			continue
		}
		if priority, ok := b.priority(container); ok {
			byPriority[priority] = append(byPriority[priority], container.Name)
		} else {
			chosen[container.Name] = true
		}
	}
	if len(byPriority) > 0 {
		for _, name := range byPriority[slices.Max(slices.Collect(maps.Keys(byPriority)))] {
			chosen[name] = true
		}
	}
	shares := func(a, b map[string]string) bool {
		for key := range a {
			if _, ok := b[key]; ok {
				return true
			}
		}
		return false
	}
	for range b.refs {
		for name, ref := range b.refs {
			for other := range chosen {
				if shares(ref.Labels, b.refs[other].Labels) || shares(ref.Annotations, b.refs[other].Annotations) {
					chosen[name] = true
					break
				}
			}
		}
	}
	return chosen
}

const barrierName = "KRUISE_CONTAINER_BARRIER"

func (b *modelBatches) priority(container corev1.Container) (int, bool) {
	for _, variable := range container.Env {
		if variable.Name != barrierName || panicsOf(container) {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(variable.ValueFrom.ConfigMapKeyRef.Key, "p_"))
		return n, err == nil || !b.on.has(barrierUnreadable)
	}
	return 0, false
}

// panicsOf reports whether Kruise panics for a container. It reads the barrier variable as a reference to a config map, and
// panics if it is none.
func panicsOf(container corev1.Container) bool {
	i := slices.IndexFunc(container.Env, func(variable corev1.EnvVar) bool { return variable.Name == barrierName })
	return i >= 0 && (container.Env[i].ValueFrom == nil || container.Env[i].ValueFrom.ConfigMapKeyRef == nil)
}

func (b *modelBatches) status(name string) *corev1.ContainerStatus {
	return (&completing{Pod: b.pod}).status(name)
}

// read reports whether a container reads the label or annotation, which changes.
func (b *modelBatches) read(annotation bool, key string) bool {
	for _, ref := range b.refs {
		values := ref.Labels
		if annotation {
			values = ref.Annotations
		}
		if _, ok := values[key]; ok {
			return true
		}
	}
	return false
}

// leaveOut removes the changes that the pod has already.
func (b *modelBatches) leaveOut() {
	for _, container := range b.pod.Spec.Containers {
		if b.images[container.Name] == container.Image {
			delete(b.images, container.Name)
		}
		if same := func(has, wanted corev1.ResourceList) bool {
			return !slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), func(name corev1.ResourceName) bool {
				amount, ok := has[name]
				return !ok || amount.Cmp(wanted[name]) != 0
			})
		}; same(container.Resources.Limits, b.resources[container.Name].Limits) && same(container.Resources.Requests, b.resources[container.Name].Requests) {
			delete(b.resources, container.Name)
		}
	}
	for name, ref := range b.refs {
		left := inplace.RefMetadata{Labels: changedFrom(b.pod.Labels, ref.Labels), Annotations: changedFrom(b.pod.Annotations, ref.Annotations)}
		if b.refs[name] = left; len(left.Labels)+len(left.Annotations) == 0 {
			delete(b.refs, name)
		}
	}
}

// changedFrom returns the wanted values that are missing or different.
func changedFrom(has, wanted map[string]string) map[string]string {
	wanted = maps.Clone(wanted)
	maps.DeleteFunc(wanted, func(key, value string) bool {
		present, ok := has[key]
		return ok && present == value
	})
	if len(wanted) == 0 {
		return nil
	}
	return wanted
}

// refused reports whether I2 does not permit the change.
func (b *modelBatches) refused() bool {
	if !b.gate {
		return false
	}
	before, after := corev1.PodTemplateSpec{}, corev1.PodTemplateSpec{}
	inTurn := slices.ContainsFunc(b.pod.Spec.Containers, func(c corev1.Container) bool { _, ok := b.priority(c); return ok })
	for _, container := range b.pod.Spec.Containers {
		before.Spec.Containers = append(before.Spec.Containers, container)
		amounts := b.resources[container.Name]
		for name, amount := range amounts.Limits {
			if _, ok := container.Resources.Limits[name]; ok {
				continue
			}
			if inTurn {
				return true
			}
			if _, ok := container.Resources.Requests[name]; !ok { // the request follows, as in a pod that is new
				amounts.Requests = withAmounts(amounts.Requests, corev1.ResourceList{name: amount})
				b.resources[container.Name] = amounts
			}
		}
		for name := range amounts.Requests {
			if _, ok := container.Resources.Requests[name]; !ok && inTurn {
				return true
			}
		}
		container.Resources.Limits = withAmounts(container.Resources.Limits, amounts.Limits)
		container.Resources.Requests = withAmounts(container.Resources.Requests, amounts.Requests)
		after.Spec.Containers = append(after.Spec.Containers, container)
	}
	return modelQOS(before, 1<<qosClassFixed) != modelQOS(after, 1<<qosClassFixed)
}

// withAmounts returns a copy of the list with the given amounts of cpu and memory.
func withAmounts(list, amounts corev1.ResourceList) corev1.ResourceList {
	list = maps.Clone(list)
	for name, amount := range amounts {
		if list == nil {
			list = corev1.ResourceList{}
		}
		if name == "cpu" || name == "memory" {
			list[name] = amount
		}
	}
	return list
}
