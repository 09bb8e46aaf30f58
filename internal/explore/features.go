package main

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// forever is longer than any time that a rule asks for without saying so in its configuration.
const forever = 40 * time.Minute

// feature is one thing that a spec may ask for, with what may happen because of it.
type feature struct {
	name    string
	options []kit.SpecOption
	toggles []toggle
	ages    []time.Duration // between 0 and forever
	labels  map[string]string
	troubles
	exempt     int
	quarantine bool
	third      bool // there is a third image
	broken     bool // pods of the second image are never Ready
	staged     bool // the label ring decides about the part of a node
	blames     bool
	calm       bool // what happens in any configuration is left out, because there are too many states with it
}

// troubles are how many of each may come.
type troubles map[trouble]int8

// toggle is something that a user turns on and off while the set is there. The hash is that of the new revision.
type toggle struct {
	on, off string
	option  func(hash string) kit.SpecOption
	fair    bool // it comes some day, and stays
}

func always(option kit.SpecOption) func(string) kit.SpecOption {
	return func(string) kit.SpecOption { return option }
}

func command(name string, set func(commands *canary.Commands, hash string)) toggle {
	return toggle{
		on: "command " + name, off: "no command " + name,
		option: func(hash string) kit.SpecOption {
			return func(s *rollout.Spec) {
				o := s.Strategy.Canary.DeepCopy()
				set(&o.Commands, hash)
				s.Strategy.Canary = &o
			}
		},
	}
}

// features by themselves and in pairs are what is explored.
func features() []feature { return slices.Concat(strategies(), policies(), circumstances()) }

// ten seconds are an age that some rules ask for.
var ten = []time.Duration{10 * time.Second}

// each gives each node another value of a label.
func each(key string) map[string]string {
	return map[string]string{nodeName(0): key + "=0", nodeName(1): key + "=1", nodeName(2): key + "=2"}
}

// strategies are the ways of a rollout.
func strategies() []feature {
	hook := kit.HookLabel("hook", "on")
	hooked := kit.PodTemplateLabel("hook", "on")
	return []feature{
		{name: "maxUnavailable 2", options: []kit.SpecOption{kit.MaxUnavailable("2")}},
		{name: "maxSurge", options: []kit.SpecOption{kit.MaxSurge("1")}, calm: true},
		{name: "partition", options: []kit.SpecOption{kit.Partition("1")}, toggles: []toggle{
			{on: "spec partition=0", off: "spec partition=1", option: always(kit.Partition("0"))},
		}},
		{
			name: "selector", options: []kit.SpecOption{kit.StrategyNodeSelector("pool", "a")},
			labels: map[string]string{nodeName(0): "pool=a"},
		},
		{name: "OnDelete", options: []kit.SpecOption{kit.OnDelete()}, troubles: troubles{podDeleted: 2}, calm: true},
		{name: "paused", toggles: []toggle{{on: "spec paused=true", off: "spec paused=false", option: always(kit.Paused())}}},
		{name: "frozen", toggles: []toggle{{on: "spec frozen=true", off: "spec frozen=false", option: always(kit.Frozen())}}},
		{name: "in place", options: []kit.SpecOption{kit.InPlaceIfPossible()}, calm: true},
		{name: "preDelete hook", options: []kit.SpecOption{kit.PreDeleteHook(hook), hooked}},
		{
			name: "inPlaceUpdate hook", calm: true,
			options: []kit.SpecOption{kit.InPlaceIfPossible(), kit.InPlaceUpdateHook(hook), hooked},
		},
		{name: "canary", options: []kit.SpecOption{kit.Canary("1"), kit.CanaryManual()}, toggles: []toggle{
			command("validate", func(c *canary.Commands, hash string) { c.Validate = hash }),
			command("fail", func(c *canary.Commands, hash string) { c.Fail = hash }),
			command("pause", func(c *canary.Commands, hash string) { c.Pause = hash }),
			command("retry", func(c *canary.Commands, hash string) { c.Retry = hash }),
		}},
		{
			name:    "canary by the clock",
			options: []kit.SpecOption{kit.Canary("1"), kit.CanaryFor(20*time.Second, 10*time.Second)},
			ages:    []time.Duration{10 * time.Second, 20 * time.Second}, troubles: troubles{podCrashes: 1}, calm: true,
			toggles: []toggle{command("unpause", func(c *canary.Commands, hash string) { c.Unpause = hash })},
		},
		{name: "slow start", options: []kit.SpecOption{kit.SlowStart(10*time.Second, "1", "1")}, ages: ten},
		{name: "holdRevision", options: []kit.SpecOption{kit.HoldRevision()}},
		{name: "minReadySeconds", options: []kit.SpecOption{kit.MinReadySeconds(10)}, ages: ten},
	}
}

