package rollout_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// draining is a preDelete hook that pods with the label drain=wanted have to be let go by.
func draining(s *rollout.Spec) {
	s.Lifecycle.PreDelete = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}}
}

// hooked makes the pod match the hook of draining.
func hooked(p *corev1.Pod) { p.Labels["drain"] = "wanted" }

// inState labels the pod with a state of its lifecycle.
func inState(state lifecycle.State) kit.PodOption {
	return func(p *corev1.Pod) { p.Labels[lifecycle.StateLabel] = string(state) }
}

func asked(p *corev1.Pod) { inState(lifecycle.PreparingDelete)(p) }

func TestLifecycleL2PreDelete(t *testing.T) { playScenes(t, preDeleteScenes()) }

func preDeleteScenes() []scene {
	hook := []kit.SpecOption{draining}
	surge := []kit.SpecOption{draining, kit.MaxSurge("1")}
	all := []kit.SpecOption{draining, kit.MaxUnavailable("100%")}
	return []scene{
		{
			name: "update, hooked", why: "L2: the hook is asked first; B2: the pod counts as leaving",
			spec: hook, fleet: []spot{on("a", oldPod(hooked)), on("b", oldPod(hooked))},
			acts: "patch b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update prepare Outdated b0 U"},
		},
		{
			name: "update, asked and not let go", why: "L2, B2: it takes the place in the budget until it is gone",
			spec: hook, fleet: []spot{on("a", oldPod(hooked)), on("b", oldPod(hooked, asked))},
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: terminating>update wait PreDelete b0 hook U"},
		},
		{
			name: "update, let go", why: "L2: it no longer matches",
			spec: hook, fleet: []spot{on("a", oldPod(hooked)), on("b", oldPod(asked))},
			acts: "delete b0 Released",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: terminating>update delete Released b0 U"},
		},
		{
			name: "update, let go, a patch in flight", why: "L2: it may have been taken back",
			spec: hook, fleet: []spot{on("b", oldPod(asked))}, patching: []string{"b0"},
			want: []string{"b: terminating>update wait Requested b0 U"},
		},
		{
			name: "update, not hooked", why: "L2: only pods that match wait",
			spec: hook, fleet: []spot{on("b", oldPod())},
			acts: "delete b0 Outdated", want: []string{"b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "the patch in flight", why: "what is requested counts as done: the place is taken, and nothing is sent again",
			spec: hook, fleet: []spot{on("a", oldPod(hooked)), on("b", oldPod(hooked))}, patching: []string{"b0"},
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update wait Requested b0 U"},
		},
		{
			name: "the hook is gone from the spec", why: "L2: the label means deletion all the same",
			fleet: []spot{on("b", oldPod(asked))},
			acts:  "delete b0 Released", want: []string{"b: terminating>update delete Released b0 U"},
		},
		{
			name: "at the target revision", why: "L2: a rollback; the pod is what the node should have, and is taken back",
			spec: hook, fleet: []spot{on("a", newPod(hooked, asked)), on("b", oldPod())},
			acts: "patch a0 TakenBack",
			want: []string{"a: updated>update patch TakenBack a0 U", "b: outdated>update wait Budget b0 maxUnavailable"},
		},
		{
			name: "taken back, in flight", why: "nothing is sent again",
			spec: hook, fleet: []spot{on("a", newPod(hooked, asked))}, patching: []string{"a0"},
			want: []string{"a: updated>update wait Requested a0 U"},
		},
		{
			name: "held by now", why: "L2: the partition was raised",
			spec: append(hook, partition("1")), fleet: []spot{on("a", oldPod(hooked, asked)), on("b", newPod())},
			acts: "patch a0 TakenBack",
			want: []string{"a: outdated>held patch TakenBack a0 partition U", "b: updated>update none UpToDate"},
		},
		{
			name: "held by OnDelete", why: "L2, T5: all are held",
			spec: []kit.SpecOption{draining, kit.OnDelete()}, fleet: []spot{on("a", oldPod(asked))},
			acts: "patch a0 TakenBack", want: []string{"a: outdated>held patch TakenBack a0 onDelete U"},
		},
		{
			name: "paused", why: "T4: a node that was begun is finished",
			spec: append(hook, kit.Paused()), fleet: []spot{on("a", oldPod(asked)), on("b", oldPod())},
			acts: "delete a0 Released",
			want: []string{"a: terminating>update delete Released a0 U", "b: outdated>held hold Held b0 paused"},
		},
		{
			name: "frozen begins no deletion", why: "L2, T4",
			spec: append(hook, kit.Frozen()), fleet: []spot{on("a", newPod(hooked)).leave(), on("b", oldPod(asked))},
			want: []string{"a: leaving>none wait Frozen a0 frozen", "b: terminating>update wait Frozen b0 frozen U"},
		},
		{
			name: "repair", why: "L2, V8: every deletion asks, also where the node may not run the pod any more",
			spec: hook, fleet: []spot{on("a", newPod(hooked)).leave(), on("b", newPod(hooked, asked)).leave(),
				on("c", newPod(asked)).leave()},
			acts: "patch a0 Leaving, delete c0 Leaving",
			want: []string{"a: leaving>none prepare Leaving a0", "b: leaving>none wait PreDelete b0 hook",
				"c: leaving>none delete Leaving c0"},
		},
		{
			name: "failed", why: "V8: a hooked Failed pod waits too; its back-off was paid when it was asked to leave",
			spec: hook, fleet: []spot{on("a", newPod(hooked, kit.Failed())), on("b", newPod(asked, kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "b", Revision: "update", Delay: 60e9, Since: kit.Noon()}},
			acts:     "patch a0 Failed, delete b0 Released",
			want:     []string{"a: broken>update prepare Failed a0 U", "b: broken>update delete Released b0 U"},
		},
		{
			name: "surplus", why: "M3: of two of a kind the one that leaves is not the one that stays",
			spec: hook, fleet: []spot{on("a", newPod(asked, hooked), newPod())},
			want: []string{"a: updated>update wait PreDelete a0 hook"},
		},
		{
			name: "surplus, the better one leaves", why: "M3: available counts before leaving; it is taken back, for it is what the node should have",
			spec: hook, fleet: []spot{on("a", newPod(asked), newPod(kit.Unready()))},
			acts: "patch a0 TakenBack, delete a1 Surplus",
			want: []string{"a: updated>update delete Surplus a1 U"},
		},
		{
			name: "surplus, let go", why: "L2",
			spec: hook, fleet: []spot{on("a", newPod(asked), newPod())},
			acts: "delete a0 Released", want: []string{"a: updated>update delete Released a0"},
		},
		{
			name: "keep", why: "M4: nothing could follow the pod on a keep node, so it is taken back",
			spec: hook, fleet: []spot{on("a", oldPod(hooked, asked)).keep()},
			acts: "patch a0 TakenBack", want: []string{"a: kept>none patch TakenBack a0"},
		},
		{
			name: "surge beside a leaving pod", why: "M1: with surge the new pod does not wait for the hook",
			spec: surge, fleet: []spot{on("a", oldPod(hooked, asked))},
			acts: "create a BesideTerminating", want: []string{"a: terminating>update create BesideTerminating hook U S"},
		},
		{
			name: "superseded", why: "B4, L2: the old pod is asked when the new one is available",
			spec: surge, fleet: []spot{on("a", oldPod(hooked), newPod())},
			acts: "patch a0 Superseded", want: []string{"a: surging>update prepare Superseded a0"},
		},
		{
			name: "the new pod is only taken back", why: "M3: it may yet leave, so the other one stays until it serves",
			spec: surge, fleet: []spot{on("a", newPod(hooked, asked), oldPod())},
			acts: "patch a0 TakenBack", want: []string{"a: surging>update patch TakenBack a0"},
		},
		{
			name: "the old pod with a patch in flight", why: "M3: it may have been asked to leave, so the other one stays",
			spec: surge, fleet: []spot{on("a", oldPod(hooked), oldPod(hooked))}, patching: []string{"a0"},
			want: []string{"a: outdated>update wait Requested a0"},
		},
		{
			name: "superseded and leaving", why: "the node has nothing but the new pod and one on its way out",
			spec: surge, fleet: []spot{on("a", oldPod(hooked, asked), newPod())},
			want: []string{"a: updated>update wait PreDelete a0 hook"},
		},
		{
			name: "outdated beside a leaving one", why: "the node might stand empty for as long as the hook holds",
			spec: all, fleet: []spot{on("a", oldPod(), podAt("older", hooked, asked))},
			want: []string{"a: outdated>update wait PreDelete a1 hook"},
		},
		{
			name: "to go, and beyond burst", why: "M3, M6: what is to go with the next plan is not taken back in this one",
			spec:  []kit.SpecOption{kit.Burst("1"), kit.MaxUnavailable("2")},
			fleet: []spot{on("a", newPod(), newPod()), on("b", oldPod(asked), newPod()).keep()},
			acts:  "delete a1 Surplus",
			want:  []string{"a: updated>update delete Surplus a1", "b: kept>none wait Burst b0 burst"},
		},
		{
			name: "pinned to a vanished node", why: "M5, V8: a hooked one is asked as well",
			spec: hook, fleet: []spot{gone("x", pinned(newPod(hooked)), pinned(newPod(hooked, asked)), pinned(newPod(asked)))},
			acts: "patch x0 NodeGone, delete x2 NodeGone",
			want: []string{"x: vanished>none prepare NodeGone x0", "x: vanished>none wait PreDelete x1 hook",
				"x: vanished>none delete NodeGone x2"},
		},
		{
			name: "pinned to a vanished node, the patch in flight", why: "M5: nothing is sent again",
			spec: hook, fleet: []spot{gone("x", pinned(newPod(hooked)))}, patching: []string{"x0"},
			want: []string{"x: vanished>none wait Requested x0"},
		},
	}
}

// L4: the pod is made unready when it is asked to leave, and if that was lost, later.
func TestLifecycleL4MarkPodNotReady(t *testing.T) {
	marking := func(s *rollout.Spec) {
		draining(s)
		s.Lifecycle.PreDelete.MarkPodNotReady = true
	}
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.PodReady})
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: lifecycle.PodReady, Status: corev1.ConditionTrue})
	}
	fresh := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.PodReady})
	}
	marked := func(p *corev1.Pod) {
		kit.Unready()(p)
		gated(p)
		c := &p.Status.Conditions[len(p.Status.Conditions)-1]
		c.Status, c.Message = corev1.ConditionFalse, `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
	}
	frozen := []kit.SpecOption{draining, kit.Frozen()}
	playScenes(t, []scene{
		{
			name: "the hook marks no more", why: "L4: the reason is gone",
			spec: []kit.SpecOption{draining}, fleet: []spot{on("a", oldPod(hooked, marked, asked))},
			acts: "patch a0/status PreDelete", want: []string{"a: terminating>update patch PreDelete a0 hook U"},
		},
		{
			name: "the hook marks no more, frozen", why: "T4: completion patches go on; it would stay unready for as long as frozen lasts",
			spec: frozen, fleet: []spot{on("a", oldPod(hooked, marked, asked)), gone("x", pinned(oldPod(hooked, marked, asked)))},
			acts: "patch a0/status PreDelete, patch x0/status PreDelete",
			want: []string{"a: terminating>update patch PreDelete a0 hook U", "x: vanished>none patch PreDelete x0 hook"},
		},
		{
			name: "let go while marked, frozen", why: "T4: the deletion waits for as long as frozen lasts, and the pod is not to be unready for it",
			spec: []kit.SpecOption{marking, kit.Frozen()},
			fleet: []spot{on("a", oldPod(marked, asked)), on("b", oldPod(gated, asked)), on("c", oldPod(marked, asked, kit.Failed())),
				on("d", newPod(marked, asked)).leave(), gone("x", pinned(oldPod(marked, asked)))},
			acts: "patch d0/status Frozen, patch a0/status Frozen, patch x0/status Frozen",
			want: []string{"a: terminating>update patch Frozen a0 frozen U", "b: terminating>update wait Frozen b0 frozen U",
				"c: broken>update wait Frozen c0 frozen U", "d: leaving>none patch Frozen d0 frozen",
				"x: vanished>none patch Frozen x0 frozen"},
		},
		{
			name: "let go while marked, frozen, a patch in flight", why: "what is requested counts as done",
			spec: []kit.SpecOption{marking, kit.Frozen()}, patching: []string{"a0", "x0"},
			fleet: []spot{on("a", oldPod(marked, asked)), gone("x", pinned(oldPod(marked, asked)))},
			want:  []string{"a: terminating>update wait Requested a0 U", "x: vanished>none wait Frozen x0 frozen"},
		},
		{
			name: "the gate was never opened, frozen", why: "T4, L4: the kubelet waits for it",
			spec: frozen, fleet: []spot{on("a", oldPod(hooked, fresh, kit.Unready(), asked))},
			acts: "patch a0/status PreDelete", want: []string{"a: terminating>update patch PreDelete a0 hook U"},
		},
		{
			name: "the mark was lost, frozen", why: "T4: a deletion is not brought forward",
			spec: []kit.SpecOption{marking, kit.Frozen()}, fleet: []spot{on("a", oldPod(hooked, gated, asked))},
			want: []string{"a: terminating>update wait PreDelete a0 hook U"},
		},
		{
			name: "the mark was set and the state lost, frozen", why: "T4: that deletion is not begun, so nothing is left unready for it, wherever the pod is",
			spec:  []kit.SpecOption{marking, kit.Frozen()},
			fleet: []spot{on("a", newPod(hooked, marked)).leave(), on("b", oldPod(hooked, marked)), on("c", newPod(hooked, marked), newPod(hooked))},
			acts:  "patch a0/status InPlaceUnfinished, patch c0/status InPlaceUnfinished, patch b0/status InPlaceUnfinished",
			want: []string{"a: leaving>none patch InPlaceUnfinished a0 frozen", "b: outdated>held patch InPlaceUnfinished b0 frozen U",
				"c: updated>update patch InPlaceUnfinished c0 frozen"},
		},
		{
			name: "a mark to take back before an update in place", why: "L4, I4: one patch at a time; the node waits for its update",
			spec:  []kit.SpecOption{kit.InPlaceIfPossible()},
			fleet: []spot{on("a", oldPod(updatable, marked))},
			acts:  "patch a0/status InPlaceUnfinished",
			want:  []string{"a: outdated>update patch InPlaceUnfinished a0 U"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "asked", why: "L4: unready before anybody reads that it is to leave",
			spec: []kit.SpecOption{marking}, fleet: []spot{on("a", oldPod(hooked, gated))},
			acts: "patch a0/status Outdated, patch a0 Outdated", want: []string{"a: outdated>update prepare Outdated a0 U"},
		},
		{
			name: "the mark was lost", why: "L4: sent again",
			spec: []kit.SpecOption{marking}, fleet: []spot{on("a", oldPod(hooked, gated, asked))},
			acts: "patch a0/status PreDelete", want: []string{"a: terminating>update patch PreDelete a0 hook U"},
		},
		{
			name: "the mark is in flight", why: "what is requested counts as done",
			spec: []kit.SpecOption{marking}, fleet: []spot{on("a", oldPod(hooked, gated, asked))}, patching: []string{"a0"},
			want: []string{"a: terminating>update wait PreDelete a0 hook U"},
		},
		{
			name: "the mark was lost, and the node", why: "L4: sent again to a pod without a node, too",
			spec: []kit.SpecOption{marking}, fleet: []spot{gone("x", pinned(oldPod(hooked, gated, asked)))},
			acts: "patch x0/status PreDelete", want: []string{"x: vanished>none patch PreDelete x0 hook"},
		},
		{
			name: "the node was lost, and the mark is in flight", why: "what is requested counts as done",
			spec: []kit.SpecOption{marking}, fleet: []spot{gone("x", pinned(oldPod(hooked, gated, asked)))}, patching: []string{"x0"},
			want: []string{"x: vanished>none wait PreDelete x0 hook"},
		},
		{
			name: "the mark and the node were lost, frozen", why: "T4: a deletion is not brought forward",
			spec: []kit.SpecOption{marking, kit.Frozen()}, fleet: []spot{gone("x", pinned(oldPod(hooked, gated, asked)))},
			want: []string{"x: vanished>none wait PreDelete x0 hook"},
		},
		{
			name: "without the gate", why: "L4: only pods with that readiness gate",
			spec: []kit.SpecOption{marking}, fleet: []spot{on("a", oldPod(hooked))},
			acts: "patch a0 Outdated", want: []string{"a: outdated>update prepare Outdated a0 U"},
		},
		{
			name: "a fresh pod", why: "the kubelet waits for the condition of the gate",
			spec: []kit.SpecOption{marking}, fleet: []spot{on("a", newPod(kit.Unready(), fresh))},
			acts: "patch a0/status NewPod", want: []string{"a: starting>update patch NewPod a0 U"},
		},
	})
}

func TestLifecyclePreNormal(t *testing.T) {
	playScenes(t, preNormalScenes())
}

func preNormalScenes() []scene {
	hook := func(s *rollout.Spec) {
		s.Lifecycle.PreNormal = &lifecycle.Hook{Labels: map[string]string{"serving": "yes"}}
	}
	serving := func(p *corev1.Pod) { p.Labels["serving"] = "yes" }
	marking := func(s *rollout.Spec) {
		hook(s)
		s.Lifecycle.PreNormal.MarkPodNotReady = true
	}
	return []scene{
		{
			name: "marked not ready until it is there", why: "L4",
			spec:  []kit.SpecOption{marking},
			fleet: []spot{on("a", newPod(kit.Unready(), inState(lifecycle.PreparingNormal)))},
			want:  []string{"a: starting>update wait PreNormal a0 hook U"},
		},
		{
			name: "not there yet", why: "L3: Normal when all its handlers are there; until then it does not serve",
			spec: []kit.SpecOption{hook}, fleet: []spot{on("a", newPod(inState(lifecycle.PreparingNormal)))},
			want: []string{"a: starting>update wait PreNormal a0 hook U"},
		},
		{
			name: "there", why: "L3",
			spec: []kit.SpecOption{hook}, fleet: []spot{on("a", newPod(inState(lifecycle.PreparingNormal), serving))},
			acts: "patch a0 InPlaceUnfinished", want: []string{"a: starting>update patch InPlaceUnfinished a0 U"},
		},
		{
			name: "frozen", why: "T4: what completes goes on",
			spec:  []kit.SpecOption{hook, kit.Frozen()},
			fleet: []spot{on("a", newPod(inState(lifecycle.PreparingNormal), serving))},
			acts:  "patch a0 InPlaceUnfinished", want: []string{"a: starting>update patch InPlaceUnfinished a0 U"},
		},
	}
}
