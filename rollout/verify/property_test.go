package verify_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

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
		Pulls: slices.Clone(s.InFlight.Pulls), Refused: slices.Clone(s.InFlight.Refused),
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
