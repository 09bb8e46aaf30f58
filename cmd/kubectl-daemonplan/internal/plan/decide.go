// Package plan makes the plan of a set, and prints it: as a report, as the explanation of a node, as what changes in the pods,
// as a document for programs, and as the effect of a command.
package plan

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// Result is a plan with what it was made from.
type Result struct {
	Set *objects.Set
	// Spec is what of the set's spec the controller obeys.
	Spec     rollout.Spec
	Snapshot rollout.Snapshot
	Plan     rollout.Plan
	Input    *objects.Input
	// By is the controller whose plan it is.
	By controllers.Name

	claims rollout.Claims
	hashes map[string][]string // see pods
	begins time.Time           // when the first nodes are begun; see order

	// Of a report: whether it is to be brief, and whether it has left out what a wide one has.
	brief, omits bool
}

// Decide makes the plan of a controller; with the empty name, of the one that runs the set. These four calls are all that a
// program needs of the library: New, Claim, ClaimRevisions, Plan.
func Decide(in *objects.Input, s *objects.Set, now time.Time, by controllers.Name) (*Result, error) {
	return decide(in, s, now, nil, by.For(s))
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
	spec := by.Obeyed(s.Spec)
	planner, err := by.Planner(spec, s, chance)
	if err != nil {
		return nil, objects.Invalid(in.SetPlace(s), s.Spec, err)
	}
	snapshot, claims, err := by.Snapshot(in, s, now)
	if err != nil {
		return nil, err
	}
	snapshot.Reading = reading
	plan, err := planner(snapshot)
	if err != nil {
		return nil, err
	}
	return &Result{Set: s, Spec: spec, Snapshot: snapshot, claims: claims, Plan: plan, Input: in, By: by}, nil
}

// chance is the seed of what is chance in a plan.
const chance = 1

// TellWhose prints whose plan it is, and what of the set that controller does not obey.
func (r *Result) TellWhose(out io.Writer) {
	for _, line := range r.whose() {
		fmt.Fprintln(out, line)
	}
}

func (r *Result) whose() []string {
	lines := []string{r.By.Whose(r.Set)}
	if r.By.IsStock() {
		lines[0] += " It takes nodes in an order that is chance: those named are an example."
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
