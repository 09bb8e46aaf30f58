//go:build teeth

package draw_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

func TestInStagesReachesEveryCase(t *testing.T) {
	either := rapid.OneOf(draw.AnyCase(), draw.AnyCanaryCase())
	reachesEveryCase(t, draw.InStages(either), func(note func(string, bool), s harness.Case, plan rollout.Plan) {
		noteStages(note, s)
		noteParts(note, s, plan)
	})
}

func noteStages(note func(string, bool), s harness.Case) {
	policy, hash := s.Spec.Strategy.Policy, kit.Hash(s.Spec)
	for _, of := range policy.Stages {
		note("stage without key", of.Key == "")
		note("keyed stage", of.Key != "")
		note("selector", of.Selector != nil)
		note("no selector", of.Selector == nil)
		note("tolerance in nodes", of.Tolerance != nil && of.Tolerance.StrVal == "")
		note("tolerance in percent", of.Tolerance != nil && of.Tolerance.StrVal != "")
		note("soak", of.Soak > 0)
		note("approval needed", of.Approval)
	}
	for _, a := range policy.Approved {
		note("approved", a.Revision == hash && a.Value == "")
		note("one part approved", a.Value != "")
		note("approved by name", a.Revision == s.Spec.Name+"-"+hash)
		note("approved before", a.Revision != hash && a.Revision != s.Spec.Name+"-"+hash)
	}
	note("expedited", policy.Expedite == hash)
	note("another one expedited", policy.Expedite == "5f46b89dcc")
	for _, r := range s.Snapshot.Revisions {
		if r != nil && history.HashOf(r) == hash {
			note("completed", history.Completed(r))
		} else if r != nil {
			note("base", history.Completed(r))
		}
	}
	m := s.Snapshot.Memory.Rollout
	note("no frontier", m.Frontier.At.IsZero())
	note("frontier", m.Revision == hash && !m.Frontier.At.IsZero())
	note("frontier of a stage that is gone", m.Frontier.Stage == "gone")
	note("frontier of another revision", m.Revision != hash && !m.Frontier.At.IsZero())
	note("frontier ahead of time", m.Frontier.At.After(s.Snapshot.Now))
}

func noteParts(note func(string, bool), s harness.Case, plan rollout.Plan) {
	for phase := stage.Phase(0); phase.String() != "unknown"; phase++ {
		for _, part := range plan.Parts {
			note("part "+phase.String(), part.Phase == phase)
		}
	}
	for _, part := range plan.Parts {
		note("part without nodes", part.Nodes == 0)
		note("part of nodes without the label", part.Key != "" && part.Value == "" && part.Nodes > 0)
		note("part of a number", part.Value == "9")
		note("part of the rest", part.Stage == "")
		note("unavailable tolerated", part.Unavailable > 0 && !part.Done.IsZero())
		note("held", part.Held > 0)
	}
	note("parts are judged", len(plan.Parts) > 0)
	note("no parts are judged", len(plan.Parts) == 0)
	note("stale approvals", len(plan.StaleApprovals) > 0)
	for _, d := range plan.Decisions {
		for _, limit := range []rollout.Limit{rollout.LimitStage, rollout.LimitSoak, rollout.LimitApproval} {
			note("gated by "+limit.String(), d.Reason == rollout.ReasonGated && d.Limit == limit)
		}
		note("gated, surge", d.Reason == rollout.ReasonGated && s.Spec.Strategy.MaxSurge != nil)
		note("gated, in place", d.Reason == rollout.ReasonGated && objects.UpdatesInPlace(&s.Spec))
		note("gated, and down", d.Reason == rollout.ReasonGated && d.Unavailable)
		note("created beside closed parts", d.Creates > 0 && len(plan.Parts) > 0)
	}
	for _, r := range plan.Revisions {
		note("marked as rolled out", r.Annotations[history.CompletedAnnotation] != "")
	}
}
