package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// Each row has one node of interest "a". The counts are those of the snapshot, before any action.
func TestStatusS1(t *testing.T) {
	settled := status.Counts{Desired: 1, Current: 1, Ready: 1, Available: 1, Updated: 1}
	present := status.Counts{Desired: 1, Current: 1, Unavailable: 1}
	misscheduled := status.Counts{Misscheduled: 1}
	tests := []struct {
		name, why string
		fleet     spot
		deleting  []string
		requested []string
		want      status.Counts
	}{
		{name: "settled", why: "ready, available and updated", fleet: on("a", newPod()), want: settled},
		{name: "missing", why: "desired and nothing else", fleet: on("a"), want: status.Counts{Desired: 1, Unavailable: 1}},
		{name: "requested", why: "counted is what the snapshot shows", fleet: on("a"), requested: []string{"a"},
			want: status.Counts{Desired: 1, Unavailable: 1}},
		{name: "outdated", why: "available, not updated", fleet: on("a", oldPod()),
			want: status.Counts{Desired: 1, Current: 1, Ready: 1, Available: 1}},
		{name: "not ready", why: "updated says nothing of health", fleet: on("a", newPod(kit.Unready())),
			want: status.Counts{Desired: 1, Current: 1, Unavailable: 1, Updated: 1}},
		{name: "ready only", why: "B5: not for 60 seconds yet", fleet: on("a", newPod(readyFor(59*time.Second))),
			want: status.Counts{Desired: 1, Current: 1, Ready: 1, Unavailable: 1, Updated: 1}},
		{name: "ready for just long enough", why: "B5: exactly 60 seconds are enough",
			fleet: on("a", newPod(readyFor(60*time.Second))), want: settled},
		{name: "terminating", why: "any pod object makes the node current, a terminating one too; it is not live",
			fleet: on("a", newPod(terminating())), want: present},
		{name: "delete in flight", why: "requests count as done: the pod is marked",
			fleet: on("a", newPod()), deleting: []string{"a0"}, want: present},
		{name: "failed", why: "a Failed pod is live until it is marked, so the node is updated",
			fleet: on("a", newPod(kit.Failed())), want: status.Counts{Desired: 1, Current: 1, Unavailable: 1, Updated: 1}},
		{name: "succeeded", why: "as for Failed",
			fleet: on("a", newPod(kit.Succeeded())), want: status.Counts{Desired: 1, Current: 1, Unavailable: 1, Updated: 1}},
		{name: "failed, outdated", why: "any pod object makes the node current", fleet: on("a", oldPod(kit.Failed())), want: present},
		{name: "failed, still Ready", why: "B5: the phase outranks the condition",
			fleet: on("a", oldPod(phase(corev1.PodFailed))), want: present},
		{name: "failed and marked", why: "M1's ignored ones do not count",
			fleet: on("a", newPod(kit.Failed(), terminating())), want: status.Counts{Desired: 1, Unavailable: 1}},
		{name: "surging", why: "any live pod: the old one is available, the new one updated",
			fleet: on("a", oldPod(), newPod(kit.Unready())), want: settled},
		{name: "two pods", why: "by node, not by pod", fleet: on("a", newPod(), newPod()), want: settled},
		{name: "live beside terminating", why: "any live pod", fleet: on("a", newPod(terminating()), newPod()), want: settled},
		{name: "keep", why: "a node that is not run is misscheduled", fleet: on("a", newPod()).keep(), want: misscheduled},
		{name: "leave", why: "a node that is not run is misscheduled", fleet: on("a", oldPod()).leave(), want: misscheduled},
		{name: "leave, terminating", why: "any pod object", fleet: on("a", newPod(terminating())).leave(), want: misscheduled},
		{name: "leave, failed and marked", why: "M1's ignored ones do not count",
			fleet: on("a", newPod(kit.Failed(), terminating())).leave(), want: status.Counts{}},
		{name: "keep without pod", why: "neither desired nor misscheduled", fleet: on("a").keep(), want: status.Counts{}},
		{name: "gone", why: "counted by node, and there is none", fleet: gone("a", newPod()), want: status.Counts{}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			s := scene{
				spec: []kit.SpecOption{kit.MinReadySeconds(60)}, fleet: []spot{tt.fleet},
				deleting: tt.deleting, requested: tt.requested,
			}
			plan := s.lab().plan(t)
			if diff := cmp.Diff(tt.want, plan.Status.Counts); diff != "" {
				t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
			}
			var derived status.Counts
			for _, d := range plan.Decisions {
				derived.Add(d.Facts)
			}
			if derived != plan.Status.Counts {
				t.Errorf("the decisions give %+v, the status says %+v (V12)", derived, plan.Status.Counts)
			}
		})
	}
}

