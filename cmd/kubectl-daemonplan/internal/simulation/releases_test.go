package simulation

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// A hundred nodes and three releases: the first arrives when 99 have it, the second is replaced before, and the third is under way.
func TestReleases(t *testing.T) {
	var l releases
	at := func(hours int) time.Duration { return time.Duration(hours) * time.Hour }
	plan := func(hours int, hash string) {
		l.record(simulate.Record{Kind: simulate.Planned, At: at(hours), Revision: hash})
	}
	change := func(hours, nodes int, from, to simulate.NodeState) {
		for range nodes {
			l.record(simulate.Record{Kind: simulate.NodeChanged, At: at(hours), From: from, To: to})
		}
	}
	change(0, 100, 0, simulate.NodeOld)
	plan(0, "a")
	change(1, 98, simulate.NodeOld, simulate.NodeNew) // 98 % is not everywhere
	plan(2, "a")                                      // the same release
	change(3, 1, simulate.NodeOld, simulate.NodeNew)
	change(4, 1, simulate.NodeOld, simulate.NodeLost)
	plan(10, "b") // at one instant the plan comes first, and then the nodes are old
	change(10, 99, simulate.NodeNew, simulate.NodeOld)
	change(12, 50, simulate.NodeOld, simulate.NodeNew)
	plan(20, "a") // a way back is a release
	change(20, 50, simulate.NodeNew, simulate.NodeOld)
	change(21, 100, simulate.NodeOld, simulate.NodeOutside)
	l.until(at(30))
	want := []release{{"a", 0, at(3)}, {"b", at(10), -1}, {"a", at(20), -1}}
	if len(l.List) != 3 || l.List[0] != want[0] || l.List[1] != want[1] || l.List[2] != want[2] || l.overlapped() != 1 || !l.many() {
		t.Errorf("the releases are %+v, want %+v", l.List, want)
	}
	// 100 nodes for 1 h, 2 for 2 h, 1 for 7 h; 100 for 2 h, 50 for 8 h; 100 for 1 h; one node is lost to the end.
	if hours := l.Behind.Hours(); hours != 100+4+7+200+400+100+0*9 {
		t.Errorf("nodes were behind for %v h", hours)
	}
	if list := l.arrivals(); len(list) != 1 || list[0] != float64(at(3)) {
		t.Errorf("arrivals %v", list)
	}
}

// Of a run with a release every week the answer is about releases.
func TestYear(t *testing.T) {
	second, err := filepath.Abs(newManifest)
	if err != nil {
		t.Fatal(err)
	}
	third := write(t, "v3.yaml", strings.ReplaceAll(read(t, newManifest), "agent:v2", "agent:v3"))
	world := write(t, "year.yaml", "controller: {}\nmodel: {kubelets: [{ready: 5s}]}\nevents:\n"+
		"- {at: 24h, every: 48h, until: 240h, what: SetSpec, spec: "+third+"}\n"+
		"- {at: 48h, every: 48h, until: 240h, what: SetSpec, spec: "+second+"}\n")
	out := answer(t, "simulate", "--nodes", "12", "--from", oldManifest, "--spec", newManifest, "--world", world, "--until", "300h")
	for _, want := range []string{"v2: 11 releases in ", "releases  ", "11 releases, 0 replaced before 99 %", "time to 99 % of the nodes", " node-hours"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "time to 50 %") {
		t.Errorf("there is no new version in:\n%s", out)
	}
}
