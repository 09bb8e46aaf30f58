package harness_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// bug makes a planner that has it.
type bug struct {
	spec   func(*rollout.Spec)     // it takes the spec for another one
	before func(*rollout.Snapshot) // it sees another snapshot
	after  func(rollout.Snapshot, *rollout.Plan)
}

func (b bug) planner(spec rollout.Spec) (harness.PlanFunc, error) {
	if b.spec != nil {
		b.spec(&spec)
	}
	plan, err := harness.Planner(spec)
	if err != nil {
		return nil, err
	}
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		if b.before != nil {
			b.before(&s)
		}
		p, err := plan(s)
		if err == nil && b.after != nil {
			b.after(s, &p)
		}
		return p, err
	}, nil
}

// tryOut is a world of four nodes, two of which, "a" and "b" in zone a, may be canary nodes.
func tryOut(options ...rollouttest.SpecOption) harness.World {
	stable := rollouttest.Spec("agent", rollouttest.MaxUnavailable("2"))
	spec := stable
	spec.Template = *stable.Template.DeepCopy()
	for _, option := range slices.Concat([]rollouttest.SpecOption{
		rollouttest.Image("agent:v2"), rollouttest.Canary("1"), rollouttest.CanaryOn("zone", "a"),
		rollouttest.CanaryFor(10*time.Minute, 5*time.Minute),
	}, options) {
		option(&spec)
	}
	w := harness.World{Stable: stable}
	w.Spec = spec
	w.Snapshot = rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a", "b", "c", "d")}
	for i, n := range w.Snapshot.Nodes {
		rollouttest.Label("zone", []string{"a", "a", "b", "b"}[i])(n)
		w.Snapshot.Pods = append(w.Snapshot.Pods, rollouttest.Pod("agent-"+n.Name, rollouttest.Of(stable), rollouttest.OnNode(n.Name)))
	}
	w.Snapshot.Revisions = append(w.Snapshot.Revisions, rollouttest.Promoted(stable, 1))
	return w
}

func ill(w harness.World) harness.World {
	w.Behavior.Crashing = []string{rollouttest.Hash(w.Spec)}
	return w
}

func befallen(w harness.World, mishaps ...harness.Mishap) harness.World {
	w.Mishaps = mishaps
	return w
}

// The worlds of the table end as they should when nothing is planted.
func TestCheckCanaryEndsWithoutABug(t *testing.T) {
	manual := rollouttest.CanaryManual()
	tests := []struct {
		name, why string
		world     harness.World
		ending    harness.Ending
		want      string // empty: no error
	}{
		{"healthy", "the clock promotes it (C2)", tryOut(), harness.EndsPromoted, ""},
		{"manual", "nobody promotes it", tryOut(manual), harness.EndsOpen, ""},
		{"ill", "too many restarts (C4)", ill(tryOut()), harness.EndsFailed, ""},
		{"healthy, to fail", "it is promoted instead", tryOut(), harness.EndsFailed, "C6: revision"},
		{"healthy, to stay open", "it is promoted instead", tryOut(), harness.EndsOpen, "promoted: true, and should be open"},
		{"ill, to be promoted", "it fails instead", ill(tryOut()), harness.EndsPromoted, "promoted: false, and should be promoted"},
		{"ill, to stay open", "it fails instead", ill(tryOut()), harness.EndsOpen, "has failed: true, and should be open"},
		{"ill for ever", "it neither fails nor rests", ill(tryOut(rollouttest.AutoFail(canary.AutoFail{Disabled: true}))),
			harness.EndsOpen, "not settled"},
		{"after mishaps", "what is lost is found, what is paused goes on", befallen(tryOut(),
			harness.Mishap{After: 4, Kind: harness.LoseNode, Node: "c"},
			harness.Mishap{After: 1, Kind: harness.PauseSet},
			harness.Mishap{After: 1, Kind: harness.LoseMemory}), harness.EndsPromoted, ""},
		{"after mishaps that leave less to try", "of two nodes the one that has tried it stays", befallen(
			tryOut(rollouttest.Canary("50%"), rollouttest.CanaryFor(0, 0), rollouttest.MaxUnavailable("1")),
			harness.Mishap{After: 5, Kind: harness.DeleteNode, Node: "c"},
			harness.Mishap{Kind: harness.DeleteNode, Node: "d"}), harness.EndsPromoted, ""},
		{"open, with an override", "pods keep their resources while the trial goes on", befallen(tryOut(manual),
			harness.Mishap{After: 6, Kind: harness.OverrideNode, Node: "c"}), harness.EndsOpen, ""},
		{"open, and another pod comes back ill", "its node is none of the canary", befallen(stableIll(tryOut(manual)),
			harness.Mishap{After: 6, Kind: harness.EvictPods, Node: "d"}), harness.EndsOpen, "C7: node d has pod"},
		{"failed, and the stable one is ill too", "no node is where it was", stableIll(cannotPull(tryOut())), harness.EndsFailed,
			"which is not available"},
		{"of an invalid spec", "it is reported", tryOut(rollouttest.OnDelete()), harness.EndsOpen, "spec.strategy.canary"},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			mustContain(t, harness.CheckCanaryEnds(harness.Planner, tt.world, tt.ending), tt.want)
			if tt.want == "" {
				mustContain(t, harness.CheckCanary(harness.Planner, tt.world), "")
			}
		})
	}
}

