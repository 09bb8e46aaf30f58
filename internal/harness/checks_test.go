package harness_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of package rollout run these checks against the real planner and against planners with planted bugs.
// Here each check meets the smallest wrong planner for each thing it says.

var errPlan = errors.New("no plan")

func failing(rollout.Snapshot) (rollout.Plan, error) { return rollout.Plan{}, errPlan }

func idle(rollout.Snapshot) (rollout.Plan, error) { return rollout.Plan{}, nil }

// fleet is a spec and a fleet in which everything is done.
func fleet() harness.Case {
	spec := rollouttest.Spec("agent")
	pod := rollouttest.Pod("agent-a", rollouttest.Of(spec), rollouttest.OnNode("a"))
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	return harness.Case{Spec: spec, Snapshot: rollout.Snapshot{
		Now:   rollouttest.Noon(),
		Nodes: []*corev1.Node{rollouttest.Node("b"), rollouttest.Node("a", rollouttest.Taint("k", "v", "Unheard"))},
		Pods: []*corev1.Pod{
			rollouttest.Pod("agent-b", rollouttest.Of(spec), rollouttest.OnNode("b")), pod,
		},
		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(spec, 1)},
		InFlight: rollout.InFlight{
			Deletes: []types.UID{"of-other-days", "of-no-day"}, Patches: []types.UID{"of-other-days"},
			Revisions: []string{"other"}, Creates: []rollout.InFlightCreate{{Node: "z"}},
		},
		Memory: rollout.Memory{
			Version:        rollout.MemoryVersion,
			Backoffs:       []rollout.Backoff{{Node: "a"}},
			Conditions:     []metav1.Condition{{Type: "x", Status: metav1.ConditionTrue}},
			CollisionCount: new(int32(1)),
		},
	}}
}

func mustContain(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected: %v", err)
	case want != "" && err == nil:
		t.Errorf("no error, want one with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error is %q, want one with %q", err, want)
	}
}

