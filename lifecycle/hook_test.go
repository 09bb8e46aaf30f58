package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/lifecycle"
)

type labels map[string]string

func carrying(l labels, finalizers ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: l, Finalizers: finalizers}}
}

func TestHookMatchesL1(t *testing.T) {
	both := &lifecycle.Hook{Labels: labels{"a": "1", "b": "2"}, Finalizers: []string{"x/f", "x/g"}}
	empty := &lifecycle.Hook{Labels: labels{"a": ""}}
	tests := []struct {
		name, why string
		hook      *lifecycle.Hook
		pod       *corev1.Pod
		any, all  bool
	}{
		{"nil hook", "nothing hooks, and nothing is waited for", nil, carrying(nil), false, true},
		{"nil pod", "there is nothing that could match", both, nil, false, false},
		{"nil both", "there is no pod, so nothing is true of it", nil, nil, false, false},
		{"nil pod, no handlers", "not even of a hook without handlers", &lifecycle.Hook{}, nil, false, false},
		{"no handlers", "surprise 10 of the recordings (0088): all of none are there", &lifecycle.Hook{}, carrying(labels{"a": "1"}), false, true},
		{"bare pod", "no handler is there", both, carrying(nil), false, false},
		{"first label", "any one handler hooks", both, carrying(labels{"a": "1"}), true, false},
		{"second label", "any one handler hooks", both, carrying(labels{"b": "2"}), true, false},
		{"other value", "the value counts", both, carrying(labels{"a": "2", "b": "1"}), false, false},
		{"first finalizer", "a finalizer hooks like a label", both, carrying(nil, "x/f"), true, false},
		{"second finalizer", "a finalizer hooks like a label", both, carrying(nil, "x/other", "x/g"), true, false},
		{"labels only", "the finalizers are missing", both, carrying(labels{"a": "1", "b": "2"}), true, false},
		{"finalizers only", "the labels are missing", both, carrying(nil, "x/f", "x/g"), true, false},
		{"all but a label", "every one has to be there", both, carrying(labels{"a": "1"}, "x/f", "x/g"), true, false},
		{"all but a finalizer", "every one has to be there", both, carrying(labels{"a": "1", "b": "2"}, "x/g"), true, false},
		{"all", "others on the pod do not matter", both, carrying(labels{"a": "1", "b": "2", "c": "3"}, "x/g", "x/f", "x/h"), true, true},
		{"empty value missing", "surprise 10 of the recordings (0079): OpenKruise says true, so that such a pod is hooked for ever; here the label has to be there",
			empty, carrying(labels{"b": ""}), false, false},
		{"empty value missing, no labels", "the same for a pod without labels", empty, carrying(nil), false, false},
		{"empty value there", "the label is there, with that value", empty, carrying(labels{"a": ""}), true, true},
		{"empty value, other there", "the value counts", empty, carrying(labels{"a": "x"}), false, false},
		{"duplicates", "a finalizer listed twice counts once",
			&lifecycle.Hook{Finalizers: []string{"x/f", "x/f"}}, carrying(nil, "x/f"), true, true},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.name == "" || test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a name of its own and a reason", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			if got := test.hook.Matches(test.pod); got != test.any {
				t.Errorf("Matches = %v, want %v: %s", got, test.any, test.why)
			}
			if got := test.hook.MatchesAll(test.pod); got != test.all {
				t.Errorf("MatchesAll = %v, want %v: %s", got, test.all, test.why)
			}
		})
	}
}

