package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// combined is the configuration of some features together, on two nodes.
func combined(of ...feature) *Configuration { return onNodes(2, of...) }

func onNodes(nodes int, of ...feature) *Configuration {
	c := &Configuration{Nodes: nodes, MaxDown: 1, Most: 4_000_000, Ages: []time.Duration{0}}
	c.Images = []string{"agent:v1", "agent:v2"}
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

// addSpecs makes a spec for each image and each way in which the toggles may stand: the number of a spec is that of the image,
// and as many times the number of images as the toggles say, a bit for each.
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
		c.Most = 1_000_000
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
