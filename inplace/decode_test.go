package inplace_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

func TestDiffRevisionsReads(t *testing.T) {
	tests := []struct {
		name, why, template string
		unreadable          string // in the error; empty: readable
	}{
		{"plain", "", `{"spec":{"containers":[{"name":"agent","image":"agent:1"}]}}`, ""},
		{"directive", "how it is applied is not what it is", `{"$patch":"replace","spec":{"containers":[{"name":"agent","image":"agent:1"}]}}`, ""},
		{"empty unknown field", "newer versions add such", `{"spec":{"containers":[{"name":"agent","image":"agent:1","new":{"a":[],"b":{"c":null}}}]}}`, ""},
		{"unknown field", "nobody could tell whether it changed", `{"spec":{"containers":[{"name":"agent","new":{"a":[],"b":1}}]}}`, "field spec.containers[0].new is unknown"},
		{"unknown field of the second", "what one element says is not what all say", `{"spec":{"containers":[{"name":"agent"},{"name":"side","new":1}]}}`, "field spec.containers[1].new is unknown"},
		{"unknown list", "nobody could tell whether it changed", `{"new":[0]}`, "field new is unknown"},
		{"nameless field", "it is no field", `{"":1}`, "unknown"},
		{"field of another case", "the API server does not read it either", `{"Spec":{"hostNetwork":true}}`, "field Spec is unknown"},
		{"inlined member", "belongs to the struct around it", `{"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}]}}`, ""},
		{"wrong type", "not a template", `{"spec":{"containers":7}}`, "containers"},
		{"object for a list", "not a template", `{"spec":{"containers":{"a":1}}}`, "containers"},
		{"list for an object", "not a template", `{"spec":[1]}`, "spec"},
		{"quantity", "", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e-9999"}}}]}}`, ""},
		{"long exponent", "would take without bound", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e-30000000"}}}]}}`, "spec.containers[0].resources.limits[cpu]"},
		{"long exponent as a number", "would take without bound", `{"spec":{"containers":[{"resources":{"limits":{"cpu":1E-30000000}}}]}}`, "limits[cpu]"},
		{"long exponent behind a pointer", "would take without bound", `{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e-30000000"}}]}}`, "sizeLimit"},
		{"long exponent, repeated field", "the second must not hide the first", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e-30000000","cpu":"1"}}}]}}`, ""},
		{"long quantity", "would take long", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"` + strings.Repeat("1", 129) + `"}}}]}}`, "limits[cpu]"},
		{"quantity of the length limit", "just short enough", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"0` + strings.Repeat("0", 126) + `1"}}}]}}`, ""},
		{"exponent of the length limit", "just short enough", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e99999"}}}]}}`, ""},
		{"exponent in a name", "is no quantity", `{"spec":{"containers":[{"name":"1e-30000000"}]}}`, ""},
		{"no template", "", `null`, "no template"},
	}
	for _, test := range tests {
		revision := &appsv1.ControllerRevision{}
		revision.Name = "agent-1"
		revision.Data.Raw = []byte(`{"spec":{"template":` + test.template + `}}`)
		u, err := inplace.DiffRevisions(revision, revision, inplace.Options{})
		switch {
		case test.unreadable == "":
			if err != nil || !u.InPlace() {
				t.Errorf("%s (%s): %v", test.name, test.why, err)
			}
		case !errors.Is(err, inplace.ErrUnreadable) || u != nil || !strings.Contains(err.Error(), test.unreadable) || !strings.Contains(err.Error(), "agent-1"):
			t.Errorf("%s (%s): %v", test.name, test.why, err)
		}
	}
	good := &appsv1.ControllerRevision{}
	good.Data.Raw = []byte(`{"spec":{"template":{}}}`)
	for _, data := range []string{"", "{", "7", `{"spec":{"template":{}}} {}`, `{"spec":{}}`} {
		bad := &appsv1.ControllerRevision{}
		bad.Data.Raw = []byte(data)
		for _, pair := range [][2]*appsv1.ControllerRevision{{bad, good}, {good, bad}} {
			if _, err := inplace.DiffRevisions(pair[0], pair[1], inplace.Options{}); !errors.Is(err, inplace.ErrUnreadable) {
				t.Errorf("%q: %v", data, err)
			}
		}
	}
}

func TestEqual(t *testing.T) {
	base := func() *inplace.Update { return inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{}) }
	if !base().Equal(base()) || base().Equal(nil) || (*inplace.Update)(nil).Equal(base()) || !(*inplace.Update)(nil).Equal(nil) {
		t.Error("Equal")
	}
	for name, change := range map[string]func(*inplace.Update){
		"obstacles": func(u *inplace.Update) { u.Obstacles = append(u.Obstacles, inplace.Obstacle{}) },
		"images":    func(u *inplace.Update) { u.Images = nil },
		"resources": func(u *inplace.Update) { u.Resources = append(u.Resources, inplace.ResourceChange{}) },
		"labels":    func(u *inplace.Update) { u.Labels = append(u.Labels, inplace.MetadataChange{}) },
		"annotations": func(u *inplace.Update) {
			u.Annotations = append(u.Annotations, inplace.MetadataChange{})
		},
		"env": func(u *inplace.Update) { u.Env = append(u.Env, inplace.EnvReference{}) },
	} {
		u := base()
		change(u)
		if u.Equal(base()) || base().Equal(u) {
			t.Errorf("other %s", name)
		}
	}
}