func TestCheckPureSaysWhatIsImpure(t *testing.T) {
	writing := func(write func(*rollout.Snapshot)) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) { write(&s); return rollout.Plan{}, nil }
	}
	var calls int
	tests := []struct {
		name string
		why  string
		plan harness.PlanFunc
		want string
	}{
		{"idle", "it writes nothing", idle, ""},
		{"failing", "a snapshot that keeps its contract must be planned for", failing, "no plan"},
		{
			"writes to a map", "labels of cached nodes are shared",
			writing(func(s *rollout.Snapshot) { s.Nodes[0].Labels["x"] = "y" }), ".Nodes[0].ObjectMeta.Labels (number of entries)",
		},
		{
			"writes to an entry of a map", "the number of entries stays the same",
			writing(func(s *rollout.Snapshot) { s.Nodes[0].Labels[corev1.LabelHostname] = "y" }),
			".Nodes[0].ObjectMeta.Labels[kubernetes.io/hostname] (value)",
		},
		{
			"renames an entry of a map", "the number of entries stays the same",
			writing(func(s *rollout.Snapshot) {
				delete(s.Nodes[0].Labels, corev1.LabelHostname)
				s.Nodes[0].Labels["x"] = "y"
			}), "(is new or gone)",
		},
		{
			"writes a field", "the object is shared",
			writing(func(s *rollout.Snapshot) { s.Pods[0].Name = "x" }), ".Pods[0].ObjectMeta.Name (value)",
		},
		{
			"writes a quantity", "its parts are not exported",
			writing(func(s *rollout.Snapshot) {
				s.Pods[1].Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
			}), ".Resources.Limits[cpu] (value)",
		},
		{
			"writes an instant", "its parts are not exported",
			writing(func(s *rollout.Snapshot) { s.Pods[0].CreationTimestamp = metav1.Time{} }), ".CreationTimestamp.Time (value)",
		},
		{
			"sets a pointer", "it was nil before",
			writing(func(s *rollout.Snapshot) { s.Pods[0].DeletionTimestamp = new(metav1.Time{}) }), ".DeletionTimestamp (value)",
		},
		{
			"writes through a pointer", "memory is the caller's too",
			writing(func(s *rollout.Snapshot) { *s.Memory.CollisionCount++ }), ".Memory.CollisionCount (value)",
		},
		{
			"swaps elements", "the list is the caller's",
			writing(func(s *rollout.Snapshot) { slices.Reverse(s.Nodes) }), ".Nodes[0]",
		},
		{
			"appends", "there is room behind the end",
			writing(func(s *rollout.Snapshot) { _ = append(s.Nodes, s.Nodes[0]) }), ".Nodes[2] (value) (behind the end)",
		},
		{
			"appends to a nested list", "there is room there too",
			writing(func(s *rollout.Snapshot) { _ = append(s.Nodes[1].Spec.Taints, corev1.Taint{}) }), "(behind the end)",
		},
		{
			"appends to requests", "there is room there too",
			writing(func(s *rollout.Snapshot) { _ = append(s.InFlight.Revisions, "x") }), ".InFlight.Revisions[1] (value) (behind the end)",
		},
		{
			"returns a list of the snapshot", "the caller goes on writing to it",
			func(s rollout.Snapshot) (rollout.Plan, error) {
				return rollout.Plan{Memory: rollout.Memory{Backoffs: s.Memory.Backoffs}}, nil
			}, "shares memory with the snapshot",
		},
		{
			"returns an object of the snapshot", "the caller goes on writing to it",
			func(s rollout.Snapshot) (rollout.Plan, error) {
				i := slices.IndexFunc(s.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Revision == 1 })
				if i < 0 {
					return rollout.Plan{}, nil
				}
				return rollout.Plan{Revisions: []rollout.RevisionAction{{Object: s.Revisions[i]}}}, nil
			}, "shares memory with the snapshot",
		},
		{
			"counts its calls", "a planner has no state",
			func(rollout.Snapshot) (rollout.Plan, error) {
				calls++
				return rollout.Plan{NextWake: rollouttest.Noon().Add(time.Duration(calls))}, nil
			}, "planning again gives another plan",
		},
		{
			"looks at the first node", "order means nothing",
			func(s rollout.Snapshot) (rollout.Plan, error) {
				return rollout.Plan{Decisions: []rollout.Decision{{Node: s.Nodes[0].Name}}}, nil
			}, "gives another plan",
		},
		{
			"looks at the first pod", "order means nothing",
			func(s rollout.Snapshot) (rollout.Plan, error) {
				return rollout.Plan{Decisions: []rollout.Decision{{Pod: s.Pods[0].Name}}}, nil
			}, "gives another plan",
		},
		{
			"looks at the first request", "order means nothing",
			func(s rollout.Snapshot) (rollout.Plan, error) {
				return rollout.Plan{Decisions: []rollout.Decision{{Pod: string(s.InFlight.Deletes[0])}}}, nil
			}, "gives another plan",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			mustContain(t, harness.CheckPure(test.plan, fleet().Snapshot), test.want)
		})
	}
}

// A planner that fails for one order only is found as well.
func TestCheckPureReportsLateErrors(t *testing.T) {
	calls := 0
	mustContain(t, harness.CheckPure(func(rollout.Snapshot) (rollout.Plan, error) {
		if calls++; calls == 3 {
			return rollout.Plan{}, errPlan
		}
		return rollout.Plan{}, nil
	}, fleet().Snapshot), "the opposite order: no plan")
}

// Four orders are tried, if there are as many, and each holds everything.
func TestCheckPureTriesOrders(t *testing.T) {
	for n := range 12 {
		var names []string
		for i := range n {
			names = append(names, string(rune('a'+i)))
		}
		seen := map[string]bool{}
		err := harness.CheckPure(func(s rollout.Snapshot) (rollout.Plan, error) {
			var order []string
			for _, node := range s.Nodes {
				order = append(order, node.Name)
			}
			seen[strings.Join(order, "")] = true
			if slices.Sort(order); !slices.Equal(order, names) {
				return rollout.Plan{}, fmt.Errorf("nodes %v of %v", order, names)
			}
			return rollout.Plan{}, nil
		}, rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes(names...)})
		if err != nil {
			t.Error(err)
		}
		factorial := 1
		for i := 2; i <= n; i++ {
			factorial = min(4, factorial*i)
		}
		if len(seen) < min(factorial, 3) || n > 4 && len(seen) < 4 {
			t.Errorf("%d nodes are tried in %d orders only", n, len(seen))
		}
	}
}

