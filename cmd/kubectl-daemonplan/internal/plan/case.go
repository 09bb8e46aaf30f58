package plan

import (
	"fmt"
	"os"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// DecideCase plans a case of a simulation: a spec, and a snapshot with all that its controller knew, requests in flight and
// memory included. The pods of a case were claimed when it was made, so they are not claimed here.
func DecideCase(file string) (*Result, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, objects.Reading(file, err)
	}
	c, err := simulate.ReadCase(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	planner, err := rollout.New(c.Spec)
	if err != nil {
		return nil, objects.At(file, err)
	}
	plan, err := planner.Plan(c.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	in, s := objects.FromSnapshot(file, len(data), c.Spec.Default(), c.Snapshot)
	for _, violation := range verify.Plan(c.Spec, c.Snapshot, &plan) {
		in.Warnings = append(in.Warnings, "This plan breaks an invariant. "+violation.String())
	}
	return &Result{
		Set: s, Spec: s.Spec, Snapshot: c.Snapshot, claims: rollout.Claims{Pods: c.Snapshot.Pods}, Plan: plan, Input: in,
		By: controllers.Daemonplan,
	}, nil
}
