// Package controllers knows the controllers whose behaviour the command can show: one that plans with daemonplan, the DaemonSet
// controller of Kubernetes, that of OpenKruise, and that of Datadog's ExtendedDaemonSets.
package controllers

import (
	"fmt"
	"reflect"
	"time"

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
	Kruise     Name = "kruise"
	EDS        Name = "eds"
)

// Usage describes the flag --controller.
const Usage = "behave as this `CONTROLLER`: kubernetes, the DaemonSet controller of Kubernetes " +
	"(the default for DaemonSets of apps), kruise, that of OpenKruise (for its DaemonSets), eds, that of ExtendedDaemonSets " +
	"(for these), or daemonplan, a controller that plans with this library"

// Parse reads a name. The error says which there are.
func Parse(name string) (Name, error) {
	switch Name(name) {
	case Daemonplan, Kubernetes, Kruise, EDS:
		return Name(name), nil
	default:
		return "", fmt.Errorf("--controller %s: it is %s, the DaemonSet controller of Kubernetes, %s, that of OpenKruise, "+
			"%s, that of ExtendedDaemonSets, or %s, a controller that plans with this library",
			text.Printable(name), Kubernetes, Kruise, EDS, Daemonplan)
	}
}

// groups are the API groups of the sets that a controller runs. Daemonplan may run any.
var groups = map[Name]string{Kubernetes: objects.GroupApps, Kruise: objects.GroupKruise, EDS: objects.GroupEDS}

// For returns the controller itself, or if it is the empty name the one that runs sets of this kind. An ExtendedDaemonSet with
// ControllerRevisions is one that Daemonplan runs. Where none is known it is Daemonplan, too.
func (n Name) For(set *objects.Set) Name {
	if n != "" {
		return n
	}
	for name, group := range groups {
		if group == set.Group && (name != EDS || !set.Revised) {
			return name
		}
	}
	return Daemonplan
}

// Runs reports as an error that the controller does not run sets of that kind.
func (n Name) Runs(set *objects.Set) error {
	if group, known := groups[n]; known && group != set.Group {
		return fmt.Errorf("--controller %s: %s is of kind %s, which another controller runs", n, text.Printable(set.FullName()),
			objects.KindOf(set.Group))
	}
	return nil
}

// Disobeyed says what of the set the controller does not obey; empty: nothing.
func (n Name) Disobeyed(set *objects.Set) string {
	if n.IsStock() && !reflect.ValueOf(set.Spec.Strategy.Policy).IsZero() {
		return "this controller does not obey the policy of the annotation " + manifest.PolicyAnnotation
	}
	return ""
}

// IsStock reports whether it is a controller that runs in clusters without this library. It takes nodes in the order of a map.
func (n Name) IsStock() bool { return groups[n] != "" }

// Whose says in a sentence whose behaviour it is.
func (n Name) Whose(set *objects.Set) string {
	const ours = "As a controller does it that plans with daemonplan"
	switch {
	case n == Kubernetes:
		return "As the DaemonSet controller of Kubernetes does it."
	case n == Kruise:
		return "As OpenKruise's controller does it."
	case n == EDS:
		return "As the ExtendedDaemonSet controller does it."
	case set.Group == objects.GroupApps:
		return ours + ", not as the DaemonSet controller of Kubernetes."
	case set.Group == objects.GroupKruise:
		return ours + ", not as OpenKruise's controller."
	default:
		return ours + ", not as the ExtendedDaemonSet controller."
	}
}

// Obeyed returns what of a spec the controller obeys. It is not validated.
func (n Name) Obeyed(spec rollout.Spec) rollout.Spec {
	switch n {
	case Kubernetes:
		return stock.ObeyedByKubernetes(spec)
	case Kruise:
		return stock.ObeyedByKruise(spec)
	case EDS:
		return stock.ObeyedByExtendedDaemonSet(spec)
	default:
		return spec
	}
}

// Has reports whether the controller obeys the knob.
func (n Name) Has(knob simulate.Knob) bool {
	switch knob {
	case simulate.KnobSlowStart:
		return n == Daemonplan || n == EDS
	case simulate.KnobMaxSurge:
		return n != EDS
	default:
		return true
	}
}

// Snapshot is what the controller sees of the input.
func (n Name) Snapshot(in *objects.Input, set *objects.Set, now time.Time) (rollout.Snapshot, rollout.Claims, error) {
	if n == EDS {
		return in.SnapshotOfReplicaSets(set, now)
	}
	return in.Snapshot(set, now)
}

// Planner returns what makes the controller's plans for a spec, one after the other. A plan is good until the next one, which may
// overwrite its Decisions. The seed draws what is chance. The set has what the spec does not tell of it. The errors are those of
// rollout.New.
func (n Name) Planner(spec rollout.Spec, set *objects.Set, seed uint64) (simulate.PlanFunc, error) {
	switch n {
	case Kubernetes:
		planner, err := stock.NewKubernetes(spec, seed)
		if err != nil {
			return nil, err
		}
		var workspace stock.Workspace
		return func(snapshot rollout.Snapshot) (rollout.Plan, error) { return workspace.Plan(planner, snapshot) }, nil
	case Kruise:
		planner, err := stock.NewKruise(spec, seed)
		if err != nil {
			return nil, err
		}
		if set.Stored != nil {
			planner = planner.Stored(*set.Stored)
		}
		var workspace stock.Workspace
		return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
			plan, err := workspace.Plan(planner, snapshot)
			if err == nil {
				planner = planner.Stored(plan.Status.Desired)
			}
			return plan, err
		}, nil
	case EDS:
		planner, err := stock.NewExtendedDaemonSet(spec, seed)
		if err != nil {
			return nil, err
		}
		if set.Frequency != nil {
			planner = planner.Every(set.Frequency.Duration)
		}
		return planner.Plan, nil
	default:
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
}

// Simulate lets the controller run the scenario of a set.
func (n Name) Simulate(scenario *simulate.Scenario, set *objects.Set) {
	if !n.IsStock() {
		return
	}
	seed := scenario.Seed
	scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) { return n.Planner(spec, set, seed) }
	scenario.Unverified = true
}
