package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Two readings of one object are equal, whatever it contains. Otherwise the planner would be made anew for each plan, or not at
// all.
func TestSpecsAreCompared(t *testing.T) {
	for seed := range int64(50) {
		filler := randfill.NewWithSeed(seed).NilChance(0.2).NumElements(1, 2).MaxDepth(20).Funcs(
			func(q *resource.Quantity, c randfill.Continue) {
				*q = *resource.NewMilliQuantity(int64(c.Int31()), resource.DecimalSI)
			},
			func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(c.Int31()) },
			func(m *metav1.Time, c randfill.Continue) { *m = metav1.Unix(int64(c.Int31()), 0) },
			func(*runtime.RawExtension, randfill.Continue) {}, // the memory is no part of the spec
		)
		var set v1alpha1.PlannedDaemonSet
		filler.Fill(&set)
		if len(set.Spec.Overrides) == 0 {
			set.Spec.Overrides = []v1alpha1.Override{{Name: "one"}}
		}
		if again := set.DeepCopy(); !specs.DeepEqual(set.RolloutSpec(), again.RolloutSpec()) {
			t.Fatalf("seed %d: two readings differ:\n%+v", seed, set.RolloutSpec())
		}
		older := set.DeepCopy()
		older.CreationTimestamp.Time = older.CreationTimestamp.Add(-time.Hour)
		if specs.DeepEqual(set.RolloutSpec(), older.RolloutSpec()) {
			t.Fatalf("seed %d: it counts how old overrides are", seed)
		}
	}
}

// A set is woken by what it controls, whatever the labels are, and by orphans that its selector matches.
func TestConcerns(t *testing.T) {
	spec := kit.Spec("agent")
	var all sets
	s := all.of(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: spec.Namespace, Name: "agent", UID: spec.UID}}, "DaemonSet")
	pod := func(change ...kit.PodOption) *corev1.Pod {
		return kit.Pod("agent-a", append([]kit.PodOption{kit.Of(spec), kit.OnNode("a")}, change...)...)
	}
	unlabelled := func(p *corev1.Pod) { p.Labels = nil }
	orphaned := func(p *corev1.Pod) { p.OwnerReferences = nil }
	foreign := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" }
	if s.concerns(pod()) {
		t.Error("there is no valid spec yet, and nothing to do about a pod")
	}
	if err := all.compile(s, spec); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"owned", pod(), true},
		{"to release", pod(unlabelled), true},
		{"to adopt", pod(orphaned), true},
		{"orphan of nobody", pod(orphaned, unlabelled), false},
		{"of another set", pod(foreign), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := s.concerns(test.pod); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

// A planner is made once for a spec. While the spec is invalid, the planner is that of the last valid spec, paused.
func TestCompile(t *testing.T) {
	var all sets
	s := &set{}
	compile := func(spec rollout.Spec) *rollout.Planner {
		t.Helper()
		if err := all.compile(s, spec); err != nil {
			t.Fatal(err)
		}
		return s.planner
	}
	first := compile(kit.Spec("agent"))
	if compile(kit.Spec("agent")) != first {
		t.Error("the planner was made anew for the same spec")
	}
	if err := all.compile(s, rollout.Spec{}); err == nil || s.planner != first {
		t.Errorf("%v; an empty spec is invalid, and changes nothing", err)
	}
	if err := all.pause(s); err != nil || s.planner == first || !s.spec.Strategy.Paused {
		t.Errorf("%v; want a paused planner", err)
	}
	paused := s.planner
	if err := all.pause(s); err != nil || s.planner != paused {
		t.Errorf("%v; the planner was made anew although it is paused already", err)
	}
	if compile(kit.Spec("agent")); s.spec.Strategy.Paused {
		t.Error("it is paused, although it is mended")
	}
}