func TestPending(t *testing.T) {
	hook := &lifecycle.Hook{Labels: labels{"b": "2", "a": "1"}, Finalizers: []string{"x/g", "x/f", "x/g"}}
	hooks := lifecycle.Hooks{PreDelete: hook, InPlaceUpdate: hook, PreNormal: hook}
	pod := carrying(labels{"a": "1", "b": "other"}, "x/g")
	on := []string{"label a=1", "finalizer x/g"}
	missing := []string{"label b=2", "finalizer x/f"}
	tests := []struct {
		name, why string
		hooks     lifecycle.Hooks
		pod       *corev1.Pod
		wait      lifecycle.HookWait
		want      []string
	}{
		{"preDelete", "what is still on the pod blocks", hooks, pod, lifecycle.WaitPreDelete, on},
		{"inPlaceUpdate", "what is still on the pod blocks", hooks, pod, lifecycle.WaitInPlaceUpdate, on},
		{"back", "what is missing is waited for", hooks, pod, lifecycle.WaitUpdated, missing},
		{"preNormal", "what is missing is waited for", hooks, pod, lifecycle.WaitPreNormal, missing},
		{"nothing", "no hook is waited for", hooks, pod, lifecycle.NotWaiting, nil},
		{"completion", "no hook is waited for", hooks, pod, lifecycle.WaitCompletion, nil},
		{"undefined", "a value from elsewhere is no hook", hooks, pod, 99, nil},
		{"nil pod", "nothing to look at", hooks, nil, lifecycle.WaitPreDelete, nil},
		{"no hook", "the hook is gone", lifecycle.Hooks{InPlaceUpdate: hook}, pod, lifecycle.WaitPreDelete, nil},
		{"over", "all are off", hooks, carrying(nil), lifecycle.WaitPreDelete, nil},
		{"empty value", "a missing label does not match the value \"\"",
			lifecycle.Hooks{PreNormal: &lifecycle.Hook{Labels: labels{"a": ""}}}, carrying(nil), lifecycle.WaitPreNormal, []string{"label a="}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, h := range test.hooks.Pending(test.pod, test.wait) {
				got = append(got, h.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q: %s", got, test.want, test.why)
			}
		})
	}
	if !slices.Equal(hook.Finalizers, []string{"x/g", "x/f", "x/g"}) {
		t.Error("Pending sorted the hook itself")
	}
}

func TestNewPods(t *testing.T) {
	mark := &lifecycle.Hook{MarkPodNotReady: true}
	plain := &lifecycle.Hook{Labels: labels{"a": "1"}}
	tests := []struct {
		name, why string
		hooks     lifecycle.Hooks
		gated     bool
		state     lifecycle.State
	}{
		{"none", "a set without hooks has no states", lifecycle.Hooks{}, false, ""},
		{"plain", "no hook marks", lifecycle.Hooks{PreDelete: plain, InPlaceUpdate: plain}, false, ""},
		{"preDelete marks", "any hook needs the gate", lifecycle.Hooks{PreDelete: mark}, true, ""},
		{"inPlaceUpdate marks", "any hook needs the gate", lifecycle.Hooks{InPlaceUpdate: mark}, true, ""},
		{"preNormal marks", "any hook needs the gate; without handlers there is nothing to wait for",
			lifecycle.Hooks{PreNormal: mark}, true, lifecycle.Normal},
		{"preNormal by label", "the new pod waits", lifecycle.Hooks{PreNormal: plain}, false, lifecycle.PreparingNormal},
		{"preNormal by finalizer", "the new pod waits",
			lifecycle.Hooks{PreNormal: &lifecycle.Hook{Finalizers: []string{"x/f"}}}, false, lifecycle.PreparingNormal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.hooks.MarksNotReady(); got != test.gated {
				t.Errorf("MarksNotReady = %v: %s", got, test.why)
			}
			var want []corev1.PodConditionType
			if test.gated {
				want = []corev1.PodConditionType{"KruisePodReady"}
			}
			if got := test.hooks.Gates(); !slices.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("Gates = %v: %s", got, test.why)
			}
			if got := test.hooks.InitialState(); got != test.state {
				t.Errorf("InitialState = %q, want %q: %s", got, test.state, test.why)
			}
		})
	}
}

