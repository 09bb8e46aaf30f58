package rollout

import (
	"iter"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// The canary is part of step 4: it decides which nodes are to end at the update revision, and which at the stable one (C rules,
// T6). Package canary chooses the nodes and judges the trial; this file gives it what it needs and applies the result.

// CanaryLabel is on the pods of canary nodes while a revision is on trial, with the value "true", as the
// ExtendedDaemonSet sets it.
const CanaryLabel = "extendeddaemonsetreplicaset.datadoghq.com/canary"

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
	if in.Known == canary.NotKnown {
		choice := canary.Choose(*options, r.choosing())
		in.Wanted = choice.Wanted
		in.Nodes = r.canaryNodes(choice.Nodes)
	}
	r.trial = canary.Judge(*options, in)
	r.wake(r.trial.Wake)
	if r.trial.Phase == canary.Idle {
		r.revision.Stable, in.Wanted = r.revision.Update, 0 // a promoted revision is the stable one at once (C6)
	}
	r.plan.Canary = Canary{
		Finding: r.trial.Finding, Revision: in.Revision, Stable: r.revision.Stable.Hash,
		Wanted: in.Wanted, Until: r.trial.Until, Stale: r.trial.Stale,
	}
	if !r.onTrial() {
		return
	}
	for i := range in.Nodes {
		n := r.index.find(in.Nodes[i].Name)
		r.nodes[n].canary = true
		r.decision(n).Canary = true
		r.plan.Canary.Nodes = append(r.plan.Canary.Nodes, in.Nodes[i].Name)
	}
}

// halted reports whether users have stopped the rollout as a whole (T4).
func (r *run) halted() bool { return r.spec.Strategy.Paused || r.spec.Strategy.Frozen }

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
		Desired: r.updateRuns,
		Chosen:  r.chosen(),
		Find: func(name string) (canary.Candidate, bool) {
			i := r.index.find(name)
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
		if p := &r.pods[i]; p.traits.has(labelled) && !p.traits.has(marked|finished) {
			nodes = append(nodes, r.nodes[p.node].object.Name)
		}
	}
	return nodes
}

// canaryCandidate returns the node as a candidate, if it is to run the pod and the strategy's selector does not hold it (C1).
func (r *run) canaryCandidate(i int32) (canary.Candidate, bool) {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Run || n.heldBy == LimitNodeSelector {
		return canary.Candidate{}, false
	}
	c := canary.Candidate{Name: n.object.Name, Labels: n.object.Labels, Updated: r.hasUpdate(n)}
	for j := n.first; j < n.end; j++ {
		c.Restarts = addRestarts(c.Restarts, &r.pods[j].object.Status)
	}
	return c, true
}

// brokenCandidate returns a chosen node that the revision on trial may have broken: the node may only keep its pod now (P3), and
// its pod of the revision is not available, or the node not ready. Such a node is not replaced, so that a revision that breaks
// its nodes does not move on to the next one. It stops the canary as it stops the budget (B2).
func (r *run) brokenCandidate(i int32) (canary.Candidate, bool) {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Keep || n.heldBy == LimitNodeSelector {
		return canary.Candidate{}, false
	}
	broken, down := false, isDown(n.object)
	for j := n.first; j < n.end; j++ {
		if p := &r.pods[j]; r.isUpdate(p) && p.traits.has(bound) && !p.traits.has(marked|finished) {
			if p.inService() && !down {
				return canary.Candidate{}, false
			}
			broken = true
		}
	}
	return canary.Candidate{Name: n.object.Name, Labels: n.object.Labels, Updated: true}, broken
}

func addRestarts(sum int32, status *corev1.PodStatus) int32 {
	for _, containers := range [...][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range containers {
			sum = int32(min(int64(sum)+int64(max(containers[i].RestartCount, 0)), math.MaxInt32))
		}
	}
	return sum
}

// hasUpdate reports whether the node has, or is about to get, a live pod of the update revision, with whatever resources.
func (r *run) hasUpdate(n *node) bool {
	if n.creates&ofUpdate != 0 {
		return true
	}
	for j := n.first; j < n.end; j++ {
		if p := &r.pods[j]; !p.traits.has(marked|finished) && r.isUpdate(p) {
			return true
		}
	}
	return false
}

// canaryNodes returns, for the nodes of those names, their pods of the update revision and whether one is available. Finished
// pods that are marked for deletion are among them, because the canary counts that they failed (C2).
func (r *run) canaryNodes(names []string) []canary.Node {
	nodes := make([]canary.Node, len(names))
	pods := make([]*corev1.Pod, 0, len(names)) // of all of them, side by side
	for i, name := range names {
		at := r.index.find(name)
		n := &r.nodes[at]
		nodes[i].Name = n.object.Name
		first := len(pods)
		for j := n.first; j < n.end; j++ {
			p := &r.pods[j]
			if !r.isUpdate(p) {
				continue
			}
			pods = append(pods, p.object)
			if p.inService() && !p.traits.has(marked|preparingDelete) {
				nodes[i].Available = true
			}
		}
		for _, p := range r.ignoredOn(at) {
			if r.isUpdate(&p) {
				pods = append(pods, p.object)
			}
		}
		nodes[i].Pods = pods[first:len(pods):len(pods)]
	}
	return nodes
}

