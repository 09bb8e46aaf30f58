//go:build teeth

package podupdates

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// TestMutantsAreFound: the API server, and the comparison with a new pod, notice steps with a planted bug.
func TestMutantsAreFound(t *testing.T) {
	mutants := []struct {
		name, why string
		begin     begin
	}{
		{"no resize", "the pod is labelled with a revision whose resources it does not have", func(d drawn, pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			step, err := really(d, pod, now)
			step.Patches = slices.DeleteFunc(step.Patches, func(p lifecycle.Patch) bool { return p.Subresource == "resize" })
			return step, err
		}},
		{"tolerations of the template", "those of admission are gone, which the server refuses", func(d drawn, pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			step, err := really(d, pod, now)
			for i := range step.Patches {
				var patch map[string]any
				if json.Unmarshal(step.Patches[i].Data, &patch) != nil {
					continue
				}
				if spec, ok := patch["spec"].(map[string]any); ok && spec["tolerations"] != nil {
					spec["tolerations"] = d.new.Spec.Tolerations
					step.Patches[i].Data = []byte(plainText(patch))
				}
			}
			return step, err
		}},
		{"nodes that can everything", "the server asks what the node declares", func(d drawn, pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			d.node = d.node.DeepCopy()
			d.node.Status.DeclaredFeatures = []string{"InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"}
			return really(d, pod, now)
		}},
		{"pull policies that follow nothing", "a new pod has another", func(d drawn, pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			d.old, d.new = d.old.DeepCopy(), d.new.DeepCopy()
			for _, template := range []*corev1.PodTemplateSpec{d.old, d.new} {
				for i := range template.Spec.Containers {
					template.Spec.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
				}
			}
			return really(d, pod, now)
		}},
		{"nothing is possible", "the server takes most of it", func(drawn, *corev1.Pod, time.Time) (inplace.Step, error) {
			return inplace.Step{}, &inplace.ObstacleError{Obstacles: []inplace.Obstacle{{Code: inplace.Immutable}}}
		}},
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			for seed := range 5000 {
				if _, wrong := judged(strategies{}, draw(uint64(seed)), m.begin); wrong != "" {
					t.Log(seed, wrong)
					return
				}
			}
			t.Errorf("nobody notices, although %s", m.why)
		})
	}
}
