package inplace_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// TestLaunchPriorityIsFound among other variables, and is none without its prefix.
func TestLaunchPriorityIsFound(t *testing.T) {
	template := func(version string) *corev1.PodTemplateSpec {
		p := two(version)
		low, odd := &p.Spec.Containers[0], &p.Spec.Containers[2]
		low.Env = append([]corev1.EnvVar{{Name: "A", Value: "b"}}, low.Env...)
		odd.Env = []corev1.EnvVar{barrier(7)}
		odd.Env[0].ValueFrom.ConfigMapKeyRef.Key = "7"
		return p
	}
	pod, _ := begun(t, podOf(template("1"), "v1"), template("1"), template("2"), "v2", start)
	if got := images(pod); got != "low:1 high:2 none:2" {
		t.Errorf("%s: the first batch is the highest priority and those without one", got)
	}
}

// TestSecondUpdateKeepsWhatItDoesNotChange: an image that is still to come does not get lost over a resize.
func TestSecondUpdateKeepsWhatItDoesNotChange(t *testing.T) {
	template := func(version, cpu string) *corev1.PodTemplateSpec {
		p := two(version)
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=8"), Requests: sized("cpu=" + cpu)}
		return p
	}
	pod, _ := begun(t, podOf(template("1", "1"), "v1"), template("1", "1"), template("2", "1"), "v2", start)
	_, state := begun(t, pod, template("2", "1"), template("2", "2"), "v3", start.Add(time.Second))
	if got := state.NextContainerImages["low"]; got != "low:2" {
		t.Errorf("the image of a later batch is %q", got)
	}
	want := map[string]corev1.ResourceRequirements{"low": {Requests: sized("cpu=2")}}
	if diff := cmp.Diff(want, state.NextContainerResources); diff != "" {
		t.Errorf("resources of a later batch (-want +got):\n%s", diff)
	}
	// Only what is named is written, so that the limit stays.
	run(pod, []string{"high", "none"}, start.Add(2*time.Second))
	pod = sent(t, pod)(inplace.Continue(pod, start.Add(3*time.Second)))
	if got := pod.Spec.Containers[0]; got.Image != "low:2" || got.Resources.Limits.Cpu().String() != "8" {
		t.Errorf("%s with a limit of %s", got.Image, got.Resources.Limits.Cpu())
	}
}

// TestStateOfAnotherRevision: what is left of a state that is not of the revision the pod is at, nobody knows.
func TestStateOfAnotherRevision(t *testing.T) {
	pod, _ := begun(t, podOf(two("1"), "v1"), two("1"), two("2"), "v2", start)
	pod.Labels[revisionLabel] = "another"
	third := two("2")
	third.Spec.Containers[2].Image = "none:3"
	_, state := begun(t, pod, two("2"), third, "v3", start.Add(time.Second))
	if len(state.NextContainerImages) > 0 {
		t.Errorf("it is to go on with %v", state.NextContainerImages)
	}
}

