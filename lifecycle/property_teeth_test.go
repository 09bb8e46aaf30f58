//go:build teeth

package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// TestPropertyRejectsMutants holds the property itself: each planted bug must be found.
func TestPropertyRejectsMutants(t *testing.T) {
	edit := func(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
		if p == nil {
			return nil
		}
		p = p.DeepCopy()
		change(p)
		return p
	}
	mutants := map[string]evaluate{
		"exactly minReadySeconds is not enough": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			return lifecycle.Evaluate(p, s, now.Add(-1))
		},
		"available a nanosecond early": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			return lifecycle.Evaluate(p, s, now.Add(1))
		},
		"phase is ignored": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			p = edit(p, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
			return lifecycle.Evaluate(p, s, now)
		},
		"in-place condition is ignored": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			p = edit(p, func(p *corev1.Pod) {
				p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
					return c.Type == lifecycle.InPlaceUpdateReady
				})
			})
			return lifecycle.Evaluate(p, s, now)
		},
		"the last Ready condition counts": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			p = edit(p, func(p *corev1.Pod) { slices.Reverse(p.Status.Conditions) })
			return lifecycle.Evaluate(p, s, now)
		},
		"no transition time means long ago": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			r := lifecycle.Evaluate(p, s, now)
			r.Available = r.Available || r.Ready && r.AvailableAt.IsZero()
			return r
		},
		"a negative minReadySeconds waits": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			return lifecycle.Evaluate(p, max(s, -s), now)
		},
		"milliseconds overflow": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			return lifecycle.Evaluate(p, s*1000/1000, now)
		},
		"no AvailableAt": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			r := lifecycle.Evaluate(p, s, now)
			r.AvailableAt = time.Time{}
			return r
		},
		"AvailableAt is kept when available": func(p *corev1.Pod, s int32, now time.Time) lifecycle.Readiness {
			r := lifecycle.Evaluate(p, s, now)
			if r.Available {
				r.AvailableAt = now
			}
			return r
		},
	}
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			for seed := range 2000 {
				if violation(mutant, questions.Example(seed)) != nil {
					return
				}
			}
			t.Error("the property does not notice")
		})
	}
}