// Each planted bug must be found, and for its own reason.
func TestCheckCanaryRejectsBugs(t *testing.T) {
	update := rollouttest.Hash(tryOut().Spec)
	name := "agent-" + update
	running := func(p *rollout.Plan) bool { return p.Canary.Phase == canary.Running }
	tests := []struct {
		name, why string
		bug       bug
		world     harness.World
		ending    harness.Ending
		want      string
	}{
		{"no canary at all", "C6: a new revision needs one", bug{spec: func(s *rollout.Spec) { s.Strategy.Canary = nil }},
			tryOut(), harness.EndsPromoted, "is promoted, and no node has tried it"},
		{"no canary, and no marks", "C6: a new revision needs one", bug{spec: func(s *rollout.Spec) { s.Strategy.Canary = nil },
			after: func(_ rollout.Snapshot, p *rollout.Plan) {
				for _, a := range p.Revisions {
					if a.Object != nil {
						a.Object.Annotations = nil
					}
				}
				p.Revisions = slices.DeleteFunc(p.Revisions, func(a rollout.RevisionAction) bool { return a.Verb == rollout.AnnotateRevision })
			}}, tryOut(), harness.EndsPromoted, "needs a trial, and there is none"},
		{"one node too many", "C1: as many as wanted", bug{spec: rollouttest.Canary("2")}, tryOut(), harness.EndsPromoted,
			"2 canary nodes are said to be wanted"},
		{"more nodes than it says", "C1: as many as wanted", bug{spec: rollouttest.Canary("2"), after: func(_ rollout.Snapshot, p *rollout.Plan) {
			p.Canary.Wanted = min(p.Canary.Wanted, 1)
		}}, tryOut(), harness.EndsPromoted, "2 canary nodes, wanted are 1 of 2"},
		{"any node", "C1: the selector picks them", bug{spec: func(s *rollout.Spec) {
			rollouttest.CanaryOn("zone", "b")(s)
		}}, tryOut(), harness.EndsPromoted, "is a canary node, and may not be one"},
		{"a node twice", "C1: two are two", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			if running(p) {
				p.Canary.Nodes = []string{"a", "a"}
			}
		}}, tryOut(rollouttest.Canary("2")), harness.EndsPromoted, "one is there twice"},
		{"nodes come and go", "C1: chosen nodes stay chosen", bug{after: func(s rollout.Snapshot, p *rollout.Plan) {
			if len(s.Memory.Canary.Nodes) > 0 && running(p) {
				p.Canary.Nodes = []string{"b"}
			}
		}}, tryOut(), harness.EndsPromoted, "node a was a canary node"},
		{"begins elsewhere after a loss of memory", "C6: it starts again where the revision is", bug{after: func(s rollout.Snapshot, p *rollout.Plan) {
			if len(s.Pods) == 4 && len(s.Memory.Canary.Nodes) == 0 && running(p) && s.Now.After(rollouttest.Noon()) {
				p.Canary.Nodes = []string{"b"}
			}
		}}, befallen(tryOut(), harness.Mishap{After: 4, Kind: harness.LoseMemory}), harness.EndsPromoted,
			"node b is made a canary node, and not a"},
		{"canary nodes without a canary", "C1: only while a revision is on trial", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Idle {
				p.Canary.Nodes = []string{"a"}
			}
		}}, tryOut(), harness.EndsPromoted, "nothing is on trial"},

		{"half the duration", "C2: the whole of it", bug{spec: rollouttest.CanaryFor(5*time.Minute, time.Minute)}, tryOut(),
			harness.EndsPromoted, "and its duration is 10m0s"},
		{"the clock runs ahead", "C2: it starts when all are available", bug{before: func(s *rollout.Snapshot) {
			if s.Memory.Canary.Revision != "" {
				s.Memory.Canary.Elapsed = 9 * time.Minute
			}
		}}, tryOut(), harness.EndsPromoted, "and its duration is 10m0s"},
		{"a pause counts", "C2: the clock rests", bug{before: func(s *rollout.Snapshot) {
			if r := &s.Memory.Canary; r.Since.IsZero() && len(r.Nodes) > 0 {
				r.Elapsed = 10 * time.Minute
			}
		}}, befallen(tryOut(), harness.Mishap{After: 4, Kind: harness.PauseSet}, harness.Mishap{After: 3, Kind: harness.UnpauseSet}),
			harness.EndsPromoted, "and its duration is 10m0s"},
		{"restarts do not matter", "C2: it must have been quiet", bug{spec: rollouttest.CanaryFor(time.Minute, 0)},
			befallen(tryOut(rollouttest.CanaryFor(time.Minute, 5*time.Minute)), harness.Mishap{After: 5, Kind: harness.CrashPods, Node: "a"}),
			harness.EndsPromoted, "after a canary pod was disturbed"},
		{"availability does not matter", "C2: the pods must be there", bug{after: promoting(name)}, ill(tryOut()),
			harness.EndsPromoted, "not all of the canary nodes [a] have an available pod"},
		{"manual, by the clock", "C2: by command only", bug{spec: rollouttest.CanaryFor(time.Minute, 0)}, tryOut(rollouttest.CanaryManual()),
			harness.EndsPromoted, "is promoted without a command"},
		{"promoted over and over", "C6: once", bug{after: func(s rollout.Snapshot, p *rollout.Plan) {
			if slices.ContainsFunc(s.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == name && history.Promoted(r) }) {
				promoting(name)(rollout.Snapshot{Revisions: s.Revisions, Memory: rollout.Memory{
					Canary: canary.Record{Nodes: []string{"a"}},
				}}, p)
			}
		}}, tryOut(), harness.EndsPromoted, "is promoted again"},
		{"promoted while that is in flight", "C6: once", bug{before: func(s *rollout.Snapshot) { s.InFlight.Revisions = nil }},
			laggingBy(tryOut(), 3), harness.EndsPromoted, "in flight"},
		{"a failed revision is tried again", "C4: only after retry", bug{before: func(s *rollout.Snapshot) {
			s.Memory.Canary.Verdict = nil
			s.Revisions = slices.Clone(s.Revisions)
			for i, r := range s.Revisions {
				s.Revisions[i] = r.DeepCopy()
				delete(s.Revisions[i].Annotations, history.FailedAnnotation)
			}
		}, after: func(_ rollout.Snapshot, p *rollout.Plan) {}}, ill(tryOut()), harness.EndsFailed, "has failed, and its canary is Running"},

		{"the others come along", "T6: nobody else gets it", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				p.Creates[i].Revision, p.Creates[i].Template = update, nil
			}
		}}, befallen(tryOut(), harness.Mishap{After: 3, Kind: harness.EvictPods, Node: "d"}), harness.EndsPromoted,
			"T6: create of the revision on trial on node d, outside the canary"},
		{"the others are updated in place", "T6: nobody else gets it", bug{after: func(s rollout.Snapshot, p *rollout.Plan) {
			if running(p) && len(s.Memory.Canary.Nodes) > 0 {
				p.Patches = append(p.Patches, rollout.Patch{Node: "d", Pod: "agent-d", UID: "pod-agent-d", Type: types.StrategicMergePatchType,
					Data: []byte(`{"metadata":{"labels":{"controller-revision-hash":"` + update + `"}}}`)})
			}
		}}, tryOut(), harness.EndsPromoted, "T6: in-place update to a pod of the revision on trial on node d"},
		{"the others are deleted", "C7: they serve", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			if running(p) {
				p.Deletes = append(p.Deletes, rollout.Delete{Node: "d", Pod: "agent-d", UID: "pod-agent-d"})
			}
		}}, tryOut(), harness.EndsPromoted, "C7: delete of agent-d on node d, which serves"},
		{"a paused canary goes on", "C7: it replaces nothing", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			if running(p) {
				p.Canary.Phase = canary.Paused
			}
		}}, tryOut(), harness.EndsPromoted, "C7: delete of agent-a on node a"},
		{"lost pods of a paused set come back new", "C7: they come back as they were", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				p.Creates[i].Revision, p.Creates[i].Template = update, nil
			}
		}}, befallen(tryOut(), harness.Mishap{After: 0, Kind: harness.PauseSet}, harness.Mishap{After: 2, Kind: harness.EvictPods, Node: "a"},
			harness.Mishap{After: 4, Kind: harness.LoseMemory}),
			harness.EndsPromoted, "C7: create of the revision on trial on node a"},
		{"what failed comes back", "C7: everything goes to the stable revision", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				p.Creates[i].Revision, p.Creates[i].Template = update, nil
			}
		}}, ill(tryOut()), harness.EndsFailed, "C7: create of the revision on trial on node a, while the canary is Failed"},

		{"nothing goes back", "C7: all nodes do", bug{after: idleWhen(canary.Failed)}, cannotPull(tryOut()), harness.EndsFailed,
			"C7: node a has pod"},
		{"what failed is not replaced", "C7: all nodes go back", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Failed {
				p.Creates = nil
			}
		}}, cannotPull(tryOut()), harness.EndsFailed, "C7: node a has 0 pods"},
		{"overrides do not matter", "P8: pods have the resources of their node", bug{before: func(s *rollout.Snapshot) {
			s.Nodes = slices.Clone(s.Nodes)
			for i, n := range s.Nodes {
				s.Nodes[i] = n.DeepCopy()
				s.Nodes[i].Annotations = nil
			}
		}}, befallen(cannotPull(tryOut()), harness.Mishap{After: 6, Kind: harness.OverrideNode, Node: "c"}), harness.EndsFailed,
			"P8: node c has pod agent-c, whose resources are not those of its node"},
		{"not for long", "V16: a settled plan stays empty", bug{after: func(s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon().Add(time.Hour)) {
				p.Deletes = append(p.Deletes, rollout.Delete{Node: "d", Pod: "agent-d", UID: "pod-agent-d"})
			}
		}}, tryOut(), harness.EndsPromoted, "V16: settled, but 1h0m0s later the plan has 1 actions: delete agent-d"},
		{"nothing is rolled out", "V16: all nodes end at the revision", bug{after: idleWhen(canary.Idle)}, tryOut(),
			harness.EndsPromoted, "is outdated"},
		{"the stable one is what is tried", "C6: it is another", bug{after: func(_ rollout.Snapshot, p *rollout.Plan) {
			p.Canary.Stable = update
		}}, tryOut(rollouttest.CanaryManual()), harness.EndsOpen, "is taken for the stable one"},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			err := harness.CheckCanaryEnds(tt.bug.planner, tt.world, tt.ending)
			if tt.want == "" || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nwant %q: %s", err, tt.want, tt.why)
			}
		})
	}
}

