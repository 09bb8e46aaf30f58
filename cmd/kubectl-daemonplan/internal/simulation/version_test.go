package simulation

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// A version that was given up is not one that "updates every node": the headline, the ending and the times are about the new
// version, and not about the one that was put back.
func TestHeadlineIsAboutTheNewVersion(t *testing.T) {
	got := answer(t, "study", "bad-version", "--scale", "0.2")
	for _, want := range []string{
		"with-canary: the canary gave the new version up after 17m41s (TooManyRestarts): 10 of 200 nodes were given it, 190 never.\n",
		"without-canary: another version replaced the new one after 45m4s: 200 of 200 nodes had been given it by then, all after 4m16s.\n",
		"Most nodes down at once: least with with-canary (10 nodes), most with without-canary (24 nodes).\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "every node is updated") {
		t.Errorf("no version came to every node and stayed, so there is no time until then:\n%s", got)
	}
	line := func(name string) []string {
		for text := range strings.Lines(got) {
			if rest, ok := strings.CutPrefix(text, name+"  "); ok {
				return strings.Fields(rest)
			}
		}
		t.Fatalf("there is no line %q", name)
		return nil
	}
	for name, want := range map[string][]string{
		"ends": {"replaced", "given", "up"}, "time to 50 %": {"2m13s", "never"}, "time to 100 %": {"4m16s", "never"},
		"nodes with the new version": strings.Fields("0 of 200 nodes, at most 200 nodes 0 of 200 nodes, at most 10 nodes"),
		"  ever given a pod of it":   {"200", "nodes", "10", "nodes"},
	} {
		if !slices.Equal(line(name), want) {
			t.Errorf("%s: %q, want %q", name, line(name), want)
		}
	}
}

// The chart of progress and the bar count the nodes that have the new version, whatever spec is in force.
func TestNewVersionIsFollowed(t *testing.T) {
	var v newVersion
	changed := func(at time.Duration, to simulate.NodeState, revision string) {
		v.record(simulate.Record{At: at, Kind: simulate.NodeChanged, Node: "n", To: to, Revision: revision})
	}
	steps := []struct {
		why string
		do  func()
		now int
	}{
		{"an older version serves", func() { changed(0, simulate.NodeOld, "v1"); v.plan(0, "v2") }, 0},
		{"a pod of the new one is made, and not available yet", func() {
			v.record(simulate.Record{At: 1, Kind: simulate.PodCreated, Node: "n", Revision: "v2"})
			changed(1, simulate.NodeStarting, "")
		}, 0},
		{"it is", func() { changed(2*time.Minute, simulate.NodeNew, "v2") }, 1},
		{"another version is put in force: the pod is still there", func() {
			v.plan(3*time.Minute, "v1")
			changed(3*time.Minute, simulate.NodeOld, "v2")
		}, 1},
		{"it crashes", func() { changed(4*time.Minute, simulate.NodeBroken, "") }, 0},
		{"and comes back", func() { changed(5*time.Minute, simulate.NodeOld, "v2") }, 1},
		{"the other version comes", func() { changed(6*time.Minute, simulate.NodeNew, "v1") }, 0},
	}
	for _, step := range steps {
		if step.do(); v.Now != step.now {
			t.Errorf("%s: %d nodes have it, want %d", step.why, v.Now, step.now)
		}
	}
	if !v.Replaced || v.ReplacedAt != 3*time.Minute || v.Given != 1 || v.Most != 1 || !slices.Equal(v.Arrivals, []time.Duration{2 * time.Minute}) {
		t.Errorf("%+v", v)
	}
	for at, want := range map[time.Duration]int{0: 0, time.Minute: 0, 2 * time.Minute: 1, 210 * time.Second: 1, 4 * time.Minute: 0, time.Hour: 0} {
		if got := v.at(at); got != want {
			t.Errorf("at %v %d nodes had it, want %d", at, got, want)
		}
	}
}

