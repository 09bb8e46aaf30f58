package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// varyKruise changes a recorded case of OpenKruise: what vary changes, and what only OpenKruise has.
func varyKruise(c *peer.Case, r *rand.Rand) {
	for range 1 + r.IntN(6) {
		if len(c.Pods) > 0 {
			i := r.IntN(len(c.Pods))
			varyPod(c, r, i)
			varyHooks(r, c.Pods[i])
		}
	}
	update := c.Set.Spec.UpdateStrategy.RollingUpdate
	if update == nil {
		return
	}
	for range 1 + r.IntN(3) {
		switch r.IntN(10) {
		case 0:
			update.Partition = someOf(r, len(c.Nodes))
		case 1:
			update.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "true"}}
		case 2:
			update.Selector = nil
		case 3:
			c.Set.Spec.BurstReplicas = someOf(r, 6)
			if c.Set.Spec.BurstReplicas.Type == intstr.Int {
				c.Set.Spec.BurstReplicas.IntVal++
			}
		case 4:
			update.RollingUpdateType = "InPlaceIfPossible"
			update.MaxSurge, update.MaxUnavailable = nil, new(intstr.FromInt32(1+r.Int32N(4)))
		case 5:
			update.RollingUpdateType = "Standard"
			update.MaxSurge, update.MaxUnavailable = new(intstr.FromInt32(1+r.Int32N(4))), new(intstr.FromInt32(0))
		case 6:
			update.Paused = !update.Paused
		case 7:
			c.Set.Spec.MinReadySeconds = r.Int32N(3) * 30
		case 8:
			c.Set.Spec.ScaleStrategy = &peer.ScaleStrategy{PartitionedScaling: true}
		case 9:
			c.Revisions = c.Revisions[len(c.Revisions)-1:]
		}
	}
}

func someOf(r *rand.Rand, n int) *intstr.IntOrString {
	if r.IntN(2) == 0 {
		return new(intstr.FromString(fmt.Sprintf("%d%%", r.IntN(101))))
	}
	return new(intstr.FromInt32(r.Int32N(int32(n) + 1)))
}

// varyHooks changes the state of a pod for hooks and in-place updates.
func varyHooks(r *rand.Rand, p *corev1.Pod) {
	switch r.IntN(8) {
	case 0:
		p.Labels[lifecycle.StateLabel] = string(lifecycle.PreparingDelete)
	case 1:
		delete(p.Labels, lifecycle.StateLabel)
	case 2:
		p.Labels["hook/block"] = "true"
		p.Finalizers = []string{"hook.example/hold"}
	case 3:
		delete(p.Labels, "hook/block")
		p.Finalizers = nil
	case 4:
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	case 5:
		p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == lifecycle.InPlaceUpdateReady
		})
	}
}

// TestConformanceKruiseVariations compares plans for varied cases with the model with all rules, which is a second, naive
// planner.
func TestConformanceKruiseVariations(t *testing.T) { testVariations(t, peer.Kruise, varyKruise) }