// policies are those for fleets.
func policies() []feature {
	tardy := troubles{late: 1} // a deadline passes although pods could have come up
	staged := func(name string, of stage.Stage) feature {
		of.Name, of.Key = "ring", "ring"
		return feature{name: name, options: []kit.SpecOption{kit.Stages(of)}, labels: each("ring"), staged: true}
	}
	failing := func(name string, options failure.Options) feature {
		return feature{name: name, options: []kit.SpecOption{kit.Failures(options)}, troubles: tardy, blames: true, calm: true}
	}
	soak := staged("stages with soak", stage.Stage{Soak: 10 * time.Second})
	soak.ages = ten
	moving := staged("stages of nodes that move", stage.Stage{})
	moving.troubles, moving.calm = troubles{nodeRelabelled: 1}, true
	approved := staged("stages with approval", stage.Stage{Approval: true})
	approved.toggles = []toggle{{on: "approve ring", fair: true, option: func(hash string) kit.SpecOption {
		return kit.Approve(stage.Approval{Stage: "ring", Revision: hash})
	}}}
	pause := failing("failures", failure.Options{Action: failure.Pause})
	rollback := failing("rollback", failure.Options{Action: failure.Rollback})
	pause.broken, rollback.broken = true, true
	restarts := failing("restarts", failure.Options{Action: failure.Rollback, MaxRestarts: new(int32(1))})
	restarts.troubles = troubles{podCrashes: 2}
	one := new(intstr.FromInt32(1))
	quarantine := failing("quarantine", failure.Options{MaxFailed: one, Quarantine: one})
	quarantine.exempt, quarantine.quarantine = 1, true
	return []feature{
		staged("stages", stage.Stage{}), soak, moving, approved,
		{
			name:    "domains",
			options: []kit.SpecOption{kit.MaxUnavailable("2"), kit.Domains(domain.Domain{Key: "rack", AtOnce: 1})},
			labels:  each("rack"),
		},
		{name: "outages", options: []kit.SpecOption{kit.MaxExempt("1")}, troubles: troubles{nodeDown: 1}, exempt: 1, calm: true},
		{
			name: "departing", options: []kit.SpecOption{kit.Outages(outage.Options{})}, troubles: troubles{nodeDeparts: 1},
			calm: true,
		},
		pause, rollback, restarts, quarantine,
	}
}

// circumstances are what a rollout may meet with.
func circumstances() []feature {
	more := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
	override := kit.Override(placement.Override{
		Name: "more", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"size": "0"}},
		Containers: map[string]corev1.ResourceRequirements{"main": more},
	})
	return []feature{
		{name: "three revisions", third: true, calm: true},
		{name: "pods that break", troubles: troubles{podBreaks: 1}, calm: true},
		{name: "broken revision", broken: true},
		{
			name: "overrides", labels: each("size"),
			toggles: []toggle{{on: "override cpu on node-0", off: "no override", option: always(override)}},
		},
		{name: "back-offs", ages: []time.Duration{time.Second, 2 * time.Second}, troubles: troubles{podFails: 3}, calm: true},
		{name: "watch that lags", troubles: troubles{watchLags: 2}},
		{name: "late kubelets", troubles: troubles{late: 1}},
	}
}
