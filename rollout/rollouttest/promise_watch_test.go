package rollouttest_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// policyTurnedOff is a canary that is taken out of the spec at that time.
func policyTurnedOff(at time.Duration, options ...kit.SpecOption) simulate.Scenario {
	options = append([]kit.SpecOption{kit.MaxUnavailable("2")}, options...)
	without := promiseScenario(options...).Spec
	return policyWith(promiseScenario(append(options, kit.Canary("1"), kit.CanaryFor(5*time.Minute, 0))...), func(s *simulate.Scenario) {
		s.Fleet.Running = new(kit.Spec("agent", options...))
		s.Events = []simulate.Event{{At: at, What: simulate.SetSpec, Spec: &without}}
	})
}

// TestCanaryBeforeAllLooksAtTheRevision: only what brings the revision on trial to a node counts, and only while it is on trial.
func TestCanaryBeforeAllLooksAtTheRevision(t *testing.T) {
	replaced := func(options ...kit.SpecOption) simulate.Scenario {
		s := policyTurnedOff(time.Hour, options...)
		s.Events = []simulate.Event{{At: time.Minute, What: simulate.DeletePod, Node: "node-00004"}}
		return s
	}
	back := policyCanary()
	before := kit.Spec("agent", kit.Canary("1"), kit.CanaryFor(5*time.Minute, 0), kit.MaxUnavailable("2"))
	back.Events = []simulate.Event{{At: time.Minute, What: simulate.SetSpec, Spec: &before}}
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		want      string // empty: it holds
	}{
		{"turned off on the way", "the revision was promoted by then", policyTurnedOff(5*time.Minute + 20*time.Second), ""},
		{"turned off a little earlier", "the revision was promoted by then", policyTurnedOff(5*time.Minute + 13*time.Second), ""},
		{"turned off a little later", "the revision was promoted by then", policyTurnedOff(5*time.Minute + 25*time.Second), ""},
		{"another pod is deleted", "its node gets the stable revision again", replaced(), ""},
		{"another pod is deleted, in place", "its node gets the stable revision again, and its gate is opened by a patch", replaced(kit.InPlaceIfPossible()), ""},
		{"in place", "the canary's nodes are updated by patches", policyTurnedOff(time.Hour, kit.InPlaceIfPossible()), ""},
		{"in place, turned off in the trial", "an update in place brings the revision too", policyTurnedOff(time.Minute, kit.InPlaceIfPossible()), ", 1m0s after the beginning (2026-01-01T12:01:00Z): node-00005 gets revision 7f8746bb65, whose trial on node-00000 has not ended"},
		{"taken back", "the revision that is gone back to was promoted long ago", back, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			report := kit.Simulate(r, tt.scenario, kit.CanaryBeforeAll())
			if tt.want == "" && len(r.errors)+len(r.fatals) > 0 {
				t.Errorf("%s: it failed: %s\n%s\n%v", tt.why, strings.Join(r.errors, "\n"), strings.Join(r.fatals, "\n"), report)
			}
			if tt.want != "" && (len(r.errors) != 1 || !strings.Contains(r.errors[0], tt.want)) {
				t.Errorf("%s: reported %q, want %q", tt.why, r.errors, tt.want)
			}
		})
	}
}

