package simulation

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// The controllers whose behaviour can be simulated: one that plans with daemonplan, and that of DaemonSets in Kubernetes.
const (
	byDaemonplan = "daemonplan"
	byKubernetes = "kubernetes"
)

// checkControllers refuses controllers that are not known or given twice.
func (q *question) checkControllers() error {
	for i, name := range q.Controllers {
		switch {
		case name != byDaemonplan && name != byKubernetes:
			return fmt.Errorf("--controller %s: it is %s (the default), or %s, the DaemonSet controller of Kubernetes",
				quoted(text.Printable(name)), byDaemonplan, byKubernetes)
		case slices.Contains(q.Controllers[:i], name):
			return fmt.Errorf("--controller %s is given twice", name)
		}
	}
	return nil
}

// runControllers makes of each candidate one for each controller that was asked for. The labels then say whose behaviour is shown.
func (e *experiment) runControllers() error {
	if len(e.Controllers) == 0 {
		return nil
	}
	var list []*candidate
	for _, c := range e.Candidates {
		for _, name := range e.Controllers {
			run := *c
			run.Label, run.Controller = c.Label+" by "+name, name
			list = append(list, &run)
			if name != byKubernetes {
				continue
			}
			if c.Set.Group != objects.GroupApps {
				return fmt.Errorf("--controller %s: %s is of kind %s, which another controller runs", name,
					text.Printable(c.Set.FullName()), objects.KindOf(c.Set.Group))
			}
			if !reflect.ValueOf(c.Set.Spec.Strategy.Policy).IsZero() {
				e.Notes = append(e.Notes, run.Label+": this controller does not obey the policy of the annotation "+manifest.PolicyAnnotation)
			}
		}
	}
	e.Candidates = list
	return nil
}

// imitate makes the scenario one of the controller that runs the candidate.
func (c *candidate) imitate(scenario *simulate.Scenario) {
	if c.Controller != byKubernetes {
		return
	}
	scenario.Unverified = true
	seed := scenario.Seed
	scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
		planner, err := stock.NewKubernetes(spec, seed)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
}

// oneController refuses several controllers, for commands that answer for one.
func (q *question) oneController(command string) error {
	if len(q.Controllers) > 1 {
		return fmt.Errorf("%s answers for one --controller, not for %s; simulate compares them", command, strings.Join(q.Controllers, " and "))
	}
	return nil
}
