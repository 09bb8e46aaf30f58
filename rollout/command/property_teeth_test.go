//go:build teeth

package command_test

import (
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestCheckTablesHasTeeth plants what the check is to find.
func TestCheckTablesHasTeeth(t *testing.T) {
	v := demo(canary.Running)
	if err := checkTables(command.Get(v), command.Revisions(v), v.Plan); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(*command.Row, []command.Revision, *rollout.Plan){
		"terminating pods counted":       func(r *command.Row, _ []command.Revision, _ *rollout.Plan) { r.UpToDate = 4 },
		"pods counted in place of nodes": func(_ *command.Row, list []command.Revision, _ *rollout.Plan) { list[0].Current = 4 },
		"ready counted without current":  func(_ *command.Row, list []command.Revision, _ *rollout.Plan) { list[1].Ready = 3 },
		"availability of the wrong time": func(_ *command.Row, list []command.Revision, _ *rollout.Plan) { list[1].Available = 3 },
		"active and canary confused":     func(r *command.Row, _ []command.Revision, _ *rollout.Plan) { r.Active = r.Canary },
		"canary left over":               func(_ *command.Row, _ []command.Revision, p *rollout.Plan) { p.Canary.Phase = canary.Idle },
		"role left over": func(r *command.Row, _ []command.Revision, p *rollout.Plan) {
			p.Canary.Phase, r.Canary, r.UpToDate = canary.Idle, "", 1
		},
		"a revision better than the set":  func(r *command.Row, _ []command.Revision, _ *rollout.Plan) { r.Available = 1 },
		"desired beyond the set's":        func(_ *command.Row, list []command.Revision, _ *rollout.Plan) { list[1].Desired = 4 },
		"negative":                        func(r *command.Row, _ []command.Revision, _ *rollout.Plan) { r.UpToDate = -1 },
		"up to date counted from history": func(r *command.Row, _ []command.Revision, _ *rollout.Plan) { r.Current = 2 },
	} {
		row, list, plan := command.Get(v), command.Revisions(v), v.Plan
		plant(&row, list, &plan)
		if checkTables(row, list, plan) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestCheckObeyedHasTeeth: a planner that does not listen is found out.
func TestCheckObeyedHasTeeth(t *testing.T) {
	for c, phase := range map[command.Command]canary.Phase{
		command.CanaryValidate: canary.Running, command.CanaryPause: canary.Running, command.CanaryUnpause: canary.Paused,
		command.CanaryFail: canary.Running, command.CanaryRetry: canary.Failed,
	} {
		deaf := demo(phase)
		deaf.Plan.Canary.At = rollouttest.Noon().Add(-time.Minute)
		if checkObeyed(c, deaf) == nil {
			t.Errorf("%s: nothing happens, and nobody notices", c)
		}
	}
	busy := demo(canary.Idle)
	busy.Plan.Creates = make([]rollout.Create, 1)
	if checkObeyed(command.Freeze, busy) == nil {
		t.Error("freeze: nothing happens, and nobody notices")
	}
}
