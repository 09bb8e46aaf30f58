package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// exampleCase is the case that a simulation would write for an embedded fleet.
func exampleCase(t *testing.T, example string) (simulate.Case, *plan.Result) {
	t.Helper()
	in := objects.New()
	if err := addExample(in, example); err != nil {
		t.Fatal(err)
	}
	target, err := in.Choose(objects.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	in.Surround(target)
	r, err := plan.Decide(in, target, fleetTime(), controllers.Daemonplan)
	if err != nil {
		t.Fatal(err)
	}
	return simulate.Case{Spec: target.Spec, Snapshot: r.Snapshot}, r
}

func writeCase(t *testing.T, c simulate.Case) (file string) {
	t.Helper()
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(files(t, map[string]string{"case.json": string(text)}), "case.json")
}

// A case gives the same plan as the objects that it was made from: the same actions, and the same explanation for each node.
func TestCasePlansTheSame(t *testing.T) {
	for _, example := range []string{exampleKubernetes, exampleKruise, exampleEDS} {
		t.Run(example, func(t *testing.T) {
			c, r := exampleCase(t, example)
			file := writeCase(t, c)
			for _, args := range [][]string{{"diff"}, {"explain", r.Snapshot.Nodes[0].Name}, {"explain", r.Snapshot.Nodes[2].Name}} {
				want := ours(t, "", append(args, "--example", example)...)
				if got := plans(t, "", append(args, "--case", file)...); got != want {
					t.Errorf("%v:\n%s\nwithout the case:\n%s", args, got, want)
				}
			}
			actions := func(text string) string {
				_, after, _ := strings.Cut(text, `"actions"`)
				before, _, _ := strings.Cut(after, `"imagePullJobs"`)
				before, _, _ = strings.Cut(before, `"waits"`)
				return before
			}
			want := actions(ours(t, "", "--example", example, "-o", "json"))
			if got := actions(plans(t, "", "--case", file, "-o", "json")); got != want || len(want) < 100 {
				t.Errorf("actions:\n%s\nwithout the case:\n%s", got, want)
			}
		})
	}
}

// goldenCase is a case with a part of the fleet. It has two things that no object shows: a deletion in flight, and a memory.
func goldenCase(t *testing.T) (c simulate.Case, deleting string) {
	t.Helper()
	c, r := exampleCase(t, exampleKubernetes)
	first := r.Plan.Deletes[0]
	part := map[string]bool{first.Node: true}
	for _, node := range c.Snapshot.Nodes {
		part[node.Name] = part[node.Name] || len(part) < 8
	}
	c.Snapshot.Nodes = slices.DeleteFunc(slices.Clone(c.Snapshot.Nodes), func(n *corev1.Node) bool { return !part[n.Name] })
	c.Snapshot.Pods = slices.DeleteFunc(slices.Clone(c.Snapshot.Pods), func(p *corev1.Pod) bool { return !part[p.Spec.NodeName] })
	c.Snapshot.InFlight.Deletes = []types.UID{first.UID}
	c.Snapshot.Memory = r.Plan.Memory
	c.Snapshot.Memory.Rollout.Began = fleetTime().Add(-time.Hour)
	return c, first.Node
}

func TestCaseGolden(t *testing.T) {
	c, deleting := goldenCase(t)
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "case.json", string(text))
	file := filepath.Join("testdata", "case.json")
	golden(t, "case.txt", plans(t, "", "--case", file))
	if got := plans(t, "", "explain", "--case", file, deleting); !strings.Contains(got, "waits: ") {
		t.Errorf("the deletion that is in flight is forgotten: %s", got)
	}
	c.Snapshot.InFlight = rollout.InFlight{}
	if got := plans(t, "", "explain", "--case", writeCase(t, c), deleting); strings.Contains(got, "waits: ") {
		t.Errorf("without it the pod would be deleted now: %s", got)
	}
	var memory struct{ Memory rollout.Memory }
	if err := json.Unmarshal([]byte(plans(t, "", "--case", file, "-o", "json")), &memory); err != nil {
		t.Fatal(err)
	}
	if !memory.Memory.Rollout.Began.Equal(c.Snapshot.Memory.Rollout.Began) || memory.Memory.Rollout.Began.IsZero() {
		t.Errorf("the rollout began at %v, want %v as in the memory", memory.Memory.Rollout.Began, c.Snapshot.Memory.Rollout.Began)
	}
}

func TestCaseMistakes(t *testing.T) {
	broken := simulate.Case{Snapshot: rollout.Snapshot{Now: fleetTime()}}
	noName, _ := exampleCase(t, exampleKubernetes)
	noName.Snapshot.Nodes = append(noName.Snapshot.Nodes, &corev1.Node{})
	notJSON := filepath.Join(files(t, map[string]string{"x.json": "{\n\"spec\": oops"}), "x.json")
	const others = "--case is all the input there is"
	for _, c := range []struct {
		name, why string
		args      []string
		want      string
	}{
		{"missing", "the name of the file and the reason", []string{"--case", "no-such-file"}, "error: no-such-file: no such file or directory\n"},
		{"no name", "as for -f", []string{"--case", ""}, "must not be empty"},
		{"no JSON", "the line", []string{"--case", notJSON}, notJSON + ": case: line 2: invalid character"},
		{"broken spec", "each mistake in a line", []string{"--case", writeCase(t, broken)}, "case.json: spec.name: Required value"},
		{"broken snapshot", "as the planner says", []string{"--case", writeCase(t, noName)}, "must have a name"},
		{"with files", "a case is all there is", []string{"--case", "x", "-f", "y"}, others},
		{"with an example", "a case is all there is", []string{"--case", "x", "--example", "eds"}, others},
		{"with a namespace", "there is one set", []string{"--case", "x", "-n", "y"}, others},
		{"with a set", "there is one set", []string{"plan", "y", "--case", "x"}, others},
		{"with a time", "a case has one", []string{"--case", "x", "--now", "2026-03-02T09:15:00Z"}, others},
		{"with a memory", "a case has one", []string{"--case", "x", "--memory", "y"}, others},
		{"with settings", "they are in the spec", []string{"--case", "x", "--resize"}, others},
		{"with a command", "there is no manifest to patch", []string{"get", "--case", "x"}, "unknown flag: --case"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call("", c.args...)
			if code != exit.Failed || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, standard error %q, want %q: %s", code, stderr, c.want, c.why)
			}
		})
	}
}

func TestCaseTiming(t *testing.T) {
	c, _ := exampleCase(t, exampleKubernetes)
	file := writeCase(t, c)
	info, err := os.Stat(file)
	if err != nil || info.Size() == 0 {
		t.Fatal(err)
	}
	code, _, stderr := call("", "--case", file, "--timing")
	if code != exit.OK || !strings.HasPrefix(stderr, "read ") || !strings.Contains(stderr, "planned 62 nodes") {
		t.Errorf("exit code %d, standard error %q", code, stderr)
	}
}