// promoting marks the revision as promoted as soon as it exists.
func promoting(name string) func(rollout.Snapshot, *rollout.Plan) {
	return func(s rollout.Snapshot, p *rollout.Plan) {
		for _, r := range s.Revisions {
			if r.Name == name && len(s.Memory.Canary.Nodes) > 0 {
				p.Revisions = append(p.Revisions, rollout.RevisionAction{
					Verb: rollout.AnnotateRevision, Name: name, UID: r.UID, Annotations: map[string]string{history.PromotedAnnotation: "now"},
				})
			}
		}
	}
}

// idleWhen does nothing in a phase but for marks.
func idleWhen(phase canary.Phase) func(rollout.Snapshot, *rollout.Plan) {
	return func(_ rollout.Snapshot, p *rollout.Plan) {
		if p.Canary.Phase == phase {
			p.Deletes, p.Creates, p.Patches = nil, nil, nil
		}
	}
}

func laggingBy(w harness.World, lag int) harness.World {
	w.Behavior.Lag = lag
	return w
}

// cannotPull is a world in which the new image cannot be pulled, and the canary takes no longer than an hour.
func cannotPull(w harness.World) harness.World {
	w.Behavior.Waiting = map[string]string{rollouttest.Hash(w.Spec): "ErrImagePull"}
	rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(time.Hour)})(&w.Spec)
	return w
}

