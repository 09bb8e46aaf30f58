package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// chronicle is a small run with its expected records, which were checked against the rules by hand. There is one line for each
// record, except those of plans and of states of nodes. Pods take the times of a [trajectory].
type chronicle struct {
	name, why string
	scenario  simulate.Scenario
	want      string
	// report is what the report counts. Counts of 0 are left out.
	report string
}

func TestChronicles(t *testing.T) {
	names := map[string]bool{}
	for _, row := range slices.Concat(faultyChronicles(t), crashChronicles(), eventfulChronicles()) {
		if row.name == "" || row.why == "" || names[row.name] {
			t.Fatalf("row %q: name and why must be there, and the name unique", row.name)
		}
		names[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			var lines []string
			row.scenario.History = func(r simulate.Record) {
				if r.Kind != simulate.NodeChanged && !ofPlans(r.Kind) {
					lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(r.At, " ", r.Kind, " ", r.Node, " ", r.Detail)), " "))
				}
			}
			model := trajectoryModel()
			row.scenario.Model.Schedule = model.Schedule
			row.scenario.Model.Kubelets = append(model.Kubelets, row.scenario.Model.Kubelets...)
			report, err := simulate.Run(row.scenario)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSpace(row.want), "\n")
			for i := range want {
				want[i] = strings.TrimSpace(want[i])
			}
			if diff := cmp.Diff(append(want, row.report), append(lines, counts(&report))); diff != "" {
				t.Errorf("%s\n(-want +simulated):\n%s", row.why, diff)
			}
		})
	}
}

// counts lists the counts of a report that are not 0.
func counts(r *simulate.Report) string {
	text := fmt.Sprint(r.End, " after ", r.Elapsed)
	for _, count := range []struct {
		n    int
		what string
	}{
		{r.Created, "created"}, {r.Deleted, "deleted"}, {r.Patched, "patched"}, {r.Pulls, "pulls"}, {r.Calls, "calls"},
		{r.FailedCalls, "failed calls"}, {r.Restarts, "restarts"}, {r.Crashes, "crashes"},
		{r.ControllerCrashes, "controller crashes"},
	} {
		if count.n != 0 {
			text += fmt.Sprint(", ", count.n, " ", count.what)
		}
	}
	return text
}

// ofPlans reports whether a record tells what plans say, or how the run ended, and not what happened to anything.
func ofPlans(kind simulate.RecordKind) bool {
	return kind == simulate.Planned || kind >= simulate.NodeLabelled
}
