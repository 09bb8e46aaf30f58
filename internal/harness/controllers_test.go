package harness_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What the controllers of users do about one pod.
func TestControllersSeeToHooks(t *testing.T) {
	spec := rollouttest.Spec("agent",
		rollouttest.PreDeleteHook(lifecycle.Hook{Labels: map[string]string{"d": "1"}, Finalizers: []string{"x/d"}}),
		rollouttest.InPlaceUpdateHook(lifecycle.Hook{Labels: map[string]string{"u": "1"}, Finalizers: []string{"x/u"}}),
		rollouttest.PreNormalHook(objects.MarkPodNotReady(rollouttest.HookLabel("n", "1"))))
	hooked := []rollouttest.PodOption{
		rollouttest.PodLabel("d", "1"), objects.Finalizer("x/d"), rollouttest.PodLabel("u", "1"), objects.Finalizer("x/u"),
		objects.Finalizer("other/f"),
	}
	ours, theirs := lifecycle.Message{UserAgent: "Lifecycle", Key: "k"}, lifecycle.Message{UserAgent: "other", Key: "k"}
	tests := []struct {
		name, why  string
		behavior   harness.Behavior
		pod        []rollouttest.PodOption
		want       string
		labels     string // d, u, n
		finalizers string
	}{
		{"normal", "nothing is asked of anybody", harness.Behavior{}, []rollouttest.PodOption{objects.InState(lifecycle.Normal)},
			"", "11", "[x/d x/u other/f]"},
		{"without state", "nothing is asked of anybody", harness.Behavior{}, nil, "", "11", "[x/d x/u other/f]"},
		{"to be deleted", "the handlers of preDelete go, no others", harness.Behavior{},
			[]rollouttest.PodOption{objects.InState(lifecycle.PreparingDelete)},
			"12:00:02 released p on a (label d=1, finalizer x/d)", "1", "[x/u other/f]"},
		{"to be updated", "the handlers of inPlaceUpdate go, no others", harness.Behavior{},
			[]rollouttest.PodOption{objects.InState(lifecycle.PreparingUpdate)},
			"12:00:02 released p on a (label u=1, finalizer x/u)", "1", "[x/d other/f]"},
		{"updating", "the update is the planner's", harness.Behavior{},
			[]rollouttest.PodOption{objects.InState(lifecycle.Updating)}, "", "11", "[x/d x/u other/f]"},
		{"updated", "missing handlers are put back", harness.Behavior{},
			[]rollouttest.PodOption{objects.InState(lifecycle.Updated), func(p *corev1.Pod) {
				delete(p.Labels, "u")
				p.Finalizers = p.Finalizers[:1]
			}},
			"12:00:02 hooked p on a (label u=1, finalizer x/u)", "11", "[x/d x/u]"},
		{"new", "the handlers of preNormal are put on", harness.Behavior{},
			[]rollouttest.PodOption{objects.InState(lifecycle.PreparingNormal)},
			"12:00:02 hooked p on a (label n=1)", "111", "[x/d x/u other/f]"},
		{"slowly", "the delay is the configured one", harness.Behavior{Hook: time.Minute},
			[]rollouttest.PodOption{objects.InState(lifecycle.PreparingNormal)},
			"12:01:00 hooked p on a (label n=1)", "111", "[x/d x/u other/f]"},
		{"never", "the controller is not there", harness.Behavior{Hook: -1},
			[]rollouttest.PodOption{objects.InState(lifecycle.PreparingDelete)}, "", "11", "[x/d x/u other/f]"},
		{"terminating", "no finalizer is left, and only then the pod goes", harness.Behavior{Stop: time.Second, Hook: time.Minute},
			[]rollouttest.PodOption{rollouttest.Terminating(rollouttest.Noon())},
			"12:01:00 released p on a (finalizer x/d, finalizer x/u, finalizer other/f)\n12:01:00 gone p on a", "", ""},
		{"terminating for long", "the kubelet takes its time too", harness.Behavior{Stop: time.Minute},
			[]rollouttest.PodOption{rollouttest.Terminating(rollouttest.Noon())},
			"12:00:02 released p on a (finalizer x/d, finalizer x/u, finalizer other/f)\n12:01:00 gone p on a", "", ""},
		{"terminating for ever", "nobody takes the finalizers off", harness.Behavior{Hook: -1},
			[]rollouttest.PodOption{rollouttest.Terminating(rollouttest.Noon())}, "", "11", "[x/d x/u other/f]"},
		{"marked by the hook", "that is the planner's to take back", harness.Behavior{},
			[]rollouttest.PodOption{objects.MarkedNotReady(ours)}, "", "11", "[x/d x/u other/f]"},
		{"marked by others too", "they take back what is theirs", harness.Behavior{},
			[]rollouttest.PodOption{objects.MarkedNotReady(theirs, ours)},
			"12:00:02 released p on a (condition KruisePodReady)", "11", "[x/d x/u other/f]"},
		{"marked by others", "then the pod is Ready again", harness.Behavior{},
			[]rollouttest.PodOption{objects.MarkedNotReady(theirs)},
			"12:00:02 released p on a (condition KruisePodReady)\n12:00:05 ready p on a", "11", "[x/d x/u other/f]"},
		{"marked by nobody", "somebody has to look at it", harness.Behavior{},
			[]rollouttest.PodOption{objects.MarkedNotReady()},
			"12:00:02 released p on a (condition KruisePodReady)\n12:00:05 ready p on a", "11", "[x/d x/u other/f]"},
		{"without gate", "the condition has no effect", harness.Behavior{},
			[]rollouttest.PodOption{objects.MarkedNotReady(theirs), rollouttest.Ready(rollouttest.Noon()), func(p *corev1.Pod) {
				p.Spec.ReadinessGates = nil
			}}, "", "11", "[x/d x/u other/f]"},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			options := append([]rollouttest.PodOption{rollouttest.OnNode("a")}, hooked...)
			c, err := harness.NewCluster(spec, rollout.Snapshot{
				Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"),
				Pods: []*corev1.Pod{rollouttest.Pod("p", append(options, test.pod...)...)},
			}, test.behavior)
			if err != nil {
				t.Fatal(err)
			}
			c.Tick(time.Hour)
			if got := told(c); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			for _, p := range c.Snapshot().Pods {
				if got := p.Labels["d"] + p.Labels["u"] + p.Labels["n"]; got != test.labels {
					t.Errorf("labels are %s, want %s", got, test.labels)
				}
				if got := fmt.Sprint(p.Finalizers); got != test.finalizers {
					t.Errorf("finalizers are %s, want %s", got, test.finalizers)
				}
			}
		})
	}
}

