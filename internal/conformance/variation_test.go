package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// vary changes a recorded case, so that there are cases that were not recorded: pods in other states and places, and other
// limits. What the controller would do then is not known, but what the model does with all rules is.
func vary(c *peer.Case, r *rand.Rand) {
	for range 1 + r.IntN(6) {
		if len(c.Pods) > 0 {
			varyPod(c, r, r.IntN(len(c.Pods)))
		}
	}
	update := &c.Set.Spec.UpdateStrategy
	switch r.IntN(6) {
	case 0:
		c.BurstReplicas = new(1 + r.Int32N(5))
	case 1:
		c.Set.Spec.MinReadySeconds = r.Int32N(3) * 30
	case 2:
		update.Type = string(appsv1.RollingUpdateDaemonSetStrategyType)
		update.RollingUpdate = &peer.RollingUpdate{
			MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1 + r.Int32N(4))),
		}
	case 3:
		update.Type = string(appsv1.RollingUpdateDaemonSetStrategyType)
		update.RollingUpdate = &peer.RollingUpdate{MaxUnavailable: new(intstr.FromString(fmt.Sprintf("%d%%", 1+r.IntN(70))))}
	}
}

func varyPod(c *peer.Case, r *rand.Rand, i int) {
	p := c.Pods[i]
	if r.IntN(3) == 0 && len(c.Pods) < 60 {
		p = p.DeepCopy()
		p.Name, p.UID = fmt.Sprintf("%s-%d", p.Name, len(c.Pods)), types.UID(fmt.Sprintf("%s-%d", p.UID, len(c.Pods)))
		p.CreationTimestamp.Time = p.CreationTimestamp.Add(time.Duration(r.IntN(5)-2) * time.Second)
		c.Pods = append(c.Pods, p)
	}
	revision := c.Revisions[r.IntN(len(c.Revisions))].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	switch r.IntN(7) {
	case 0:
		p.DeletionTimestamp = &metav1.Time{Time: c.Now}
	case 1:
		p.Status.Phase = []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded, corev1.PodRunning}[r.IntN(3)]
	case 2:
		p.Status.Conditions = nil
	case 3:
		since := metav1.Time{Time: c.Now.Add(-time.Duration(r.IntN(100)) * time.Second)}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
	case 4:
		p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = revision
	case 5:
		p.Spec.NodeName = "vanished"
		if len(c.Nodes) > 0 && r.IntN(8) > 0 {
			p.Spec.NodeName = c.Nodes[r.IntN(len(c.Nodes))].Name
		}
	case 6:
		if c.Pods[i] != p {
			c.Pods[i].Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = revision
		}
	}
}

// compareStock compares the plan of the stock planner with the model of the controller without any rule.
func compareStock(t *testing.T, s *peer.Situation) {
	t.Helper()
	var plan func(rollout.Snapshot) (rollout.Plan, error)
	if s.Case.Controller() == peer.Kruise {
		planner, err := stock.NewKruise(s.Spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		plan = planner.Stored(s.Case.Set.Status.DesiredNumberScheduled).Plan
	} else {
		planner, err := stock.NewKubernetes(s.Spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		plan = planner.Plan
	}
	decided, err := plan(s.Case.Snapshot())
	if err != nil {
		t.Fatalf("%s: %v", s.Case.Name, err)
	}
	did := peer.DecidedBy(decided)
	if want := s.Outcome(0, peer.Decided{}).OneSync(did); !want.Permits(did) {
		t.Errorf("%s: the stock planner decided %+v, but the model %v", s.Case.Name, did, want)
	}
}

// TestConformanceVariations compares plans for varied cases with the model of the controller with all rules, which is a second,
// naive planner.
func TestConformanceVariations(t *testing.T) { testVariations(t, peer.Kubernetes, vary) }

func testVariations(t *testing.T, p peer.Controller, vary func(*peer.Case, *rand.Rand)) {
	t.Helper()
	seeds := fixedseed.Share(4) // per case
	accounted := 0
	for _, file := range files[p] {
		for _, c := range cases(t, file) {
			for seed := range seeds {
				varied, err := c.Clone()
				if err != nil {
					t.Fatal(err)
				}
				varied.Name = fmt.Sprintf("%s, variation %d", c.Name, seed)
				vary(varied, rand.New(rand.NewPCG(seed, uint64(len(c.Pods)))))
				if err := varied.EncodeSet(); err != nil {
					t.Fatal(err)
				}
				spec := specOf(t, varied)
				if varied.Refused(spec) != "" {
					continue
				}
				plan := planOf(t, varied, spec)
				explained(t, situationOf(t, varied, spec), plan, nil)
				compareStock(t, situationOf(t, varied, spec))
				accounted++
			}
		}
	}
	if accounted == 0 {
		t.Error("no case to vary")
	}
}
