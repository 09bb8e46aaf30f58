package inplace_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// TestSidecar: a sidecar and a container change together, with a toleration that is added (I2, I4, I5). What is kept for Kruise says
// nothing of the sidecar, because Kruise would look for it among the containers.
func TestSidecar(t *testing.T) {
	old := agent("agent:1")
	sidecar(old)
	old.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	changed := old.DeepCopy()
	changed.Spec.InitContainers[0].Image, changed.Spec.Containers[0].Image = "side:2", "agent:2"
	changed.Spec.Tolerations = append(changed.Spec.Tolerations, corev1.Toleration{Key: "b", Operator: corev1.TolerationOpExists})
	pod := podOf(old, "v1")
	pod.Generation, pod.Status.ObservedGeneration = 4, 4
	admitted := corev1.Toleration{Key: "of-admission", Operator: corev1.TolerationOpExists}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, admitted)

	step, err := inplace.Compare(old, changed, inplace.Options{}).Begin(pod, to("v2"), inplace.Metadata{}, start)
	if err != nil || subresources(step) != "/status /" {
		t.Fatalf("%s, %v", subresources(step), err)
	}
	pod = apply(t, pod, step.Patches...)
	if pod.Spec.InitContainers[0].Image != "side:2" || pod.Spec.Containers[0].Image != "agent:2" {
		t.Errorf("images %s and %s", pod.Spec.InitContainers[0].Image, pod.Spec.Containers[0].Image)
	}
	if want := slices.Concat(old.Spec.Tolerations, []corev1.Toleration{admitted}, changed.Spec.Tolerations[1:]); !slices.Equal(pod.Spec.Tolerations, want) {
		t.Errorf("tolerations %v, want %v", pod.Spec.Tolerations, want)
	}
	state, err := inplace.StateOf(pod)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := state.LastContainerStatuses["side"]; ok || !state.UpdateImages || len(state.NextContainerImages) > 0 || state.PreCheckBeforeNext != nil {
		t.Errorf("what Kruise reads names the sidecar: %+v", state)
	}
	if last := state.Records["side"].Last; last == nil || last.ImageID != "id-of-side:1" {
		t.Errorf("the sidecar ran %v", last)
	}
	if state.Generation != 5 {
		t.Errorf("generation %d, want 5", state.Generation)
	}

	waits := func() (of []string) {
		for _, wait := range inplace.Completed(pod).Waits {
			of = append(of, wait.Container)
		}
		return of
	}
	if got := waits(); !slices.Equal(got, []string{"agent", "side"}) {
		t.Errorf("nothing has restarted, but it waits for %v", got)
	}
	run(pod, []string{"agent"}, start.Add(time.Second))
	pod.Status.ObservedGeneration = 5
	if got := waits(); !slices.Equal(got, []string{"side"}) {
		t.Errorf("the sidecar has not restarted, but it waits for %v", got)
	}
	run(pod, []string{"side"}, start.Add(time.Second))
	if got := waits(); len(got) > 0 {
		t.Errorf("all have restarted, but it waits for %v", got)
	}
}
