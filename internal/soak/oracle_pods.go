package main

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Oracles about single pods.

func hashOf(p *corev1.Pod) string { return p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] }

// leaves tells whether the pod is on its way out by way of a hook.
func leaves(p *corev1.Pod) bool { return lifecycle.StateOf(p) == lifecycle.PreparingDelete }

// knowImages notes which image each revision has.
func (c *checker) knowImages() {
	know := func(spec *rollout.Spec) {
		if spec != nil {
			c.images[rollouttest.Hash(*spec)] = spec.Template.Spec.Containers[0].Image
		}
	}
	know(&c.scenario.Spec)
	know(c.scenario.Fleet.Running)
	for i := range c.scenario.Events {
		know(c.scenario.Events[i].Spec)
	}
}

// pods holds the pods of the cluster to two things, at any time: no node has two live ones of one revision (V3), and each
// is what its label says (V9). Pods with other resources count as of another revision (P8), and so do a predecessor's.
func (c *checker) pods() error {
	type kind struct{ node, hash, owner, resources string }
	seen := map[kind]string{}
	for _, p := range c.sim.Pods() {
		if !live(p) {
			continue
		}
		hash, node := hashOf(p), nodeOf(p)
		if image, ok := c.images[hash]; ok && p.Spec.Containers[0].Image != image {
			return brokenAt("not what its label says", node, "pod %s of revision %s, which has image %s, has image %s",
				p.Name, hash, image, p.Spec.Containers[0].Image)
		}
		if leaves(p) || hash == "" {
			continue
		}
		k := kind{node: node, hash: hash}
		if r := &p.Spec.Containers[0].Resources; c.features["overrides"] {
			k.resources = fmt.Sprint(r.Requests.Cpu(), r.Requests.Memory())
		}
		if owner := metav1.GetControllerOf(p); owner != nil {
			k.owner = string(owner.UID)
		}
		if other, twice := seen[k]; twice {
			return brokenAt("two pods", node, "pods %s and %s of revision %s live on node %s", other, p.Name, hash, node)
		}
		seen[k] = p.Name
	}
	return nil
}

// matches tells whether any handler of the hook is on the pod.
func matches(hook *lifecycle.Hook, p *corev1.Pod) bool {
	if hook == nil {
		return false
	}
	for key, value := range hook.Labels {
		if has, ok := p.Labels[key]; ok && has == value {
			return true
		}
	}
	return slices.ContainsFunc(hook.Finalizers, func(f string) bool { return slices.Contains(p.Finalizers, f) })
}

// hooked holds plans to deleting no pod that the controller sees to be hooked (V8).
func (c *checker) hooked(step *simulate.Step) error {
	for i := range step.Plan.Deletes {
		d := &step.Plan.Deletes[i]
		for _, p := range step.Snapshot.Pods {
			if p.UID == d.UID && matches(step.Spec.Lifecycle.PreDelete, p) {
				return brokenAt("hook ignored", d.Node, "pod %s is to be deleted and is hooked", p.Name)
			}
		}
	}
	return nil
}

// released holds the cluster to the same: handlers of preDelete are only ever taken off, so what the controller takes to be
// let go is.
func (c *checker) released(r *simulate.Record) *broken {
	if r.Kind != simulate.PodDeleted || c.step == nil {
		return nil
	}
	for _, p := range c.sim.Pods() {
		if p.Name == r.Pod && live(p) && matches(c.step.Spec.Lifecycle.PreDelete, p) {
			return brokenAt("hook ignored", r.Node, "pod %s was deleted and is hooked", p.Name)
		}
	}
	return nil
}

// frozen holds plans to leaving a frozen set alone (V7).
func (c *checker) frozen(step *simulate.Step) error {
	if n := len(step.Plan.Creates) + len(step.Plan.Deletes); step.Spec.Strategy.Frozen && n > 0 {
		return brokenAt("frozen", "", "%d pods are to be created or deleted while the set is frozen", n)
	}
	return nil
}

// counted holds the status to the cluster as it is, where the controller sees it as it is (S1).
func (c *checker) counted(step *simulate.Step) error {
	if !c.scenario.Controller.Lag.IsZero() || step.Spec.Strategy.Canary != nil || step.Spec.Predecessor != nil {
		return nil
	}
	var desired, current, ready, available, updated int
	for _, n := range c.sim.Nodes() {
		if !c.runs[n.Name] {
			continue
		}
		desired++
		var has, serves, long, fresh bool
		for _, p := range c.sim.Pods() {
			switch {
			case nodeOf(p) != n.Name:
			case live(p):
				has = true
				serves = serves || isReady(p)
				long = long || lifecycle.Available(p, step.Spec.MinReadySeconds, step.Snapshot.Now)
				fresh = fresh || hashOf(p) == updateOf(&step.Plan)
			case !lifecycle.Terminal(p):
				has = true
			}
		}
		for _, count := range []struct {
			is bool
			of *int
		}{{has, &current}, {serves, &ready}, {long, &available}, {fresh, &updated}} {
			if count.is {
				*count.of++
			}
		}
	}
	is := step.Plan.Status
	if c.features["overrides"] {
		updated = int(is.Updated) // a pod with other resources counts as of another revision (P8)
	}
	if int(is.Desired) != desired || int(is.Current) != current || int(is.Ready) != ready || int(is.Available) != available ||
		int(is.Updated) != updated {
		return brokenAt("status", "", "the status says %+v; there are %d desired, %d current, %d ready, %d available, "+
			"%d updated", is.Counts, desired, current, ready, available, updated)
	}
	return nil
}

// replanned makes the plan of now and then a step again (V13 to V15).
func (c *checker) replanned(step *simulate.Step) error {
	if c.options.every == 0 || (c.steps+int(c.scenario.Seed%1000))%c.options.every != 0 {
		return nil
	}
	var plan rollouttest.PlanFunc
	if c.scenario.Planner != nil {
		made, err := c.scenario.Planner(step.Spec)
		if err != nil {
			return err
		}
		plan = rollouttest.PlanFunc(made)
	} else {
		planner, err := rollout.New(step.Spec)
		if err != nil {
			return err
		}
		plan = planner.Plan
	}
	for _, again := range []struct {
		oracle string
		err    error
	}{
		{"impure", rollouttest.CheckPure(plan, step.Snapshot)},
		{"not idempotent", rollouttest.CheckIdempotent(step.Spec, plan, step.Snapshot)},
		{"wake", rollouttest.CheckNextWake(plan, step.Snapshot)},
	} {
		if again.err != nil {
			return &broken{again.oracle, "", again.err.Error()}
		}
	}
	return nil
}
