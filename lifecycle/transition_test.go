package lifecycle_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// A pod that another hook has marked as not ready is first said to be asked, and then ready again. Whoever is interrupted in
// between has not made a pod ready that was to be touched because it was not.
func TestPatchesAskBeforeTheMarkGoes(t *testing.T) {
	asking := &lifecycle.Hook{Labels: labels{"ask": "me"}}
	hooks := lifecycle.Hooks{PreDelete: asking, InPlaceUpdate: asking, PreNormal: &lifecycle.Hook{Labels: labels{"new": ""}, MarkPodNotReady: true}}
	for _, test := range []struct {
		intent      lifecycle.Intent
		message     string // left by a hook that marked before
		from, state lifecycle.State
	}{
		{lifecycle.Update, "preNormalHook", lifecycle.PreparingNormal, lifecycle.PreparingUpdate},
		{lifecycle.Delete, "preDeleteHook", lifecycle.Normal, lifecycle.PreparingDelete},
	} {
		intent, state := test.intent, test.state
		pod := gatedPod()
		pod.Labels[lifecycle.StateLabel], pod.Labels["ask"] = string(test.from), "me"
		setMessages(pod, lifecycle.Message{UserAgent: "Lifecycle", Key: test.message})
		for i, want := range []string{"", "status"} {
			step := hooks.Next(pod, intent, false)
			patches := step.Patches(pod, noon)
			if len(patches) != 1 || patches[0].Subresource != want {
				t.Fatalf("%s: step %d has %v, want one patch of %q", state, i+1, patches, want)
			}
			pod = mustSend(t, pod, patches...)
			if got := lifecycle.StateOf(pod); got != state {
				t.Errorf("%s: the state after step %d is %s", state, i+1, got)
			}
		}
		if left := messages(t, pod); len(left) > 0 {
			t.Errorf("%s: the pod is still marked by %v", state, left)
		}
	}
}