// The heat map, too, is about the new version: a node that never got it does not show it because an older one was put back.
func TestHeatmapIsAboutTheNewVersion(t *testing.T) {
	tr := newTrace(true)
	changed := func(at time.Duration, node string, to simulate.NodeState, revision string) {
		tr.add(simulate.Record{At: at, Kind: simulate.NodeChanged, Node: node, To: to, Revision: revision})
	}
	changed(0, "never", simulate.NodeOld, "v1")
	changed(0, "got", simulate.NodeOld, "v1")
	tr.Version.plan(0, "v2")
	changed(1*time.Minute, "got", simulate.NodeNew, "v2")
	changed(2*time.Minute-1, "never", simulate.NodeNew, "v1") // the spec is changed, and the next plan is made soon
	changed(2*time.Minute-1, "got", simulate.NodeOld, "v2")
	tr.Version.plan(2*time.Minute, "v1")
	changed(3*time.Minute, "got", simulate.NodeBroken, "")
	changed(4*time.Minute, "got", simulate.NodeSurging, "v2")
	changed(5*time.Minute, "got", simulate.NodeNew, "v1")
	tr.finish(new(simulate.Report))
	want := map[string][]simulate.Change{
		"never": {{At: 0, State: simulate.NodeOld}},
		"got": {
			{At: 0, State: simulate.NodeOld}, {At: 1 * time.Minute, State: simulate.NodeNew}, {At: 3 * time.Minute, State: simulate.NodeBroken},
			{At: 4 * time.Minute, State: simulate.NodeNew}, {At: 5 * time.Minute, State: simulate.NodeOld},
		},
	}
	for _, n := range tr.Nodes {
		if !slices.Equal(n.Changes, want[n.Node]) {
			t.Errorf("%s: %v, want %v", n.Node, n.Changes, want[n.Node])
		}
	}
	// Nodes that had it are in the order in which they got it, before those that never did.
	late := simulate.NodeHistory{Node: "a-late", Changes: []simulate.Change{{At: 9, State: simulate.NodeNew}, {At: 10, State: simulate.NodeOld}}}
	early := simulate.NodeHistory{Node: "b-early", Changes: []simulate.Change{{At: 1, State: simulate.NodeNew}, {At: 10, State: simulate.NodeOld}}}
	never := simulate.NodeHistory{Node: "a-never", Changes: []simulate.Change{{At: 0, State: simulate.NodeOld}}}
	rows := inRows([]simulate.NodeHistory{never, late, early})
	if rows[0].Node != "b-early" || rows[1].Node != "a-late" || rows[2].Node != "a-never" {
		t.Errorf("the rows are %s, %s, %s", rows[0].Node, rows[1].Node, rows[2].Node)
	}
}

// A number alone does not say what it counts.
func TestEveryFigureHasItsUnit(t *testing.T) {
	printed := answer(t, "study", "bad-version", "--scale", "0.1", "--seeds", "3") + answer(t, small()...) +
		answer(t, "forecast", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "--seeds", "3")
	alone := regexp.MustCompile(`  [\d.,]+(?:  |\n)`)
	for line := range strings.Lines(printed) {
		if alone.MatchString(line) {
			t.Errorf("a number has no unit: %s", line)
		}
	}
}

