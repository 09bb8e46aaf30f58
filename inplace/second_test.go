package inplace_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// images returns what the containers of a pod should run.
func images(pod *corev1.Pod) string {
	names := []string{}
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Image)
	}
	return strings.Join(names, " ")
}

// A second update while the first has batches left: what it overrules goes, what it does not stays, in their order.
func TestSecondUpdateMidWay(t *testing.T) {
	begin := func(pod *corev1.Pod, from, to *corev1.PodTemplateSpec, revision string, at time.Time) *corev1.Pod {
		u := inplace.Compare(from, to, inplace.Options{})
		return sent(t, pod)(u.Begin(pod, inplace.Target{Revision: revision}, inplace.Metadata{}, at))
	}
	pod := begin(podOf(two("1"), "v1"), two("1"), two("2"), "v2", start)
	if images(pod) != "low:1 high:2 none:2" {
		t.Fatal(images(pod))
	}
	third := two("2")
	third.Spec.Containers[2].Image = "none:3"
	pod = begin(pod, two("2"), third, "v3", start.Add(time.Second))
	if images(pod) != "low:1 high:2 none:3" {
		t.Fatalf("%s: the low one waits for the high one, which is not done", images(pod))
	}
	state, err := inplace.StateOf(pod)
	if err != nil || state.Revision != "v3" || state.NextContainerImages["low"] != "low:2" || len(state.NextContainerImages) != 1 {
		t.Fatalf("%+v, %v", state, err)
	}
	if got := strings.Join(state.PreCheckBeforeNext.ContainersRequiredReady, " "); got != "high none" {
		t.Errorf("before the next batch %s must be ready", got)
	}
	if state.LastContainerStatuses["high"].ImageID != "id-of-high:1" || !state.UpdateImages {
		t.Errorf("%+v: what was recorded of an unfinished container holds", state.LastContainerStatuses)
	}
	run(pod, []string{"none"}, start.Add(2*time.Second))
	if step, err := inplace.Continue(pod, start.Add(3*time.Second)); err != nil || len(step.Patches) > 0 {
		t.Fatalf("the high one is not done: %s, %v", subresources(step), err)
	}
	run(pod, []string{"high"}, start.Add(4*time.Second))
	pod = sent(t, pod)(inplace.Continue(pod, start.Add(5*time.Second)))
	if images(pod) != "low:2 high:2 none:3" {
		t.Fatal(images(pod))
	}
	run(pod, []string{"low"}, start.Add(6*time.Second))
	pod = sent(t, pod)(inplace.Continue(pod, start.Add(7*time.Second)))
	if !inplace.Completed(pod).Done || condition(pod) != corev1.ConditionTrue {
		t.Errorf("%v", inplace.Completed(pod).Waits)
	}
}

// Rolled back before the kubelet has seen anything: nothing restarts, and nothing is waited for.
func TestRollBackUnseen(t *testing.T) {
	pod := podOf(two("1"), "v1")
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Image = "some:other" // the name under which the image was pulled first
	}
	pod = sent(t, pod)(inplace.Compare(two("1"), two("2"), inplace.Options{}).Begin(pod, to("v2"), inplace.Metadata{}, start))
	pod = sent(t, pod)(inplace.Compare(two("2"), two("1"), inplace.Options{}).Begin(pod, to("v1"), inplace.Metadata{}, start.Add(time.Second)))
	if images(pod) != "low:1 high:1 none:1" || pod.Labels[revisionLabel] != "v1" {
		t.Fatal(images(pod))
	}
	if completion := inplace.Completed(pod); !completion.Done {
		t.Fatal(completion.Waits)
	}
	pod = sent(t, pod)(inplace.Continue(pod, start.Add(2*time.Second)))
	if condition(pod) != corev1.ConditionTrue || inplace.Unfinished(pod) {
		t.Error("not ready")
	}
}

