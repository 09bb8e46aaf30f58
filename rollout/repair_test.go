package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestRepairM1Missing(t *testing.T) { playScenes(t, missingScenes()) }

func missingScenes() []scene {
	return []scene{
		{
			name: "empty node", why: "M1: run and no pod object: create",
			fleet: []spot{on("a")},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U"},
		},
		{
			name: "ascending", why: "M6: repair in the order of node names",
			fleet: []spot{on("c"), on("a"), on("b")},
			acts:  "create a Missing, create b Missing, create c Missing",
			want: []string{
				"a: missing>update create Missing U", "b: missing>update create Missing U",
				"c: missing>update create Missing U",
			},
		},
		{
			name: "terminating", why: "M1: a terminating pod still there: wait",
			fleet: []spot{on("a", newPod(terminating()))},
			want:  []string{"a: terminating>update wait Terminating U"},
		},
		{
			name: "delete in flight", why: "an in-flight delete counts as done: its pod is marked",
			fleet:    []spot{on("a", newPod())},
			deleting: []string{"a0"},
			want:     []string{"a: terminating>update wait Terminating U"},
		},
		{
			name: "delete in flight of another", why: "only the pod with that UID is marked",
			fleet:    []spot{on("a", newPod()), on("b", newPod())},
			deleting: []string{"b0"},
			want: []string{
				"a: updated>update none UpToDate", "b: terminating>update wait Terminating U",
			},
		},
		{
			name: "terminating with surge", why: "M1: with surge allowed, create at once",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod(terminating()))},
			acts:  "create a BesideTerminating",
			want:  []string{"a: terminating>update create BesideTerminating U S"},
		},
		{
			name: "terminating with surge of 0 percent", why: "B1: 0 % of anything is no surge, so M1 waits",
			spec:  []kit.SpecOption{kit.MaxSurge("0%"), unavailableToo("1")},
			fleet: []spot{on("a", oldPod(terminating()))},
			want:  []string{"a: terminating>update wait Terminating U"},
		},
		{
			name: "terminating with OnDelete", why: "T5: maxSurge takes no effect with OnDelete, so M1 waits",
			spec:  []kit.SpecOption{kit.MaxSurge("1"), kit.OnDelete()},
			fleet: []spot{on("a", oldPod(terminating()))},
			want:  []string{"a: terminating>update wait Terminating U"},
		},
		{
			name: "terminating failed", why: "M1: a terminal pod that is marked is ignored altogether",
			fleet: []spot{on("a", newPod(kit.Failed(), terminating()))},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U"},
		},
		{
			name: "terminating succeeded", why: "M1: a terminal pod that is marked is ignored altogether",
			fleet: []spot{on("a", oldPod(kit.Succeeded(), terminating()))},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U"},
		},
		{
			name: "failed with its delete in flight", why: "M1, and requests count as done: the node is free",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			deleting: []string{"a0"},
			acts:     "create a Missing",
			want:     []string{"a: missing>update create Missing U"},
		},
		{
			name: "beside failed", why: "M1: never beside a Failed pod, even with surge and a terminating one there",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", newPod(kit.Failed()), newPod(terminating()))},
			acts:  "delete a0 Failed",
			want:  []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "ineligible", why: "P2: a node that fails a test and is empty gets nothing",
			fleet: []spot{on("a").keep(), on("b").leave()},
			want:  []string{"a: ineligible>none none Ineligible", "b: ineligible>none none Ineligible"},
		},
		{
			name: "create in flight", why: "requests count as done: the node's pod is on its way",
			fleet:     []spot{on("a")},
			requested: []string{"a"},
			want:      []string{"a: starting>update wait Requested U"},
		},
		{
			name: "create in flight by hash", why: "the hash of the update revision means the update revision",
			fleet:     []spot{on("a")},
			requested: []string{"a@update"},
			want:      []string{"a: starting>update wait Requested U"},
		},
		{
			name: "create in flight of the old revision", why: "M1: a pod is on its way, although the template changed since",
			fleet:     []spot{on("a")},
			requested: []string{"a@old"},
			want:      []string{"a: outdated>update wait Requested U"},
		},
		{
			name: "creates in flight of both revisions", why: "B4: the new pod comes beside the old one",
			fleet:     []spot{on("a")},
			requested: []string{"a@old", "a@update"},
			want:      []string{"a: starting>update wait Requested U"},
		},
		{
			name: "create in flight elsewhere", why: "a request for a node that is not in the snapshot concerns none that is",
			fleet:     []spot{on("a")},
			requested: []string{"b"},
			acts:      "create a Missing",
			want:      []string{"a: missing>update create Missing U"},
		},
		{
			name: "create in flight and observed", why: "the snapshot caught up before the caller dropped the request",
			fleet:     []spot{on("a", newPod())},
			requested: []string{"a"},
			want:      []string{"a: updated>update none UpToDate"},
		},
		{
			name: "create in flight and observed, not ready", why: "the pod is there: it is the pod that is waited for",
			fleet:     []spot{on("a", newPod(kit.Unready()))},
			requested: []string{"a"},
			want:      []string{"a: starting>update wait NotReady a0 U"},
		},
		{
			name: "create in flight and observed under surge", why: "B4: the pod is there and available, so no place is held",
			spec:      []kit.SpecOption{kit.MaxSurge("1")},
			fleet:     []spot{on("a", newPod())},
			requested: []string{"a"},
			want:      []string{"a: updated>update none UpToDate"},
		},
		{
			name: "old create in flight and observed", why: "as before, for a pod of the old revision: it is a candidate",
			fleet:     []spot{on("a", oldPod())},
			requested: []string{"a@old"},
			acts:      "delete a0 Outdated",
			want:      []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "create in flight beside an old pod", why: "B4: the node holds its place already and gets no second pod",
			spec:      []kit.SpecOption{kit.MaxSurge("2")},
			fleet:     []spot{on("a", oldPod())},
			requested: []string{"a"},
			want:      []string{"a: surging>update wait Requested S"},
		},
		{
			name: "old create in flight beside a new pod", why: "M3: it will go when it is there; until then it is waited for",
			fleet:     []spot{on("a", newPod())},
			requested: []string{"a@old"},
			want:      []string{"a: surging>update wait Requested"},
		},
		{
			name: "create in flight on a keep node", why: "B2: it never ran and cannot be bound now, so it says nothing of the revision",
			fleet:     []spot{on("a").keep(), on("b")},
			requested: []string{"a"},
			acts:      "create b Missing",
			want:      []string{"a: ineligible>none none Ineligible", "b: missing>update create Missing U"},
		},
		{
			name: "create in flight on a leave node", why: "B2, B4: a leave node counts against no budget",
			fleet:     []spot{on("a").leave()},
			requested: []string{"a"},
			want:      []string{"a: ineligible>none none Ineligible"},
		},
		{
			name: "frozen", why: "T4: frozen creates nothing",
			spec:  []kit.SpecOption{kit.Frozen()},
			fleet: []spot{on("a")},
			want:  []string{"a: missing>update wait Frozen frozen U"},
		},
		{
			name: "paused", why: "T4: repair goes on",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a")},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U"},
		},
		{
			name: "OnDelete", why: "T1, T5: what is lost comes back at the update revision",
			spec:  []kit.SpecOption{kit.OnDelete()},
			fleet: []spot{on("a")},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U"},
		},
	}
}