func TestSpreadHasTheUnitOnce(t *testing.T) {
	for want, values := range map[string][2]float64{
		"4 waves": {4, 4}, "4 .. 5 waves": {4, 5}, "1 wave .. 2 waves": {1, 2}, "5 waves .. never": {5, math.Inf(1)}, "never": {math.Inf(1), math.Inf(1)},
	} {
		if got := spread(values[:], counted("wave", "waves")); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// madeUp is a candidate with one run that ended so.
func madeUp(label string, finished time.Duration, peak int, down time.Duration) *outcome {
	return &outcome{
		candidate: &candidate{Label: label},
		Reports: []simulate.Report{{
			End: simulate.EndDone, Finished: finished, Desired: 10, Updated: 10,
			Unavailable: simulate.Unavailable{Peak: peak, NodeTime: down}, Taken: simulate.Unavailable{Peak: peak, NodeTime: down},
		}},
		Traces: []*trace{{Version: newVersion{Now: 10, Most: 10}}},
	}
}

// A cause that is the same with several candidates is told once.
func TestCausesAreToldOnce(t *testing.T) {
	var outcomes []*outcome
	for _, label := range []string{"a", "b", "c"} {
		o := madeUp(label, 0, 1, time.Minute)
		o.Reports[0].End = simulate.EndStuck
		o.Traces[0].Left = []leftNodes{{Cause: "NotReady", Nodes: []string{"w-13"}}}
		outcomes = append(outcomes, o)
	}
	outcomes[1].Traces[0].Left = []leftNodes{{Cause: "full disk", Nodes: []string{"w-1"}}, {Cause: "NotReady", Nodes: []string{"w-13"}}}
	want := [][]string{{"1 node: NotReady: w-13 (the same with b, c)"}, {"1 node: full disk: w-1"}, nil}
	if got := causesOnce(outcomes); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What differs by less than 5 % could be the other way round under another seed, so nothing is called better for it.
func TestSmallDifferencesAreCalledSo(t *testing.T) {
	for _, tt := range []struct {
		why      string
		outcomes []*outcome
		want     []string
		not      string
	}{
		{"3 % apart", []*outcome{madeUp("a", 100*time.Second, 3, time.Minute), madeUp("b", 103*time.Second, 3, time.Hour)},
			[]string{"Time until every node is updated: less than 5 % apart (1m40s with a, 1m43s with b).",
				"Most nodes down at once: the same with all (3 nodes).",
				"summed over nodes: least with a (1.0 node-minutes), most with b (60.0 node-minutes)."}, "first"},
		{"two of three are close", []*outcome{
			madeUp("slow", time.Hour, 1, 0), madeUp("a", 100*time.Second, 3, 0), madeUp("b", 103*time.Second, 3, 0),
		}, []string{"least with a and b (from 1m40s on, less than 5 % apart), most with slow (1h00m).",
			"Most nodes down at once: least with slow (1 node), most with b (3 nodes)."}, ""},
	} {
		got := strings.Join(headlines(tt.outcomes), " ")
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: it lacks %q:\n%s", tt.why, want, got)
			}
		}
		if tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s: it has %q:\n%s", tt.why, tt.not, got)
		}
	}
	// Where the last nodes keep all candidates waiting, the time of most nodes tells them apart.
	slow, quick := madeUp("slow", time.Hour, 1, 0), madeUp("quick", time.Hour, 1, 0)
	slow.Reports[0].Reached = []simulate.Reached{{Percent: 90, After: 50 * time.Minute}}
	quick.Reports[0].Reached = []simulate.Reached{{Percent: 90, After: 10 * time.Minute}}
	const want = "Time until every node is updated: the same with all (1h00m). " +
		"Time until 90 % of the nodes are updated: least with quick (10m), most with slow (50m)."
	if got := strings.Join(headlines([]*outcome{slow, quick}), " "); !strings.Contains(got, want) {
		t.Errorf("it lacks %q:\n%s", want, got)
	}
	cells := figures([]*outcome{madeUp("a", 100*time.Second, 100, 0), madeUp("b", 103*time.Second, 104, 0)})
	for _, f := range cells {
		if f.Name == "peak unavailable nodes" && (f.Cells[0].Best || f.Cells[1].Best) {
			t.Error("4 % fewer nodes are marked as best")
		}
	}
}

