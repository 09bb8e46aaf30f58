package verify_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
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
			if s.Strategy.MaxUnschedulable != nil || s.Strategy.Policy.Outages != nil {
				// Whether B8 and B9 matter on a node depends on what becomes of the plan's actions there.
				awake = awake && len(p.Creates)+len(p.Deletes)+len(p.Patches) == 0
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

// TestVerifyFindsPlantedBugs plants bugs in plans of the planner.
func TestVerifyFindsPlantedBugs(t *testing.T) {
	rare := map[string][]rollouttest.SpecOption{ // these are for bugs whose situation is hardly ever drawn
		"another image":           {rollouttest.InPlace(), rollouttest.MaxUnavailable("50%"), objects.Released()},
		"a pull twice":            {rollouttest.PreDownload("3"), rollouttest.MaxUnavailable("1"), objects.Released()},
		"a pull that was started": {rollouttest.PreDownload("3"), rollouttest.MaxUnavailable("1"), objects.Released()},
	}
	for _, bug := range plantedBugs() {
		scenarios := draw.AnyCase(rare[bug.name]...)
		t.Run(bug.name, func(t *testing.T) {
			planted := false
			rapid.Check(t, func(t *rapid.T) {
				for range 8 { // in most plans, some of the bugs cannot be planted
					c := scenarios.Draw(t, "scenario")
					plan := planFor(t, c)
					if !bug.plant(&c.Spec, &c.Snapshot, &plan) {
						continue
					}
					planted = true
					got := verify.Plan(c.Spec, c.Snapshot, &plan)
					if !slices.ContainsFunc(got, func(v verify.Violation) bool { return v.Invariant == bug.want }) {
						t.Fatalf("got %v, want V%d among them", got, bug.want)
					}
					return
				}
			})
			if !planted {
				t.Error("no plan could be spoiled in this way: the property held of nothing")
			}
		})
	}
}

func planFor(t *rapid.T, c harness.Case) rollout.Plan {
	planner, err := rollout.New(c.Spec)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Plan(c.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// anyPatches are patches that make sense, and others that do not.
func anyPatches() []string {
	return []string{
		"", "{}", "[]", "null", `{"metadata":null}`, `{"metadata":{"uid":1,"labels":2}}`, `{"spec":null}`, `{"status":{"conditions":[1]}}`,
		`{"metadata":{"labels":{"controller-revision-hash":"x","lifecycle.apps.kruise.io/state":"PreparingDelete"}}}`,
		`{"metadata":{"labels":{"controller-revision-hash":null},"finalizers":[1]}}`,
		`{"metadata":{"labels":{"lifecycle.apps.kruise.io/state":"PreparingUpdate"},"finalizers":["x"]}}`,
		`{"metadata":{"annotations":{"apps.kruise.io/inplace-update-state":"{\"nextContainerImages\":{\"main\":\"x\"}}"}}}`,
		`{"spec":{"containers":[{"name":"main","image":"x","resources":{"requests":{"cpu":"1","memory":null}}}]}}`,
		`{"spec":{"containers":[{"name":"other"},{"image":"x"},2]}}`, `{"spec":{"containers":[]}}`, `{"$patch":"delete"}`,
		`{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"InPlaceUpdateReady","status":"False"}]}}`,
		`{"status":{"conditions":null,"phase":"Failed"}}`,
	}
}

// anyPlan draws actions and decisions about objects of the snapshot, and sometimes about other objects.
func anyPlan(s rollout.Snapshot) *rapid.Generator[rollout.Plan] {
	return rapid.Custom(func(t *rapid.T) rollout.Plan {
		nodes, pods, revisions := []string{"", "nowhere"}, []*corev1.Pod{{}}, []string{"", "agent-nothing"}
		for _, n := range s.Nodes {
			if n != nil {
				nodes = append(nodes, n.Name)
			}
		}
		for _, p := range s.Pods {
			if p != nil {
				pods = append(pods, p)
			}
		}
		for _, r := range s.Revisions {
			if r != nil {
				revisions = append(revisions, r.Name)
			}
		}
		node, pod, revision := rapid.SampledFrom(nodes), rapid.SampledFrom(pods), rapid.SampledFrom(revisions)
		hash := rapid.SampledFrom([]string{"", "x"})
		code, number := rapid.Uint8(), rapid.Int32()
		several := func(label string, add func()) {
			for range rapid.IntRange(0, 4).Draw(t, label) {
				add()
			}
		}
		var plan rollout.Plan
		several("creates", func() {
			plan.Creates = append(plan.Creates, rollout.Create{Node: node.Draw(t, "node"), Revision: hash.Draw(t, "hash"), Reason: rollout.Reason(code.Draw(t, "reason"))})
		})
		several("deletes", func() {
			p := pod.Draw(t, "pod")
			plan.Deletes = append(plan.Deletes, rollout.Delete{Node: node.Draw(t, "node"), Pod: p.Name, UID: p.UID, Revision: hash.Draw(t, "hash")})
		})
		several("patches", func() {
			p := pod.Draw(t, "pod")
			data := rapid.SampledFrom(anyPatches()).Draw(t, "data")
			kind := rapid.SampledFrom([]types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.JSONPatchType}).Draw(t, "type")
			subresource := rapid.SampledFrom([]string{"", "status", "resize", "x"}).Draw(t, "subresource")
			plan.Patches = append(plan.Patches, rollout.Patch{
				Node: node.Draw(t, "node"), Pod: p.Name, UID: p.UID, Type: kind, Subresource: subresource, Data: []byte(data),
			})
		})
		several("pulls", func() {
			image := rapid.SampledFrom([]string{"", "agent:v3", "x"}).Draw(t, "image")
			plan.Pulls = append(plan.Pulls, rollout.Pull{Pull: predownload.Pull{Node: node.Draw(t, "node"), Image: image}})
		})
		several("revisions", func() {
			action := rollout.RevisionAction{Verb: rollout.RevisionVerb(code.Draw(t, "verb")), Name: revision.Draw(t, "revision")}
			if rapid.Bool().Draw(t, "object") {
				action.Object = &appsv1.ControllerRevision{}
			}
			plan.Revisions = append(plan.Revisions, action)
		})
		several("decisions", func() {
			plan.Decisions = append(plan.Decisions, rollout.Decision{
				Node: node.Draw(t, "node"), Pod: pod.Draw(t, "pod").Name, Facts: status.Facts(rapid.Uint16().Draw(t, "facts")),
				State: rollout.NodeState(code.Draw(t, "state")), Target: rollout.Target(code.Draw(t, "target")),
				Verb: rollout.Verb(code.Draw(t, "verb")), Reason: rollout.Reason(code.Draw(t, "reason")),
				Limit: rollout.Limit(code.Draw(t, "limit")), Creates: rapid.Int32().Draw(t, "counted"),
			})
		})
		anyTrialOf(t, &plan, nodes, revisions)
		plan.Status.Desired, plan.Status.Available = number.Draw(t, "desired"), number.Draw(t, "available")
		plan.Status.UpdateRevision = hash.Draw(t, "update")
		return plan
	})
}

// verifiesPurely: Plan writes to nothing, returns the same again, and does not depend on the order of the snapshot.
func verifiesPurely(t *rapid.T) {
	c := rapid.OneOf(draw.AnyCase(), draw.AnyCanaryCase()).Draw(t, "scenario")
	plan := anyPlan(c.Snapshot).Draw(t, "plan")
	before := copiedSnapshot(c.Snapshot)
	first := verify.Plan(c.Spec, c.Snapshot, &plan)
	if !reflect.DeepEqual(before, c.Snapshot) {
		t.Fatalf("Plan wrote to the snapshot: %v", c)
	}
	for _, reverse := range []func(*rollout.Snapshot){
		func(*rollout.Snapshot) {},
		func(s *rollout.Snapshot) { slices.Reverse(s.Nodes) },
		func(s *rollout.Snapshot) { slices.Reverse(s.Pods) },
		func(s *rollout.Snapshot) { slices.Reverse(s.Revisions) },
		func(s *rollout.Snapshot) { slices.Reverse(s.InFlight.Creates); slices.Reverse(s.InFlight.Deletes) },
	} {
		reverse(&before)
		if again := verify.Plan(c.Spec, before, &plan); !reflect.DeepEqual(first, again) {
			t.Fatalf("first %v, then %v", first, again)
		}
	}
}

func copiedSnapshot(s rollout.Snapshot) rollout.Snapshot {
	s.Nodes, s.Pods, s.Revisions = slices.Clone(s.Nodes), slices.Clone(s.Pods), slices.Clone(s.Revisions)
	for i := range s.Nodes {
		s.Nodes[i] = s.Nodes[i].DeepCopy()
	}
	for i := range s.Pods {
		s.Pods[i] = s.Pods[i].DeepCopy()
	}
	for i := range s.Revisions {
		s.Revisions[i] = s.Revisions[i].DeepCopy()
	}
	s.InFlight = rollout.InFlight{
		Creates: slices.Clone(s.InFlight.Creates), Deletes: slices.Clone(s.InFlight.Deletes),
		Patches: slices.Clone(s.InFlight.Patches), Revisions: slices.Clone(s.InFlight.Revisions),
		Pulls: slices.Clone(s.InFlight.Pulls),
	}
	s.FailedPulls = slices.Clone(s.FailedPulls)
	s.Memory.Backoffs, s.Memory.Conditions = slices.Clone(s.Memory.Backoffs), slices.Clone(s.Memory.Conditions)
	s.Memory.Canary.Nodes = slices.Clone(s.Memory.Canary.Nodes)
	return s
}

// survivesGarbage: Plan reports what breaks the contract, and does not panic.
func survivesGarbage(t *rapid.T) {
	c := rapid.OneOf(draw.AnyCase(), draw.AnyCanaryCase()).Draw(t, "scenario")
	broken := false
	spoil := func(label string, do func()) {
		if rapid.Bool().Draw(t, label) {
			do()
			broken = true
		}
	}
	spoil("nil node", func() { c.Snapshot.Nodes = append(c.Snapshot.Nodes, nil) })
	spoil("nil pod", func() { c.Snapshot.Pods = append(c.Snapshot.Pods, nil) })
	spoil("nil revision", func() { c.Snapshot.Revisions = append(c.Snapshot.Revisions, nil) })
	spoil("no clock", func() { c.Snapshot.Now = time.Time{} })
	spoil("no spec", func() { c.Spec = rollout.Spec{} })
	got := verify.Plan(c.Spec, c.Snapshot, new(anyPlan(c.Snapshot).Draw(t, "plan")))
	if broken != slices.ContainsFunc(got, func(v verify.Violation) bool { return v.Invariant == 0 }) {
		t.Fatalf("broken input: %v, but got %v", broken, got)
	}
}

func TestVerifyIsPure(t *testing.T)          { rapid.Check(t, verifiesPurely) }
func TestVerifySurvivesGarbage(t *testing.T) { rapid.Check(t, survivesGarbage) }

func FuzzVerifyIsPure(f *testing.F)          { fuzzing.Property(f, rapid.MakeFuzz(verifiesPurely)) }
func FuzzVerifySurvivesGarbage(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(survivesGarbage)) }