// unavailableToo sets maxUnavailable beside maxSurge, which one of the two must be zero for.
func unavailableToo(quantity string) kit.SpecOption {
	return func(s *rollout.Spec) {
		surge := s.Strategy.MaxSurge
		kit.MaxUnavailable(quantity)(s)
		s.Strategy.MaxSurge = surge
	}
}

func TestRepairM2Finished(t *testing.T) { playScenes(t, finishedScenes()) }

func finishedScenes() []scene {
	const second = time.Second
	updateA := func(delay, since time.Duration) []rollout.Backoff {
		return []rollout.Backoff{{Node: "a", Revision: "update", Delay: delay, Since: ago(since)}}
	}
	return []scene{
		{
			name: "failed", why: "M2: the first at once; the new one waits until it is gone",
			fleet: []spot{on("a", newPod(kit.Failed()))},
			acts:  "delete a0 Failed",
			want:  []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "two failed", why: "M2: all of a node's together",
			fleet: []spot{on("a", newPod(kit.Failed()), newPod(kit.Failed()))},
			acts:  "delete a0 Failed, delete a1 Failed",
			want:  []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "failed, older last", why: "M2: in order of age, not of name",
			fleet: []spot{on("a", newPod(kit.Failed()), newPod(kit.Failed(), kit.Created(ago(2*time.Hour))))},
			acts:  "delete a1 Failed, delete a0 Failed",
			want:  []string{"a: broken>update delete Failed a1 U"},
		},
		{
			name: "succeeded", why: "M2: at once",
			fleet: []spot{on("a", newPod(kit.Succeeded()))},
			acts:  "delete a0 Succeeded",
			want:  []string{"a: broken>update delete Succeeded a0 U"},
		},
		{
			name: "succeeded during a back-off", why: "M2: Succeeded pods have none",
			fleet:    []spot{on("a", newPod(kit.Succeeded()))},
			backoffs: updateA(second, 0),
			acts:     "delete a0 Succeeded",
			want:     []string{"a: broken>update delete Succeeded a0 U"},
		},
		{
			name: "succeeded, old and held", why: "M2: at once, whatever holds the node",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a", oldPod(kit.Succeeded()))},
			acts:  "delete a0 Succeeded",
			want:  []string{"a: broken>update delete Succeeded a0 U"},
		},
		{
			name: "failed, one before the delay is over", why: "M2: back-off",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			backoffs: updateA(second, second-1),
			want:     []string{"a: broken>update wait Backoff a0 backoff until=+1ns U"},
		},
		{
			name: "failed, the delay is just over", why: "M2: the instant itself is enough",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			backoffs: updateA(second, second),
			acts:     "delete a0 Failed",
			want:     []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "failed, delay beyond the maximum", why: "M2: no delay is longer than 15 min, whatever a memory says",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			backoffs: updateA(time.Hour, 15*time.Minute),
			acts:     "delete a0 Failed",
			want:     []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "failed, maximal delay", why: "M2: 15 min are waited in full",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			backoffs: updateA(15*time.Minute, 15*time.Minute-1),
			want:     []string{"a: broken>update wait Backoff a0 backoff until=+1ns U"},
		},
		{
			name: "failed, negative delay", why: "a damaged memory never blocks",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			backoffs: updateA(-time.Hour, 0),
			acts:     "delete a0 Failed",
			want:     []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "back-off of another node", why: "M2: per node",
			fleet:    []spot{on("a", newPod(kit.Failed())), on("b", newPod(kit.Failed()))},
			backoffs: updateA(second, 0),
			acts:     "delete b0 Failed",
			want: []string{
				"a: broken>update wait Backoff a0 backoff until=+1s U", "b: broken>update delete Failed b0 U",
			},
		},
		{
			name: "back-off of another revision", why: "M2: per revision, so that a fixed one never waits",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "old", Delay: time.Minute, Since: ago(0)}},
			acts:     "delete a0 Failed",
			want:     []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "failed outdated", why: "M2: at once, because another revision follows",
			fleet:    []spot{on("a", oldPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "old", Delay: time.Minute, Since: ago(0)}},
			acts:     "delete a0 OutdatedFailed",
			want:     []string{"a: broken>update replace OutdatedFailed a0 U"},
		},
		{
			name: "failed outdated while paused", why: "M2: a held node is not begun, so the back-off holds",
			spec:     []kit.SpecOption{kit.Paused()},
			fleet:    []spot{on("a", oldPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "old", Delay: time.Minute, Since: ago(0)}},
			want:     []string{"a: broken>update wait Backoff a0 backoff until=+1m0s U"},
		},
		{
			name: "failed outdated with OnDelete", why: "M2, T5: held, and the first goes at once",
			spec:  []kit.SpecOption{kit.OnDelete()},
			fleet: []spot{on("a", oldPod(kit.Failed()))},
			acts:  "delete a0 Failed",
			want:  []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "failed of both revisions while paused", why: "M2: each revision has its own back-off",
			spec:     []kit.SpecOption{kit.Paused()},
			fleet:    []spot{on("a", oldPod(kit.Failed()), newPod(kit.Failed()))},
			backoffs: updateA(second, 0),
			acts:     "delete a0 Failed",
			want:     []string{"a: broken>update delete Failed a0 backoff U"},
		},
		{
			name: "two back-offs on a node", why: "Decision.Until is the first instant at which anything is due",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a", oldPod(kit.Failed()), newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{
				{Node: "a", Revision: "update", Delay: 2 * second, Since: ago(0)},
				{Node: "a", Revision: "old", Delay: 5 * second, Since: ago(0)},
			},
			want: []string{"a: broken>update wait Backoff a0 backoff until=+2s U"},
		},
		{
			name: "two back-offs on a node, the first earlier", why: "as before, whichever pod is looked at first",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a", oldPod(kit.Failed()), newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{
				{Node: "a", Revision: "update", Delay: 5 * second, Since: ago(0)},
				{Node: "a", Revision: "old", Delay: 2 * second, Since: ago(0)},
			},
			want: []string{"a: broken>update wait Backoff a0 backoff until=+2s U"},
		},
		{
			name: "failed beside healthy", why: "M2: the healthy one is left alone (V4)",
			fleet: []spot{on("a", newPod(kit.Failed()), newPod())},
			acts:  "delete a0 Failed",
			want:  []string{"a: updated>update delete Failed a0"},
		},
		{
			name: "failed, one of them let go by its hook", why: "M2: all of a node's together, the back-off once",
			fleet: []spot{on("a", newPod(kit.Failed(), asked), newPod(kit.Failed()))},
			acts:  "delete a0 Released, delete a1 Failed",
			want:  []string{"a: broken>update delete Released a0 U"},
		},
		{
			name: "failed, one of them during its back-off", why: "M2: per node and revision, so the other one does not wait",
			spec:     []kit.SpecOption{kit.Paused()},
			fleet:    []spot{on("a", newPod(kit.Failed()), oldPod(kit.Failed()))},
			backoffs: updateA(second, 0),
			acts:     "delete a1 Failed",
			want:     []string{"a: broken>update delete Failed a1 backoff U"},
		},
		{
			name: "failed outdated beside healthy", why: "M2: at once; it replaces nothing, because the new pod is there",
			fleet: []spot{on("a", newPod(), oldPod(kit.Failed()))},
			acts:  "delete a1 OutdatedFailed",
			want:  []string{"a: updated>update delete OutdatedFailed a1"},
		},
		{
			name: "succeeded beside failed in back-off", why: "M2: each by its own rule",
			fleet:    []spot{on("a", newPod(kit.Succeeded()), newPod(kit.Failed()))},
			backoffs: updateA(second, 0),
			acts:     "delete a0 Succeeded",
			want:     []string{"a: broken>update delete Succeeded a0 backoff U"},
		},
		{
			name: "failed that is still Ready", why: "B5: the phase outranks conditions that nobody brought up to date",
			fleet: []spot{on("a", newPod(phase(corev1.PodFailed)))},
			acts:  "delete a0 Failed",
			want:  []string{"a: broken>update delete Failed a0 U"},
		},
		{
			name: "failed on a keep node", why: "M4: what runs may stay; what has failed does not run, and is not replaced",
			fleet: []spot{on("a", newPod(kit.Failed())).keep()},
			acts:  "delete a0 Failed",
			want:  []string{"a: kept>none delete Failed a0"},
		},
		{
			name: "failed outdated on a keep node", why: "M2, M4: it goes at once, and is not replaced",
			fleet:    []spot{on("a", oldPod(kit.Failed())).keep()},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "old", Delay: time.Minute, Since: ago(0)}},
			acts:     "delete a0 Failed",
			want:     []string{"a: kept>none delete Failed a0"},
		},
		{
			name: "failed on a leave node", why: "M4: every pod goes, without back-off",
			fleet:    []spot{on("a", newPod(kit.Failed()), oldPod(kit.Succeeded())).leave()},
			backoffs: updateA(second, 0),
			acts:     "delete a0 Leaving, delete a1 Leaving",
			want:     []string{"a: leaving>none delete Leaving a0"},
		},
		{
			name: "failed while frozen", why: "T4: frozen deletes nothing",
			spec:  []kit.SpecOption{kit.Frozen()},
			fleet: []spot{on("a", newPod(kit.Failed()))},
			want:  []string{"a: broken>update wait Frozen a0 frozen U"},
		},
		{
			name: "failed marked beside failed", why: "M1, M2: the marked one is ignored, the other one goes",
			fleet: []spot{on("a", newPod(kit.Failed(), terminating()), newPod(kit.Failed()))},
			acts:  "delete a1 Failed",
			want:  []string{"a: broken>update delete Failed a1 U"},
		},
	}
}

