package apiserver_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// An API server changes the part of the pod that the subresource covers, and leaves the rest as it is.
func TestPatchesOfPods(t *testing.T) {
	// The pod has been Ready since a fraction of a second. No patch that leaves the condition as it is may cut the fraction off.
	since := rollouttest.Noon().Add(-1500 * time.Millisecond)
	base := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(),
		rollouttest.Requests(corev1.ResourceCPU, "100m"))), rollouttest.OnNode("a"), rollouttest.Ready(since), objects.Finalizer("x/y"))
	base.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:v1"}}
	tests := []struct {
		name, why, subresource, data string
		// change is applied to a copy of the pod, which is then what the patch is to make of it; nil: a conflict.
		change func(*corev1.Pod)
	}{
		{"empty", "nothing is asked for", "", `{}`, func(*corev1.Pod) {}},
		{
			"labels", "others stay, null drops", "", `{"metadata":{"labels":{"x":"y","app":null}}}`,
			func(p *corev1.Pod) { delete(p.Labels, "app"); p.Labels["x"] = "y" },
		},
		{
			"annotations", "there were none", "", `{"metadata":{"annotations":{"x":"y"}}}`,
			func(p *corev1.Pod) { p.Annotations = map[string]string{"x": "y"} },
		},
		{
			"finalizers", "they are a set", "", `{"metadata":{"finalizers":["x/y","x/z"]}}`,
			func(p *corev1.Pod) { p.Finalizers = []string{"x/y", "x/z"} },
		},
		{
			"image", "containers are found by name", "", `{"spec":{"containers":[{"name":"main","image":"agent:v2"}]}}`,
			func(p *corev1.Pod) { p.Spec.Containers[0].Image = "agent:v2" },
		},
		{
			"image and what stays", "the node is the one it has", "",
			`{"spec":{"nodeName":"a","containers":[{"name":"main","image":"agent:v2"}]}}`,
			func(p *corev1.Pod) { p.Spec.Containers[0].Image = "agent:v2" },
		},
		{
			"image of an init container", "it can change, though nothing runs again", "",
			`{"spec":{"initContainers":[{"name":"init","image":"init:v2"}]}}`,
			func(p *corev1.Pod) { p.Spec.InitContainers[0].Image = "init:v2" },
		},
		{
			"status on the pod itself", "it is dropped", "", `{"status":{"phase":"Failed"}}`, func(*corev1.Pod) {},
		},
		{
			"condition", "it is found by type, and the others keep their instants", "status",
			`{"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"False","lastTransitionTime":"2026-01-01T12:00:00Z"}]}}`,
			func(p *corev1.Pod) {
				for i := range p.Status.Conditions {
					if c := &p.Status.Conditions[i]; c.Type == lifecycle.InPlaceUpdateReady {
						c.Status, c.LastTransitionTime.Time = corev1.ConditionFalse, rollouttest.Noon()
					}
				}
			},
		},
		{
			"new condition", "it is added", "status", `{"status":{"conditions":[{"type":"x","status":"True"}]}}`,
			func(p *corev1.Pod) {
				p.Status.Conditions = append([]corev1.PodCondition{{Type: "x", Status: corev1.ConditionTrue}}, p.Status.Conditions...)
			},
		},
		{
			"reason of the pod", "the rest of the status can change too", "status", `{"status":{"reason":"x"}}`,
			func(p *corev1.Pod) { p.Status.Reason = "x" },
		},
		{
			"labels on status", "they are dropped", "status", `{"metadata":{"labels":{"x":"y"}},"spec":{"hostNetwork":true}}`,
			func(*corev1.Pod) {},
		},
		{
			"resources", "containers are found by name", "resize",
			`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m"}}}]}}`,
			func(p *corev1.Pod) {
				rollouttest.Of(rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "200m")))(p)
				p.Spec.ReadinessGates, p.Spec.InitContainers = base.Spec.ReadinessGates, base.Spec.InitContainers
				p.Labels, p.Finalizers = base.Labels, base.Finalizers
			},
		},
		{
			"image on resize", "it is dropped", "resize",
			`{"metadata":{"labels":{"x":"y"}},"spec":{"containers":[{"name":"main","image":"agent:v2"}]}}`, func(*corev1.Pod) {},
		},
		{"its own UID", "that is what it is for", "", `{"metadata":{"uid":"pod-p"}}`, func(*corev1.Pod) {}},
		{"another UID", "it is a namesake", "", `{"metadata":{"uid":"other","labels":{"x":"y"}}}`, nil},
		{"another UID on status", "it is a namesake there too", "status", `{"metadata":{"uid":"other"}}`, nil},
		{"its version", "nobody was faster", "", `{"metadata":{"resourceVersion":"7"}}`, func(*corev1.Pod) {}},
		{"no version", "whichever it is", "", `{"metadata":{"resourceVersion":""}}`, func(*corev1.Pod) {}},
		{"an older version", "somebody was faster", "status", `{"metadata":{"resourceVersion":"6"}}`, nil},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := base.DeepCopy()
			pod.ResourceVersion = "7"
			before := pod.DeepCopy()
			got, err := apiserver.Patch(pod, strategic(test.subresource, test.data))
			if encoded(t, pod) != encoded(t, before) {
				t.Error("the pod itself was written to")
			}
			if test.change == nil {
				if !errors.Is(err, apiserver.ErrConflict) {
					t.Errorf("the error is %v, want a conflict", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := pod.DeepCopy()
			test.change(want)
			if encoded(t, got) != encoded(t, want) {
				t.Errorf("got\n%s\nwant\n%s", encoded(t, got), encoded(t, want))
			}
			if i := len(got.Status.Conditions) - 1; got.Status.Conditions[i].Type == corev1.PodReady &&
				!got.Status.Conditions[i].LastTransitionTime.Time.Equal(since) {
				t.Errorf("Ready since %v, want %v", got.Status.Conditions[i].LastTransitionTime, since)
			}
		})
	}
}