// The first update has replaced the container and waits for its resources; the second changes those again. That the
// image was new once must not be waited for a second time.
func TestSecondUpdateWhileResizing(t *testing.T) {
	template := func(image, cpu string) *corev1.PodTemplateSpec {
		p := agent(image)
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=8"), Requests: sized("cpu=" + cpu)}
		return p
	}
	begin := func(pod *corev1.Pod, from, to *corev1.PodTemplateSpec, revision string) *corev1.Pod {
		u := inplace.Compare(from, to, inplace.Options{Resize: true})
		return sent(t, pod)(u.Begin(pod, inplace.Target{Revision: revision}, inplace.Metadata{}, start))
	}
	pod := begin(podOf(template("agent:1", "1"), "v1"), template("agent:1", "1"), template("agent:2", "2"), "v2")
	run(pod, []string{"agent"}, start.Add(time.Second))
	status := &pod.Status.ContainerStatuses[0]
	status.Image, status.ImageID = "first:name", "id-of-agent:1" // another name of the same image
	status.Resources.Requests = sized("cpu=1")
	if waits := inplace.Completed(pod).Waits; len(waits) != 1 || waits[0].Code != inplace.ResourcesDiffer {
		t.Fatal(waits)
	}
	pod = begin(pod, template("agent:2", "2"), template("agent:2", "3"), "v3")
	state, err := inplace.StateOf(pod)
	if err != nil || len(state.LastContainerStatuses) > 0 || !state.UpdateResources || state.UpdateImages || state.UpdateEnvFromMetadata {
		t.Errorf("%+v, %v", state, err)
	}
	pod.Status.ContainerStatuses[0].Resources.Requests = sized("cpu=3")
	if completion := inplace.Completed(pod); !completion.Done {
		t.Error(completion.Waits)
	}
}

// Metadata that a container reads goes back and forth: what counts is what the running container has read.
func TestEnvironmentBackAndForth(t *testing.T) {
	template := func(tier, note string) *corev1.PodTemplateSpec {
		p := agent("agent:1")
		p.Labels["tier"] = tier
		p.Annotations = map[string]string{"note": note}
		p.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.labels['tier']"), fieldRef("metadata.annotations['note']")}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "slow", Image: "slow:" + tier})
		return p
	}
	now := start
	change := func(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
		now = now.Add(time.Second)
		u := inplace.Compare(from, to, inplace.Options{EnvFromMetadata: true})
		return sent(t, pod)(u.Begin(pod, inplace.Target{Revision: "v"}, inplace.Metadata{}, now))
	}
	waits := func(pod *corev1.Pod) bool {
		for _, wait := range inplace.Completed(pod).Waits {
			if wait.Container == "agent" {
				return true
			}
		}
		return false
	}
	pod := podOf(template("a", "1"), "v1")
	pod = change(pod, template("a", "1"), template("b", "1"))
	if !waits(pod) {
		t.Error("the label has changed")
	}
	pod = change(pod, template("b", "1"), template("b", "2"))
	if !waits(pod) {
		t.Error("label and annotation have changed")
	}
	pod = change(pod, template("b", "2"), template("c", "1"))
	if !waits(pod) {
		t.Error("the label has changed twice")
	}
	back := change(pod, template("c", "1"), template("a", "1"))
	if waits(back) {
		t.Error("both are back at what the container has read")
	}
	run(pod, []string{"agent"}, now)
	if waits(pod) {
		t.Error("it has restarted")
	}
	if pod = change(pod, template("c", "1"), template("a", "1")); !waits(pod) {
		t.Error("both are back at what the container of before had read")
	}
	state, err := inplace.StateOf(pod)
	if err != nil || state.Records["agent"].Metadata.Labels["tier"] != "c" || !state.UpdateEnvFromMetadata {
		t.Errorf("%+v, %v", state, err)
	}
}

// What a container reads already needs no restart: somebody else gave the pod the label before the update did.
func TestMetadataThatIsThereAlready(t *testing.T) {
	old := agent("agent:1")
	old.Labels["team"] = "a"
	old.Spec.Containers[0].Env = append(old.Spec.Containers[0].Env, corev1.EnvVar{Name: "TEAM", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['team']"},
	}})
	changed := old.DeepCopy()
	changed.Labels["team"] = "b"
	u := inplace.Compare(old, changed, inplace.Options{EnvFromMetadata: true})
	for value, want := range map[string]string{"a": "/status /", "b": "/"} { // unready if it restarts (I4)
		pod := podOf(old, "v1")
		pod.Labels["team"] = value
		step, err := u.Begin(pod, to("v2"), inplace.Metadata{}, start)
		if err != nil || subresources(step) != want || !step.Begun {
			t.Errorf("of a pod with %q: patches %q, begun %v, error %v; want %q", value, subresources(step), step.Begun, err, want)
			continue
		}
		updated := apply(t, pod, step.Patches...)
		state, err := inplace.StateOf(updated)
		if err != nil || state.UpdateEnvFromMetadata != (value == "a") || updated.Labels["team"] != "b" {
			t.Errorf("of a pod with %q: state %+v, labels %v, error %v", value, state, updated.Labels, err)
		}
	}
}
