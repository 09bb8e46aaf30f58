package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func TestRun(t *testing.T) {
	tests := []struct {
		name, why string
		args      []string
		code      int
		want      []string
	}{
		{
			name: "a few", why: "the corpus comes first", args: []string{"-from", "1", "-count", "3", "-for", "0", "-parallel", "2"},
			want: []string{"seeds of past failures, then from 1 on", "worlds and", "runs with", "lag", "soak: no violation"},
		},
		{name: "one", why: "everything that happens is shown", args: []string{"-seed", "3"}, want: []string{`"kind":"Planned"`, "agent, seed 3"}},
		{
			name: "one with policies", why: "its seed has a p behind it", args: []string{"-seed", "3p"},
			want: []string{`"kind":"Planned"`, "agent, seed 3"},
		},
		{name: "no seed", why: "a seed is a number", args: []string{"-seed", "x"}, code: 2, want: []string{"is no seed"}},
		{name: "no flag", why: "a misspelt flag does not run for two minutes", args: []string{"-fro", "1"}, code: 2, want: []string{"-fro"}},
		{name: "no end", why: "it would not end", args: []string{"-for", "0"}, code: 2, want: []string{"-count"}},
		{name: "no time", why: "the time is over after the corpus", args: []string{"-for", "1ns"}, want: []string{"worlds a second"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			var out bytes.Buffer
			if code := run(append(test.args, "-out", t.TempDir()), &out, &out); code != test.code {
				t.Errorf("code %d, want %d:\n%s", code, test.code, &out)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
}

// hookless makes planners that forget the hook.
func hookless() func(rollout.Spec) (simulate.PlanFunc, error) {
	return func(spec rollout.Spec) (simulate.PlanFunc, error) {
		spec.Lifecycle.PreDelete = nil
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
}

// TestShrink: of a scenario with all sorts of things only those stay that the failure needs.
func TestShrink(t *testing.T) {
	for seed := range uint64(200) {
		s := worlds.Scenario(seed)
		s.Planner = hookless()
		out := check(s, checkOptions{})
		if out.failure == nil || len(s.Events) < 2 || len(s.Model.Kubelets) < 2 {
			continue
		}
		small, f := shrink(s, out.failure, checkOptions{}, time.Now().Add(time.Minute))
		if f.kind != out.failure.kind {
			t.Errorf("shrinking turned %s into %s", out.failure.kind, f.kind)
		}
		nodes := 0
		for _, pool := range small.Fleet.Pools {
			nodes += pool.Nodes
		}
		if nodes > 2 || len(small.Events) > 1 || len(small.Model.Kubelets) > 0 || small.Model.Registry.Size > 0 ||
			small.Spec.Lifecycle.PreDelete == nil || small.Spec.Strategy.Canary != nil {
			text, _ := yaml.Marshal(small)
			t.Errorf("seed %d is not small:\n%s", seed, text)
		}
		if again := check(small, checkOptions{}).failure; again == nil || again.kind != f.kind {
			t.Errorf("the small scenario does not fail: %+v", again)
		}
		return
	}
	t.Error("no seed fails with a few events and rules")
}

func everyOutageOption() *outage.Options {
	return &outage.Options{
		MaxExempt: new(intstr.FromInt32(1)), ProvenAfter: time.Hour, Touch: true, Taints: []string{"a", "b"}, Conditions: []string{"c"},
	}
}

// TestShrinkKnowsOutages: the policy for outages, and each of its options, can be taken away alone.
func TestShrinkKnowsOutages(t *testing.T) {
	spec := worlds.Scenario(1).Spec
	spec.Strategy.Policy.Outages = everyOutageOption()
	left := map[string]bool{}
	for _, change := range specFields {
		shrunk := spec
		if change(&shrunk) {
			text, err := yaml.Marshal(shrunk.Strategy.Policy.Outages)
			if err != nil {
				t.Fatal(err)
			}
			left[string(text)] = true
		}
	}
	const asItWas, without, options = 1, 1, 5
	if len(left) != asItWas+without+options {
		t.Errorf("what is left is one of %v", left)
	}
}

// TestShrinkKnowsDomains: all domains, each of two, and each of the fields of the first, can be taken away alone.
func TestShrinkKnowsDomains(t *testing.T) {
	spec := worlds.Scenario(1).Spec
	selector := &metav1.LabelSelector{}
	spec.Strategy.Policy.Domains = []domain.Domain{
		{Key: "a", Max: new(intstr.FromInt32(1)), AtOnce: 1, Selector: selector}, {Key: "b", AtOnce: 1},
	}
	left := map[string]bool{}
	for _, change := range specFields {
		shrunk := spec
		if change(&shrunk) {
			text, err := yaml.Marshal(shrunk.Strategy.Policy.Domains)
			if err != nil {
				t.Fatal(err)
			}
			left[string(text)] = true
		}
	}
	const asTheyWere, without, domains, fields = 1, 1, 2, 3
	if len(left) != asTheyWere+without+domains+fields {
		t.Errorf("what is left is one of %v", left)
	}
}

// TestShrinkKeepsItsHandsOff: what is given is not written to.
func TestShrinkKeepsItsHandsOff(t *testing.T) {
	for seed := range uint64(20) {
		s := worlds.Scenario(seed)
		s.Spec.Strategy.Policy.Outages = everyOutageOption()
		s.Spec.Strategy.Policy.Domains = []domain.Domain{{Key: "a", Max: new(intstr.FromInt32(1)), AtOnce: 1}, {Key: "b", AtOnce: 1}}
		before, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, candidate := range candidates(s) {
			candidate(s)
		}
		if after, _ := yaml.Marshal(s); !bytes.Equal(before, after) {
			t.Fatalf("seed %d: the scenario is another one now", seed)
		}
	}
}

// TestExplain: the program says how to see the failure again, and leaves behind what is needed for that.
func TestExplain(t *testing.T) {
	for seed := range uint64(200) {
		s := worlds.Scenario(seed)
		s.Planner = hookless()
		out := check(s, checkOptions{})
		if out.failure == nil || out.failure.step == nil {
			continue
		}
		var text bytes.Buffer
		settings := settings{out: filepath.Join(t.TempDir(), "new")}
		settings.explain("7", s, out.failure, &text)
		for _, want := range []string{"the smallest scenario", "-seed", "kubectl daemonplan plan --case", "seeds.txt", "preDelete"} {
			if !strings.Contains(strings.ToLower(text.String()), strings.ToLower(want)) {
				t.Errorf("no %q in\n%s", want, &text)
			}
		}
		files, err := filepath.Glob(filepath.Join(settings.out, "*"))
		if err != nil || len(files) != 2 {
			t.Fatalf("files %v, %v", files, err)
		}
		data, err := os.ReadFile(files[slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, ".json") })])
		if err != nil {
			t.Fatal(err)
		}
		if c, err := simulate.ReadCase(data); err != nil || c.Spec.Name != worlds.Set {
			t.Errorf("the case cannot be read: %v", err)
		}
		return
	}
	t.Error("no seed fails")
}

func TestParseSeeds(t *testing.T) {
	seeds, err := parseSeeds("# all\n\n12 # once\n 7p# twice\n9d10 # three times\n")
	if err != nil || !slices.Equal(seeds, []world{{seed: 12}, {seed: 7, policies: true}, {seed: 9, documented: 10}}) {
		t.Errorf("%v, %v", seeds, err)
	}
	for text, want := range map[string]string{"1 # one\nx # two\n": "seeds.txt:2", "5\n": "lacks a comment", "1d11 # no such policy": "d1 to d10", "1d2p # both": "is no seed"} {
		if _, err := parseSeeds(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
