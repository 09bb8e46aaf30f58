package verify_test

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// verifierFleet is a fleet in the middle of a rollout, and a plan for it.
func verifierFleet(t *testing.T) (rollout.Spec, rollout.Snapshot, rollout.Plan) {
	t.Helper()
	old := kit.Spec("agent", kit.MinReadySeconds(30))
	spec := kit.Changed(old, kit.Image("agent:v2"))
	snapshot, err := kit.Fleet(6, kit.Running(old)).Build()
	if err != nil {
		t.Fatal(err)
	}
	snapshot.Now = kit.Noon()
	plan, ok := handPlanned(spec, snapshot)
	if !ok || len(plan.Deletes) == 0 {
		t.Fatalf("plan %+v, %t", plan, ok)
	}
	return spec, snapshot, plan
}

// TestVerifierFindsTheSame: whatever a Verifier has seen before, it finds what Plan finds.
func TestVerifierFindsTheSame(t *testing.T) {
	spec, first, plan := verifierFleet(t)
	changed := func(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
		p = p.DeepCopy()
		change(p)
		return p
	}
	unready := func(p *corev1.Pod) { p.Status.Conditions = nil }
	moved := func(p *corev1.Pod) { p.Spec.NodeName = first.Nodes[5].Name }
	tainted := first.Nodes[1].DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoExecute}}
	held := spec
	held.Strategy.Paused = true
	type scene struct {
		rollout.Snapshot
		spec rollout.Spec
	}
	steps := []struct {
		name   string
		finds  bool // anything is wrong, as the plan is that for the first snapshot
		change func(*scene)
	}{
		{"the first", false, func(*scene) {}},
		{"the same", false, func(*scene) {}},
		{"the other way round", false, func(s *scene) { slices.Reverse(s.Nodes); slices.Reverse(s.Pods) }},
		{"a pod that is not ready any more", true, func(s *scene) { s.Pods[2] = changed(s.Pods[2], unready) }},
		{"it is as before", false, func(*scene) {}},
		{"a pod less", true, func(s *scene) { s.Pods = s.Pods[1:] }},
		{"a pod more, at the beginning", true, func(s *scene) {
			s.Pods = append([]*corev1.Pod{changed(s.Pods[3], func(p *corev1.Pod) { p.Name, p.UID = "another", "another" })}, s.Pods...)
		}},
		{"a pod in place of another", true, func(s *scene) {
			s.Pods[3] = changed(s.Pods[3], func(p *corev1.Pod) { unready(p); p.Name, p.UID = "another", "another-one" })
		}},
		{"a node less", true, func(s *scene) { s.Nodes = s.Nodes[1:] }},
		{"it is back, in another place", false, func(s *scene) { slices.Reverse(s.Nodes) }},
		{"a tainted node", true, func(s *scene) { s.Nodes[1] = tainted }},
		{"a pod that has moved", true, func(s *scene) { s.Pods[0] = changed(s.Pods[0], moved) }},
		{"a pod on its way out", true, func(s *scene) { s.InFlight.Deletes = append(s.InFlight.Deletes, s.Pods[4].UID) }},
		{"it stays", false, func(*scene) {}},
		{"earlier", false, func(s *scene) { s.Now = s.Now.Add(-time.Minute) }},
		{"long before its pods were ready", true, func(s *scene) { s.Now = s.Now.Add(-30 * 24 * time.Hour) }},
		{"another spec", true, func(s *scene) { s.spec = held }},
		{"the spec of before", false, func(*scene) {}},
		{"no spec", true, func(s *scene) { s.spec = rollout.Spec{} }},
		{"no time", true, func(s *scene) { s.Now = time.Time{} }},
		{"after input that breaks the contract", false, func(*scene) {}},
		{"a node twice", true, func(s *scene) { s.Nodes = append(s.Nodes, s.Nodes[2]) }},
		{"the first again", false, func(*scene) {}},
		{"two nodes of one name, the known one first", true, func(s *scene) { s.Nodes = append(s.Nodes, s.Nodes[2].DeepCopy()) }},
		{"the first again, now", false, func(*scene) {}},
		{"two nodes of one name, the known one last", true, func(s *scene) {
			s.Nodes = append([]*corev1.Node{s.Nodes[2].DeepCopy()}, s.Nodes...)
		}},
		{"a pod twice", true, func(s *scene) { s.Pods[0] = s.Pods[1] }},
		{"the first once more", false, func(*scene) {}},
		{"two pods of one UID", true, func(s *scene) { s.Pods[0] = s.Pods[1].DeepCopy() }},
		{"no pod where one was", true, func(s *scene) { s.Pods[0] = nil }},
		{"no node where one was", true, func(s *scene) { s.Nodes[0] = nil }},
		{"the first for the last time", false, func(*scene) {}},
		{"a node without a name", true, func(s *scene) { s.Nodes[0] = &corev1.Node{} }},
		{"a pod without a UID", true, func(s *scene) { s.Pods[0] = changed(s.Pods[0], func(p *corev1.Pod) { p.UID = "" }) }},
		{"a new object of everything", false, func(s *scene) {
			for i := range s.Nodes {
				s.Nodes[i] = s.Nodes[i].DeepCopy()
			}
			for i := range s.Pods {
				s.Pods[i] = s.Pods[i].DeepCopy()
			}
		}},
		{"nothing", true, func(s *scene) { s.Nodes, s.Pods = nil, nil }},
		{"everything", false, func(*scene) {}},
	}
	var verifier verify.Verifier
	for _, step := range steps {
		s := scene{Snapshot: first, spec: spec}
		s.Nodes, s.Pods = slices.Clone(s.Nodes), slices.Clone(s.Pods)
		step.change(&s)
		is, right := verifier.Plan(s.spec, s.Snapshot, &plan), verify.Plan(s.spec, s.Snapshot, &plan)
		if !slices.Equal(is, right) || len(right) > 0 != step.finds {
			t.Errorf("%s: found %v, right is %v, which is something: %t", step.name, is, right, step.finds)
		}
	}
}

