package rollouttest_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func TestFleetOptions(t *testing.T) {
	running := rollouttest.Spec("agent")
	got := rollouttest.Fleet(12, rollouttest.InPool("web"), rollouttest.InZones("a", "b"), rollouttest.InRacks(2),
		rollouttest.And(3, "gpu"), rollouttest.Labelled("gpu", "yes"), rollouttest.Labelled("disk", "ssd"),
		rollouttest.Tainted("gpu", "", corev1.TaintEffectNoSchedule), rollouttest.Tainted("x", "y", corev1.TaintEffectNoExecute),
		rollouttest.Running(running))
	want := simulate.Fleet{
		Now: rollouttest.Noon(),
		Pools: []simulate.Pool{
			{Name: "web", Nodes: 12, Zones: []string{"a", "b"}, Racks: 2},
			{Name: "gpu", Nodes: 3, Labels: map[string]string{"gpu": "yes", "disk": "ssd"}, Taints: []corev1.Taint{
				{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}, {Key: "x", Value: "y", Effect: corev1.TaintEffectNoExecute},
			}},
		},
		Running: &running,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFleetOptionsAreValues: an option that is used twice gives two fleets that have nothing in common.
func TestFleetOptionsAreValues(t *testing.T) {
	label := rollouttest.Labelled("disk", "ssd")
	first := rollouttest.Fleet(1, label)
	second := rollouttest.Fleet(1, label, rollouttest.Labelled("disk", "hdd"))
	if first.Pools[0].Labels["disk"] != "ssd" || second.Pools[0].Labels["disk"] != "hdd" {
		t.Errorf("got %v and %v", first.Pools[0].Labels, second.Pools[0].Labels)
	}
	rollouttest.InPool("web")(&simulate.Fleet{}) // without a pool there is nothing to name
}

// TestChangedLeavesTheSpec: the copy differs in what the options say, whatever they write to, and the spec not at all.
func TestChangedLeavesTheSpec(t *testing.T) {
	fresh := func() rollout.Spec {
		return rollouttest.Spec("agent", rollouttest.TemplateNodeSelector("disk", "ssd"), rollouttest.Canary("1"), rollouttest.PreDownload("2"))
	}
	spec := fresh()
	changed := rollouttest.Changed(spec, rollouttest.Image("agent:v2"), rollouttest.TemplateNodeSelector("disk", "hdd"), rollouttest.MaxSurge("1"),
		func(s *rollout.Spec) {
			s.Template.Labels["x"] = "y"
			s.Selector.MatchLabels["x"] = "y"
			s.Strategy.Canary.Mode = ""
		})
	if diff := cmp.Diff(fresh(), spec); diff != "" {
		t.Errorf("the spec was changed (-before +after):\n%s", diff)
	}
	if changed.Template.Spec.Containers[0].Image != "agent:v2" || changed.Template.Spec.NodeSelector["disk"] != "hdd" ||
		changed.Template.Labels["x"] != "y" || changed.Strategy.MaxSurge.IntValue() != 1 {
		t.Errorf("the options were not applied: %+v", changed)
	}
	if _, err := rollout.New(changed); err != nil {
		t.Errorf("a default budget excludes the one that was asked for: %v", err)
	}
}

// TestChangedIsTheSameSet: without options it is the same spec, and no default stands where nothing was said.
func TestChangedIsTheSameSet(t *testing.T) {
	spec := rollouttest.Spec("agent")
	same := rollouttest.Changed(spec)
	if rollouttest.Hash(same) != rollouttest.Hash(spec) || !reflect.DeepEqual(same.Default(), spec.Default()) {
		t.Errorf("it is another one: %+v", same)
	}
	if same.Strategy.MaxUnavailable != nil || same.Strategy.MaxSurge != nil || same.Strategy.Partition != nil || same.Burst != nil ||
		same.Strategy.MaxUnschedulable != nil || same.RevisionHistoryLimit != nil {
		t.Errorf("it has defaults: %+v", same)
	}
}