// TestPoliciesShowTheNodesConcerned: those that broke the promise are shown, and no others.
func TestPoliciesShowTheNodesConcerned(t *testing.T) {
	gone := func(s *simulate.Scenario) {
		s.Events = []simulate.Event{{At: time.Second, What: simulate.RemoveNode, Node: "node-00000"}}
	}
	// Nodes of zone a are to have no pod, and have none.
	outside := func(s *simulate.Scenario) {
		leave := kit.Affinity("topology.kubernetes.io/zone", "b", "c")
		leave(&s.Spec)
		s.Fleet.Running = new(kit.Changed(*s.Fleet.Running, leave))
	}
	late := func(change func(*simulate.Scenario)) simulate.Scenario { return policyWith(policyLate(), change) }
	named := func(nodes ...string) kit.Promise {
		return kit.EveryStep("peace", func(_ *simulate.Simulation, step *simulate.Step) error {
			if step.At < 2*time.Second {
				return nil
			}
			return &kit.BreachError{What: "war", Nodes: nodes}
		})
	}
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		promise   kit.Promise
		want      []string
	}{
		{"too many in a zone", "the other two are in other zones", promiseScenario(kit.MaxUnavailable("4")), kit.NeverMoreThan(1, kit.UnavailableIn("zone")),
			[]string{"node-00002 terminating", "node-00005 terminating"}},
		{"too few", "a node that is gone and one that is to have none are not missed", policyWith(policyLate(), func(s *simulate.Scenario) {
			outside(s)
			s.Events = []simulate.Event{{At: time.Second, What: simulate.RemoveNode, Node: "node-00001"}}
		}), kit.NeverFewerThan(3, kit.Serving()), []string{"node-00005 terminating"}},
		{"not updated, one gone", "it is not to be updated any more", late(gone), kit.EndsAtUpdateRevision(),
			[]string{"node-00005 starting", "node-00001 old", "node-00002 old", "node-00003 old", "node-00004 old"}},
		{"not updated, two outside", "they are not to be updated", late(outside), kit.EndsAtUpdateRevision(),
			[]string{"node-00005 starting", "node-00001 old", "node-00002 old", "node-00004 old"}},
		{"named, outside", "it holds nobody up", policyWith(promiseScenario(), outside), named("node-00000", "node-00001", "node-00005"),
			[]string{"node-00005 empty", "node-00000 outside", "node-00001 old"}},
		{"named, gone", "it is said to be", policyWith(promiseScenario(), gone), named("node-00001", "node-00000"), []string{"node-00000 gone", "node-00001 old"}},
	}
	shown := regexp.MustCompile(`(?m)^  (node-\d+) is (\w+)$`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			kit.Simulate(r, tt.scenario, tt.promise)
			if len(r.errors) != 1 || len(r.fatals) != 0 {
				t.Fatalf("%s: reported %q and %q, want one broken promise", tt.why, r.errors, r.fatals)
			}
			var got []string
			for _, m := range shown.FindAllStringSubmatch(r.errors[0], -1) {
				got = append(got, m[1]+" "+m[2])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %q are shown, want %q:\n%s", tt.why, got, tt.want, r.errors[0])
			}
		})
	}
}

// TestGuardsAreAskedAboutEveryInstant: each with records, the last one included, and no other.
func TestGuardsAreAskedAboutEveryInstant(t *testing.T) {
	recorded, asked := map[time.Duration]bool{}, map[time.Duration]bool{}
	kit.Simulate(t, promiseScenario(), kit.Promise{Says: "peace", Begin: func(simulate.Scenario, *simulate.Simulation) kit.Guard {
		return kit.Guard{
			Record:  func(r simulate.Record) { recorded[r.At] = true },
			Instant: func(at time.Duration) error { asked[at] = true; return nil },
		}
	}})
	if len(recorded) < 3 || !maps.Equal(recorded, asked) {
		t.Errorf("asked about %v of %v", slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(recorded)))
	}
}

