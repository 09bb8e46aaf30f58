package plan

import (
	"fmt"
	"os"
	"strings"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// decideCase plans a case of a simulation: a spec, and a snapshot with all that its controller knew, requests in flight and
// memory included. The pods of a case were claimed when it was made, so they are not claimed here.
func (in *input) decideCase(file string) (*result, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, reading(file, err)
	}
	in.bytes = len(data)
	c, err := simulate.ReadCase(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	planner, err := rollout.New(c.Spec)
	if err != nil {
		return nil, at(file, err)
	}
	plan, err := planner.Plan(c.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	spec := c.Spec.Default()
	group, _, _ := strings.Cut(spec.APIVersion, "/")
	s := &set{Set: manifest.Set{Spec: spec, Memory: c.Snapshot.Memory}, group: group}
	in.nodes, in.pods, in.revisions, in.sets = c.Snapshot.Nodes, c.Snapshot.Pods, c.Snapshot.Revisions, []*set{s}
	in.origins[s] = file
	for _, revision := range c.Snapshot.Revisions {
		in.origins[revision] = file
	}
	for _, violation := range verify.Plan(c.Spec, c.Snapshot, &plan) {
		in.warnings = append(in.warnings, "This plan breaks an invariant. "+violation.String())
	}
	return &result{set: s, snapshot: c.Snapshot, claims: rollout.Claims{Pods: c.Snapshot.Pods}, plan: plan, input: in}, nil
}