// aim gives each node its goal (T1, T6), and each pod the traits atUpdate and atGoal. If there is no stable revision to go back
// to, the goal is the update revision everywhere, even if it has failed.
func (r *run) aim() {
	stable := r.trial.Phase != canary.Idle && r.revision.Stable.Hash != r.revision.Update.Hash
	var overrides *placement.Evaluator
	var matcher *placement.Matcher // of the stable revision; nil: its template cannot be read
	var elsewhere, otherwise bool  // its pods may run on other nodes, may get other resources than those of the update revision
	if stable {
		template := r.templateOf(r.revision.Stable.Hash)
		overrides = r.overridesFor(r.revision.Stable.Hash).Evaluator()
		if template != nil {
			matcher, _ = placement.Compile(template) // what is wrong with it matches no node (P4)
		}
		elsewhere = template == nil || !samePlacement(&template.Spec, &r.spec.Template.Spec)
		otherwise = template == nil || !sameResources(&template.Spec, &r.spec.Template.Spec)
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		if stable && r.goesStable(n) {
			n.goal = toStable
			if elsewhere {
				d := r.decision(int32(i))
				d.Placement = stablePlacement(n, d.Placement, matcher)
			}
			if otherwise {
				r.setEffect(int32(i), overrides)
			}
		}
		for j := n.first; j < n.end; j++ {
			p := &r.pods[j]
			if r.isUpdate(p) {
				if n.goal != toUpdate {
					p.traits |= atUpdate
				} else if r.hasResources(n, p) {
					p.traits |= atUpdate | atGoal
				}
			} else if n.goal == toStable && r.hashes[p.hash].stable && r.hasResources(n, p) {
				p.traits |= atGoal
			}
		}
	}
	r.countDesired()
	for _, pod := range r.ripening {
		if r.outcome(pod.node) != placement.Leave {
			r.wake(pod.at)
		}
	}
}

// countDesired counts the nodes that are to run the pod, once the goal of each is known (B1, S1).
func (r *run) countDesired() {
	for i := range r.plan.Decisions {
		if d := &r.plan.Decisions[i]; d.Placement.Outcome == placement.Run {
			d.Facts |= status.Desired
			r.plan.Budget.Desired++
		}
	}
}

// stablePlacement returns the verdict about a node whose goal is the stable revision. The template of that revision decides
// whether the node runs the pod, so that a trial changes nothing outside the canary (T6). If it cannot be read, no node is
// vacated.
func stablePlacement(n *node, update placement.Verdict, stable *placement.Matcher) placement.Verdict {
	if stable != nil {
		return stable.Evaluate(n.object)
	}
	if update.Outcome == placement.Leave && n.first < n.end {
		update.Outcome = placement.Keep
	}
	return update
}

// samePlacement reports whether pods of both templates run on the same nodes (P1, P2). It spares the second look at every node,
// which costs as much as the rest of the trial, where two templates differ in an image, as most do.
func samePlacement(a, b *corev1.PodSpec) bool {
	return a.NodeName == b.NodeName && a.HostNetwork == b.HostNetwork &&
		equality.Semantic.DeepEqual(a.NodeSelector, b.NodeSelector) && equality.Semantic.DeepEqual(a.Affinity, b.Affinity) &&
		equality.Semantic.DeepEqual(a.Tolerations, b.Tolerations)
}

// sameResources reports whether overrides mean the same for both templates (P8). What they mean depends on the names of the
// containers, and on the resources that the template gives them.
func sameResources(a, b *corev1.PodSpec) bool {
	same := func(a, b corev1.Container) bool {
		return a.Name == b.Name && equality.Semantic.DeepEqual(a.Resources, b.Resources)
	}
	return slices.EqualFunc(a.InitContainers, b.InitContainers, same) && slices.EqualFunc(a.Containers, b.Containers, same) &&
		equality.Semantic.DeepEqual(a.ResourceClaims, b.ResourceClaims)
}

// goesStable reports whether the stable revision is the node's goal. It is everywhere after a fail, and during a trial outside
// the canary (T6). A paused canary replaces nothing, and its nodes get lost pods back at the stable revision (C7). But a node
// that has the update revision keeps it while the trial lasts.
func (r *run) goesStable(n *node) bool {
	switch {
	case r.trial.Phase == canary.Failed:
		return true
	case n.canary && r.trial.Phase == canary.Running && !r.halted():
		return false
	default:
		return !r.hasUpdate(n)
	}
}

func (r *run) goalHash(n *node) string {
	if n.goal == toStable {
		return r.revision.Stable.Hash
	}
	return r.revision.Update.Hash
}

// templateAt returns the template of the revision that a goal stands for; nil if it cannot be read.
func (r *run) templateAt(to goal) *corev1.PodTemplateSpec {
	if to == toStable {
		return r.templateOf(r.revision.Stable.Hash)
	}
	return &r.spec.Template
}