func phase(p corev1.PodPhase) kit.PodOption {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}

func TestRepairM3Surplus(t *testing.T) { playScenes(t, surplusScenes()) }

func surplusScenes() []scene {
	soon := kit.MinReadySeconds(60)
	young := kit.Created(ago(time.Minute))
	return []scene{
		{
			name: "serving first", why: "M3: before an available one that a patch in flight may take out of service (B2)",
			spec:     []kit.SpecOption{soon, kit.Paused()},
			patching: []string{"a0"},
			fleet:    []spot{on("a", oldPod(), oldPod(readyFor(time.Second)))},
			acts:     "delete a0 Surplus",
			want:     []string{"a: outdated>held delete Surplus a0 paused"},
		},
		{
			name: "available first", why: "M3: available before ready, though younger",
			spec:  []kit.SpecOption{soon},
			fleet: []spot{on("a", newPod(readyFor(time.Second)), newPod(young))},
			acts:  "delete a0 Surplus",
			want:  []string{"a: updated>update delete Surplus a0"},
		},
		{
			name: "ready first", why: "M3: ready before not ready, though younger",
			spec:  []kit.SpecOption{soon},
			fleet: []spot{on("a", newPod(kit.Unready()), newPod(readyFor(time.Second), young))},
			acts:  "delete a0 Surplus",
			want:  []string{"a: starting>update delete Surplus a0 U"},
		},
		{
			name: "bound first", why: "M3: bound before pinned, though younger",
			fleet: []spot{on("a", pinned(newPod(kit.Unready())), newPod(kit.Unready(), young))},
			acts:  "delete a0 Surplus",
			want:  []string{"a: starting>update delete Surplus a0 U"},
		},
		{
			name: "ready outranks bound", why: "M3: in the order available, ready, bound",
			fleet: []spot{on("a", pinned(newPod()), newPod(kit.Unready(), kit.Created(ago(2*time.Hour))))},
			acts:  "delete a1 Surplus",
			want:  []string{"a: updated>update delete Surplus a1"},
		},
		{
			name: "older first", why: "M3: of equals the older one stays",
			fleet: []spot{on("a", newPod(young), newPod())},
			acts:  "delete a0 Surplus",
			want:  []string{"a: updated>update delete Surplus a0"},
		},
		{
			name: "name decides", why: "M3: of equal age the first name stays",
			fleet: []spot{on("a", newPod(), newPod(), newPod())},
			acts:  "delete a1 Surplus, delete a2 Surplus",
			want:  []string{"a: updated>update delete Surplus a1"},
		},
		{
			name: "UID decides", why: "every order is total, even among namesakes",
			fleet: []spot{on("a", newPod(named("a"), withUID("2")), newPod(named("a"), withUID("1")))},
			acts:  "delete a Surplus",
			want:  []string{"a: updated>update delete Surplus a"},
		},
		{
			name: "of old ones too", why: "M3: one of the update revision and one other",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a", oldPod(kit.Unready()), oldPod(young), podAt("older", young))},
			acts:  "delete a0 Surplus, delete a2 Surplus",
			want:  []string{"a: outdated>held delete Surplus a0 paused"},
		},
		{
			name: "old beside new available", why: "M3: of the two the other goes when the new one is available",
			fleet: []spot{on("a", oldPod(), newPod())},
			acts:  "delete a0 Superseded",
			want:  []string{"a: surging>update delete Superseded a0"},
		},
		{
			name: "old not ready beside new available", why: "M3: the new one being available is the better reason",
			fleet: []spot{on("a", oldPod(kit.Unready()), newPod())},
			acts:  "delete a0 Superseded",
			want:  []string{"a: surging>update delete Superseded a0"},
		},
		{
			name: "old not ready beside new not ready", why: "M3: the other goes when it is not ready",
			fleet: []spot{on("a", oldPod(kit.Unready()), newPod(kit.Unready()))},
			acts:  "delete a0 NotReadyBesideNew",
			want:  []string{"a: surging>update delete NotReadyBesideNew a0 U"},
		},
		{
			name: "old not ready beside new not bound", why: "M3: on a run node the new pod will be bound",
			fleet: []spot{on("a", oldPod(kit.Unready()), pinned(newPod(kit.Pending())))},
			acts:  "delete a0 NotReadyBesideNew",
			want:  []string{"a: surging>update delete NotReadyBesideNew a0 U"},
		},
		{
			name: "old ready beside new without a place", why: "M3: it may be in its place, and is updated in its turn",
			fleet: []spot{on("a", oldPod(), newPod(kit.Unscheduled("a", ago(time.Minute))))},
			acts:  "delete a1 UnschedulableBesideReady",
			want:  []string{"a: surging>update delete UnschedulableBesideReady a1"},
		},
		{
			name: "old ready beside new without a place, surge", why: "B4: the old one goes when the new one serves",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod(), newPod(kit.Unscheduled("a", ago(time.Minute))))},
			want:  []string{"a: surging>update wait NotReady a1 S"},
		},
		{
			name: "old ready beside new without a place, keep", why: "M4: there it cannot be bound now",
			fleet: []spot{on("a", oldPod(), newPod(kit.Unscheduled("a", ago(time.Minute)))).keep()},
			want:  []string{"a: kept>none none Kept"},
		},
		{
			name: "old not ready beside new not bound, keep", why: "M4: there it cannot be bound now: the old one is all the node has",
			fleet: []spot{on("a", oldPod(kit.Unready()), pinned(newPod(kit.Pending()))).keep()},
			want:  []string{"a: kept>none none Kept"},
		},
		{
			name: "old not ready beside new not ready, keep", why: "M3 holds on keep nodes too",
			fleet: []spot{on("a", oldPod(kit.Unready()), newPod(kit.Unready())).keep()},
			acts:  "delete a0 NotReadyBesideNew",
			want:  []string{"a: kept>none delete NotReadyBesideNew a0 U"},
		},
		{
			name: "old not ready beside new, frozen", why: "M3, T4: what waits is the repair; the node is begun, so nothing holds it",
			spec:  []kit.SpecOption{kit.Frozen()},
			fleet: []spot{on("a", oldPod(kit.Unready()), newPod(kit.Unready()))},
			want:  []string{"a: surging>update wait Frozen a0 frozen U"},
		},
		{
			name: "old ready beside new not ready", why: "M3: both stay, the old one serves",
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready()))},
			want:  []string{"a: surging>update wait NotReady a1"},
		},
		{
			name: "old ready beside new ready", why: "M3, B5: both stay until the new one is available",
			spec:  []kit.SpecOption{soon},
			fleet: []spot{on("a", oldPod(readyFor(time.Second)), newPod(readyFor(59*time.Second)))},
			want:  []string{"a: surging>update wait MinReadySeconds a1 minReadySeconds until=+1s"},
		},
		{
			name: "two of each", why: "M3: the best of each stays, and of those the old one goes",
			fleet: []spot{on("a", oldPod(), oldPod(), newPod(), newPod(kit.Unready()))},
			acts:  "delete a1 Surplus, delete a3 Surplus, delete a0 Superseded",
			want:  []string{"a: surging>update delete Surplus a1"},
		},
		{
			name: "superseded while paused", why: "T4: begun nodes finish",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a", oldPod(), newPod())},
			acts:  "delete a0 Superseded",
			want:  []string{"a: surging>update delete Superseded a0"},
		},
		{
			name: "superseded while frozen", why: "T4: frozen deletes nothing",
			spec:  []kit.SpecOption{kit.Frozen()},
			fleet: []spot{on("a", oldPod(), newPod())},
			want:  []string{"a: surging>update wait Frozen a0 frozen"},
		},
		{
			name: "terminating counts as gone", why: "a pod marked for deletion is no rival",
			fleet: []spot{on("a", newPod(terminating()), newPod())},
			want:  []string{"a: updated>update none UpToDate"},
		},
		{
			name: "terminating new beside old", why: "a marked pod of the update revision supersedes nothing; the node is a candidate",
			fleet: []spot{on("a", newPod(terminating()), oldPod())},
			acts:  "delete a1 Outdated",
			want:  []string{"a: outdated>update replace Outdated a1 U"},
		},
		{
			name: "failed is no rival", why: "M3 chooses among pods that run",
			fleet: []spot{on("a", newPod(kit.Failed(), kit.Created(ago(2*time.Hour))), newPod(kit.Unready()))},
			acts:  "delete a0 Failed",
			want:  []string{"a: starting>update delete Failed a0 U"},
		},
	}
}

