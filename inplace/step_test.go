package inplace_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// subresources returns those of a step's patches.
func subresources(step inplace.Step) string {
	names := []string{}
	for _, patch := range step.Patches {
		names = append(names, "/"+patch.Subresource)
	}
	return strings.Join(names, " ")
}

// two returns a template with containers of launch priorities 2 and 1, and one without.
func two(version string) *corev1.PodTemplateSpec {
	p := agent("agent:" + version)
	p.Labels = map[string]string{"app": "agent"}
	p.Spec.Containers = []corev1.Container{
		{Name: "low", Image: "low:" + version, Env: []corev1.EnvVar{barrier(1)}},
		{Name: "high", Image: "high:" + version, Env: []corev1.EnvVar{barrier(2)}},
		{Name: "none", Image: "none:" + version},
	}
	return p
}

// sent begins or goes on and applies all patches.
func sent(t *testing.T, pod *corev1.Pod) func(inplace.Step, error) *corev1.Pod {
	t.Helper()
	return func(step inplace.Step, err error) *corev1.Pod {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return apply(t, pod, step.Patches...)
	}
}

func to(revision string) inplace.Target { return inplace.Target{Revision: revision} }

func TestOrderOfPatches(t *testing.T) {
	old := agent("agent:1")
	old.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=4"), Requests: sized("cpu=1")}
	changed := old.DeepCopy()
	changed.Spec.Containers[0].Image = "agent:2"
	changed.Spec.Containers[0].Resources.Requests = sized("cpu=2")
	changed.Labels["team"] = "infra"
	pod := podOf(old, "v1")

	u := inplace.Compare(old, changed, inplace.Options{Resize: true})
	step, err := u.Begin(pod, to("v2"), inplace.Metadata{Annotations: map[string]string{"team": "x", inplace.StateKey: "mine"}}, start)
	if err != nil || subresources(step) != "/status /resize /" || !step.Begun {
		t.Fatalf("%s, begun %v, %v", subresources(step), step.Begun, err)
	}
	if got, want := string(step.Patches[1].Data), `{"metadata":{"uid":"uid-1"},"spec":{"containers":[{"name":"agent","resources":{"requests":{"cpu":"2"}}}]}}`; got != want {
		t.Errorf("resize patch\n%s\nwant\n%s", got, want)
	}
	if got, want := string(step.Patches[0].Data), `{"metadata":{"uid":"uid-1"},"status":{"conditions":[`+
		`{"type":"InPlaceUpdateReady","status":"False","lastTransitionTime":"2026-01-15T12:00:00Z","reason":"StartInPlaceUpdate","message":""},`+
		`{"type":"Ready","status":"False","lastTransitionTime":"2026-01-15T12:00:00Z","reason":"ReadinessGatesNotReady","message":"condition of readiness gate \"InPlaceUpdateReady\" is \"False\""}]}}`; got != want {
		t.Errorf("status patch\n%s\nwant\n%s", got, want)
	}
	updated := apply(t, pod, step.Patches...)
	state, err := inplace.StateOf(updated)
	if err != nil || state.Revision != "v2" || updated.Annotations["team"] != "x" {
		t.Errorf("the caller's metadata: %v, %v", updated.Annotations, err)
	}
	if !state.UpdateTimestamp.Time.Equal(start) || !state.UpdateImages || !state.UpdateResources || state.UpdateEnvFromMetadata {
		t.Errorf("state %+v", state)
	}

	// A pod that is not ready keeps its Ready condition as it is.
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	if step, err = u.Begin(pod, to("v2"), inplace.Metadata{}, start); err != nil || strings.Contains(string(step.Patches[0].Data), `"Ready"`) {
		t.Errorf("%s, %v", step.Patches[0].Data, err)
	}
}

