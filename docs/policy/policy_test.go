// Package policy is the code of the tutorial "unit-test your rollout policy". What stands between the comments region and
// endregion is what the tutorial shows.
package policy

// region imports

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/generate"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// endregion

// region load

// load reads the set of a manifest.
func load(t *testing.T, file string) rollout.Spec {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return set.Spec
}

// endregion

// region scenario

// upgrade is the rollout of the next version to sixty nodes in three zones, which run the present one.
func upgrade(t *testing.T, options ...rollouttest.SpecOption) simulate.Scenario {
	present := load(t, "agent.yaml")
	next := rollouttest.Changed(present, rollouttest.Image("registry.example.com/agent:1.5.0"))
	return simulate.Scenario{
		Seed: 1,
		Spec: rollouttest.Changed(next, options...),
		Fleet: rollouttest.Fleet(60,
			rollouttest.InZones("a", "b", "c"),
			rollouttest.Running(present),
		),
		Model: simulate.Model{
			Kubelets: []simulate.Kubelet{{
				Start: simulate.Fixed(time.Second),
				Ready: simulate.LogNormal(5*time.Second, 20*time.Second), // half within 5 s, 95 % within 20 s
				Stop:  simulate.Fixed(3 * time.Second),
			}},
			Registry: simulate.Registry{
				Size:          200_000_000, // bytes of an image
				NodeBandwidth: 50_000_000,  // bytes per second
			},
		},
	}
}

// endregion

// region promises

// promises are what we want of every rollout.
func promises() []rollouttest.Promise {
	return []rollouttest.Promise{
		rollouttest.NeverMoreThan(2, rollouttest.UnavailableIn("zone")),
		rollouttest.NoPodRecreatedTwice(),
		rollouttest.EndsAtUpdateRevision(),
		rollouttest.DoneWithin(30 * time.Minute),
	}
}

func TestUpgradeKeepsItsPromises(t *testing.T) {
	rollouttest.Simulate(t, upgrade(t), promises()...)
}

// endregion

// region canary

func TestBadVersionStaysOnTheCanary(t *testing.T) {
	scenario := upgrade(t, rollouttest.Canary("1"), rollouttest.CanaryFor(10*time.Minute, 5*time.Minute))
	scenario.Model.Kubelets = append(scenario.Model.Kubelets, simulate.Kubelet{
		Image: "registry.example.com/agent:1.5.0",
		Crash: simulate.Fixed(20 * time.Second), // 20 s after its start, again and again
	})
	rollouttest.Simulate(t, scenario,
		rollouttest.CanaryBeforeAll(),
		rollouttest.NeverMoreThan(1, rollouttest.Unavailable()),
		rollouttest.Eventually("the canary stops", func(_ *simulate.Simulation, step *simulate.Step) bool {
			phase := step.Plan.Canary.Phase
			return phase == canary.Paused || phase == canary.Failed
		}),
	)
}

// endregion

// region keep

// keep has what the controller saw written when a promise is broken; go test -artifacts keeps the file.
func keep(t *testing.T) rollouttest.Promise {
	return rollouttest.KeepCases(func(name string, data []byte) error {
		return os.WriteFile(filepath.Join(t.ArtifactDir(), name), data, 0o644)
	})
}

func TestSurgeKeepsItsPromises(t *testing.T) {
	surging := upgrade(t, rollouttest.MaxSurge("2"))
	rollouttest.Simulate(t, surging, append(promises(), keep(t))...)
}

// endregion

// region own

// gently is a promise of our own: no plan takes two pods from one zone at once.
func gently() rollouttest.Promise {
	return rollouttest.EveryStep("no plan takes two pods from one zone", func(s *simulate.Simulation, step *simulate.Step) error {
		zones := map[string]string{}
		for _, n := range s.Nodes() {
			zones[n.Name] = n.Labels["topology.kubernetes.io/zone"]
		}
		taken := map[string]string{}
		for _, d := range step.Plan.Deletes {
			zone := zones[d.Node]
			if other, ok := taken[zone]; ok {
				return &rollouttest.BreachError{What: "two pods of zone " + zone, Nodes: []string{other, d.Node}}
			}
			taken[zone] = d.Node
		}
		return nil
	})
}

func TestUpgradeIsGentle(t *testing.T) {
	rollouttest.Simulate(t, upgrade(t), gently())
}

// endregion

// region generated

// TestNoPlanExceedsTheBurst: whatever state the fleet is in, no plan deletes more pods than the burst.
func TestNoPlanExceedsTheBurst(t *testing.T) {
	spec := rollouttest.Changed(load(t, "agent.yaml"), rollouttest.MaxUnavailable("100%"), rollouttest.Burst("2"))
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		plan, err := planner.Plan(generate.Snapshot(spec).Draw(t, "snapshot"))
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Deletes) > 2 {
			t.Fatalf("%d pods are deleted", len(plan.Deletes))
		}
	})
}

// endregion

// region story

var update = flag.Bool("update", false, "rewrite the answers in the transcripts")

func TestStories(t *testing.T) {
	transcript.RunDir(t, filepath.Join("testdata", "rollouts"), *update)
}

// endregion

// region steps

func TestStepByStep(t *testing.T) {
	s, err := simulate.New(upgrade(t, rollouttest.MaxUnavailable("20%")))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		step, err := s.Step()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("step %d, after %v: %d unavailable; %s", step.Number, step.At, s.Unavailable(), step.Plan.Explain("node-00059"))
	}
}

// endregion
