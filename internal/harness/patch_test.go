package harness_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What a cluster does with the answers of its API server: package apiserver has the tests of what they are.
func TestPatchesOfPods(t *testing.T) {
	tests := []struct {
		name, why, pod, data    string
		events, version, labels string
		fails                   bool
	}{
		{"taken", "the pod is another version then", "p", `{"metadata":{"uid":"pod-p","labels":{"x":"y"}}}`, "12:00:00 patched p on a", "8", "y", false},
		{"empty", "that is a version, too", "p", `{}`, "12:00:00 patched p on a", "8", "", false},
		{"conflict", "somebody was faster", "p", `{"metadata":{"resourceVersion":"6","labels":{"x":"y"}}}`, "12:00:00 refused p on a", "7", "", false},
		{"another pod", "it is gone", "q", `{"metadata":{"labels":{"x":"y"}}}`, "12:00:00 refused q on a", "7", "", false},
		{"invalid", "no planner may ask for that", "p", `{"metadata":{"name":"q","labels":{"x":"y"}}}`, "", "7", "", true},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := rollouttest.Pod("p", rollouttest.OnNode("a"))
			pod.ResourceVersion = "7"
			c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), pod)
			err := c.Apply(rollout.Plan{Patches: []rollout.Patch{{
				Node: "a", Pod: test.pod, UID: types.UID("pod-" + test.pod), Type: types.StrategicMergePatchType, Data: []byte(test.data),
			}}})
			if (err != nil) != test.fails {
				t.Errorf("the error is %v", err)
			}
			got := c.Snapshot().Pods[0]
			if told(c) != test.events || got.ResourceVersion != test.version || got.Labels["x"] != test.labels {
				t.Errorf("%s, version %s, label %q; want %s, %s, %q: %s",
					told(c), got.ResourceVersion, got.Labels["x"], test.events, test.version, test.labels, test.why)
			}
		})
	}
}

// The last patch of a pod says that the ones before were made.
func TestAfterARefusedPatchTheOthersOfThePodAreNotSent(t *testing.T) {
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), rollouttest.Pod("p", rollouttest.OnNode("a")),
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