// stableIll is a world in which pods of the stable revision do not become ready any more.
func stableIll(w harness.World) harness.World {
	w.Behavior.NeverReady = []string{rollouttest.Hash(w.Stable)}
	return w
}

// Two templates: the one on trial is given up for the next, and never becomes the stable one.
func TestCanaryWatchOfTwoTemplates(t *testing.T) {
	for name, takesForStable := range map[string]bool{"as it should be": false, "the abandoned one is stable": true} {
		t.Run(name, func(t *testing.T) {
			w := tryOut()
			c, err := harness.NewCluster(w.Spec, w.Snapshot, w.Behavior)
			if err != nil {
				t.Fatal(err)
			}
			var watch harness.CanaryWatch
			check := func(s rollout.Snapshot, p rollout.Plan) error { return watch.Check(c.Spec(), s, p) }
			if _, err := c.Run(c.Plan, 4, check); err != nil {
				t.Fatal(err)
			}
			next := w.Spec
			next.Template = *w.Spec.Template.DeepCopy()
			rollouttest.Image("agent:v3")(&next)
			if err := c.SetSpec(next); err != nil {
				t.Fatal(err)
			}
			plan := func(s rollout.Snapshot) (rollout.Plan, error) {
				p, err := c.Plan(s)
				if takesForStable {
					p.Canary.Stable = rollouttest.Hash(w.Spec)
				}
				return p, err
			}
			_, err = c.Run(plan, 40, check)
			if want := "was tried and never promoted"; takesForStable {
				mustContain(t, err, want)
			} else if err != nil {
				t.Fatal(err)
			}
			if pods := c.PodsOn("d"); !takesForStable && (len(pods) != 1 || pods[0].Labels["controller-revision-hash"] != rollouttest.Hash(next)) {
				t.Errorf("the second template is not rolled out: %v", pods)
			}
		})
	}
}
