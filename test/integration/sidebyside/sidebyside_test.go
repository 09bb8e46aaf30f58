package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/test/integration/apilog"
)

func TestParse(t *testing.T) {
	table := []struct {
		name, why string
		arguments []string
		err       string // part of it; empty: none
		allowed   int
	}{
		{"defaults", "300 nodes, a tenth of them", nil, "", 30},
		{"rounded up", "as both controllers do", []string{"-nodes", "11"}, "", 2},
		{"count", "no percentage", []string{"-max-unavailable", "7"}, "", 7},
		{"no nodes", "there is nothing to compare", []string{"-nodes", "0"}, "-nodes 0", 0},
		{"too many", "the names of nodes have four digits", []string{"-nodes", "10000"}, "-nodes 10000", 0},
		{"no budget", "nothing would ever be updated", []string{"-max-unavailable", "0"}, "-max-unavailable 0", 0},
		{"nonsense", "which is no budget", []string{"-max-unavailable", "many"}, "-max-unavailable many", 0},
		{"negative", "which is no time", []string{"-pod-start", "-1s"}, "-pod-start -1s", 0},
		{"argument", "it takes none", []string{"300"}, `"300"`, 0},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			s, err := parse(row.arguments, io.Discard)
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("%v, want one about %s: %s", err, row.err, row.why)
				}
				return
			}
			if allowed, _ := s.allowed(); err != nil || allowed != row.allowed {
				t.Errorf("%d nodes, %v; want %d: %s", allowed, err, row.allowed, row.why)
			}
		})
	}
}

const (
	stat   = "4711 (a (b) c) S 1 4711 4711 0 -1 4194560 8391 0 12 0 250 75 0 0 20 0 9 0 8236 1295 92\n"
	status = "Name:\ta (b) c\nVmPeak:\t 1300000 kB\nVmHWM:\t   84992 kB\nVmRSS:\t   71000 kB\n"
)

func TestParseUsage(t *testing.T) {
	if got, err := parseUsage(stat, status); err != nil || got != (usage{3250 * time.Millisecond, 84992 << 10}) {
		t.Errorf("%v, %v; want 250 and 75 ticks, and 84992 kB", got, err)
	}
	table := []struct{ name, why, stat, status string }{
		{"empty stat", "there is nothing to read", "", status},
		{"short stat", "it ends before the times", stat[:50], status},
		{"no name", "the fields cannot be counted", strings.NewReplacer("(", "", ")", "").Replace(stat), status},
		{"no number", "which is no time", strings.Replace(stat, " 250 ", " x ", 1), status},
		{"no memory", "as of a process that ended", stat, "Name:\ta\n"},
		{"no size", "which is no size", stat, "VmHWM:\t many kB\n"},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			if got, err := parseUsage(row.stat, row.status); err == nil {
				t.Errorf("%v, want an error: %s", got, row.why)
			}
		})
	}
}

func created(node string) apilog.Call {
	return apilog.Call{Verb: "create", Resource: "pods", Node: node, Revision: "1", Code: 201}
}

func results() []result {
	return []result{
		{
			name: "theirs", memory: 80 << 20, twice: []string{"pod a was deleted 2 times"},
			install: phase{done: 4 * time.Second, said: 5 * time.Second, cpu: time.Second, calls: []apilog.Call{created("n1"), created("n2")}},
			update:  phase{done: 8 * time.Second, said: 8 * time.Second, down: 5},
		},
		{
			name: "ours", ours: true, memory: 20 << 20,
			install: phase{done: time.Second, said: time.Second, cpu: 2 * time.Second, calls: []apilog.Call{
				created("n1"), {Verb: "patch", Resource: "pods/status", Code: 409}, {Verb: "patch", Resource: "pods/status", Code: 409},
			}},
			update: phase{done: 2 * time.Second, said: 2 * time.Second, down: 3},
		},
	}
}

func TestReport(t *testing.T) {
	got := report(settings{nodes: 30, budget: "10%", podStart: time.Second}, results())
	for _, line := range []string{
		"30 nodes, maxUnavailable 10% (3 nodes), pods are ready 1s after they were bound, by the kubelet of the integration tests; ",
		"| | theirs | ours | ours : theirs |\n|---|---:|---:|---:|\n",
		"| **install**: all nodes serve after | 4.00 s | 1.00 s | 0.25 |\n",
		"| install: the status says so after | 5.00 s | 1.00 s | 0.20 |\n",
		"| install: CPU | 1.00 s | 2.00 s | 2.00 |\n",
		"| install: requests | 2 | 3 | 1.50 |\n| install: – create pods | 2 | 1 | 0.50 |\n| install: – patch pods/status | 0 | 2 |  |\n",
		"| install: refused | none | 409 patch pods/status: 2 |  |\n",
		"| update: most nodes without a serving pod | 5 | 3 | 0.60 |\n",
		"| update: requests | 0 | 0 |  |\n",
		"| peak memory of the process | 80 MiB | 20 MiB | 0.25 |\n",
		"| carried out twice, or not at all | 1 | 0 |  |\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("the report lacks\n%s\nin\n%s", line, got)
		}
	}
}

// Faults of the example are errors, those of others are only shown.
func TestJudge(t *testing.T) {
	s := settings{nodes: 30, budget: "10%"}
	if err := judge(s, results()); err != nil {
		t.Errorf("%v, want nothing", err)
	}
	table := []struct {
		name, why string
		fault     func(*result)
		want      string
	}{
		{"beyond the budget", "one node more than 10 % of 30", func(r *result) { r.update.down = 4 }, "ours: 4 nodes were without a serving pod at a time, and 3 may be"},
		{"twice", "the API server carried it out", func(r *result) { r.twice = []string{"pod a was deleted 2 times"} }, "ours: pod a was deleted 2 times"},
		{"doubled", "the watch saw it", func(r *result) { r.doubled = []string{"n1 1"} }, "ours: two live pods of a revision on n1 1"},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			faulty := results()
			row.fault(&faulty[1])
			if err := judge(s, faulty); err == nil || err.Error() != row.want {
				t.Errorf("%v, want %s: %s", err, row.want, row.why)
			}
		})
	}
}

// Both controllers are given the same template and the same budget.
func TestSameWork(t *testing.T) {
	s := settings{nodes: 30, budget: "10%"}
	all := runners(s, "controller")
	if ours := slices.IndexFunc(all, func(r runner) bool { return r.ours }); ours != len(all)-1 {
		t.Fatalf("the example is number %d of %d; the ratios are those of the last", ours, len(all))
	}
	d, p := daemonSetOf(s), plannedOf(s)
	if d.Spec.Template.String() != p.Spec.Template.String() {
		t.Errorf("%v and %v", d.Spec.Template, p.Spec.Template)
	}
	if theirs, ours := d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, p.Spec.UpdateStrategy.MaxUnavailable; theirs.String() != "10%" || *ours != *theirs {
		t.Errorf("budgets %v and %v, want 10%%", theirs, ours)
	}
	for _, set := range []set{&daemonSet{d}, &planned{p}} {
		set.update()
	}
	if d.Spec.Template.Spec.Containers[0].Image != after || p.Spec.Template.Spec.Containers[0].Image != after {
		t.Errorf("the images are %s and %s after the update, want %s", d.Spec.Template.Spec.Containers[0].Image, p.Spec.Template.Spec.Containers[0].Image, after)
	}
}
