package rollout

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// act is step 8. It adds the actions that belong to no single node (the revision history, R3 and R4) and those that can wait
// (labels of pods, and pulls for nodes whose update waits). What repair and admit decide is not left to it: they turn it into
// actions at once, by create and delete of pod_actions.go and patch of hook.go, as far as burst (M6) and frozen (T4) let them,
// because what they decide next depends on it.
func (r *run) act() {
	r.reviseHistory()
	r.mergeDuplicateRevisions()
	r.labelCanaries()
	r.pull()
}

// reviseHistory turns what step 3 resolved into actions on revisions. Frozen stops all but marks: no pod would refer to a new
// revision, and nothing is to be deleted (T4).
func (r *run) reviseHistory() {
	if r.stops(none, writeHistory).by != nil {
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

// holdsVerdict reports whether a revision that could be deleted has to stay because it says that the template was promoted
// (C6) or rolled out everywhere (T8), and the revision that is kept does not say so yet. A duplicate whose hash another
// template has, too, is not among the matches, so that the data decides.
func (r *run) holdsVerdict(object *appsv1.ControllerRevision) bool {
	update := r.revision.Update.Existing
	if (!history.Promoted(object) || history.Promoted(update)) && (!history.Completed(object) || history.Completed(update)) {
		return false
	}
	return slices.Contains(r.revision.Matches, history.HashOf(object)) || history.SameData(object.Data.Raw, r.resolver.Data())
}

// mergeDuplicateRevisions relabels the pods of revisions that equal the update revision (R3). It leaves alone pods that are
// being deleted, have finished, are being updated in place, or have a patch in flight.
func (r *run) mergeDuplicateRevisions() {
	if len(r.revision.Relabel) == 0 || r.stops(none, writeHistory).by != nil {
		return
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		for j := n.first; j < n.end; j++ {
			p := &r.pods[j]
			if !r.hashes[p.hash].relabel || p.traits.hasAny(deleting|finished|planUpdates|patchInFlight) {
				continue
			}
			r.note(int32(i), VerbPatch, ReasonDuplicateRevision, p)
			r.patch(r.decision(int32(i)), p, r.revision.Update.Hash, ReasonDuplicateRevision, r.relabel(p.Object))
		}
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
