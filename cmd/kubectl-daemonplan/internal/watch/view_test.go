package watch

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/rollout"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-file +screen); run with -update and read the diff:\n%s", file, diff)
	}
}

// fleetTime is when the embedded fleets were recorded.
var fleetTime = time.Date(2026, 3, 2, 9, 15, 0, 0, time.UTC)

// planned plans one of the embedded fleets.
func planned(t *testing.T, file string) *plan.Result {
	t.Helper()
	in := objects.New()
	if err := in.Read(&objects.Files{}, []string{filepath.Join("..", "cli", file)}); err != nil {
		t.Fatal(err)
	}
	set := in.Sets[0]
	in.Surround(set)
	result, err := plan.Decide(in, set, fleetTime, controllers.Daemonplan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// framed is the first frame of a watch of the set.
func framed(result *plan.Result) *Frame {
	set := result.Set
	f := &Frame{
		Result: result,
		Ref:    objects.Ref{Group: set.Group, Namespace: set.Spec.Namespace, Name: set.Spec.Name},
	}
	overview := result.Overview(result.Snapshot.Now)
	f.history.note(result, &overview)
	return f
}

// shown draws a frame without styles. It checks that the screen is full, and no line wider than it.
func shown(t *testing.T, f *Frame, now time.Time, first, width, height int) string {
	t.Helper()
	p := newPage(f, now, width)
	screen, _ := p.draw(first, width, height)
	lines := strings.Split(ansi.Strip(screen), "\n")
	if height > 2 && len(lines) != height || len(lines) > height {
		t.Errorf("%dx%d: %d lines", width, height, len(lines))
	}
	for _, line := range lines {
		if ansi.StringWidth(line) > width || strings.ContainsAny(line, "\x1b\t\r") {
			t.Errorf("%dx%d: %q", width, height, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestView(t *testing.T) {
	late := fleetTime.Add(12 * time.Second)
	for _, fleet := range []string{"fleet", "kruise", "eds"} {
		f := framed(planned(t, fleet+".yaml"))
		for _, size := range [][2]int{{80, 24}, {40, 24}, {120, 50}} {
			golden(t, fmt.Sprintf("%s-%dx%d.txt", fleet, size[0], size[1]), shown(t, f, late, 0, size[0], size[1]))
		}
	}
	scrolled := framed(planned(t, "fleet.yaml"))
	golden(t, "fleet-80x24-end.txt", shown(t, scrolled, late, 1000, 80, 24))

	f := framed(planned(t, "fleet.yaml"))
	f.Broken = []cluster.Broken{
		{What: "pods in namespace observability", Since: fleetTime, Err: errors.New("dial tcp 10.0.0.1:6443: connect: connection refused")},
		{What: "nodes", Since: fleetTime.Add(time.Second), Err: errors.New("the same")},
	}
	golden(t, "broken-80x24.txt", shown(t, f, late, 0, 80, 24))
	f.Broken, f.Deleted = nil, true
	golden(t, "deleted-80x24.txt", shown(t, f, late, 0, 80, 24))
	f.Deleted, f.Problem = false, errors.New("the cluster (DaemonSet a/b): spec.selector: Required value\nsecond\x1b[31m mistake")
	golden(t, "problem-80x24.txt", shown(t, f, late, 0, 80, 24))
	golden(t, "reading-80x24.txt", shown(t, &Frame{Ref: f.Ref, Missing: []string{"nodes", "pods in namespace observability"}}, late, 0, 80, 24))
}

// TestViewFits draws on screens of any size, also ones that have room for nothing.
func TestViewFits(t *testing.T) {
	for _, fleet := range []string{"fleet.yaml", "kruise.yaml", "eds.yaml"} {
		f := framed(planned(t, fleet))
		f.Result.Snapshot.Nodes[0].Labels["topology.kubernetes.io/zone"] = "a\tb\x1b[2J"
		f.Broken = []cluster.Broken{{What: "pods", Since: fleetTime, Err: errors.New(strings.Repeat("x", 300) + "\x1b[2J\n世界世界")}}
		for width := 1; width < 130; width += 3 {
			for _, height := range []int{1, 2, 3, 5, 24, 100} {
				for _, first := range []int{-5, 0, 7, 10000} {
					shown(t, f, fleetTime.Add(time.Hour), first, width, height)
				}
			}
		}
	}
}

// TestViewShowsAll scrolls through a small screen, and compares what was seen with a screen that has room for all.
func TestViewShowsAll(t *testing.T) {
	f := framed(planned(t, "fleet.yaml"))
	p := newPage(f, fleetTime, 40)
	var seen []string
	for first := 0; ; {
		screen, at := p.draw(first, 40, 10)
		if at < first {
			break
		}
		lines := strings.Split(ansi.Strip(screen), "\n")
		seen = append(seen[:first], lines[len(p.head):9]...)
		first++
	}
	var want []string
	for _, one := range p.body {
		want = append(want, one.text)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestEstimate(t *testing.T) {
	r := planned(t, "fleet.yaml")
	at := func(seconds int) time.Time { return fleetTime.Add(time.Duration(seconds) * time.Second) }
	type seen struct{ at, settled int }
	going := plan.Overview{Progress: plan.GoesOn, Left: 30}
	for _, c := range []struct {
		name, why string
		seen      []seen
		now       int
		overview  plan.Overview
		want      string
	}{
		{"begin", "there is no evidence", []seen{{0, 10}}, 20, going, "unknown: no node was updated since this watch began (20s)"},
		{"one gain", "its nodes were under way before", []seen{{0, 10}, {5, 16}}, 20, going, "unknown: the pace shows when the next nodes are updated"},
		{"two gains", "6 nodes in a minute", []seen{{0, 10}, {5, 16}, {65, 22}}, 65, going, "about 5m, at the pace of this watch: 6 nodes updated in 1m, 30 to go"},
		{"between two", "it counts down", []seen{{0, 10}, {5, 16}, {65, 22}}, 85, going, "about 4m40s, at the pace of this watch: 6 nodes updated in 1m, 30 to go"},
		{"late", "the pace is another", []seen{{0, 10}, {5, 16}, {65, 22}}, 200, going, "unknown: no node was updated for 2m15s"},
		{"flapping", "a node that comes back is no progress", []seen{{0, 10}, {5, 16}, {10, 14}, {15, 16}, {20, 15}, {25, 16}}, 26, going, "unknown: the pace shows when the next nodes are updated"},
		{"canary", "it ends by the clock", []seen{{0, 10}, {5, 16}, {65, 22}}, 65, plan.Overview{Progress: plan.GoesOn, OnTrial: true, Left: 30}, "unknown: a canary is on trial"},
		{"complete", "nothing is left", []seen{{0, 10}}, 20, plan.Overview{Progress: plan.Complete}, "none, the rollout is complete"},
		{"stopped", "no time will do", []seen{{0, 10}, {5, 16}, {65, 22}}, 65, plan.Overview{Progress: plan.Stopped, Left: 30}, "never by itself: it goes on when somebody acts"},
	} {
		var h history
		for _, one := range c.seen {
			r.Snapshot.Now = at(one.at)
			h.note(r, &plan.Overview{Settled: one.settled})
		}
		if got := h.estimate(&c.overview, at(c.now)); got != c.want {
			t.Errorf("%s (%s): %q, want %q", c.name, c.why, got, c.want)
		}
	}
}

// TestStalled has a rollout not get any further.
func TestStalled(t *testing.T) {
	r := planned(t, "fleet.yaml")
	r.Spec.MinReadySeconds = 30
	r.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(60))
	f := framed(r)
	o := r.Overview(fleetTime)
	const allowed = patience + 90*time.Second
	if f.history.stalled(r, &o, fleetTime.Add(allowed-1)) || !f.history.stalled(r, &o, fleetTime.Add(allowed)) {
		t.Error("a rollout stalls after 10 minutes, minReadySeconds and the grace period")
	}
	if screen := shown(t, f, fleetTime.Add(allowed), 0, 80, 24); !strings.Contains(screen, "Stuck: no further node was updated and available for 12m.") &&
		!strings.Contains(screen, "Stuck: no further node was updated and available for 11m30s.") {
		t.Error(screen)
	}
	r.Snapshot.Now = fleetTime.Add(5 * time.Minute)
	o.Settled++
	f.history.note(r, &o)
	if f.history.stalled(r, &o, fleetTime.Add(allowed)) {
		t.Error("it got further")
	}
	o.OnTrial = true
	if f.history.stalled(r, &o, fleetTime.Add(24*time.Hour)) {
		t.Error("a canary is waited for")
	}
}

// TestLastChange looks at what was seen last.
func TestLastChange(t *testing.T) {
	r := planned(t, "fleet.yaml")
	f := framed(r)
	decide := func(change func(d *rollout.Decision)) {
		r.Snapshot.Now = r.Snapshot.Now.Add(time.Second)
		decisions := append([]rollout.Decision{}, r.Plan.Decisions...)
		change(&decisions[3])
		r.Plan.Decisions = decisions
		o := r.Overview(r.Snapshot.Now)
		f.history.note(r, &o)
	}
	decide(func(*rollout.Decision) {})
	if !f.history.changed.IsZero() {
		t.Errorf("nothing has changed, but %q", f.history.change)
	}
	decide(func(d *rollout.Decision) { d.State = rollout.StateBroken })
	if !strings.HasSuffix(f.history.change, ", is broken") || !f.history.changed.Equal(fleetTime.Add(2*time.Second)) {
		t.Errorf("%q at %v", f.history.change, f.history.changed)
	}
	decide(func(d *rollout.Decision) { d.Node = "new\x1b[31m" })
	if want := `new\x1b[31m joined, and 1 node more`; f.history.change != want {
		t.Errorf("%q, want %q", f.history.change, want)
	}
}

// TestLogOfAStalledRollout has a rollout that goes on by itself, but does not get any further.
func TestLogOfAStalledRollout(t *testing.T) {
	f := framed(planned(t, "fleet.yaml"))
	var l log
	said, end, err := l.add(f, fleetTime)
	if len(said) != 1 || end || err != nil {
		t.Errorf("%q, %v, %v", said, end, err)
	}
	if said, end, err = l.add(f, fleetTime.Add(9*time.Minute)); len(said) != 0 || end || err != nil {
		t.Errorf("nothing has changed, but %q, %v, %v", said, end, err)
	}
	said, end, err = l.add(f, fleetTime.Add(12*time.Minute))
	if len(said) != 1 || said[0] != "2026-03-02T09:27:00Z Stuck: no further node was updated and available for 12m." || !end {
		t.Errorf("%q, %v", said, end)
	}
	endedWith(t, err, "the rollout of daemonset.apps/node-agent in namespace observability is stuck: Updating: 14 of 56 nodes")
}

// Names that are wider than most of the screen are cut where they are alike.
func TestViewOfLongNames(t *testing.T) {
	o := &plan.Overview{Troubles: []plan.Trouble{
		{Node: "ip-10-0-1-17.eu-central-1.compute.internal", What: "NotReady"}, {Node: "ip-10-0-2-33.eu-central-1.compute.internal", What: "crashes"},
	}}
	for width, want := range map[int][]string{
		30:  {"  ! ip-10-0-1-17…: NotReady", "  ! ip-10-0-2-33…: crashes"},
		100: {"  ! ip-10-0-1-17.eu-central-1.compute.internal: NotReady", "  ! ip-10-0-2-33.eu-central-1.compute.internal: crashes"},
	} {
		lines := troubleLines(o, width)
		if len(lines) != 4 || lines[2].text != want[0] || lines[3].text != want[1] {
			t.Errorf("in %d columns: %v, want %q", width, lines, want)
		}
	}
}