// TestPoliciesBreakAtTheEnds: before the first plan, and after the last.
func TestPoliciesBreakAtTheEnds(t *testing.T) {
	crashed := policyWith(promiseScenario(), func(s *simulate.Scenario) {
		s.Controller.Restart = simulate.Fixed(time.Minute)
		s.Events = []simulate.Event{{What: simulate.CrashController}}
	})
	r := &policyTB{}
	kit.Simulate(r, crashed, kit.NeverFewerThan(1, kit.Updated()))
	want := "broken at step 0, 0s after the beginning (2026-01-01T12:00:00Z): 0 updated nodes, of 6\n  node-00000 is old\n  node-00001 is old\n"
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], want) || !strings.Contains(r.errors[0], "then Step 0 times;") {
		t.Errorf("reported %q and %q, want %q", r.errors, r.fatals, want)
	}

	r = &policyTB{}
	kit.Simulate(r, policyWith(crashed, func(s *simulate.Scenario) { s.Limit = 30 * time.Second }), kit.AllowUnused())
	want = "the run was cut off after 30s by Scenario.Limit, so that nobody knows what would have come"
	if len(r.errors) != 1 || r.errors[0] != want {
		t.Errorf("reported %q and %q, want %q: there was no plan that could say more", r.errors, r.fatals, want)
	}

	r = &policyTB{}
	kit.Simulate(r, promiseScenario(kit.MaxUnavailable("6")), kit.NeverMoreThan(5, kit.Updated()))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], ": 6 updated nodes, of 6\n") {
		t.Errorf("all nodes are updated at the last instant, and what is reported is %q", r.errors)
	}
}

// TestPoliciesSayWhatWasDoneLast: also where a patch is all that was done about the node.
func TestPoliciesSayWhatWasDoneLast(t *testing.T) {
	late := policyWith(policyLate(kit.InPlaceIfPossible()), func(s *simulate.Scenario) { s.Fleet.Running = new(kit.Spec("agent", kit.InPlaceIfPossible())) })
	r := &policyTB{}
	kit.Simulate(r, late, kit.EndsAtUpdateRevision())
	acted := regexp.MustCompile(`\n  node-00005 is \w+\n    plan of step \d \([0-9s]+\): .*\n(      .*\n)*    plan of step \d`)
	if len(r.errors) != 1 || !acted.MatchString(r.errors[0]) {
		t.Errorf("want what the plan said that patched the pod, and what the last one says: %q", r.errors)
	}
}

