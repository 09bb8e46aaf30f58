package main

import (
	"fmt"
	"slices"
	"strings"
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
func features() []feature {
	hook := kit.HookLabel("hook", "on")
	hooked := kit.PodTemplateLabel("hook", "on")
	ten := []time.Duration{10 * time.Second}
	one := new(intstr.FromInt32(1))
	each := func(key string) map[string]string {
		return map[string]string{nodeName(0): key + "=0", nodeName(1): key + "=1", nodeName(2): key + "=2"}
	}
	failures := func(options failure.Options) []kit.SpecOption { return []kit.SpecOption{kit.Failures(options)} }
	evicted := troubles{podEvicted: 1, late: 1}
	return []feature{
		{name: "maxUnavailable 2", options: []kit.SpecOption{kit.MaxUnavailable("2")}},
		{name: "maxSurge", options: []kit.SpecOption{kit.MaxSurge("1")}},
		{name: "partition", options: []kit.SpecOption{kit.Partition("1")}, toggles: []toggle{
			{on: "spec partition=0", off: "spec partition=1", option: always(kit.Partition("0"))},
		}},
		{
			name: "selector", options: []kit.SpecOption{kit.UpdateSelector("pool", "a")},
			labels: map[string]string{nodeName(0): "pool=a"},
		},
		{name: "OnDelete", options: []kit.SpecOption{kit.OnDelete()}, troubles: troubles{podDeleted: 2}},
		{name: "paused", toggles: []toggle{{on: "spec paused=true", off: "spec paused=false", option: always(kit.Paused())}}},
		{name: "frozen", toggles: []toggle{{on: "spec frozen=true", off: "spec frozen=false", option: always(kit.Frozen())}}},
		{name: "in place", options: []kit.SpecOption{kit.InPlace()}},
		{name: "preDelete hook", options: []kit.SpecOption{kit.PreDelete(hook), hooked}},
		{name: "inPlaceUpdate hook", calm: true, options: []kit.SpecOption{kit.InPlace(), kit.InPlaceUpdate(hook), hooked}},
		{name: "canary", options: []kit.SpecOption{kit.Canary("1"), kit.CanaryManual()}, toggles: []toggle{
			command("validate", func(c *canary.Commands, hash string) { c.Validate = hash }),
			command("fail", func(c *canary.Commands, hash string) { c.Fail = hash }),
			command("pause", func(c *canary.Commands, hash string) { c.Pause = hash }),
			command("retry", func(c *canary.Commands, hash string) { c.Retry = hash }),
		}},
		{
			calm: true, name: "canary by the clock", options: []kit.SpecOption{kit.Canary("1"), kit.CanaryFor(20*time.Second, 10*time.Second)},
			ages: []time.Duration{10 * time.Second, 20 * time.Second}, troubles: troubles{podCrashes: 1},
			toggles: []toggle{command("unpause", func(c *canary.Commands, hash string) { c.Unpause = hash })},
		},
		{name: "slow start", options: []kit.SpecOption{kit.SlowStart(10*time.Second, "1", "1")}, ages: ten},
		{
			name: "stages", options: []kit.SpecOption{kit.Stages(stage.Stage{Name: "ring", Key: "ring"})},
			labels: each("ring"), staged: true,
		},
		{
			name: "stages with soak", options: []kit.SpecOption{kit.Stages(stage.Stage{Name: "ring", Key: "ring", Soak: 10 * time.Second})},
			labels: each("ring"), staged: true, ages: ten,
		},
		{
			calm: true, name: "stages of nodes that move", options: []kit.SpecOption{kit.Stages(stage.Stage{Name: "ring", Key: "ring"})},
			labels: each("ring"), staged: true, troubles: troubles{nodeRelabelled: 1},
		},
		{
			name:    "stages with approval",
			options: []kit.SpecOption{kit.Stages(stage.Stage{Name: "ring", Key: "ring", Approval: true})},
			toggles: []toggle{{on: "approve ring", fair: true, option: func(hash string) kit.SpecOption {
				return kit.Approve(stage.Approval{Stage: "ring", Revision: hash})
			}}},
			labels: each("ring"), staged: true,
		},
		{
			name:    "domains",
			options: []kit.SpecOption{kit.MaxUnavailable("2"), kit.Domains(domain.Domain{Key: "rack", AtOnce: 1})},
			labels:  each("rack"),
		},
		{name: "outages", calm: true, options: []kit.SpecOption{kit.MaxExempt("1")}, troubles: troubles{nodeDown: 1}, exempt: 1},
		{name: "departing", calm: true, options: []kit.SpecOption{kit.Outages(outage.Options{})}, troubles: troubles{nodeDeparts: 1}},
		{name: "failures", calm: true, options: failures(failure.Options{Action: failure.Pause}), troubles: evicted, broken: true, blames: true},
		{name: "rollback", calm: true, options: failures(failure.Options{Action: failure.Rollback}), troubles: evicted, broken: true, blames: true},
		{
			calm: true, name: "restarts", options: failures(failure.Options{Action: failure.Rollback, MaxRestarts: new(int32(1))}),
			troubles: troubles{podCrashes: 2}, blames: true,
		},
		{
			calm: true, name: "quarantine", options: failures(failure.Options{MaxFailed: one, Quarantine: one}), troubles: evicted,
			exempt: 1, quarantine: true, blames: true,
		},
		{name: "three revisions", calm: true, third: true},
		{name: "pods that break", calm: true, troubles: troubles{podBreaks: 1}},
		{name: "broken revision", broken: true},
		{name: "overrides", toggles: []toggle{{on: "override cpu on node-0", off: "no override", option: always(kit.Override(placement.Override{
			Name: "more", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"size": "0"}},
			Containers: map[string]corev1.ResourceRequirements{"main": {Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}},
		}))}}, labels: each("size")},
		{name: "back-offs", calm: true, ages: []time.Duration{time.Second, 2 * time.Second}, troubles: troubles{podFails: 3}},
		{name: "watch that lags", troubles: troubles{watchLags: 2}},
		{name: "late kubelets", troubles: troubles{late: 1}},
		{name: "holdRevision", options: []kit.SpecOption{kit.HoldRevision()}},
		{name: "minReadySeconds", options: []kit.SpecOption{kit.MinReadySeconds(10)}, ages: ten},
	}
}

