package inplace_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// kruiseGrace returns a pod that Kruise has begun to update with a grace period of 30 s: only its label is new.
func kruiseGrace(spec string) *corev1.Pod {
	template := two("1")
	template.Spec.Containers[2].Resources.Limits = sized("cpu=1")
	pod := podOf(template, "v2")
	pod.Annotations[inplace.StateKey] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z","lastContainerStatuses":null,"updateImages":true}`
	pod.Annotations[inplace.GraceKey] = spec
	pod.Status.Conditions[1].Status, pod.Status.Conditions[1].LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(start)
	return pod
}

func graceSpec(patch string) string {
	return `{"revision":"v2","containerImages":{"low":"low:2","high":"high:2","gone":"gone:2"},"containerResources":{"none":{"limits":{"cpu":"2"}},"low":{"limits":{"cpu":"2"}}},` +
		`"containerRefMetadata":{"none":{"labels":{"read":"2"}}},"metaDataPatch":"` + base64.StdEncoding.EncodeToString([]byte(patch)) + `","graceSeconds":30}`
}

func TestTakeOverGracePeriodOfKruise(t *testing.T) {
	pod := kruiseGrace(graceSpec(`{"metadata":{"labels":{"app":"agent2","foreign":null},"annotations":null}}`))
	step, err := inplace.Continue(pod, start.Add(30*time.Second-1))
	if err != nil || len(step.Patches) > 0 || !step.Until.Equal(start.Add(30*time.Second)) {
		t.Fatalf("within the period: %+v, %v", step, err)
	}
	step, err = inplace.Continue(pod, start.Add(30*time.Second))
	if err != nil || subresources(step) != "/resize /" || !step.Begun {
		t.Fatalf("%s, %v", subresources(step), err)
	}
	pod = apply(t, pod, step.Patches...)
	if images(pod) != "low:1 high:2 none:1" || pod.Labels["app"] != "agent2" || pod.Labels["read"] != "2" || pod.Labels[revisionLabel] != "v2" {
		t.Errorf("%s, %v", images(pod), pod.Labels)
	}
	if _, ok := pod.Labels["foreign"]; ok || pod.Annotations["cni.example.com/ip"] == "" || pod.Annotations[inplace.GraceKey] != "" {
		t.Errorf("%v, %v", pod.Labels, pod.Annotations)
	}
	if limit := pod.Spec.Containers[2].Resources.Limits["cpu"]; limit.String() != "2" {
		t.Errorf("limit %s", limit.String())
	}
	state, err := inplace.StateOf(pod)
	if err != nil || state.NextContainerImages["low"] != "low:2" || len(state.NextContainerImages) != 1 || !state.UpdateTimestamp.Time.Equal(start) {
		t.Errorf("%+v, %v", state, err)
	}

	// Another revision by now: the change is forgotten.
	pod = kruiseGrace(graceSpec(`{}`))
	pod.Labels[revisionLabel] = "v3"
	pod = sent(t, pod)(inplace.Continue(pod, start))
	if _, ok := pod.Annotations[inplace.GraceKey]; ok || images(pod) != "low:1 high:1 none:1" {
		t.Errorf("%s, %v", images(pod), pod.Annotations)
	}
	pod = sent(t, pod)(inplace.Continue(pod, start))
	if condition(pod) != corev1.ConditionTrue {
		t.Error("not ready again")
	}

	// A negative period is over, and a pod that is still ready is made not ready first.
	pod = kruiseGrace(`{"revision":"v2","containerImages":{"none":"none:2"},"graceSeconds":-5}`)
	pod.Status.Conditions[1].Status = corev1.ConditionTrue
	if step, err = inplace.Continue(pod, start); err != nil || subresources(step) != "/status /" {
		t.Errorf("%s, %v", subresources(step), err)
	}
}

// A second update while the grace period of Kruise runs: the label is new, the spec is not. Nothing may be left out.
func TestBeginWithinGracePeriodOfKruise(t *testing.T) {
	third := two("2")
	third.Spec.Containers[2].Image = "none:3"
	third.Labels["app"] = "agent3"
	pod := kruiseGrace(graceSpec(`{"metadata":{"labels":{"app":"agent2","kept":"1"}}}`))
	step, err := inplace.Compare(two("2"), third, inplace.Options{}).Begin(pod, to("v3"), inplace.Metadata{}, start.Add(time.Second))
	pod = sent(t, pod)(step, err)
	state, stateErr := inplace.StateOf(pod)
	if stateErr != nil || images(pod) != "low:1 high:2 none:3" || state.NextContainerImages["low"] != "low:2" {
		t.Errorf("%s, %+v, %v", images(pod), state, stateErr)
	}
	if pod.Labels["app"] != "agent3" || pod.Labels["kept"] != "1" || pod.Labels["read"] != "2" || pod.Annotations[inplace.GraceKey] != "" {
		t.Errorf("%v, %v", pod.Labels, pod.Annotations)
	}
}

