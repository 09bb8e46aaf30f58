package verify

import (
	"maps"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// updateRevision returns the hashes of all revisions that hold the template (R2), and of these the ones
// with the highest number, of which R3 keeps one. A duplicate's hash that a revision with another template
// has too says nothing about a pod, and is left out.
//
// If no revision holds the template, it is the one that is to be created.
func (v *verifier) updateRevision() (all, newest map[string]bool) {
	all, newest = make(map[string]bool), make(map[string]bool)
	others := make(map[string]bool)
	var highest int64
	for _, revision := range v.snapshot.Revisions {
		hash := history.HashOf(revision)
		if !v.holdsTemplate(revision) {
			others[hash] = true
			continue
		}
		if len(newest) == 0 || revision.Revision > highest {
			highest = revision.Revision
			clear(newest)
		}
		all[hash] = true
		if revision.Revision == highest {
			newest[hash] = true
		}
	}
	if len(all) > 0 {
		maps.DeleteFunc(all, func(hash string, _ bool) bool { return others[hash] && !newest[hash] })
		return all, newest
	}
	hash := v.newHash()
	all[hash], newest[hash] = true, true
	return all, newest
}

// newHash is the hash that a revision of the template gets (R1, R3): a name or a hash that a revision with another
// template has bumps the collision count.
func (v *verifier) newHash() string {
	taken := make(map[string]bool)
	for _, revision := range v.snapshot.Revisions {
		taken[revision.Name] = true
		taken[v.spec.Name+"-"+history.HashOf(revision)] = true
	}
	var count *int32
	if v.snapshot.Memory.Version == rollout.MemoryVersion {
		count = v.snapshot.Memory.CollisionCount
	}
	for {
		hash := history.Hash(&v.spec.Template, count)
		if !taken[v.spec.Name+"-"+hash] {
			return hash
		}
		next := int32(1)
		if count != nil {
			next = int32((int64(*count) + 1) & math.MaxInt32)
		}
		count = &next
	}
}

// checkRevisions is what V4, V12 and V14 say of revisions (R3, R4).
func (v *verifier) checkRevisions() {
	if hash := v.plan.Status.UpdateRevision; !v.newest[hash] {
		v.report(12, "", "R3: status.updateRevision is %q, right is the newest revision that holds the template: %q",
			hash, sortedKeys(v.newest))
	}
	known := make(map[string]*appsv1.ControllerRevision)
	for _, revision := range v.snapshot.Revisions {
		known[revision.Name] = revision
	}
	acted, annotated := make(map[string]bool), make(map[string]bool)
	for _, name := range v.snapshot.InFlight.Revisions {
		acted[name], annotated[name] = true, true
	}
	for i := range v.plan.Revisions {
		action := &v.plan.Revisions[i]
		// A mark is beside the number: a rollback may get both at once.
		done := acted
		if action.Verb == rollout.AnnotateRevision {
			done = annotated
		}
		if done[action.Name] {
			v.report(14, "", "second action on revision %s, counting what is in flight", action.Name)
			continue
		}
		done[action.Name] = true
		revision := known[action.Name]
		switch {
		case action.Verb == rollout.CreateRevision:
			v.checkCreateRevision(action, revision != nil)
		case revision == nil || revision.UID != action.UID:
			v.report(14, "", "%s of revision %s with UID %q, which is not in the snapshot", action.Verb, action.Name, action.UID)
		case action.Verb == rollout.DeleteRevision:
			v.checkDeleteRevision(revision)
		case action.Verb == rollout.AnnotateRevision:
			v.checkMarks(action, revision)
		case action.Verb != rollout.RenumberRevision:
			v.report(12, "", "revision %s: there is no verb %d", action.Name, uint8(action.Verb))
		case history.HashOf(revision) != v.plan.Status.UpdateRevision || !v.holdsTemplate(revision):
			v.report(4, "", "R3: renumber of revision %s, which is not the update revision", action.Name)
		case action.Number != v.history.next || revision.Revision >= action.Number:
			v.report(4, "", "R3: renumber of revision %s from %d to %d, right is to %d, if that is more", action.Name,
				revision.Revision, action.Number, v.history.next)
		}
	}
	v.checkHistoryLimit()
}

// checkCreateRevision judges one create: action and object are of the same revision, the object is the set's, and
// nothing like it is there.
func (v *verifier) checkCreateRevision(action *rollout.RevisionAction, taken bool) {
	object := action.Object
	if object == nil || object.Name != action.Name || !v.holdsTemplate(object) {
		v.report(12, "", "R1: revision %s is to be created from an object of that name that holds the template", action.Name)
		return
	}
	v.checkNewMarks(object)
	if taken || slices.ContainsFunc(v.snapshot.Revisions, v.holdsTemplate) {
		v.report(14, "", "R3: create of revision %s, but its name is taken or the template has a revision", action.Name)
		return
	}
	if right := v.history.next; action.Number != right || object.Revision != right {
		v.report(12, "", "R3: create of revision %s with number %d and its object's %d, right is %d", action.Name,
			action.Number, object.Revision, right)
	}
	hash := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if hash != v.plan.Status.UpdateRevision || object.Name != v.spec.Name+"-"+hash || object.Namespace != v.spec.Namespace {
		v.report(12, "", "R1: create of revision %s/%s with hash %q, right is %s/%s with hash %q", object.Namespace, object.Name,
			hash, v.spec.Namespace, v.spec.Name+"-"+v.plan.Status.UpdateRevision, v.plan.Status.UpdateRevision)
	}
	var owner types.UID
	if reference := metav1.GetControllerOfNoCopy(object); reference != nil {
		owner = reference.UID
	}
	if owner != v.spec.UID {
		v.report(12, "", "create of revision %s controlled by UID %q, right is %q", action.Name, owner, v.spec.UID)
	}
}

// checkDeleteRevision judges one delete. A revision that a pod carries stays even if it is a duplicate:
// without it the pod, relabelled only later, would read as outdated. One whose hash the update revision has, too, leaves it
// all pods. A duplicate with a promotion that stands nowhere else stays, too: without it what was tried reads as untried.
func (v *verifier) checkDeleteRevision(revision *appsv1.ControllerRevision) {
	isUpdate := history.HashOf(revision) == v.plan.Status.UpdateRevision
	duplicate := v.holdsTemplate(revision) && revision != v.history.update
	if duplicate && history.Promoted(revision) && !v.history.staysPromoted {
		v.report(4, "", "C6: delete of revision %s, which alone says that its template was promoted; right is to wait until the "+
			"mark is seen on the update revision", revision.Name)
	}
	if duplicate && history.Completed(revision) && !v.history.staysCompleted {
		v.report(4, "", "T8: delete of revision %s, which alone says that its template was rolled out everywhere; right is to "+
			"wait until the mark is seen on the update revision", revision.Name)
	}
	if isUpdate && duplicate {
		return
	}
	if isUpdate {
		v.report(4, "", "R4: delete of the update revision %s", revision.Name)
	}
	if v.history.carried[history.HashOf(revision)] {
		v.report(4, "", "R4: delete of revision %s, which pods carry", revision.Name)
	}
	if !v.holdsTemplate(revision) && !isUpdate && v.staging.bases[history.HashOf(revision)] {
		v.report(4, "", "R4: delete of revision %s, the base of the stages", revision.Name)
	}
	if !v.holdsTemplate(revision) && v.trial.kept[history.HashOf(revision)] {
		v.report(4, "", "R4: delete of the stable revision %s", revision.Name)
	}
}

// checkHistoryLimit is R4: as many old revisions stay as the limit says, and none goes that is newer than one that
// could go in its place. Duplicates of the update revision are not history.
func (v *verifier) checkHistoryLimit() {
	if len(v.history.deleted) == 0 {
		return
	}
	stay := 0
	var gone []*appsv1.ControllerRevision
	oldest := int64(math.MaxInt64) // of those that stay and could go
	for _, revision := range v.snapshot.Revisions {
		switch {
		case v.holdsTemplate(revision):
		case v.history.deleted[revision.Name]:
			gone = append(gone, revision)
		default:
			stay++
			hash := history.HashOf(revision)
			if !v.history.asked[revision.Name] && !v.history.carried[hash] && !v.trial.kept[hash] && !v.staging.bases[hash] {
				oldest = min(oldest, revision.Revision)
			}
		}
	}
	if limit := int(*v.spec.RevisionHistoryLimit); len(gone) > 0 && stay < limit {
		v.report(4, "", "R4: %d old revisions stay, right are %d", stay, min(limit, stay+len(gone)))
	}
	for _, revision := range gone {
		if revision.Revision > oldest {
			v.report(4, "", "R4: delete of revision %s with number %d, although %d stays and nobody carries it; right is to "+
				"delete the oldest", revision.Name, revision.Revision, oldest)
		}
	}
}
