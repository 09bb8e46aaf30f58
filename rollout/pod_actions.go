package rollout

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// Creates and deletes of pods. Steps repair and admit ask for them.

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
	if stop := r.stops(i, createPod); stop.by != nil {
		r.refuse(i, nil, stop.limit)
		return false
	}
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
	if !r.allowance.take(&r.allowance.creates) {
		r.refuse(i, nil, LimitBurst)
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
	if r.goesNow(p) && !r.takeRoom(i, p) {
		if verb == VerbReplace { // the pod may be prepared to be updated in place
			r.noteWait(i, ReasonBudget, p, r.noRoom(i))
			r.noteDomain(i, &r.domainsNow)
		} else {
			r.waitForRoom(i, p)
		}
		return false
	}
	if r.spec.Lifecycle.PreDelete.Matches(p.Object) {
		return r.prepareDelete(i, j, reason)
	}
	if p.traits.hasAny(preparingDelete) && p.traits.hasAny(patchInFlight) { // the patch may take the pod back
		r.note(i, VerbWait, ReasonRequested, p)
		return false
	}
	if stop := r.stops(i, deletePod); stop.by != nil {
		r.refuseDelete(i, j, stop.limit)
		return false
	}
	if !r.allowance.take(&r.allowance.deletes) {
		r.refuseDelete(i, j, LimitBurst)
		return false
	}
	p.traits |= planDeletes
	r.note(i, verb, reason, p)
	d := r.decision(i)
	d.Deletes++
	r.plan.Deletes = append(r.plan.Deletes, r.deletion(d.Node, p, reason))
	return true
}

// deleteStray is delete for a pod without a node of the snapshot, which has a decision of its own.
func (r *run) deleteStray(d *Decision, p *pod, reason Reason) {
	if r.spec.Lifecycle.PreDelete.Matches(p.Object) {
		r.prepareDeleteStray(d, p, reason)
		return
	}
	if stop := r.stops(none, deletePod); stop.by != nil {
		d.Verb, d.Reason, d.Limit = VerbWait, refusal(stop.limit), stop.limit
		if p.traits.hasAny(preparingDelete) && !p.traits.hasAny(patchInFlight|finished) {
			if patches := r.unmarkNotReady(p); len(patches) > 0 {
				d.Verb = VerbPatch
				r.patch(d, p, r.hashes[p.hash].value, d.Reason, patches...)
			}
		}
		return
	}
	if !r.allowance.take(&r.allowance.deletes) {
		d.Verb, d.Reason, d.Limit = VerbWait, ReasonBurst, LimitBurst
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

// resourcesFor returns the resources of a pod of that revision to be created on the node. They are a copy, because all plans
// share those of the overrides.
func (r *run) resourcesFor(n *node, hash string) []placement.Resources {
	var resources []placement.Resources
	if effect := r.effectOn(n); effect != nil && hash == r.goalHash(n) {
		resources = effect.Resources
	} else if hash != r.goalHash(n) {
		resources = r.overridesFor(hash).Evaluate(n.Object).Resources
	}
	resources = slices.Clone(resources)
	for i := range resources {
		resources[i].Resources = *resources[i].Resources.DeepCopy()
	}
	return resources
}
