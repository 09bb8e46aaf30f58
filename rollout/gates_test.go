package rollout_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/internal/doctable"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
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

// TestWhatIsHeldIsNotComparedInPlace: a decision says what is in the way of an update in place where the node's turn may come, and
// not where the spec holds the node (I3, T2, T8).
func TestWhatIsHeldIsNotComparedInPlace(t *testing.T) {
	for _, row := range []struct {
		name, why string
		options   []kit.SpecOption
		says      bool
	}{
		{"partition", "T2: the spec says where it stays", []kit.SpecOption{kit.Partition("2")}, false},
		{"stage", "T8: its turn comes", []kit.SpecOption{kit.Stages(ring("0"))}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(append(row.options, kit.InPlaceIfPossible())...)
			plan := l.add(on("a", oldPod()).with(kit.Label("ring", "0")), on("b", oldPod())).plan(t)
			d := plan.Decisions[1]
			if d.Limit == rollout.LimitNone || (d.Obstruction != 0) != row.says {
				t.Errorf("%s (%v, %v): %s", row.why, d.Limit, d.Obstruction, plan.Explain("b"))
			}
		})
	}
}

// TestGivenUpWithNothingToGoBackTo: a revision that was given up comes to no further node, also where the history has no other (C6, F3).
func TestGivenUpWithNothingToGoBackTo(t *testing.T) {
	l := newLab(failures("", "", rollback)).add(on("a", newPod()), on("b", oldPod()))
	givenUp(l)
	l.snapshot.Revisions = slices.DeleteFunc(l.snapshot.Revisions, func(r *appsv1.ControllerRevision) bool {
		return history.HashOf(r) != l.update
	})
	plan := l.plan(t)
	if d := plan.Decisions[1]; !plan.Empty() || d.Reason != rollout.ReasonHeld || d.Limit != rollout.LimitCanary {
		t.Errorf("%s; the plan does %q", plan.Explain("b"), acts(plan))
	}
}
