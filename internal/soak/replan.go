package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// counted holds the status to the cluster as it is, where the controller sees it as it is (S1).
func (c *checker) counted(step *simulate.Step) error {
	if !c.scenario.Controller.Lag.IsZero() || step.Spec.Strategy.Canary != nil || step.Spec.Predecessor != nil {
		return nil
	}
	matcher, err := placement.Compile(&step.Spec.Template)
	if err != nil {
		return err
	}
	var desired, current, ready, available, updated int
	for _, n := range c.sim.Nodes() {
		if matcher.Evaluate(n).Outcome != placement.Run {
			continue
		}
		desired++
		var has, serves, long, fresh bool
		for _, p := range c.sim.Pods() {
			switch {
			case nodeOf(p) != n.Name:
			case p.DeletionTimestamp == nil:
				has = true
				serves = serves || lifecycle.Ready(p)
				long = long || lifecycle.Available(p, step.Spec.MinReadySeconds, step.Snapshot.Now)
				fresh = fresh || p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == step.Plan.Status.UpdateRevision
			case !lifecycle.Terminal(p):
				has = true
			}
		}
		for _, count := range []struct {
			is bool
			of *int
		}{{has, &current}, {serves, &ready}, {long, &available}, {fresh, &updated}} {
			if count.is {
				*count.of++
			}
		}
	}
	is := step.Plan.Status
	if c.features["overrides"] {
		updated = int(is.Updated) // a pod with other resources counts as of another revision (P8)
	}
	if int(is.Desired) != desired || int(is.Current) != current || int(is.Ready) != ready || int(is.Available) != available ||
		int(is.Updated) != updated {
		return &broken{"status", "", fmt.Sprintf("the status says %+v; there are %d desired, %d current, %d ready, "+
			"%d available, %d updated", is.Counts, desired, current, ready, available, updated)}
	}
	return nil
}

// replanned makes the plan of now and then a step again (V13 to V15).
func (c *checker) replanned(step *simulate.Step) error {
	if c.options.every == 0 || (c.steps+int(c.scenario.Seed%1000))%c.options.every != 0 {
		return nil
	}
	var plan harness.PlanFunc
	if c.scenario.Planner != nil {
		made, err := c.scenario.Planner(step.Spec)
		if err != nil {
			return err
		}
		plan = harness.PlanFunc(made)
	} else {
		planner, err := rollout.New(step.Spec)
		if err != nil {
			return err
		}
		plan = harness.Reread(planner)
	}
	for _, again := range []struct {
		kind string
		err  error
	}{
		{"unverified", harness.CheckPlan(step.Spec, step.Snapshot, step.Plan)}, // the simulator's Verifier found nothing
		{"impure", harness.CheckPure(plan, step.Snapshot)},
		{"not idempotent", harness.CheckIdempotent(step.Spec, plan, step.Snapshot)},
		{"wake", harness.CheckNextWake(plan, step.Snapshot)},
	} {
		if again.err != nil {
			return &broken{again.kind, "", again.err.Error()}
		}
	}
	return nil
}

// nodeOf is the node that the pod is bound or pinned to; empty: none.
func nodeOf(p *corev1.Pod) string {
	name, _ := placement.TargetNode(p)
	return name
}
