package rollout

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Replacing a pod and updating it in place are part of step 8 (I rules).

// recreate replaces the node's outdated pod.
func (r *run) recreate(i int32, reason Reason) bool {
	return r.delete(i, r.nodes[i].other, VerbReplace, reason)
}

// obstruct tells whether something keeps the node's outdated pod from being updated in place, and notes what (I2, I3).
// With recreate nobody asks.
func (r *run) obstruct(i int32) bool {
	if r.spec.Strategy.Method == inplace.Recreate {
		return false
	}
	p, d := &r.pods[r.nodes[i].other], r.decision(i)
	if d.Obstruction = inplace.Obstruct(p.object); d.Obstruction != 0 {
		return true
	}
	diff := r.diff(p.hash)
	if r.plan.Diffs[diff-1].Update.InPlace() {
		return false
	}
	d.Diff = diff
	return true
}

// underWay tells whether the update of the outdated pod was begun by an earlier plan and has not changed it yet: it
// waits for its hook, or for the grace period. Paused lets it finish (T4), and its place in the budget is taken.
func (r *run) underWay(p *pod) bool {
	if r.spec.Strategy.Method == inplace.Recreate || !p.traits.has(moving) {
		return false
	}
	return p.traits.has(preparing) || !p.traits.has(ready) && inplace.Preparing(p.object)
}

// updateInPlace takes the next step of an in-place update of the node's outdated pod: its hook first, then the pod made
// unready, then, after the grace period, the change itself (I4, L3).
func (r *run) updateInPlace(i int32, reason Reason) bool {
	p, d := &r.pods[r.nodes[i].other], r.decision(i)
	if !r.underWay(p) {
		if limit := r.left.take(&r.left.updates); limit != LimitNone {
			r.refuse(i, p, limit)
			return false
		}
	}
	p.traits |= begun
	now, old := r.snapshot.Now, r.hashes[p.hash].value
	hooks := r.spec.Lifecycle
	transition := hooks.Next(p.object, lifecycle.Update, inplace.Completed(p.object).Done)
	patches := transition.Patches(p.object, now)
	if !transition.Proceed {
		if len(patches) == 0 {
			r.note(i, VerbWait, ReasonUpdateHook, p)
			d.Limit = LimitHook
			return true
		}
		r.note(i, VerbPrepare, reason, p)
		r.patch(d, p, old, reason, patches...)
		return true
	}
	var metadata inplace.Metadata
	metadata.Labels, metadata.Annotations = transition.Metadata(now)
	target := inplace.Target{Revision: r.revision.Update.Hash}
	step, err := r.plan.Diffs[r.diff(p.hash)-1].Update.Begin(p.object, target, metadata, now)
	patches = append(patches, step.Patches...)
	switch {
	case err != nil:
		r.note(i, VerbWait, ReasonInPlaceUnreadable, p)
	case step.Begun:
		r.note(i, VerbUpdate, reason, p)
		r.patch(d, p, r.revision.Update.Hash, reason, patches...)
	case len(patches) > 0:
		r.note(i, VerbPrepare, reason, p)
		r.patch(d, p, old, reason, patches...)
		r.wake(step.Until)
	default:
		r.waitUntil(i, p, ReasonGracePeriod, LimitGracePeriod, step.Until)
	}
	return true
}

// diff is the ordinal in the plan's Diffs, plus 1, of what an update in place would change of the pods of a revision.
// They are compared once per plan. An unknown revision has nothing to compare, which is an obstacle (I3).
func (r *run) diff(hash int32) int32 {
	h := &r.hashes[hash]
	if h.diff == 0 {
		update := inplace.Diff(r.templateOf(h.value), &r.spec.Template, r.spec.Strategy.InPlace)
		r.plan.Diffs = append(r.plan.Diffs, Diff{From: h.value, To: r.revision.Update.Hash, Update: update})
		h.diff = int32(len(r.plan.Diffs))
	}
	return h.diff
}

// templateOf is the template of the revision with that hash; nil if there is none, or two, or it cannot be read. It is
// decoded once per plan.
func (r *run) templateOf(hash string) *corev1.PodTemplateSpec {
	if hash == "" {
		return nil
	}
	if template, ok := r.templates[hash]; ok {
		return template
	}
	var template *corev1.PodTemplateSpec
	found := 0
	for _, revision := range r.snapshot.Revisions {
		if history.HashOf(revision) == hash {
			found++
			template, _ = history.Template(revision)
		}
	}
	if found != 1 {
		template = nil
	}
	if r.templates == nil {
		r.templates = make(map[string]*corev1.PodTemplateSpec)
	}
	r.templates[hash] = template
	return template
}

// revisionFor is the revision of a pod to be created on the node (T1): the update revision, or with holdRevision on a
// held node the one its lost pod was of, else the stable one.
func (r *run) revisionFor(n *node) string {
	if !r.spec.Strategy.HoldRevision || n.hold != LimitPartition && n.hold != LimitNodeSelector {
		return r.revision.Update.Hash
	}
	return cmp.Or(r.lostRevision(n), r.revision.Stable.Hash)
}

// lostRevision is the revision that the node's youngest pod is seen to carry, if the history has it.
func (r *run) lostRevision(n *node) string {
	var youngest time.Time
	found := ""
	for j := n.first; j < n.end; j++ {
		p := &r.pods[j]
		if created := p.object.CreationTimestamp.Time; found == "" || created.After(youngest) {
			if p.traits.has(current) {
				found, youngest = r.revision.Update.Hash, created
			} else if value := r.hashes[p.hash].value; r.templateOf(value) != nil {
				found, youngest = value, created
			}
		}
	}
	return found
}
