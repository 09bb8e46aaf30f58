package conformance_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/placement"
)

// varied returns the recording with some changes, so that there are cases that were not recorded. What the controller would do
// then is not known, but what the model does with all rules is.
func (c *edsCase) varied(t *testing.T, r *rand.Rand) *edsCase {
	t.Helper()
	data, err := json.Marshal(c.Input)
	if err != nil {
		t.Fatal(err)
	}
	v := &edsCase{Name: c.Name, Features: c.Features}
	if err := json.Unmarshal(data, &v.Input); err != nil {
		t.Fatal(err)
	}
	in := &v.Input
	for _, n := range in.Nodes { // in the order of the nodes, because that of a map is random
		if p := in.PodByNode[n.Name]; p != nil {
			in.Pods = append(in.Pods, p)
		}
	}
	in.Pods, in.PodByNode, in.PodsToCleanUp = append(in.Pods, in.PodsToCleanUp...), nil, nil
	for range 1 + r.IntN(6) {
		if len(in.Pods) > 0 {
			v.varyPod(r, in.Pods[r.IntN(len(in.Pods))])
		}
	}
	if v.Input.Set.Kind != "" { // the filter knows no strategy
		v.varyStrategy(r)
	}
	return v
}

func (c *edsCase) varyPod(r *rand.Rand, p *corev1.Pod) {
	if r.IntN(3) == 0 && len(c.Input.Pods) < 60 {
		p = p.DeepCopy()
		p.Name = fmt.Sprintf("%s-%d", p.Name, len(c.Input.Pods))
		p.CreationTimestamp.Time = p.CreationTimestamp.Add(time.Duration(r.IntN(5)-2) * time.Second)
		c.Input.Pods = append(c.Input.Pods, p)
	}
	if p.Annotations == nil {
		p.Annotations = make(map[string]string)
	}
	now := c.now()
	switch r.IntN(9) {
	case 0:
		p.DeletionTimestamp = &metav1.Time{Time: now.Add(time.Duration(r.IntN(60)-30) * time.Second)}
	case 1:
		p.Status.Phase = []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded, corev1.PodRunning, corev1.PodUnknown}[r.IntN(4)]
	case 2:
		p.Status.Conditions = nil
	case 3:
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	case 4:
		p.Annotations[edsHash] = []string{edsThis, edsOld, edsNewer, ""}[r.IntN(4)]
	case 5:
		p.Spec.NodeName = "vanished"
		if len(c.Input.Nodes) > 0 && r.IntN(8) > 0 {
			p.Spec.NodeName = c.Input.Nodes[r.IntN(len(c.Input.Nodes))].Name
		}
	case 6:
		if node, ok := placement.TargetNode(p); ok && p.Spec.NodeName != "" {
			p.Spec.Affinity, p.Spec.NodeName = placement.Pin(nil, node), ""
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}
		}
	case 7:
		p.CreationTimestamp.Time = now.Add(-time.Duration(r.IntN(100)) * time.Second)
	case 8:
		p.Annotations[edsNodeHash] = "stale"
	}
}

func (c *edsCase) varyStrategy(r *rand.Rand) {
	rolling := &c.Input.Set.Spec.Strategy.RollingUpdate
	switch r.IntN(6) {
	case 0:
		rolling.MaxUnavailable = new(intstr.FromInt32(1 + r.Int32N(4)))
	case 1:
		rolling.MaxPodSchedulerFailure = new(intstr.FromInt32(r.Int32N(4)))
	case 2:
		rolling.SlowStartAdditiveIncrease = new(intstr.FromInt32(1 + r.Int32N(4)))
	case 3:
		rolling.MaxParallelPodCreation = new(1 + r.Int32N(6))
	}
	if c.Input.Set.Annotations == nil {
		c.Input.Set.Annotations = make(map[string]string)
	}
	switch r.IntN(12) {
	case 0:
		c.Input.Set.Annotations[edsPaused] = "true"
	case 1:
		c.Input.Set.Annotations[edsFrozen] = "true"
	case 2:
		c.Input.Replica.Status.Conditions = append(c.Input.Replica.Status.Conditions, edsCondition{
			Type: "Canary-Failed", Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: c.now()},
		})
	case 3:
		c.Input.Replica.Status.Conditions = append(c.Input.Replica.Status.Conditions, edsCondition{
			Type: "Canary-Paused", Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: c.now()},
		})
	}
}

// TestConformanceEDSVariations compares plans for varied recordings with the model of the controller with all rules. The model
// with all rules is a second, naive planner.
func TestConformanceEDSVariations(t *testing.T) {
	seeds := fixedseed.Share(8) // per recording
	explained, bad := 0, 0
	for _, file := range edsFiles {
		for _, c := range edsLines[edsCase](t, file) {
			if c.refused() != "" {
				continue
			}
			for seed := range seeds {
				varied := c.varied(t, rand.New(rand.NewPCG(seed, uint64(len(c.Input.Nodes)))))
				varied.Name = fmt.Sprintf("%s, variation %d", c.Name, seed)
				calls, _ := edsCalls(t, file, varied)
				for _, call := range calls {
					d := edsDecidedBy(call.plan)
					if explained++; !call.outcome(edsAllRules).permits(d) {
						if bad++; bad < 12 {
							t.Errorf("%s %v: unexplained\n%s", call.name, c.Features, edsWhy(call, d))
						}
					}
				}
			}
		}
	}
	if explained == 0 {
		t.Error("no recording to vary")
	}
	t.Logf("%d varied calls, %d unexplained", explained, bad)
}
