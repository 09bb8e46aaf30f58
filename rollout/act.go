package rollout

import (
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// act is step 8. It adds the actions that belong to no single node (the revision history, R3 and R4) and those that can wait
// (labels of pods that are not patched anyway, and pulls for nodes whose update waits). What repair and admit decide is not left
// to it: they turn it into actions at once, by create, delete and patch below, as far as burst (M6) and frozen (T4) let them,
// because what they decide next depends on it.
func (r *run) act() {
	r.reviseHistory()
	r.mergeDuplicateRevisions()
	r.labelCanaries()
	r.pull()
}

// allowance is how many pods the plan may still create, delete and begin to update in place (M6). If it is frozen, none.
type allowance struct {
	creates, deletes, updates int32
	frozen                    bool
}

func (r *run) newAllowance() allowance {
	burst := r.plan.Budget.Burst
	return allowance{creates: burst, deletes: burst, updates: burst, frozen: r.spec.Strategy.Frozen}
}

// take spends one action, or returns the limit that forbids it.
func (l *allowance) take(of *int32) Limit {
	switch {
	case l.frozen:
		return LimitFrozen
	case *of == 0:
		return LimitBurst
	default:
		*of--
		return LimitNone
	}
}

// create asks for a pod on node i, of the revision that the node should get (M7). It reports whether the plan has the create; if
// not, the decision says why.
func (r *run) create(i int32, verb Verb, reason Reason) bool {
	d := r.decision(i)
	installs := verb == VerbCreate && r.installsLeft != unlimited && !r.isFilled(&r.nodes[i])
	if installs && r.installsLeft == 0 {
		r.note(i, VerbHold, ReasonPartitionedScaling, nil)
		d.Limit = LimitPartition
		return false
	}
	n, hash := &r.nodes[i], r.revisionFor(i)
	var template *corev1.PodTemplateSpec
	if hash != r.revision.Update.Hash {
		if template = r.templateOf(hash); template == nil {
			r.note(i, VerbWait, ReasonRevisionUnreadable, nil)
			return false
		}
	}
	takesPlace := verb == VerbCreate && !n.underWay
	if takesPlace && !r.slow.mayCreateMissing() {
		r.slowed()
		r.refuse(i, nil, LimitSlowStart)
		return false
	}
	if limit := r.allowance.take(&r.allowance.creates); limit != LimitNone {
		r.refuse(i, nil, limit)
		return false
	}
	if installs {
		r.installsLeft--
	}
	if takesPlace {
		r.slow.takePlaceForMissing()
	}
	n.creating = hash == r.goalHash(n)
	d.Creates++
	r.note(i, verb, reason, nil)
	r.plan.Creates = append(r.plan.Creates, Create{
		Node: d.Node, Revision: hash, Template: template, Reason: reason,
		Resources: r.resourcesFor(n, hash), Canary: n.canary && hash == r.revision.Update.Hash,
	})
	return true
}

// delete asks for the deletion of pod j of node i, or, if a preDelete hook holds the pod, for the hook to let it go first (L2).
// It reports whether this plan begins one of the two; a pod that already waits for its hook gives false.
func (r *run) delete(i, j int32, verb Verb, reason Reason) bool {
	p := &r.pods[j]
	if r.spec.Lifecycle.PreDelete.Matches(p.Object) {
		return r.prepareDelete(i, j, reason)
	}
	if p.traits.has(preparingDelete) && p.traits.has(patchInFlight) { // the patch may take the pod back
		r.note(i, VerbWait, ReasonRequested, p)
		return false
	}
	if limit := r.allowance.take(&r.allowance.deletes); limit != LimitNone {
		r.refuseDelete(i, j, limit)
		return false
	}
	p.traits |= planDeletes
	r.note(i, verb, reason, p)
	d := r.decision(i)
	d.Deletes++
	r.plan.Deletes = append(r.plan.Deletes, r.deletion(d.Node, p, reason))
	return true
}

// refuseDelete leaves the deletion of a pod to a later plan. Because frozen may last, what was begun on the pod is finished or
// taken back in the meantime, as on a pod that stays (T4).
func (r *run) refuseDelete(i, j int32, limit Limit) {
	p := &r.pods[j]
	r.refuse(i, p, limit)
	switch {
	case limit != LimitFrozen || p.traits.has(finished):
	case !p.traits.has(preparingDelete):
		r.continuePod(i, j)
	default:
		if patches := r.unmarkNotReady(p); len(patches) > 0 {
			r.note(i, VerbPatch, ReasonFrozen, p)
			r.patch(r.decision(i), p, r.hashes[p.hash].value, ReasonFrozen, patches...)
		}
	}
	p.traits |= deleteDeferred
}

// unmarkNotReady returns the patches that make a pod ready again which its hook has let go (L4): frozen may keep it for long.
func (r *run) unmarkNotReady(p *pod) []lifecycle.Patch {
	patches, err := lifecycle.Unmark(p.Object, r.snapshot.Now)
	if err != nil {
		return nil // messages that cannot be read are left alone
	}
	return patches
}

// deleteStray is delete for a pod without a node of the snapshot, which has a decision of its own.
func (r *run) deleteStray(d *Decision, p *pod, reason Reason) {
	if r.spec.Lifecycle.PreDelete.Matches(p.Object) {
		r.prepareDeleteStray(d, p, reason)
		return
	}
	if limit := r.allowance.take(&r.allowance.deletes); limit != LimitNone {
		d.Verb, d.Reason, d.Limit = VerbWait, refusal(limit), limit
		if limit == LimitFrozen && p.traits.has(preparingDelete) && !p.traits.has(patchInFlight|finished) {
			if patches := r.unmarkNotReady(p); len(patches) > 0 {
				d.Verb = VerbPatch
				r.patch(d, p, r.hashes[p.hash].value, ReasonFrozen, patches...)
			}
		}
		return
	}
	d.Verb, d.Reason, d.Deletes = VerbDelete, reason, 1
	r.plan.Deletes = append(r.plan.Deletes, r.deletion(d.Node, p, reason))
}

func (r *run) deletion(node string, p *pod, reason Reason) Delete {
	// The planner takes the hash of a predecessor's pod for none, but the delete names the one that the caller finds on the pod.
	revision := p.Object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	return Delete{Node: node, Pod: p.Name, UID: p.Object.UID, Revision: revision, Reason: reason}
}

// refuse records that a limit kept an action from the plan.
func (r *run) refuse(i int32, p *pod, limit Limit) {
	r.noteWait(i, refusal(limit), p, limit)
}

// noteWait records a wait and the limit behind it. If something of the same or a higher precedence is recorded already, that
// stays with its limit; if it has none, it gets this one.
func (r *run) noteWait(i int32, reason Reason, p *pod, limit Limit) {
	r.note(i, VerbWait, reason, p)
	d := r.decision(i)
	if d.Limit == LimitNone || d.Verb == VerbWait && d.Reason == reason {
		d.Limit = limit
	}
}

func refusal(limit Limit) Reason {
	switch limit {
	case LimitFrozen:
		return ReasonFrozen
	case LimitSlowStart:
		return ReasonSlowStart
	default:
		return ReasonBurst
	}
}

// precedence decides which verb a decision shows if several things are done about its node: that of the highest precedence. What
// changes a node counts more than what leaves it as it is, and an update more than a repair.
var precedence = [verbs]uint8{
	VerbNone:    0,
	VerbWait:    1,
	VerbHold:    2,
	VerbPatch:   3,
	VerbDelete:  4,
	VerbCreate:  5,
	VerbPrepare: 6,
	VerbReplace: 7,
	VerbUpdate:  8,
	VerbSurge:   9,
}

// note records what is done about a node, unless something of the same or a higher precedence is recorded already.
func (r *run) note(i int32, verb Verb, reason Reason, p *pod) {
	d := r.decision(i)
	if precedence[verb] <= precedence[d.Verb] {
		return
	}
	d.Verb, d.Reason, d.Pod, d.Until = verb, reason, "", time.Time{}
	if p != nil {
		d.Pod = p.Name
	}
}

// reviseHistory turns what step 3 resolved into actions on revisions. Frozen stops all but marks: no pod would refer to a new
// revision, and nothing is to be deleted (T4).
func (r *run) reviseHistory() {
	if r.spec.Strategy.Frozen {
		r.markRevisions()
		return
	}
	if object := r.revision.Create; object != nil && !r.revisionsInFlight[object.Name] {
		r.plan.Revisions = append(r.plan.Revisions, RevisionAction{
			Verb: CreateRevision, Name: object.Name, Number: object.Revision, Object: object,
		})
	}
	if renumber := r.revision.Renumber; renumber != nil && !r.revisionsInFlight[renumber.Revision.Name] {
		r.plan.Revisions = append(r.plan.Revisions, RevisionAction{
			Verb: RenumberRevision, Name: renumber.Revision.Name, UID: renumber.Revision.UID, Number: renumber.Number,
		})
	}
	r.markRevisions()
	for _, object := range r.revision.Delete {
		if r.holdsVerdict(object) {
			continue
		}
		if !r.revisionsInFlight[object.Name] {
			r.plan.Revisions = append(r.plan.Revisions, RevisionAction{
				Verb: DeleteRevision, Name: object.Name, UID: object.UID, Number: object.Revision,
			})
		}
	}
}

// holdsVerdict reports whether a revision that could be deleted has to stay because it says that the template was promoted (C6)
// and the revision that is kept does not say so yet. A duplicate whose hash another template has, too, is not among the matches,
// so that the data decides.
func (r *run) holdsVerdict(object *appsv1.ControllerRevision) bool {
	if !history.Promoted(object) || history.Promoted(r.revision.Update.Existing) {
		return false
	}
	return slices.Contains(r.revision.Matches, history.HashOf(object)) || history.SameData(object.Data.Raw, r.resolver.Data())
}

// mergeDuplicateRevisions relabels the pods of revisions that equal the update revision (R3). It leaves alone pods that are on
// their way out, have finished, or are being changed otherwise.
func (r *run) mergeDuplicateRevisions() {
	if len(r.revision.Relabel) == 0 || r.spec.Strategy.Frozen {
		return
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		for j := n.first; j < n.end; j++ {
			p := &r.pods[j]
			if !r.hashes[p.hash].relabel || p.traits.has(deleting|finished|planUpdates|patchInFlight) {
				continue
			}
			r.note(int32(i), VerbPatch, ReasonDuplicateRevision, p)
			r.patch(r.decision(int32(i)), p, r.revision.Update.Hash, ReasonDuplicateRevision, r.relabel(p.Object))
		}
	}
}

// patch adds patches of one pod to the plan, in the order in which they are to be sent.
func (r *run) patch(d *Decision, p *pod, revision string, reason Reason, patches ...lifecycle.Patch) {
	for _, patch := range patches {
		p.traits |= planPatches
		d.Patches++
		r.plan.Patches = append(r.plan.Patches, Patch{
			Node: d.Node, Pod: p.Name, UID: p.Object.UID,
			Type: patch.Type, Subresource: patch.Subresource, Data: patch.Data, Revision: revision, Reason: reason,
		})
	}
}

func (r *run) relabel(object *corev1.Pod) lifecycle.Patch {
	type metadata struct {
		UID    types.UID         `json:"uid"`
		Labels map[string]string `json:"labels"`
	}
	// Strings always encode.
	data, _ := json.Marshal(map[string]metadata{"metadata": {
		UID:    object.UID,
		Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: r.revision.Update.Hash},
	}})
	return lifecycle.Patch{Type: types.StrategicMergePatchType, Data: data}
}
