package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// BenchmarkVerify is the check of a plan beside the plan itself, on the same snapshot: what a simulation, or a controller
// that looks before it acts, pays at every step. A simulation hands over nodes by name, and so does this; pods come in
// another order. The row "unchanged" is a Verifier that has seen all objects, with the same lists; in the rows "shuffled" and
// "changed" the lists come in another order each time, and in the latter one node and one pod in a hundred were replaced.
func BenchmarkVerify(b *testing.B) {
	for _, profile := range verifyProfiles() {
		for _, n := range sizesOr([]int{1_000, 15_000, 100_000}) {
			b.Run(fmt.Sprintf("%s/nodes=%d", profile.name, n), func(b *testing.B) { benchVerify(b, profile, n) })
		}
	}
}

func benchVerify(b *testing.B, profile verifyProfile, n int) {
	spec, snapshot := profile.fleet(b, n)
	benchPlanAndVerify(b, spec, snapshot, n, "ns/node")
}

// benchPlanAndVerify measures both for each of n elements.
func benchPlanAndVerify(b *testing.B, spec rollout.Spec, snapshot rollout.Snapshot, n int, unit string) {
	b.Helper()
	planner, err := rollout.New(spec)
	if err != nil {
		b.Fatal(err)
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		b.Fatal(err)
	}
	again := func(turns ...rollout.Snapshot) func() error {
		var verifier verify.Verifier
		turn := 0
		return func() error {
			turn++
			if violations := verifier.Plan(spec, turns[turn%len(turns)], &plan); violations != nil {
				return fmt.Errorf("%d violations, the first: %v", len(violations), violations[0])
			}
			return nil
		}
	}
	for _, bench := range []struct {
		name string
		run  func() error
	}{
		{"plan", func() error {
			_, err := planner.Plan(snapshot)
			return err
		}},
		{"verify", func() error {
			if violations := verify.Plan(spec, snapshot, &plan); violations != nil {
				return fmt.Errorf("%d violations, the first: %v", len(violations), violations[0])
			}
			return nil
		}},
		{"unchanged", again(snapshot)},
		{"shuffled", again(benchTurns(snapshot, false)...)},
		{"changed", again(benchTurns(snapshot, true)...)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			if err := bench.run(); err != nil { // a Verifier has to see the objects once
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				if err := bench.run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), unit)
		})
	}
}

type verifyProfile struct {
	name  string
	spec  func(*rollout.Spec)
	begin func(*corev1.Pod) // what a pod that the rollout has reached in the last step looks like
	pod   func(*corev1.Pod) // what every pod looks like
	reach func(i int) int   // 0: not reached; 1: in the last step; 2: before
}

func verifyProfiles() []verifyProfile {
	// Half the fleet is updated, and of the budget of 5% half is used, so that the plan has something to do.
	midway := func(i int) int {
		switch {
		case i%40 == 1:
			return 1
		case i%2 == 0:
			return 2
		default:
			return 0
		}
	}
	starting := func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
				c.Status = corev1.ConditionFalse
			}
		}
	}
	budget := func(s *rollout.Spec) { s.Strategy.MaxUnavailable = new(intstr.FromString("5%")) }
	return []verifyProfile{
		{name: "steady", spec: budget, reach: func(int) int { return 2 }},
		{name: "rollout", spec: budget, begin: starting, reach: midway},
		{
			name: "surge",
			spec: func(s *rollout.Spec) {
				s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = new(intstr.FromInt32(0)), new(intstr.FromString("5%"))
			},
			begin: starting, reach: midway,
		},
		{
			name: "inplace",
			spec: func(s *rollout.Spec) {
				budget(s)
				s.Strategy.Method = inplace.IfPossible
			},
			pod: updatableBench,
			begin: func(p *corev1.Pod) {
				starting(p)
				p.Annotations[inplace.StateKey] = `{"revision":"new","updateTimestamp":"2026-01-15T11:59:30Z",` +
					`"lastContainerStatuses":{"agent":{"imageID":"sha256:1"}},"updateImages":true}`
				for i := range p.Status.Conditions {
					if c := &p.Status.Conditions[i]; c.Type == lifecycle.InPlaceUpdateReady {
						c.Status = corev1.ConditionFalse
					}
				}
			},
			reach: midway,
		},
	}
}

func (profile *verifyProfile) fleet(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	tb.Helper()
	spec := benchSpec()
	profile.spec(&spec)
	snapshot := benchSnapshot(tb, spec, n)
	slices.SortFunc(snapshot.Nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	old := history.HashOf(snapshot.Revisions[0])
	pods := make(map[string]*corev1.Pod, n)
	for _, p := range snapshot.Pods {
		pods[p.Spec.NodeName] = p
	}
	for i := range n {
		name := benchNodeName(i)
		p := pods[name]
		if profile.pod != nil {
			profile.pod(p)
			p.Spec.Containers[0].Image = spec.Template.Spec.Containers[0].Image
		}
		switch profile.reach(i) {
		case 0:
			p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = old
			p.Spec.Containers[0].Image = "registry.example/agent:v1"
		case 1:
			profile.begin(p)
			p.CreationTimestamp = metav1.NewTime(benchNow.Add(-30 * time.Second))
		}
	}
	return spec, snapshot
}
