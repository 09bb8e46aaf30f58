package kubelet_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// SeeTo does to one pod what the controllers of users do.
func TestSeeTo(t *testing.T) {
	hooks := lifecycle.Hooks{
		PreDelete:     &lifecycle.Hook{Labels: map[string]string{"d": "1"}, Finalizers: []string{"x/d"}},
		InPlaceUpdate: &lifecycle.Hook{Labels: map[string]string{"u": "1"}, Finalizers: []string{"x/u"}},
		PreNormal:     &lifecycle.Hook{Labels: map[string]string{"n": "1"}},
	}
	hooked := []rollouttest.PodOption{
		rollouttest.PodLabel("d", "1"), objects.Finalizer("x/d"), rollouttest.PodLabel("u", "1"), objects.Finalizer("x/u"),
		objects.Finalizer("other/f"),
	}
	ours, theirs := lifecycle.Message{UserAgent: "Lifecycle", Key: "k"}, lifecycle.Message{UserAgent: "other", Key: "k"}
	in := func(state lifecycle.State, more ...rollouttest.PodOption) []rollouttest.PodOption {
		return append([]rollouttest.PodOption{objects.InState(state)}, more...)
	}
	message := func(text string) rollouttest.PodOption {
		return func(p *corev1.Pod) {
			objects.Gated(lifecycle.PodReady)(p)
			kubelet.SetCondition(p, lifecycle.PodReady, corev1.ConditionFalse, noon()).Message = text
		}
	}
	const all = "11 [x/d x/u other/f]"
	tests := []struct {
		name, why string
		pod       []rollouttest.PodOption
		takeOff   bool
		done      string
		want      string // labels d, u and n, finalizers, and the condition if there is one
	}{
		{"normal", "nothing is asked of anybody", in(lifecycle.Normal), true, "", all},
		{"without state", "nothing is asked of anybody", nil, true, "", all},
		{"to be deleted", "the handlers of preDelete go, no others", in(lifecycle.PreparingDelete), true,
			"label d=1, finalizer x/d", "1 [x/u other/f]"},
		{"to be updated", "the handlers of inPlaceUpdate go, no others", in(lifecycle.PreparingUpdate), true,
			"label u=1, finalizer x/u", "1 [x/d other/f]"},
		{"updated", "the handlers of inPlaceUpdate come back", in(lifecycle.Updated, func(p *corev1.Pod) {
			delete(p.Labels, "u")
			p.Finalizers = []string{"x/d"}
		}), false, "label u=1, finalizer x/u", "11 [x/d x/u]"},
		{"new", "the handlers of preNormal come", in(lifecycle.PreparingNormal), false, "label n=1", "111 [x/d x/u other/f]"},
		{"on its way out", "all finalizers go", in(lifecycle.PreparingUpdate, rollouttest.Terminating(noon())), true,
			"finalizer x/d, finalizer x/u, finalizer other/f", "11 []"},
		{"kept waiting by others", "that is taken back", in(lifecycle.Normal, objects.MarkedNotReady(theirs)), true,
			"condition KruisePodReady", all + " True "},
		{"kept waiting by both", "what the hooks have to say stays", in(lifecycle.Normal, objects.MarkedNotReady(ours, theirs)), true,
			"condition KruisePodReady", all + ` False [{"userAgent":"Lifecycle","key":"k"}]`},
		{"kept waiting by its hooks", "the planner sees to that", in(lifecycle.Normal, objects.MarkedNotReady(ours)), true,
			"", all + ` False [{"userAgent":"Lifecycle","key":"k"}]`},
		{"kept waiting by nobody knows whom", "that is taken back", in(lifecycle.Normal, message("{")), true,
			"condition KruisePodReady", all + " True "},
		{"kept waiting without a message", "that is taken back", in(lifecycle.Normal, message("[]")), true,
			"condition KruisePodReady", all + " True "},
		{"kept waiting by what is no message", "what can be read stays",
			in(lifecycle.Normal, message(`[7,{"userAgent":"Lifecycle","key":"k"}]`)), true,
			"condition KruisePodReady", all + ` False [{"userAgent":"Lifecycle","key":"k"}]`},
		{"not kept waiting", "the gate is open", in(lifecycle.Normal, objects.Gated(lifecycle.PodReady)), true, "", all + " True "},
		{"no gate", "nobody is kept waiting", in(lifecycle.Normal, message("{"), func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }), true,
			"", all + " False {"},
		{"handlers and others", "both are seen to", in(lifecycle.PreparingDelete, objects.MarkedNotReady(theirs)), true,
			"label d=1, finalizer x/d, condition KruisePodReady", "1 [x/u other/f] True "},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := rollouttest.Pod("p", append(hooked, test.pod...)...)
			asked, takeOff := kubelet.Asked(pod, hooks)
			if asked != (test.done != "") || takeOff != test.takeOff {
				t.Errorf("asked %t, to take off %t: %s", asked, takeOff, test.why)
			}
			if done := kubelet.SeeTo(pod, hooks, noon()); done != test.done {
				t.Errorf("done %q, want %q: %s", done, test.done, test.why)
			}
			got := fmt.Sprintf("%s%s%s %v", pod.Labels["d"], pod.Labels["u"], pod.Labels["n"], pod.Finalizers)
			for _, c := range pod.Status.Conditions {
				if c.Type == lifecycle.PodReady {
					got += fmt.Sprintf(" %s %s", c.Status, c.Message)
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s: %s", got, test.want, test.why)
			}
			if asked, _ := kubelet.Asked(pod, hooks); asked {
				t.Error("when all is done, more is asked")
			}
		})
	}
}
