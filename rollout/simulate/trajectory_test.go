package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// trajectory is a small rollout with its course, computed by hand. Unless a row says otherwise, a pod takes 10 s to terminate.
// From its creation it takes 1 s to be bound, 1 s and 1 s until its container is made and runs, and 7 s until it is ready. So a
// new pod takes 10 s, and to recreate one takes 20 s. Nodes are updated by descending name (B6).
type trajectory struct {
	name, why string
	scenario  simulate.Scenario
	// nodes are the states of each node, at the end of each instant at which the state changed.
	nodes map[string]string
	// unavailable is how many nodes were unavailable at the end of each instant at which the number changed.
	unavailable string
	// The other fields are of the report.
	end      simulate.End
	finished time.Duration
	waves    int
	peak     int
	nodeTime time.Duration
	reached  string // 50, 90, 99 and 100 %
}

// fleetOf has a pool of n nodes that run version 1 of the set, with the options.
func fleetOf(n int, options ...rollouttest.SpecOption) simulate.Fleet {
	return simulate.Fleet{
		Pools:   []simulate.Pool{{Name: "n", Nodes: n, Zones: []string{"a", "b"}}},
		Running: new(rollouttest.Spec("agent", options...)),
	}
}

// second is version 2 of the set.
func second(options ...rollouttest.SpecOption) rollout.Spec {
	return rollouttest.Spec("agent", append([]rollouttest.SpecOption{rollouttest.Image("agent:v2")}, options...)...)
}

func trajectoryModel() simulate.Model {
	return simulate.Model{
		Schedule: simulate.Fixed(time.Second),
		Kubelets: []simulate.Kubelet{{
			Create: simulate.Fixed(time.Second), Start: simulate.Fixed(time.Second),
			Ready: simulate.Fixed(7 * time.Second), Stop: simulate.Fixed(10 * time.Second),
		}},
	}
}

func TestTrajectories(t *testing.T) {
	names := map[string]bool{}
	for _, row := range slices.Concat(trajectories(), troubled(), inTheMiddle()) {
		if row.name == "" || row.why == "" || names[row.name] {
			t.Fatalf("row %q: name and why must be there, and the name unique", row.name)
		}
		names[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			seen := course{nodes: map[string][]passage{}, states: map[string]simulate.NodeState{}}
			row.scenario.History = seen.record
			model := trajectoryModel()
			row.scenario.Model.Schedule = model.Schedule
			row.scenario.Model.Kubelets = append(model.Kubelets, row.scenario.Model.Kubelets...)
			report, err := simulate.Run(row.scenario)
			if err != nil {
				t.Fatal(err)
			}
			nodes := map[string]string{}
			for node, passed := range seen.nodes {
				nodes[node] = passages(passed)
			}
			var reached []string
			for _, r := range report.Reached {
				reached = append(reached, r.After.String())
			}
			type outcome struct {
				Nodes       map[string]string
				Unavailable string
				End         simulate.End
				Finished    time.Duration
				Waves, Peak int
				NodeTime    time.Duration
				Reached     string
			}
			want := outcome{
				row.nodes, row.unavailable, row.end, row.finished, row.waves, row.peak, row.nodeTime, row.reached,
			}
			got := outcome{
				nodes, passages(seen.unavailable), report.End, report.Finished, report.Waves, report.Unavailable.Peak,
				report.Unavailable.NodeTime, strings.Join(reached, " "),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n(-by hand +simulated):\n%s", row.why, diff)
			}
		})
	}
}

// These are further figures in the reports of some trajectories.
func TestTrajectoryReports(t *testing.T) {
	rows := map[string]func(simulate.Report) string{
		"one at a time": func(r simulate.Report) string {
			// Three nodes of zone a and two of b are down for 20 s each. One of one place is used all the time.
			zones := ""
			for _, z := range r.Zones {
				zones += fmt.Sprintf("%s %d %d %s, ", z.Zone, z.Nodes, z.Unavailable.Peak, z.Unavailable.NodeTime)
			}
			return fmt.Sprint(zones, r.Created, r.Deleted, r.Patched, r.Budget.Limit, r.Budget.Surge, r.Budget.Peak, r.Budget.Mean)
		},
		"surge": func(r simulate.Report) string {
			// Two of two places are used for 20 s, and one for 10 s: the mean is 50/30. The last old pod is gone 10 s after its
			// node is done.
			return fmt.Sprintf("%v %v %v %.3f %v", r.Budget.Limit, r.Budget.Surge, r.Budget.Peak, r.Budget.Mean, r.Elapsed)
		},
		"in place, with images pulled ahead": func(r simulate.Report) string {
			// There are three pulls ahead and four images. Nothing is created or deleted.
			return fmt.Sprint(r.Pulls, r.PulledBytes, r.Restarts, r.Crashes, r.Created, r.Deleted)
		},
		"a canary that is promoted by the clock": func(r simulate.Report) string {
			return fmt.Sprint(r.Canary.Reason, r.Canary.Nodes, r.Canary.Promoted, r.Canary.Failed)
		},
	}
	want := map[string]string{
		"one at a time":                          "a 3 1 1m0s, b 2 1 40s, 5 5 0 1 false 1 1",
		"surge":                                  "2 true 2 1.667 40s",
		"in place, with images pulled ahead":     "3 400000000 4 0 0 0",
		"a canary that is promoted by the clock": "Promoted 1 5m20s 0s",
	}
	got := map[string]string{}
	for _, row := range trajectories() {
		say := rows[row.name]
		if say == nil {
			continue
		}
		model := trajectoryModel()
		row.scenario.Model.Schedule = model.Schedule
		row.scenario.Model.Kubelets = append(model.Kubelets, row.scenario.Model.Kubelets...)
		report, err := simulate.Run(row.scenario)
		if err != nil {
			t.Fatal(err)
		}
		got[row.name] = say(report)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-by hand +simulated):\n%s", diff)
	}
}

// course is what was recorded of a run: the states of each node, and how many nodes were unavailable.
type course struct {
	nodes       map[string][]passage
	states      map[string]simulate.NodeState
	unavailable []passage
}

// passage is a value at the end of an instant.
type passage struct {
	at   time.Duration
	what string
}

func (c *course) record(r simulate.Record) {
	if r.Kind != simulate.NodeChanged {
		return
	}
	state := r.To.String()
	if r.To == 0 {
		state = "gone"
	}
	c.states[r.Node] = r.To
	c.nodes[r.Node] = pass(c.nodes[r.Node], r.At, state)
	n := 0
	for _, state := range c.states {
		if !state.Serving() && state != simulate.NodeOutside && state != 0 {
			n++
		}
	}
	c.unavailable = pass(c.unavailable, r.At, fmt.Sprint(n))
}

// pass adds the value of now. It replaces a value of the same instant.
func pass(list []passage, at time.Duration, what string) []passage {
	if last := len(list) - 1; last >= 0 && list[last].at == at {
		list = list[:last]
	}
	return append(list, passage{at, what})
}

// passages lists the passages as text, without those that changed nothing.
func passages(list []passage) string {
	list = slices.CompactFunc(slices.Clone(list), func(a, b passage) bool { return a.what == b.what })
	var texts []string
	for _, p := range list {
		texts = append(texts, fmt.Sprint(p.at, " ", p.what))
	}
	return strings.Join(texts, ", ")
}
