package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Ending is how the trial of a revision ends.
type Ending uint8

// The endings.
const (
	// EndsOpen: it does not end. The canary nodes have the revision or are about to, all others the stable one.
	EndsOpen Ending = iota
	// EndsPromoted: the revision is promoted, and rolled out.
	EndsPromoted
	// EndsFailed: the revision is given up, and all nodes are at the stable one.
	EndsFailed

	endings // count
)

// String is the ending in one word.
func (e Ending) String() string {
	if e >= endings {
		return "unknown"
	}
	return [endings]string{"open", "promoted", "failed"}[e]
}

// CheckCanary checks every plan on the way of a world with a [CanaryWatch], wherever it leads: pods may crash for ever, and
// mishaps befall the cluster. The planner of each spec comes from the function: mishaps may pause the set.
func CheckCanary(planner func(rollout.Spec) (PlanFunc, error), w World) error {
	c, run, err := w.live(planner)
	if err != nil {
		return err
	}
	_, err = run(c.Steps())
	return err
}

// CheckCanaryEnds checks what [CheckCanary] does, and that the world ends as it is said to. After its mishaps all that can be
// put right is: lost nodes are found, and the set is not paused. Then the cluster settles within [Cluster.Steps], and
//   - the marks of the update revision are those of the ending (C6), and it was marked as promoted at most once;
//   - promoted: the cluster is as [CheckLive] demands;
//   - failed: every node that is to run the pod has exactly one, at the stable revision, with the resources of the node, and
//     available, whatever partition and selector say (C7);
//   - open: the same, but for nodes that the last plan calls canary nodes, and those that were until they might not be any
//     more, which have the revision on trial or none;
//   - promoted or failed: the plan stays empty, an hour and a year later, and with the memory lost.
//
// The spec must be [objects.Rolling], its behavior fair but for the revision on trial.
func CheckCanaryEnds(planner func(rollout.Spec) (PlanFunc, error), w World, ending Ending) error {
	c, run, err := w.live(planner)
	if err != nil {
		return err
	}
	begin := c.Snapshot()
	c.recover()
	steps := c.Steps()
	r, err := run(steps)
	switch {
	case err != nil:
		return err
	case !r.Settled:
		return fmt.Errorf("V16: %w after %d steps; last plan: %s\n%s", errUnsettled, steps, actions(r.Plan), recent(c))
	}
	f, err := factsOf(c.spec, r.Snapshot)
	if err != nil {
		return err
	}
	if err := errors.Join(c.checkMarks(f, ending), c.checkEnding(f, r, begin, ending)); err != nil {
		return fmt.Errorf("settled after %d steps, but %w\n%s", r.Steps, err, recent(c))
	}
	if ending == EndsOpen {
		return nil
	}
	plan, err := planner(c.spec)
	if err != nil {
		return err
	}
	return c.checkStaysEmpty(plan, r)
}

// live begins a world, and lets its mishaps come about. What is returned goes on from there for so many steps.
func (w World) live(planner func(rollout.Spec) (PlanFunc, error)) (*Cluster, func(int) (Result, error), error) {
	c, err := NewCluster(w.Spec, w.Snapshot, w.Behavior)
	if err != nil {
		return nil, nil, err
	}
	watch := new(CanaryWatch)
	run := func(steps int) (Result, error) {
		spec := c.spec
		plan, err := planner(spec)
		if err != nil {
			return Result{}, err
		}
		r, err := c.Run(plan, steps, func(s rollout.Snapshot, p rollout.Plan) error { return watch.Check(spec, s, p) })
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, recent(c))
		}
		return r, err
	}
	for _, m := range w.Mishaps {
		if _, err := run(m.After); err != nil {
			return nil, nil, fmt.Errorf("before %s: %w", m.Kind, err)
		}
		c.Befall(m)
	}
	return c, run, nil
}

// recover puts right what mishaps have done and somebody can mend.
func (c *Cluster) recover() {
	for _, node := range slices.Clone(c.behavior.Silent) {
		c.Befall(Mishap{Kind: FindNode, Node: node})
	}
	c.Befall(Mishap{Kind: UnpauseSet})
}

// checkMarks compares what stands on the update revision with the ending.
func (c *Cluster) checkMarks(f *canaryFacts, ending Ending) error {
	if promoted := f.promoted; promoted != (ending == EndsPromoted) {
		return fmt.Errorf("C6: revision %s is promoted: %t, and should be %s", f.name, promoted, ending)
	}
	if failed := f.failed != ""; failed != (ending == EndsFailed) {
		return fmt.Errorf("C6: revision %s has failed: %t, and should be %s", f.name, failed, ending)
	}
	marks := 0
	for _, e := range c.events {
		if e.Kind == RevisionAnnotated && e.Object == f.name && strings.Contains(e.Detail, history.PromotedAnnotation+"=") {
			marks++
		}
	}
	if marks > 1 {
		return fmt.Errorf("C6: revision %s was promoted %d times", f.name, marks)
	}
	return nil
}

// checkEnding looks at the nodes.
func (c *Cluster) checkEnding(f *canaryFacts, r Result, begin rollout.Snapshot, ending Ending) error {
	if ending == EndsPromoted {
		return c.arrived(begin)
	}
	stable := r.Plan.Canary.Stable
	if f.update[stable] || stable == "" {
		return fmt.Errorf("C6: %q is the stable revision, and is the one on trial", stable)
	}
	for _, node := range sortedKeys(c.nodes) {
		if !f.run[node] || ending == EndsOpen && (slices.Contains(r.Plan.Canary.Nodes, node) || f.holdsUpdate(node)) {
			continue
		}
		pods := c.PodsOn(node)
		if len(pods) != 1 || pods[0].DeletionTimestamp != nil {
			return fmt.Errorf("C7: node %s has %d pods, and should have one that stays", node, len(pods))
		}
		p := pods[0]
		by := placement.Overridden{}
		for _, revision := range c.revisions {
			if template, err := history.Template(revision); err == nil && history.HashOf(revision) == stable {
				by = objects.Effect(&c.spec, template, c.nodes[node])
			}
		}
		switch {
		case objects.RevisionOf(p) != stable:
			return fmt.Errorf("C7: node %s has pod %s of revision %s, and should have one of %s",
				node, p.Name, objects.RevisionOf(p), stable)
		case !lifecycle.Ready(p) || ending == EndsFailed && !lifecycle.Available(p, c.spec.MinReadySeconds, c.now):
			return fmt.Errorf("C7: node %s has pod %s, which is not available", node, p.Name)
		case ending == EndsFailed && len(by.Malformed) == 0 && p.Annotations[placement.DigestAnnotation] != by.Digest:
			return fmt.Errorf("P8: node %s has pod %s, whose resources are not those of its node", node, p.Name)
		}
	}
	return nil
}

// checkStaysEmpty plans again later, and without memory.
func (c *Cluster) checkStaysEmpty(plan PlanFunc, r Result) error {
	for _, later := range []time.Duration{0, time.Hour, 365 * 24 * time.Hour} {
		for _, memory := range []rollout.Memory{r.Plan.Memory, {}} {
			s := c.Snapshot()
			s.Now, s.Memory = s.Now.Add(later), memory
			switch p, err := plan(s); {
			case err != nil:
				return fmt.Errorf("V16: settled, but %v later: %w", later, err)
			case !p.Empty():
				return fmt.Errorf("V16: settled, but %v later the plan has %d actions: %s", later, Actions(p), actions(p))
			}
		}
	}
	return nil
}