func TestBeginRefuses(t *testing.T) {
	old, changed := agent("agent:1"), agent("agent:2")
	old.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=4", "memory=1Gi"), Requests: sized("cpu=1")}
	changed.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=5", "memory=1Gi"), Requests: sized("cpu=4")}
	tests := []struct {
		name, why, text string
		change          func(*corev1.Pod)
		is              error
	}{
		{"container", "a patch would add it", "spec.containers[agent]: running pods lack the container", func(p *corev1.Pod) { p.Spec.Containers[0].Name = "other" }, inplace.ErrObstacle},
		{"limit", "a patch would add it", "limits[cpu]: running pods lack", func(p *corev1.Pod) { delete(p.Spec.Containers[0].Resources.Limits, "cpu") }, inplace.ErrObstacle},
		{"request", "a patch would add it", "requests[cpu]: running pods lack", func(p *corev1.Pod) { delete(p.Spec.Containers[0].Resources.Requests, "cpu") }, inplace.ErrObstacle},
		{"no resize", "the API server refuses it", "its kubelet reports no resources", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Resources = nil }, inplace.ErrObstacle},
		{"state", "nobody knows what is under way", "unreadable", func(p *corev1.Pod) { p.Annotations[inplace.StateKey] = "{" }, inplace.ErrUnreadable},
		{"grace", "nobody knows what is under way", "unreadable", func(p *corev1.Pod) { p.Annotations[inplace.GraceKey] = "{" }, inplace.ErrUnreadable},
	}
	for _, test := range tests {
		pod := podOf(old, "v1")
		test.change(pod)
		step, err := inplace.Compare(old, changed, inplace.Options{Resize: true}).Begin(pod, to("v2"), inplace.Metadata{}, start)
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) || len(step.Patches) > 0 {
			t.Errorf("%s (%s): %v", test.name, test.why, err)
		}
	}
	// Others gave the pod a limit, so that the new request makes it Guaranteed.
	burstable, raised := agent("agent:1"), agent("agent:1")
	burstable.Spec.Containers[0].Resources.Requests = sized("cpu=1", "memory=1Gi")
	raised.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=1Gi")
	limited := podOf(burstable, "v1")
	limited.Spec.Containers[0].Resources.Limits = sized("cpu=2", "memory=1Gi")
	_, err := inplace.Compare(burstable, raised, inplace.Options{Resize: true}).Begin(limited, to("v2"), inplace.Metadata{}, start)
	if !errors.Is(err, inplace.ErrObstacle) || !strings.Contains(err.Error(), "Burstable becomes Guaranteed") {
		t.Error(err)
	}
	if _, err := inplace.Compare(old, old, inplace.Options{}).Begin(podOf(old, "v1"), to(""), inplace.Metadata{}, start); err == nil {
		t.Error("no revision")
	}
	// A pod whose containers do not run yet can be resized: nothing reports.
	pod := podOf(old, "v1")
	pod.Status.ContainerStatuses = nil
	if _, err := inplace.Compare(old, changed, inplace.Options{Resize: true}).Begin(pod, to("v2"), inplace.Metadata{}, start); err != nil {
		t.Error(err)
	}
	pod = podOf(old, "v1")
	pod.Status.ContainerStatuses = append([]corev1.ContainerStatus{{Name: "sidecar", State: running(noon)}}, pod.Status.ContainerStatuses...)
	if _, err := inplace.Compare(old, changed, inplace.Options{Resize: true}).Begin(pod, to("v2"), inplace.Metadata{}, start); err != nil {
		t.Error("one that reports is enough:", err)
	}
}

