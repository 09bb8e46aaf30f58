package simulate_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// summaryZero is the summary of a run in which nothing happened.
var summaryZero = []string{
	"agent, seed 0: under way, after 0s",
	"  nodes        0, 0 to run the pod, 0 of them updated",
	"  waves        0",
	"  unavailable  none",
	"  budget       maxUnavailable 0, used at most 0, on average 0.0",
	"  pods         created 0, deleted 0, patched 0",
	"  calls        0 of 0 plans, 0 failed",
}

func TestReportInWords(t *testing.T) {
	const first, all = 0, -1 // lines are inserted after these places in summaryZero
	tests := []struct {
		name, why string
		report    simulate.Report
		after     int
		replaces  int
		lines     []string
	}{
		{"nothing", "what did not occur is left out", simulate.Report{}, all, 0, nil},
		{"done", "it was done when the last node was", simulate.Report{End: simulate.EndDone, Finished: time.Hour, Elapsed: 2 * time.Hour}, first, 1,
			[]string{"agent, seed 0: done after 1h0m0s"}},
		{"stuck", "how it ended otherwise, and when", simulate.Report{End: simulate.EndStuck, Elapsed: time.Second}, first, 1,
			[]string{"agent, seed 0: stuck for good, after 1s"}},
		{"limit", "the time was up", simulate.Report{End: simulate.EndLimit, Elapsed: time.Second}, first, 1,
			[]string{"agent, seed 0: not done in time, after 1s"}},
		{"condition", "the caller's", simulate.Report{End: simulate.EndCondition, Elapsed: time.Second}, first, 1,
			[]string{"agent, seed 0: ended by the caller, after 1s"}},
		{"violation", "each is listed", simulate.Report{End: simulate.EndViolation, Violations: []verify.Violation{
			{Invariant: 1, Node: "x", Message: "too many"}, {Invariant: 2, Message: "none"},
		}}, all, 0, []string{"  violation    V1: node x: too many", "  violation    V2: none"}},
		{"images", "in binary units", simulate.Report{PulledBytes: 1 << 20, PeerBytes: 1023}, all, 0,
			[]string{"  images       1.0 MiB from the registry, 1023 B from peers, 0 pulls ahead"}},
		{"images of peers", "are worth a line, too", simulate.Report{PeerBytes: 1024}, all, 0,
			[]string{"  images       0 B from the registry, 1.0 KiB from peers, 0 pulls ahead"}},
		{"a byte", "is worth a line", simulate.Report{PulledBytes: 1}, all, 0,
			[]string{"  images       1 B from the registry, 0 B from peers, 0 pulls ahead"}},
		{"next to a unit", "of the largest unit there is at least one, before it is rounded", simulate.Report{PulledBytes: 1 << 30, PeerBytes: 1<<30 - 1}, all, 0,
			[]string{"  images       1.0 GiB from the registry, 1024.0 MiB from peers, 0 pulls ahead"}},
		{"pull ahead", "of no size", simulate.Report{Pulls: 1}, all, 0,
			[]string{"  images       0 B from the registry, 0 B from peers, 1 pulls ahead"}},
		{"restarts", "of containers", simulate.Report{Restarts: 3, Crashes: 2}, all, 0,
			[]string{"  restarts     3, 2 of them after crashes; the controller crashed 0 times"}},
		{"controller", "crashes are worth a line, too", simulate.Report{ControllerCrashes: 1}, all, 0,
			[]string{"  restarts     0, 0 of them after crashes; the controller crashed 1 times"}},
		{"canary", "one that failed", simulate.Report{Canary: simulate.CanaryReport{Phase: canary.Failed, Reason: canary.TimedOut, Nodes: 2, Failed: 1}},
			all, 0, []string{"  canary       Failed (TimedOut), on at most 2 nodes, failed after 0s"}},
		{"promoted", "that it is idle now is no reason to leave it out",
			simulate.Report{Canary: simulate.CanaryReport{Reason: canary.Promoted, Nodes: 2, Promoted: time.Second}},
			all, 0, []string{"  canary       Idle (Promoted), on at most 2 nodes, promoted after 1s"}},
		{"promoted at once", "a moment after the beginning is not never",
			simulate.Report{Canary: simulate.CanaryReport{Reason: canary.Promoted, Nodes: 2, Promoted: 1}},
			all, 0, []string{"  canary       Idle (Promoted), on at most 2 nodes, promoted after 0s"}},
		{"validated", "by command", simulate.Report{Canary: simulate.CanaryReport{Reason: canary.Validated}},
			all, 0, []string{"  canary       Idle (Validated), on at most 0 nodes"}},
		{"first installation", "there was no trial", simulate.Report{Canary: simulate.CanaryReport{Reason: canary.FirstInstallation}}, all, 0, nil},
		{"waits", "the first has the title", simulate.Report{Waits: []simulate.WaitReport{
			{Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxSurge, NodeTime: time.Hour}, {Reason: rollout.ReasonNotReady, NodeTime: 2},
		}}, all, 0, []string{"  waited for   Budget (maxSurge): 1h0m0s summed over nodes", "               NotReady: 0s summed over nodes"}},
		{"one zone", "is the fleet", simulate.Report{Zones: make([]simulate.ZoneReport, 1)}, all, 0, nil},
		{"two zones", "each has a line", simulate.Report{Zones: []simulate.ZoneReport{
			{Nodes: 3}, {Zone: "a", Nodes: 5, Unavailable: simulate.Unavailable{Peak: 2, PeakAt: time.Second, NodeTime: time.Minute}},
		}}, 3, 0, []string{
			`               zone "" of 3: none`,
			`               zone "a" of 5: at most 2, first after 1s; 1m0s summed over nodes`,
		}},
		{"reached", "in one line, rounded", simulate.Report{Reached: []simulate.Reached{
			{50, 59*time.Second + 999_400*time.Microsecond}, {90, time.Minute + 1499*time.Millisecond},
		}}, 1, 0, []string{"  reached      50% after 59.999s, 90% after 1m1s"}},
		{"half reached", "what was not reached is left out", simulate.Report{Reached: []simulate.Reached{{50, time.Second}}},
			1, 0, []string{"  reached      50% after 1s"}},
		{"surge", "the budget in use", simulate.Report{Budget: simulate.BudgetReport{Limit: 5, Surge: true, Peak: 4, Mean: 2.25}}, 4, 1,
			[]string{"  budget       maxSurge 5, used at most 4, on average 2.2"}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" || seen[test.name] {
				t.Fatal("a row needs a name of its own and a why")
			}
			seen[test.name] = true
			want := slices.Clone(summaryZero)
			if test.report.End == simulate.EndViolation {
				want[0] = "agent, seed 0: ended by a violation, after 0s"
			}
			switch {
			case test.after == all:
				want = append(want, test.lines...)
			case test.replaces > 0:
				want = slices.Replace(want, test.after, test.after+test.replaces, test.lines...)
			default:
				want = slices.Insert(want, test.after+1, test.lines...)
			}
			test.report.Name = "agent"
			if diff := cmp.Diff(strings.Join(want, "\n"), test.report.String()); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.why, diff)
			}
		})
	}
}