// The bytes that are sent, and their order: status first, because each other patch outdates the resource version.
func TestPatches(t *testing.T) {
	hook := func(name string) *lifecycle.Hook {
		return &lifecycle.Hook{
			Labels: labels{name: "on", name + "-2": ""}, Finalizers: []string{"x/" + name, "x/theirs", "x/" + name}, MarkPodNotReady: true,
		}
	}
	hooks := lifecycle.Hooks{PreDelete: hook("d"), InPlaceUpdate: hook("u")}
	pod := func(state lifecycle.State, more labels, finalizers ...string) *corev1.Pod {
		p := gatedPod()
		setReadiness(p, corev1.ConditionTrue, "")
		if state != "" {
			p.Labels[lifecycle.StateLabel] = string(state)
		}
		maps.Copy(p.Labels, more)
		p.Finalizers = finalizers
		return p
	}
	state := func(s string) string {
		return `{"metadata":{"uid":"u-1","labels":{"lifecycle.apps.kruise.io/state":"` + s +
			`"},"annotations":{"lifecycle.apps.kruise.io/timestamp":"2026-01-15T12:00:00Z"}}}`
	}
	marked := func(key string) string {
		return head + `{"type":"KruisePodReady","status":"False",` + stamp + `,"message":"[{\"userAgent\":\"Lifecycle\",\"key\":\"` + key + `\"}]"}` + tail
	}
	unmarked := head + `{"type":"KruisePodReady","status":"True",` + stamp + `,"message":"[]"}` + tail
	waiting := pod(lifecycle.PreparingDelete, nil)
	setMessages(waiting, ours[0])
	bare := pod("", labels{"d": "on"})
	bare.UID, bare.ResourceVersion, bare.Spec.ReadinessGates = "", "", nil
	tests := []struct {
		name, why string
		pod       *corev1.Pod
		intent    lifecycle.Intent
		want      []string // subresource: data
	}{
		{"delete, hooked", "not ready before anybody reads that it is to go", pod("", labels{"d": "on"}), lifecycle.Delete,
			[]string{"status: " + marked("preDeleteHook"), ": " + state("PreparingDelete")}},
		{"update, hooked", "as before a delete", pod(lifecycle.Normal, nil, "x/u"), lifecycle.Update,
			[]string{"status: " + marked("preUpdateHook"), ": " + state("PreparingUpdate")}},
		{"update, free", "the state goes with the spec patch", pod(lifecycle.PreparingUpdate, nil), lifecycle.Update, nil},
		{"delete, free", "nothing is written to a pod that goes", waiting, lifecycle.Delete, nil},
		{"taken back", "ready again, and so labelled", waiting, lifecycle.Keep,
			[]string{"status: " + unmarked, ": " + state("Normal")}},
		{"asked anew", "the handlers that are missing come back with the state, each once; what is there is not sent",
			pod(lifecycle.Updated, labels{"u-2": ""}, "x/theirs"), lifecycle.Update, []string{
				"status: " + marked("preUpdateHook"),
				`: {"metadata":{"uid":"u-1","labels":{"lifecycle.apps.kruise.io/state":"PreparingUpdate","u":"on"},` +
					`"annotations":{"lifecycle.apps.kruise.io/timestamp":"2026-01-15T12:00:00Z"},"finalizers":["x/u"]}}`,
			}},
		{"no UID", "a pod that was made up has none to send", bare, lifecycle.Delete,
			[]string{": {" + `"metadata":{"labels":{"lifecycle.apps.kruise.io/state":"PreparingDelete"},"annotations":{"lifecycle.apps.kruise.io/timestamp":"2026-01-15T12:00:00Z"}}}`}},
		{"nothing", "Normal stays", pod(lifecycle.Normal, nil), lifecycle.Keep, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			step := hooks.Next(test.pod, test.intent, true)
			var got []string
			// Another time zone is the same instant.
			for _, p := range step.Patches(test.pod, noon.In(time.FixedZone("", 3600))) {
				got = append(got, p.Subresource+": "+string(p.Data))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s\n%s", test.why, diff)
			}
			if step.Changes() != (len(test.want) > 0) {
				t.Errorf("Changes = %v", step.Changes())
			}
		})
	}
	if got := (lifecycle.Transition{To: lifecycle.Normal, Mark: lifecycle.SetMark}).Patches(nil, noon); got != nil {
		t.Errorf("patches of no pod: %v", got)
	}
}

// TestStateBeforeMark: what is not ready by its being taken back is first no longer on its way out, and then marked.
func TestStateBeforeMark(t *testing.T) {
	hooks := lifecycle.Hooks{PreNormal: &lifecycle.Hook{Labels: labels{"n": "on"}, MarkPodNotReady: true}}
	pod := gatedPod()
	setReadiness(pod, corev1.ConditionTrue, "")
	pod.Labels[lifecycle.StateLabel] = "PreparingDelete"
	for i, want := range []string{"", "status"} {
		patches := hooks.Next(pod, lifecycle.Keep, true).Patches(pod, noon)
		if len(patches) != 1 || patches[0].Subresource != want {
			t.Fatalf("step %d: %+v, want one patch of %q", i, patches, want)
		}
		pod = mustSend(t, pod, patches...)
		if state := lifecycle.StateOf(pod); state != lifecycle.PreparingNormal {
			t.Fatalf("step %d leads to %s", i, state)
		}
	}
	if step := hooks.Next(pod, lifecycle.Keep, true); step.Changes() {
		t.Errorf("and then %+v", step)
	}
}

func TestMetadata(t *testing.T) {
	l, a := lifecycle.Transition{From: lifecycle.Normal, To: lifecycle.Normal}.Metadata(noon)
	if l != nil || a != nil {
		t.Errorf("a state that stays: %v, %v", l, a)
	}
	l, a = lifecycle.Transition{From: lifecycle.Normal, To: lifecycle.Updating, Proceed: true}.Metadata(noon.In(time.FixedZone("", -3600)))
	if !maps.Equal(l, labels{lifecycle.StateLabel: "Updating"}) || !maps.Equal(a, labels{lifecycle.TimestampAnnotation: "2026-01-15T12:00:00Z"}) {
		t.Errorf("%v, %v", l, a)
	}
}