// TestVerifierKeepsNoOthers: a Verifier keeps the objects of the last snapshot alive, and no others.
func TestVerifierKeepsNoOthers(t *testing.T) {
	spec, snapshot, plan := verifierFleet(t)
	var verifier verify.Verifier
	var nodes []weak.Pointer[corev1.Node]
	var pods []weak.Pointer[corev1.Pod]
	var revisions []weak.Pointer[appsv1.ControllerRevision]
	for turn := range 3 {
		s := snapshot
		s.Nodes, s.Pods, s.Revisions = nil, nil, nil
		for _, r := range snapshot.Revisions {
			s.Revisions = append(s.Revisions, r.DeepCopy())
			revisions = append(revisions, weak.Make(s.Revisions[len(s.Revisions)-1]))
		}
		for _, n := range snapshot.Nodes[turn:] { // fewer each time
			s.Nodes = append(s.Nodes, n.DeepCopy())
			nodes = append(nodes, weak.Make(s.Nodes[len(s.Nodes)-1]))
		}
		for _, p := range snapshot.Pods[turn:] {
			s.Pods = append(s.Pods, p.DeepCopy())
			pods = append(pods, weak.Make(s.Pods[len(s.Pods)-1]))
		}
		verifier.Plan(spec, s, &plan)
	}
	runtime.GC()
	alive := func(is, of int) {
		if is != of {
			t.Errorf("%d objects are alive, right are %d of the last snapshot", is, of)
		}
	}
	alive(count(nodes), len(snapshot.Nodes)-2)
	alive(count(pods), len(snapshot.Pods)-2)
	alive(count(revisions), len(snapshot.Revisions))
	runtime.KeepAlive(&verifier)
}

func count[T any](pointers []weak.Pointer[T]) int {
	alive := 0
	for _, p := range pointers {
		if p.Value() != nil {
			alive++
		}
	}
	return alive
}

// TestVerifierAllocatesLittle: a snapshot in which nothing has changed costs no allocation for each object.
func TestVerifierAllocatesLittle(t *testing.T) {
	allocations := func(nodes int) float64 {
		spec := kit.Spec("agent")
		snapshot, err := kit.Fleet(nodes, kit.Running(spec)).Build()
		if err != nil {
			t.Fatal(err)
		}
		snapshot.Now = kit.Noon()
		plan, _ := handPlanned(spec, snapshot)
		var verifier verify.Verifier
		return testing.AllocsPerRun(5, func() {
			slices.Reverse(snapshot.Nodes)
			slices.Reverse(snapshot.Pods)
			if violations := verifier.Plan(spec, snapshot, &plan); len(violations) > 0 {
				t.Fatal(violations)
			}
		})
	}
	if few, many := allocations(10), allocations(1000); many > few+20 {
		t.Errorf("%.0f allocations for 10 nodes, %.0f for 1000", few, many)
	}
}

// TestVerifierJudgesFewNodes: where nodes are alike, a Verifier makes no record of each for the checks.
func TestVerifierJudgesFewNodes(t *testing.T) {
	for name, options := range map[string][]kit.SpecOption{
		"a budget":      nil,
		"surge":         {kit.MaxUnavailable("0"), kit.MaxSurge("1")},
		"slow start":    {kit.SlowStart(time.Minute, "1", "2")},
		"a selector":    {kit.StrategyNodeSelector("pool", "none")},
		"on delete":     {kit.OnDelete()},
		"paused":        {kit.Paused()},
		"no percentage": {kit.Partition("0%")},
	} {
		old := kit.Spec("agent", options...)
		spec := kit.Changed(old, kit.Image("agent:v2"))
		snapshot, err := kit.Fleet(2000, kit.Running(old)).Build()
		if err != nil {
			t.Fatal(err)
		}
		snapshot.Now = kit.Noon()
		plan, _ := handPlanned(spec, snapshot)
		allocated := func(check checkFunc) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if violations := check(spec, snapshot, &plan); len(violations) > 0 {
				t.Fatal(name, violations)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if each, few := allocated(verify.Plan), allocated(new(verify.Verifier).Plan); few > each*2/3 {
			t.Errorf("%s: %d bytes, and %d where each node is judged", name, few, each)
		}
	}
}
