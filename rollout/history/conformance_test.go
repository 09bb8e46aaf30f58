package history_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// What kube-controller-manager v1.36.3 stored and computed; no case may differ (R1).
func TestConformanceRevisions(t *testing.T) {
	cases := 0
	for name, line := range conformance.Lines(t, "kubernetes/revision.jsonl") {
		cases++
		t.Run(name, func(t *testing.T) {
			var recorded struct {
				Template       corev1.PodTemplateSpec `json:"template"`
				CollisionCount *int32                 `json:"collisionCount"`
				Hash           string                 `json:"hash"`
				Patch          string                 `json:"patch"`
			}
			if err := json.Unmarshal(line, &recorded); err != nil {
				t.Fatal(err)
			}
			data, err := history.Data(&recorded.Template)
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != recorded.Patch {
				t.Errorf("R1: data differs:\n got %s\nwant %s", data, recorded.Patch)
			}
			if got := history.Hash(&recorded.Template, recorded.CollisionCount); got != recorded.Hash {
				t.Errorf("R1: hash %s, want %s", got, recorded.Hash)
			}
			resolver, err := history.Compile(history.Set{Name: "agent"}, &recorded.Template)
			if err != nil {
				t.Fatal(err)
			}
			if got := resolver.Hash(recorded.CollisionCount); got != recorded.Hash {
				t.Errorf("R1: compiled hash %s, want %s", got, recorded.Hash)
			}
			revision := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}
			if _, err := history.Template(revision); err != nil {
				t.Errorf("decoding what the controller stored: %v", err)
			}
		})
	}
	if cases != 200 {
		t.Errorf("%d recorded cases, want 200", cases)
	}
}
