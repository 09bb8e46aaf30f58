package rollout

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Writing marks on revisions and the label of a canary's pods is part of step act. Revisions are marked as promoted or failed
// (C6), as given up or retried (F3), and as rolled out everywhere (T8).

// marking is what is to be written on one revision.
type marking struct {
	revision history.Revision
	set      map[string]string
	remove   []string
}

// addMarks adds to what is to be written on a revision, so that one plan writes to it once.
func addMarks(marks []marking, revision history.Revision, set map[string]string, remove []string) []marking {
	for i := range marks {
		if m := &marks[i]; m.revision.Name == revision.Name {
			both := make(map[string]string, len(m.set)+len(set))
			maps.Copy(both, m.set)
			maps.Copy(both, set)
			m.set, m.remove = both, slices.Concat(m.remove, remove)
			return marks
		}
	}
	return append(marks, marking{revision, set, remove})
}

// markRevisions writes on the history what a lost memory would lose: verdicts (C6), and that a rollout came to its end (T8).
// Frozen does not stop marks.
func (r *run) markRevisions() {
	for _, m := range r.frontierMark(r.completeMarks(r.verdictMarks())) {
		r.annotate(m.revision, m.set, m.remove)
	}
}

// verdictMarks returns the marks of verdicts: that of this trial, and which revision is the stable one while another is
// tried. Where revisions were marked once, the marks are kept up without a canary, too, because the canary may come back
// (C6).
func (r *run) verdictMarks() []marking {
	marks, some := r.givingUpMarks()
	if some {
		return marks
	}
	update := r.revision.Update
	promoted := map[string]string{history.PromotedAnnotation: r.stamp()}
	if r.spec.Strategy.Canary == nil {
		if r.revision.Marked && !history.Promoted(update.Existing) { // even a failed one is rolled out
			marks = addMarks(marks, update, promoted, nil)
		}
		return marks
	}
	if len(r.trial.Set)+len(r.trial.Remove) > 0 {
		marks = addMarks(marks, update, r.trial.Set, r.trial.Remove)
	}
	stable := r.revision.Stable
	if r.hasTwoGoals() && stable.Hash != update.Hash && !history.Promoted(stable.Existing) {
		marks = addMarks(marks, stable, promoted, nil)
	}
	return marks
}

// givingUpMarks returns the marks of a revision that is given up, or of one that is tried once more (F3), and whether there are
// any: other verdicts do not count then.
func (r *run) givingUpMarks() (marks []marking, some bool) {
	update := r.revision.Update
	if r.retriesFailed() {
		return addMarks(nil, update, map[string]string{history.RetriedAnnotation: r.failures.Retry},
			[]string{history.FailedAnnotation, history.FailedMessageAnnotation}), true
	}
	switch {
	case r.isGivenUp() && isMarkedGivenUp(update.Existing):
		return nil, true
	case r.isGivenUp() || r.plan.GaveUp != "":
		set := map[string]string{
			history.FailedAnnotation: failure.Reason, history.FailedMessageAnnotation: r.gaveUpText(),
		}
		var remove []string
		if history.Promoted(update.Existing) {
			remove = []string{history.PromotedAnnotation}
		}
		return addMarks(nil, update, set, remove), true
	default:
		return nil, false
	}
}

// gaveUpText says why the revision is given up: in this plan, or in an earlier one.
func (r *run) gaveUpText() string {
	if r.plan.GaveUp != "" {
		return r.plan.GaveUp
	}
	return r.gaveUpBefore()
}

// completeMarks adds the marks of rollouts that came to their end (T8): that of the update revision, and as long as no revision
// has one, that of the base if every node has it.
func (r *run) completeMarks(marks []marking) []marking {
	mark := map[string]string{history.CompletedAnnotation: r.stamp()}
	update, base := r.revision.Update, r.revision.Base
	if (r.stages.Completed || r.revision.Completed) && !history.Completed(update.Existing) {
		var remove []string
		if history.Failed(update.Existing) && r.trial.Phase != canary.Failed { // one verdict; a failed trial keeps its own
			remove = []string{history.FailedAnnotation, history.FailedMessageAnnotation}
		}
		return addMarks(marks, update, mark, remove)
	}
	if r.baseEverywhere && !r.revision.AnyCompleted && base.Existing != nil && base.Hash != update.Hash {
		return addMarks(marks, base, mark, nil)
	}
	return marks
}

