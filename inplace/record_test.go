package inplace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// begun carries out the first step of an update and returns the pod and its state.
func begun(
	t *testing.T, pod *corev1.Pod, from, into *corev1.PodTemplateSpec, revision string, at time.Time,
) (*corev1.Pod, *inplace.UpdateState) {
	t.Helper()
	u := inplace.Compare(from, into, inplace.Options{Resize: true, EnvFromMetadata: true})
	pod = sent(t, pod)(u.Begin(pod, to(revision), inplace.Metadata{}, at))
	state, err := inplace.StateOf(pod)
	if err != nil {
		t.Fatal(err)
	}
	return pod, state
}

// resized is agent:<version> with requests of cpu, and of all the cpu that there may be.
func resized(version, cpu string) *corev1.PodTemplateSpec {
	p := agent("agent:" + version)
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=8"), Requests: sized("cpu=" + cpu)}
	return p
}

// TestStateOfAnUpdate: all that is written down of a container, and nothing else.
func TestStateOfAnUpdate(t *testing.T) {
	_, state := begun(t, podOf(resized("1", "1"), "v1"), resized("1", "1"), resized("2", "1"), "v2", start)
	since := metav1.NewTime(start.Add(-minutes(1)))
	want := &inplace.UpdateState{
		Revision: "v2", UpdateTimestamp: metav1.NewTime(start), UpdateImages: true,
		LastContainerStatuses:  map[string]inplace.ContainerStatus{"agent": {ImageID: "id-of-agent:1"}},
		ContainerBatchesRecord: []inplace.Batch{{Timestamp: metav1.NewTime(start), Containers: []string{"agent"}}},
		Records: map[string]inplace.Record{"agent": {
			Timestamp: metav1.NewTime(start), ContainerID: "containerd://0-agent", StartedAt: &since, Image: "agent:1",
		}},
	}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStateOfAContainerThatNeverRan: it has run no image that it could still run.
func TestStateOfAContainerThatNeverRan(t *testing.T) {
	pod := podOf(agent("agent:1"), "v1")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent"}}
	_, state := begun(t, pod, agent("agent:1"), agent("agent:2"), "v2", start)
	if got := state.Records["agent"].Image; got != "" {
		t.Errorf("it is said to run %s", got)
	}
}

// TestStateOfASecondUpdate: while the first is not done, what it recorded of the container holds.
func TestStateOfASecondUpdate(t *testing.T) {
	later := start.Add(time.Minute)
	t.Run("image after image", func(t *testing.T) {
		pod, _ := begun(t, podOf(resized("1", "1"), "v1"), resized("1", "1"), resized("2", "1"), "v2", start)
		_, state := begun(t, pod, resized("2", "1"), resized("3", "1"), "v3", later)
		if got := state.Records["agent"].Image; got != "agent:1" {
			t.Errorf("it still runs agent:1, and is said to run %q", got)
		}
		if !state.UpdateImages || state.UpdateResources || state.UpdateEnvFromMetadata {
			t.Errorf("only images change: %+v", state)
		}
	})
	t.Run("resources after image", func(t *testing.T) {
		pod, _ := begun(t, podOf(resized("1", "1"), "v1"), resized("1", "1"), resized("2", "1"), "v2", start)
		_, state := begun(t, pod, resized("2", "1"), resized("2", "2"), "v3", later)
		if !state.UpdateImages || !state.UpdateResources {
			t.Errorf("the image is not there yet, and the resources change: %+v", state)
		}
		if got := state.LastContainerStatuses["agent"].ImageID; got != "id-of-agent:1" {
			t.Errorf("it still runs the image that it ran before: %q", got)
		}
	})
	t.Run("resources after resources", func(t *testing.T) {
		pod, _ := begun(t, podOf(resized("1", "1"), "v1"), resized("1", "1"), resized("1", "2"), "v2", start)
		pod.Status.ContainerStatuses[0].Resources.Requests = sized("cpu=1")
		_, state := begun(t, pod, resized("1", "2"), resized("1", "3"), "v3", later)
		if state.UpdateImages || len(state.LastContainerStatuses) > 0 {
			t.Errorf("no image changes: %+v", state)
		}
	})
	t.Run("image after resources that are waited for", func(t *testing.T) {
		pod, _ := begun(t, podOf(resized("1", "1"), "v1"), resized("1", "1"), resized("1", "2"), "v2", start)
		pod.Status.ContainerStatuses[0].Resources.Requests = sized("cpu=1")
		_, state := begun(t, pod, resized("1", "2"), resized("2", "2"), "v3", later)
		if got := state.Records["agent"].Image; got != "agent:1" {
			t.Errorf("it runs agent:1, and is said to run %q", got)
		}
	})
	t.Run("image after resources", func(t *testing.T) {
		pod, _ := begun(t, podOf(resized("1", "1"), "v1"), resized("1", "1"), resized("2", "2"), "v2", start)
		run(pod, []string{"agent"}, start.Add(time.Second))
		pod.Status.ContainerStatuses[0].Resources.Requests = sized("cpu=1")
		_, state := begun(t, pod, resized("2", "2"), resized("3", "2"), "v3", later)
		if got := state.Records["agent"].Image; got != "agent:2" {
			t.Errorf("the first update's image runs, and it is said to run %q", got)
		}
	})
	t.Run("both kinds of metadata", func(t *testing.T) {
		template := func(tier, note string) *corev1.PodTemplateSpec {
			p := agent("agent:1")
			p.Labels["tier"], p.Annotations = tier, map[string]string{"note": note}
			p.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.labels['tier']"), fieldRef("metadata.annotations['note']")}
			return p
		}
		want := &inplace.RefMetadata{Labels: map[string]string{"tier": "a"}, Annotations: map[string]string{"note": "1"}}
		for _, between := range [][2]string{{"b", "1"}, {"a", "2"}} {
			first, second := template(between[0], between[1]), template("b", "2")
			pod, _ := begun(t, podOf(template("a", "1"), "v1"), template("a", "1"), first, "v2", start)
			_, state := begun(t, pod, first, second, "v3", later)
			pod.Status.ContainerStatuses = nil // a kubelet that was restarted reports them anew
			if inplace.Completed(pod).Done {
				t.Errorf("by way of %q: done, although nobody knows what runs", between)
			}
			_, unseen := begun(t, pod, first, second, "v3", later)
			if diff := cmp.Diff(want, unseen.Records["agent"].Metadata); diff != "" {
				t.Errorf("by way of %q, what it has read, not reported (-want +got):\n%s", between, diff)
			}
			if diff := cmp.Diff(want, state.Records["agent"].Metadata); diff != "" {
				t.Errorf("by way of %q, what it has read (-want +got):\n%s", between, diff)
			}
		}
	})
}

// TestOnlyTheFirstPatchAsksForTheVersion: the resize has changed it when the patch of the spec comes.
func TestOnlyTheFirstPatchAsksForTheVersion(t *testing.T) {
	pod := podOf(resized("1", "1"), "v1")
	pod.ResourceVersion = "7"
	pod, _ = begun(t, pod, resized("1", "1"), resized("2", "1"), "v2", start)
	pod.ResourceVersion = "9"
	u := inplace.Compare(resized("2", "1"), resized("3", "2"), inplace.Options{Resize: true})
	step, err := u.Begin(pod, to("v3"), inplace.Metadata{}, start.Add(time.Second))
	if err != nil || subresources(step) != "/resize /" {
		t.Fatalf("%s, %v", subresources(step), err)
	}
	for i, patch := range step.Patches {
		if got := strings.Contains(string(patch.Data), `"resourceVersion":"9"`); got != (i == 0) {
			t.Errorf("patch %d asks for the version: %v", i, got)
		}
	}
}

// TestWhatThePodHasAlready is not sent once more, and nothing restarts for it.
func TestWhatThePodHasAlready(t *testing.T) {
	t.Run("resources", func(t *testing.T) {
		pod := podOf(resized("1", "1"), "v1")
		pod.Spec.Containers[0].Resources.Requests = sized("cpu=2")
		step, err := inplace.Compare(resized("1", "1"), resized("2", "2"), inplace.Options{Resize: true}).Begin(
			pod, to("v2"), inplace.Metadata{}, start)
		if err != nil || subresources(step) != "/status /" {
			t.Errorf("%s, %v", subresources(step), err)
		}
	})
	t.Run("request that follows its limit", func(t *testing.T) {
		template := func(cpu string) *corev1.PodTemplateSpec {
			p := agent("agent:1")
			p.Spec.Containers[0].Resources.Limits = sized("cpu="+cpu, "memory=1Gi")
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{
				ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer,
			}}
			return p
		}
		pod := podOf(template("2"), "v1")
		step, err := inplace.Compare(template("1"), template("2"), inplace.Options{Resize: true}).Begin(
			pod, to("v2"), inplace.Metadata{}, start)
		if err != nil || subresources(step) != "/" {
			t.Errorf("%s, %v", subresources(step), err)
		}
	})
	template := func(tier, note string) *corev1.PodTemplateSpec {
		p := agent("agent:1")
		p.Labels["tier"], p.Annotations = tier, map[string]string{"note": note}
		p.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.labels['tier']"), fieldRef("metadata.annotations['note']")}
		return p
	}
	for _, into := range []*corev1.PodTemplateSpec{template("b", "1"), template("a", "2")} {
		pod := podOf(template("a", "1"), "v1")
		pod.Labels["tier"], pod.Annotations["note"] = into.Labels["tier"], into.Annotations["note"]
		step, err := inplace.Compare(template("a", "1"), into, inplace.Options{EnvFromMetadata: true}).Begin(
			pod, to("v2"), inplace.Metadata{}, start)
		if err != nil || subresources(step) != "/" {
			t.Errorf("%v %v: %s, %v", into.Labels, into.Annotations, subresources(step), err)
		}
	}
}

// TestDroppedKeyThatIsNotThere: a null for it would be kept by some clients.
func TestDroppedKeyThatIsNotThere(t *testing.T) {
	old := agent("agent:1")
	old.Labels["gone"], old.Annotations = "x", map[string]string{"gone": "x"}
	pod := podOf(old, "v1")
	delete(pod.Labels, "gone")
	delete(pod.Annotations, "gone")
	step, err := inplace.Compare(old, agent("agent:2"), inplace.Options{}).Begin(pod, to("v2"), inplace.Metadata{}, start)
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range step.Patches {
		if strings.Contains(string(patch.Data), "gone") {
			t.Errorf("%s", patch.Data)
		}
	}
}
