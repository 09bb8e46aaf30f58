//go:build teeth

package verify_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// TestVerifiersThatTakeTooMuchForAlike: each Verifier that takes for alike what is not is found out, in plans of which many are
// wrong.
func TestVerifiersThatTakeTooMuchForAlike(t *testing.T) {
	var verifier verify.Verifier
	if _, wrong := alikeDiffers(t, 1, verifier.Plan); wrong < 2000 {
		t.Errorf("only %d plans were wrong", wrong)
	}
	first := func(d rollout.Decision, of []rollout.Decision) rollout.Decision {
		for _, other := range of {
			if other.State == d.State && other.Target == d.Target && other.Verb == d.Verb && other.Reason == d.Reason {
				other.Node, other.Pod = d.Node, d.Pod
				return other
			}
		}
		return d
	}
	for name, spoil := range map[string]func(*rollout.Snapshot, *rollout.Plan){
		"the codes alone": func(_ *rollout.Snapshot, p *rollout.Plan) {
			p.Decisions = slices.Clone(p.Decisions)
			for i := range p.Decisions {
				p.Decisions[i] = first(p.Decisions[i], p.Decisions)
			}
		},
		"nodes of which anything is in flight": func(s *rollout.Snapshot, _ *rollout.Plan) { s.InFlight = rollout.InFlight{} },
		"nodes in any order": func(_ *rollout.Snapshot, p *rollout.Plan) {
			p.Decisions = slices.SortedFunc(slices.Values(p.Decisions), func(a, b rollout.Decision) int {
				return slices.Compare([]byte(a.Node), []byte(b.Node))
			})
		},
		"pods that become available": func(s *rollout.Snapshot, _ *rollout.Plan) {
			if s.Now.Before(kit.Noon()) {
				s.Now = kit.Noon()
			}
		},
		"nodes with any create": func(_ *rollout.Snapshot, p *rollout.Plan) { p.Creates = p.Creates[:min(1, len(p.Creates))] },
	} {
		where, _ := alikeDiffers(t, 1, func(spec rollout.Spec, s rollout.Snapshot, plan *rollout.Plan) []verify.Violation {
			spoiled := *plan
			spoil(&s, &spoiled)
			return new(verify.Verifier).Plan(spec, s, &spoiled)
		})
		if where == "" {
			t.Errorf("a Verifier that takes for alike %s passed", name)
		}
	}
}
