package inplace_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

type batchesCase struct {
	Input struct {
		FeatureGates         gates
		Pod                  corev1.Pod
		ContainerImages      map[string]string
		ContainerResources   map[string]corev1.ResourceRequirements
		ContainerRefMetadata map[string]inplace.RefMetadata
		MetadataPatch        struct{ Metadata metadataPatch }
	}
	Expect batchesOutcome
}

type batchesOutcome struct {
	batchOutcome
	LaterBatches []batchOutcome
	// AdvancesWhileNotReady says whether the second batch begins although the containers of the first are not ready. Nil: that was
	// not tried.
	AdvancesWhileNotReady   *bool
	CompletedAtEnd          bool
	InPlaceUpdateReadyAtEnd string
	Panic                   string
	// Refused reports whether such an update cannot exist.
	Refused bool
}

// tried reports whether it was tried if the update goes on while containers are not ready. In the recordings that is so for about
// one in two, whatever the case.
func (c *batchesCase) tried() bool { return c.Expect.AdvancesWhileNotReady != nil }

// batchOutcome is a pod after one batch.
type batchOutcome struct {
	UpdateNow, UpdateNext             []string
	ContainersRequiredReadyBeforeNext []string
	PodImages                         map[string]string
	PodResources                      map[string]corev1.ResourceRequirements
	PodLabels, PodAnnotations         map[string]string
	StateAnnotation                   inplace.UpdateState
}

// playBatches begins the update, and does what the kubelet does until nothing changes any more.
func playBatches(t testing.TB, c *batchesCase) any {
	t.Helper()
	in := &c.Input
	pod := in.Pod.DeepCopy()
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	change := podChange{images: in.ContainerImages, refs: in.ContainerRefMetadata, metadata: in.MetadataPatch.Metadata}
	// Without the feature gate Kruise calculates no change of resources.
	if in.FeatureGates.InPlaceWorkloadVerticalScaling {
		change.resources = in.ContainerResources
	}
	gated := slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return gate.ConditionType == lifecycle.InPlaceUpdateReady
	})
	if !gated {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.InPlaceUpdateReady})
	}
	u := change.of(pod, inplace.Options{Resize: true, EnvFromMetadata: true})
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[revisionLabel], pod.Spec.NodeName, pod.UID = "old", "node", "uid"
	step, err := u.Begin(pod, inplace.Target{Revision: "new"}, inplace.Metadata{}, now)
	if errors.Is(err, inplace.ErrObstacle) {
		return batchesOutcome{Refused: true}.normal()
	} else if err != nil {
		t.Fatal(err)
	}
	pod = apply(t, pod, step.Patches...)
	out := batchesOutcome{batchOutcome: observe(t, pod)}
	if c.tried() {
		out.AdvancesWhileNotReady = new(false)
	}
	for range pod.Spec.Containers {
		done := out.batchOutcome
		if n := len(out.LaterBatches); n > 0 {
			done = out.LaterBatches[n-1]
		}
		run(pod, done.UpdateNow, now.Add(time.Second))
		unready := pod.DeepCopy()
		for i := range unready.Status.ContainerStatuses {
			unready.Status.ContainerStatuses[i].Ready = false
		}
		if step, err := inplace.Continue(unready, now); err != nil {
			t.Fatal(err)
		} else if step.Begun {
			out.AdvancesWhileNotReady = new(true)
		}
		if step, err = inplace.Continue(pod, now); err != nil {
			t.Fatal(err)
		}
		pod = apply(t, pod, step.Patches...)
		if !step.Begun {
			break
		}
		out.LaterBatches = append(out.LaterBatches, observe(t, pod))
	}
	out.CompletedAtEnd = inplace.Completed(pod).Done
	if gated {
		out.InPlaceUpdateReadyAtEnd = string(condition(pod))
	}
	return out.normal()
}

// run does what a kubelet does when it brings containers to their spec.
func run(pod *corev1.Pod, containers []string, at time.Time) {
	for _, container := range serving(pod) {
		statuses := &pod.Status.ContainerStatuses
		if container.RestartPolicy != nil {
			statuses = &pod.Status.InitContainerStatuses
		}
		j := slices.IndexFunc(*statuses, func(s corev1.ContainerStatus) bool { return s.Name == container.Name })
		if j < 0 {
			j = len(*statuses)
			*statuses = append(*statuses, corev1.ContainerStatus{Name: container.Name, ImageID: "old-" + container.Name})
		}
		if !slices.Contains(containers, container.Name) {
			continue
		}
		status := &(*statuses)[j]
		status.Image, status.ImageID, status.Ready = container.Image, "id-of-"+container.Image, true
		status.Resources = container.Resources.DeepCopy()
		if status.ContainerID != "" {
			status.ContainerID = fmt.Sprintf("containerd://%d-%s", at.Unix(), container.Name)
		}
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}
	}
}

func condition(pod *corev1.Pod) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == lifecycle.InPlaceUpdateReady {
			return c.Status
		}
	}
	return ""
}

func observe(t testing.TB, pod *corev1.Pod) batchOutcome {
	t.Helper()
	state, err := inplace.StateOf(pod)
	if err != nil || state == nil {
		t.Fatalf("state %v, %v", state, err)
	}
	state.Records = nil // Kruise has no records
	template := templateFrom(pod)
	out := batchOutcome{
		PodImages: map[string]string{}, PodResources: map[string]corev1.ResourceRequirements{},
		PodLabels: template.Labels, PodAnnotations: template.Annotations, StateAnnotation: *state,
	}
	for _, container := range pod.Spec.Containers {
		out.PodImages[container.Name] = container.Image
		out.PodResources[container.Name] = container.Resources
	}
	if n := len(state.ContainerBatchesRecord); n > 0 {
		out.UpdateNow = state.ContainerBatchesRecord[n-1].Containers
	}
	out.UpdateNext = involved(state.NextContainerImages, state.NextContainerRefMetadata, state.NextContainerResources)
	if state.PreCheckBeforeNext != nil {
		out.ContainersRequiredReadyBeforeNext = state.PreCheckBeforeNext.ContainersRequiredReady
	}
	return out
}

// normal makes equal outcomes equal in every field.
func (o batchesOutcome) normal() batchesOutcome {
	o.batchOutcome = o.batchOutcome.normal()
	later := []batchOutcome{}
	for _, b := range o.LaterBatches {
		later = append(later, b.normal())
	}
	o.LaterBatches = later
	return o
}

func (b batchOutcome) normal() batchOutcome {
	for _, list := range []*[]string{&b.UpdateNow, &b.UpdateNext, &b.ContainersRequiredReadyBeforeNext} {
		if *list == nil {
			*list = []string{}
		}
	}
	for _, m := range []*map[string]string{&b.PodLabels, &b.PodAnnotations, &b.PodImages} {
		if *m == nil {
			*m = map[string]string{}
		}
	}
	if len(b.StateAnnotation.LastContainerStatuses) == 0 {
		b.StateAnnotation.LastContainerStatuses = nil
	}
	return b
}

// involved returns the containers that the change is about, sorted.
func involved(images map[string]string, refs map[string]inplace.RefMetadata, resources map[string]corev1.ResourceRequirements) []string {
	names := slices.Concat(slices.Collect(maps.Keys(images)), slices.Collect(maps.Keys(refs)), slices.Collect(maps.Keys(resources)))
	slices.Sort(names)
	return slices.Compact(names)
}
