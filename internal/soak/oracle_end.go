package main

import (
	"fmt"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Oracles about a run as a whole.

// nodeCount counts what happened to a node.
type nodeCount struct{ befell, creates int }

func (c *checker) node(name string) *nodeCount {
	n := c.nodes[name]
	if n == nil {
		n = &nodeCount{}
		c.nodes[name] = n
	}
	return n
}

// thrash: a node gets a pod when it joins, when the spec or the verdict on a revision changes, or when something befell it
// (V17). What may take two steps, there and back, is counted three times. Where pods fail they are replaced without end.
func (c *checker) thrash(r *simulate.Record) *broken {
	if r.Kind != simulate.PodCreated {
		return nil
	}
	n := c.node(r.Node)
	n.creates++
	for i := range c.scenario.Model.Kubelets {
		if !c.scenario.Model.Kubelets[i].Fail.IsZero() {
			return nil
		}
	}
	if most := 3 + 3*(c.changes+n.befell); n.creates > most {
		return brokenAt("thrash", r.Node, "node %s is given its pod no. %d; there were %d changes of the set and %d events "+
			"on the node", r.Node, n.creates, c.changes, n.befell)
	}
	return nil
}

// live: once the world is calm, and if nothing in it is meant to hang, every node comes to where it is to end (V16).
func (c *checker) live(report *simulate.Report) error {
	if !c.fair() {
		return nil
	}
	c.features["fair"] = true
	if report.End == simulate.EndDone {
		return nil
	}
	found := &broken{oracle: "stuck", text: fmt.Sprintf("nothing keeps it from its end; it is %s\n%s", report.End, report)}
	for _, n := range c.sim.Nodes() {
		if state := c.sim.NodeState(n.Name); found.node == "" && state != simulate.NodeNew && state != simulate.NodeOld &&
			state != simulate.NodeOutside {
			found.node = n.Name
		}
	}
	return found
}

// fair tells whether nothing keeps the last rollout of the run from its end.
func (c *checker) fair() bool {
	m := &c.scenario.Model
	if m.StubbornHooks > 0 || c.step == nil {
		return false
	}
	for i := range m.Kubelets {
		k := &m.Kubelets[i]
		if !k.Crash.IsZero() && k.Crashes == 0 || !k.Fail.IsZero() || k.NeverReady != nil || k.NoImage != nil {
			return false
		}
	}
	for i := range c.scenario.Fleet.Pools {
		if c.scenario.Fleet.Pools[i].Allocatable != nil {
			return false // there may be no room for what is bigger, or surges
		}
	}
	strategy := c.sim.Spec().Strategy
	if strategy.Paused || strategy.Frozen || strategy.PartitionedScaling {
		return false
	}
	return strategy.Canary == nil || c.fairCanary(strategy.Canary)
}

// fairCanary tells whether the canary comes to its end by the clock.
func (c *checker) fairCanary(options *canary.Options) bool {
	strategy := c.sim.Spec().Strategy
	switch {
	case options.Mode == canary.Manual, options.Commands != (canary.Commands{}), options.NodeSelector != nil:
		return false
	case strategy.Partition != nil, strategy.NodeSelector != nil, strategy.Method == inplace.Only:
		return false // its nodes may be held
	case c.scenario.Controller.LosesMemory && !c.scenario.Controller.Crash.IsZero():
		return false // its clock begins anew with each crash
	}
	return c.step.Plan.Canary.Phase != canary.Paused && c.step.Plan.Canary.Reason != canary.NoNodes
}