func named(name string) kit.PodOption { return func(p *corev1.Pod) { p.Name = name } }

func TestRepairM4NotEligible(t *testing.T) { playScenes(t, notEligibleScenes()) }

func notEligibleScenes() []scene {
	surge := func(options ...kit.SpecOption) []kit.SpecOption {
		return append([]kit.SpecOption{kit.MaxSurge("1"), kit.TemplateNodeSelector("pool", "x")}, options...)
	}
	inPool := kit.Label("pool", "x")
	return []scene{
		{
			name: "leave", why: "M4: every pod there goes, together, but for those on their way out",
			fleet: []spot{on("a", newPod(), oldPod(), newPod(kit.Unready()), newPod(terminating())).leave()},
			acts:  "delete a0 Leaving, delete a1 Leaving, delete a2 Leaving",
			want:  []string{"a: leaving>none delete Leaving a0"},
		},
		{
			name: "leave, all terminating", why: "M4: nothing is left to do but wait",
			fleet: []spot{on("a", newPod(terminating())).leave()},
			want:  []string{"a: leaving>none wait Terminating"},
		},
		{
			name: "leave by selector without surge", why: "M4: only surge lets them linger",
			spec:  []kit.SpecOption{kit.TemplateNodeSelector("pool", "x")},
			fleet: []spot{on("a", newPod())},
			acts:  "delete a0 Leaving",
			want:  []string{"a: leaving>none delete Leaving a0"},
		},
		{
			name: "leave by selector without surge, too few elsewhere", why: "M4: only surge lets them linger, however few there are",
			spec:  []kit.SpecOption{kit.TemplateNodeSelector("pool", "x")},
			fleet: []spot{on("a", newPod()), on("b").with(inPool)},
			acts:  "delete a0 Leaving, create b Missing",
			want:  []string{"a: leaving>none delete Leaving a0", "b: missing>update create Missing U"},
		},
		{
			name: "leave by selector with surge, too few elsewhere", why: "M4: it serves until available pods outnumber desired",
			spec:  surge(),
			fleet: []spot{on("a", newPod()), on("b", newPod(kit.Unready())).with(inPool)},
			want: []string{
				"a: leaving>none wait Serving a0 desired", "b: starting>update wait NotReady b0 U S",
			},
		},
		{
			name: "leave by selector with surge, one too many", why: "M4: available pods outnumber desired by one, so one goes",
			spec:  surge(),
			fleet: []spot{on("a", newPod()), on("b", newPod()).with(inPool)},
			acts:  "delete a0 Leaving",
			want:  []string{"a: leaving>none delete Leaving a0", "b: updated>update none UpToDate"},
		},
		{
			name: "leave by selector with surge, some too many", why: "M4: each that goes is one fewer",
			spec:  surge(),
			fleet: []spot{on("a", newPod()), on("b", newPod()), on("c", newPod()), on("d").with(inPool)},
			acts:  "delete a0 Leaving, delete b0 Leaving, create d Missing",
			want: []string{
				"a: leaving>none delete Leaving a0", "b: leaving>none delete Leaving b0",
				"c: leaving>none wait Serving c0 desired", "d: missing>update create Missing U S",
			},
		},
		{
			name: "leave by selector with surge, not available", why: "M4: only an available one may linger, and it counts for nothing",
			spec:  surge(),
			fleet: []spot{on("a", newPod(kit.Unready())), on("b", newPod()), on("c").with(inPool), on("d").with(inPool)},
			acts:  "delete a0 Leaving, create c Missing, create d Missing",
			want: []string{
				"a: leaving>none delete Leaving a0", "b: leaving>none wait Serving b0 desired",
				"c: missing>update create Missing U S", "d: missing>update create Missing U S",
			},
		},
		{
			name: "leave by selector with surge, terminating", why: "a marked pod counts as gone, so it is not among the available ones",
			spec:  surge(),
			fleet: []spot{on("a", newPod(terminating())), on("b", newPod()), on("c").with(inPool)},
			acts:  "create c Missing",
			want: []string{
				"a: leaving>none wait Terminating", "b: leaving>none wait Serving b0 desired",
				"c: missing>update create Missing U S",
			},
		},
		{
			name: "leave by selector with surge, ready only", why: "B5: Ready for too short a time is not available",
			spec:  surge(kit.MinReadySeconds(60)),
			fleet: []spot{on("a", newPod(readyFor(59*time.Second))), on("b").with(inPool)},
			acts:  "delete a0 Leaving, create b Missing",
			want:  []string{"a: leaving>none delete Leaving a0", "b: missing>update create Missing U S"},
		},
		{
			name: "leave by selector with surge, several pods", why: "M3, M4: the best of them lingers",
			spec:  surge(),
			fleet: []spot{on("a", oldPod(kit.Unready()), newPod(), newPod(kit.Failed())), on("b").with(inPool)},
			acts:  "delete a0 Leaving, delete a2 Leaving, create b Missing",
			want:  []string{"a: leaving>none delete Leaving a0 desired", "b: missing>update create Missing U S"},
		},
		{
			name: "leave by selector with surge, old is best", why: "M3, M4: the best of them, of whatever revision",
			spec:  surge(),
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready())), on("b").with(inPool)},
			acts:  "delete a1 Leaving, create b Missing",
			want:  []string{"a: leaving>none delete Leaving a1 desired", "b: missing>update create Missing U S"},
		},
		{
			name: "leave by selector with surge, new is older", why: "M3: of equals the older one",
			spec:  surge(),
			fleet: []spot{on("a", oldPod(), newPod(kit.Created(ago(2*time.Hour)))), on("b").with(inPool)},
			acts:  "delete a0 Leaving, create b Missing",
			want:  []string{"a: leaving>none delete Leaving a0 desired", "b: missing>update create Missing U S"},
		},
		{
			name: "leave by selector with surge, old alone", why: "M4: it serves, though of the old revision",
			spec:  surge(),
			fleet: []spot{on("a", oldPod()), on("b").with(inPool)},
			acts:  "create b Missing",
			want:  []string{"a: leaving>none wait Serving a0 desired", "b: missing>update create Missing U S"},
		},
		{
			name: "leave by name with surge", why: "M4: selector, affinity or name",
			spec:  []kit.SpecOption{kit.MaxSurge("1"), func(s *rollout.Spec) { s.Template.Spec.NodeName = "b" }},
			fleet: []spot{on("a", newPod()), on("b")},
			acts:  "create b Missing",
			want:  []string{"a: leaving>none wait Serving a0 desired", "b: missing>update create Missing U S"},
		},
		{
			name: "leave by affinity with surge", why: "M4: selector, affinity or name",
			spec:  []kit.SpecOption{kit.MaxSurge("1"), kit.Affinity("pool", "x", "y")},
			fleet: []spot{on("a", newPod()), on("b").with(inPool)},
			acts:  "create b Missing",
			want:  []string{"a: leaving>none wait Serving a0 desired", "b: missing>update create Missing U S"},
		},
		{
			name: "leave by taint with surge", why: "M4: a NoExecute taint means now, and its pods do not count",
			spec:  surge(),
			fleet: []spot{on("a", newPod()).with(inPool).leave(), on("b", newPod()), on("c").with(inPool)},
			acts:  "delete a0 Leaving, create c Missing",
			want: []string{
				"a: leaving>none delete Leaving a0", "b: leaving>none wait Serving b0 desired",
				"c: missing>update create Missing U S",
			},
		},
		{
			name: "leave by taint with surge, too few elsewhere", why: "M4: a NoExecute taint means now, however few there are",
			spec:  surge(),
			fleet: []spot{on("a", newPod()).with(inPool).leave(), on("b").with(inPool)},
			acts:  "delete a0 Leaving, create b Missing",
			want:  []string{"a: leaving>none delete Leaving a0", "b: missing>update create Missing U S"},
		},
		{
			name: "keep nodes and excess", why: "M4: a keep node's pod is not among those that outnumber desired: it may not come back",
			spec:  surge(),
			fleet: []spot{on("a", newPod()), on("b", newPod()).with(inPool).keep(), on("c").with(inPool)},
			acts:  "create c Missing",
			want: []string{
				"a: leaving>none wait Serving a0 desired", "b: kept>none none Kept",
				"c: missing>update create Missing U S",
			},
		},
		{
			name: "serving while frozen", why: "T4: frozen deletes nothing, and what would serve anyway goes on",
			spec:  surge(kit.Frozen()),
			fleet: []spot{on("a", newPod()), on("b", newPod(kit.Unready())), on("c").with(inPool)},
			want: []string{
				"a: leaving>none wait Serving a0 desired", "b: leaving>none wait Frozen b0 frozen",
				"c: missing>update wait Frozen frozen U",
			},
		},
		{
			name: "keep", why: "M4: running pods stay and nothing is replaced, outdated or not",
			fleet: []spot{on("a", newPod()).keep(), on("b", oldPod()).keep(), on("c", oldPod(kit.Unready())).keep()},
			want: []string{
				"a: kept>none none Kept", "b: kept>none none Kept", "c: kept>none none Kept",
			},
		},
		{
			name: "keep with surge", why: "M4: nor is a new pod set beside the old one",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod()).keep()},
			want:  []string{"a: kept>none none Kept"},
		},
		{
			name: "keep, surplus", why: "M3 holds on keep nodes too",
			fleet: []spot{on("a", newPod(), newPod()).keep(), on("b", oldPod(), newPod()).keep()},
			acts:  "delete a1 Surplus, delete b0 Superseded",
			want:  []string{"a: kept>none delete Surplus a1", "b: kept>none delete Superseded b0"},
		},
		{
			name: "keep, terminating", why: "M4: it is not replaced, with surge or without",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", newPod(terminating())).keep()},
			want:  []string{"a: kept>none none Kept"},
		},
	}
}