// TestPoliciesAtTheEdge: where a promise is about one node, one nanosecond, or a list that is changed afterwards.
func TestPoliciesAtTheEdge(t *testing.T) {
	labelled := func(s *simulate.Scenario) {
		s.Fleet = kit.Fleet(1, kit.InPool("a"), kit.Labelled("cell", "x"), kit.And(1, "b"), kit.Running(kit.Spec("agent")))
	}
	unlabelled := func(s *simulate.Scenario) {
		s.Fleet = kit.Fleet(3, kit.Labelled("cell", "x"), kit.Running(kit.Spec("agent")))
		s.Events = []simulate.Event{{What: simulate.LabelNode, Node: "node-00000", Labels: map[string]string{"cell": ""}}}
	}
	states := []simulate.NodeState{simulate.NodeBroken}
	broken := kit.CountStates("odd", states...)
	states[0] = simulate.NodeOld
	var none *kit.BreachError
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		promise   kit.Promise
		want      string // empty: it holds
	}{
		{"the only node of a zone", "none serves there", policyWith(promiseScenario(), func(s *simulate.Scenario) {
			s.Fleet = kit.Fleet(3, kit.InZones("a", "b", "c"), kit.Running(kit.Spec("agent")))
		}), kit.NeverFewerThan(1, kit.Serving().In("zone")), ": 0 serving nodes, of 1 in zone c"},
		{"one node with the label", "it is held, and seen all the same", policyWith(promiseScenario(kit.Partition("1")), labelled), kit.NeverMoreThan(1, kit.UnavailableIn("cell")), ""},
		{"a label that is taken away", "the node is counted with those that have none", policyWith(promiseScenario(kit.MaxUnavailable("3")), unlabelled),
			kit.NeverMoreThan(2, kit.UnavailableIn("cell")), ""},
		{"a label that is taken away, one less", "the others are counted still", policyWith(promiseScenario(kit.MaxUnavailable("3")), unlabelled),
			kit.NeverMoreThan(1, kit.UnavailableIn("cell")), ": 2 unavailable nodes, of 2 in cell x"},
		{"a list of states that is changed", "what was counted is the caller's to change no more", promiseScenario(), kit.NeverMoreThan(0, broken), ""},
		{"in place, on the only node", "it was begun, though it came to no end", policyWith(policyLate(kit.InPlaceIfPossible()), func(s *simulate.Scenario) {
			s.Fleet = kit.Fleet(1, kit.Running(kit.Spec("agent", kit.InPlaceIfPossible())))
		}), kit.NeverMoreThan(1, kit.Unavailable()), ""},
		{"the shortest limit", "it makes sense", promiseScenario(), kit.DoneWithin(1), ": done after 1m12s"},
		{"given up", "that every node is where it was is no end", policyWith(policyCanary(), func(s *simulate.Scenario) {
			s.Spec.Strategy.Canary.Commands = canary.Commands{Fail: canary.Any}
			s.Events = []simulate.Event{{At: time.Minute, What: simulate.NodeNotReady, Node: "node-00003", For: simulate.Fixed(time.Minute)}}
		}), kit.DoneWithin(time.Hour), ": ByCommand; 0 of 6 nodes are updated; the set is CanaryFailed ("},
		{"an error that is none", "a pointer that is nil is an error", promiseScenario(),
			kit.EveryStep("peace", func(*simulate.Simulation, *simulate.Step) error { return none }), "step 1, 0s after the beginning (2026-01-01T12:00:00Z): no breach\n"},
		{"nodes that leave", "none came to have the revision by that", policyWith(policyRestless(), func(s *simulate.Scenario) {
			leave := kit.Affinity("topology.kubernetes.io/zone", "a", "b")
			leave(&s.Spec)
			s.Fleet.Running = new(s.Spec)
			s.Events = []simulate.Event{{At: time.Minute, What: simulate.LabelNode, Node: "node-00001", Labels: map[string]string{"topology.kubernetes.io/zone": "c"}}}
		}), kit.EndsAtUpdateRevision(), ": there was nothing to roll out: no node came to have the update revision in this run; the set is Running ("},
		{"a node that is to have no pod", "there was none to delete", promiseScenario(kit.TemplateNodeSelector("topology.kubernetes.io/zone", "a")),
			kit.NoPodDeletedOn("node-00000", "node-00001"), "node-00001"},
		{"a node that never gets its pod", "there was none to delete", policyWith(policyTouched(kit.Frozen()), func(s *simulate.Scenario) {
			s.Fleet.Running, s.Model = nil, simulate.Model{}
		}),
			kit.NoPodDeletedOn("node-00000"), ": there was never a pod to delete on node-00000"},
		{"five unknown nodes", "all have room in a list", promiseScenario(), kit.NoPodDeletedOn("a", "b", "c", "d", "e"), "on a, b, c, d, e\n"},
		{"six unknown nodes", "the list is long enough", promiseScenario(), kit.NoPodDeletedOn("a", "b", "c", "d", "e", "f"), "on a, b, c, d, e and 1 more\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			kit.Simulate(r, tt.scenario, tt.promise)
			if tt.want == "" && len(r.errors)+len(r.fatals) > 0 {
				t.Errorf("%s: it failed: %q and %q", tt.why, r.errors, r.fatals)
			}
			if tt.want != "" && (len(r.errors) != 1 || len(r.fatals) != 0 || !strings.Contains(r.errors[0], tt.want)) {
				t.Errorf("%s: reported %q and %q, want %q", tt.why, r.errors, r.fatals, tt.want)
			}
		})
	}
}

// TestKeepCasesNamesFiles: after the promise, with whatever letters and digits it has.
func TestKeepCasesNamesFiles(t *testing.T) {
	var names []string
	keep := kit.KeepCases(func(name string, _ []byte) error { names = append(names, name); return nil })
	never := func(*simulate.Simulation, *simulate.Step) bool { return false }
	kit.Simulate(&policyTB{}, promiseScenario(kit.MaxUnavailable("6")), keep, kit.Eventually("Jazz: 0 to 9 (or 10), a/z", never))
	if want := []string{"jazz-0-to-9-or-10-a-z-step-5.json"}; !slices.Equal(names, want) {
		t.Errorf("kept as %q, want %q", names, want)
	}
}
