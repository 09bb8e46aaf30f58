package rollout_test

import (
	"os"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/internal/doctable"
	"github.com/daemonplan/daemonplan/rollout"
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
