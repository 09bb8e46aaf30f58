package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

var update = flag.Bool("update", false, "write the golden files anew; read the diff before you commit it")

func TestOutput(t *testing.T) {
	tests := []struct {
		name string
		why  string
		args []string
	}{
		{name: "plan", why: "the first command of README.md"},
		{name: "node", why: "the second command of README.md", args: []string{"memory-1b-05"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(test.args, &out); err != nil {
				t.Fatal(err)
			}
			golden := "testdata/" + test.name + ".txt"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("%s (-golden +printed):\n%s", test.why, diff)
			}
		})
	}
}

func TestBadArguments(t *testing.T) {
	tests := []struct {
		name string
		why  string
		args []string
		want string
	}{
		{name: "node", why: "the names that would be right are few", args: []string{"worker"}, want: `no node "worker"; it has control-plane-1a-01,`},
		{name: "flag", why: "flags are the command's", args: []string{"-f"}, want: "at most one argument"},
		{name: "two nodes", why: "one node is explained", args: []string{"gpu-1a-01", "gpu-1c-01"}, want: "at most one argument"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(test.args, &out)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got error %v, want one with %q", test.why, err, test.want)
			}
			if out.Len() > 0 {
				t.Errorf("printed %q beside the error", out.String())
			}
		})
	}
}

// The report shows deletes and creates only, and says why that is all.
func TestReportLeavesNothingOut(t *testing.T) {
	set, snapshot, err := read(fleet)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Unknown) > 0 {
		t.Errorf("the manifest of the fleet has unknown fields: %v", set.Unknown)
	}
	snapshot.Now = recorded
	planner, err := rollout.New(set.Spec)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := planner.ClaimAndPlan(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	plan := &claimed.Plan
	if len(plan.Revisions)+len(plan.Patches)+len(plan.Pulls) > 0 || len(claimed.Pods.Adopt)+len(claimed.Pods.Release) > 0 {
		t.Errorf("the report shows none of %v, %v, %v, %v", plan.Revisions, plan.Patches, plan.Pulls, claimed.Pods)
	}
	snapshot.Pods, snapshot.Revisions = claimed.Pods.Pods, claimed.Revisions.Revisions
	for _, violation := range verify.Plan(set.Spec, snapshot, plan) {
		t.Error(violation)
	}
}

// README.md says that the program is small.
func TestLines(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 150 {
		t.Errorf("main.go has %d lines, and README.md says fewer than 150", lines)
	}
}
