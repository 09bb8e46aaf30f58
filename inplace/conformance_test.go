package inplace_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/conformance"
)

func TestX(t *testing.T) {
	n, d := 0, 0
	for name, line := range conformance.Lines(t, "kruise-inplace/calculate.jsonl") {
		var c struct {
			Features []string
			Input    struct {
				FeatureGates             map[string]bool
				OldRevision, NewRevision struct {
					Data json.RawMessage
				}
			}
			Expect struct {
				InPlace               bool
				UpdateEnvFromMetadata bool
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		rev := func(d json.RawMessage) *appsv1.ControllerRevision {
			return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: d}}
		}
		u, err := inplace.DiffRevisions(rev(c.Input.OldRevision.Data), rev(c.Input.NewRevision.Data), inplace.Options{
			Resize: c.Input.FeatureGates["InPlaceWorkloadVerticalScaling"], EnvFromMetadata: c.Input.FeatureGates["InPlaceUpdateEnvFromMetadata"],
		})
		if err != nil {
			t.Error(err)
			continue
		}
		if u.InPlace() != c.Expect.InPlace || u.InPlace() && (len(u.Env) > 0) != c.Expect.UpdateEnvFromMetadata {
			d++
			t.Log(name, c.Features, c.Input.FeatureGates, "kruise", c.Expect, "we", u.Obstacles, u.Env)
		}
	}
	t.Log(n, d)
}

func TestY(t *testing.T) {
	n, d := 0, 0
	for name, line := range conformance.Lines(t, "kruise-inplace/completed.jsonl") {
		var c struct {
			Features []string
			Input    struct {
				FeatureGates map[string]bool
				Pod          corev1.Pod
			}
			Expect struct {
				Completed bool
				Message   string
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		x := inplace.Completed(&c.Input.Pod)
		if x.Done != c.Expect.Completed {
			d++
			t.Log(name, c.Features, c.Input.FeatureGates, "kruise", c.Expect, "we", x)
		}
	}
	t.Log(n, d)
}
