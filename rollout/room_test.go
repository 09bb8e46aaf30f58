package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// TestBudgetB3Prepared is B3 for what earlier plans have prepared: their hooks may let any number of pods go at once.
func TestBudgetB3Prepared(t *testing.T) {
	playScenes(t, roomScenes())
	for _, s := range roomScenes() { // the planner and the verifier each count what is down for themselves
		l := s.lab()
		for _, v := range verify.Plan(l.spec, l.snapshot, new(l.plan(t))) {
			t.Errorf("%s: %s", s.name, v)
		}
	}
}

func roomScenes() []scene {
	updateHook := func(marks bool) kit.SpecOption {
		return func(s *rollout.Spec) {
			s.Lifecycle.InPlaceUpdate = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}, MarkPodNotReady: marks}
		}
	}
	inPlace := []kit.SpecOption{method(inplace.IfPossible), updateHook(false)}
	leaving := []kit.SpecOption{draining}
	prepared := inState(lifecycle.PreparingUpdate)
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.PodReady})
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: lifecycle.PodReady, Status: corev1.ConditionTrue})
	}
	marking := func(s *rollout.Spec) { draining(s); s.Lifecycle.PreDelete.MarkPodNotReady = true }
	return []scene{
		{
			name: "prepared, let go and ready", why: "B3: as many go as there is room for; the others wait prepared",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable, prepared)), on("b", oldPod(updatable, prepared)),
				on("c", oldPod(updatable, prepared))},
			acts: "patch c0/status Begun, patch c0 Begun",
			want: []string{"a: outdated>update wait Prepared a0 maxUnavailable U", "b: outdated>update wait Prepared b0 maxUnavailable U",
				"c: outdated>update update Begun c0 U"},
		},
		{
			name: "prepared and not ready", why: "B3: it disturbs nobody, and is down already: the ready one has no room beside it",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable, prepared, kit.Unready())), on("b", oldPod(updatable, prepared))},
			acts: "patch a0/status Begun, patch a0 Begun",
			want: []string{"a: outdated>update update Begun a0 U", "b: outdated>update wait Prepared b0 maxUnavailable U"},
		},
		{
			name: "prepared, and another node fails", why: "B3: the place that was counted for it is spent by now",
			spec: inPlace, fleet: []spot{on("a", newPod(kit.Unready())), on("b", oldPod(updatable, prepared))},
			want: []string{"a: starting>update wait NotReady a0 U", "b: outdated>update wait Prepared b0 maxUnavailable U"},
		},
		{
			name: "taken back, and another node fails", why: "L2: InPlaceOnly deletes nothing; a plan after this one asks for room for its update (B3)",
			spec: []kit.SpecOption{kit.InPlaceOnly()}, fleet: []spot{on("a", newPod(kit.Unready())), on("b", oldPod(updatable, asked))},
			acts:  "patch b0 TakenBack",
			want:  []string{"a: starting>update wait NotReady a0 U", "b: outdated>update patch TakenBack b0 U"},
			spent: "unavailable 2 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "taken back from its hook", why: "L2: InPlaceOnly deletes nothing, so that no handler of preDelete is waited for; then it is updated",
			spec:  []kit.SpecOption{kit.InPlaceOnly(), draining},
			fleet: []spot{on("a", oldPod(updatable, hooked, asked))},
			acts:  "patch a0 TakenBack", want: []string{"a: outdated>update patch TakenBack a0 U"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "taken back, and the hook of updates holds it", why: "L2, L3: it is asked in the plan after this one",
			spec:  []kit.SpecOption{kit.InPlaceOnly(), updateHook(false)},
			fleet: []spot{on("a", oldPod(updatable, hooked, asked))},
			acts:  "patch a0 TakenBack", want: []string{"a: outdated>update patch TakenBack a0 U"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "prepared, room for two", why: "B3, B6: in the order of updates",
			spec: append(inPlace, kit.MaxUnavailable("2")), fleet: []spot{on("a", oldPod(updatable, prepared)),
				on("b", oldPod(updatable, prepared)), on("c", oldPod(updatable, prepared)), on("d", oldPod(updatable))},
			acts: "patch c0/status Begun, patch c0 Begun, patch b0/status Begun, patch b0 Begun",
			want: []string{"a: outdated>update wait Prepared a0 maxUnavailable U", "b: outdated>update update Begun b0 U",
				"c: outdated>update update Begun c0 U", "d: outdated>update wait Budget d0 maxUnavailable"},
		},
		{
			name: "prepared and still hooked", why: "L3: a pod that its hook holds needs no room yet",
			spec: inPlace, fleet: []spot{on("a", newPod(kit.Unready())), on("b", oldPod(updatable, prepared, hooked))},
			want: []string{"a: starting>update wait NotReady a0 U", "b: outdated>update wait UpdateHook b0 hook U"},
		},
		{
			name: "prepared, and to be recreated by now", why: "B3: its deletion needs room, too; until then it is taken back",
			spec:  []kit.SpecOption{kit.MaxUnavailable("1")},
			fleet: []spot{on("a", newPod(kit.Unready())), on("b", oldPod(prepared))},
			acts:  "patch b0 TakenBack",
			want:  []string{"a: starting>update wait NotReady a0 U", "b: outdated>update patch TakenBack b0 maxUnavailable U"},
		},
		{
			name: "prepared, and to be recreated through a marking hook", why: "B3, L4: the hook's mark takes it away, whether burst leaves room for a deletion or not",
			spec: []kit.SpecOption{method(inplace.IfPossible), updateHook(false), marking, kit.Burst("1")},
			fleet: []spot{on("a"), on("b", newPod(gated, kit.Failed(), inState(lifecycle.PreparingDelete)),
				podAt("lost", gated, updatable, hooked, prepared))},
			acts: "patch b1 TakenBack, delete b0 Released, create a Missing",
			want: []string{"a: missing>update create Missing U", "b: outdated>update delete Released b0 maxUnavailable U"},
		},
		{
			name: "leaving, let go and ready", why: "B3, L2: the deletions of outdated pods need room as their updates do",
			spec: leaving, fleet: []spot{on("a", oldPod(asked)), on("b", oldPod(asked))},
			acts: "delete a0 Released",
			want: []string{"a: terminating>update delete Released a0 U", "b: terminating>update wait Prepared b0 maxUnavailable U"},
		},
		{
			name: "leaving and not ready", why: "B3: it disturbs nobody",
			spec: leaving, fleet: []spot{on("a", oldPod(asked, kit.Unready())), on("b", oldPod(asked)), on("c", oldPod(asked, kit.Unready()))},
			acts: "delete a0 Released, delete c0 Released",
			want: []string{"a: terminating>update delete Released a0 U", "b: terminating>update wait Prepared b0 maxUnavailable U",
				"c: terminating>update delete Released c0 U"},
		},
		{
			name: "leaving from where nothing may run", why: "M4: repair needs no budget",
			spec: leaving, fleet: []spot{on("a", oldPod(asked)).leave(), on("b", newPod(kit.Unready()))},
			acts: "delete a0 Leaving",
			want: []string{"a: leaving>none delete Leaving a0", "b: starting>update wait NotReady b0 U"},
		},
		{
			name: "leaving beside one that serves", why: "B3: the node loses nothing",
			spec: leaving, fleet: []spot{on("a", oldPod(asked), newPod()), on("b", newPod(kit.Unready()))},
			acts: "delete a0 Released",
			want: []string{"a: updated>update delete Released a0", "b: starting>update wait NotReady b0 U"},
		},
		{
			name: "let go, beside a missing pod and under slow start", why: "B7: a node that waits for room holds no place, or the missing pod that uses the room up would wait for that place",
			spec: append(leaving, kit.SlowStart(time.Minute, "1", "250")), fleet: []spot{on("a"), on("b", oldPod(asked))},
			acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: terminating>update wait Prepared b0 maxUnavailable U"},
		},
		{
			name: "let go by the hook of updates, beside a missing pod and under slow start", why: "B7: the hook of deletions does not hold what is to be updated",
			spec:  []kit.SpecOption{method(inplace.IfPossible), draining, kit.SlowStart(time.Minute, "1", "250")},
			fleet: []spot{on("a"), on("b", oldPod(updatable, prepared, hooked))}, acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: outdated>update wait Prepared b0 maxUnavailable U"},
		},
		{
			name: "two let go under slow start", why: "B7: each takes a place when it goes",
			spec:  append(leaving, kit.MaxUnavailable("2"), kit.SlowStart(time.Minute, "1", "250")),
			fleet: []spot{on("a", oldPod(asked)), on("b", oldPod(asked))},
			acts:  "delete a0 Released",
			want:  []string{"a: terminating>update delete Released a0 U", "b: terminating>update wait Prepared b0 slowStart U"},
		},
		{
			name: "two updates let go under slow start", why: "B7: each takes a place when it goes",
			spec:  append(inPlace, kit.MaxUnavailable("2"), kit.SlowStart(time.Minute, "1", "250")),
			fleet: []spot{on("a", oldPod(updatable, prepared)), on("b", oldPod(updatable, prepared))},
			acts:  "patch b0/status Begun, patch b0 Begun",
			want:  []string{"a: outdated>update wait Prepared a0 slowStart U", "b: outdated>update update Begun b0 U"},
		},
		{
			name: "leaving beside one that is taken back", why: "M3, L2: of two on a held node one is taken back, and stays Ready",
			spec: append(leaving, partition("1")), fleet: []spot{on("a", oldPod(asked), oldPod(asked)), on("b", newPod(kit.Unready()))},
			acts: "patch a0 TakenBack, delete a1 Released",
			want: []string{"a: outdated>held delete Released a1 partition U", "b: starting>update wait NotReady b0 U"},
		},
		{
			name: "beside a twin that waits for its preNormal hook", why: "M3: the serving one stays",
			spec: append(leaving, func(s *rollout.Spec) {
				s.Lifecycle.PreNormal = &lifecycle.Hook{Labels: map[string]string{"serving": "yes"}}
			}),
			fleet: []spot{on("x", newPod(inState(lifecycle.PreparingNormal), kit.Created(ago(2*time.Hour))), newPod()), on("y", oldPod(asked))},
			acts:  "delete x0 Surplus, delete y0 Released",
			want:  []string{"x: updated>update delete Surplus x0", "y: terminating>update delete Released y0 U"},
		},
		{
			name: "a surplus one, beside one with a patch in flight", why: "B3: nobody knows what the patch does to the other, so this one keeps the node up",
			spec: append(inPlace, kit.MinReadySeconds(60)), patching: []string{"x0"},
			fleet: []spot{on("w", newPod(kit.Unready())), on("x", oldPod(updatable), oldPod(updatable, readyFor(time.Second), prepared))},
			want:  []string{"w: starting>update wait NotReady w0 U", "x: outdated>update wait Prepared x1 maxUnavailable U"},
		},
		{
			name: "beside a twin with a patch in flight", why: "M3: the serving one stays, so that nothing that this plan deletes kept a node up",
			spec: append(leaving, kit.MinReadySeconds(60)), patching: []string{"x0"},
			fleet: []spot{on("x", oldPod(), oldPod(hooked, readyFor(time.Second))), on("y", oldPod(asked))},
			acts:  "delete x0 Surplus, delete y0 Released",
			want:  []string{"x: outdated>update delete Surplus x0 maxUnavailable", "y: terminating>update delete Released y0 U"},
		},
		{
			name: "on a node that is left out", why: "B3: that it does not count is no permission to take its serving pod",
			spec: append(leaving, kit.MaxUnschedulable("1")),
			fleet: []spot{on("x", oldPod(asked)).with(func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
			}), on("y", newPod(kit.Unready()))},
			want: []string{"x: terminating>update wait Prepared x0 maxUnavailable X", "y: starting>update wait NotReady y0 U"},
		},
		{
			name: "kept by burst", why: "M6: what burst keeps from going spends no room",
			spec: append(leaving, kit.Burst("1"), kit.MaxUnavailable("2")), fleet: []spot{on("a", oldPod(asked)), on("b", oldPod(asked)), on("c", oldPod(asked))},
			acts: "delete a0 Released",
			want: []string{"a: terminating>update delete Released a0 U", "b: terminating>update wait Burst b0 burst U", "c: terminating>update wait Burst c0 burst U"},
		},
		{
			name: "surge, the new pod has failed since", why: "B4: the old pod goes when the new one is available, and not before",
			spec: append(leaving, kit.MaxSurge("1")), fleet: []spot{on("a", oldPod(asked), newPod(kit.Unready()))},
			want: []string{"a: starting>update wait Prepared a0 maxSurge U S"},
		},
		{
			name: "surge, beside a node that is left out", why: "B8: a, which holds a place, is the first that would count, so that b is not left out, too",
			spec:  append(leaving, kit.MaxSurge("1"), kit.MaxUnschedulable("1")),
			fleet: []spot{on("a", oldPod(), unschedulable()), on("b", oldPod(asked), unschedulable())},
			want:  []string{"a: surging>update wait NotReady a1 X", "b: starting>update wait Prepared b0 maxSurge U S"},
		},
		{
			name: "surge, beside a node in quarantine", why: "F4: a, which holds a place, is the first that would count, so that b is not left out, too",
			spec:  append(leaving, kit.MaxSurge("1"), failures("2", "1")),
			fleet: []spot{on("a", oldPod(), stuckFor(time.Hour)), on("b", oldPod(asked), stuckFor(time.Hour))},
			want:  []string{"a: surging>update wait NotReady a1 X F", "b: starting>update wait Prepared b0 maxSurge U S F"},
		},
		{
			name: "the hook marks by now", why: "B3, L4: to be marked as not ready takes a pod away like a deletion",
			spec: []kit.SpecOption{marking}, fleet: []spot{on("a", oldPod(asked, gated, hooked)), on("b", oldPod(asked, gated, hooked))},
			acts: "patch a0/status PreDelete",
			want: []string{"a: terminating>update patch PreDelete a0 hook U", "b: terminating>update wait PreDelete b0 hook U"},
		},
		{
			name: "the update hook marks by now", why: "B3, L4",
			spec:  []kit.SpecOption{method(inplace.IfPossible), updateHook(true)},
			fleet: []spot{on("a", oldPod(updatable, prepared, gated, hooked)), on("b", oldPod(updatable, prepared, gated, hooked))},
			acts:  "patch b0/status Begun",
			want:  []string{"a: outdated>update wait Prepared a0 maxUnavailable U", "b: outdated>update prepare Begun b0 U"},
		},
	}
}

// TestPreparedIsExplained: a node that waits prepared says for what, and who has the room.
func TestPreparedIsExplained(t *testing.T) {
	l := newLab(draining, kit.MaxUnavailable("1"))
	l.add(on("a", newPod(kit.Unready(), young)), on("b", oldPod(asked)))
	plan := l.plan(t)
	want := "b: terminating; waits: pod b0 is prepared and no hook holds it, but it is ready: without it more nodes than " +
		"maxUnavailable 1 would be down; counts against maxUnavailable"
	if got := plan.Explain("b"); got != want {
		t.Errorf("explained as\n%s\nwant\n%s", got, want)
	}
	var waits []string
	for _, wait := range plan.Waits() {
		waits = append(waits, wait.String())
	}
	if got, want := strings.Join(waits, "; "), "1 node waits: maxUnavailable 1 is used up by a (b)"; got != want {
		t.Errorf("waits %q, want %q", got, want)
	}
}
