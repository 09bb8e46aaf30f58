//go:build teeth

package verify_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

// plantedBug makes a plan wrong, whatever it was before. It reports whether there was anything to change.
type plantedBug struct {
	name  string
	plant func(*rollout.Spec, *rollout.Snapshot, *rollout.Plan) bool
	want  int
}

// isFoundBy reports whether the violation is what the bug has to show as. Where a clock changes the state and nothing else, a wake
// that is missing shows as a state that says what will never happen.
func (b *plantedBug) isFoundBy(v verify.Violation) bool {
	return v.Invariant == b.want || b.want == 15 && v.Invariant == 28
}

func plantedBugs() []plantedBug {
	return []plantedBug{
		{"a delete twice", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			if len(p.Deletes) > 0 {
				p.Deletes = append(p.Deletes, p.Deletes[0])
			}
			return len(p.Deletes) > 0
		}, 14},
		{"a delete that was requested", func(_ *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			for _, d := range p.Deletes {
				s.InFlight.Deletes = append(s.InFlight.Deletes, d.UID)
			}
			return len(p.Deletes) > 0
		}, 14},
		{"a delete of a namesake", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			if len(p.Deletes) > 0 {
				p.Deletes[0].UID += "-other"
			}
			return len(p.Deletes) > 0
		}, 14},
		{"a create twice", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			if len(p.Creates) > 0 {
				p.Creates = append(p.Creates, p.Creates[0])
			}
			return len(p.Creates) > 0
		}, 3},
		{"a create that was requested", func(_ *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			for _, c := range p.Creates {
				s.InFlight.Creates = append(s.InFlight.Creates, rollout.InFlightCreate{Node: c.Node})
			}
			return len(p.Creates) > 0
		}, 14},
		{"a create on no node", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Creates = append(p.Creates, rollout.Create{Node: "nowhere", Revision: p.Status.UpdateRevision, Reason: rollout.ReasonMissing})
			return true
		}, 3},
		{"frozen after all", func(s *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			s.Strategy.Frozen = true
			return len(p.Creates)+len(p.Deletes) > 0
		}, 7},
		{"a decision less", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			if len(p.Decisions) > 0 {
				p.Decisions = p.Decisions[1:]
			}
			return len(p.Decisions) > 0
		}, 12},
		{"decisions reversed", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			slices.Reverse(p.Decisions)
			return len(p.Decisions) > 1
		}, 12},
		{"a node that appears desired", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			if len(p.Decisions) > 0 {
				p.Decisions[0].Facts ^= status.Desired
			}
			return len(p.Decisions) > 0
		}, 12},
		{"one more available", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Status.Available++
			return true
		}, 12},
		{"asleep for ever", func(s *rollout.Spec, snapshot *rollout.Snapshot, p *rollout.Plan) bool {
			awake := !p.NextWake.IsZero() && !s.Strategy.Frozen
			for _, pod := range snapshot.Pods { // package inplace reads grace periods that Kruise has begun
				awake = awake && pod.Annotations[inplace.GraceKey] == ""
			}
			// Whether the clock matters after a plan that does something, and beside hooks and requests, depends on what becomes
			// of these. To a set that is done or stuck it may matter only for what is said of single pods.
			f := &snapshot.InFlight
			asked := len(f.Creates) + len(f.Deletes) + len(f.Patches) + len(f.Revisions) + len(f.Pulls)
			awake = awake && p.Empty() && asked == 0 && p.Status.State == status.Updating
			for _, pod := range snapshot.Pods {
				state := lifecycle.StateOf(pod)
				awake = awake && (state == "" || state == lifecycle.Normal)
			}
			p.NextWake = time.Time{}
			for i := range p.Decisions {
				p.Decisions[i].Until = time.Time{}
			}
			return awake
		}, 15},
		{"another target", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			planted := false // what partition holds is a matter of V5
			for i := range p.Decisions {
				planted = planted || p.Decisions[i].Target != rollout.TargetHeld
				p.Decisions[i].Target = (p.Decisions[i].Target + 1) % (rollout.TargetHeld + 1)
			}
			return planted
		}, 12},
		{"a larger partition", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Budget.Partition++
			return true
		}, 12},
		{"hooked after all", func(s *rollout.Spec, snapshot *rollout.Snapshot, p *rollout.Plan) bool {
			s.Lifecycle.PreDelete = &lifecycle.Hook{Finalizers: []string{"planted.example/hook"}}
			for _, d := range p.Deletes {
				for _, pod := range snapshot.Pods {
					if pod.UID == d.UID {
						pod.Finalizers = append(slices.Clip(pod.Finalizers), "planted.example/hook")
					}
				}
			}
			return len(p.Deletes) > 0
		}, 8},
		{"a patch that was sent", func(_ *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			for _, patch := range p.Patches {
				s.InFlight.Patches = append(s.InFlight.Patches, patch.UID)
			}
			return len(p.Patches) > 0
		}, 14},
		{"a patch for any namesake", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			if len(p.Patches) > 0 {
				p.Patches[0].Data = bytes.Replace(p.Patches[0].Data, []byte(`"uid"`), []byte(`"name"`), 1)
			}
			return len(p.Patches) > 0
		}, 9},
		{"another image", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			i := slices.IndexFunc(p.Patches, func(patch rollout.Patch) bool { return bytes.Contains(patch.Data, []byte(`"image":"`)) })
			if i >= 0 {
				p.Patches[i].Data = bytes.ReplaceAll(p.Patches[i].Data, []byte(`"image":"`), []byte(`"image":"planted`))
			}
			return i >= 0
		}, 9},
		{"a pull twice", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			if len(p.Pulls) > 0 {
				p.Pulls = append(p.Pulls, p.Pulls[0])
			}
			return len(p.Pulls) > 0
		}, 14},
		{"a pull that was started", func(_ *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			for _, pull := range p.Pulls {
				s.InFlight.Pulls = append(s.InFlight.Pulls, predownload.Request{Node: pull.Node, Image: pull.Image})
			}
			return len(p.Pulls) > 0
		}, 14},
		{"unavailable inverted", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			for i := range p.Decisions {
				p.Decisions[i].Unavailable = !p.Decisions[i].Unavailable
			}
			return len(p.Decisions) > 0
		}, 12},
		{"more waiting than there are nodes", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Budget.Waiting += int32(len(p.Decisions)) + 1 // some may count or not, see Budget.Waiting
			return true
		}, 12},
		{"a memory emptied", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Memory = rollout.Memory{}
			return true
		}, 12},
		{"a revision with a number of its own", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			i := slices.IndexFunc(p.Revisions, func(a rollout.RevisionAction) bool { return a.Verb == rollout.CreateRevision })
			if i >= 0 {
				p.Revisions[i].Number = -5
			}
			return i >= 0
		}, 12},
		{"pods of a revision that is not there", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			before := len(p.Revisions)
			p.Revisions = slices.DeleteFunc(p.Revisions, func(a rollout.RevisionAction) bool { return a.Verb == rollout.CreateRevision })
			ofIt := func(c rollout.Create) bool { return c.Revision == p.Status.UpdateRevision }
			return slices.ContainsFunc(p.Creates, ofIt) && len(p.Revisions) < before
		}, 3},
		{"a wake in the past", func(_ *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			p.NextWake = s.Now.Add(-time.Second)
			return true
		}, 15},
	}
}

