// Package controllers knows the controllers whose behaviour the command can show: one that plans with daemonplan, and the
// DaemonSet controller of Kubernetes.
package controllers

import (
	"fmt"
	"reflect"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// Name is what a controller is called in --controller. The empty name stands for Daemonplan.
type Name string

// The controllers.
const (
	Daemonplan Name = "daemonplan"
	Kubernetes Name = "kubernetes"
)

// Usage describes the flag --controller.
const Usage = "behave as this `CONTROLLER`: daemonplan (the default), or kubernetes, the DaemonSet controller of Kubernetes"

// Parse reads a name. The error says which there are.
func Parse(name string) (Name, error) {
	switch Name(name) {
	case Daemonplan, Kubernetes:
		return Name(name), nil
	default:
		return "", fmt.Errorf("--controller %s: it is %s (the default), or %s, the DaemonSet controller of Kubernetes",
			text.Printable(name), Daemonplan, Kubernetes)
	}
}

// Runs reports as an error that the controller does not run sets of that kind.
func (n Name) Runs(set *objects.Set) error {
	if n == Kubernetes && set.Group != objects.GroupApps {
		return fmt.Errorf("--controller %s: %s is of kind %s, which another controller runs", n, text.Printable(set.FullName()),
			objects.KindOf(set.Group))
	}
	return nil
}

// Disobeyed says what of the set the controller does not obey; empty: nothing.
func (n Name) Disobeyed(set *objects.Set) string {
	if n == Kubernetes && !reflect.ValueOf(set.Spec.Strategy.Policy).IsZero() {
		return "this controller does not obey the policy of the annotation " + manifest.PolicyAnnotation
	}
	return ""
}

// Planner returns what makes the controller's plans for a spec; nil: package rollout does. The seed draws what is chance.
func (n Name) Planner(seed uint64) func(rollout.Spec) (simulate.PlanFunc, error) {
	if n != Kubernetes {
		return nil
	}
	return func(spec rollout.Spec) (simulate.PlanFunc, error) {
		planner, err := stock.NewKubernetes(spec, seed)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
}

// Simulate lets the controller run the scenario.
func (n Name) Simulate(scenario *simulate.Scenario) {
	if planner := n.Planner(scenario.Seed); planner != nil {
		scenario.Planner, scenario.Unverified = planner, true
	}
}
