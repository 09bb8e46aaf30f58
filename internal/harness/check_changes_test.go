package harness_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestCheckChangesFollowsTheUser(t *testing.T) {
	old, spec := generations()
	s := fleetOf("oo")
	two := []harness.Change{{Spec: old}, {After: 5, Spec: spec}}
	realOne := harness.Planner
	bad := errors.New("no planner")
	always := func(plan harness.PlanFunc) func(rollout.Spec) (harness.PlanFunc, error) {
		return func(rollout.Spec) (harness.PlanFunc, error) { return plan, nil }
	}
	invalid := rollouttest.Spec("")
	tests := []struct {
		name, why string
		planner   func(rollout.Spec) (harness.PlanFunc, error)
		changes   []harness.Change
		want      string
	}{
		{"none", "there is nothing to check", always(failing), nil, ""},
		{"one", "it is as CheckLive", realOne, two[1:], ""},
		{"two", "the second is what counts in the end", realOne, two, ""},
		{
			"there and back", "a rollback is a change as any other", realOne,
			[]harness.Change{{Spec: spec}, {After: 3, Spec: old}, {After: 2, Spec: spec}, {After: 1, Spec: old}}, "",
		},
		{"idle", "every plan is verified", always(idle), two, "with spec 1 of 2: step 1: V12"},
		{"failing", "a plan that fails is wrong too", always(failing), two, "with spec 1 of 2: step 1: no plan"},
		{"no planner", "it is reported", func(rollout.Spec) (harness.PlanFunc, error) { return nil, bad }, two, "no planner"},
		{"invalid from the beginning", "it is reported", realOne, []harness.Change{{Spec: invalid}}, "spec.name"},
		{"invalid later", "it is reported", realOne, []harness.Change{{Spec: old}, {Spec: invalid}}, "spec.name"},
		{
			"unsafe", "every plan is verified", func(of rollout.Spec) (harness.PlanFunc, error) {
				return realOne(rollouttest.Spec("agent", rollouttest.MaxUnavailable("2"), rollouttest.Image(of.Template.Spec.Containers[0].Image)))
			}, two, "V1",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			mustContain(t, harness.CheckChanges(test.planner, s.Snapshot, harness.Behavior{}, test.changes...), test.want)
		})
	}
}

// What goes wrong over several plans, of which none is wrong by itself: here because kubelets are not fair.
func TestCheckChangesSeesTheWholeWay(t *testing.T) {
	realOne := harness.Planner
	old, spec := generations()
	s, hash := fleetOf("-"), []string{rollouttest.Hash(old)}
	there, back := []harness.Change{{Spec: spec}, {After: 9, Spec: old}}, []harness.Change{{Spec: old}, {After: 9, Spec: spec}}
	err := harness.CheckChanges(realOne, s.Snapshot, harness.Behavior{NeverReady: hash}, there...)
	mustContain(t, err, "with spec 2 of 2: V16")
	err = harness.CheckChanges(realOne, s.Snapshot, harness.Behavior{Failing: hash}, back...)
	mustContain(t, err, "V17: with spec 1 of 2: pod agent-x0001 is deleted, which was created on the way")
}

// What differs in plans only by when they were made is the same; what differs otherwise is not.
func TestCheckNextWakeComparesPatches(t *testing.T) {
	dated := func(format string) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			data := fmt.Appendf(nil, `{"metadata":{"annotations":{"at":"{\"time\":\"%s\"}"}}}`, s.Now.UTC().Format(format))
			return rollout.Plan{Patches: []rollout.Patch{{Pod: "p", UID: "p", Data: data}}}, nil
		}
	}
	s := fleet().Snapshot
	s.Memory = rollout.Memory{}
	mustContain(t, harness.CheckNextWake(dated(time.RFC3339), s), "")
	mustContain(t, harness.CheckNextWake(dated(time.Kitchen), s), "the plan differs")
	// Failures that lie in the future are not shown to the planner; those of the past are.
	s.FailedPulls = []predownload.Failure{{Node: "a", At: s.Now.Add(1)}, {Node: "b", At: s.Now}}
	counting := func(s rollout.Snapshot) (rollout.Plan, error) {
		if len(s.FailedPulls) != 1 || s.FailedPulls[0].Node != "b" {
			return rollout.Plan{}, errPlan
		}
		return rollout.Plan{}, nil
	}
	mustContain(t, harness.CheckNextWake(counting, s), "")
}

// The order of pulls in flight and of failures means nothing.
func TestCheckPureReordersPulls(t *testing.T) {
	s := rollout.Snapshot{
		Now:         rollouttest.Noon(),
		FailedPulls: []predownload.Failure{{Node: "a"}, {Node: "b"}},
		InFlight:    rollout.InFlight{Pulls: []predownload.Request{{Node: "a"}, {Node: "b"}}},
	}
	for name, first := range map[string]func(rollout.Snapshot) string{
		"failures": func(s rollout.Snapshot) string { return s.FailedPulls[0].Node },
		"pulls":    func(s rollout.Snapshot) string { return s.InFlight.Pulls[0].Node },
	} {
		err := harness.CheckPure(func(s rollout.Snapshot) (rollout.Plan, error) {
			return rollout.Plan{NodeSelector: first(s)}, nil
		}, s)
		if err == nil {
			t.Errorf("%s are not reordered", name)
		}
	}
}

// The same patch again is one that does the same, whatever version of the pod it is for.
func TestCheckIdempotentComparesPatches(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.PreDeleteHook(objects.MarkPodNotReady(rollouttest.HookLabel("app", "agent"))))
	s := rollout.Snapshot{
		Now: rollouttest.Noon(), Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(spec, 1)},
		Pods: []*corev1.Pod{rollouttest.Pod("agent-z", rollouttest.PinnedTo("z"), rollouttest.PodLabel("app", "agent"),
			objects.Gated(lifecycle.PodReady))},
	}
	plan := planner(harness.Case{Spec: spec})
	mustContain(t, harness.CheckIdempotent(spec, plan, s), "")
	// One that does not see that the pod was marked; but it sees its version.
	blind := func(snapshot rollout.Snapshot) (rollout.Plan, error) {
		if len(snapshot.InFlight.Patches) == 0 && len(snapshot.Pods) > 0 {
			pod := s.Pods[0].DeepCopy()
			pod.ResourceVersion = snapshot.Pods[0].ResourceVersion
			snapshot.Pods = []*corev1.Pod{pod}
		}
		return plan(snapshot)
	}
	mustContain(t, harness.CheckIdempotent(spec, blind, s), "patch of pod agent-z again: ")
}

// A pull that is under way is not started again.
func TestCheckIdempotentSeesPullsAgain(t *testing.T) {
	s := fleetOf("ooo", rollouttest.PreDownload("1"))
	mustContain(t, harness.CheckIdempotent(s.Spec, planner(s), s.Snapshot), "")
	blind := func(snapshot rollout.Snapshot) (rollout.Plan, error) {
		snapshot.InFlight.Pulls = nil
		return planner(s)(snapshot)
	}
	mustContain(t, harness.CheckIdempotent(s.Spec, blind, s.Snapshot), "pull of agent:v2 on node b again")
}
