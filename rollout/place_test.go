package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A node that the template on trial does not fit, and the stable one does, has a pod that becomes available by the clock (T6):
// the plan wakes for it as for any other. One that neither fits loses its pod in any case (M4).
func TestPlaceStableWakes(t *testing.T) {
	ready := kit.MinReadySeconds(60)
	tests := []struct {
		name, why string
		node      kit.NodeOption
		pod       podOf
		want      time.Duration // 0: never
	}{
		{"fits the stable one", "B5: its pod becomes available", kit.Label("size", "small"), oldPod(readyFor(45 * time.Second)), 15 * time.Second},
		{"fits neither", "M4: its pod serves nobody, whatever its age", kit.Taint("gone", "", corev1.TaintEffectNoExecute),
			oldPod(readyFor(45 * time.Second)), 0},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(kit.Canary("1"), kit.CanaryManual(), ready)
			old := l.spec.Default()
			kit.Image("agent:v1")(&old)
			kit.TemplateNodeSelector("size", "big")(&l.spec)
			l.old, l.update = kit.Hash(old), kit.Hash(l.spec)
			l.snapshot.Revisions = []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(l.spec, 2)}
			l.add(on("a", trialPod()).with(kit.Label("size", "big")), on("b", tt.pod).with(tt.node))
			all(tryingOn("a"), withMark("old", history.PromotedAnnotation, "x"))(l)
			got := time.Duration(0)
			if wake := l.plan(t).NextWake; !wake.IsZero() {
				got = wake.Sub(kit.Noon())
			}
			if got != tt.want {
				t.Errorf("wakes in %v, want %v: %s", got, tt.want, tt.why)
			}
		})
	}
}