// TestGracePeriodI4: a pod that restarts is made unready first, and changed when the grace period is over, not a nanosecond earlier.
// Until then it is what it was.
func TestGracePeriodI4(t *testing.T) {
	u := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{GracePeriodSeconds: 10})
	pod := podOf(agent("agent:1"), "v1")
	step, err := u.Begin(pod, to("v2"), inplace.Metadata{}, start)
	if err != nil || subresources(step) != "/status" || step.Begun || !step.Until.Equal(start.Add(10*time.Second)) {
		t.Fatalf("first the pod is made unready, for 10s: %s, %+v, %v", subresources(step), step, err)
	}
	pod = apply(t, pod, step.Patches...)
	if pod.Labels[revisionLabel] != "v1" || !inplace.Preparing(pod) || !inplace.Completed(pod).Done {
		t.Error("the pod is no more what it was")
	}
	if step, err = inplace.Continue(pod, start.Add(minutes(9))); err != nil || len(step.Patches) > 0 {
		t.Errorf("Continue changes a pod in its grace period: %s, %v", subresources(step), err)
	}
	if step, err = u.Begin(pod, to("v2"), inplace.Metadata{}, start.Add(10*time.Second-1)); err != nil || len(step.Patches) > 0 || !step.Until.Equal(start.Add(10*time.Second)) {
		t.Errorf("a nanosecond early nothing is to be done: %+v, %v", step, err)
	}
	if step, err = u.Begin(pod, to("v2"), inplace.Metadata{}, start.Add(10*time.Second)); err != nil || subresources(step) != "/" || !step.Begun || !step.Until.IsZero() {
		t.Errorf("when the period is over the change is to come: %+v, %v", step, err)
	}
	if got := sent(t, pod)(step, nil); inplace.Preparing(got) {
		t.Error("a pod whose change has begun is still said to prepare for it")
	}

	// A negative period is none, and a change that restarts nothing needs none.
	u = inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{GracePeriodSeconds: -10})
	if step, err = u.Begin(podOf(agent("agent:1"), "v1"), to("v2"), inplace.Metadata{}, start); err != nil || subresources(step) != "/status /" {
		t.Errorf("negative: %s, %v", subresources(step), err)
	}
	labelled := agent("agent:1")
	labelled.Labels["team"] = "infra"
	u = inplace.Compare(agent("agent:1"), labelled, inplace.Options{GracePeriodSeconds: 10})
	if step, err = u.Begin(podOf(agent("agent:1"), "v1"), to("v2"), inplace.Metadata{}, start); err != nil || subresources(step) != "/" {
		t.Errorf("metadata: %s, %v", subresources(step), err)
	}

	// Unknown is not False: the period has not begun.
	pod = podOf(agent("agent:1"), "v1")
	pod.Status.Conditions[1].Status = corev1.ConditionUnknown
	u = inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{GracePeriodSeconds: 10})
	if step, err = u.Begin(pod, to("v2"), inplace.Metadata{}, start); err != nil || subresources(step) != "/status" {
		t.Errorf("unknown: %s, %v", subresources(step), err)
	}
}