// JSON cuts instants to seconds. A condition that a patch names unchanged keeps its fraction. A condition that the patch changes
// has the instant of the patch.
func TestConditionsKeepTheirFractions(t *testing.T) {
	since := rollouttest.Noon().Add(-1500 * time.Millisecond) // 11:59:58.5
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, since time.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(since)}
	}
	pod := rollouttest.Pod("p", rollouttest.OnNode("a"))
	pod.Status.Conditions = []corev1.PodCondition{
		condition("first", corev1.ConditionTrue, since), condition("second", corev1.ConditionTrue, since),
	}
	cut := since.Truncate(time.Second)
	tests := []struct {
		name, why string
		patched   []corev1.PodCondition
		want      []time.Time // instants of the conditions that the pod has then
	}{
		{
			"as they are", "nothing has changed",
			[]corev1.PodCondition{condition("first", corev1.ConditionTrue, cut), condition("second", corev1.ConditionTrue, cut)},
			[]time.Time{since, since},
		},
		{
			"one in the same second", "the other is as it was",
			[]corev1.PodCondition{condition("first", corev1.ConditionFalse, cut), condition("second", corev1.ConditionTrue, cut)},
			[]time.Time{cut, since},
		},
		{
			"one later", "the other is as it was",
			[]corev1.PodCondition{
				condition("first", corev1.ConditionTrue, rollouttest.Noon()), condition("second", corev1.ConditionTrue, cut),
			},
			[]time.Time{rollouttest.Noon(), since},
		},
		{
			"a new one", "there was none to go by",
			[]corev1.PodCondition{condition("new", corev1.ConditionTrue, cut), condition("first", corev1.ConditionTrue, cut)},
			[]time.Time{cut, since, since},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": test.patched}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := apiserver.Patch(pod, strategic("status", string(data)))
			if err != nil {
				t.Fatal(err)
			}
			var instants []time.Time
			for _, c := range got.Status.Conditions {
				instants = append(instants, c.LastTransitionTime.Time)
			}
			if !slices.EqualFunc(instants, test.want, time.Time.Equal) {
				t.Errorf("the instants are %v, want %v: %s", instants, test.want, test.why)
			}
		})
	}
}

