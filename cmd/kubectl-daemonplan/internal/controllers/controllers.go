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

// Name is what a controller is called in --controller. The empty name stands for the one that runs the set: see [Name.For].
type Name string

// The controllers.
const (
	Daemonplan Name = "daemonplan"
	Kubernetes Name = "kubernetes"
)

// Usage describes the flag --controller.
const Usage = "behave as this `CONTROLLER`: kubernetes, the DaemonSet controller of Kubernetes " +
	"(the default for DaemonSets of apps), or daemonplan, a controller that plans with this library"

// Parse reads a name. The error says which there are.
func Parse(name string) (Name, error) {
	switch Name(name) {
	case Daemonplan, Kubernetes:
		return Name(name), nil
	default:
		return "", fmt.Errorf("--controller %s: it is %s, the DaemonSet controller of Kubernetes, or %s, "+
			"a controller that plans with this library", text.Printable(name), Kubernetes, Daemonplan)
	}
}

// For returns the controller itself, or if it is the empty name the one that runs sets of this kind: the DaemonSet controller of
// Kubernetes if it is one of apps. For other kinds it is Daemonplan.
func (n Name) For(set *objects.Set) Name {
	switch {
	case n != "":
		return n
	case set.Group == objects.GroupApps:
		return Kubernetes
	default:
		return Daemonplan
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

// Whose says in a sentence whose behaviour it is.
func (n Name) Whose(set *objects.Set) string {
	const ours = "As a controller does it that plans with daemonplan"
	switch {
	case n == Kubernetes:
		return "As the DaemonSet controller of Kubernetes does it."
	case set.Group == objects.GroupApps:
		return ours + ", not as the DaemonSet controller of Kubernetes."
	default:
		return ours + ". The controller of this kind may do otherwise."
	}
}

// Obeyed returns what of a spec the controller obeys. It is not validated.
func (n Name) Obeyed(spec rollout.Spec) rollout.Spec {
	if n == Kubernetes {
		return stock.Obeyed(spec)
	}
	return spec
}

// Planner returns what makes the controller's plans for a spec. The seed draws what is chance. The errors are those of
// rollout.New.
func (n Name) Planner(spec rollout.Spec, seed uint64) (simulate.PlanFunc, error) {
	if n == Kubernetes {
		planner, err := stock.NewKubernetes(spec, seed)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
	planner, err := rollout.New(spec)
	if err != nil {
		return nil, err
	}
	return planner.Plan, nil
}

// Simulate lets the controller run the scenario.
func (n Name) Simulate(scenario *simulate.Scenario) {
	if n == Kubernetes {
		seed := scenario.Seed
		scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) { return n.Planner(spec, seed) }
		scenario.Unverified = true
	}
}