// A rollout that got stuck names the nodes and what is wrong with each, once.
func TestStuckNamesNodesAndCauses(t *testing.T) {
	world := write(t, "world.yaml", "model: {kubelets: [{nodes: {daemonplan.io/pool: node}, start: 5s}]}\n"+
		"events:\n- {at: 1s, what: NodeNotReady, node: node-00003}\n- {at: 1s, what: NodeNotReady, node: node-00005}\n")
	_, got, _ := call(2, false, "simulate", "--nodes", "12", "--from", oldManifest, "--spec", newManifest, "--world", world)
	for _, want := range []string{
		"v2: stuck: 10 of 12 nodes have the new version; 2 nodes cannot be updated.\n",
		"\n  2 nodes: NotReady: node-00003 since 1s, node-00005 since 1s\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	world = write(t, "world.yaml", "model: {kubelets: [{start: 5s, ready: 10s}, {image: 'registry.example/agent:v2', crash: 2s}]}")
	_, got, _ = call(2, false, "simulate", "--nodes", "100", "--from", oldManifest, "--spec", newManifest, "--world", world)
	for _, want := range []string{
		"v2: stuck: 0 of 100 nodes have the new version; 25 nodes cannot be updated, 75 nodes wait for others.\n",
		"\n  25 nodes: container agent: CrashLoopBackOff, last Error with exit code 1: node-000",
		" and 20 more\n  75 nodes: wait for maxUnavailable, which other nodes use up: node-000",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

// Nodes that the spec keeps at the old version are told apart from those that cannot be updated.
func TestStuckNamesHeldNodes(t *testing.T) {
	kruise := func(name, manifest, partition string) string {
		text := strings.Replace(read(t, manifest), "apps/v1", "apps.kruise.io/v1alpha1", 1)
		return write(t, name, strings.Replace(text, "maxUnavailable: 25%", "maxUnavailable: 25%"+partition, 1))
	}
	from, spec := kruise("v1.yaml", oldManifest, ""), kruise("held.yaml", newManifest, ", partition: 6")
	world := write(t, "world.yaml", "model: {kubelets: [{start: 5s, ready: 10s}, {image: 'registry.example/agent:v2', crash: 2s}]}")
	_, got, _ := call(2, false, "simulate", "--nodes", "12", "--from", from, "--spec", spec, "--world", world)
	for _, want := range []string{
		"held: stuck: 0 of 12 nodes have the new version; 3 nodes cannot be updated, 3 nodes wait for others, 6 nodes are held by the spec.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

// A run in which no node came to the new version is not one in which every node that could be reached was updated at once.
func TestNothingIsReachedAtOnce(t *testing.T) {
	o := madeUp("a", 0, 1, 0)
	o.Reports[0].End, o.Traces[0].reached = simulate.EndStuck, time.Minute
	o.Traces[0].Left = []leftNodes{{Cause: "NotReady", Nodes: []string{"w-13"}}}
	if got := o.reachable(0); got != float64(time.Minute) {
		t.Errorf("with 10 nodes updated it is %g, want a minute", got)
	}
	o.Traces[0].Version.Now, o.Traces[0].reached = 0, 0
	if got := o.reachable(0); !math.IsInf(got, 1) {
		t.Errorf("with no node updated it is %g, want infinite", got)
	}
}

// With surge the old pods serve beside those that crash, and the crash is still the cause.
func TestStuckSurgeNamesTheCrash(t *testing.T) {
	world := write(t, "world.yaml", "model: {kubelets: [{start: 5s, ready: 10s}, {image: 'registry.example/agent:v2', crash: 2s}]}")
	_, got, _ := call(2, false, "simulate", "--nodes", "8", "--from", oldManifest, "--spec", surging, "--world", world)
	if want := "\n  2 nodes: container agent: CrashLoopBackOff, last Error with exit code 1: node-0000"; !strings.Contains(got, want) {
		t.Errorf("it lacks %q:\n%s", want, got)
	}
	world = write(t, "world.yaml", "model: {kubelets: [{image: 'registry.example/agent:v2', noImage: true}]}")
	_, got, _ = call(2, false, "simulate", "--nodes", "8", "--from", oldManifest, "--spec", newManifest, "--world", world)
	if want := "\n  2 nodes: container agent: ImagePullBackOff: image registry.example/agent:v2: node-0000"; !strings.Contains(got, want) {
		t.Errorf("it lacks %q:\n%s", want, got)
	}
}

func TestGivenUpComesBeforeStuck(t *testing.T) {
	o := madeUp("a", 0, 1, 0)
	o.Reports[0].End, o.Reports[0].Canary.Phase = simulate.EndStuck, canary.Failed
	if got := o.ending(0); got != endGivenUp {
		t.Errorf("a run whose canary failed, and that then got stuck, is %q", got)
	}
}

// Nodes that only wait are counted apart from those that cannot be updated.
func TestLeftCounts(t *testing.T) {
	for _, tt := range []struct {
		groups []leftNodes
		want   string
	}{
		{nil, ""},
		{[]leftNodes{{Nodes: []string{"a", "b"}}, {Nodes: []string{"c", "d", "e"}, WaitFor: forStage}, {Nodes: []string{"f"}, WaitFor: forOthers}},
			"2 nodes cannot be updated, 3 nodes wait for a stage, 1 node waits for others"},
		{[]leftNodes{{Nodes: []string{"c"}, WaitFor: forStage}}, "1 node waits for a stage"},
	} {
		if got := countLeft(tt.groups).String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// In the study with rings two nodes cannot be updated, and all others wait for the stage of these.
func TestStageIsWaitedFor(t *testing.T) {
	text := answer(t, "study", "rings-and-zones", "--scale", "0.2")
	if !strings.Contains(text, " cannot be updated, ") || !strings.Contains(text, " nodes wait for a stage.\n") {
		t.Errorf("the study does not count those that wait for a stage apart:\n%s", text)
	}
}

// Where the rate of calls sets the pace, the line about waits begins with it.
func TestRateOfCallsIsNamed(t *testing.T) {
	o := recorded("a", updates("x", "", 1, 60)...)
	o.Reports[0].Finished = time.Minute
	for limited, want := range map[time.Duration]string{
		30 * time.Second: "maxUnavailable: 2.0 node-minutes",
		45 * time.Second: "callsPerSecond for 75 % of the time, then maxUnavailable: 2.0 node-minutes",
	} {
		o.Reports[0].RateLimited = limited
		o.Reports[0].Waits = []simulate.WaitReport{{Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxUnavailable, NodeTime: 2 * time.Minute}}
		if got := (*comparison)(nil).wait(o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		o.Reports[0].Waits = nil
		if got := (*comparison)(nil).wait(o); limited > 40*time.Second && got != "callsPerSecond for 75 % of the time" {
			t.Errorf("without other waits got %q", got)
		}
	}
}
