package simulation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// stuckWorld is a world in which a node falls silent for good, after a second.
func stuckWorld(t *testing.T) string {
	t.Helper()
	return write(t, "world.yaml", "controller: {}\nmodel: {kubelets: [{ready: 5s}]}\nevents: [{at: 1s, what: NodeNotReady, node: node-00003}]\n")
}

func TestGates(t *testing.T) {
	for _, tt := range []struct {
		gates []string
		why   string
		code  int
		want  string // of standard error
	}{
		{[]string{"peak>25%"}, "3 of 12 nodes are not more than a quarter", exit.OK, ""},
		{[]string{"peak>=25%"}, "but they are a quarter", exit.Negative, "error: --fail-if 'peak>=25%': v2: at most 3 nodes are down at once (25 %)\n"},
		{[]string{"peak>3"}, "a number of nodes", exit.OK, ""},
		{[]string{" peak > 2 "}, "spaces do not matter", exit.Negative, "error: --fail-if 'peak > 2': v2: at most 3 nodes are down at once (25 %)\n"},
		{[]string{"duration>1m", "p50>1m", "p90<=2m", "stuck", "violations"}, "each that holds is told", exit.Negative,
			"error: --fail-if 'duration>1m': v2: the longest run until every node is updated: 1m49s\n" +
				"error: --fail-if 'p50>1m': v2: half of the runs until every node is updated: 1m49s\n" +
				"error: --fail-if 'p90<=2m': v2: nine of ten runs until every node is updated: 1m49s\n"},
		{[]string{"stuck", "stuck>0", "violations>0", "peak<1", "p90>2m"}, "none holds", exit.OK, ""},
	} {
		for _, command := range []string{"simulate", "forecast"} {
			args := []string{command, "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "--seeds", "1"}
			for _, gate := range tt.gates {
				args = append(args, "--fail-if", gate)
			}
			if code, _, stderr := call(2, false, args...); code != tt.code || stderr != tt.want {
				t.Errorf("%s %q (%s): exit code %d, want %d; standard error:\n%swant:\n%s", command, tt.gates, tt.why, code, tt.code, stderr, tt.want)
			}
		}
	}
}

// A rollout that has left out nothing but nodes that were down before it began is complete; who wants them all says so.
func TestDownBeforeIsComplete(t *testing.T) {
	const events = "controller: {}\nevents:\n- {at: 0s, what: NodeNotReady, node: node-00003}\n"
	world := write(t, "down.yaml", "model: {}\n"+events)
	_, _, notes := call(2, false, "forecast", "--nodes", "12", "--from", oldManifest, "--world", write(t, "events.yaml", events),
		"--spec", newManifest, "--seeds", "1")
	if !strings.Contains(notes, "pods take no time to start and to stop: ") || !strings.Contains(notes, "events.yaml has no section model") {
		t.Errorf("a world without times: %s", notes)
	}
	for _, command := range []string{"simulate", "forecast"} {
		for gate, want := range map[string]string{
			"stuck":    "",
			"left>1":   "",
			"left>5%":  "error: --fail-if 'left>5%': v2: at most 1 node is left without the new version (8.3 %)\n",
			"left>=1":  "error: --fail-if 'left>=1': v2: at most 1 node is left without the new version (8.3 %)\n",
			"left<=9%": "error: --fail-if 'left<=9%': v2: at most 1 node is left without the new version (8.3 %)\n",
		} {
			code, stdout, stderr := call(2, false, command, "--nodes", "12", "--from", oldManifest, "--world", world,
				"--spec", newManifest, "--fail-if", gate, "--seeds", "1")
			if code != one(want != "") || stderr != want || !strings.Contains(stdout, "v2: complete but for 1 node that was down before: the new version is on 11 of 12 nodes after ") {
				t.Errorf("%s --fail-if %s: exit code %d, standard error:\n%s\nand output\n%s", command, gate, code, stderr, stdout)
			}
		}
	}
}

// Whoever runs this in CI must not take a rollout that got stuck for a good one.
func TestStuckRunDoesNotExit0(t *testing.T) {
	for _, command := range []string{"simulate", "forecast"} {
		code, stdout, stderr := call(2, false, command, "--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t),
			"--spec", newManifest, "--seeds", "2", "--fail-if", "stuck")
		const want = "error: not done, for the reasons above: v2\nerror: --fail-if stuck: v2: 2 of 2 runs are stuck\n"
		why := strings.Count(stdout, "stuck: 11 of 12 nodes have the new version; 1 node cannot be updated.\n  1 node: NotReady: node-00003 since 1s\n")
		if code != exit.Negative || stderr != want || why != 1 {
			t.Errorf("%s: exit code %d, standard error:\n%s", command, code, stderr)
		}
	}
	code, _, stderr := call(2, false, "simulate", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "--until", "1m")
	if code != exit.Negative || stderr != "error: not done, for the reasons above: v2\n" {
		t.Errorf("a run whose time is up: exit code %d, standard error:\n%s", code, stderr)
	}
}

// Numbers over the nodes that can be reached are of use when one node is broken for ever.
func TestForecastOverNodesThatCanBeReached(t *testing.T) {
	_, got, _ := call(2, false, "forecast", "--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t), "--spec", newManifest, "--seeds", "3")
	//nolint:dupword // a table
	const want = `As the DaemonSet controller of Kubernetes does it.
v2, 3 runs                            p50      p90      max
time until every node is updated    never    never    never
  every node that can be reached      25s      25s      25s
waves                             5 waves  5 waves  5 waves
peak unavailable nodes            4 nodes  4 nodes  4 nodes

v2: stuck: 11 of 12 nodes have the new version; 1 node cannot be updated.
  1 node: NotReady: node-00003 since 1s
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// Where a node can never be updated, no value of any knob meets any deadline, and suggest says so and why.
func TestSuggestSaysThatNoSettingHelps(t *testing.T) {
	args := []string{"suggest", "--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t), "--spec", newManifest, "--seeds", "3", "--deadline", "10h"}
	code, stdout, stderr := call(2, false, args...)
	const no = "no maxUnavailable meets 10h00m: no setting can help: with 12, the largest, stuck: 11 of 12 nodes have the new version; 1 node cannot be updated\n"
	if code != exit.Negative || !strings.Contains(stdout, "\n"+no+"1 node: NotReady: node-00003 since 1s\n") || stderr != "error: "+no {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if !strings.Contains(stdout, "every node that can be reached") {
		t.Errorf("nothing is said about the nodes that can be reached:\n%s", stdout)
	}
}

// fieldsOf are the names of all fields of a JSON document, with their paths.
func fieldsOf(path string, value any) []string {
	var list []string
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			list = append(list, path+name)
			list = append(list, fieldsOf(path+name+".", below)...)
		}
	case []any:
		for _, item := range value {
			list = append(list, fieldsOf(path, item)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Programs read these names, so they stay.
func TestJSONFields(t *testing.T) {
	spec := []string{
		"label", "file", "controller", "headline", "endings", "endings.done", "endings.doneButDownBefore", "endings.givenUp", "endings.replaced", "endings.stuck", "endings.limit",
		"endings.late", "desiredNodes", "newVersionNodes", "everGivenNodes", "leftNodes", "leftNodes.cause", "leftNodes.nodes", "leftNodes.since",
		"table", "table.name", "table.text", "leftCounts", "leftCounts.cannotBeUpdated", "leftCounts.waitForStage", "leftCounts.waitForOthers",
		"longestDown", "longestDown.node", "longestDown.downSeconds", "longestDown.stillDown", "longestDown.longestFromSeconds",
		"longestDown.longestToSeconds", "longestDown.longestGoesOn",
	}
	for _, name := range []string{
		"durationSeconds", "reachableDurationSeconds", "peakUnavailableNodes", "peakUnavailablePercent", "unavailableNodeSeconds", "waves",
		"podsCreated", "apiCalls", "pulledBytes", "containerRestarts", "peakTakenNodes", "takenNodeSeconds",
		"stillUnavailableNodes", "stillTakenNodes", "rateLimitedSeconds",
	} {
		spec = append(spec, name, name+".p5", name+".p50", name+".p90", name+".p95", name+".max")
	}
	fleet := []string{"--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t), "--spec", newManifest, "--seeds", "3", "-o", "json"}
	for _, tt := range []struct {
		args   []string
		fields []string
		under  string
	}{
		{[]string{"simulate"}, []string{"command", "seed", "runs", "notes", "specs", "failures"}, "specs."},
		{[]string{"forecast"}, []string{"command", "seed", "runs", "notes", "specs", "failures"}, "specs."},
		{[]string{"suggest", "--deadline", "1h"},
			[]string{"command", "seed", "runs", "knob", "deadlineSeconds", "notes", "valueNodes", "result", "failures"}, "result."},
	} {
		code, stdout, _ := call(2, false, append(tt.args, fleet...)...)
		var document map[string]any
		if err := json.Unmarshal([]byte(stdout), &document); err != nil || code != exit.Negative {
			t.Fatalf("%s: exit code %d, %v", tt.args[0], code, err)
		}
		want := slices.Clone(tt.fields)
		for _, name := range spec {
			want = append(want, tt.under+name)
		}
		slices.Sort(want)
		if got := fieldsOf("", document); !slices.Equal(got, want) {
			t.Errorf("%s has the fields\n%q\nwant\n%q", tt.args[0], got, want)
		}
		if document["command"] != tt.args[0] || len(document["failures"].([]any)) == 0 {
			t.Errorf("%s: %v", tt.args[0], document)
		}
	}
}

// A node that is still down at the end was so for at least as long as the run lasted, and the answer says so.
func TestStillDown(t *testing.T) {
	code, stdout, _ := call(2, false, "simulate", "--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t), "--spec", newManifest,
		"-o", "json")
	var found simulateAnswer
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != exit.Negative {
		t.Fatalf("exit code %d, %v", code, err)
	}
	a := &found.Specs[0]
	if *a.StillUnavailableNodes.Max < 1 || *a.StillTakenNodes.Max < 1 || len(a.LongestDown) == 0 {
		t.Fatalf("no node is still down: %s", stdout)
	}
	first := a.LongestDown[0]
	if !first.StillDown || !first.LongestGoesOn || first.DownSeconds <= 0 || first.LongestToSeconds <= first.LongestFromSeconds {
		t.Errorf("the node that was down longest is %+v", first)
	}
	_, table, _ := call(2, false, "simulate", "--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t), "--spec", newManifest)
	if !strings.Contains(table, "at least ") {
		t.Errorf("the table does not say that nodes are still down:\n%s", table)
	}
}

// Each figure of the printed table is in the JSON, too, for each spec.
func TestJSONHasTheTable(t *testing.T) {
	args := []string{"simulate", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "--seeds", "3"}
	var found simulateAnswer
	if err := json.Unmarshal([]byte(answer(t, append(args, "-o", "json")...)), &found); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(answer(t, args...), "\n\n")
	rows := strings.Split(strings.TrimSpace(table), "\n")[1:]
	rows = rows[:slices.Index(rows, "")] // what follows explains the numbers
	if list := found.Specs[0].Table; len(list) != len(rows) {
		t.Fatalf("there are %d rows in the JSON, and %d in the table:\n%s", len(list), len(rows), table)
	}
	for i, row := range rows {
		cell := found.Specs[0].Table[i]
		if got := strings.TrimSpace(row); !strings.HasPrefix(got, cell.Name) || !strings.HasSuffix(got, cell.Text) || cell.Text == "" {
			t.Errorf("row %d of the JSON is %q: %q, that of the table %q", i, cell.Name, cell.Text, got)
		}
	}
}

func TestJSONValues(t *testing.T) {
	var found simulateAnswer
	text := answer(t, "simulate", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "-o", "json")
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	a := found.Specs[0]
	if *a.DurationSeconds.P90 < 108 || *a.DurationSeconds.P90 > 110 || *a.PeakUnavailableNodes.Max != 3 || *a.PeakUnavailablePercent.Max != 25 ||
		a.DesiredNodes != 12 || a.NewVersionNodes != 12 || a.Endings != (endingCounts{Done: 1}) || *a.PulledBytes.P50 != 2.4e9 || len(found.Failures) != 0 {
		t.Errorf("got %s", text)
	}
	var suggested suggestAnswer
	text = answer(t, "suggest", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "-o", "json", "--deadline", "2m")
	if err := json.Unmarshal([]byte(text), &suggested); err != nil || *suggested.ValueNodes != 3 || suggested.DeadlineSeconds != 120 ||
		suggested.Knob != "maxUnavailable" || suggested.Result.Endings.Done != 20 {
		t.Errorf("%v: got %s", err, text)
	}
}

// A pipeline takes a single figure out of each answer.
func TestJSONPathOfAnswers(t *testing.T) {
	args := []string{"--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest}
	for command, want := range map[string]string{
		"simulate": "simulate 3", "forecast": "forecast 3", "suggest --deadline 2m": "suggest 3",
	} {
		template := "{.command} {..peakUnavailableNodes.max}"
		if got := answer(t, append(append(strings.Fields(command), args...), "-o", "jsonpath="+template)...); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// The JSON of forecast has the quantiles of its table.
func TestJSONHasTheForecast(t *testing.T) {
	args := []string{"forecast", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "--seeds", "3"}
	var found simulateAnswer
	if err := json.Unmarshal([]byte(answer(t, append(args, "-o", "json")...)), &found); err != nil {
		t.Fatal(err)
	}
	table, a := answer(t, args...), &found.Specs[0]
	for name, q := range map[string]struct {
		quantiles
		show func(float64) string
	}{
		"time until every node is updated": {a.DurationSeconds, func(s float64) string { return asDuration(s * 1e9) }},
		"waves":                            {a.Waves, counted("wave", "waves")},
		"peak unavailable nodes":           {a.PeakUnavailableNodes, counted("node", "nodes")},
	} {
		_, row, _ := strings.Cut(table, "\n"+name)
		row, _, _ = strings.Cut(row, "\n")
		want := strings.Join(strings.Fields(q.show(*q.P50)+" "+q.show(*q.P90)+" "+q.show(*q.Max)), " ")
		if got := strings.Join(strings.Fields(row), " "); got != want {
			t.Errorf("%s: the table has %q, the JSON %q", name, got, want)
		}
	}
}
