package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// TestCorpus runs the seeds of past failures.
func TestCorpus(t *testing.T) {
	seeds, err := parseSeeds(corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		if out := check(seed.scenario(), seed.options(checkOptions{every: 50})); out.failure != nil {
			t.Errorf("seed %s: %s: %s", seed, out.failure.kind, out.failure.text)
		}
	}
}

// TestPanicIsAFailure: a planner that panics does not end the program.
func TestPanicIsAFailure(t *testing.T) {
	s := worlds.Scenario(1)
	s.Planner = func(rollout.Spec) (simulate.PlanFunc, error) {
		return func(rollout.Snapshot) (rollout.Plan, error) { panic(types.UID("oh")) }, nil
	}
	if out := check(s, checkOptions{}); out.failure == nil || out.failure.kind != "panic: oh" {
		t.Errorf("%+v", out.failure)
	}
}

// TestScenarios runs what past failures came down to: a change of the generator makes other scenarios of their seeds.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "# ") {
				t.Error("the first line is to be a comment that says what it found")
			}
			var s simulate.Scenario
			if err := yaml.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			if out := check(s, checkOptions{every: 10}); out.failure != nil {
				t.Errorf("%s: %s", out.failure.kind, out.failure.text)
			}
		})
	}
}
