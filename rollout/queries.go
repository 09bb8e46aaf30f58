package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// These are the questions that several steps or files ask of what was found out before. None of them writes anything
// (TestQueriesDoNotWrite).

// inService reports whether the pod is available, and neither an update in place nor a hook keeps it out of service (I5, L3).
func (p *pod) inService() bool { return p.traits.has(available) && !p.traits.has(outOfService) }

// serves reports whether the pod serves (B2): it does the daemon's work, and nothing that was begun will stop it. A pod that is
// prepared for an in-place update does not serve, nor does one with a patch in flight, which may prepare it: it may stop
// working as soon as its hook lets it go, or the watch shows the patch.
func (p *pod) serves() bool {
	switch t := p.traits; {
	case t.has(deleting | preparingDelete | planUpdates | patchInFlight):
		return false
	case t.has(atGoal):
		return p.inService()
	default:
		return t.has(ready) && !t.has(preparingUpdate)
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
		case !t.has(atGoal) || t.has(deleting) || keep && !t.has(bound):
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
	return t.has(ready) && t.has(preparingUpdate|preparingDelete) && !t.has(deleting|atGoal|patchInFlight|planUpdates|planPatches)
}

// isUpdate reports whether the pod carries the update revision, with whatever resources.
func (r *run) isUpdate(p *pod) bool { return r.hashes[p.hash].update || p.traits.has(byGeneration) }

// goalHash returns the revision where the node is to end (T6).
func (r *run) goalHash(n *node) string {
	if n.goal == toStable {
		return r.revision.Stable.Hash
	}
	return r.revision.Update.Hash
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
		return !p.traits.has(digested)
	}
	return len(effect.Malformed) > 0 || p.Object.Annotations[placement.DigestAnnotation] == effect.Digest
}

// beginHeldBy returns what keeps the node's update from being begun; LimitNone: nothing does. What stops the whole rollout
// counts before what holds the node (T4).
func (r *run) beginHeldBy(n *node) Limit {
	switch strategy := r.spec.Strategy; {
	case strategy.Frozen:
		return LimitFrozen
	case strategy.Paused:
		return LimitPaused
	default:
		return r.begunHeldBy(n)
	}
}

// begunHeldBy returns what holds the node even if its update was begun; LimitNone: nothing does. Paused does not (T4).
func (r *run) begunHeldBy(n *node) Limit {
	switch {
	case r.trial.Phase == canary.Paused && n.goal == toUpdate:
		return LimitCanary // a paused canary replaces nothing (C7)
	case r.trial.Phase == canary.Failed && n.goal == toUpdate:
		return LimitCanary // the revision has failed, and there is none to go back to (C6)
	default:
		return n.heldBy
	}
}

// updateHeldBy is beginHeldBy for the update of the node's outdated pod: paused does not hold an update that was begun (T4). It
// also returns what it found about the pod.
func (r *run) updateHeldBy(i int32) (Limit, inPlace) {
	n := &r.nodes[i]
	limit := r.beginHeldBy(n)
	if limit != LimitPaused || n.outdatedPod == none {
		return limit, inPlace{}
	}
	begun, found := r.isBegunInPlace(i)
	if begun {
		limit = r.begunHeldBy(n)
	}
	return limit, found
}

// gatedBy returns what keeps the update of the node's outdated pod from being begun although nothing holds it: the node is
// departing (M8), or the part of the stage that it is in is not open (T8). LimitNone: nothing does. It also returns what it found
// about the pod.
func (r *run) gatedBy(i int32) (Limit, inPlace) {
	if r.nodes[i].departing {
		return LimitDeparting, inPlace{}
	}
	return r.closedBy(i)
}

// closedBy returns why the part of the stage that the node is in is not open to its update (T8). LimitNone: it is open, or the
// update in place was begun, and goes on. It also returns what it found about the pod.
func (r *run) closedBy(i int32) (Limit, inPlace) {
	n := &r.nodes[i]
	if n.closed == LimitNone || n.outdatedPod == none { // a pod that is requested is not begun
		return n.closed, inPlace{}
	}
	begun, found := r.isBegunInPlace(i)
	if begun {
		return LimitNone, inPlace{}
	}
	return n.closed, found
}