// The state survives being written and read, in Kruise's form.
func TestStateRoundTrip(t *testing.T) {
	const kruise = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z","lastContainerStatuses":{"a":{"imageID":"x"}},` +
		`"updateEnvFromMetadata":true,"updateResources":true,"updateImages":true,"nextContainerImages":{"a":"a:2"},` +
		`"nextContainerRefMetadata":{"a":{"labels":{"k":"v"},"annotations":{"k":"v"}}},` +
		`"nextContainerResources":{"a":{"limits":{"cpu":"2"},"requests":{"memory":"1Gi"}}},` +
		`"preCheckBeforeNext":{"containersRequiredReady":["a"]},` +
		`"containerBatchesRecord":[{"timestamp":"2026-01-15T12:00:00Z","containers":["a"]}]}`
	pod := agentPod()
	pod.Annotations = map[string]string{inplace.StateKey: kruise}
	state, err := inplace.StateOf(pod)
	if err != nil || text(state) != kruise {
		t.Errorf("%s, %v", text(state), err)
	}
	if state, err := inplace.StateOf(nil); state != nil || err != nil {
		t.Error("no pod")
	}
	if state, err := inplace.StateOf(&corev1.Pod{}); state != nil || err != nil {
		t.Error("no annotation")
	}
}

// Whatever the annotations say: no panic, no endless reading, the same answer twice, and nothing done to what is unclear.
func FuzzAnnotations(f *testing.F) {
	f.Add(stateOf(lastOne)[inplace.StateKey], "")
	f.Add(stateOf(`"nextContainerResources":{"agent":{"limits":{"cpu":"1e-30000000","cpu":"1"}}}`)[inplace.StateKey], "")
	f.Add(stateOf(`"updateEnvFromMetadata":true,"nextContainerImages":{"agent":"a"},"containerBatchesRecord":[{"containers":[""]}]`)[inplace.StateKey], graceSpec(`{"metadata":{"labels":null}}`))
	f.Add(`{"preCheckBeforeNext":{"containersRequiredReady":["x"]},"nextContainerImages":{"agent":""},"daemonplanRecords":{"agent":{"metadata":{},"resized":true}}}`, "{}")
	f.Add("null", "null")
	f.Fuzz(func(t *testing.T, state, grace string) {
		pod := agentPod()
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		pod.Annotations = map[string]string{inplace.StateKey: state}
		if grace != "" {
			pod.Annotations[inplace.GraceKey] = grace
		}
		checkPod(t, pod)
	})
}

var longExponent = regexp.MustCompile(`[eE][-+]?[0-9]{5}`)

// Any pod at all.
func FuzzPods(f *testing.F) {
	f.Add([]byte(text(agentPod())))
	f.Add([]byte(text(kruiseGrace(graceSpec(`{}`)))))
	f.Add([]byte(`{"spec":{"containers":[{},{}],"readinessGates":[{"conditionType":"InPlaceUpdateReady"}]},"status":{"containerStatuses":[{},{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if longExponent.Match(data) {
			t.Skip("reading quantities without bound is not what is tested")
		}
		pod := &corev1.Pod{}
		if json.Unmarshal(data, pod) != nil {
			t.Skip("no pod")
		}
		checkPod(t, pod)
	})
}

func checkPod(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := text(pod)
	completion := inplace.Completed(pod)
	if completion.Done != (len(completion.Waits) == 0) || text(completion) != text(inplace.Completed(pod)) {
		t.Errorf("%+v", completion)
	}
	for _, f := range []func(*corev1.Pod, time.Time) (inplace.Step, error){inplace.Continue, inplace.Cancel} {
		step, err := f(pod, noon)
		again, _ := f(pod, noon)
		if text(step) != text(again) || err != nil && (!errors.Is(err, inplace.ErrUnreadable) || len(step.Patches) > 0) {
			t.Errorf("%+v, %v", step, err)
		}
		if (err == nil) && len(step.Patches) > 0 && !inplace.Unfinished(pod) {
			t.Errorf("Unfinished denies %+v", step)
		}
		if unreadable := len(completion.Waits) == 1 && completion.Waits[0].Code == inplace.UnreadableState; unreadable && len(step.Patches) > 0 {
			t.Error("something is done to a pod that cannot be read")
		}
	}
	u := inplace.Compare(agent("agent:1"), two("2"), inplace.Options{})
	if _, err := u.Begin(pod, to("v2"), inplace.Metadata{}, noon); err == nil {
		t.Error("a change with obstacles has begun")
	}
	u = inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{})
	if step, err := u.Begin(pod, to("v2"), inplace.Metadata{}, noon); err != nil && len(step.Patches) > 0 {
		t.Errorf("%+v, %v", step, err)
	}
	_, _ = inplace.Preparing(pod), u.NeedsUnready(pod)
	if _, err := inplace.StateOf(pod); err != nil && !errors.Is(err, inplace.ErrUnreadable) {
		t.Error(err)
	}
	if text(pod) != before {
		t.Error("the pod was written to")
	}
}
