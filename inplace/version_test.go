package inplace_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// A second update that meets an unfinished first one is for the very pod that was seen: what the first brings meanwhile
// would pass for what the second has brought. Only the first patch can say so, because each changes the pod's version.
func TestSecondUpdateIsForThePodThatWasSeen(t *testing.T) {
	old, first, second := agent("agent:1"), agent("agent:2"), agent("agent:3")
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	pod := podOf(old, "v1")
	pod.ResourceVersion = "7"

	step, err := inplace.Compare(old, first, inplace.Options{}).Begin(pod, to("v2"), inplace.Metadata{}, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range step.Patches {
		if strings.Contains(string(patch.Data), "resourceVersion") {
			t.Errorf("%s: nothing is under way, so no version is asked for", patch.Data)
		}
	}
	pod = apply(t, pod, step.Patches...)
	step, err = inplace.Compare(first, second, inplace.Options{}).Begin(pod, to("v3"), inplace.Metadata{}, at.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for i, patch := range step.Patches {
		if got, want := strings.Contains(string(patch.Data), `"resourceVersion":"7"`), i == 0; got != want {
			t.Errorf("patch %d asks for the version: %t, want %t: %s", i, got, want, patch.Data)
		}
	}
	if len(step.Patches) == 0 {
		t.Error("the second update has no patch")
	}
}

// A container that had not started when its update began may still start with the image of before: its first image ID is
// no sign of the new image.
func TestFirstStartMayBeThatOfTheOldImage(t *testing.T) {
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	pod := podOf(agent("agent:1"), "v1")
	name := pod.Spec.Containers[0].Name
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: name}} // created a moment ago
	step, err := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{}).Begin(pod, to("v2"), inplace.Metadata{}, at)
	if err != nil {
		t.Fatal(err)
	}
	pod = apply(t, pod, step.Patches...)
	started := func(image string, when time.Time) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: name, Image: image, ImageID: "id of " + image, ContainerID: "container of " + image,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(when)}},
		}}
	}
	started("agent:1", at)
	if inplace.Completed(pod).Done {
		t.Error("the container runs agent:1, which was on its way before the update")
	}
	started("agent:2", at)
	if !inplace.Completed(pod).Done {
		t.Error("the container runs agent:2, whenever it started")
	}
	started("mirror.example/agent@sha256:2", at.Add(time.Second))
	if !inplace.Completed(pod).Done {
		t.Error("the container started after the update")
	}
}
