package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestDomainsB10(t *testing.T) { playVerified(t, domainScenes()) }

func domainScenes() []scene {
	in := func(s spot, rack string) spot { return s.with(kit.Label("rack", rack)) }
	racks := func(most string) kit.SpecOption {
		return kit.Domains(domain.Domain{Key: "rack", Max: new(intstr.Parse(most))})
	}
	atOnce := kit.Domains(domain.Domain{Key: "rack", AtOnce: 1})
	with := func(options ...kit.SpecOption) []kit.SpecOption { return append(options, kit.MaxUnavailable("9")) }
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	waits := func(node string) string { return node + ": outdated>update wait Budget " + node + "0 domain" }
	down := newPod(kit.Unready())
	leaves := oldPod(kit.PodLabel(lifecycle.StateLabel, "PreparingDelete"))
	return []scene{
		{
			name: "one node of each rack", why: "B10: whatever maxUnavailable leaves; blocked candidates are passed over", spec: with(racks("1")),
			fleet: []spot{in(on("a", oldPod()), "x"), in(on("b", oldPod()), "y"), in(on("c", oldPod()), "y")}, acts: "delete c0 Outdated, delete a0 Outdated",
			want:  []string{goes("a"), waits("b"), goes("c")},
			spent: "unavailable 2 of 9, surging 0 of 0, waiting 1",
		},
		{
			name: "maxUnavailable counts, too", why: "B10: it is beside B3", spec: []kit.SpecOption{racks("2"), kit.MaxUnavailable("1")},
			fleet: []spot{in(on("a", oldPod()), "x"), in(on("b", oldPod()), "y")}, acts: "delete b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", goes("b")},
		},
		{
			name: "percentages of the value", why: "B10: 50% of three nodes of the rack are two, of one node one", spec: with(racks("50%")),
			fleet: []spot{
				in(on("a", oldPod()), "x"), in(on("b", oldPod()), "x"), in(on("c", oldPod()), "x"), in(on("d", oldPod()), "y"), in(on("e", newPod()), "z"),
			},
			acts: "delete d0 Outdated, delete c0 Outdated, delete b0 Outdated",
			want: []string{waits("a"), goes("b"), goes("c"), goes("d"), "e: updated>update none UpToDate"},
		},
		{
			name: "settled nodes are of the value", why: "B10: 34% of three nodes are two", spec: with(racks("34%")),
			fleet: []spot{in(on("a", oldPod()), "x"), in(on("b", oldPod()), "x"), in(on("c", newPod()), "x")},
			acts:  "delete b0 Outdated, delete a0 Outdated",
			want:  []string{goes("a"), goes("b"), "c: updated>update none UpToDate"},
		},
		{
			name: "without the label", why: "B10: such nodes are a domain, not unlimited", spec: with(racks("1")),
			fleet: []spot{on("a", oldPod()), on("b", oldPod())}, acts: "delete b0 Outdated",
			want: []string{waits("a"), goes("b")},
		},
		{
			name: "not ready", why: "B3, B10: needs no room", spec: with(racks("1")),
			fleet: []spot{in(on("a", oldPod(kit.Unready())), "x"), in(on("b", down), "x"), in(on("c", oldPod()), "x")}, acts: "delete a0 OutdatedNotReady",
			want: []string{"a: outdated>update replace OutdatedNotReady a0 U", "b: starting>update wait NotReady b0 U", waits("c")},
		},
		{
			name: "one rack at a time", why: "B10: the rack with a disturbed node, whatever the order", spec: with(atOnce),
			fleet: []spot{in(on("a", down), "x"), in(on("b", oldPod()), "x"), in(on("c", oldPod()), "y")}, acts: "delete b0 Outdated",
			want: []string{"a: starting>update wait NotReady a0 U", goes("b"), waits("c")},
		},
		{
			name: "one rack at a time, at the start", why: "B10: the first in order opens its rack", spec: with(atOnce),
			fleet: []spot{in(on("a", oldPod()), "x"), in(on("b", oldPod()), "y"), in(on("c", oldPod()), "y")}, acts: "delete c0 Outdated, delete b0 Outdated",
			want: []string{waits("a"), goes("b"), goes("c")},
		},
		{
			name: "two racks disturbed already", why: "B10: in both more may be", spec: with(atOnce),
			fleet: []spot{in(on("a", down), "x"), in(on("b", down), "y"), in(on("c", oldPod()), "y"), in(on("d", oldPod()), "z")}, acts: "delete c0 Outdated",
			want: []string{"a: starting>update wait NotReady a0 U", "b: starting>update wait NotReady b0 U", goes("c"), waits("d")},
		},
		{
			name: "selected nodes only", why: "B10: others are not bounded",
			spec:  with(kit.Domains(domain.Domain{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "x"}}, Max: new(intstr.FromInt32(1))})),
			fleet: []spot{in(on("a", oldPod()), "x"), in(on("b", oldPod()), "x"), on("c", oldPod()), on("d", oldPod())},
			acts:  "delete d0 Outdated, delete c0 Outdated, delete b0 Outdated",
			want:  []string{waits("a"), goes("b"), goes("c"), goes("d")},
		},
		{
			name: "held nodes count", why: "B10: as in B2", spec: with(racks("1"), kit.StrategyNodeSelector("go", "yes")),
			fleet: []spot{in(on("a", oldPod(kit.Unready())), "x"), in(on("b", oldPod()).with(kit.Label("go", "yes")), "x")},
			want:  []string{"a: outdated>held hold Held a0 nodeSelector U", waits("b")},
		},
		{
			name: "nodes left out do not count", why: "B8, B10", spec: with(racks("1"), kit.MaxUnschedulable("1")),
			fleet: []spot{in(on("a", unschedulable()), "x"), in(on("b", oldPod()), "x")}, acts: "delete b0 Outdated",
			want: []string{"a: starting>update wait NotReady a0 X", goes("b")},
		},
		{
			name: "surge places", why: "B4, B10", spec: []kit.SpecOption{racks("1"), kit.MaxSurge("3")},
			fleet: []spot{in(on("a", oldPod()), "x"), in(on("b", oldPod()), "x"), in(on("c", oldPod()), "y")}, acts: "create c Outdated, create b Outdated",
			want: []string{waits("a"), "b: outdated>update surge Outdated S", "c: outdated>update surge Outdated S"},
		},
		{
			name: "surge places that are taken", why: "B4, B10: a node whose new pod is not available", spec: []kit.SpecOption{racks("1"), kit.MaxSurge("3")},
			fleet: []spot{in(on("a", oldPod(), down), "x"), in(on("b", oldPod()), "x"), in(on("c", oldPod()), "y")}, acts: "create c Outdated",
			want: []string{"a: surging>update wait NotReady a1 S", waits("b"), "c: outdated>update surge Outdated S"},
		},
		{
			name: "prepared pods", why: "B3, B10: two were let go at once, and only one may go", spec: with(racks("1"), kit.PreDeleteHook(drains)),
			fleet: []spot{in(on("a", leaves), "x"), in(on("b", leaves), "x")}, acts: "delete a0 Released",
			want: []string{"a: terminating>update delete Released a0 U", "b: terminating>update wait Prepared b0 domain U"},
		},
		{
			name: "prepared pods in two racks", why: "B3, B10: only one rack may have a node that is down", spec: with(atOnce, kit.PreDeleteHook(drains)),
			fleet: []spot{in(on("a", leaves), "x"), in(on("b", leaves), "y")}, acts: "delete a0 Released",
			want: []string{"a: terminating>update delete Released a0 U", "b: terminating>update wait Prepared b0 domain U"},
		},
		{
			name: "prepared, and to be recreated by now", why: "B3, B10: its deletion needs room in the rack, too", spec: with(racks("1")),
			fleet: []spot{in(on("a", down), "x"), in(on("b", oldPod(inState(lifecycle.PreparingUpdate))), "x")}, acts: "patch b0 TakenBack",
			want: []string{"a: starting>update wait NotReady a0 U", "b: outdated>update patch TakenBack b0 domain U"},
		},
		{
			name: "OnDelete", why: "T5: it uses no policy", spec: []kit.SpecOption{kit.OnDelete(), racks("1")},
			fleet: []spot{in(on("a", oldPod()), "x")},
			want:  []string{"a: outdated>held hold Held a0 onDelete"},
		},
	}
}