func TestRepairM5Strays(t *testing.T) { playScenes(t, strayScenes()) }

func strayScenes() []scene {
	return []scene{
		{
			name: "pinned to a node that is gone", why: "M5: deleted",
			fleet: []spot{gone("z", pinned(newPod(kit.Pending())))},
			acts:  "delete z0 NodeGone",
			want:  []string{"z: vanished>none delete NodeGone z0"},
		},
		{
			name: "pinned and marked", why: "M5: deleted once",
			fleet: []spot{gone("z", pinned(newPod(kit.Pending(), terminating())))},
			want:  []string{"z: vanished>none wait Terminating z0"},
		},
		{
			name: "pinned and requested", why: "M5: deleted once, requests included",
			fleet:    []spot{gone("z", pinned(newPod(kit.Pending())))},
			deleting: []string{"z0"},
			want:     []string{"z: vanished>none wait Terminating z0"},
		},
		{
			name: "bound to a node that is gone", why: "M5: the pod garbage collector's",
			fleet: []spot{gone("z", newPod())},
			want:  []string{"z: vanished>none none Vanished z0"},
		},
		{
			name: "failed, pinned", why: "M5: whatever its phase",
			fleet: []spot{gone("z", pinned(newPod(kit.Failed())))},
			acts:  "delete z0 NodeGone",
			want:  []string{"z: vanished>none delete NodeGone z0"},
		},
		{
			name: "failed, pinned, marked", why: "M1: ignored altogether",
			fleet: []spot{gone("z", pinned(newPod(kit.Failed(), terminating())))},
		},
		{
			name: "no node", why: "P7: not attributable, so nothing is done to it",
			fleet: []spot{gone("", newPod(), newPod(terminating()))},
			want: []string{
				": unattributed>none none Unattributable lost0", ": unattributed>none none Unattributable lost1",
			},
		},
		{
			name: "after the nodes, by node, name and UID", why: "decisions have one order",
			fleet: []spot{
				gone("z", newPod(), newPod(withUID("2")), newPod(named("z1"), withUID("1"))),
				gone("y", pinned(newPod(kit.Pending()))), gone("", newPod()), on("zz", newPod()),
			},
			acts: "delete y0 NodeGone",
			want: []string{
				"zz: updated>update none UpToDate",
				": unattributed>none none Unattributable lost0",
				"y: vanished>none delete NodeGone y0",
				"z: vanished>none none Vanished z0", "z: vanished>none none Vanished z1", "z: vanished>none none Vanished z1",
			},
		},
		{
			name: "frozen", why: "T4: frozen deletes nothing",
			spec:  []kit.SpecOption{kit.Frozen()},
			fleet: []spot{gone("z", pinned(newPod(kit.Pending())))},
			want:  []string{"z: vanished>none wait Frozen z0 frozen"},
		},
		{
			name: "no budget", why: "B2: a pod whose node is gone counts against nothing",
			fleet: []spot{gone("z", newPod(kit.Unready())), on("a", oldPod())},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>update replace Outdated a0 U", "z: vanished>none none Vanished z0"},
		},
	}
}
