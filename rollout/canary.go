package rollout

import (
	"iter"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// The canary is part of step 4: it decides which nodes are to end at the update revision, and which at the stable one (C rules,
// T6). Package canary chooses the nodes and judges the trial; this file gives it what it needs and applies the result.

// tryCanary chooses the canary nodes and judges what runs there.
func (r *run) tryCanary() {
	options := r.spec.Strategy.Canary
	if options == nil {
		return
	}
	in := canary.Input{
		Now:      r.snapshot.Now,
		Revision: r.revision.Update.Hash,
		Name:     r.revision.Update.Name,
		Known:    r.known(),
		Record:   r.remembered.Canary,
		Halted:   r.halted(),
	}
	if existing := r.revision.Update.Existing; existing != nil {
		in.Annotations = existing.Annotations
		if r.revision.Promoted && !history.Promoted(existing) {
			// A duplicate of the revision was promoted. That counts more than a recorded fail, and is written here, too.
			in.Annotations, in.Record.Verdict = nil, nil
		}
	}
	if r.retriesFailed() { // the revision is tried as if it were new (F3)
		in.Annotations, in.Record = nil, canary.Record{Nodes: in.Record.Nodes}
	}
	if in.Known == canary.NotKnown {
		choice := canary.Choose(*options, r.choosing())
		in.Wanted = choice.Wanted
		in.Nodes = r.canaryNodes(choice.Nodes)
	}
	r.trial = canary.Judge(*options, in)
	r.wake(r.trial.Wake)
	if r.trial.Phase == canary.Idle {
		// A promoted revision is the stable one at once (C6). What step 3 took for the stable one, of pods (hash.stable) and of
		// creates in flight (ofStable), stays as it is: nodes have one goal now, for which these two are older revisions.
		r.revision.Stable, in.Wanted = r.revision.Update, 0
	}
	r.plan.Canary = Canary{
		Finding: r.trial.Finding, Revision: in.Revision, Stable: r.revision.Stable.Hash,
		Wanted: in.Wanted, Until: r.trial.Until, Stale: r.trial.Stale,
	}
	if !r.onTrial() {
		return
	}
	for i := range in.Nodes {
		n := r.nodeNamed(in.Nodes[i].Name)
		r.nodes[n].canary = true
		r.decision(n).Canary = true
		r.plan.Canary.Nodes = append(r.plan.Canary.Nodes, in.Nodes[i].Name)
	}
}

// onTrial reports whether the update revision is being tried.
func (r *run) onTrial() bool {
	return r.trial.Phase == canary.Running || r.trial.Phase == canary.Paused
}

// known returns why the update revision needs no trial (C6), or canary.NotKnown if it needs one.
func (r *run) known() canary.Known {
	unchanged := r.revision.Stable.Hash == r.revision.Update.Hash
	switch {
	case r.revision.First && unchanged:
		return canary.KnownFirst
	case r.revision.Promoted || unchanged:
		return canary.KnownStable
	default:
		return canary.NotKnown
	}
}

func (r *run) choosing() canary.Choosing {
	return canary.Choosing{
		Desired: r.nodeFacts.Runs,
		Chosen:  r.chosen(),
		Find: func(name string) (canary.Candidate, bool) {
			i := r.nodeNamed(name)
			if i == none {
				return canary.Candidate{}, false
			}
			if c, ok := r.canaryCandidate(i); ok {
				return c, true
			}
			return r.brokenCandidate(i)
		},
		All: iter.Seq[canary.Candidate](func(yield func(canary.Candidate) bool) {
			for i := range r.nodes {
				if c, ok := r.canaryCandidate(int32(i)); ok && !yield(c) {
					return
				}
			}
		}),
	}
}

// chosen returns the nodes that were chosen before. If the memory has lost them, they are the nodes of the live pods with the
// canary label (C1).
func (r *run) chosen() []string {
	if nodes := r.remembered.Canary.Nodes; len(nodes) > 0 {
		return nodes
	}
	var nodes []string
	for i := range r.pods {
		if p := &r.pods[i]; p.traits.hasAny(labelled) && !p.traits.hasAny(marked|finished) {
			nodes = append(nodes, r.nodes[p.host].Name)
		}
	}
	return nodes
}

// canaryCandidate returns the node as a candidate, if it is to run the pod and the strategy's selector does not hold it (C1). A
// departing or draining node is none, unless it has the revision already.
func (r *run) canaryCandidate(i int32) (canary.Candidate, bool) {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Run || n.heldBy == LimitNodeSelector || n.undeclared {
		return canary.Candidate{}, false
	}
	c := canary.Candidate{Name: n.Name, Labels: n.Object.Labels, Updated: r.hasUpdate(n)}
	if (n.departing || n.draining) && !c.Updated {
		return canary.Candidate{}, false // the trial would wait for a node that is not begun (M8)
	}
	for j := n.first; j < n.end; j++ {
		c.Restarts = addRestarts(c.Restarts, &r.pods[j].Object.Status)
	}
	return c, true
}

// brokenCandidate returns a chosen node that the revision on trial may have broken: the node may only keep its pod now (P3), and
// its pod of the revision is not available, or the node not ready. Such a node is not replaced, so that a revision that breaks
// its nodes does not move on to the next one. It stops the canary as it stops the budget (B2).
func (r *run) brokenCandidate(i int32) (canary.Candidate, bool) {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Keep || n.heldBy == LimitNodeSelector || n.undeclared {
		return canary.Candidate{}, false
	}
	broken, down := false, isDown(n.Object)
	for j := n.first; j < n.end; j++ {
		if p := &r.pods[j]; r.isUpdate(p) && p.traits.hasAny(bound) && !p.traits.hasAny(marked|finished) {
			if p.inService() && !down {
				return canary.Candidate{}, false
			}
			broken = true
		}
	}
	return canary.Candidate{Name: n.Name, Labels: n.Object.Labels, Updated: true}, broken
}

func addRestarts(sum int32, status *corev1.PodStatus) int32 {
	for _, containers := range [...][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range containers {
			sum = int32(min(int64(sum)+int64(max(containers[i].RestartCount, 0)), math.MaxInt32))
		}
	}
	return sum
}

// canaryNodes returns, for the nodes of those names, their pods of the update revision and whether one is available. Finished
// pods that are marked for deletion are among them, because the canary counts that they failed (C2).
func (r *run) canaryNodes(names []string) []canary.Node {
	nodes := make([]canary.Node, len(names))
	pods := make([]*corev1.Pod, 0, len(names)) // of all of them, side by side
	for i, name := range names {
		at := r.nodeNamed(name)
		n := &r.nodes[at]
		nodes[i].Name = n.Name
		first := len(pods)
		for j := n.first; j < n.end; j++ {
			p := &r.pods[j]
			if !r.isUpdate(p) {
				continue
			}
			pods = append(pods, p.Object)
			if p.inService() && !p.traits.hasAny(marked|preparingDelete) {
				nodes[i].Available = true
			}
		}
		for _, p := range r.ignoredOn(at) {
			if r.isUpdate(&p) {
				pods = append(pods, p.Object)
			}
		}
		nodes[i].Pods = pods[first:len(pods):len(pods)]
	}
	return nodes
}

// isDown reports whether the node's Ready condition is there and not True, or the node is unreachable.
func isDown(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return true
		}
	}
	return isUnreachable(n)
}