// The delay counts from when the pod is in its state, not from when it appeared.
func TestControllersAreAskedAnew(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.PreDeleteHook(rollouttest.HookLabel("d", "1")))
	c, err := harness.NewCluster(spec, rollout.Snapshot{
		Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"),
		Pods: []*corev1.Pod{rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.PodLabel("d", "1"))},
	}, harness.Behavior{})
	if err != nil {
		t.Fatal(err)
	}
	c.Tick(time.Minute)
	send(t, c, `pod {"metadata":{"labels":{"lifecycle.apps.kruise.io/state":"PreparingDelete"}}}`)
	c.Tick(time.Minute)
	if want := "12:01:00 patched p on a\n12:01:02 released p on a (label d=1)"; told(c) != want {
		t.Errorf("got\n%s\nwant\n%s", told(c), want)
	}
}

// Pods with finalizers stay, wherever they are, until somebody takes them off.
func TestFinalizersOfPodsWithoutKubelet(t *testing.T) {
	spec := rollouttest.Spec("agent")
	for name, test := range map[string]struct {
		why, want string
		pod       rollouttest.PodOption
	}{
		"pinned": {
			"the API server removes it with its last finalizer", "12:00:00 deleted p on a\n12:00:02 released p on a (finalizer x/y)\n12:00:02 gone p on a",
			rollouttest.PinnedTo("a"),
		},
		"on a vanished node": {
			"the garbage collector's delete waits as any other",
			"12:00:00 deleted p on z\n12:00:02 released p on z (finalizer x/y)\n12:00:02 collected p on z",
			rollouttest.OnNode("z"),
		},
	} {
		c, err := harness.NewCluster(spec, rollout.Snapshot{
			Now: rollouttest.Noon(), Nodes: []*corev1.Node{rollouttest.Node("a", rollouttest.NotReady())},
			Pods: []*corev1.Pod{rollouttest.Pod("p", test.pod, objects.Finalizer("x/y"))},
		}, harness.Behavior{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(rollout.Plan{Deletes: []rollout.Delete{{Pod: "p", UID: "pod-p"}}}); err != nil {
			t.Fatal(err)
		}
		c.Tick(time.Hour)
		if got := told(c); got != test.want {
			t.Errorf("%s: %s: got\n%s\nwant\n%s", name, test.why, got, test.want)
		}
	}
}
