package draw

import (
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// AnyBehavior generates behaviors of clusters that are fair, as [harness.CheckLive] demands: slow or quick, alike or not, with a
// watch that lags, pulls that fail, and an update image whose ID is that of the one before.
func AnyBehavior() *rapid.Generator[harness.Behavior] {
	return rapid.Custom(func(t *rapid.T) harness.Behavior {
		b := harness.Behavior{
			Jitter:      pick[uint64](t, "jitter", 0, 1, 2),
			Lag:         pick(t, "lag", 0, 0, 1, 3),
			Start:       pick(t, "start", 0, time.Second, 2*time.Minute),
			Restart:     pick(t, "restart", 0, time.Second, 2*time.Minute),
			Resize:      pick(t, "resize", 0, time.Minute),
			Hook:        pick(t, "hook", 0, time.Second, 5*time.Minute),
			Pull:        pick(t, "pull", 0, time.Second, time.Hour, -1),
			FailedPulls: pick(t, "failed pulls", 0, 0, 1, 2, -1),
		}
		b.Refusing = pick(t, "refusing", nil, nil, nil, nil, []string{"b"}, []string{"a", "b", "c", "d"})
		if pick(t, "same ID", false, false, true) {
			b.SameID = []string{updateImage, "agent:v4"}
		}
		return b
	})
}

// AnyChanges generates what users do to a spec on the way, for [harness.CheckChanges]: first the spec as it is, then up to three
// changes of the image, the partition, the node selector, the method, the hooks, or back to what was before, also such
// that stop the set; in the end one that is [objects.Rolling].
func AnyChanges(spec rollout.Spec) *rapid.Generator[[]harness.Change] {
	return rapid.Custom(func(t *rapid.T) []harness.Change {
		changes := []harness.Change{{Spec: spec}}
		for range pick(t, "changes", 1, 2, 3) {
			next := changes[len(changes)-1].Spec
			next.Template = *next.Template.DeepCopy()
			option := pick(t, "change",
				kit.Image("agent:v4"), kit.Image("agent:v2"), kit.Image("agent:v4"),
				kit.Partition("2"), kit.Partition("100%"), kit.Partition("0"),
				kit.StrategyNodeSelector(harness.ZoneLabel, "a"),
				func(s *rollout.Spec) { s.Strategy.NodeSelector = nil },
				func(s *rollout.Spec) { *s = spec; s.Template = *spec.Template.DeepCopy() },
				func(s *rollout.Spec) { s.Lifecycle = lifecycle.Hooks{} },
				kit.PreDeleteHook(kit.HookLabel(deleteHook, hookOn)),
				kit.InPlaceIfPossible(),
				func(s *rollout.Spec) { s.Strategy.Method = inplace.Recreate },
				kit.Paused(), kit.Frozen(),
			)
			option(&next)
			changes = append(changes, harness.Change{After: rapid.IntRange(0, 20).Draw(t, "after"), Spec: next})
		}
		objects.Rolling()(&changes[len(changes)-1].Spec)
		return changes
	})
}