// combined is the configuration of some features together, on two nodes.
func combined(of ...feature) *Configuration { return onNodes(2, of...) }

func onNodes(nodes int, of ...feature) *Configuration {
	c := &Configuration{Nodes: nodes, MaxDown: 1, Most: 4_000_000, Ages: []time.Duration{0}, Images: []string{"agent:v1", "agent:v2"}}
	c.Troubles = [kindsOfTrouble]int8{userChanges: 2, podFails: 1, podUnready: 1, partly: 1, memoryLost: 1}
	var names []string
	var options []kit.SpecOption
	var toggles []toggle
	for _, f := range of {
		names = append(names, f.name)
		options = append(options, f.options...)
		toggles = append(toggles, f.toggles...)
		c.Ages = append(c.Ages, f.ages...)
		for kind, n := range f.troubles {
			c.Troubles[kind] = max(c.Troubles[kind], n)
		}
		c.Quarantine = c.Quarantine || f.quarantine
		c.Blame = c.Blame || f.blames
		if f.third || f.broken { // what is broken a third one mends
			c.Images = []string{"agent:v1", "agent:v2", "agent:v3"}
		}
		if f.broken {
			c.Broken = c.Images[1]
		}
		if f.staged {
			c.Ring = "ring"
		}
		c.Exempt = max(c.Exempt, f.exempt)
		for node, label := range f.labels {
			c.label(node, label)
		}
	}
	c.Name = strings.Join(names, " + ")
	if c.Name == "" {
		c.Name = "maxUnavailable 1"
	}
	if nodes != 2 {
		c.Name += fmt.Sprintf(" on %d nodes", nodes)
	}
	slices.Sort(c.Ages)
	c.Ages = append(slices.Compact(c.Ages), forever)
	c.Ticks = c.Ages[1:]
	c.addSpecs(options, toggles)
	switch strategy := &c.Specs[0].Strategy; {
	case strategy.MaxSurge != nil:
		c.MaxDown, c.Surge = 0, strategy.MaxSurge.IntValue()
	case strategy.MaxUnavailable != nil:
		c.MaxDown = strategy.MaxUnavailable.IntValue()
	}
	return c
}