// A patch of resources that cannot change in a running pod is an error, because no planner may make it.
func TestResizesThatNoServerWouldTake(t *testing.T) {
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "100m"),
		rollouttest.Requests(corev1.ResourceEphemeralStorage, "1Gi"))), rollouttest.OnNode("a"))
	for data, why := range map[string]string{
		`{"requests":{"cpu":null}}`:                                  "a request cannot be removed",
		`{"requests":{"ephemeral-storage":"2Gi"}}`:                   "only cpu and memory can change",
		`{"limits":{"example.com/gpu":"1"}}`:                         "a device cannot be added",
		`{"requests":{"cpu":"200m","ephemeral-storage":"1500Mi"}}`:   "one that can change does not help",
		`{"limits":{"cpu":"200m","memory":"1Gi","hugepages":"2Mi"}}`: "nor do two",
	} {
		_, err := apiserver.Patch(pod, strategic("resize", `{"spec":{"containers":[{"name":"main","resources":`+data+`}]}}`))
		if err == nil {
			t.Errorf("no error for %s: %s", data, why)
		}
	}
}

// A patch that no planner may make is an error other than a conflict.
func TestPatchesThatNoServerWouldTake(t *testing.T) {
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "100m"))),
		rollouttest.OnNode("a"))
	tests := []struct {
		name, why   string
		kind        types.PatchType
		subresource string
		data        string
	}{
		{"no JSON", "nobody can read it", types.StrategicMergePatchType, "", `{`},
		{"no object", "nothing is named", types.StrategicMergePatchType, "", `[]`},
		{"another name", "identity is for good", types.StrategicMergePatchType, "", `{"metadata":{"name":"q"}}`},
		{"another namespace", "identity is for good", types.MergePatchType, "", `{"metadata":{"namespace":"q"}}`},
		{"no UID", "identity is for good", types.MergePatchType, "", `{"metadata":{"uid":null}}`},
		{"no metadata", "identity is for good, there too", types.StrategicMergePatchType, "status", `{"metadata":null}`},
		{"no spec", "only images can change", types.StrategicMergePatchType, "", `{"spec":null}`},
		{"another node", "only images can change", types.StrategicMergePatchType, "", `{"spec":{"nodeName":"b"}}`},
		{"another container", "containers cannot be added", types.StrategicMergePatchType, "", `{"spec":{"containers":[{"name":"new","image":"x"}]}}`},
		{"no container", "nor removed", types.MergePatchType, "", `{"spec":{"containers":[]}}`},
		{"container without its resources", "the list is replaced, and only images can change", types.MergePatchType, "",
			`{"spec":{"containers":[{"name":"main","image":"agent:v2"}]}}`},
		{"volume", "only images can change, whatever else has a name", types.StrategicMergePatchType, "",
			`{"spec":{"volumes":[{"name":"v"}]}}`},
		{"another container on resize", "containers cannot be added", types.StrategicMergePatchType, "resize",
			`{"spec":{"containers":[{"name":"new","image":"x"}]}}`},
		{"no container on resize", "nor removed", types.MergePatchType, "resize", `{"spec":{"containers":[]}}`},
		{"another init container", "init containers cannot be added either", types.StrategicMergePatchType, "", `{"spec":{"initContainers":[{"name":"new"}]}}`},
		{"variable", "only images can change", types.StrategicMergePatchType, "", `{"spec":{"containers":[{"name":"main","env":[{"name":"A"}]}]}}`},
		{"container without name", "nobody knows which it is", types.StrategicMergePatchType, "", `{"spec":{"containers":[{"image":"x"}]}}`},
		{"container named by a number", "it has no such name", types.StrategicMergePatchType, "", `{"spec":{"containers":[{"name":7,"image":"x"}]}}`},
		{"container with more than an image", "only images can change, here as well", types.StrategicMergePatchType, "",
			`{"spec":{"containers":[{"name":"main","image":"x","command":["x"]}]}}`},
		{"image that is a number", "it is a text", types.StrategicMergePatchType, "",
			`{"spec":{"containers":[{"name":"main","image":7}]}}`},
		{"container that is a text", "it has no name", types.StrategicMergePatchType, "", `{"spec":{"containers":["main"]}}`},
		{"finalizer that is an object", "it is a text", types.StrategicMergePatchType, "", `{"metadata":{"finalizers":[{"x":"y"}]}}`},
		{"finalizer that is a number", "it is a text", types.StrategicMergePatchType, "", `{"metadata":{"finalizers":[1]}}`},
		{"label that is a number", "it is a text", types.StrategicMergePatchType, "", `{"metadata":{"labels":{"x":1}}}`},
		{"labels that are a list", "they are a map", types.MergePatchType, "", `{"metadata":{"labels":["x"]}}`},
		{"scheduler that is an object", "it is a text", types.MergePatchType, "", `{"spec":{"schedulerName":{"x":"y"}}}`},
		{"unknown field", "strategic patches are of known types", types.StrategicMergePatchType, "", `{"metadata":{"x":"y"}}`},
		{"labels of the pod itself", "they are its metadata's", types.StrategicMergePatchType, "", `{"labels":{"x":"y"}}`},
		{"unknown field that would be dropped", "it is looked at all the same", types.StrategicMergePatchType, "", `{"status":{"x":"y"}}`},
		{"condition of no type", "nobody knows which it is", types.StrategicMergePatchType, "status", `{"status":{"conditions":[{"type":null}]}}`},
		{"instant that is none", "it cannot be read", types.StrategicMergePatchType, "status", `{"status":{"startTime":"noon"}}`},
		{"directive", "none is simulated", types.StrategicMergePatchType, "", `{"spec":{"$patch":"replace"}}`},
		{"directive in a map", "none is simulated", types.StrategicMergePatchType, "", `{"metadata":{"labels":{"$patch":"delete"}}}`},
		{"list of operations", "no planner writes one", types.JSONPatchType, "", `{}`},
		{"unknown subresource", "there is none", types.StrategicMergePatchType, "scale", `{}`},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			patch := strategic(test.subresource, test.data)
			patch.Type = test.kind
			got, err := apiserver.Patch(pod, patch)
			if err == nil || errors.Is(err, apiserver.ErrConflict) || got != nil {
				t.Errorf("got %v and the error %v: %s", got, err, test.why)
			}
		})
	}
}

// Merge patches replace lists, and drop fields that the type does not have.
func TestMergePatches(t *testing.T) {
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent")), rollouttest.OnNode("a"), objects.Finalizer("x/y"))
	patch := strategic("", `{"metadata":{"finalizers":["x/z"],"labels":{"$x":"y"},"unknown":{"x":"y"}},"spec":{}}`)
	patch.Type = types.MergePatchType
	got, err := apiserver.Patch(pod, patch)
	if err != nil {
		t.Fatal(err)
	}
	want := pod.DeepCopy()
	want.Finalizers, want.Labels["$x"] = []string{"x/z"}, "y"
	if encoded(t, got) != encoded(t, want) {
		t.Errorf("got\n%s\nwant\n%s", encoded(t, got), encoded(t, want))
	}
}

func strategic(subresource, data string) *rollout.Patch {
	return &rollout.Patch{Type: types.StrategicMergePatchType, Subresource: subresource, Data: []byte(data)}
}
