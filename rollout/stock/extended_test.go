package stock_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// extended is the scenario of a fleet on which the ExtendedDaemonSet controller rolls out another image. Pods start in three
// seconds.
func extended(nodes int, options ...kit.SpecOption) simulate.Scenario {
	old := kit.Spec("agent", options...)
	return simulate.Scenario{
		Spec: kit.Spec("agent", append(options, kit.Image("agent:v2"))...), Fleet: kit.Fleet(nodes, kit.Running(old)),
		Unverified: true,
		Model: simulate.Model{Kubelets: []simulate.Kubelet{{
			Start: simulate.Fixed(3 * time.Second), Stop: simulate.Fixed(time.Second),
		}}},
		Planner: func(spec rollout.Spec) (simulate.PlanFunc, error) {
			planner, err := stock.NewExtendedDaemonSet(spec, 1)
			if err != nil {
				return nil, err
			}
			return planner.Plan, nil
		},
	}
}

// TestExtendedRollsOut: without a canary the controller takes two of its syncs for each wave, ten seconds apart: one deletes, the
// next one creates.
func TestExtendedRollsOut(t *testing.T) {
	report, err := simulate.Run(extended(6, kit.MaxUnavailable("2"), kit.SlowStart(time.Minute, "2", "2")))
	if err != nil || report.End != simulate.EndDone || report.Updated != 6 || report.Unavailable.Peak != 2 {
		t.Fatalf("error %v, end %v, %d updated, %d down at once", err, report.End, report.Updated, report.Unavailable.Peak)
	}
	if report.Finished < 50*time.Second || report.Finished > 70*time.Second {
		t.Errorf("it took %v; three waves of two syncs, 10 s apart, take about a minute", report.Finished)
	}
}

// TestExtendedCanary: a canary is tried for its duration, from the creation of the replica set on, and then all nodes follow.
func TestExtendedCanary(t *testing.T) {
	report, err := simulate.Run(extended(5, kit.MaxUnavailable("5"), kit.Canary("1"), kit.SlowStart(time.Minute, "5", "5")))
	if err != nil || report.End != simulate.EndDone || report.Updated != 5 {
		t.Fatalf("error %v, end %v, %d updated", err, report.End, report.Updated)
	}
	if report.Finished < canary.DefaultDuration || report.Finished > canary.DefaultDuration+time.Minute {
		t.Errorf("it took %v, and the canary alone 10 minutes", report.Finished)
	}
}

// TestExtendedFailedCanary: a canary whose pod crashes fails, and its node goes back. The others have not been touched.
func TestExtendedFailedCanary(t *testing.T) {
	scenario := extended(5, kit.MaxUnavailable("5"), kit.Canary("1"), kit.SlowStart(time.Minute, "5", "5"), func(s *rollout.Spec) {
		s.Strategy.Canary.AutoPause.Disabled = true
	})
	scenario.Model.Kubelets = append(scenario.Model.Kubelets, simulate.Kubelet{
		Image: "agent:v2", Crash: simulate.Fixed(time.Second),
	})
	report, err := simulate.Run(scenario)
	if err != nil || report.Canary.Phase != canary.Failed || report.Unavailable.Peak != 1 {
		t.Fatalf("error %v, canary %+v, %d down at once", err, report.Canary, report.Unavailable.Peak)
	}
	if report.End != simulate.EndDone || report.Updated != 0 || report.Created != 2 {
		t.Errorf("end %v, %d updated, %d created, want one pod for the canary and one for the way back", report.End, report.Updated,
			report.Created)
	}
}

