package stock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// kruisePlan is the plan of OpenKruise's controller.
func kruisePlan(t *testing.T, spec rollout.Spec, s rollout.Snapshot) rollout.Plan {
	t.Helper()
	planner, err := stock.NewKruise(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func partition(s *rollout.Spec) { s.Strategy.Partition = new(intstr.FromInt32(4)) }

func ofGold(s *rollout.Spec) {
	s.Strategy.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gold"}}
}

func paused(s *rollout.Spec) { s.Strategy.Paused = true }

func updatesInPlace(s *rollout.Spec) { s.Strategy.Method = inplace.IfPossible }

func hooked(s *rollout.Spec) {
	s.Lifecycle.PreDelete = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}}
}

func partitionedScaling(s *rollout.Spec) { s.Strategy.PartitionedScaling = true }

func gated(p *corev1.Pod) {
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionTrue,
	})
}

// TestKruiseDecides tells of six nodes with outdated pods what OpenKruise's controller does, and what nodes wait for.
func TestKruiseDecides(t *testing.T) {
	for _, test := range []struct {
		name, why string
		options   []kit.SpecOption
		change    func(s *rollout.Snapshot)
		fates     map[peer.Fate]int
		creates   []string
		explained map[string]string // by node: how the explanation ends
	}{
		{
			"partition", "the nodes that come last by descending name are held",
			[]kit.SpecOption{kit.MaxUnavailable("6"), partition}, nil, map[peer.Fate]int{peer.Deleted: 2}, nil,
			map[string]string{"n03": "is held: its pod agent-n03 is outdated, but partition 4: 4 of 4 places taken"},
		},
		{
			"selector", "other nodes are held", []kit.SpecOption{kit.MaxUnavailable("6"), ofGold},
			func(s *rollout.Snapshot) { kit.Label("pool", "gold")(s.Nodes[3]) }, map[peer.Fate]int{peer.Deleted: 1}, nil,
			map[string]string{"n01": "selector pool=gold does not match the node"},
		},
		{
			"paused", "nothing is begun", []kit.SpecOption{kit.MaxUnavailable("6"), paused}, nil, map[peer.Fate]int{}, nil,
			map[string]string{"n01": "but the rollout is paused"},
		},
		{
			"in place", "as many as the budget allows", []kit.SpecOption{kit.MaxUnavailable("2"), updatesInPlace},
			func(s *rollout.Snapshot) {
				for _, p := range s.Pods {
					gated(p)
				}
			}, map[peer.Fate]int{peer.InPlace: 2}, nil, nil,
		},
		{
			"without the gate", "such pods are recreated", []kit.SpecOption{kit.MaxUnavailable("6"), updatesInPlace},
			func(s *rollout.Snapshot) { gated(s.Pods[0]) }, map[peer.Fate]int{peer.InPlace: 1, peer.Deleted: 5}, nil, nil,
		},
		{
			"hook", "a pod that the hook holds is marked first", []kit.SpecOption{kit.MaxUnavailable("6"), hooked},
			func(s *rollout.Snapshot) { kit.PodLabel("drain", "wanted")(s.Pods[0]) },
			map[peer.Fate]int{peer.Preparing: 1, peer.Deleted: 5}, nil, nil,
		},
		{
			"marked and held", "it is waited for", []kit.SpecOption{kit.MaxUnavailable("1"), hooked},
			func(s *rollout.Snapshot) {
				kit.PodLabel("drain", "wanted")(s.Pods[0])
				kit.PodLabel(lifecycle.StateLabel, string(lifecycle.PreparingDelete))(s.Pods[0])
			}, map[peer.Fate]int{}, nil, map[string]string{"n00": "waits: pod agent-n00 is to be deleted"},
		},
		{
			"marked and let go", "it is deleted, whatever the reason was", []kit.SpecOption{kit.MaxUnavailable("1")},
			func(s *rollout.Snapshot) {
				kit.PodLabel(lifecycle.StateLabel, string(lifecycle.PreparingDelete))(s.Pods[0])
			}, map[peer.Fate]int{peer.Deleted: 1}, nil, nil,
		},
		{
			"a pod has succeeded", "it stays, and is replaced like any other", []kit.SpecOption{kit.MaxUnavailable("1")},
			func(s *rollout.Snapshot) { kit.Succeeded()(s.Pods[0]) }, map[peer.Fate]int{peer.Deleted: 2}, nil, nil,
		},
		{
			"scaling with a partition", "only so many new pods", []kit.SpecOption{kit.MaxUnavailable("6"), partition, partitionedScaling},
			func(s *rollout.Snapshot) { s.Pods = nil }, map[peer.Fate]int{}, []string{"n00", "n01"},
			map[string]string{"n03": "waits: partition 4: a first installation leaves as many nodes empty"},
		},
		{
			"a node that is lost", "its outdated pod uses up nothing", []kit.SpecOption{kit.MaxUnavailable("1")},
			func(s *rollout.Snapshot) { kit.NotReady()(s.Nodes[0]); kit.Unready()(s.Pods[0]) },
			map[peer.Fate]int{peer.Deleted: 2}, nil, nil,
		},
		{
			"a patch is in flight", "nothing is asked for", []kit.SpecOption{kit.MaxUnavailable("6")},
			func(s *rollout.Snapshot) { s.InFlight.Patches = []types.UID{s.Pods[0].UID} }, map[peer.Fate]int{}, nil, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Fatal("a row needs a reason")
			}
			spec, s := outdated(6, test.options...)
			if test.change != nil {
				test.change(&s)
			}
			plan := kruisePlan(t, spec, s)
			fates := make(map[peer.Fate]int)
			for _, fate := range peer.FatesOf(plan) {
				fates[peer.FateOf(fate)]++
			}
			if diff := cmp.Diff(test.fates, fates); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var creates []string
			for _, c := range plan.Creates {
				creates = append(creates, c.Node)
			}
			if !slices.Equal(creates, test.creates) {
				t.Errorf("creates on %v, want %v", creates, test.creates)
			}
			for node, want := range test.explained {
				if got := plan.Explain(node); !strings.Contains(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
}

// TestKruiseReadsTheStoredStatus: percentages of partition and of burst are of the number in the status.
func TestKruiseReadsTheStoredStatus(t *testing.T) {
	spec, s := outdated(6, kit.MaxUnavailable("6"), func(s *rollout.Spec) {
		s.Strategy.Partition = new(intstr.FromString("50%"))
	})
	planner, err := stock.NewKruise(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	for stored, want := range map[int32]int{0: 6, 6: 3, 10: 1, 100: 0} {
		plan, err := planner.Stored(stored).Plan(s)
		if err != nil || len(plan.Deletes) != want {
			t.Errorf("%d are desired in the status: %d deletes (error %v), want %d", stored, len(plan.Deletes), err, want)
		}
	}
	if plan := kruisePlan(t, spec, s); len(plan.Deletes) != 3 || plan.Budget.Partition != 3 || plan.Budget.Partitioned != 3 {
		t.Errorf("without: %d deletes, %+v", len(plan.Deletes), plan.Budget)
	}
	if _, err := (*stock.Kruise)(nil).Stored(3).Plan(s); err == nil {
		t.Error("a nil planner plans")
	}
	if _, err := new(stock.Kruise).Plan(s); err == nil {
		t.Error("a planner that was not made plans")
	}
}

// TestKruiseRollsOut: rollouts come to their end, in place, through a hook, and with surge.
func TestKruiseRollsOut(t *testing.T) {
	old := kit.Spec("agent", updatesInPlace, hooked)
	for name, options := range map[string][]kit.SpecOption{
		"in place": {kit.MaxUnavailable("2"), updatesInPlace}, "recreated": {kit.MaxUnavailable("2")}, "beside": {kit.MaxSurge("2")},
		"with minReadySeconds": {kit.MaxUnavailable("2"), updatesInPlace, func(s *rollout.Spec) { s.MinReadySeconds = 5 }},
	} {
		t.Run(name, func(t *testing.T) {
			spec := kit.Spec("agent", append(options, kit.Image("agent:v2"))...)
			report, err := simulate.Run(simulate.Scenario{
				Spec: spec, Fleet: kit.Fleet(7, kit.Running(old)), Unverified: true,
				Model: simulate.Model{Kubelets: []simulate.Kubelet{{Start: simulate.Fixed(3 * time.Second), Stop: simulate.Fixed(time.Second)}}},
				Planner: func(spec rollout.Spec) (simulate.PlanFunc, error) {
					planner, err := stock.NewKruise(spec, 1)
					if err != nil {
						return nil, err
					}
					return planner.Plan, nil
				},
			})
			if err != nil || report.End != simulate.EndDone || report.Updated != 7 || report.Unavailable.Peak > 2 {
				t.Errorf("error %v, end %v, %d updated, at most %d down", err, report.End, report.Updated, report.Unavailable.Peak)
			}
		})
	}
}