func TestDeepCopy(t *testing.T) {
	fresh := func() lifecycle.Hooks {
		hook := func() *lifecycle.Hook {
			return &lifecycle.Hook{Labels: labels{"a": "1"}, Finalizers: []string{"x/f"}, MarkPodNotReady: true}
		}
		return lifecycle.Hooks{PreDelete: hook(), InPlaceUpdate: hook(), PreNormal: hook()}
	}
	original := fresh()
	clone := original.DeepCopy()
	if diff := cmp.Diff(original, clone); diff != "" {
		t.Fatal(diff)
	}
	for _, hook := range []*lifecycle.Hook{clone.PreDelete, clone.InPlaceUpdate, clone.PreNormal} {
		hook.Labels["a"], hook.Finalizers[0], hook.MarkPodNotReady = "changed", "changed", false
	}
	if diff := cmp.Diff(fresh(), original); diff != "" {
		t.Errorf("the copy shares memory:\n%s", diff)
	}
	if got := (lifecycle.Hooks{}).DeepCopy(); got != (lifecycle.Hooks{}) {
		t.Errorf("copy of nothing: %+v", got)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name, why string
		hooks     lifecycle.Hooks
		want      []string // paths
	}{
		{"none", "hooks are optional", lifecycle.Hooks{}, nil},
		{"no handlers", "harmless, and OpenKruise accepts it",
			lifecycle.Hooks{PreDelete: &lifecycle.Hook{}, InPlaceUpdate: &lifecycle.Hook{}, PreNormal: &lifecycle.Hook{}}, nil},
		{"good", "keys with and without a prefix, an empty value, a finalizer twice", lifecycle.Hooks{PreDelete: &lifecycle.Hook{
			Labels: labels{"example.com/a": "1", "b": ""}, Finalizers: []string{"example.com/f", "example.com/f", "plain"}}}, nil},
		{"all bad", "every mistake at once, in the order of the hooks, keys and indices", lifecycle.Hooks{
			PreDelete:     &lifecycle.Hook{Labels: labels{"-z": "ok", "": "nokey", "b": "not valid!"}},
			InPlaceUpdate: &lifecycle.Hook{Finalizers: []string{"fine", "", "a/b/c"}},
			PreNormal:     &lifecycle.Hook{Labels: labels{lifecycle.StateLabel: "Normal"}},
		}, []string{
			"lifecycle.preDelete.labels[]", "lifecycle.preDelete.labels[]", "lifecycle.preDelete.labels[-z]", "lifecycle.preDelete.labels[b]",
			"lifecycle.inPlaceUpdate.finalizers[1]", "lifecycle.inPlaceUpdate.finalizers[1]", "lifecycle.inPlaceUpdate.finalizers[2]",
			"lifecycle.preNormal.labels[lifecycle.apps.kruise.io/state]",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, err := range test.hooks.Validate(field.NewPath("lifecycle")) {
				if err.Type != field.ErrorTypeInvalid || err.Detail == "" {
					t.Errorf("%v: want an invalid value, and what is wrong with it", err)
				}
				got = append(got, err.Field)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q: %s", got, test.want, test.why)
			}
		})
	}
	if got := (lifecycle.Hooks{PreDelete: &lifecycle.Hook{Finalizers: []string{""}}}).Validate(nil); len(got) == 0 {
		t.Error("without a path mistakes go unnoticed")
	}
}

func TestStrings(t *testing.T) {
	check := func(name string, limit int, text func(int) string) {
		seen := map[string]bool{}
		for i := range limit {
			s := text(i)
			if s == "" || seen[s] || len(s) > 2 && s[len(s)-1] == ')' {
				t.Errorf("%s %d is %q", name, i, s)
			}
			seen[s] = true
		}
		if got, want := text(limit), name+"("+string(rune('0'+limit))+")"; got != want {
			t.Errorf("%s beyond the last is %q, want %q", name, got, want)
		}
	}
	check("Intent", 3, func(i int) string { return lifecycle.Intent(i).String() })
	check("HookWait", 6, func(i int) string { return lifecycle.HookWait(i).String() })
	check("Mark", 5, func(i int) string { return lifecycle.Mark(i).String() })
	// Kruise's own words: what is written to pods must never change.
	for got, want := range map[lifecycle.State]string{
		lifecycle.PreparingNormal: "PreparingNormal", lifecycle.Normal: "Normal", lifecycle.PreparingUpdate: "PreparingUpdate",
		lifecycle.Updating: "Updating", lifecycle.Updated: "Updated", lifecycle.PreparingDelete: "PreparingDelete",
		lifecycle.StateLabel: "lifecycle.apps.kruise.io/state", lifecycle.TimestampAnnotation: "lifecycle.apps.kruise.io/timestamp",
	} {
		if string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := lifecycle.StateOf(nil); got != "" {
		t.Errorf("state of no pod: %q", got)
	}
}
