//go:build teeth

package simulate_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// The property finds these mistakes in building a fleet.
func TestBuildIsSettledMutants(t *testing.T) {
	spec := kit.Spec("agent", kit.Canary("1"), kit.InPlaceIfPossible(), kit.PreNormalHook(kit.HookLabel("hook", "on")))
	tests := []struct {
		name, why string
		spoil     func(*rollout.Snapshot)
	}{
		{"a pod too few", "a node would be empty", func(s *rollout.Snapshot) { s.Pods = s.Pods[1:] }},
		{"no revision", "it would be created", func(s *rollout.Snapshot) { s.Revisions = nil }},
		{"no mark", "the revision would be marked", func(s *rollout.Snapshot) { s.Revisions[0].Annotations = nil }},
		{"another revision", "the pod would be replaced", func(s *rollout.Snapshot) {
			s.Pods[0] = s.Pods[0].DeepCopy()
			s.Pods[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "x"
		}},
		{"not ready", "the pod would not be available", func(s *rollout.Snapshot) {
			s.Pods[0] = s.Pods[0].DeepCopy()
			kit.Unready()(s.Pods[0])
		}},
		{"gate closed", "it would be opened", func(s *rollout.Snapshot) {
			s.Pods[0] = s.Pods[0].DeepCopy()
			s.Pods[0].Status.Conditions = slices.DeleteFunc(s.Pods[0].Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == lifecycle.InPlaceUpdateReady
			})
		}},
		{"hook that is not on", "the pod would be waited for", func(s *rollout.Snapshot) {
			s.Pods[0] = s.Pods[0].DeepCopy()
			s.Pods[0].Labels[lifecycle.StateLabel] = string(lifecycle.PreparingNormal)
		}},
		{"pod on a node that is not to run it", "it would be deleted", func(s *rollout.Snapshot) {
			s.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoExecute}}
		}},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			snapshot := inputBuild(t, simulate.Fleet{Running: &spec, Pools: []simulate.Pool{{Name: "web", Nodes: 3}}})
			if err := inputSettledError(spec, snapshot); err != nil {
				t.Fatal(err)
			}
			tt.spoil(&snapshot)
			if inputSettledError(spec, snapshot) == nil {
				t.Errorf("the property holds: %s", tt.why)
			}
		})
	}
}