func TestCompareNamesReports(t *testing.T) {
	reports := []simulate.Report{
		{End: simulate.EndStuck, Finished: 1, Canary: simulate.CanaryReport{Phase: canary.Paused}, PeerBytes: math.MaxInt64},
		{End: simulate.EndDone, Finished: time.Second, Canary: simulate.CanaryReport{Reason: canary.Validated},
			Waits:   []simulate.WaitReport{{Reason: rollout.ReasonBudget}},
			Reached: []simulate.Reached{{50, 5 * time.Second}, {90, 9 * time.Second}, {99, 19 * time.Second}}},
	}
	for _, names := range [][]string{nil, {"1"}, {"1", "2"}, {"1", "2", "3"}} {
		table := simulate.Compare(names, reports)
		if !slices.Equal(table.Header, []string{"", "1", "2"}) {
			t.Errorf("%q are called %q", names, table.Header)
		}
	}
	cells := map[string][]string{}
	for _, row := range simulate.Compare(nil, reports).Rows {
		if len(row) != 3 || cells[row[0]] != nil {
			t.Errorf("the row %q is not one of three cells with a name of its own", row)
		}
		cells[row[0]] = row[1:]
	}
	for name, want := range map[string][]string{
		"done after": {"-", "1s"}, "canary": {"Paused", "Validated"}, "from peers": {"8.0 EiB", "0 B"},
		"waited longest for": {"-", "Budget"}, "50% after": {"-", "5s"}, "90% after": {"-", "9s"}, "99% after": {"-", "19s"},
		"100% after": {"-", "-"},
	} {
		if !slices.Equal(cells[name], want) {
			t.Errorf("%s: %q, want %q", name, cells[name], want)
		}
	}
	if got := simulate.Compare([]string{"nobody"}, nil); !slices.Equal(got.Header, []string{""}) || len(got.Rows) != len(cells) {
		t.Errorf("of no reports %q, %d rows", got.Header, len(got.Rows))
	}
}

func TestTableInWords(t *testing.T) {
	tests := []struct {
		name, why string
		table     simulate.Table
		want      string
	}{
		{"zero", "a header without cells is an empty line", simulate.Table{}, ""},
		{"aligned", "the widest cell of each column counts, in characters", simulate.Table{
			Header: []string{"", "é", "large"}, Rows: [][]string{{"word", "12", "3"}, {"a", "1", ""}},
		}, "       é  large\nword  12      3\na      1"},
		{"empty column", "it is as wide as what is in it, which is nothing", simulate.Table{Header: []string{"x", "", "y"}}, "x    y"},
		{"ragged", "longer rows have more columns", simulate.Table{Header: []string{"x"}, Rows: [][]string{{"y", "1"}, {}}}, "x\ny  1\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			if got := test.table.String(); got != test.want {
				t.Errorf("%q, want %q: %s", got, test.want, test.why)
			}
		})
	}
}
