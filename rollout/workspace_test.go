package rollout_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// workspaceFleets are fleets that leave different things behind in a Workspace: larger and smaller ones, at rest and in the
// middle of a rollout, with pods on no node, and one that no plan can be made for.
func workspaceFleets(t *testing.T, old, changed rollout.Spec) []rollout.Snapshot {
	t.Helper()
	fleet := func(nodes int, running rollout.Spec) rollout.Snapshot {
		s, err := rollouttest.Fleet(nodes, rollouttest.Running(running)).Build()
		if err != nil {
			t.Fatal(err)
		}
		s.Now = rollouttest.Noon()
		return s
	}
	strays := fleet(30, old)
	strays.Nodes = strays.Nodes[:5]
	mixed := fleet(20, old)
	for i, p := range mixed.Pods {
		switch i % 4 {
		case 0:
			p.Status.Conditions = nil
		case 1:
			p.Status.Phase = corev1.PodFailed
		case 2:
			mixed.Nodes[i].Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
		}
	}
	twice := fleet(3, old)
	twice.Pods = append(twice.Pods, twice.Pods[0])
	fleets := []rollout.Snapshot{
		fleet(5, changed), fleet(40, old), mixed, fleet(3, old), strays, twice, fleet(40, changed), fleet(7, old), {Now: rollouttest.Noon()},
	}
	return slices.Concat(fleets, fleets)
}

// TestWorkspace: plans in one Workspace are those of the planner, whatever the plans before have left in it.
func TestWorkspace(t *testing.T) {
	old := rollouttest.Spec("agent")
	spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	var workspace rollout.Workspace
	for _, w := range []*rollout.Workspace{&workspace, nil} {
		var reading *rollout.Reading
		failed := 0
		for i, s := range workspaceFleets(t, old, spec) {
			want, wantErr := planner.Plan(s)
			s.Reading = reading
			got, err := w.Plan(planner, s)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("fleet %d: error %v, without a Workspace %v", i, err, wantErr)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fleet %d: the plan differs (-planner +Workspace):\n%s", i, diff)
			}
			wantClaimed, wantErr := planner.ClaimAndPlan(s)
			claimed, err := w.ClaimAndPlan(planner, s)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("fleet %d: error of ClaimAndPlan %v, without a Workspace %v", i, err, wantErr)
			}
			if diff := cmp.Diff(wantClaimed, claimed); diff != "" {
				t.Errorf("fleet %d: the plan with claims differs (-planner +Workspace):\n%s", i, diff)
			}
			if err != nil {
				failed++
				continue
			}
			reading = claimed.Plan.Reading
		}
		if failed != 2 {
			t.Errorf("%d fleets have no plan: want 2", failed)
		}
	}
}

// TestWorkspaceSparesReadings: the plan of a fleet at rest shares its Decisions with later plans, so that the Workspace which it
// was made in does not overwrite them.
func TestWorkspaceSparesReadings(t *testing.T) {
	old := rollouttest.Spec("agent")
	spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	fleets := workspaceFleets(t, old, spec)
	rest, moving := fleets[6], fleets[1]
	var workspace rollout.Workspace
	first, err := workspace.Plan(planner, rest)
	if err != nil {
		t.Fatal(err)
	}
	rest.Reading = first.Reading
	shared, err := planner.Plan(rest)
	if err != nil {
		t.Fatal(err)
	}
	if &shared.Decisions[0] != &first.Decisions[0] {
		t.Fatal("the Decisions are not shared: this test is about nothing")
	}
	want := slices.Clone(shared.Decisions)
	overwritten, err := workspace.Plan(planner, moving)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, shared.Decisions); diff != "" {
		t.Errorf("a plan of a Workspace overwrote Decisions that a Reading shares (-before +after):\n%s", diff)
	}
	// What is documented to be overwritten is: else the test above could not fail.
	before := slices.Clone(overwritten.Decisions)
	if _, err := workspace.Plan(planner, fleets[2]); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(before, overwritten.Decisions) {
		t.Error("the next plan of the Workspace left the Decisions of the one before as they were: the memory is not used again")
	}
}

// TestWorkspaceLetsGo: a Workspace keeps no objects alive, also after a plan that failed or was of ClaimAndPlan.
func TestWorkspaceLetsGo(t *testing.T) {
	old := rollouttest.Spec("agent")
	planner, err := rollout.New(rollouttest.Changed(old, rollouttest.Image("agent:v2")))
	if err != nil {
		t.Fatal(err)
	}
	var workspace rollout.Workspace
	var nodes []weak.Pointer[corev1.Node]
	var pods []weak.Pointer[corev1.Pod]
	for i, s := range workspaceFleets(t, old, old) {
		for _, n := range s.Nodes {
			nodes = append(nodes, weak.Make(n))
		}
		for _, p := range s.Pods {
			pods = append(pods, weak.Make(p))
		}
		if i%2 == 0 {
			_, _ = workspace.Plan(planner, s) // one of the fleets has no plan
		} else {
			_, _ = workspace.ClaimAndPlan(planner, s)
		}
	}
	for range 5 { // a weak pointer is nil at the latest when the second collection has ended
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	for _, n := range nodes {
		if object := n.Value(); object != nil {
			t.Errorf("node %s is kept alive", object.Name)
		}
	}
	for _, p := range pods {
		if object := p.Value(); object != nil {
			t.Errorf("pod %s is kept alive", object.Name)
		}
	}
	runtime.KeepAlive(&workspace)
}

// TestWorkspaceIsSmall: a Workspace keeps as many bytes a node as its documentation says, and a plan in it allocates few.
func TestWorkspaceIsSmall(t *testing.T) {
	const nodes, documented, few = 10_000, 144 + 84, 8
	old := rollouttest.Spec("agent")
	planner, err := rollout.New(rollouttest.Changed(old, rollouttest.Image("agent:v2")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := rollouttest.Fleet(nodes, rollouttest.Running(old)).Build()
	if err != nil {
		t.Fatal(err)
	}
	s.Now = rollouttest.Noon()
	var workspace rollout.Workspace
	next := func() {
		plan, err := workspace.Plan(planner, s)
		if err != nil {
			t.Fatal(err)
		}
		s.Reading = plan.Reading
	}
	next()
	next() // which makes the tables of pointers
	withIt := inUse()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before := stats.TotalAlloc
	next()
	runtime.ReadMemStats(&stats)
	if allocated := int(stats.TotalAlloc-before) / nodes; allocated > few {
		t.Errorf("a plan in a Workspace allocates %d bytes a node: want at most %d", allocated, few)
	}
	workspace = rollout.Workspace{}
	if kept := int(withIt-inUse()) / nodes; kept > documented*11/10 || kept < documented/2 {
		t.Errorf("a Workspace keeps %d bytes a node: its documentation says %d", kept, documented)
	}
	runtime.KeepAlive(s)
}
