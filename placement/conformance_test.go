package placement_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/placement"
)

// TestConformanceKubernetes compares with what the Kubernetes controller v1.36.3 decided. No difference is
// allowed.
func TestConformanceKubernetes(t *testing.T) {
	outcomes := map[placement.Outcome]int{}
	for name, line := range conformance.Lines(t, "kubernetes/placement.jsonl") {
		var recorded struct {
			Template              *corev1.PodTemplateSpec `json:"template"`
			Node                  *corev1.Node            `json:"node"`
			ShouldRun             bool                    `json:"shouldRun"`
			ShouldContinueRunning bool                    `json:"shouldContinueRunning"`
		}
		if err := json.Unmarshal(line, &recorded); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if recorded.Template == nil || recorded.Node == nil {
			t.Fatalf("%s: template or node is missing", name)
		}
		verdict := compiled(recorded.Template, recorded.Node)
		run := verdict.Outcome == placement.Run
		keep := run || verdict.Outcome == placement.Keep
		if run != recorded.ShouldRun || keep != recorded.ShouldContinueRunning {
			t.Errorf("%s: run %v, continue %v; the controller: %v, %v (%s)",
				name, run, keep, recorded.ShouldRun, recorded.ShouldContinueRunning, verdict)
		}
		if want := oracle(recorded.Template, recorded.Node); verdict != want {
			t.Errorf("%s: %+v, the oracle: %+v", name, verdict, want)
		}
		outcomes[verdict.Outcome]++
	}
	for _, outcome := range []placement.Outcome{placement.Leave, placement.Keep, placement.Run} {
		if outcomes[outcome] == 0 {
			t.Errorf("no recorded case has the outcome %v", outcome)
		}
	}
}
