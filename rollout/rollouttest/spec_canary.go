package rollouttest

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// Options for what the Datadog ExtendedDaemonSet adds. Those for canaries turn the canary on.

// Canary tries new revisions on so many nodes first (C1): "2", or a percentage such as "10%", rounded up. Without any option
// for canaries there is none; with others alone it is one node.
func Canary(replicas string) SpecOption {
	return tried(func(o *canary.Options) { o.Replicas = new(intstr.Parse(replicas)) })
}

// CanaryFor sets how long canary pods must be available, and how long without restarts, before the revision is promoted (C2).
// Without it that is 10 and 5 minutes. It takes a [CanaryManual] before it back.
func CanaryFor(duration, noRestarts time.Duration) SpecOption {
	return tried(func(o *canary.Options) {
		o.Mode, o.Duration, o.NoRestartsDuration = canary.Auto, new(duration), new(noRestarts)
	})
}

// CanaryManual promotes by command only (C2). It takes a [CanaryFor] before it back.
func CanaryManual() SpecOption {
	return tried(func(o *canary.Options) { o.Mode, o.Duration, o.NoRestartsDuration = canary.Manual, nil, nil })
}

// CanaryOn adds a label that canary nodes must have (C1). Several are ANDed. Without it any node may be one.
func CanaryOn(key, value string) SpecOption {
	return tried(func(o *canary.Options) {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		if old := o.NodeSelector; old != nil {
			selector.MatchLabels, selector.MatchExpressions = objects.With(old.MatchLabels, key, value), old.MatchExpressions
		}
		o.NodeSelector = selector
	})
}

// CanarySpread spreads canary nodes over the values of these labels (C1), in the place of those before. Without keys, and
// without it, they are not spread.
func CanarySpread(keys ...string) SpecOption {
	return tried(func(o *canary.Options) { o.NodeAntiAffinityKeys = slices.Clone(keys) })
}

// AutoPause sets when a canary is paused (C3). Without it, and for the zero options, that is after more than two restarts of a
// pod, and if one cannot start.
func AutoPause(options canary.AutoPause) SpecOption {
	return tried(func(o *canary.Options) { o.AutoPause = options })
}

// AutoFail sets when a revision is given up (C4). Without it, and for the zero options, that is after more than five restarts
// of a pod.
func AutoFail(options canary.AutoFail) SpecOption {
	return tried(func(o *canary.Options) { o.AutoFail = options })
}

// Command gives the commands that are in force, in the place of those before (C5). Without it there are none.
func Command(commands canary.Commands) SpecOption {
	return tried(func(o *canary.Options) { o.Commands = commands })
}

// tried changes the options of the canary. The specs that options are applied to may share theirs.
func tried(change func(*canary.Options)) SpecOption {
	return func(s *rollout.Spec) {
		var options canary.Options
		if s.Strategy.Canary != nil {
			options = *s.Strategy.Canary
		}
		change(&options)
		s.Strategy.Canary = &options
	}
}

// SlowStart lets rollouts gather speed (B7): the limit begins at increase, rises by as much at each interval, and ends at
// maxParallel. Both are "2", or a percentage such as "10%". Without it a rollout has full speed from the start.
func SlowStart(interval time.Duration, increase, maxParallel string) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.SlowStart = &rollout.SlowStart{
			Interval: interval, Increase: new(intstr.Parse(increase)), MaxParallel: new(intstr.Parse(maxParallel)),
		}
	}
}

// MaxUnschedulable leaves so many nodes out of the budgets on which no pod can run anyway (B8): "2", or a percentage such as
// "10%", rounded up. Without it none is left out.
func MaxUnschedulable(quantity string) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = new(intstr.Parse(quantity)) }
}

// Override adds overrides of resources on some nodes (P8). Without any it does nothing.
func Override(overrides ...placement.Override) SpecOption {
	return func(s *rollout.Spec) { s.Overrides = append(slices.Clip(s.Overrides), overrides...) }
}
