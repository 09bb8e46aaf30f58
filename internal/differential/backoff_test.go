package differential_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/differential"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestBackOff compares when pods go that fail again and again: each node has a back-off that both remember from one step to
// the next. Surge is left out, because the controller creates beside failed pods, and a plan does not (M1).
func TestBackOff(t *testing.T) {
	driver := newController(t)
	deleted := 0
	check(t, 400, func(t *rapid.T) {
		g := generator{t}
		w := differential.World{Now: noon, Set: g.set()}
		w.Set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		w.Set.Spec.Template.Spec = corev1.PodSpec{Containers: w.Set.Spec.Template.Spec.Containers, RestartPolicy: corev1.RestartPolicyAlways}
		w.Revisions = []*appsv1.ControllerRevision{revisionOf(w.Set, &w.Set.Spec.Template, 1)}
		w.Nodes = rollouttest.Nodes("a", "b", "c")[:g.oneOf("nodes", 1, 2, 3)]
		behavior := harness.Behavior{
			Start: time.Duration(g.oneOf("start", 1, 5, 40)) * time.Second, Stop: time.Duration(g.oneOf("stop", 1, 2, 30)) * time.Second,
			Failing: []string{w.UpdateHash()},
		}
		s := &step{world: w}
		if err := s.asPlanner(); err != nil {
			t.Fatal(err)
		}
		until := w.Now.Add(time.Duration(g.oneOf("minutes", 5, 20, 90)) * time.Minute)
		ours, err := failures(w, s.spec, behavior, nil, until)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := failures(w, s.spec, behavior, driver, until)
		if err != nil {
			t.Fatal(err)
		}
		deleted += len(ours)
		if !slices.Equal(ours, theirs) {
			t.Fatal(report("TestBackOff", w, fmt.Errorf("%+v: the planner deletes failed pods at %v, the controller at %v", behavior, ours, theirs)))
		}
	})
	if deleted == 0 {
		t.Error("no pod has failed")
	}
}

// failures lists when which node loses a failed pod, up to an instant.
func failures(
	w differential.World, spec rollout.Spec, behavior harness.Behavior, driver *differential.Controller, until time.Time,
) (list []string, err error) {
	begin := rollout.Snapshot{Now: w.Now, Nodes: w.Nodes, Revisions: w.Revisions}
	cluster, err := harness.NewCluster(spec, begin, behavior)
	if err != nil {
		return nil, err
	}
	plan := cluster.Plan
	if driver != nil {
		driver.Forget()
		if plan, err = drivenBy(driver, w, spec); err != nil {
			return nil, err
		}
	}
	for cluster.Now().Before(until) {
		// A step at a time, so that the run ends at an instant and not after a number of steps, of which the two make different ones.
		if _, err := cluster.Run(plan, 1, func(s rollout.Snapshot, p rollout.Plan) error {
			for _, d := range p.Deletes {
				list = append(list, fmt.Sprintf("%v %s", s.Now.Sub(w.Now), d.Node))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(list)
	return list, nil
}