// findsPlanted plants a bug in plans of the planner, wherever it can be planted, and holds that the verifier finds each: in what is
// drawn, and in the same examples in every run, of which some plan can be spoiled.
func findsPlanted(t *testing.T, bug plantedBug, scenarios *rapid.Generator[harness.Case]) {
	t.Helper()
	const examples = 400
	spoil := func(c harness.Case) (planted bool, found []verify.Violation) {
		planner, err := rollout.New(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Plan(c.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if !bug.plant(&c.Spec, &c.Snapshot, &plan) {
			return false, nil
		}
		return true, verify.Plan(c.Spec, c.Snapshot, &plan)
	}
	missed := func(found []verify.Violation) bool {
		return !slices.ContainsFunc(found, bug.isFoundBy)
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 8 { // in most plans, some of the bugs cannot be planted
			planted, found := spoil(scenarios.Draw(t, "scenario"))
			if planted && missed(found) {
				t.Fatalf("got %v, want V%d among them", found, bug.want)
			}
			if planted {
				return
			}
		}
	})
	for seed := range examples {
		planted, found := spoil(scenarios.Example(seed))
		if planted && missed(found) {
			t.Fatalf("example %d: got %v, want V%d among them", seed, found, bug.want)
		}
		if planted {
			return
		}
	}
	t.Errorf("none of %d plans can be spoiled in this way: the property holds of nothing", examples)
}

// comingUp generates fleets at the update revision where nothing is to be done, and some pods are on their way to serve, or out.
func comingUp() *rapid.Generator[harness.Case] {
	return rapid.Custom(func(t *rapid.T) harness.Case {
		c := harness.Case{Spec: rollouttest.Spec("agent", rollouttest.MinReadySeconds(rapid.SampledFrom([]int32{0, 60}).Draw(t, "minReadySeconds")))}
		c.Snapshot.Now = rollouttest.Noon()
		c.Snapshot.Revisions = append(c.Snapshot.Revisions, rollouttest.Revision(c.Spec, 1))
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			node := string(rune('a' + i))
			ago := time.Duration(rapid.IntRange(1, 500).Draw(t, "seconds ago")) * time.Second
			since := rollouttest.Noon().Add(-ago)
			state := rapid.SampledFrom([][]rollouttest.PodOption{
				{}, {rollouttest.Unready()}, {rollouttest.Pending()}, {rollouttest.Terminating(since.Add(510 * time.Second))},
			}).Draw(t, "state")
			options := append([]rollouttest.PodOption{rollouttest.Of(c.Spec), rollouttest.OnNode(node), rollouttest.Created(since)}, state...)
			c.Snapshot.Nodes = append(c.Snapshot.Nodes, rollouttest.Node(node))
			c.Snapshot.Pods = append(c.Snapshot.Pods, rollouttest.Pod("agent-"+node, options...))
		}
		return c
	})
}

// TestVerifyFindsPlantedBugs plants bugs in plans of the planner.
func TestVerifyFindsPlantedBugs(t *testing.T) {
	rare := map[string][]rollouttest.SpecOption{ // these are for bugs whose situation is hardly ever drawn
		"another image":           {rollouttest.InPlaceIfPossible(), rollouttest.MaxUnavailable("50%"), objects.Released()},
		"a pull twice":            {rollouttest.PreDownload("3"), rollouttest.MaxUnavailable("1"), objects.Released()},
		"a pull that was started": {rollouttest.PreDownload("3"), rollouttest.MaxUnavailable("1"), objects.Released()},
	}
	for _, bug := range plantedBugs() {
		scenarios := draw.AnyCase(rare[bug.name]...)
		if bug.name == "asleep for ever" {
			scenarios = comingUp()
		}
		t.Run(bug.name, func(t *testing.T) {
			findsPlanted(t, bug, scenarios)
		})
	}
}