// What a transition says of itself in its documentation.
func TestTransitionFields(t *testing.T) {
	for s := range everySituation {
		if !s.plain() {
			continue
		}
		hooks, pod := s.build()
		for _, m := range ours[:2] {
			setMessages(pod, m)
			step := hooks.Next(pod, s.intent, s.complete)
			switch {
			case step.Proceed && step.Wait != lifecycle.NotWaiting:
				t.Fatalf("%+v: proceeds and waits: %+v", s, step)
			case step.Restore != nil && (step.From != lifecycle.Updated || step.To != lifecycle.PreparingUpdate):
				t.Fatalf("%+v: restores: %+v", s, step)
			case (step.Set != nil) != (step.Mark == lifecycle.SetMark):
				t.Fatalf("%+v: sets: %+v", s, step)
			case step.Clear != nil && step.Mark != lifecycle.SetMark && step.Mark != lifecycle.ClearMark:
				t.Fatalf("%+v: clears: %+v", s, step)
			case step.Changes() != (len(step.Patches(pod, noon)) > 0):
				t.Fatalf("%+v: Changes is %v: %+v", s, step.Changes(), step)
			case step.Intent != s.intent && (step.Intent != lifecycle.Delete || s.state != lifecycle.PreparingDelete):
				t.Fatalf("%+v: another intent: %+v", s, step)
			}
			blocked := step.Wait == lifecycle.WaitPreDelete || step.Wait == lifecycle.WaitInPlaceUpdate
			if pending := hooks.Pending(mustSend(t, pod, step.Patches(pod, noon)...), step.Wait); blocked && len(pending) == 0 {
				t.Fatalf("%+v: waits for a hook that nothing holds: %+v", s, step)
			}
		}
	}
}

// A set is taken over from OpenKruise and handed back to it: what each wrote, the other one understands.
func TestTakeOver(t *testing.T) {
	hooks := lifecycle.Hooks{PreDelete: &lifecycle.Hook{Labels: labels{"d": "on"}, MarkPodNotReady: true}}
	kruise := gatedPod()
	kruise.Labels["d"], kruise.Labels[lifecycle.StateLabel] = "on", "PreparingDelete"
	setReadiness(kruise, corev1.ConditionFalse, `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`)
	if step := hooks.Next(kruise, lifecycle.Delete, true); step.Changes() || step.Wait != lifecycle.WaitPreDelete {
		t.Errorf("what OpenKruise has prepared is prepared again: %+v", step)
	}
	ours := gatedPod()
	setReadiness(ours, corev1.ConditionTrue, "")
	ours.Labels["d"] = "on"
	ours = mustSend(t, ours, hooks.Next(ours, lifecycle.Delete, true).Patches(ours, noon)...)
	if got, want := find(ours, lifecycle.PodReady).Message, find(kruise, lifecycle.PodReady).Message; got != want {
		t.Errorf("the message is %s, OpenKruise's is %s", got, want)
	}
	if got := ours.Labels; !maps.Equal(got, kruise.Labels) {
		t.Errorf("labels %v, OpenKruise's are %v", got, kruise.Labels)
	}
	if got := ours.Finalizers; !slices.Equal(got, []string{"example.com/theirs"}) {
		t.Errorf("finalizers %v", got)
	}
}

// A fleet at rest costs nothing.
func TestNextAllocatesNothing(t *testing.T) {
	hooks := lifecycle.Hooks{PreDelete: &lifecycle.Hook{Labels: labels{"d": "on"}, MarkPodNotReady: true}}
	pod := gatedPod()
	pod.Labels["d"] = "on"
	for _, message := range []string{"", "[]"} {
		setReadiness(pod, corev1.ConditionTrue, message)
		for _, intent := range []lifecycle.Intent{lifecycle.Keep, lifecycle.Update} {
			if n := testing.AllocsPerRun(10, func() { hooks.Next(pod, intent, true); lifecycle.Unfinished(pod) }); n != 0 {
				t.Errorf("%v with message %q: %v allocations", intent, message, n)
			}
		}
	}
}
