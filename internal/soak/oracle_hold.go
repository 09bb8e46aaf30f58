package main

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Oracles about nodes that the spec keeps from being updated. They are about what the controller sees: what it does not, no
// plan can heed. With a canary nodes may go back past most holds (C7), so these oracles leave it out.

// begins lists the nodes whose only live pod is an outdated one that is Ready and in nobody's hands, and which the plan
// begins to update: by deleting it, by another beside it, or in place.
func (c *checker) begins(step *simulate.Step) []string {
	update := updateOf(&step.Plan)
	lives := map[string][]*corev1.Pod{}
	for _, p := range step.Snapshot.Pods {
		if live(p) {
			lives[nodeOf(p)] = append(lives[nodeOf(p)], p)
		}
	}
	for i := range step.Snapshot.InFlight.Creates {
		node := step.Snapshot.InFlight.Creates[i].Node
		lives[node] = append(lives[node], nil)
	}
	healthy := func(node string) *corev1.Pod {
		pods := lives[node]
		if !c.runs[node] || len(pods) != 1 || pods[0] == nil || !isReady(pods[0]) || hashOf(pods[0]) == update {
			return nil
		}
		switch lifecycle.StateOf(pods[0]) {
		case lifecycle.Normal, "":
			return pods[0]
		default:
			return nil
		}
	}
	var list []string
	for i := range step.Plan.Deletes {
		if d := &step.Plan.Deletes[i]; healthy(d.Node) != nil && healthy(d.Node).UID == d.UID {
			list = append(list, d.Node)
		}
	}
	for i := range step.Plan.Creates {
		if create := &step.Plan.Creates[i]; healthy(create.Node) != nil {
			list = append(list, create.Node)
		}
	}
	begun := map[string]bool{}
	for i := range step.Plan.Patches {
		p := &step.Plan.Patches[i]
		if pod := healthy(p.Node); pod != nil && pod.UID == p.UID && p.Revision != hashOf(pod) && !begun[p.Node] {
			begun[p.Node] = true
			list = append(list, p.Node)
		}
	}
	return list
}

// held: nodes that the strategy's selector does not match, all nodes with OnDelete, and all nodes of a paused set (V6).
func (c *checker) held(step *simulate.Step) error {
	strategy := &step.Spec.Strategy
	if strategy.Canary != nil {
		return nil
	}
	all := strategy.Type == rollout.OnDelete || strategy.Paused || strategy.Frozen
	if !all && strategy.NodeSelector == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(strategy.NodeSelector)
	if err != nil {
		return err
	}
	of := map[string]*corev1.Node{}
	for _, n := range step.Snapshot.Nodes {
		of[n.Name] = n
	}
	for _, node := range c.begins(step) {
		if all || !selector.Matches(labels.Set(of[node].Labels)) {
			return brokenAt("held node updated", node, "node %s is held, and is begun", node)
		}
	}
	return nil
}

// partitioned: as many nodes as the partition wants have an old pod and no other, as long as there are (V5). Where there are
// overrides it is not as easy to see what an old pod is (P8).
func (c *checker) partitioned(step *simulate.Step) error {
	strategy := &step.Spec.Strategy
	if strategy.Partition == nil || strategy.Canary != nil || step.Spec.Predecessor != nil || c.features["overrides"] {
		return nil
	}
	begun := c.begins(step)
	if len(begun) == 0 {
		return nil
	}
	matcher, err := placement.Compile(&step.Spec.Template)
	if err != nil {
		return err
	}
	old, updated := map[string]bool{}, map[string]bool{}
	for _, p := range step.Snapshot.Pods {
		switch {
		case !live(p):
		case hashOf(p) == updateOf(&step.Plan):
			// One that Failed, say, and is deleted now, or leaves, is of a node that can be held again (T2: after repair).
			deleted := slices.ContainsFunc(step.Plan.Deletes, func(d rollout.Delete) bool { return d.UID == p.UID })
			if !deleted && lifecycle.StateOf(p) != lifecycle.PreparingDelete {
				updated[nodeOf(p)] = true
			}
		default:
			old[nodeOf(p)] = true
		}
	}
	left := 0
	for _, n := range step.Snapshot.Nodes {
		outcome := matcher.Evaluate(n).Outcome
		empty := outcome == placement.Run && strategy.HoldRevision
		if outcome != placement.Leave && !updated[n.Name] && (old[n.Name] || empty) {
			left++
		}
	}
	if partition := resolve(strategy.Partition, 0, len(c.runs), false); left-len(begun) < partition {
		return brokenAt("held node updated", begun[0], "a partition of %d is to hold its nodes: of %d that could be held "+
			"%v are begun", partition, left, begun)
	}
	return nil
}
