//go:build teeth

package apiserver_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/rollout"
)

// The property finds a way to patch that drops what it should keep, or that writes to its input.
func TestPatchPropertySeesPlantedBugs(t *testing.T) {
	planted := map[string]patchFunc{
		"writes to its input": func(pod *corev1.Pod, patch *rollout.Patch) (*corev1.Pod, error) {
			got, err := apiserver.Patch(pod, patch)
			if err == nil && len(got.Labels) != len(pod.Labels) {
				pod.Labels = got.Labels
			}
			return got, err
		},
		"takes the status along": func(pod *corev1.Pod, patch *rollout.Patch) (*corev1.Pod, error) {
			got, err := apiserver.Patch(pod, patch)
			if err == nil && patch.Subresource == "" {
				merged := pod.DeepCopy()
				if apiserver.StrategicMerge(merged, patch.Data) == nil {
					got.Status = merged.Status
				}
			}
			return got, err
		},
		"overlooks conflicts": func(pod *corev1.Pod, patch *rollout.Patch) (*corev1.Pod, error) {
			got, err := apiserver.Patch(pod, patch)
			if errors.Is(err, apiserver.ErrConflict) {
				got, err = pod.DeepCopy(), nil
			}
			return got, err
		},
	}
	for name, patchPod := range planted {
		seen := 0
		for seed := range 200 {
			patch := anyPatch().Example(seed)
			pod := patchedPod()
			before := pod.DeepCopy()
			got, err := patchPod(pod, patch)
			want, wantErr := naivePatch(before, patch)
			if !apiequality.Semantic.DeepEqual(pod, before) || (err == nil) != (wantErr == nil) ||
				err == nil && !apiequality.Semantic.DeepEqual(got, want) {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("a patch that %s goes unnoticed", name)
		}
	}
}
