//go:build teeth

package draw_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

func TestInFailuresReachesEveryCase(t *testing.T) {
	either := rapid.OneOf(draw.AnyCase(), draw.InStages(draw.AnyCase()), draw.AnyCanaryCase())
	reachesEveryCase(t, draw.InFailures(either), func(note func(string, bool), s harness.Case, plan rollout.Plan) {
		noteFailures(note, s)
		noteFailed(note, plan)
	})
}

func noteFailures(note func(string, bool), s harness.Case) {
	o, hash, m := s.Spec.Strategy.Policy.Failures, kit.Hash(s.Spec), s.Snapshot.Memory
	note("pauses", o.Action != failure.Rollback)
	note("rolls back", o.Action == failure.Rollback)
	note("restarts", o.MaxRestarts != nil)
	note("no restarts", o.MaxRestarts == nil)
	note("retry", o.Retry == hash)
	note("retry of another", o.Retry == "5f46b89dcc")
	note("maxFailed in nodes", o.MaxFailed != nil && o.MaxFailed.StrVal == "")
	note("maxFailed in percent", o.MaxFailed != nil && o.MaxFailed.StrVal != "")
	note("quarantine", o.Quarantine != nil)
	for _, r := range s.Snapshot.Revisions {
		if r != nil && history.HashOf(r) == hash {
			note("marked as given up", r.Annotations[history.FailedAnnotation] == failure.Reason)
			note("marked by somebody", history.Failed(r) && r.Annotations[history.FailedAnnotation] != failure.Reason)
			note("retried", o.Retry != "" && r.Annotations[history.RetriedAnnotation] == o.Retry)
			note("promoted", history.Promoted(r))
			note("completed", history.Completed(r))
		}
	}
	note("remembered as given up", m.Rollout.Revision == hash && m.Rollout.GaveUp != "")
	for _, b := range m.Backoffs {
		note("series", b.Revision == hash && b.Deleted > 1 && !b.First.IsZero())
	}
}

func noteFailed(note func(string, bool), plan rollout.Plan) {
	budget := plan.Budget
	note("none has failed", budget.Failed == 0)
	note("as many as may", budget.Failed > 0 && budget.Failed == budget.MaxFailed)
	note("too many", budget.Failed > budget.MaxFailed)
	note("in quarantine", budget.Quarantined > 0)
	note("given up", plan.GaveUp != "" && plan.Status.State != status.RolledBack)
	note("rolled back", plan.Status.State == status.RolledBack)
	for _, d := range plan.Decisions {
		note("gated", d.Limit == rollout.LimitFailures)
		note("failed, and no pod", d.Failed && d.State == rollout.StateMissing)
		note("failed keep node", d.Failed && d.State == rollout.StateKept)
		note("failed, and available", d.Failed && d.State == rollout.StateUpdated)
	}
}