func TestCheckIdempotentSaysWhatIsRepeated(t *testing.T) {
	calm := func(change func(*harness.Case)) harness.Case {
		s := fleet()
		s.Snapshot.InFlight, s.Snapshot.Memory = rollout.InFlight{}, rollout.Memory{}
		change(&s)
		return s
	}
	// twice does again what is in flight or done: it adds the actions of its first plan to all others.
	twice := func(s harness.Case) harness.PlanFunc {
		first, err := planner(s)(s.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
			p, err := planner(s)(snapshot)
			p.Revisions, p.Patches = first.Revisions, first.Patches
			p.Pulls, p.Deletes, p.Creates = first.Pulls, first.Deletes, first.Creates
			return p, err
		}
	}
	tests := []struct {
		name     string
		why      string
		scenario harness.Case
		want     string
	}{
		{
			"create", "the pod is not seen yet",
			calm(func(s *harness.Case) { s.Snapshot.Nodes = append(s.Snapshot.Nodes, rollouttest.Node("c")) }),
			"create on node c again",
		},
		{
			"delete", "the pod is there still",
			calm(func(s *harness.Case) { rollouttest.Succeeded()(s.Snapshot.Pods[1]) }), "delete of pod agent-a again",
		},
		{
			"patch", "the label is the old one",
			calm(func(s *harness.Case) {
				duplicate := s.Snapshot.Revisions[0].DeepCopy()
				duplicate.Name, duplicate.Revision = "agent-6duplicate", 9
				duplicate.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "6duplicate"
				s.Snapshot.Revisions = append(s.Snapshot.Revisions, duplicate)
			}), "patch of pod agent-a again",
		},
		{
			"hook patch", "the label is the old one",
			calm(func(s *harness.Case) {
				rollouttest.PreDeleteHook(rollouttest.HookLabel("app", "agent"))(&s.Spec)
				s.Snapshot.Pods = append(s.Snapshot.Pods,
					rollouttest.Pod("agent-z", rollouttest.PinnedTo("z"), rollouttest.PodLabel("app", "agent")))
			}), "patch of pod agent-z again",
		},
		{
			"revision", "the list is the old one",
			calm(func(s *harness.Case) { s.Snapshot.Revisions = nil }), "create of revision agent-",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			s := test.scenario
			mustContain(t, harness.CheckIdempotent(s.Spec, planner(s), s.Snapshot), "")
			err := harness.CheckIdempotent(s.Spec, twice(s), s.Snapshot)
			mustContain(t, err, "actions in flight: "+test.want)
			// One that knows what is in flight, and does not see what is done.
			blind := func(snapshot rollout.Snapshot) (rollout.Plan, error) {
				if len(snapshot.InFlight.Creates)+len(snapshot.InFlight.Deletes)+
					len(snapshot.InFlight.Patches)+len(snapshot.InFlight.Revisions) > 0 {
					return planner(s)(snapshot)
				}
				return twice(s)(snapshot)
			}
			err = harness.CheckIdempotent(s.Spec, blind, s.Snapshot)
			mustContain(t, err, "actions carried out: "+test.want)
		})
	}
	s := fleet()
	mustContain(t, harness.CheckIdempotent(s.Spec, failing, s.Snapshot), "no plan")
}

