package draw_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What a pod carries a known hash of is what it runs, or what is under way: no rule could put right what it is told
// wrong about.
func TestPodsAreWhatTheirRevisionSays(t *testing.T) {
	gen := draw.AnyCase()
	for seed := range 300 {
		s := gen.Example(seed)
		known := map[string]string{}
		for _, r := range s.Snapshot.Revisions {
			if template, err := history.Template(r); err == nil {
				known[history.HashOf(r)] = template.Spec.Containers[0].Image
			}
		}
		// A revision whose name was taken by other data is a collision, which does tell wrong.
		update := kit.Hash(s.Spec)
		if image, ok := known[update]; ok && image != s.Spec.Template.Spec.Containers[0].Image {
			continue
		}
		for _, p := range s.Snapshot.Pods {
			image, ok := known[p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]
			if ok && p.Spec.Containers[0].Image != image && p.Annotations[inplace.GraceKey] == "" {
				t.Errorf("seed %d: pod %s has image %s, its revision %s", seed, p.Name, p.Spec.Containers[0].Image, image)
			}
		}
	}
}

func TestAnyBehaviorIsFair(t *testing.T) {
	gen := draw.AnyBehavior()
	for seed := range 100 {
		b := gen.Example(seed)
		if b.Restart < 0 || b.Resize < 0 || b.Hook < 0 || len(b.Stuck)+len(b.NeverReady)+len(b.Failing) > 0 {
			t.Errorf("seed %d: %+v", seed, b)
		}
	}
}

func TestAnyChangesEndRolling(t *testing.T) {
	gen := draw.AnyChanges(kit.Spec("agent", kit.Image("agent:v3")))
	stopped, back := 0, 0
	for seed := range 200 {
		changes := gen.Example(seed)
		if n := len(changes); n < 2 || n > 4 {
			t.Fatalf("seed %d: %d changes", seed, n)
		}
		for i, change := range changes {
			if _, err := rollout.New(change.Spec); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			strategy := change.Spec.Strategy
			if strategy.Paused || strategy.Frozen {
				stopped++
				if i == len(changes)-1 {
					t.Errorf("seed %d ends with a set that is stopped", seed)
				}
			}
			if i > 1 && kit.Hash(change.Spec) == kit.Hash(changes[0].Spec) &&
				kit.Hash(changes[i-1].Spec) != kit.Hash(changes[0].Spec) {
				back++
			}
		}
	}
	if stopped == 0 || back == 0 {
		t.Errorf("stopped %d times, rolled back %d times", stopped, back)
	}
}
