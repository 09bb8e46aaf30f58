package rollout_test

import (
	"reflect"
	"sync"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Without a canary, and without the memory of one, the canary label is the user's: taken off pods whose template gives it, it
// would have to be taken off every new pod again.
func TestPlannerLeavesLabelsAlone(t *testing.T) {
	l := newLab(kit.PodTemplateLabel(rollout.CanaryLabel, "true")).add(on("a", trialPod()), on("b", trialPod()))
	compare(t, l, l.plan(t), "", []string{"a: updated>update none UpToDate", "b: updated>update none UpToDate"},
		"nothing is to be done")
}

// TestConcurrentUse is for the race detector: one planner plans one snapshot in several goroutines, while others read the objects of
// that snapshot, as the owners of a cache do. It compares with what one goroutine plans.
func TestConcurrentUse(t *testing.T) {
	spec := kit.Spec("agent", kit.Image("agent:v2"), kit.InPlaceIfPossible(), kit.Partition("10%"))
	old := kit.Changed(spec, kit.Image("agent:v1"))
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	built := kit.Fleet(50, kit.InZones("a", "b"), kit.Running(old))
	fleet, err := built.Build()
	if err != nil {
		t.Fatal(err)
	}
	fleet.Now = kit.Noon()
	want, err := planner.Plan(fleet)
	if err != nil {
		t.Fatal(err)
	}
	fleet.Reading, want.Reading = want.Reading, nil
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				got, err := planner.Plan(fleet)
				got.Reading = nil
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("another plan than alone, or an error: %v", err)
				}
				if _, err := planner.Pod(rollout.Create{Node: fleet.Nodes[0].Name, Revision: kit.Hash(spec)}); err != nil {
					t.Error(err)
				}
				want.Explain(fleet.Nodes[0].Name)
			}
		})
		group.Go(func() {
			for _, p := range fleet.Pods {
				if p.DeepCopy().Name == "" {
					t.Error("a pod has lost its name")
				}
			}
		})
	}
	group.Wait()
}
