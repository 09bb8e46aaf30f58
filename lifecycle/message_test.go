package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
)

const (
	head   = `{"metadata":{"uid":"u-1","resourceVersion":"7"},"status":{"conditions":[`
	tail   = `]}}`
	stamp  = `"lastTransitionTime":"2026-01-15T12:00:00Z"`
	mineIn = `{\"userAgent\":\"me\",\"key\":\"k\"}`
)

// False, and Ready with it.
const unreadyToo = `,{"type":"Ready","status":"False",` + stamp +
	`,"reason":"ReadinessGatesNotReady","message":"readiness gate \"KruisePodReady\" is not True"}`

func TestNotReadyL4(t *testing.T) {
	mine := lifecycle.Message{UserAgent: "me", Key: "k"}
	const mineText = `{"userAgent":"me","key":"k"}`
	with := func(status corev1.ConditionStatus, message string, more ...corev1.PodCondition) *corev1.Pod {
		p := gatedPod(more...)
		setReadiness(p, status, message)
		return p
	}
	noGate := with(corev1.ConditionTrue, "")
	noGate.Spec.ReadinessGates = noGate.Spec.ReadinessGates[:1]
	tests := []struct {
		name, why  string
		pod        *corev1.Pod
		set, clear string // patches, "" for none
		unreadable bool
	}{
		{name: "nil", why: "no pod, nothing to do"},
		{name: "no gate", why: "the condition would have no effect", pod: noGate},
		{
			name: "no condition", why: "it is begun with the message; there is nothing to take back",
			pod: gatedPod(),
			set: head + `{"type":"KruisePodReady","status":"False",` + stamp + `,"message":"[` + mineIn + `]"}` + tail,
		},
		{
			name: "ready", why: "the Ready condition turns False together with ours",
			pod: with(corev1.ConditionTrue, "", ready(noon.Add(-time.Hour))),
			set: head + `{"type":"KruisePodReady","status":"False",` + stamp + `,"message":"[` + mineIn + `]"}` + unreadyToo + tail,
		},
		{
			name: "not ready", why: "a Ready condition that is not True is the kubelet's",
			pod: with(corev1.ConditionTrue, "[]", notReady(noon)),
			set: head + `{"type":"KruisePodReady","status":"False",` + stamp + `,"message":"[` + mineIn + `]"}` + tail,
		},
		{
			name: "there", why: "it says so already; taken out, the last one makes the condition True, and the list stays a list",
			pod:   with(corev1.ConditionFalse, "["+mineText+"]"),
			clear: head + `{"type":"KruisePodReady","status":"True",` + stamp + `,"message":"[]"}` + tail,
		},
		{
			name: "there, but True", why: "a list that is not empty means False",
			pod:   with(corev1.ConditionTrue, "["+mineText+"]"),
			set:   head + `{"type":"KruisePodReady","status":"False",` + stamp + `,"message":"[` + mineIn + `]"}` + tail,
			clear: head + `{"type":"KruisePodReady","status":"True","message":"[]"}` + tail,
		},
		{
			name: "twice", why: "both go",
			pod:   with(corev1.ConditionFalse, "["+mineText+","+mineText+"]"),
			clear: head + `{"type":"KruisePodReady","status":"True",` + stamp + `,"message":"[]"}` + tail,
		},
		{
			name: "beside others", why: "others keep their fields, sorted by user agent and key as OpenKruise does; the time of a status that stays is kept",
			pod: with(corev1.ConditionFalse, `[{"userAgent":"zoo","key":"1"},{"userAgent":"me","key":"z"},{"userAgent":"bar","key":"2","since":3}]`),
			set: head + `{"type":"KruisePodReady","status":"False","message":"[{\"userAgent\":\"bar\",\"key\":\"2\",\"since\":3},` +
				mineIn + `,{\"userAgent\":\"me\",\"key\":\"z\"},{\"userAgent\":\"zoo\",\"key\":\"1\"}]"}` + tail,
		},
		{
			name: "there beside others", why: "the condition stays False for the other one",
			pod:   with(corev1.ConditionFalse, `[{"userAgent":"zoo","key":"1"},`+mineText+`]`, ready(noon)),
			clear: head + `{"type":"KruisePodReady","status":"False","message":"[{\"userAgent\":\"zoo\",\"key\":\"1\"}]"}` + tail,
		},
		{
			name: "other key", why: "user agent and key both count", pod: with(corev1.ConditionFalse, `[{"userAgent":"me","key":"K"}]`),
			set: head + `{"type":"KruisePodReady","status":"False","message":"[{\"userAgent\":\"me\",\"key\":\"K\"},` + mineIn + `]"}` + tail,
		},
		{
			name: "Unknown", why: "anything but False is not False",
			pod: with(corev1.ConditionUnknown, ""),
			set: head + `{"type":"KruisePodReady","status":"False",` + stamp + `,"message":"[` + mineIn + `]"}` + tail,
		},
		{
			name: "null", why: "no list is an empty list", pod: with(corev1.ConditionFalse, "null"),
			set: head + `{"type":"KruisePodReady","status":"False","message":"[` + mineIn + `]"}` + tail,
		},
		{name: "prose", why: "not JSON: writing would lose it", pod: with(corev1.ConditionFalse, "drained by hand"), unreadable: true},
		{name: "object", why: "no list", pod: with(corev1.ConditionFalse, mineText), unreadable: true},
		{name: "list of texts", why: "not messages", pod: with(corev1.ConditionFalse, `["me"]`), unreadable: true},
		{name: "wrong type", why: "not a message", pod: with(corev1.ConditionFalse, `[{"userAgent":1}]`), unreadable: true},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.name == "" || test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a name of its own and a reason", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			before := test.pod.DeepCopy()
			check := func(what string, patches []lifecycle.Patch, err error, want string) {
				t.Helper()
				if errors.Is(err, lifecycle.ErrMessages) != test.unreadable || err != nil != test.unreadable {
					t.Errorf("%s: error %v: %s", what, err, test.why)
				}
				got := ""
				for _, p := range patches {
					got += string(p.Data)
					if p.Type != types.StrategicMergePatchType || p.Subresource != "status" {
						t.Errorf("%s: %q patch of %q", what, p.Type, p.Subresource)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s\n%s", what, test.why, diff)
				}
			}
			patches, err := lifecycle.SetNotReady(test.pod, mine, noon)
			check("set", patches, err, test.set)
			patches, err = lifecycle.ClearNotReady(test.pod, mine, noon)
			check("clear", patches, err, test.clear)
			if diff := cmp.Diff(before, test.pod); diff != "" {
				t.Errorf("the pod was written:\n%s", diff)
			}
		})
	}
}

