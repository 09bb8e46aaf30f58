// Package plan makes the plan of a set, and prints it: as a report, as the explanation of a node, as what changes in the pods,
// as a document for programs, and as the effect of a command.
package plan

import (
	"errors"
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// Result is a plan with what it was made from.
type Result struct {
	Set      *objects.Set
	Snapshot rollout.Snapshot
	Plan     rollout.Plan
	Input    *objects.Input
	// By is the controller whose plan it is.
	By controllers.Name

	claims rollout.Claims
	hashes map[string][]string // see pods
	begins time.Time           // when the first nodes are begun; see order
}

// Decide makes the plan. These four calls are all that a program needs of the library: New, Claim, ClaimRevisions, Plan.
func Decide(in *objects.Input, s *objects.Set, now time.Time) (*Result, error) {
	return decide(in, s, now, nil, controllers.Daemonplan)
}

// DecideBy makes the plan of a controller.
func DecideBy(in *objects.Input, s *objects.Set, now time.Time, by controllers.Name) (*Result, error) {
	return decide(in, s, now, nil, by)
}

// Next makes the plan that follows this one, from what has become of the same set. It remembers what this plan remembers, and
// does not read objects again that this plan has read.
func (r *Result) Next(in *objects.Input, s *objects.Set, now time.Time) (*Result, error) {
	s.Memory = r.Plan.Memory
	return decide(in, s, now, r.Plan.Reading, r.By)
}

func decide(
	in *objects.Input, s *objects.Set, now time.Time, reading *rollout.Reading, by controllers.Name,
) (*Result, error) {
	if len(in.Nodes) == 0 {
		return nil, errors.New("there is no Node in the input; a dump has them: " +
			"kubectl get nodes,pods,controllerrevisions,ds -A -o json")
	}
	planner, err := rollout.New(s.Spec)
	if err != nil {
		return nil, objects.Invalid(in.SetPlace(s), s.Spec, err)
	}
	snapshot, claims, err := in.Snapshot(s, now)
	if err != nil {
		return nil, err
	}
	snapshot.Reading = reading
	decides := planner.Plan
	if imitation := by.Planner(chance); imitation != nil {
		if decides, err = imitation(s.Spec); err != nil {
			return nil, objects.Invalid(in.SetPlace(s), s.Spec, err)
		}
	}
	plan, err := decides(snapshot)
	if err != nil {
		return nil, err
	}
	return &Result{Set: s, Snapshot: snapshot, claims: claims, Plan: plan, Input: in, By: by}, nil
}

// chance is the seed of what is chance in a plan.
const chance = 1

// Whose says whose plan it is, and what of the set that controller does not obey.
func (r *Result) Whose() []string {
	const ours = "As a controller does it that plans with daemonplan"
	switch {
	case r.By == controllers.Kubernetes:
	case r.Set.Group == objects.GroupApps:
		return []string{ours + "; --controller kubernetes shows the DaemonSet controller of Kubernetes."}
	default:
		return []string{ours + ". The controller of this kind may do otherwise."}
	}
	lines := []string{
		"As the DaemonSet controller of Kubernetes does it. " +
			"It takes nodes in an order that is chance: those named are an example.",
	}
	if note := r.By.Disobeyed(r.Set); note != "" {
		lines = append(lines, "Warning: "+note+".")
	}
	return lines
}

// ignoredLine lists the objects that were ignored; empty if none were.
func (r *Result) ignoredLine() string {
	total := 0
	for _, n := range r.Input.Ignored {
		total += n
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("ignored: %s (%s)", text.Counted(total, "object"), r.Input.IgnoredKinds())
}
