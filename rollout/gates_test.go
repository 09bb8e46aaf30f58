package rollout_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/internal/doctable"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestTablesOfDesign: DESIGN.md shows the tables of gates and ledgers as they are in the code. With -update it is written.
func TestTablesOfDesign(t *testing.T) {
	const design = "../DESIGN.md"
	head, line := "| gate |", "|---|"
	for _, activity := range rollout.Activities {
		head += " " + activity.Name + " |"
		line += "---|"
	}
	tables := map[string]string{
		"gates": head + " opens |\n" + line + "---|\n" + strings.Join(rollout.GateTable(), "\n") + "\n",
		"ledgers": "| ledger | a node is begun | the last prepared pod of a node is taken away |\n|---|---|---|\n" +
			strings.Join(rollout.LedgerTable(), "\n") + "\n",
	}
	if *updateScenarios {
		if err := doctable.Write(design, tables); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(design)
	if err != nil {
		t.Fatal(err)
	}
	is, err := doctable.Replace(string(data), tables)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range doctable.Differences(string(data), is) {
		t.Error(difference)
	}
}

// TestGateWithAnInstant: a gate that the clock opens is one row. Its nodes wait until then, the plan wakes then, and nothing of it is
// said of other nodes.
func TestGateWithAnInstant(t *testing.T) {
	l := newLab(kit.MaxUnavailable("3")).add(on("n6", oldPod()), on("n7", oldPod()))
	planner, err := rollout.New(l.spec)
	if err != nil {
		t.Fatal(err)
	}
	opens := kit.Noon().Add(time.Hour)
	plan, err := rollout.WithGate(planner, "7", opens).Plan(l.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if got := acts(plan); got != "delete n60 Outdated" {
		t.Errorf("the plan does %q", got)
	}
	d := plan.Decisions[1]
	if d.Reason != rollout.ReasonGated || d.Limit != rollout.LimitDraining || !d.Until.Equal(opens) || !plan.NextWake.Equal(opens) {
		t.Errorf("%s until %v, and the plan wakes at %v: right is %v", plan.Explain("n7"), d.Until, plan.NextWake, opens)
	}
}