// Two writers read the same pod. The second one's patch must fail, not lose the first one's message.
func TestConcurrentWritersL4(t *testing.T) {
	for _, begun := range []bool{true, false} {
		pod := gatedPod()
		if begun {
			setReadiness(pod, corev1.ConditionTrue, "")
		}
		first, _ := lifecycle.SetNotReady(pod, theirs, noon)
		second, _ := lifecycle.SetNotReady(pod, ours[0], noon)
		begin := lifecycle.Hooks{}.Next(pod, lifecycle.Keep, true).Patches(pod, noon)
		if (len(begin) == 0) != begun {
			t.Fatalf("begun %v: %d patches to begin", begun, len(begin))
		}
		pod = mustSend(t, pod, first...)
		for _, late := range [][]lifecycle.Patch{second, begin} {
			if _, err := send(pod, late...); err == nil && len(late) > 0 {
				t.Errorf("begun %v: a patch made of the old pod was accepted", begun)
			}
		}
		again, _ := lifecycle.SetNotReady(pod, ours[0], noon)
		pod = mustSend(t, pod, again...)
		if got, want := messages(t, pod), []lifecycle.Message{theirs, ours[0]}; !sameMessages(got, want) {
			t.Errorf("begun %v: %v, want %v", begun, got, want)
		}
	}
}

