package main

import (
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// Statements are about objects and what has become of them. They know the configuration, and of the plan only what it has
// done; where they look at what it says, that is its state, because P-A is about that word.

// serves reports whether a node has a pod that does the daemon's work: it is Ready, and nobody has asked for its end.
func (w *world) serves(s *state, node *corev1.Node) bool {
	return slices.ContainsFunc(w.podsOn(s, node), serves)
}

func serves(p *corev1.Pod) bool { return lifecycle.Ready(p) && p.DeletionTimestamp == nil }

// live reports whether the pod is one that stays.
func live(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && !lifecycle.Terminal(p) }

func (w *world) podsOn(s *state, node *corev1.Node) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range w.podsOf(&s.view) {
		if on := w.nodeOf(s, pod); on != nil && on.Name == node.Name {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (w *world) nodesOf(s *state) []*corev1.Node {
	var nodes []*corev1.Node
	for _, i := range s.nodes[:w.Nodes] {
		nodes = append(nodes, w.nodes.at(i))
	}
	return nodes
}

func hashOf(p *corev1.Pod) string { return p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] }

// wrongMove says what is wrong with a move of the controller; "": nothing is.
func (w *world) wrongMove(from *state, m *move) string {
	if m.plan == nil {
		return ""
	}
	for _, statement := range [...]func(*world, *state, *move) string{
		(*world).budget, (*world).twins, (*world).surge, (*world).hooks, (*world).held, (*world).remains,
		(*world).gates, (*world).completed, (*world).blame,
	} {
		if wrong := statement(w, from, m); wrong != "" {
			return wrong
		}
	}
	return ""
}

// budget: the controller takes no node out of service, unless with those that are out of service anyway there are no more
// than may be. Nodes that the pod may not run on do not count.
func (w *world) budget(from *state, m *move) string {
	down, lost := 0, ""
	taken, out := 0, 0
	for _, node := range w.nodesOf(from) {
		switch {
		case tainted(node):
		case !w.serves(from, node) && out < w.Exempt && (!up(node) || w.Quarantine || !w.hasNew(from, node)):
			out++
		case !w.serves(from, node):
			down++
		case !w.serves(&m.to, node) && w.isKnown(from, node):
			taken++
			lost += " " + node.Name
		}
	}
	if taken > 0 && down+taken > w.MaxDown {
		return fmt.Sprintf("budget: with%s %d nodes are without a Ready pod, and %d may be", lost, down+taken, w.MaxDown)
	}
	return ""
}

// isKnown reports whether the controller can know that the node serves.
func (w *world) isKnown(s *state, node *corev1.Node) bool {
	return !s.behind || w.serves(&state{view: w.views.list[s.seen]}, node)
}

// hasNew reports whether a node has a pod of the update revision, whatever has become of it.
func (w *world) hasNew(s *state, node *corev1.Node) bool {
	return slices.ContainsFunc(w.podsOn(s, node), func(p *corev1.Pod) bool { return hashOf(p) == w.hashes[s.spec] })
}

// twins: no node gets two pods of one revision, or two that run at all unless one is to surge beside the other.
func (w *world) twins(from *state, m *move) string {
	for _, node := range w.nodesOf(&m.to) {
		before, after := w.podsOn(from, node), w.podsOn(&m.to, node)
		if len(after) <= len(before) {
			continue
		}
		revisions := map[string]bool{}
		for _, p := range after {
			if !live(p) {
				continue
			}
			is := hashOf(p) + p.Annotations[placement.DigestAnnotation] // with other resources it is another one
			if revisions[is] {
				return fmt.Sprintf("twins: %s has two pods of revision %s", node.Name, hashOf(p))
			}
			revisions[is] = true
		}
		runs := func(p *corev1.Pod) bool { return !lifecycle.Terminal(p) }
		if i := slices.IndexFunc(after, runs); w.Surge == 0 && slices.ContainsFunc(after[i+1:], runs) {
			return fmt.Sprintf("twins: %s gets a pod beside another", node.Name)
		}
	}
	return ""
}

// surge: a pod is put beside one that serves on no more nodes than may be. Where both serve, the old one only has to go. Where
// the old one waits for its hook to let it go, the surge there was over once, and a new pod that was lost is replaced at once,
// as beside any pod on its way out.
func (w *world) surge(from *state, m *move) string {
	beside, exempt, more := 0, 0, false
	for _, node := range w.nodesOf(&m.to) {
		pods := slices.DeleteFunc(w.podsOn(&m.to, node), func(p *corev1.Pod) bool { return !live(p) })
		comes := func(p *corev1.Pod) bool { return hashOf(p) == w.hashes[from.spec] && !serves(p) }
		goes := func(p *corev1.Pod) bool {
			return hashOf(p) != w.hashes[from.spec] && serves(p) && lifecycle.StateOf(p) != lifecycle.PreparingDelete
		}
		if slices.ContainsFunc(pods, comes) && slices.ContainsFunc(pods, goes) && w.isKnown(from, node) {
			if out := !up(node) || from.past.overdue.has(placeOf(node), w.images[from.spec]); out && exempt < w.Exempt {
				exempt++
				continue
			}
			beside++
			more = more || len(w.podsOn(from, node)) < len(w.podsOn(&m.to, node))
		}
	}
	if more && beside > w.Surge {
		return fmt.Sprintf("surge: on %d nodes a pod stands beside another, and %d may", beside, w.Surge)
	}
	return ""
}

// hooks: a pod that serves and that a hook of preDelete holds is not deleted.
func (w *world) hooks(from *state, m *move) string {
	hook := w.Specs[from.spec].Lifecycle.PreDelete
	for _, p := range w.podsOf(&from.view) {
		if !serves(p) || !hook.Matches(p) || tainted(w.nodeOf(from, p)) {
			continue
		}
		if after := w.find(&m.to, p.UID); after == nothing || w.pods.at(after).DeletionTimestamp != nil {
			return fmt.Sprintf("hooks: %s is deleted, and its hook has not let it go", p.Name)
		}
	}
	return ""
}

// held: what the user holds back stays as it is. Under frozen nothing is created or deleted; under paused and OnDelete, and
// where the partition needs it, no serving pod of another revision than the update revision goes.
func (w *world) held(from *state, m *move) string {
	strategy := &w.Specs[from.spec].Strategy
	partition := 0
	if p := strategy.Partition; p != nil {
		partition = p.IntValue()
	}
	var gone []string
	old := 0
	for _, p := range w.podsOf(&from.view) {
		if tainted(w.nodeOf(from, p)) {
			continue
		}
		after := w.find(&m.to, p.UID)
		isGone := after == nothing || w.pods.at(after).DeletionTimestamp != nil && p.DeletionTimestamp == nil ||
			hashOf(w.pods.at(after)) != hashOf(p)
		switch {
		case !live(p) || hashOf(p) == w.hashes[from.spec] && w.hasResources(from, p):
		case isGone && serves(p):
			gone = append(gone, p.Name)
		case !isGone:
			old++
		}
	}
	switch {
	case strategy.Frozen && (len(gone) > 0 || len(w.podsOf(&from.view)) != len(w.podsOf(&m.to.view))):
		return "held: the set is frozen, and pods come or go"
	case len(gone) == 0:
		return ""
	case strategy.Paused && !w.underWay(from, gone):
		return fmt.Sprintf("held: the set is paused, and %q go", gone)
	case strategy.Type == rollout.OnDelete:
		return fmt.Sprintf("held: pods go when their user deletes them, and %q go", gone)
	case old < partition && !w.underWay(from, gone):
		return fmt.Sprintf("held: %d nodes keep another revision than the update revision, and partition is %d", old, partition)
	default:
		return ""
	}
}

// hasResources reports whether the pod has the resources that are wanted on its node.
func (w *world) hasResources(s *state, p *corev1.Pod) bool {
	overridden := len(w.Specs[s.spec].Overrides) > 0 && w.nodeOf(s, p).Labels["size"] == "0"
	return overridden == (p.Annotations[placement.DigestAnnotation] != "")
}

// underWay reports whether the update of each of the pods' nodes was begun before: another pod stands there, or the pod is
// prepared.
func (w *world) underWay(s *state, pods []string) bool {
	for _, name := range pods {
		i := slices.IndexFunc(s.pods[:], func(i id) bool { return i != nothing && w.pods.at(i).Name == name })
		pod := w.pods.at(s.pods[i])
		state := lifecycle.StateOf(pod)
		if len(w.podsOn(s, w.nodeOf(s, pod))) == 1 && (state == "" || state == lifecycle.Normal) {
			return false
		}
	}
	return true
}

// remains: pods are created at the update revision, where nothing in the spec speaks for another one.
func (w *world) remains(from *state, m *move) string {
	strategy := &w.Specs[from.spec].Strategy
	if strategy.Canary != nil || strategy.Policy.Failures != nil || strategy.Policy.Stages != nil || strategy.HoldRevision {
		return ""
	}
	if strategy.Partition != nil || strategy.NodeSelector != nil {
		return ""
	}
	right := w.hashes[from.spec]
	for _, p := range w.podsOf(&m.to.view) {
		if w.find(from, p.UID) == nothing && hashOf(p) != right {
			return fmt.Sprintf("downgrade: %s is created at %s, and the update revision is %s", p.Name, hashOf(p), right)
		}
	}
	return ""
}

// gates: P-C and P-E. A node comes to a revision that was not completed only if each part before its own was seen done before,
// has soaked, and its own is approved; or if it has run that revision, or is one of its canaries.
func (w *world) gates(from *state, m *move) string {
	if w.Ring == "" || w.Specs[from.spec].Strategy.Type == rollout.OnDelete { // which uses no policies
		return ""
	}
	revision := w.hashes[from.spec]
	policy := &w.Specs[from.spec].Strategy.Policy
	image := w.images[from.spec]
	if w.isCompleted(from, revision) || policy.Expedite != "" || marks(m.plan, history.CompletedAnnotation) {
		return ""
	}
	canaries := map[string]bool{}
	for i := range m.plan.Decisions {
		canaries[m.plan.Decisions[i].Node] = m.plan.Decisions[i].Canary
	}
	for _, p := range w.podsOf(&m.to.view) {
		node := w.nodeOf(&m.to, p)
		before := w.find(from, p.UID)
		if !comes(p, revision) || before != nothing && comes(w.pods.at(before), revision) ||
			from.past.came.has(placeOf(node), image) || canaries[node.Name] || w.isUnselected(from, node) {
			continue
		}
		part := w.partOf(node)
		for i := range part {
			if w.hasPart(from, i) && !m.to.past.soaked.has(i, image) {
				return fmt.Sprintf("P-C: %s comes to %s, and part %d before it was not seen done, or has not soaked",
					node.Name, revision, i)
			}
		}
		if policy.Stages[0].Approval && len(policy.Approved) == 0 {
			return fmt.Sprintf("P-C: %s comes to %s, and part %d is not approved", node.Name, revision, part)
		}
	}
	return ""
}

// comes reports whether a pod is of a revision, or is being updated in place.
func comes(p *corev1.Pod, revision string) bool {
	state := lifecycle.StateOf(p)
	return hashOf(p) == revision || state == lifecycle.PreparingUpdate || state == lifecycle.Updating
}

// marks reports whether a plan writes such a mark on a revision.
func marks(plan *rollout.Plan, annotation string) bool {
	return slices.ContainsFunc(plan.Revisions, func(a rollout.RevisionAction) bool { return a.Annotations[annotation] != "" })
}

// isUnselected reports whether the set's selector keeps the rollout off the node, so that stages are not about it.
func (w *world) isUnselected(s *state, n *corev1.Node) bool {
	return w.Specs[s.spec].Strategy.NodeSelector != nil && n.Labels["pool"] == ""
}

func (w *world) isCompleted(s *state, revision string) bool {
	return slices.ContainsFunc(s.revisions[:], func(i id) bool {
		if i == nothing {
			return false
		}
		r := w.revisions.at(i)
		return history.HashOf(r) == revision && history.Completed(r)
	})
}

// completed: a revision is marked completed when it was seen on every node that may run it, but for those that are left out or
// held.
func (w *world) completed(from *state, m *move) string {
	revision := w.hashes[from.spec]
	if w.isCompleted(from, revision) || !w.isCompleted(&m.to, revision) {
		return ""
	}
	image := w.images[from.spec]
	inTurn := w.Ring != "" // done is for good: each part was seen done when its turn had come
	for part := range w.Nodes {
		inTurn = inTurn && (m.to.past.done.has(part, image) || !w.hasPart(from, part))
	}
	if !inTurn && !m.to.past.done.has(fleet, image) {
		lacks := w.lacking(from, image)
		return fmt.Sprintf("completed: revision %s is marked, and was never seen to serve on %s", revision, lacks)
	}
	return ""
}

// blame: P-B. A node is said to have failed only if a pod of what is rolled out was in trouble there, and did not serve for as
// long as the deadline, or its containers ended more often than they may. So is a revision that is given up, on more nodes than
// may be.
func (w *world) blame(s *state, m *move) string {
	if !w.Blame || m.plan == nil {
		return ""
	}
	evidence := func(node int) bool {
		for image := 1; image < len(w.Images); image++ {
			most := w.Specs[s.spec].Strategy.Policy.Failures.MaxRestarts
			if s.past.overdue.has(node, image) || most != nil && int32(s.past.falls[node][image]) > *most {
				return true
			}
		}
		return false
	}
	for i := range m.plan.Decisions {
		if d := &m.plan.Decisions[i]; d.Failed && !evidence(int(d.Node[len(d.Node)-1]-'0')) {
			return fmt.Sprintf("P-B: %s is said to have failed, and nothing there was in trouble for as long as the deadline",
				d.Node)
		}
	}
	if marks(m.plan, history.FailedAnnotation) && w.Specs[s.spec].Strategy.Canary == nil {
		failed := 0
		for node := range w.Nodes {
			if evidence(node) {
				failed++
			}
		}
		most := w.Specs[s.spec].Strategy.Policy.Failures.MaxFailed
		if most != nil && failed <= most.IntValue() || failed == 0 {
			return fmt.Sprintf("P-B: the revision is given up, and has failed on %d nodes", failed)
		}
	}
	return ""
}

// wrongState says what is wrong with what a plan says of a state, which rests if nothing will ever happen in it; "": nothing is.
func (w *world) wrongState(s *state, plan *rollout.Plan, rests bool) string {
	st := &plan.Status
	if st.State == status.Stuck {
		helps := func(b rollout.Blocker) bool { return b.Why != "" && len(b.Helps) > 0 }
		if len(plan.Blockers) == 0 || !slices.ContainsFunc(plan.Blockers, helps) {
			return "P-A: the state is Stuck, and nothing says what would help"
		}
	}
	if !rests {
		return ""
	}
	switch st.State {
	case status.Updating:
		return fmt.Sprintf("P-A: nothing will ever happen, and the state is %s (%s)", st.State, st.Reason)
	case status.Running:
		return w.unfinished(s)
	default:
		return ""
	}
}

// unfinished says what is missing from a set that says that it is done; "": nothing is.
func (w *world) unfinished(s *state) string {
	for _, node := range w.nodesOf(s) {
		pods := w.podsOn(s, node)
		switch {
		case tainted(node):
		case len(pods) == 1 && hashOf(pods[0]) != w.hashes[s.spec] && w.mayHold(s, node):
			// What is held is not the rollout's business, whether it serves or not: the counts and the explanation tell of it.
		case len(pods) > 0 && s.past.done.has(fleet, w.images[s.spec]):
			// The rollout was seen to be complete, and stays so: the counts tell of a pod that breaks later.
		case len(pods) != 1 || !serves(pods[0]):
			if up(node) && !departs(node) {
				return fmt.Sprintf("P-A: the state is Running, and %s has no pod that serves", node.Name)
			}
		case hashOf(pods[0]) != w.hashes[s.spec]:
			if !departs(node) {
				return fmt.Sprintf("P-A: the state is Running, and %s has another revision", node.Name)
			}
		}
	}
	return ""
}

// mayHold reports whether the user may want the node to keep another revision.
func (w *world) mayHold(s *state, node *corev1.Node) bool {
	strategy := &w.Specs[s.spec].Strategy
	return strategy.Partition != nil || strategy.Type == rollout.OnDelete || w.isUnselected(s, node)
}

// otherOrder says what is wrong with a plan of the same objects in another order: it has to be the same; "": nothing is.
func (w *world) otherOrder(s *state, plan *rollout.Plan) string {
	if !w.Order {
		return ""
	}
	snapshot := w.snapshot(s)
	slices.Reverse(snapshot.Nodes)
	slices.Reverse(snapshot.Pods)
	slices.Reverse(snapshot.Revisions)
	other, err := w.plan(w, int(s.spec), snapshot)
	if err != nil {
		return fmt.Sprintf("order: with the objects in another order the planner fails: %v", err)
	}
	says := func(p *rollout.Plan) [9]any {
		return [...]any{p.Revisions, p.Patches, p.Deletes, p.Creates, p.Decisions, p.Budget, p.Status, p.Memory, p.NextWake}
	}
	if !reflect.DeepEqual(says(plan), says(&other)) {
		return "order: with the objects in another order the plan is another one"
	}
	return ""
}
