package verify

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// revisionHistory is what the checks ask of the revisions of the snapshot again and again. It is found in one pass over them.
type revisionHistory struct {
	// holds tells of each revision whether it holds the template (R1); byHash has them by their hashes.
	holds  map[*appsv1.ControllerRevision]bool
	byHash map[string][]*appsv1.ControllerRevision
	// update is the object of the update revision; nil: it is not there yet.
	update *appsv1.ControllerRevision
	// next is the number above all revisions of other templates, at least 1 (R3). At the end of the numbers it stays.
	next int64
	// marked: any revision carries the mark of a promotion; promoted: one that holds the template does.
	marked, promoted bool
	// anyCompleted and completed are the same of the mark of a rollout that came to its end (T8).
	anyCompleted, completed bool
	// asked are the names of revisions for which something is requested, deleted those of which the plan deletes.
	asked, deleted map[string]bool
	// staysPromoted: a revision of the template that nobody deletes, now or by a request in flight, carries the mark of a
	// promotion. What is requested for the update revision is no delete (R4).
	staysPromoted bool
	// staysCompleted is the same of the mark of a rollout that came to its end.
	staysCompleted bool
	// carried are the hashes of the revisions that pods are of, those that end and those that are requested included.
	carried map[string]bool
}

func (v *verifier) observeHistory() {
	revisions := v.snapshot.Revisions
	h := &v.history
	h.holds = make(map[*appsv1.ControllerRevision]bool, len(revisions))
	h.byHash = make(map[string][]*appsv1.ControllerRevision, len(revisions))
	h.asked, h.deleted = setOfNames(v.snapshot.InFlight.Revisions), make(map[string]bool)
	for i := range v.plan.Revisions {
		if action := &v.plan.Revisions[i]; action.Verb == rollout.DeleteRevision {
			h.deleted[action.Name] = true
		}
	}
	var highest int64
	for _, revision := range revisions {
		hash, holds := history.HashOf(revision), history.SameData(revision.Data.Raw, v.template)
		h.holds[revision] = holds
		h.byHash[hash] = append(h.byHash[hash], revision)
		h.marked = h.marked || history.Promoted(revision)
		h.anyCompleted = h.anyCompleted || history.Completed(revision)
		if !holds {
			highest = max(highest, revision.Revision)
			continue
		}
		h.promoted = h.promoted || history.Promoted(revision)
		h.completed = h.completed || history.Completed(revision)
		if hash == v.plan.Status.UpdateRevision && (h.update == nil || revision.Revision > h.update.Revision ||
			revision.Revision == h.update.Revision && revision.Name > h.update.Name) {
			h.update = revision
		}
	}
	if h.next = highest; highest < math.MaxInt64 {
		h.next++
	}
	for _, revision := range revisions {
		stays := revision == h.update || !h.asked[revision.Name] && !h.deleted[revision.Name]
		h.staysPromoted = h.staysPromoted || stays && h.holds[revision] && history.Promoted(revision)
		h.staysCompleted = h.staysCompleted || stays && h.holds[revision] && history.Completed(revision)
	}
}

// observeCarried is the part of the history that only the pods show.
func (v *verifier) observeCarried() {
	v.history.carried = make(map[string]bool)
	for _, pod := range v.pods {
		v.history.carried[pod.hash] = true
	}
	for _, create := range v.snapshot.InFlight.Creates {
		v.history.carried[create.Revision] = true
	}
}

// holdsTemplate reports whether a revision, of the snapshot or to be created, holds the template (R1).
func (v *verifier) holdsTemplate(revision *appsv1.ControllerRevision) bool {
	if holds, known := v.history.holds[revision]; known {
		return holds
	}
	return history.SameData(revision.Data.Raw, v.template)
}
