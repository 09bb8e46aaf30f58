package rollouttest_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What an API server makes of a patch: which part of the pod it changes, and what it leaves as it is.
func TestPatchesOfPods(t *testing.T) {
	// Ready since a fraction of a second: no patch that does not name it may cut that off.
	since := rollouttest.Noon().Add(-1500 * time.Millisecond)
	base := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.InPlace(),
		rollouttest.Requests(corev1.ResourceCPU, "100m"))), rollouttest.OnNode("a"), rollouttest.Ready(since), rollouttest.Finalizer("x/y"))
	base.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:v1"}}
	tests := []struct {
		name, why, subresource, data string
		// change of the pod as it was; nil: refused.
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
			c := newCluster(t, rollouttest.Behavior{}, rollouttest.Nodes("a"), pod)
			patch := rollout.Patch{
				Node: "a", Pod: "p", UID: "pod-p", Type: types.StrategicMergePatchType, Subresource: test.subresource, Data: []byte(test.data),
			}
			if err := c.Apply(rollout.Plan{Patches: []rollout.Patch{patch}}); err != nil {
				t.Fatal(err)
			}
			want, version, happened := pod.DeepCopy(), "7", "12:00:00 refused p on a"
			if test.change != nil {
				test.change(want)
				version, happened = "8", "12:00:00 patched p on a"
			}
			got := c.Snapshot().Pods[0]
			if got.ResourceVersion != version {
				t.Errorf("the version is %s, want %s", got.ResourceVersion, version)
			}
			want.ResourceVersion = version
			if encoded(t, got) != encoded(t, want) || told(c) != happened {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", encoded(t, got), told(c), encoded(t, want), happened)
			}
			if i := len(got.Status.Conditions) - 1; got.Status.Conditions[i].Type == corev1.PodReady &&
				!got.Status.Conditions[i].LastTransitionTime.Time.Equal(since) {
				t.Errorf("Ready since %v, want %v", got.Status.Conditions[i].LastTransitionTime, since)
			}
		})
	}
}

func encoded(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The resources that cannot change in a running pod are refused with an error: no planner may ask for that.
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
		c := newCluster(t, rollouttest.Behavior{}, rollouttest.Nodes("a"), pod)
		err := c.Apply(rollout.Plan{Patches: []rollout.Patch{{
			Pod: "p", UID: "pod-p", Type: types.StrategicMergePatchType, Subresource: "resize",
			Data: fmt.Appendf(nil, `{"spec":{"containers":[{"name":"main","resources":%s}]}}`, data),
		}}})
		if err == nil {
			t.Errorf("no error for %s: %s", data, why)
		}
	}
}

// The last patch of a pod says that the ones before were made.
func TestAfterARefusedPatchTheOthersOfThePodAreNotSent(t *testing.T) {
	c := newCluster(t, rollouttest.Behavior{}, rollouttest.Nodes("a"), rollouttest.Pod("p", rollouttest.OnNode("a")),
		rollouttest.Pod("q", rollouttest.OnNode("a")))
	patch := func(pod, data string) rollout.Patch {
		return rollout.Patch{
			Node: "a", Pod: pod, UID: types.UID("pod-" + pod), Type: types.StrategicMergePatchType, Data: []byte(data),
		}
	}
	err := c.Apply(rollout.Plan{Patches: []rollout.Patch{
		patch("p", `{"metadata":{"resourceVersion":"of old"}}`), patch("p", `{"metadata":{"labels":{"x":"y"}}}`),
		patch("q", `{"metadata":{"labels":{"x":"1"}}}`), patch("q", `{"metadata":{"labels":{"x":"2"}}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "12:00:00 refused p on a\n12:00:00 patched q on a\n12:00:00 patched q on a"; told(c) != want {
		t.Errorf("got\n%s\nwant\n%s", told(c), want)
	}
	if s := c.Snapshot(); s.Pods[0].Labels["x"] != "" || s.Pods[1].Labels["x"] != "2" {
		t.Errorf("labels are %v and %v", s.Pods[0].Labels, s.Pods[1].Labels)
	}
}