func TestUnfinishedAndBegin(t *testing.T) {
	fresh := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := gatedPod(ready(noon))
		edit(p)
		return p
	}
	told := func(status corev1.ConditionStatus, message string) *corev1.Pod {
		return fresh(func(p *corev1.Pod) { setReadiness(p, status, message) })
	}
	tests := []struct {
		name, why string
		pod       *corev1.Pod
		want      bool
		mark      lifecycle.Mark
	}{
		{"nil", "no pod", nil, false, lifecycle.KeepMark},
		{"no gate", "nothing depends on the condition",
			fresh(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }), false, lifecycle.KeepMark},
		{"no gate, message", "nor on a message in it",
			fresh(func(p *corev1.Pod) { setMessages(p, ours[0]); p.Spec.ReadinessGates = nil }), false, lifecycle.KeepMark},
		{"missing", "without the condition the pod never becomes ready", fresh(func(*corev1.Pod) {}), true, lifecycle.BeginMark},
		{"missing, deleted", "it will not become ready again", fresh(func(p *corev1.Pod) {
			at := metav1.NewTime(noon)
			p.DeletionTimestamp = &at
		}), false, lifecycle.KeepMark},
		{"missing, failed", "it will not become ready again",
			fresh(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), false, lifecycle.KeepMark},
		{"there", "nothing to do", told(corev1.ConditionTrue, ""), false, lifecycle.KeepMark},
		{"False without message", "somebody else's", told(corev1.ConditionFalse, ""), false, lifecycle.KeepMark},
		{"empty list", "as OpenKruise leaves it", told(corev1.ConditionTrue, "[]"), false, lifecycle.KeepMark},
		{"theirs", "not ours to take back", told(corev1.ConditionFalse, `[{"userAgent":"x","key":"preDeleteHook"}]`), false, lifecycle.KeepMark},
		{"Lifecycle, other key", "not ours to take back", told(corev1.ConditionFalse, `[{"userAgent":"Lifecycle","key":"x"}]`), false, lifecycle.KeepMark},
		{"preDelete", "left over", told(corev1.ConditionFalse, `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`), true, lifecycle.ClearMark},
		{"preUpdate", "left over", told(corev1.ConditionFalse, `[{"userAgent":"Lifecycle","key":"preUpdateHook"}]`), true, lifecycle.ClearMark},
		{"preNormal", "left over", told(corev1.ConditionFalse, `[{"userAgent":"Lifecycle","key":"preNormalHook"}]`), true, lifecycle.ClearMark},
		{"unreadable", "left alone, and reported", told(corev1.ConditionFalse, "?"), false, lifecycle.UnreadableMark},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := lifecycle.Unfinished(test.pod); got != test.want {
				t.Errorf("Unfinished = %v: %s", got, test.why)
			}
			step := lifecycle.Hooks{}.Next(test.pod, lifecycle.Keep, true)
			if step.Mark != test.mark {
				t.Errorf("mark %v, want %v: %s", step.Mark, test.mark, test.why)
			}
			if got := len(step.Patches(test.pod, noon)) == 1; got != test.want || step.Changes() != test.want {
				t.Errorf("a patch: %v, changes: %v; %s", got, step.Changes(), test.why)
			}
			if step := (lifecycle.Hooks{}).Next(test.pod, lifecycle.Delete, true); step.Mark != lifecycle.KeepMark {
				t.Errorf("mark %v on a pod that goes at once", step.Mark)
			}
		})
	}
	pod := fresh(func(*corev1.Pod) {})
	begin := lifecycle.Hooks{}.Next(pod, lifecycle.Keep, true).Patches(pod, noon)
	if got, want := string(begin[0].Data), head+`{"type":"KruisePodReady","status":"True",`+stamp+`}`+tail; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestUnmark: the messages of all three hooks go at once, those of others stay, and what cannot be read is left alone.
func TestUnmark(t *testing.T) {
	hook := func(key string) lifecycle.Message { return lifecycle.Message{UserAgent: "Lifecycle", Key: key} }
	other := lifecycle.Message{UserAgent: "me", Key: "k"}
	tests := []struct {
		name, why string
		messages  []lifecycle.Message
		want      []lifecycle.Message
		status    corev1.ConditionStatus
		patches   int
	}{
		{"none", "there is nothing to take out", nil, nil, corev1.ConditionFalse, 0},
		{"another's", "it is not a hook's", []lifecycle.Message{other}, []lifecycle.Message{other}, corev1.ConditionFalse, 0},
		{"preDelete", "the last message is gone", []lifecycle.Message{hook("preDeleteHook")}, nil, corev1.ConditionTrue, 1},
		{"all of the hooks", "the last message is gone",
			[]lifecycle.Message{hook("preDeleteHook"), hook("preUpdateHook"), hook("preNormalHook")}, nil, corev1.ConditionTrue, 1},
		{"beside another's", "somebody else still wants the pod unready",
			[]lifecycle.Message{hook("preDeleteHook"), other}, []lifecycle.Message{other}, corev1.ConditionFalse, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := gatedPod()
			setReadiness(pod, corev1.ConditionFalse, "")
			if len(tt.messages) > 0 {
				setMessages(pod, tt.messages...)
			}
			patches, err := lifecycle.Unmark(pod, noon)
			if err != nil || len(patches) != tt.patches {
				t.Fatalf("%d patches, error %v, want %d: %s", len(patches), err, tt.patches, tt.why)
			}
			after := mustSend(t, pod, patches...)
			if got := messages(t, after); !sameMessages(got, tt.want) {
				t.Errorf("messages %v, want %v: %s", got, tt.want, tt.why)
			}
			if got := find(after, lifecycle.PodReady).Status; got != tt.status {
				t.Errorf("status %s, want %s: %s", got, tt.status, tt.why)
			}
		})
	}
	pod := gatedPod()
	setReadiness(pod, corev1.ConditionFalse, "{")
	if patches, err := lifecycle.Unmark(pod, noon); patches != nil || !errors.Is(err, lifecycle.ErrMessages) {
		t.Errorf("unreadable messages: %d patches and error %v, want none and ErrMessages", len(patches), err)
	}
	if patches, err := lifecycle.Unmark(nil, noon); patches != nil || err != nil {
		t.Errorf("no pod: %d patches and error %v, want none", len(patches), err)
	}
}