func TestCheckNextWakeSaysWhatIsWrong(t *testing.T) {
	noon := rollouttest.Noon()
	// at changes a decision at the instant, and announces the wake.
	at := func(change, wake time.Time) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			var p rollout.Plan
			if !s.Now.Before(change) {
				p.Budget.Waiting = 1
			}
			if wake.After(s.Now) {
				p.NextWake = wake
			}
			return p, nil
		}
	}
	// during changes a decision from one instant on until another one, and announces a wake after a minute.
	during := func(from, to time.Duration) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			p, err := at(noon.Add(time.Minute), noon.Add(time.Minute))(s)
			if after := s.Now.Sub(noon); from <= after && after < to {
				p.Budget.Surging = 1
			}
			return p, err
		}
	}
	tests := []struct {
		name string
		why  string
		plan harness.PlanFunc
		want string
	}{
		{"never", "nothing changes", idle, ""},
		{"failing", "a plan that fails is wrong too", failing, "no plan"},
		{"in time", "the change comes with the wake", at(noon.Add(time.Minute), noon.Add(time.Minute)), ""},
		{"too early", "to wake up for nothing is allowed", at(noon.Add(time.Hour), noon.Add(time.Hour)), ""},
		{"for a moment before the wake", "the edge is tried", during(time.Minute-1, time.Minute), "the plan differs"},
		{"for a moment half-way", "the middle is tried", during(30*time.Second, 30*time.Second+1), "the plan differs"},
		{"for a moment after now", "the edge is tried", during(1, 2), "the plan differs"},
		{"in the past", "the clock does not go back", during(-time.Hour, 0), ""},
		{"too late", "the change was missed", at(noon.Add(time.Minute), noon.Add(time.Minute+1)), "the plan differs"},
		{"not at all", "the change was missed", at(noon.Add(time.Hour), time.Time{}), "the plan differs"},
		{"at the given instant", "it is tried as well", at(noon.Add(2*time.Hour), noon.Add(time.Minute*121)), "the plan differs"},
		{
			"now", "that would be a busy loop",
			func(s rollout.Snapshot) (rollout.Plan, error) { return rollout.Plan{NextWake: s.Now}, nil }, "is not after now",
		},
		{
			"moving on", "the wake must stay where it is",
			func(s rollout.Snapshot) (rollout.Plan, error) {
				return rollout.Plan{NextWake: s.Now.Add(time.Minute)}, nil
			}, "NextWake is",
		},
		{
			"for ever", "each wake must have a reason",
			func(s rollout.Snapshot) (rollout.Plan, error) {
				return rollout.Plan{NextWake: s.Now.Truncate(time.Minute).Add(time.Minute)}, nil
			}, "still waking up",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			mustContain(t, harness.CheckNextWake(test.plan, fleet().Snapshot, 2*time.Hour, -time.Second), test.want)
		})
	}
}

func TestCheckSafeLooksAtThePlan(t *testing.T) {
	s := fleet()
	s.Snapshot.InFlight, s.Snapshot.Memory = rollout.InFlight{}, rollout.Memory{}
	frozen := s
	rollouttest.Frozen()(&frozen.Spec)
	remove := func(snapshot rollout.Snapshot) (rollout.Plan, error) {
		p, err := planner(s)(snapshot)
		p.Deletes = append(p.Deletes, rollout.Delete{Node: "a", Pod: "agent-a", UID: "pod-agent-a", Reason: rollout.ReasonOutdated})
		return p, err
	}
	mustContain(t, harness.CheckSafe(s.Spec, planner(s), s.Snapshot), "")
	mustContain(t, harness.CheckSafe(s.Spec, failing, s.Snapshot), "no plan")
	mustContain(t, harness.CheckSafe(s.Spec, remove, s.Snapshot), "V4: node a")
	mustContain(t, harness.CheckSafe(s.Spec, remove, s.Snapshot), "the plan: a: updated")
	mustContain(t, harness.CheckSafeAlong(s.Spec, planner(s), s.Snapshot, harness.Behavior{}), "")
	mustContain(t, harness.CheckSafeAlong(s.Spec, remove, s.Snapshot, harness.Behavior{}), "step 1: V4: node a")
	mustContain(t, harness.CheckSafeAlong(rollout.Spec{}, remove, s.Snapshot, harness.Behavior{}), "spec.name")
}

// recorder is a test that takes note of its failure.
type recorder struct{ failed, fatal string }

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) { r.fatal = fmt.Sprintf(format, args...) }

func TestRunFailsTheTest(t *testing.T) {
	s := upgrade()
	good := cluster(s, harness.Behavior{})
	var r recorder
	result := harness.Run(&r, good)
	if r.fatal != "" || !result.Settled || result.Steps < 5 || result.Elapsed != 14*time.Second {
		t.Errorf("a good rollout: %+v, settled %v after %d steps and %v", r, result.Settled, result.Steps, result.Elapsed)
	}
	if got := result.Plan.Status.Updated; got != 2 || len(result.Snapshot.Pods) != 2 {
		t.Errorf("the last plan tells of %d updated nodes, the last snapshot shows %d pods", got, len(result.Snapshot.Pods))
	}
	// A pod that fails for ever is deleted for ever, ever more slowly.
	failing := cluster(s, harness.Behavior{Failing: []string{rollouttest.Hash(s.Spec)}})
	harness.Run(&r, failing)
	if !strings.Contains(r.fatal, "not settled") || !strings.Contains(r.fatal, "failed agent-") {
		t.Errorf("a failing rollout: %q; want the events", r.fatal)
	}
}