// TestLaterResourcesThatThePodLacks come from an annotation only; a patch would add them.
func TestLaterResourcesThatThePodLacks(t *testing.T) {
	template := resized("1", "1")
	pod := podOf(template, "v2")
	pod.Annotations[inplace.StateKey] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z","updateResources":true,` +
		`"containerBatchesRecord":[{"timestamp":"2026-01-15T12:00:00Z","containers":["agent"]}],` +
		`"nextContainerResources":{"agent":{"limits":{"memory":"1Gi"},"requests":{"cpu":"2"}}}}`
	pod = sent(t, pod)(inplace.Continue(pod, start.Add(time.Second)))
	want := corev1.ResourceRequirements{Limits: sized("cpu=8"), Requests: sized("cpu=2")}
	if diff := cmp.Diff(want, pod.Spec.Containers[0].Resources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLargeAmountsOfLaterBatches are read to the last byte, also when they are written as numbers.
func TestLargeAmountsOfLaterBatches(t *testing.T) {
	pod := podOf(agent("agent:1"), "v2")
	pod.Annotations[inplace.StateKey] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z",` +
		`"nextContainerResources":{"agent":{"limits":{"memory":9007199254740993}}}}`
	state, err := inplace.StateOf(pod)
	if err != nil {
		t.Fatal(err)
	}
	got := state.NextContainerResources["agent"].Limits[corev1.ResourceMemory]
	if want := resource.MustParse("9007199254740993"); got.Cmp(want) != 0 {
		t.Errorf("%s, want %s", &got, &want)
	}
}

// TestWaitsAreSorted by container, then by what is waited for.
func TestWaitsAreSorted(t *testing.T) {
	pod, _ := begun(t, podOf(two("1"), "v1"), two("1"), two("2"), "v2", start)
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Ready = false
	}
	var texts []string
	for _, wait := range inplace.Completed(pod).Waits {
		texts = append(texts, wait.Container+" "+wait.Code.String())
	}
	var want []string
	for _, wait := range []inplace.UpdateWait{
		{Container: "high", Code: inplace.NotReady}, {Container: "high", Code: inplace.ImageUnchanged},
		{Container: "low", Code: inplace.NextBatch},
		{Container: "none", Code: inplace.NotReady}, {Container: "none", Code: inplace.ImageUnchanged},
	} {
		want = append(want, wait.Container+" "+wait.Code.String())
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPreparingSinceTheLastBatch: a condition that is False since before the last batch is that batch's.
func TestPreparingSinceTheLastBatch(t *testing.T) {
	for _, test := range []struct {
		name, why string
		after     time.Duration
		want      bool
	}{
		{"before the batch", "the update made it so", 5 * time.Second, false},
		{"at the batch", "the same second is the same step", 10 * time.Second, false},
		{"after the batch", "somebody has begun anew", 15 * time.Second, true},
	} {
		pod := podOf(agent("agent:1"), "v2")
		pod.Annotations[inplace.StateKey] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z",` +
			`"containerBatchesRecord":[{"timestamp":"2026-01-15T12:00:10Z","containers":["agent"]},` +
			`{"timestamp":"2026-01-15T12:00:04Z","containers":["agent"]}]}` // by a clock that is behind
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == lifecycle.InPlaceUpdateReady {
				c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(start.Add(test.after))
			}
		}
		if got := inplace.Preparing(pod); got != test.want {
			t.Errorf("%s: %v: %s", test.name, got, test.why)
		}
	}
}

// TestBeginNamesTheObstacles: the error says what Diff found.
func TestBeginNamesTheObstacles(t *testing.T) {
	changed := agent("agent:1")
	changed.Spec.HostNetwork = true
	_, err := inplace.Compare(agent("agent:1"), changed, inplace.Options{}).Begin(
		podOf(agent("agent:1"), "v1"), to("v2"), inplace.Metadata{}, start)
	if err == nil || !strings.Contains(err.Error(), "spec.hostNetwork") {
		t.Error(err)
	}
}

// TestResourcesOfThePodAsAWhole decide its QoS class alone, also if there is but one of them.
func TestResourcesOfThePodAsAWhole(t *testing.T) {
	burstable, raised := agent("agent:1"), agent("agent:1")
	burstable.Spec.Containers[0].Resources.Requests = sized("cpu=1", "memory=1Gi")
	raised.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=1Gi")
	for _, template := range []*corev1.PodTemplateSpec{burstable, raised} {
		template.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=4")}
	}
	pod := podOf(burstable, "v1")
	pod.Spec.Containers[0].Resources.Limits = sized("cpu=2", "memory=1Gi") // by others, so that the container becomes Guaranteed
	u := inplace.Compare(burstable, raised, inplace.Options{Resize: true})
	target := to("v2")
	if _, err := u.Begin(pod, target, inplace.Metadata{}, start); !errors.Is(err, inplace.ErrObstacle) {
		t.Errorf("on a node that declares nothing: %v", err)
	}
	target.Node = &corev1.Node{Status: corev1.NodeStatus{DeclaredFeatures: []string{"InPlacePodLevelResourcesVerticalScaling"}}}
	if _, err := u.Begin(pod, target, inplace.Metadata{}, start); err != nil {
		t.Error(err)
	}
}

// TestRequestsAloneAreWaitedFor: a container need not have limits for its resize to be worth waiting for.
func TestRequestsAloneAreWaitedFor(t *testing.T) {
	template := func(cpu string) *corev1.PodTemplateSpec {
		p := agent("agent:1")
		p.Spec.Containers[0].Resources.Requests = sized("cpu=" + cpu)
		return p
	}
	pod, _ := begun(t, podOf(template("1"), "v1"), template("1"), template("2"), "v2", start)
	pod.Status.ContainerStatuses[0].Resources = nil
	want := []inplace.UpdateWait{{Container: "agent", Code: inplace.ResourcesUnreported}}
	if diff := cmp.Diff(want, inplace.Completed(pod).Waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLaterBatchWithoutGate: a pod without the readiness gate has no such condition to turn.
func TestLaterBatchWithoutGate(t *testing.T) {
	pod := podOf(agent("agent:1"), "v2")
	pod.Spec.ReadinessGates, pod.Status.Conditions = nil, nil
	pod.Annotations[inplace.StateKey] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z","updateImages":true,` +
		`"nextContainerImages":{"agent":"agent:2"}}`
	step, err := inplace.Continue(pod, start)
	if err != nil || subresources(step) != "/" {
		t.Errorf("%q, %v", subresources(step), err)
	}
}
