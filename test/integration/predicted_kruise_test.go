package integration_test

import (
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// TestKruiseControllerIsPredicted: what package stock plans for an Advanced DaemonSet of a real API server is what the controller of
// OpenKruise then does there, and the end that a simulation comes to is the end.
func TestKruiseControllerIsPredicted(t *testing.T) {
	c := startReal(t, "kruise", &kubelet.Agent{Scheduled: true}, filepath.Join("command", "testdata", "crds"))
	if _, err := c.Scheduler("kube-scheduler"); err != nil {
		t.Skip(err)
	}
	if _, err := c.Component("kruise", "kruise"); err != nil {
		t.Fatal(err)
	}
	for _, test := range append(predictions(), []prediction{
		{"LostNodes", 16, func(w *predicted) { w.loses(6, "10 v1 ready, 3 v2 ready, 3 v2 unready") }},
		{"NoScheduleSurge", 7, func(w *predicted) {
			w.tainted(corev1.TaintEffectNoSchedule, rolling(0, 2), "1 v1 ready, 5 v2 ready, 1 v2 unbound")
		}},
		{"Claim", 4, func(w *predicted) { w.claims(rolling(2, 0), "1 v2 ready, 3 v2 unbound") }}, // whose pod gets it is chance
		{"Orphan", 3, func(w *predicted) { w.orphaned(2) }},
		{"Partition", 7, func(w *predicted) { w.partitioned(rolling(2, 0)) }},
		{"PartitionSurge", 7, func(w *predicted) { w.partitioned(rolling(0, 2)) }},
	}...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&predicted{
				annotated: &annotated{world: worldOn(t, c, test.nodes)}, nodes: test.nodes, planner: kruisePlanner,
				kind:   schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "DaemonSet"},
				beyond: map[string]any{"rollingUpdateType": "Standard", "partition": int64(0), "paused": false},
			})
		})
	}
}

// kruisePlanner takes percentages of the number that the plan before has counted, as the controller does.
func kruisePlanner(spec rollout.Spec) (simulate.PlanFunc, error) {
	planner, err := stock.NewKruise(spec, 1)
	return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
		plan, err := planner.Plan(snapshot)
		if err == nil {
			planner = planner.Stored(plan.Status.Desired)
		}
		return plan, err
	}, err
}

// partitioned: a partition holds an update at one number of nodes after the other, through a pod that is lost and a third template,
// until it is gone. Which nodes it holds is no chance.
func (w *predicted) partitioned(strategy func(*appsv1.DaemonSet)) {
	w.installed(int32(w.nodes), strategy)
	hold := func(partition any, comesTo string, m moment) {
		w.beyond["partition"] = partition
		if m.change == nil && m.happens == nil {
			m.change = func(*appsv1.DaemonSet) {}
		}
		w.comesTo(simulate.EndDone, comesTo, m)
	}
	hold(int64(5), "5 v1 ready, 2 v2 ready", moment{change: tag("v2")})
	hold(int64(4), "4 v1 ready, 3 v2 ready", moment{})
	hold(int64(2), "2 v1 ready, 5 v2 ready", moment{})
	hold(int64(2), "1 v1 ready, 6 v2 ready", w.deletedByHand(w.with("v1 ready")[0]))
	hold(int64(5), "1 v1 ready, 4 v2 ready, 2 v3 ready", moment{change: tag("v3")})
	hold(int64(6), "1 v1 ready, 4 v2 ready, 2 v3 ready", moment{})
	hold(int64(0), "7 v3 ready", moment{})
}