// frontierMark adds the mark that says how far the stages of the update revision are (T8). It is taken off when the rollout has
// come to its end, and while the revision is on trial or given up: then its parts pass anew. A mark of the same part is written
// again only if it is older: after a retry the part was seen done anew.
func (r *run) frontierMark(marks []marking) []marking {
	update := r.revision.Update
	before, was := "", stage.Frontier{}
	if update.Existing != nil {
		before = update.Existing.Annotations[history.FrontierAnnotation]
		was = stage.ReadAnnotation(before, update.Number)
	}
	now := stage.Frontier{}
	if r.rules.Stages.Len() > 0 && len(r.stages.States) > 0 &&
		!r.stages.Completed && !r.revision.Completed && r.plan.GaveUp == "" {
		now = r.stages.Frontier
	}
	switch at := was.At; {
	case now.At.IsZero() && before == "":
		return marks
	case now.At.IsZero():
		return addMarks(marks, update, nil, []string{history.FrontierAnnotation})
	case now.IsAt(was) && !at.Before(now.At):
		return marks
	default:
		return addMarks(marks, update, map[string]string{history.FrontierAnnotation: now.Annotation(update.Number)}, nil)
	}
}

// stamp returns the value of a mark: the time of the plan.
func (r *run) stamp() string { return r.snapshot.Now.UTC().Format(time.RFC3339) }

// annotate plans marks on a revision. A revision that this plan creates gets them at once. What is promoted loses the marks of a
// fail, so that a revision has one verdict (C6).
func (r *run) annotate(revision history.Revision, set map[string]string, remove []string) {
	if revision.Existing == nil {
		if object := r.revision.Create; object != nil && object.Name == revision.Name { // else there is no object to mark
			object.Annotations = maps.Clone(set)
		}
		return
	}
	if _, promotes := set[history.PromotedAnnotation]; promotes && history.Failed(revision.Existing) {
		remove = append(slices.Clone(remove), history.FailedAnnotation, history.FailedMessageAnnotation)
		slices.Sort(remove)
		remove = slices.Compact(remove)
	}
	if !r.revisionsInFlight[revision.Name] {
		r.plan.Revisions = append(r.plan.Revisions, RevisionAction{
			Verb: AnnotateRevision, Name: revision.Name, UID: revision.Existing.UID, Number: revision.Number,
			Annotations: maps.Clone(set), RemoveAnnotations: slices.Clone(remove),
		})
	}
}

// labelCanaries puts the canary label on the pods of the update revision on canary nodes, and takes it off all others.
func (r *run) labelCanaries() {
	if !r.usesCanaryLabel || r.stops(none, writeHistory).by != nil {
		return
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		for j := n.first; j < n.end; j++ {
			p := &r.pods[j]
			want := n.canary && r.isUpdate(p)
			if p.traits.hasAny(labelled) && r.rules.Predecessor.Owns(p.Object) {
				continue // it was labelled by another set
			}
			if want == p.traits.hasAny(labelled) || p.traits.hasAny(deleting|finished|deleteDeferred|patchInFlight|planPatches) {
				continue // what this plan patches already can wait
			}
			r.note(int32(i), VerbPatch, ReasonCanaryLabel, p)
			r.patch(r.decision(int32(i)), p, r.hashes[p.hash].value, ReasonCanaryLabel, canaryLabel(p.Object, want))
		}
	}
}

func canaryLabel(object *corev1.Pod, want bool) lifecycle.Patch {
	type metadata struct {
		UID    types.UID          `json:"uid"`
		Labels map[string]*string `json:"labels"`
	}
	var value *string
	if want {
		value = new("true")
	}
	// Strings always encode.
	data, _ := json.Marshal(map[string]metadata{"metadata": {UID: object.UID, Labels: map[string]*string{CanaryLabel: value}}})
	return lifecycle.Patch{Type: types.StrategicMergePatchType, Data: data}
}