func (c *Configuration) label(node, label string) {
	if c.Labels == nil {
		c.Labels = make([]map[string]string, c.Nodes)
	}
	for i := range c.Nodes {
		if c.Labels[i] == nil {
			c.Labels[i] = map[string]string{}
		}
		if nodeName(i) == node {
			key, value, _ := strings.Cut(label, "=")
			c.Labels[i][key] = value
		}
	}
}

// addSpecs makes a spec for each image and each way in which the toggles may stand: the number of a spec is that of the image, and
// as many times the number of images as the toggles say, a bit for each.
func (c *Configuration) addSpecs(options []kit.SpecOption, toggles []toggle) {
	with := func(image int, more ...kit.SpecOption) rollout.Spec {
		return kit.Spec("agent", append(append(slices.Clone(options), more...), kit.Image(c.Images[image]))...)
	}
	hash := kit.Hash(with(1))
	images := len(c.Images)
	for number := range images << len(toggles) {
		image, stand := number%images, number/images
		var on []kit.SpecOption
		for i, t := range toggles {
			if stand>>i&1 == 1 {
				on = append(on, t.option(hash))
			}
		}
		c.Specs = append(c.Specs, with(image, on...))
		for other, name := range c.Images {
			if other != image {
				_, tag, _ := strings.Cut(name, ":")
				c.Changes = append(c.Changes, change{number, number - image + other, false, "spec image=" + tag})
			}
		}
		for i, t := range toggles {
			bit := images << i
			switch on := stand>>i&1 == 1; {
			case !on:
				c.Changes = append(c.Changes, change{number, number + bit, t.fair, t.on})
			case !t.fair:
				c.Changes = append(c.Changes, change{number, number - bit, false, t.off})
			}
		}
	}
}

// configurations lists what is explored.
func configurations() []*Configuration {
	all := []*Configuration{combined()}
	for _, f := range features() {
		c := combined(f)
		if f.calm {
			c.calm()
		}
		all = append(all, c)
	}
	for _, c := range all {
		c.Order = true
	}
	return all
}

// pairs lists each two features together.
func pairs() []*Configuration {
	var all []*Configuration
	list := features()
	for i := range list {
		for j := range i {
			c := combined(list[j], list[i])
			c.calm()
			all = append(all, c)
		}
	}
	return all
}

// more lists chosen features together, three at a time, and three nodes.
func more() []*Configuration {
	by := map[string]feature{}
	for _, f := range features() {
		by[f.name] = f
	}
	by["canary on ring 1"] = feature{
		name: "canary on ring 1", options: []kit.SpecOption{kit.Canary("1"), kit.CanaryManual(), kit.CanaryOn("ring", "1")},
		toggles: []toggle{command("validate", func(c *canary.Commands, hash string) { c.Validate = hash })},
	}
	var all []*Configuration
	add := func(nodes int, names ...string) {
		var of []feature
		for _, name := range names {
			of = append(of, by[name])
		}
		c := onNodes(nodes, of...)
		c.calm()
		all = append(all, c)
	}
	add(2, "maxSurge", "preDelete hook", "quarantine")
	add(2, "maxSurge", "preDelete hook", "three revisions", "pods that break")
	add(2, "stages", "outages", "pods that break")
	add(2, "maxSurge", "preDelete hook", "broken revision")
	add(2, "stages with soak", "canary by the clock", "broken revision")
	add(2, "stages with approval", "rollback", "outages")
	add(2, "in place", "inPlaceUpdate hook", "watch that lags")
	add(3)
	add(3, "maxSurge")
	add(3, "partition")
	add(3, "stages")
	add(3, "broken revision")
	add(3, "stages with soak", "canary on ring 1")
	return all
}

// calm takes away what happens in any configuration, and leaves what its features are about.
func (c *Configuration) calm() {
	c.Troubles[podUnready], c.Troubles[partly], c.Troubles[memoryLost] = 0, 0, 0
}