// TestDomainStates: the plan says how each value stands, and who uses it up.
func TestDomainStates(t *testing.T) {
	l := newLab(kit.MaxUnavailable("2"), kit.Domains(
		domain.Domain{Key: "rack", Max: new(intstr.FromString("50%"))}, domain.Domain{Key: "zone", AtOnce: 1},
	)).add(
		on("a", newPod(kit.Unready(), kit.Created(ago(time.Minute)))).with(kit.Label("rack", "x"), kit.Label("zone", "1")),
		on("b", oldPod()).with(kit.Label("rack", "x"), kit.Label("zone", "1")),
		on("c", oldPod()).with(kit.Label("rack", "y"), kit.Label("zone", "2")),
		on("d", newPod()).with(kit.Label("zone", "1")),
	)
	plan := l.plan(t)
	want := []rollout.DomainState{
		{Index: 0, Key: "rack", Value: "", Desired: 1, Max: 1, Disturbed: 1},
		{Index: 0, Key: "rack", Value: "x", Desired: 2, Max: 1, Taken: 1, Disturbed: 1, Users: []string{"a"}},
		{Index: 0, Key: "rack", Value: "y", Desired: 1, Max: 1, Disturbed: 1},
		{Index: 1, Key: "zone", Value: "1", Desired: 3, Taken: 1, AtOnce: 1, Disturbed: 1},
		{Index: 1, Key: "zone", Value: "2", Desired: 1, AtOnce: 1, Disturbed: 1, Users: []string{"a"}},
	}
	if diff := cmp.Diff(want, plan.Domains); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var waits []string
	for _, w := range plan.Waits() {
		waits = append(waits, w.String())
	}
	if diff := cmp.Diff([]string{
		"1 node waits: at most 1 node with rack=x may be disturbed at once: a (b)",
		"1 node waits: at most 1 value of zone may be disturbed at once, and 2 has no place among them; disturbed are a (c)",
	}, waits); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