// Half-way through an update of Kruise: this package goes on from its state.
func TestTakeOverBatchesOfKruise(t *testing.T) {
	pod := podOf(two("1"), "v2")
	pod.Spec.Containers[1].Image, pod.Spec.Containers[2].Image = "high:2", "none:2"
	delete(pod.Annotations, inplace.StateKey)
	pod.Annotations["inplace-update-state"] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z",` +
		`"lastContainerStatuses":{"high":{"imageID":"id-of-high:1"},"none":{"imageID":"id-of-none:1"}},"updateImages":true,` +
		`"nextContainerImages":{"low":"low:2"},"preCheckBeforeNext":{"containersRequiredReady":["high","none"]},` +
		`"containerBatchesRecord":[{"timestamp":"2026-01-15T12:00:00Z","containers":["high","none"]}]}`
	pod.Status.Conditions[1].Status, pod.Status.Conditions[1].LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(start)
	run(pod, []string{"high", "none"}, start.Add(time.Second))
	pod.Status.ContainerStatuses[2].Ready = false
	if step, err := inplace.Continue(pod, start.Add(minutes(1))); err != nil || len(step.Patches) > 0 {
		t.Errorf("not ready: %s, %v", subresources(step), err)
	}
	pod.Status.ContainerStatuses[2].Ready = true
	pod = sent(t, pod)(inplace.Continue(pod, start.Add(minutes(1))))
	if _, ok := pod.Annotations["inplace-update-state"]; ok || images(pod) != "low:2 high:2 none:2" {
		t.Errorf("%s, %v", images(pod), pod.Annotations)
	}
	state, err := inplace.StateOf(pod)
	if err != nil || len(state.ContainerBatchesRecord) != 2 || len(state.LastContainerStatuses) != 3 || state.PreCheckBeforeNext != nil {
		t.Errorf("%+v, %v", state, err)
	}
	if inplace.Preparing(pod) {
		t.Error("the batch is later than the condition")
	}
}

// An update of Kruise is overtaken: what is known of its unfinished containers is kept.
func TestOvertakeKruise(t *testing.T) {
	template := two("1")
	template.Labels["tier"] = "b"
	for i := range template.Spec.Containers {
		template.Spec.Containers[i].Resources.Requests = sized("cpu=1")
	}
	template.Spec.Containers[2].Env = []corev1.EnvVar{fieldRef("metadata.labels['tier']")}
	changed := template.DeepCopy()
	changed.Spec.Containers[1].Image = "high:2"
	pod := podOf(template, "v2")
	pod.Annotations[inplace.StateKey] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z","lastContainerStatuses":{"low":{"imageID":"id-of-low:1"}},` +
		`"updateEnvFromMetadata":true,"updateResources":true,"updateImages":true,"containerBatchesRecord":[{"timestamp":"2026-01-15T12:00:00Z","containers":["low","none"]}]}`
	pod.Spec.Containers[0].Image = "low:2"
	pod.Spec.Containers[2].Resources.Requests = sized("cpu=2")
	waits := func(pod *corev1.Pod) string {
		names := []string{}
		for _, wait := range inplace.Completed(pod).Waits {
			names = append(names, wait.String())
		}
		return strings.Join(names, "; ")
	}
	const low, none = "container low: it still runs the image of before", "container none: it has not restarted; container none: its resources are not those of the spec yet"
	if got := waits(pod); got != low+"; "+none {
		t.Fatal(got)
	}
	u := inplace.Compare(template, changed, inplace.Options{Resize: true, EnvFromMetadata: true})
	pod = sent(t, pod)(u.Begin(pod, to("v3"), inplace.Metadata{}, start.Add(time.Second)))
	if got := waits(pod); got != "container high: it still runs the image of before; "+low+"; "+none {
		t.Error(got)
	}
	state, err := inplace.StateOf(pod)
	if err != nil || !state.UpdateImages || !state.UpdateResources || !state.UpdateEnvFromMetadata || !state.Records["none"].Timestamp.Time.Equal(start) {
		t.Errorf("%+v, %v", state, err)
	}
	run(pod, []string{"low", "high", "none"}, start.Add(2*time.Second))
	if got := waits(pod); got != "" {
		t.Error(got)
	}
}