// isGated reports whether only the stages keep the outdated pod of a node at its revision (T8).
func (r *run) isGated(i int32) bool {
	n := &r.nodes[i]
	return n.closed != LimitNone && r.beginHeldBy(n) == LimitNone && r.decision(i).Limit != LimitInPlaceOnly
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
	if r.surge() {
		return !n.hasFinished && r.alone(n)
	}
	return r.alone(n) || !r.pods[n.outdatedPod].traits.has(ready)
}

// alone reports whether the outdated pod is the only live one of its node after this plan's repairs.
func (r *run) alone(n *node) bool {
	for j := n.first; j < n.end; j++ {
		if j != n.outdatedPod && !r.pods[j].traits.has(deleting) {
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
		return !r.serving(&r.nodes[i]), notYet && r.surge()
	case placement.Keep:
		return notYet && !inService, notYet && r.surge()
	default:
		return false, false
	}
}

// takesBudget reports whether the node counts against the budget in use.
func (r *run) takesBudget(d *Decision) bool {
	if r.surge() {
		return d.Surging
	}
	return d.Unavailable
}

// misses reports whether a run node is to get a pod at once (M1): it has none, or under surge only pods on their way out.
func (r *run) misses(n *node) bool {
	if n.goalPod != none || n.outdatedPod != none || n.hasFinished || n.expects != expectsNothing {
		return false
	}
	return !n.terminating && !n.leavesByHook || r.surge()
}

// isFilled reports whether a node takes its place in a first installation (T7): it has, or is about to get, a pod of the update
// revision. A pod that terminates or has Failed counts, too, so that what the node loses comes back there and not elsewhere.
func (r *run) isFilled(n *node) bool {
	return n.creates&ofUpdate != 0 || slices.ContainsFunc(r.podsOf(n), func(p pod) bool { return p.traits.has(atUpdate) })
}

// lingers reports whether an available pod of a leave node stays until there are enough others: under surge, and if it is no
// taint that makes the node leave (M4).
func (r *run) lingers(i int32) bool {
	d := r.decision(i)
	return r.surge() && d.Placement.Outcome == placement.Leave && d.Placement.Test != placement.TestTaint
}

// bestAvailable returns the best available pod of the node that does not leave, by the order of M3; none: there is none.
func (r *run) bestAvailable(n *node) int32 {
	best := int32(none)
	for i := n.first; i < n.end; i++ {
		p := &r.pods[i]
		if !p.traits.has(available) || p.traits.has(preparingDelete) { // a marked pod never is available
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
		if i != none && r.pods[i].traits.has(available) && !r.pods[i].traits.has(preparingDelete) {
			return true
		}
	}
	return false
}

// better reports whether a is to stay rather than b (M3). In this order it prefers a pod that serves, is available, ready, bound,
// without a patch in flight, not leaving, older, and first by name. Serving comes first, so that the pod that goes is never the
// one that kept its node up (B3).
func better(a, b *pod) bool {
	if a.serves() != b.serves() {
		return a.serves()
	}
	for _, want := range [...]traits{available, ready, bound} {
		if a.traits.has(want) != b.traits.has(want) {
			return a.traits.has(want)
		}
	}
	for _, avoid := range [...]traits{patchInFlight, preparingDelete} { // a patch in flight may have asked the pod to leave
		if a.traits.has(avoid) != b.traits.has(avoid) {
			return b.traits.has(avoid)
		}
	}
	return byAge(a, b) < 0
}

// byAge compares two pods: the older one comes first, then name and UID decide. The order is total.
func byAge(a, b *pod) int { return fleet.ByAge(a.Pod, b.Pod) }

// revisionFor returns the revision of a pod to be created on the node: that of the node's goal (T6), but with holdRevision on a
// node that partition or node selector holds, and in a part of a stage that is not open, that of its lost pod (T1, T8). A node
// whose goal is the stable revision never gets the one on trial back.
func (r *run) revisionFor(i int32) string {
	n := &r.nodes[i]
	if n.closed != LimitNone {
		return r.revisionInClosed(i)
	}
	if !r.spec.Strategy.HoldRevision || n.heldBy != LimitPartition && n.heldBy != LimitNodeSelector {
		return r.goalHash(n)
	}
	if before := r.revisionBefore(i); n.goal == toUpdate || before != r.revision.Update.Hash {
		return before
	}
	return r.revision.Stable.Hash
}

// revisionInClosed returns the revision of a pod to be created in a part that is not open: that of the node's lost pod, unless it
// has failed or is on trial elsewhere, else the base. A failed pod that M2 has deleted counts as seen: its back-off tells of it.
// Where nothing is left of the time before the update revision, that is what there is.
func (r *run) revisionInClosed(i int32) string {
	n, update := &r.nodes[i], r.revision.Update.Hash
	switch before := r.lostRevision(i); {
	case n.goal == toUpdate && (before == update || r.backoffs.knows(n.Name, update)):
		return update
	case before != "" && before != update && !r.hasFailed(before):
		return before
	case r.revision.Base.Hash == "" || r.revision.Base.Hash == update:
		return r.goalHash(n) // during a trial that is not the revision on trial (T6)
	default:
		return r.revision.Base.Hash
	}
}

// hasFailed reports whether a revision of that hash carries the mark of a fail.
func (r *run) hasFailed(hash string) bool {
	return slices.ContainsFunc(r.snapshot.Revisions, func(revision *appsv1.ControllerRevision) bool {
		return history.HashOf(revision) == hash && history.Failed(revision)
	})
}

// revisionBefore returns the revision of the pod that the node has lost. If that is not seen, it is the stable revision, or once
// that is the update revision, the highest older one (T1).
func (r *run) revisionBefore(i int32) string {
	stable := r.revision.Stable.Hash
	if stable == r.revision.Update.Hash {
		stable = r.revision.Fallback.Hash
	}
	return cmp.Or(r.lostRevision(i), stable)
}

// lostRevision returns the revision of the node's youngest pod object whose revision can be read from the history; "" if there
// is none. Finished pods that are marked for deletion count here, although M1 ignores them.
func (r *run) lostRevision(i int32) string {
	n := &r.nodes[i]
	var youngest time.Time
	found := ""
	look := func(p *pod) {
		if created := p.Object.CreationTimestamp.Time; found == "" || created.After(youngest) {
			if r.isUpdate(p) {
				found, youngest = r.revision.Update.Hash, created
			} else if value := r.hashes[p.hash].value; r.templateOf(value) != nil {
				found, youngest = value, created
			}
		}
	}
	for j := n.first; j < n.end; j++ {
		look(&r.pods[j])
	}
	ignored := r.ignoredOn(i)
	for j := range ignored {
		look(&ignored[j])
	}
	return found
}

// ignoredOn returns the finished and marked pods of a node, which M1 ignores, if the run keeps them.
func (r *run) ignoredOn(i int32) []pod {
	first, _ := slices.BinarySearchFunc(r.ignored, i, func(p pod, node int32) int { return cmp.Compare(p.node, node) })
	end := first
	for end < len(r.ignored) && r.ignored[end].node == i {
		end++
	}
	return r.ignored[first:end]
}

// spare is how many more nodes may be left out of the budgets: by B8 (maxUnschedulable), B9 (outages) and F4 (quarantine).
type spare struct{ unschedulable, out, quarantined int32 }

func (s spare) none() bool { return s.unschedulable <= 0 && s.out <= 0 && s.quarantined <= 0 }

// without returns what is left when the rule has left out one node more.
func (s spare) without(by Exemption) spare {
	switch by {
	case ExemptionUnschedulable:
		s.unschedulable--
	case ExemptionOut:
		s.out--
	case ExemptionQuarantined:
		s.quarantined--
	default: // no place is taken
	}
	return s
}

func (r *run) newSpare() spare {
	if r.spec.Strategy.Type != RollingUpdate {
		return spare{}
	}
	desired := r.plan.Budget.Desired
	return spare{
		unschedulable: r.unschedulable.RoundUp(desired), out: r.maxExempt.RoundUp(desired), quarantined: r.quarantine,
	}
}

// exemption returns the rule that leaves a node which would count out of the budgets, if there is one of which a place is left.
// A node that B9 leaves out takes no place of B8. changes is when the clock may change that; zero: never.
func (r *run) exemption(i int32, left spare) (by Exemption, changes time.Time) {
	if left.out > 0 {
		var excused bool
		if excused, changes = r.excused(i); excused {
			return ExemptionOut, changes
		}
	}
	if left.unschedulable > 0 {
		isolated, at := r.isolated(&r.nodes[i])
		changes = earlier(changes, at)
		if isolated {
			return ExemptionUnschedulable, changes
		}
	}
	if left.quarantined > 0 && r.nodes[i].failed {
		return ExemptionQuarantined, changes
	}
	return ExemptionNone, changes
}

// exemptNow is exemption for a node that counts as the plan stands now; any other is not left out.
func (r *run) exemptNow(i int32, left spare) (by Exemption, changes time.Time) {
	if unavailable, surging := r.budgetUse(i); !unavailable && !surging {
		return ExemptionNone, changes
	}
	return r.exemption(i, left)
}

// excused reports whether the node is out, and the update is not what took it down (B9). changes is when the clock may change
// that; zero: never.
func (r *run) excused(i int32) (excused bool, changes time.Time) {
	n, now := &r.nodes[i], r.snapshot.Now
	out := r.outages.Of(n.Object)
	if !out.Out {
		return false, changes
	}
	var update outage.Update
	requested, unseen := false, n.expects == expectsGoalPod
	look := func(p *pod) {
		if r.hasGoalRevision(n, p) {
			update.NewPod(p.Object)
			return
		}
		update.OutdatedPod(p.Object)
		requested = requested || p.traits.has(marked) && p.Object.DeletionTimestamp == nil
		unseen = unseen || p.traits.has(patchInFlight)
	}
	for j := n.first; j < n.end; j++ {
		look(&r.pods[j])
	}
	ignored := r.ignoredOn(i)
	for j := range ignored {
		look(&ignored[j])
	}
	if unseen {
		update.Unseen()
	}
	if requested {
		update.Requested(now)
		if tie := out.Since.Truncate(time.Second).Add(time.Second); tie.After(now) {
			changes = tie // an update that is requested then begins later than the outage
		}
	}
	return r.outages.Excuses(out, &update), changes
}

// isolated reports whether nothing that is done to the node would help now (B8): the scheduler finds no room for its pod, the
// deletion of its pod is overdue, or the node is unreachable. changes is when the first deletion of one of its pods becomes
// overdue; zero: none will.
func (r *run) isolated(n *node) (isolated bool, changes time.Time) {
	if isUnreachable(n.Object) {
		return true, changes
	}
	for j := n.first; j < n.end; j++ {
		object := r.pods[j].Object
		if deleted := object.DeletionTimestamp; deleted != nil {
			if !r.snapshot.Now.Before(deleted.Time) { // the deletion timestamp includes the grace period
				return true, changes
			}
			changes = earlier(changes, deleted.Time)
			continue
		}
		if isUnschedulable(object) {
			return true, changes
		}
	}
	return false, changes
}

func isUnreachable(n *corev1.Node) bool {
	for i := range n.Spec.Taints {
		if n.Spec.Taints[i].Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

func isUnschedulable(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

// earlier returns the earlier of two instants; the zero time is later than any other.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// isTried reports whether the update revision is on trial, or has failed one, so that nodes end at two revisions.
func (r *run) isTried() bool { return r.trial.Phase != canary.Idle }

// followsParts reports whether the plan has to know how the parts of stages stand: until the update revision is marked as
// rolled out everywhere (T8). Without stages that is so while any revision has such a mark, and the whole fleet is one part.
func (r *run) followsParts() bool {
	return r.spec.Strategy.Type == RollingUpdate && !r.isTried() && !r.revision.Completed &&
		(r.rules.Stages.Len() > 0 || r.failures != nil || r.revision.AnyCompleted)
}

// watchesFailures reports whether nodes are counted that the update revision has failed on (F2).
func (r *run) watchesFailures() bool { return r.failures != nil && r.followsParts() }

// isGivenUp reports whether an earlier plan gave the update revision up because too many nodes failed (F3). Only a retry
// revives it.
func (r *run) isGivenUp() bool { return r.wasGivenUp() && !r.retriesFailed() }

// wasGivenUp reports whether the update revision was given up, retried or not. The memory knows it until the mark is seen.
func (r *run) wasGivenUp() bool {
	update, record := r.revision.Update, &r.remembered.Rollout
	return r.failures != nil && !r.revision.Completed &&
		(isMarkedGivenUp(update.Existing) || record.Revision == update.Hash && record.GaveUp != "")
}

// isMarkedGivenUp reports whether a revision carries the mark that too many nodes failed. It is false for nil.
func isMarkedGivenUp(revision *appsv1.ControllerRevision) bool {
	return revision != nil && revision.Annotations[history.FailedAnnotation] == failure.Reason
}

// retriesFailed reports whether the revision was given up, and is to be rolled out once more by a command that was not obeyed
// yet (F3).
func (r *run) retriesFailed() bool {
	if !r.wasGivenUp() {
		return false
	}
	update, retry := r.revision.Update, r.failures.Retry
	if update.Existing != nil && update.Existing.Annotations[history.RetriedAnnotation] == retry {
		return false
	}
	name, _, _ := strings.Cut(retry, "/")
	return name == canary.Any || name != "" && (name == update.Hash || name == update.Name)
}

// gaveUpBefore says why an earlier plan gave the update revision up.
func (r *run) gaveUpBefore() string {
	if existing := r.revision.Update.Existing; isMarkedGivenUp(existing) {
		return cmp.Or(existing.Annotations[history.FailedMessageAnnotation], "too many nodes failed")
	}
	return r.remembered.Rollout.GaveUp
}

// allPartsOpen reports whether no stage keeps any node waiting: there are none, or nothing was rolled out before, or the
// revision is expedited (T8).
func (r *run) allPartsOpen() bool {
	order, update := r.spec.Strategy.Policy.Expedite, r.revision.Update
	expedited := order == canary.Any || order != "" && (order == update.Hash || order == update.Name)
	return r.rules.Stages.Len() == 0 || expedited || r.isFirstInstallation()
}

// isFirstInstallation reports whether nothing was rolled out before: neither the history nor a pod shows another revision, as
// those of a predecessor do.
func (r *run) isFirstInstallation() bool {
	isOther := func(p pod) bool { return !p.traits.has(marked|finished) && !r.isUpdate(&p) }
	return r.revision.First && !slices.ContainsFunc(r.pods, isOther)
}

// closesStable reports whether the stable revision was still rolled out in stages when the revision came that is tried now,
// or has failed. T6 would then give it to all nodes at once, so that they keep what they have instead (T8).
func (r *run) closesStable() bool {
	stable := r.revision.Stable
	return r.rules.Stages.Len() > 0 && r.isTried() && stable.Hash != r.revision.Update.Hash &&
		stable.Hash != r.revision.Base.Hash && !history.Completed(stable.Existing)
}

// parts returns the parts of stages; without stages, the whole fleet.
func (r *run) parts() *stage.Parts {
	if r.nodeFacts.Parts == nil {
		return (*stage.Stages)(nil).NewParts()
	}
	return r.nodeFacts.Parts
}

// halted reports whether users have stopped the rollout as a whole (T4).
func (r *run) halted() bool { return r.spec.Strategy.Paused || r.spec.Strategy.Frozen }