// TestExtendedReplacesAnyPods: pods that are not ready make room in the budget, and then any go. In a rollout of which two nodes
// may be down, two that were ready go beside one that was not.
func TestExtendedReplacesAnyPods(t *testing.T) {
	spec, s := outdated(8, kit.MaxUnavailable("2"))
	kit.Unready()(s.Pods[0])
	kit.Unready()(s.Pods[1])
	healthy := 0
	for seed := range uint64(20) {
		plan := extendedPlan(t, spec, seed, s)
		if len(plan.Deletes) != 2 {
			t.Fatalf("seed %d: deletes %v, want two", seed, podsOf(plan.Deletes))
		}
		for _, d := range plan.Deletes {
			healthy += map[rollout.Reason]int{rollout.ReasonOutdated: 1, rollout.ReasonOutdatedNotReady: 0}[d.Reason]
		}
	}
	if healthy < 10 || healthy > 38 {
		t.Errorf("%d of 40 victims were ready; any of eight pods may be one", healthy)
	}
}

func extendedPlan(t *testing.T, spec rollout.Spec, seed uint64, s rollout.Snapshot) rollout.Plan {
	t.Helper()
	planner, err := stock.NewExtendedDaemonSet(spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestExtendedHandlesEachReplicaSetInTurn: after a sync the next one is ten seconds later, whatever happens, or as long as the
// manifest says.
func TestExtendedHandlesEachReplicaSetInTurn(t *testing.T) {
	spec, s := outdated(8, kit.MaxUnavailable("2"))
	for _, frequency := range []time.Duration{stock.DefaultReconcileFrequency, time.Minute, 0} {
		planner, err := stock.NewExtendedDaemonSet(spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		if frequency != stock.DefaultReconcileFrequency {
			planner = planner.Every(frequency)
		}
		first, err := planner.Plan(s)
		if err != nil || len(first.Deletes) != 2 {
			t.Fatalf("error %v, deletes %v", err, podsOf(first.Deletes))
		}
		next := s
		next.Memory, next.Pods = first.Memory, slices.Clone(s.Pods)
		next.Pods = slices.DeleteFunc(next.Pods, func(p *corev1.Pod) bool { return slices.Contains(podsOf(first.Deletes), p.Name) })
		for _, after := range []time.Duration{frequency - time.Second, frequency} {
			if after < 0 {
				continue
			}
			next.Now = s.Now.Add(after)
			plan, err := planner.Plan(next)
			if err != nil {
				t.Fatal(err)
			}
			if due := after >= frequency; (len(plan.Creates) > 0) != due {
				t.Errorf("every %v, %v after a sync: %d creates", frequency, after, len(plan.Creates))
			} else if !due && !plan.NextWake.Equal(s.Now.Add(frequency)) {
				t.Errorf("every %v: the next sync is at %v, want %v", frequency, plan.NextWake, s.Now.Add(frequency))
			}
		}
	}
}

// TestExtendedPlanIsPure: nothing is written but the plan, equal inputs give equal plans, and no input that the API server takes
// panics.
func TestExtendedPlanIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw.AnyCase().Draw(t, "case")
		planner, err := stock.NewExtendedDaemonSet(c.Spec, 1)
		if _, refused := rollout.New(stock.ObeyedByExtendedDaemonSet(c.Spec)); err != nil && refused != nil {
			return // a canary may not fit to what is left of the spec
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			plan := purePlan(t, planner.Plan, c.Snapshot)
			c.Snapshot.Memory, c.Snapshot.Now = plan.Memory, c.Snapshot.Now.Add(11*time.Second)
		}
	})
}

func TestNewExtendedDaemonSetRefuses(t *testing.T) {
	if _, err := stock.NewExtendedDaemonSet(rollout.Spec{}, 1); len(rollout.FieldErrors(err)) == 0 {
		t.Errorf("an empty spec: %v", err)
	}
	if _, err := stock.NewExtendedDaemonSet(kit.Spec("agent", kit.Canary("none")), 1); len(rollout.FieldErrors(err)) == 0 {
		t.Errorf("a canary of how many nodes: %v", err)
	}
	for name, planner := range map[string]*stock.ExtendedDaemonSet{"nil": nil, "one that was not made": new(stock.ExtendedDaemonSet)} {
		if _, err := planner.Every(time.Second).Stored(3).Plan(rollout.Snapshot{Now: kit.Noon()}); err == nil {
			t.Errorf("a planner plans that is %s", name)
		}
	}
}
