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

// Canary tries new revisions on so many nodes first (C1): "2", or a percentage such as "10%".
func Canary(replicas string) SpecOption {
	return tried(func(o *canary.Options) { o.Replicas = new(intstr.Parse(replicas)) })
}

// CanaryFor sets how long canary pods must be available, and how long without restarts, before promotion (C2).
func CanaryFor(duration, noRestarts time.Duration) SpecOption {
	return tried(func(o *canary.Options) {
		o.Mode, o.Duration, o.NoRestartsDuration = canary.Auto, new(duration), new(noRestarts)
	})
}

// CanaryManual promotes by command only (C2).
func CanaryManual() SpecOption {
	return tried(func(o *canary.Options) { o.Mode, o.Duration, o.NoRestartsDuration = canary.Manual, nil, nil })
}

// CanaryOn adds a label that canary nodes must have (C1).
func CanaryOn(key, value string) SpecOption {
	return tried(func(o *canary.Options) {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		if old := o.NodeSelector; old != nil {
			selector.MatchLabels, selector.MatchExpressions = objects.With(old.MatchLabels, key, value), old.MatchExpressions
		}
		o.NodeSelector = selector
	})
}

// CanarySpread spreads canary nodes over the values of these labels (C1).
func CanarySpread(keys ...string) SpecOption {
	return tried(func(o *canary.Options) { o.NodeAntiAffinityKeys = slices.Clone(keys) })
}

// AutoPause sets when a canary is paused (C3).
func AutoPause(options canary.AutoPause) SpecOption {
	return tried(func(o *canary.Options) { o.AutoPause = options })
}

// AutoFail sets when a revision is given up (C4).
func AutoFail(options canary.AutoFail) SpecOption {
	return tried(func(o *canary.Options) { o.AutoFail = options })
}

// Command gives the commands that are in force, in the place of those before (C5).
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

// SlowStart lets rollouts gather speed (B7): increase and maxParallel are "2", or a percentage such as "10%".
func SlowStart(interval time.Duration, increase, maxParallel string) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.SlowStart = &rollout.SlowStart{
			Interval: interval, Increase: new(intstr.Parse(increase)), MaxParallel: new(intstr.Parse(maxParallel)),
		}
	}
}

// MaxUnschedulable leaves so many nodes out of the budgets (B8): "2", or a percentage such as "10%".
func MaxUnschedulable(quantity string) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = new(intstr.Parse(quantity)) }
}

// Override adds overrides of resources (P8).
func Override(overrides ...placement.Override) SpecOption {
	return func(s *rollout.Spec) { s.Overrides = append(slices.Clip(s.Overrides), overrides...) }
}
