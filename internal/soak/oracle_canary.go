package main

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// trial is what is known of a revision that appeared while an older one ran.
type trial struct {
	// since is when it appeared, befell how many events on nodes there were by then.
	since  time.Duration
	befell int
	// watched: no verdict can have been given before the shortest duration that any spec since then has asked for is over.
	watched bool
	least   time.Duration
	wanted  int
}

// tried holds new revisions to their canary (V6, C1, C2): until the time of the canary is over, no more nodes have the
// revision than the canary is to have, and one for each event on a node, which may have let another take its place.
func (c *checker) tried(step *simulate.Step) error {
	update := updateOf(&step.Plan)
	t := c.trials[update]
	if t == nil {
		t = &trial{since: step.At, befell: c.befell, least: 365 * 24 * time.Hour, watched: c.isNew(update, step)}
		c.trials[update] = t
	}
	options := step.Spec.Strategy.Canary
	if t.watched = t.watched && options != nil; !t.watched {
		return nil
	}
	o := options.Default()
	if o.Mode != canary.Manual {
		t.least = min(t.least, *o.Duration)
	}
	t.wanted = max(t.wanted, resolve(o.Replicas, 1, len(c.runs), true), 1)
	if step.At-t.since >= t.least {
		return nil
	}
	c.features["canary watched"] = true
	has := map[string]bool{}
	for _, p := range c.sim.Pods() {
		if live(p) && hashOf(p) == update {
			has[nodeOf(p)] = true
		}
	}
	for i := range step.Plan.Creates {
		if create := &step.Plan.Creates[i]; create.Revision == update {
			has[create.Node] = true
		}
	}
	if limit := t.wanted + c.befell - t.befell; len(has) > limit {
		return brokenAt("canary skipped", "", "%v after revision %s appeared %d nodes have it or are to; its canary is of %d",
			step.At-t.since, update, len(has), t.wanted)
	}
	return nil
}

// isNew reports whether the revision was never in force, an older one runs or is in the history, and nobody is going to say that
// it is good.
func (c *checker) isNew(update string, step *simulate.Step) bool {
	fleet := &c.scenario.Fleet
	if step.Spec.Predecessor != nil || fleet.Running == nil || rollouttest.Hash(*fleet.Running) == update {
		return false
	}
	validates := func(spec *rollout.Spec) bool {
		return spec != nil && spec.Strategy.Canary != nil && spec.Strategy.Canary.Commands.Validate != ""
	}
	if validates(&c.scenario.Spec) {
		return false
	}
	for i := range c.scenario.Events {
		if e := &c.scenario.Events[i]; e.Commands.Validate != "" || validates(e.Spec) {
			return false
		}
	}
	return slices.ContainsFunc(step.Snapshot.Pods, func(p *corev1.Pod) bool { return live(p) && hashOf(p) != update }) ||
		slices.ContainsFunc(step.Snapshot.Revisions, func(r *appsv1.ControllerRevision) bool {
			return history.HashOf(r) != update && !history.Failed(r)
		})
}
