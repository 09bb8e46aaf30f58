package rollout

import (
	"cmp"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// These are the questions that several steps or files ask of what was found out before. They change nothing that a later answer
// depends on; all that some of them write is what was decoded or compared once, to be remembered (TestQueriesDoNotWrite).

// readiness tells whether a pod that is ready is available by now, and if not, when the clock makes it so (B5).
func (r *run) readiness(p *fleet.Pod) lifecycle.Readiness {
	return lifecycle.EvaluateSince(p.ReadySince, r.spec.MinReadySeconds, r.snapshot.Now)
}

// settledNodes yields the nodes that were set aside because they are settled.
func (r *run) settledNodes() iter.Seq[*fleet.Node] {
	return func(yield func(*fleet.Node) bool) {
		for n, d := range r.asideNodes() {
			if d.State == StateUpdated && !yield(n) {
				return
			}
		}
	}
}

// idleNodes yields the nodes that were set aside because they are not to run the pod and have none.
func (r *run) idleNodes() iter.Seq2[*fleet.Node, *Decision] {
	return func(yield func(*fleet.Node, *Decision) bool) {
		for n, d := range r.asideNodes() {
			if d.State == StateIneligible && !yield(n, d) {
				return
			}
		}
	}
}

// asideNodes yields the nodes that were set aside, and what is decided about them.
func (r *run) asideNodes() iter.Seq2[*fleet.Node, *Decision] {
	return func(yield func(*fleet.Node, *Decision) bool) {
		others := r.nodes
		for i := range int32(r.nodeFacts.List.Len()) {
			if len(others) > 0 && others[0].ordinal == i {
				others = others[1:]
			} else if !yield(r.nodeFacts.List.At(i), &r.plan.Decisions[i]) {
				return
			}
		}
	}
}

// inService reports whether the pod is available, and neither an update in place nor a hook keeps it out of service (I5, L3).
func (p *pod) inService() bool { return p.traits.hasAny(available) && !p.traits.hasAny(outOfService) }

// serves reports whether the pod serves (B2): it does the daemon's work, and nothing that was begun will stop it. A pod that is
// prepared for an in-place update does not serve, nor does one with a patch in flight, which may prepare it: it may stop
// working as soon as its hook lets it go, or the watch shows the patch.
func (p *pod) serves() bool {
	switch t := p.traits; {
	case t.hasAny(deleting | preparingDelete | planUpdates | patchInFlight):
		return false
	case t.hasAny(atGoal):
		return p.inService()
	default:
		return t.hasAny(ready) && !t.hasAny(preparingUpdate)
	}
}

// serving reports whether any pod of the node serves.
func (r *run) serving(n *node) bool {
	for i := n.first; i < n.end; i++ {
		if r.pods[i].serves() {
			return true
		}
	}
	return false
}

// newPodsInService looks at the pods of its goal's revision that the node holds or is about to get. some reports whether one is
// in service, notYet whether one is not; Failed ones are not (B2 on keep nodes, B4). On a keep node a pod that is not bound does
// not count. It never ran and cannot be bound now, so that it says nothing about the revision; counting it would stop the
// rollout for as long as the taint is there.
func (r *run) newPodsInService(i int32) (some, notYet bool) {
	n := &r.nodes[i]
	keep := r.outcome(i) == placement.Keep
	notYet = n.creating || n.expects == expectsGoalPod && !keep
	for j := n.first; j < n.end; j++ {
		switch t := r.pods[j].traits; {
		case !t.hasAny(atGoal) || t.hasAny(deleting) || keep && !t.hasAny(bound):
		case r.pods[j].inService():
			some = true
		default:
			notYet = true
		}
	}
	return some, notYet
}

// isPrepared reports whether an earlier plan has prepared the outdated pod for its update in place or its deletion, and the pod
// is still Ready and does the daemon's work. A pod that this plan patches, updates or deletes is no longer prepared: its room
// was asked for.
func (p *pod) isPrepared() bool {
	t := p.traits
	return t.hasAny(ready) && t.hasAny(preparingUpdate|preparingDelete) &&
		!t.hasAny(deleting|atGoal|patchInFlight|planUpdates|planPatches)
}

// reliesOnPrepared reports whether only prepared pods keep the node from being down.
func (r *run) reliesOnPrepared(i int32) bool {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Run || r.serving(n) {
		return false
	}
	for j := n.first; j < n.end; j++ {
		if r.pods[j].isPrepared() {
			return true
		}
	}
	return false
}

// isLetGo reports whether only prepared pods that no hook holds keep the node up. Such a node is not under way (B7). It takes
// a place of slow start when it goes down, like one that was never prepared. Otherwise two nodes could wait for each other
// for ever: this one for room, which a node without a pod uses up, and that node for the place of slow start that this one
// held.
func (r *run) isLetGo(i int32) bool {
	if !r.reliesOnPrepared(i) {
		return false
	}
	n, hooks := &r.nodes[i], r.spec.Lifecycle
	for j := n.first; j < n.end; j++ {
		p := &r.pods[j]
		hook := hooks.InPlaceUpdate
		if p.traits.hasAny(preparingDelete) {
			hook = hooks.PreDelete
		}
		if p.isPrepared() && hook.Matches(p.Object) {
			return false
		}
	}
	return true
}

// isUpdate reports whether the pod carries the update revision, with whatever resources.
func (r *run) isUpdate(p *pod) bool { return r.hashes[p.hash].update || p.traits.hasAny(byGeneration) }

// revisionOf returns the hash of the revision that the pod is of; "": it says nothing of one. Pods of a duplicate of the update
// revision, and those that only the template generation tells of, are of the update revision (R3, R5).
func (r *run) revisionOf(p *pod) string {
	if r.isUpdate(p) {
		return r.revision.Update.Hash
	}
	return r.hashes[p.hash].value
}

// hasGoalRevision reports whether a pod carries the revision where its node is to end, whatever its resources.
func (r *run) hasGoalRevision(n *node, p *pod) bool {
	switch n.goal {
	case toStable:
		return r.hashes[p.hash].stable
	case toBase:
		return r.hashes[p.hash].base
	default:
		return r.isUpdate(p)
	}
}

// goalHash returns the revision where the node is to end (T6).
func (r *run) goalHash(n *node) string {
	switch n.goal {
	case toStable:
		return r.revision.Stable.Hash
	case toBase:
		return r.revision.Base.Hash
	default:
		return r.revision.Update.Hash
	}
}

// isReadable reports whether pods can be made of the revision with that hash.
func (r *run) isReadable(hash string) bool {
	return hash == r.revision.Update.Hash || r.templateOf(hash) != nil
}

// effectOn returns the effect of overrides on a node, nil if there is none.
func (r *run) effectOn(n *node) *placement.Overridden {
	if n.effect == none {
		return nil
	}
	return &r.effects[n.effect]
}

// hasResources reports whether a pod at the revision of its node's goal has the resources that are wanted there. On a node with
// a malformed annotation it always has: such an annotation makes no running pod outdated (P8).
func (r *run) hasResources(n *node, p *pod) bool {
	effect := r.effectOn(n)
	if effect == nil {
		return !p.traits.hasAny(digested)
	}
	return len(effect.Malformed) > 0 || p.Object.Annotations[placement.DigestAnnotation] == effect.Digest
}

// candidate reports whether the node waits for an update: its pod is outdated, and nothing else is there or on its way.
//
// Another pod that cannot be deleted now, such as a Failed one in its back-off or a surplus one beyond burst, keeps the node
// from being begun. Under surge the new pod would stand beside it (V3: one live pod per node and revision). Without surge no
// pod could follow the Ready one that is deleted, for as long as the other is there (M1). An outdated pod that is not Ready
// need not wait for that without surge, because replacing it disturbs nobody.
func (r *run) candidate(i int32) bool {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Run || n.outdatedPod == none || n.goalPod != none ||
		n.expects != expectsNothing {
		return false
	}
	if r.surges() {
		return !n.hasFinished && (r.alone(n) || r.aloneButLeaving(n) && !r.pods[n.outdatedPod].traits.hasAny(ready))
	}
	return r.alone(n) || !r.pods[n.outdatedPod].traits.hasAny(ready)
}

// aloneButLeaving reports whether the outdated pod is the only live one of its node, but for those that are on their way out
// through their hooks. These wait for the new pod, which is not created beside two, so that the outdated pod goes if it is not
// Ready.
func (r *run) aloneButLeaving(n *node) bool {
	for j := n.first; j < n.end; j++ {
		leaves := n.leavesByHook && r.pods[j].traits.hasAny(preparingDelete) && !r.pods[j].traits.hasAny(atGoal)
		if j != n.outdatedPod && !leaves && !r.pods[j].traits.hasAny(deleting) {
			return false
		}
	}
	return true
}

// alone reports whether the outdated pod is the only live one of its node after this plan's repairs.
func (r *run) alone(n *node) bool {
	for j := n.first; j < n.end; j++ {
		if j != n.outdatedPod && !r.pods[j].traits.hasAny(deleting) {
			return false
		}
	}
	return true
}

// budgetUse reports whether a node counts as unavailable (B2), and whether it holds a place of maxSurge (B4).
func (r *run) budgetUse(i int32) (unavailable, surging bool) {
	inService, notYet := r.newPodsInService(i)
	switch r.outcome(i) {
	case placement.Run:
		return !r.serving(&r.nodes[i]), notYet && r.surges()
	case placement.Keep:
		return notYet && !inService, notYet && r.surges()
	default:
		return false, false
	}
}

// takesBudget reports whether the node counts against the budget in use.
func (r *run) takesBudget(d *Decision) bool {
	if r.surges() {
		return d.Surging
	}
	return d.Unavailable
}

// misses reports whether a run node is to get a pod at once (M1): it has none, or under surge only pods on their way out.
func (r *run) misses(n *node) bool {
	if n.goalPod != none || n.outdatedPod != none || n.hasFinished || n.expects != expectsNothing {
		return false
	}
	return !n.terminating && !n.leavesByHook || r.surges()
}

// isFilled reports whether a node takes its place in a first installation (T7): it has, or is about to get, a pod of the update
// revision. A pod that terminates or has Failed counts, too, so that what the node loses comes back there and not elsewhere. On a
// departing node it does not: nothing comes back there (M8).
func (r *run) isFilled(n *node) bool {
	lost := traits(0)
	if n.departing {
		lost = marked | finished
	}
	return n.creates&ofUpdate != 0 || slices.ContainsFunc(r.podsOf(n), func(p pod) bool {
		return p.traits.hasAny(atUpdate) && !p.traits.hasAny(lost)
	})
}

// hasUpdate reports whether the node has, or is about to get, a live pod of the update revision, with whatever resources.
func (r *run) hasUpdate(n *node) bool {
	if n.creates&ofUpdate != 0 {
		return true
	}
	for j := n.first; j < n.end; j++ {
		if p := &r.pods[j]; !p.traits.hasAny(marked|finished) && r.isUpdate(p) {
			return true
		}
	}
	return false
}

// lingers reports whether an available pod of a leave node stays until there are enough others: under surge, and if it is no
// taint that makes the node leave (M4).
func (r *run) lingers(i int32) bool {
	d := r.decision(i)
	return r.surges() && d.Placement.Outcome == placement.Leave && d.Placement.Test != placement.TestTaint
}

// bestAvailable returns the best available pod of the node that does not leave, by the order of M3; none: there is none.
func (r *run) bestAvailable(n *node) int32 {
	best := int32(none)
	for i := n.first; i < n.end; i++ {
		p := &r.pods[i]
		if !p.traits.hasAny(available) || p.traits.hasAny(preparingDelete) { // a marked pod never is available
			continue
		}
		if best == none || better(p, &r.pods[best]) {
			best = i
		}
	}
	return best
}

// keepsAvailable reports whether one of the pods that stay on the node (M3) is available. A surplus one, which this plan
// deletes, may be available although the one that stays is not yet.
func (r *run) keepsAvailable(n *node) bool {
	for _, i := range [...]int32{n.goalPod, n.outdatedPod} {
		if i != none && r.pods[i].traits.hasAny(available) && !r.pods[i].traits.hasAny(preparingDelete) {
			return true
		}
	}
	return false
}

// upSince returns since when a node is Ready; zero: it is not, does not say, or is not there.
func upSince(node *corev1.Node) time.Time {
	if node == nil {
		return time.Time{}
	}
	return failure.BackSince(node)
}

// better reports whether a is to stay rather than b (M3). In this order it prefers a pod that serves, is available, ready, bound,
// without a patch in flight, not leaving, older, and first by name. Serving comes first, so that the pod that goes is never the
// one that kept its node up (B3).
func better(a, b *pod) bool {
	if a.serves() != b.serves() {
		return a.serves()
	}
	for _, want := range [...]traits{available, ready, bound} {
		if a.traits.hasAny(want) != b.traits.hasAny(want) {
			return a.traits.hasAny(want)
		}
	}
	for _, avoid := range [...]traits{patchInFlight, preparingDelete} { // a patch in flight may have asked the pod to leave
		if a.traits.hasAny(avoid) != b.traits.hasAny(avoid) {
			return b.traits.hasAny(avoid)
		}
	}
	return byAge(a, b) < 0
}

// byAge compares two pods: the older one comes first, then name and UID decide. The order is total.
func byAge(a, b *pod) int { return fleet.ByAge(a.Pod, b.Pod) }

// ignoredOn returns the finished and marked pods of a node, which M1 ignores, if the run keeps them.
func (r *run) ignoredOn(i int32) []pod {
	first, _ := slices.BinarySearchFunc(r.ignored, i, func(p pod, node int32) int { return cmp.Compare(p.host, node) })
	end := first
	for end < len(r.ignored) && r.ignored[end].host == i {
		end++
	}
	return r.ignored[first:end]
}

func byName[T metav1.Object](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
}

// nodeNamed returns the record of the node of that name; none: there is no such node, or it was set aside.
func (r *run) nodeNamed(name string) int32 {
	ordinal := r.nodeFacts.Find(name)
	i, found := slices.BinarySearchFunc(r.nodes, ordinal, func(n node, to int32) int { return cmp.Compare(n.ordinal, to) })
	if !found {
		return none
	}
	return int32(i)
}
