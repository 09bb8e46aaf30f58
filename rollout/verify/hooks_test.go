package verify_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// hookedRoll has two outdated pods that their hook holds, and room for both in the budget.
func hookedRoll(changes ...change) func() *handmade {
	return handFleet(append([]change{handPods("available", "a-old", "b-old"), preDelete, hookedBy("a-old", "b-old")}, changes...)...)
}

// frozenSet freezes the set (T4: nothing is created or deleted).
func frozenSet(s *handmade) { s.spec.Strategy.Frozen = true }

func TestVerifyAcceptsHooks(t *testing.T) {
	failing := onPods(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "a-new")
	backoff := func(s *handmade) {
		s.snapshot.Memory = handMemory(rollout.Backoff{Node: "a", Revision: freshHash, Delay: 1e12, Since: handNow()})
	}
	marking := func(s *handmade) { s.spec.Lifecycle.PreDelete.MarkPodNotReady = true }
	markedAs := func(name string) change {
		return onPods(func(p *corev1.Pod) {
			for i := range p.Status.Conditions {
				if c := &p.Status.Conditions[i]; c.Type == lifecycle.PodReady {
					c.Status, c.Message = corev1.ConditionFalse, `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
				}
			}
		}, name)
	}
	runAccepts(t, []acceptRow{
		{name: "hooked", why: "L2: both are prepared within the budget", scene: hookedRoll()},
		{name: "let go", why: "L2: nothing matches any more", scene: handFleet(handPods("available", "a-old", "b-old"), preDelete, inStateOf(lifecycle.PreparingDelete, "a-old"))},
		{name: "hooked no more by the spec", why: "L2: the label means deletion", scene: handFleet(handPods("available", "a-old"), inStateOf(lifecycle.PreparingDelete, "a-old"))},
		{name: "taken back", why: "L2: a rollback made it what the node should have", scene: handFleet(handPods("available", "a-new"), preDelete,
			hookedBy("a-new"), inStateOf(lifecycle.PreparingDelete, "a-new"))},
		{name: "taken back on a keep node", why: "M4: nothing could follow it", scene: handFleet(handPods("available", "a-old"), preDelete, tainted("a"),
			hookedBy("a-old"), inStateOf(lifecycle.PreparingDelete, "a-old"))},
		{name: "a Failed pod that leaves", why: "M2: its back-off was kept before", scene: handFleet(handPods("available", "a-new"), failing, preDelete, backoff,
			inStateOf(lifecycle.PreparingDelete, "a-new"))},
		{name: "beside pods that leave, with surge", why: "M1: at once", scene: handFleet(handPods("available", "a-old", "a-older"), preDelete,
			hookedBy("a-old", "a-older"), inStateOf(lifecycle.PreparingDelete, "a-old", "a-older"), handStrategy(func(s *rollout.Strategy) {
				s.MaxUnavailable, s.MaxSurge = nil, newPercent("1")
			}))},
		{name: "a surplus hooked pod", why: "M3 goes through the hook too", scene: handFleet(handPods("available", "a-new", "a-newer"), preDelete, hookedBy("a-new", "a-newer"))},
		{name: "marked not ready", why: "L4: the hook marks by now", scene: handFleet(handPods("available", "a-old"), preDelete, marking, hookedBy("a-old"),
			inStateOf(lifecycle.PreparingDelete, "a-old"))},
		{name: "marked no more, while frozen", why: "T4: completion patches go on", scene: handFleet(handPods("unready", "a-old"), preDelete, hookedBy("a-old"),
			inStateOf(lifecycle.PreparingDelete, "a-old"), markedAs("a-old"), frozenSet)},
		{name: "marked, and not asked to leave, while frozen", why: "T4: nothing is left unready", scene: handFleet(handPods("available", "a-new"),
			handPods("unready", "a-older"), preDelete, marking, hookedBy("a-older"), markedAs("a-older"), frozenSet)},
		{name: "let go while marked, and frozen", why: "T4: it is not unready for as long as frozen lasts", scene: handFleet(handPods("unready", "a-old"), preDelete,
			inStateOf(lifecycle.PreparingDelete, "a-old"), markedAs("a-old"), frozenSet)},
		{name: "let go together", why: "B3: one after the other", scene: handFleet(handPods("available", "a-old", "b-old"), preDelete, atMost("1"),
			inStateOf(lifecycle.PreparingDelete, "a-old", "b-old"))},
		{name: "updates let go together", why: "B3: one after the other", scene: handFleet(handPods("available", "a-old", "b-old"), inPlaceHook, atMost("1"),
			inPlaceBy(inplace.IfPossible), inStateOf(lifecycle.PreparingUpdate, "a-old", "b-old"))},
		{name: "an update hook", why: "L3: prepared, and begun when it lets go", scene: handFleet(handPods("available", "a-old", "b-old"), inPlaceHook,
			inPlaceBy(inplace.IfPossible), hookedBy("a-old"))},
	})
}

func TestVerifyHooks(t *testing.T) {
	leaving := func(name string) change {
		return func(s *handmade) { hookedBy(name)(s); inStateOf(lifecycle.PreparingDelete, name)(s) }
	}
	updating := handFleet(handPods("unready", "a-old", "b-old"), inPlaceBy(inplace.IfPossible), inPlaceHook)
	preparing := handFleet(handPods("unready", "a-old", "b-old"), inPlaceBy(inplace.IfPossible), inPlaceHook, hookedBy("a-old", "b-old"))
	letGo := func(state lifecycle.State, changes ...change) func() *handmade {
		return handFleet(append([]change{handPods("available", "a-old", "b-old"), preDelete, atMost("1"), inStateOf(state, "a-old", "b-old")}, changes...)...)
	}
	runViolations(t, []violationRow{
		{
			name: "two that leave are let go at once", why: "B3: both are Ready, and there is room for one", scene: letGo(lifecycle.PreparingDelete),
			plant: func(s *handmade) { s.delete("b-old") },
			want:  1, mention: "B3: 2 nodes are down after the plan, more than maxUnavailable 1; it takes prepared pods away that are Ready: a, b",
		},
		{
			name: "two that are to be updated are let go at once", why: "B3: both are Ready, and there is room for one",
			scene: letGo(lifecycle.PreparingUpdate, inPlaceBy(inplace.IfPossible), inPlaceHook),
			plant: func(s *handmade) { conditionPatch(s, "a-old", lifecycle.InPlaceUpdateReady) },
			want:  1, mention: "it takes prepared pods away that are Ready: a, b",
		},
		{
			name: "one that leaves is marked, another is deleted", why: "B3, L4: a mark takes a pod away, too", scene: letGo(lifecycle.PreparingDelete, hookedBy("b-old"), func(s *handmade) {
				s.spec.Lifecycle.PreDelete.MarkPodNotReady = true
			}),
			plant: func(s *handmade) { conditionPatch(s, "b-old", lifecycle.PodReady) },
			want:  1, mention: "it takes prepared pods away that are Ready: a, b",
		},
		{
			name: "one is let go beside a node that is down", why: "B3: what was counted for it is spent", scene: letGo(lifecycle.PreparingDelete, handPods("unready", "c-new")),
			plant: func(s *handmade) { s.delete("b-old") },
			want:  1, mention: "it takes prepared pods away that are Ready: b",
		},
		{
			name: "let go under surge before the new one is available", why: "B4: the old pod goes then",
			scene: handFleet(handPods("available", "a-old"), handPods("unready", "a-new"), preDelete, inStateOf(lifecycle.PreparingDelete, "a-old"), handStrategy(func(s *rollout.Strategy) {
				s.MaxUnavailable, s.MaxSurge = nil, newPercent("1")
			})),
			plant: func(s *handmade) { s.delete("a-old") },
			want:  1, mention: "more than maxUnavailable 0; it takes prepared pods away that are Ready: a",
		},
		{
			name: "deleted although hooked", why: "V8: it is to be prepared", scene: handFleet(handPods("unready", "a-old"), preDelete, hookedBy("a-old")),
			plant: func(s *handmade) {
				s.plan.Patches, s.decision("a").Patches = nil, 0
				s.delete("a-old")
			},
			want: 8, mention: "L2: delete of pod a-old, which the preDelete hook holds: [label drain=wanted]",
		},
		{
			name: "deleted while it waits", why: "V8: the hook has not let go", scene: handFleet(handPods("available", "a-old"), preDelete, leaving("a-old")),
			plant: func(s *handmade) { s.delete("a-old") }, want: 8, mention: "V8: node a: L2",
		},
		{
			name: "a finalizer hooks too", why: "V8: any one handler", scene: handFleet(handPods("unready", "a-old"), preDelete),
			plant: func(s *handmade) {
				s.spec.Lifecycle.PreDelete.Finalizers = []string{"x.io/drain"}
				s.pod("a-old").Finalizers = []string{"x.io/drain"}
			},
			want: 8, mention: "[finalizer x.io/drain]",
		},
		{
			name: "let go without having been asked", why: "L2: it was never labelled", scene: handFleet(handPods("unready", "a-old")),
			plant: func(s *handmade) { s.plan.Deletes[0].Reason = rollout.ReasonReleased }, want: 8, mention: "it was not labelled to leave",
		},
		{
			name: "prepared without a hook", why: "L2: nothing holds it", scene: handFleet(handPods("unready", "a-old"), handStrategy(func(s *rollout.Strategy) {})),
			plant: func(s *handmade) {
				s.plan.Deletes, s.decision("a").Deletes = nil, 0
				labelPatch(s, "a-old", lifecycle.PreparingDelete)
			},
			want: 4, mention: "prepares a deletion that no hook holds up",
		},
		{
			name: "prepared although it is right", why: "V4: nothing asks for its delete", scene: handFleet(handPods("unready", "a-new"), preDelete, hookedBy("a-new")),
			plant: func(s *handmade) { labelPatch(s, "a-new", lifecycle.PreparingDelete) }, want: 4, mention: "a-new, the best of revision fresh",
		},
		{
			name: "prepared beyond the budget", why: "V1: a pod that leaves serves no more", scene: handFleet(handPods("available", "a-old", "b-old"), preDelete, hookedBy("a-old", "b-old"), atMost("1")),
			plant: func(s *handmade) { labelPatch(s, "a-old", lifecycle.PreparingDelete); s.bring() }, want: 1, mention: "by its choice: a, b",
		},
		{
			name: "prepared while frozen", why: "L2: frozen begins no deletion", scene: handFleet(handPods("unready", "a-old", "a-new"), preDelete, hookedBy("a-old"), frozenSet),
			plant: func(s *handmade) { labelPatch(s, "a-old", lifecycle.PreparingDelete) }, want: 7, mention: "L2: patch of pod a-old begins a deletion",
		},
		{
			name: "marked not ready while frozen", why: "T4: frozen brings no deletion forward", scene: handFleet(handPods("available", "a-old"), preDelete, leaving("a-old"), frozenSet),
			plant: func(s *handmade) { conditionPatch(s, "a-old", lifecycle.PodReady) }, want: 7, mention: "patch of pod a-old: L4: marks a pod that is to leave",
		},
		{
			name: "a Failed pod prepared in its back-off", why: "M2 counts when it begins to leave", scene: handFleet(handPods("available", "a-new"), onPods(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodFailed
			}, "a-new"), preDelete, hookedBy("a-new")),
			plant: func(s *handmade) {
				s.snapshot.Memory = handMemory(rollout.Backoff{Node: "a", Revision: freshHash, Delay: 1e12, Since: handNow()})
				s.plan.Memory, s.plan.NextWake = s.snapshot.Memory, handNow().Add(1e10)
				s.plan.Memory.Backoffs[0].Delay = 900e9
			},
			want: 11, mention: "M2: delete of the Failed pod a-new",
		},
		{
			name: "no back-off for a Failed pod that leaves", why: "M2: it begins with the label", scene: handFleet(handPods("available", "a-new"), onPods(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodFailed
			}, "a-new"), preDelete, hookedBy("a-new")),
			plant: func(s *handmade) { s.plan.Memory.Backoffs = nil }, want: 12, mention: "M2: no back-off of 1 s",
		},
		{
			name: "taken back although it is to go", why: "L2: only what the node should have, or is held at", scene: handFleet(handPods("available", "a-old"), preDelete, leaving("a-old")),
			plant: func(s *handmade) { labelPatch(s, "a-old", lifecycle.Normal) }, want: 4, mention: "L2: takes back a pod that is to be deleted",
		},
		{
			name: "updated in place while it leaves", why: "L2, L3: it is taken back first, and the hook of updates is asked then",
			scene: handFleet(handPods("unready", "a-old"), inPlaceBy(inplace.Only), inStateOf(lifecycle.PreparingDelete, "a-old")),
			plant: func(s *handmade) {
				labels := s.pod("a-old").Labels
				delete(labels, lifecycle.StateLabel) // so that the planner updates it
				s.replan()
				labels[lifecycle.StateLabel] = string(lifecycle.PreparingDelete)
			},
			want: 4, mention: "L2, L3: updates a pod in place that is on its way out; right is to take its deletion back first",
		},
		{
			name: "taken back into another state", why: "L2: Normal", scene: handFleet(handPods("available", "a-new"), leaving("a-new")),
			plant: func(s *handmade) {
				s.plan.Patches[0].Data = []byte(handReplaced(string(s.plan.Patches[0].Data), `"Normal"`, `"Updated"`))
			},
			want: 4, mention: `from lifecycle state "PreparingDelete" to "Updated", right is "Normal"`,
		},
		{
			name: "an update taken back", why: "L3: nothing holds it", scene: handFleet(handPods("unready", "a-old"), inPlaceBy(inplace.IfPossible), inPlaceHook,
				hookedBy("a-old"), inStateOf(lifecycle.PreparingUpdate, "a-old")),
			plant: func(s *handmade) { labelPatch(s, "a-old", lifecycle.Normal) }, want: 4, mention: "L3: takes back a pod that is to be updated in place",
		},
		{
			name: "begun before the hook lets go", why: "L3: the state is PreparingUpdate first", scene: updating,
			plant: func(s *handmade) { hookedBy("b-old")(s) }, want: 4, mention: `to "Updating", right is "PreparingUpdate"`,
		},
		{
			name: "prepared for an update that no hook holds up", why: "L3: it begins at once", scene: preparing,
			plant: func(s *handmade) { delete(s.pod("b-old").Labels, "drain") }, want: 4, mention: `to "PreparingUpdate", right is "Updating"`,
		},
		{
			name: "a time without a state", why: "L1: it says when the state was changed", scene: handFleet(handPods("unready", "a-new")),
			plant: func(s *handmade) {
				s.patchOf("a-new", "", `{"metadata":{"uid":"uid-a-new","annotations":{"lifecycle.apps.kruise.io/timestamp":"2026-01-15T12:00:00Z"}}}`)
			},
			want: 4, mention: "changes the annotation lifecycle.apps.kruise.io/timestamp without",
		},
		{
			name: "a mark without the gate", why: "L4: the condition would have no effect", scene: handFleet(handPods("unready", "a-new"), onPods(func(p *corev1.Pod) {
				p.Spec.ReadinessGates = p.Spec.ReadinessGates[:1]
			}, "a-new")),
			plant: func(s *handmade) { conditionPatch(s, "a-new", lifecycle.PodReady) }, want: 9, mention: "KruisePodReady of a pod without that readiness gate",
		},
		{
			name: "beside two pods of which one stays, with surge", why: "M3: beside one", scene: handFleet(handPods("available", "a-old", "a-older"), preDelete,
				leaving("a-older"), handStrategy(func(s *rollout.Strategy) { s.MaxUnavailable, s.MaxSurge = nil, newPercent("1") })),
			plant: func(s *handmade) { s.create("a").bring() }, want: 3, mention: "M3: create beside 2 live pods",
		},
		{
			name: "replaced beside a pod that leaves", why: "B3: the node might stand empty for as long as the hook holds", scene: handFleet(handPods("available", "a-old", "a-older"), preDelete,
				leaving("a-older")),
			plant: func(s *handmade) { s.delete("a-old").bring(); s.plan.Budget.Waiting = 0 }, want: 4, mention: "B3, M1: delete of the Ready pod a-old",
		},
		{
			name: "patched and deleted", why: "no object is acted on twice", scene: handFleet(handPods("unready", "a-old")),
			plant: func(s *handmade) {
				labelPatch(s, "a-old", lifecycle.Normal)
				s.decision("a").Verb = rollout.VerbReplace
			}, want: 14, mention: "patch of pod a-old, which is marked for deletion or deleted",
		},
		{
			name: "patched although marked", why: "it is on its way out", scene: handFleet(handPods("unready", "a-old"), onPods(func(p *corev1.Pod) { handMarked(p) }, "a-old")),
			plant: func(s *handmade) { labelPatch(s, "a-old", lifecycle.Normal) }, want: 14, mention: "patch of pod a-old, which is marked",
		},
		{
			name: "a step in flight", why: "its effect is not seen yet", scene: handFleet(handPods("unready", "a-new"), leaving("a-new"), func(s *handmade) {
				s.snapshot.InFlight.Patches = []types.UID{"uid-a-new"}
			}),
			plant: func(s *handmade) { labelPatch(s, "a-new", lifecycle.Normal) }, want: 14, mention: "second patch of pod a-new",
		},
	})
}