func TestCancel(t *testing.T) {
	begun := func(pod *corev1.Pod) *corev1.Pod {
		u := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{})
		return sent(t, pod)(u.Begin(pod, to("v2"), inplace.Metadata{}, start))
	}
	unready := func(pod *corev1.Pod, at time.Time) *corev1.Pod {
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == lifecycle.InPlaceUpdateReady {
				c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(at)
			}
		}
		return pod
	}
	base := func() *corev1.Pod { return podOf(agent("agent:1"), "v1") }
	finished := func() *corev1.Pod {
		pod := begun(base())
		run(pod, []string{"agent"}, start.Add(time.Second))
		return sent(t, pod)(inplace.Continue(pod, start.Add(time.Second)))
	}
	tests := []struct {
		name, why string
		pod       *corev1.Pod
		preparing bool
		next      string // the patches of Continue
	}{
		{"at rest", "nothing to take back", base(), false, ""},
		{"made not ready", "and never updated", unready(base(), start), true, ""},
		{"made not ready again", "after an update that is complete", unready(finished(), start.Add(minutes(1))), true, ""},
		{"made not ready in the second of the last patch", "that is the update itself", unready(finished(), start), false, "/status"},
		{"under way", "the spec is patched", begun(base()), false, ""},
		{"no condition", "a new pod", func() *corev1.Pod { p := base(); p.Status.Conditions = nil; return p }(), false, "/status"},
		{"unknown", "not made not ready by us", func() *corev1.Pod {
			p := base()
			p.Status.Conditions[1].Status = corev1.ConditionUnknown
			return p
		}(), false, "/status"},
		{"grace period of Kruise", "the label is written already", func() *corev1.Pod {
			p := unready(base(), start)
			p.Annotations[inplace.StateKey], p.Annotations[inplace.GraceKey] = stateOf("")[inplace.StateKey], `{"revision":"v1","graceSeconds":60}`
			return p
		}(), false, ""},
		{"deleting", "left alone", func() *corev1.Pod {
			p := unready(base(), start)
			p.DeletionTimestamp = &metav1.Time{}
			return p
		}(), false, ""},
		{"no gate", "nobody looks at the condition", func() *corev1.Pod {
			p := base()
			p.Status.Conditions = nil
			p.Spec.ReadinessGates = nil
			return p
		}(), false, ""},
	}
	for _, test := range tests {
		if got := inplace.Preparing(test.pod); got != test.preparing {
			t.Errorf("%s (%s): preparing %v", test.name, test.why, got)
		}
		step, err := inplace.Cancel(test.pod, start.Add(minutes(2)))
		if err != nil || (subresources(step) == "/status") != test.preparing || step.Begun || !step.Until.IsZero() {
			t.Errorf("%s (%s): %s, %v", test.name, test.why, subresources(step), err)
		}
		if test.preparing {
			if got := apply(t, test.pod, step.Patches...); condition(got) != corev1.ConditionTrue || inplace.Preparing(got) {
				t.Errorf("%s: condition %s", test.name, condition(got))
			}
		}
		step, err = inplace.Continue(test.pod, start.Add(30*time.Second))
		if err != nil || subresources(step) != test.next {
			t.Errorf("%s (%s): Continue gives %q, %v", test.name, test.why, subresources(step), err)
		}
	}
	for _, bad := range []map[string]string{{inplace.StateKey: "{"}, {inplace.StateKey: "{}", inplace.GraceKey: "{"}, {inplace.GraceKey: "{}"}} {
		pod := unready(base(), start)
		pod.Annotations = bad
		if _, err := inplace.Cancel(pod, start); !errors.Is(err, inplace.ErrUnreadable) || inplace.Preparing(pod) {
			t.Errorf("%v: %v", bad, err)
		}
		if _, err := inplace.Continue(pod, start); !errors.Is(err, inplace.ErrUnreadable) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if step, err := inplace.Cancel(nil, start); err != nil || len(step.Patches) > 0 || inplace.Preparing(nil) {
		t.Error("no pod")
	}
	if step, err := inplace.Continue(nil, start); err != nil || len(step.Patches) > 0 {
		t.Error("no pod")
	}
	ended := unready(base(), start)
	ended.Status.Phase = corev1.PodFailed
	if step, err := inplace.Cancel(ended, start); err != nil || len(step.Patches) > 0 || inplace.Preparing(ended) {
		t.Error("a pod that has ended is left alone")
	}
}

// Two conditions of the type: one that is not True outranks, as for readiness.
func TestSeveralConditions(t *testing.T) {
	pod := podOf(agent("agent:1"), "v1")
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(start),
	})
	if !inplace.Preparing(pod) || !inplace.Unfinished(pod) {
		t.Error("the first one counts")
	}
}

// A next batch that restarts nothing leaves a ready pod ready; one whose containers have changed already is skipped.
func TestNextBatchOfNothing(t *testing.T) {
	pod := podOf(two("1"), "v2")
	pod.Annotations[inplace.StateKey] = stateOf(`"nextContainerImages":{"low":"low:1"},"updateImages":true`)[inplace.StateKey]
	step, err := inplace.Continue(pod, start)
	if err != nil || subresources(step) != "/" {
		t.Fatalf("%s, %v", subresources(step), err)
	}
	pod = apply(t, pod, step.Patches...)
	if state, err := inplace.StateOf(pod); err != nil || !inplace.Completed(pod).Done || inplace.Unfinished(pod) || len(state.ContainerBatchesRecord) > 0 {
		t.Errorf("%v, %v", pod.Annotations, err)
	}
}
