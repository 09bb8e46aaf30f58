package peer_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout"
)

// TestExplainIsSmall holds that an explanation explains, that it names no rule in which the controller does as we do, and that
// no rule of it could be left out.
func TestExplainIsSmall(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	explained, empty := 0, 0
	for _, file := range []string{"kubernetes/surprises.jsonl", "kruise/surprises.jsonl", "kubernetes/varying.jsonl", "kruise/varying.jsonl"} {
		for _, line := range conformance.Lines(t, file) {
			c, err := peer.Decode(line)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := c.Spec()
			if err != nil {
				t.Fatal(err)
			}
			if c.Refused(spec) != "" {
				continue
			}
			s, err := peer.NewSituation(c, spec)
			if err != nil {
				t.Fatal(err)
			}
			planner, err := rollout.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := planner.Plan(c.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			d := peer.DecidedBy(plan)
			needed, ok := s.Explain(d)
			if !ok || !s.Outcome(needed, d).Permits(d) {
				t.Errorf("%s: %b does not explain %v", c.Name, needed, d)
			}
			if needed == 0 {
				empty++
				continue
			}
			explained++
			for r := range peer.Rules {
				if !needed.Has(r) {
					continue
				}
				if s.Outcome(needed&^(1<<r), d).Permits(d) {
					t.Errorf("%s: %s could be left out", c.Name, peer.Entries[r].ID)
				}
				if !peer.Entries[r].Of.Has(c.Controller()) {
					t.Errorf("%s: %s is what the controller does", c.Name, peer.Entries[r].ID)
				}
			}
		}
	}
	if explained == 0 || empty == 0 {
		t.Errorf("%d explanations name rules, %d none: one of the two does not occur", explained, empty)
	}
}