// What the planner tells package status of a fleet, seen in the one word, its reason and the message.
func TestStatusS2(t *testing.T) {
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		fleet     []spot
		backoffs  []rollout.Backoff
		inFlight  rollout.InFlight
		state     status.SetState
		reason    status.ConditionReason
		message   string
		allowed   int32
	}{
		{
			name: "complete", why: "all settled",
			fleet: []spot{on("a", newPod()), on("b", newPod())},
			state: status.Running, reason: status.RolloutComplete,
			message: "2 of 2 nodes updated and available", allowed: 1,
		},
		{
			name: "under way", why: "the plan acts; S4: the node it takes down is no longer allowed",
			fleet: []spot{on("a", newPod()), on("b", oldPod()), on("c", oldPod())},
			state: status.Updating, reason: status.RolloutInProgress,
			message: "1 of 3 nodes updated and available, 1 waiting for the budget",
		},
		{
			name: "starting", why: "nothing is done: a pod that starts is waited for",
			spec:  []kit.SpecOption{kit.MaxUnavailable("3")},
			fleet: []spot{on("a", newPod(kit.Unready(), young))},
			state: status.Updating, reason: status.WaitingForAvailability,
			message: "0 of 1 nodes updated and available", allowed: 2,
		},
		{
			name: "terminating", why: "nothing is done: a pod that terminates is waited for",
			fleet: []spot{on("a", oldPod(terminating()))},
			state: status.Updating, reason: status.WaitingForAvailability,
			message: "0 of 1 nodes updated and available",
		},
		{
			name: "broken", why: "nothing is done during a back-off",
			fleet:    []spot{on("a", newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Minute, Since: ago(0)}},
			state:    status.Updating, reason: status.WaitingForAvailability,
			message: "0 of 1 nodes updated and available",
		},
		{
			name: "surging", why: "nothing is done: the new pod is waited for, and the node is not settled",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready(), young))},
			state: status.Updating, reason: status.WaitingForAvailability,
			message: "0 of 1 nodes updated and available",
		},
		{
			name: "in flight", why: "something is done: an earlier plan's actions are under way",
			fleet:    []spot{on("a", newPod(kit.Unready()))},
			inFlight: rollout.InFlight{Creates: []rollout.InFlightCreate{{Node: "elsewhere"}}},
			state:    status.Updating, reason: status.RolloutInProgress,
			message: "0 of 1 nodes updated and available",
		},
		{
			name: "delete in flight", why: "of whatever kind",
			fleet:    []spot{on("a", newPod(kit.Unready()))},
			inFlight: rollout.InFlight{Deletes: []types.UID{"x"}},
			state:    status.Updating, reason: status.RolloutInProgress,
			message: "0 of 1 nodes updated and available",
		},
		{
			name: "patch in flight", why: "of whatever kind",
			fleet:    []spot{on("a", newPod(kit.Unready()))},
			inFlight: rollout.InFlight{Patches: []types.UID{"x"}},
			state:    status.Updating, reason: status.RolloutInProgress,
			message: "0 of 1 nodes updated and available",
		},
		{
			name: "revision in flight", why: "of whatever kind",
			fleet:    []spot{on("a", newPod(kit.Unready()))},
			inFlight: rollout.InFlight{Revisions: []string{"x"}},
			state:    status.Updating, reason: status.RolloutInProgress,
			message: "0 of 1 nodes updated and available",
		},
		{
			name: "surging, new pod available", why: "settled, though the old pod is still there",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod(), newPod())},
			state: status.Running, reason: status.RolloutComplete,
			message: "1 of 1 nodes updated and available",
		},
		{
			name: "waiting", why: "nothing is under way: a broken pod on a keep node uses up the budget",
			fleet: []spot{on("a", oldPod()), on("b", newPod(kit.Unready(), young)).keep()},
			state: status.Updating, reason: status.WaitingForAvailability,
			message: "0 of 1 nodes updated and available, 1 waiting for the budget",
		},
		{
			name: "failing", why: "P-A: nothing is in motion, and somebody has to act",
			spec:  []kit.SpecOption{kit.MaxUnavailable("3")},
			fleet: []spot{on("a", newPod(crashing("ErrImagePull")))},
			state: status.Stuck, reason: status.PodsNotServing,
			message: "0 of 1 nodes updated and available; a, since 2026-01-01T12:00:00Z: container main: ErrImagePull, last OOMKilled with exit code 137 (what helps: correct the image or " +
				"its pull secret in the template; or see whether a reaches the registry)", allowed: 2,
		},
		{
			name: "paused", why: "T4: held nodes, one of them unavailable; S4: it uses up the budget",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a", oldPod()), on("b", oldPod(kit.Unready())), on("c", newPod())},
			state: status.Paused, reason: status.PausedBySpec,
			message: "1 of 3 nodes updated and available, 2 held back, 1 unavailable while held back",
		},
		{
			name: "frozen", why: "T4: nothing is created, nothing waits for the budget",
			spec:  []kit.SpecOption{kit.Frozen(), kit.MaxUnavailable("3")},
			fleet: []spot{on("a", oldPod()), on("b")},
			state: status.Frozen, reason: status.FrozenBySpec,
			message: "0 of 2 nodes updated and available, 1 held back", allowed: 2,
		},
		{
			name: "OnDelete", why: "T5: what is left is for somebody else",
			spec:  []kit.SpecOption{kit.OnDelete()},
			fleet: []spot{on("a", oldPod()), on("b", newPod())},
			state: status.Running, reason: status.OnDelete,
			message: "1 of 2 nodes updated and available, 1 held back",
		},
		{
			name: "partition", why: "T2: as far as the spec lets it go",
			spec:  []kit.SpecOption{partition("1")},
			fleet: []spot{on("a", oldPod()), on("b", newPod())},
			state: status.Running, reason: status.RolloutHeld,
			message: "1 of 2 nodes updated and available, 1 held back", allowed: 1,
		},
		{
			name: "stuck", why: "B2: a broken pod that the partition holds uses up the budget, and nothing but a person helps",
			spec:  []kit.SpecOption{partition("1")},
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod())},
			state: status.Stuck, reason: status.HeldPodsUseUpBudget,
			message: "0 of 2 nodes updated and available, 1 held back, 1 waiting for the budget, 1 unavailable while held back; a, since 2026-01-01T12:00:00Z: " +
				"it is not Ready, and nothing says why (what helps: see kubectl describe pod a0; or roll out a template that mends it, or the one before)",
		},
		{
			name: "in place only", why: "I1, P-A: nobody asked for what cannot be done, and it is not what the user holds back",
			spec:  []kit.SpecOption{method(inplace.Only)},
			fleet: []spot{on("a", oldPod()), on("b", newPod())},
			state: status.Stuck, reason: status.InPlaceNotPossible,
			message: "1 of 2 nodes updated and available; a: its pod cannot be updated in place, and the method is InPlaceOnly: no readiness gate InPlaceUpdateReady " +
				"(what helps: set the method to InPlaceIfPossible; or delete the pods of a by hand)", allowed: 1,
		},
		{
			name: "no nodes", why: "nothing to do",
			state: status.Running, reason: status.RolloutComplete,
			message: "no node is to run the pod", allowed: 1,
		},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := scene{spec: tt.spec, fleet: tt.fleet, backoffs: tt.backoffs}.lab()
			l.snapshot.InFlight = tt.inFlight
			got := l.plan(t).Status
			if got.State != tt.state || got.Reason != tt.reason {
				t.Errorf("%v %v, want %v %v: %s", got.State, got.Reason, tt.state, tt.reason, tt.why)
			}
			if got.Conditions[1].Message != tt.message {
				t.Errorf("message\n got: %s\nwant: %s\n why: %s", got.Conditions[1].Message, tt.message, tt.why)
			}
			if got.DisruptionsAllowed != tt.allowed {
				t.Errorf("%d disruptions allowed, want %d (S4): %s", got.DisruptionsAllowed, tt.allowed, tt.why)
			}
		})
	}
}

// T7: nodes that a first installation leaves empty are held, not waited for.
func TestStatusOfPartitionedScaling(t *testing.T) {
	l := firstInstallation(partition("2")).add(on("a"), on("b"), on("c"))
	l.snapshot.Pods = append(l.snapshot.Pods, newPod()(l, "a", "a0"))
	got := l.plan(t).Status
	if got.State != status.Running || got.Reason != status.RolloutHeld {
		t.Errorf("%v %v, want Running, RolloutHeld", got.State, got.Reason)
	}
	if want := "1 of 3 nodes updated and available, 2 held back"; got.Conditions[1].Message != want {
		t.Errorf("message %q, want %q", got.Conditions[1].Message, want)
	}
}

// One status in full: nothing of the spec, the revisions or the memory is lost on the way.
func TestStatusInFull(t *testing.T) {
	l := newLab().add(on("a", oldPod()), on("b", newPod()))
	l.spec.Generation = 12
	l.snapshot.Memory = rollout.Memory{
		Version: rollout.MemoryVersion, CollisionCount: new(int32(3)),
		Conditions: []metav1.Condition{
			{Type: status.ConditionAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(ago(time.Hour))},
		},
	}
	want := status.Status{
		Counts:             status.Counts{Desired: 2, Current: 2, Ready: 2, Available: 2, Updated: 1},
		ObservedGeneration: 12, UpdateRevision: l.update, StableRevision: l.old, CollisionCount: new(int32(3)),
		State: status.Updating, Reason: status.RolloutInProgress,
		Conditions: []metav1.Condition{
			{
				Type: "Available", Status: "True", ObservedGeneration: 12, LastTransitionTime: metav1.NewTime(ago(time.Hour)),
				Reason: "EnoughNodesAvailable", Message: "2 of 2 nodes available, at most 1 may be unavailable",
			},
			{
				Type: "Progressing", Status: "True", ObservedGeneration: 12, LastTransitionTime: metav1.NewTime(ago(0)),
				Reason: "RolloutInProgress", Message: "1 of 2 nodes updated and available",
			},
		},
	}
	if diff := cmp.Diff(want, l.plan(t).Status); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// S3: conditions follow the revision. Each step plans with the memory of the step before.
func TestStatusS3(t *testing.T) {
	l := newLab()
	began := func(step int) time.Time { return kit.Noon().Add(time.Duration(step) * time.Minute) }
	steps := []struct {
		name, why string
		image     string
		fleet     []spot
		want      string // Progressing, since which step, completed, began in which step
	}{
		{"begin", "a rollout that is not complete", "agent:v2", []spot{on("a", oldPod())}, "True since 0, completed false, began 0"},
		{"go on", "the record stays", "agent:v2", []spot{on("a")}, "True since 0, completed false, began 0"},
		{"complete", "every node is settled", "agent:v2", []spot{on("a", newPod())}, "False since 2, completed true, began 0"},
		{"reboot", "a node that is away does not reopen it", "agent:v2",
			[]spot{on("a", newPod(kit.Unready()))}, "False since 2, completed true, began 0"},
		{"new node", "nor does one that joins", "agent:v2", []spot{on("a", newPod()), on("b")}, "False since 2, completed true, began 0"},
		{"new revision", "a new record", "agent:v3", []spot{on("a", newPod())}, "True since 5, completed false, began 5"},
		{"rollback", "a rollout again, although it was complete once", "agent:v2",
			[]spot{on("a", newPod(kit.Unready(), young))}, "True since 5, completed false, began 6"},
	}
	rows := uniqueRows{}
	for i, step := range steps {
		rows.check(t, step.name, step.why)
		l.snapshot.Now = began(i)
		l.snapshot.Nodes, l.snapshot.Pods = nil, nil
		l.add(step.fleet...)
		spec := l.spec.Default()
		kit.Image(step.image)(&spec)
		plan, err := planner(t, spec).Plan(l.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		c := plan.Status.Conditions[1]
		got := fmt.Sprintf("%s since %d, completed %v, began %d", c.Status, minutes(c.LastTransitionTime.Time),
			plan.Memory.Rollout.Completed, minutes(plan.Memory.Rollout.Began))
		if got != step.want {
			t.Errorf("%s: got %s, want %s: %s", step.name, got, step.want, step.why)
		}
		if got := plan.Memory.Rollout.Revision; got != kit.Hash(spec) {
			t.Errorf("%s: the record is of revision %q, want %q", step.name, got, kit.Hash(spec))
		}
		l.snapshot.Memory = plan.Memory
	}
}

func minutes(at time.Time) int { return int(at.Sub(kit.Noon()) / time.Minute) }

// How a canary stands in the status (S2, S3): as a word, and as a condition that outlives the trial.
func TestReportCanary(t *testing.T) {
	marked := func(node string) func(*lab) { // nothing is left to do
		return all(tryingOn(node), withMark("old", history.PromotedAnnotation, "x"))
	}
	validated := func(l *lab) { l.spec.Strategy.Canary.Commands.Validate = "agent-" + l.update }
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		fleet     []spot
		state     status.ConditionReason
		condition string // "": there is none
	}{
		{"its clock runs", "S2: its node is updated, and so nothing holds it", nil, marked("a"),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.CanaryOnTrial, "True"},
		{"others are held", "S2: what the selector holds is none of the canary's", []kit.SpecOption{nodeType("canary")}, marked("a"),
			[]spot{on("a", trialPod()).with(kit.Label("nodeType", "canary")), on("b", podAt("older")), on("c", oldPod())}, status.CanaryOnTrial, "True"},
		{"promoted by the clock", "C2", nil, sinceThen(20*time.Minute, "a"),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.RolloutInProgress, "False Promoted"},
		{"promoted by command", "C5", nil, all(tryingOn("a"), validated),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.RolloutInProgress, "False Validated"},
		{"first installation", "C6: it was never on trial", nil, func(l *lab) { l.snapshot.Revisions = nil },
			[]spot{on("a", newPod())}, status.RolloutComplete, ""},
		{"failed", "C4: it was, with that result", nil, all(tryingOn("a"), failedRevision),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.CanaryRejected, "False TimedOut"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(tt.fleet...)
			tt.set(l)
			got := l.plan(t).Status
			if got.Reason != tt.state {
				t.Errorf("%v, want %v: %s", got.Reason, tt.state, tt.why)
			}
			condition := ""
			for _, c := range got.Conditions {
				if c.Type != status.ConditionCanary {
					continue
				}
				condition = string(c.Status)
				if condition == "False" {
					condition += " " + c.Reason
				}
			}
			if condition != tt.condition {
				t.Errorf("condition Canary is %q, want %q: %s", condition, tt.condition, tt.why)
			}
		})
	}
}

// A pod that is ready, and whose record of its in-place update nobody can read, does not wait for that update (I5).
func TestReportUnreadableRecord(t *testing.T) {
	spec := []kit.SpecOption{kit.InPlaceIfPossible(), kit.MinReadySeconds(60)}
	waits := []string{"a: starting>update wait MinReadySeconds a0 minReadySeconds until=+15s U"}
	record := newPod(updatable, unreadableRecord, readyFor(45*time.Second))
	state := newPod(updatable, unreadableRecord, inState(lifecycle.Updating), readyFor(45*time.Second))
	playScenes(t, []scene{
		{name: "the record alone", why: "B5: minReadySeconds is all that it waits for", spec: spec, fleet: []spot{on("a", record)}, want: waits},
		{name: "and the state of its hooks", why: "B5: whatever that says", spec: spec, fleet: []spot{on("a", state)}, want: waits},
	})
}
