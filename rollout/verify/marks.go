package verify

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// checkMarks judges the annotations that the plan sets on, or removes from, a revision (C6): verdicts on the update
// revision, as the canary stands; the mark of the stable one while another is tried; nothing else.
func (v *verifier) checkMarks(action *rollout.RevisionAction, revision *appsv1.ControllerRevision) {
	update := v.holdsTemplate(revision) && history.HashOf(revision) == v.plan.Status.UpdateRevision
	stable := !update && history.HashOf(revision) == v.trial.stable
	if !update && !stable && !v.staging.bases[history.HashOf(revision)] {
		v.report(4, "", "C6, T8: annotates revision %s, which is neither the update nor the stable revision, nor the base",
			action.Name)
		return
	}
	v.checkSetMarks(action.Name, action.Number, update, action.Annotations)
	_, promotes := action.Annotations[history.PromotedAnnotation]
	if promotes && history.Failed(revision) && !slices.Contains(action.RemoveAnnotations, history.FailedAnnotation) {
		v.report(4, "", "C6: marks revision %s as promoted beside the mark of a fail; right is to remove that", action.Name)
	}
	_, completes := action.Annotations[history.CompletedAnnotation]
	completes = completes && v.trial.phase != canary.Failed // a duplicate was rolled out; only a retry takes the fail back
	changes := false
	for key, value := range action.Annotations {
		now, has := revision.Annotations[key]
		changes = changes || !has || now != value
	}
	for _, key := range action.RemoveAnnotations {
		_, has := revision.Annotations[key]
		changes = changes || has
		_, sets := action.Annotations[key]
		failure := key == history.FailedAnnotation || key == history.FailedMessageAnnotation
		// Without a canary the revision is rolled out all the same.
		gaveUp := v.failed.givesUp || v.failed.givenUp
		givesUp := update && key == history.PromotedAnnotation && gaveUp
		takenBack := update && (v.failed.retries || !gaveUp && v.spec.Strategy.Canary == nil ||
			v.trial.phase != canary.Failed && v.retriesUpdate())
		if key == history.FrontierAnnotation && update && !sets && v.endsFrontier() {
			continue
		}
		if sets || !givesUp && (!failure || !takenBack && !promotes && !completes) {
			v.report(4, "", "C6: removes annotation %s from revision %s, right is only a fail that is retried, "+
				"or of what is promoted", key, action.Name)
		}
	}
	if !changes {
		v.report(4, "", "C6: annotates revision %s and changes nothing; right is to leave it alone", action.Name)
	}
}

// checkSetMarks judges the annotations that a revision gets, be it a new one.
func (v *verifier) checkSetMarks(name string, number int64, update bool, annotations map[string]string) {
	tries := v.spec.Strategy.Canary != nil
	for key, value := range annotations {
		var right bool
		switch key {
		case history.FrontierAnnotation:
			is, right := stage.ReadAnnotation(value, number), v.staging.frontier
			if !update || !is.IsAt(right) || !is.At.Equal(right.At) || v.staging.completes || !v.staging.followed {
				v.report(4, "", "T8: sets the frontier %s on revision %s, right is %+v", value, name, right)
			}
			continue
		case history.CompletedAnnotation:
			if !v.mayComplete(name, update) {
				v.report(4, "", "T8: marks revision %s as rolled out everywhere; right is only one of which every part is done "+
					"or skipped, or the base while no revision has such a mark", name)
			}
			continue
		case history.PromotedAnnotation:
			switch {
			case update && tries:
				right = v.trial.phase == canary.Idle
			case update:
				right = v.history.marked && !history.Promoted(v.history.update)
			default:
				right = v.trial.phase != canary.Idle && v.isUnmarkedStable(name)
			}
		case history.FailedAnnotation, history.FailedMessageAnnotation:
			right = update && v.trial.phase == canary.Failed
			if v.failed.givesUp || v.failed.givenUp { // F3
				right = update && !v.isMarkedGivenUp() && (key != history.FailedAnnotation || value == failure.Reason)
			}
		case history.RetriedAnnotation:
			right = update && (v.failed.retries && value == v.failed.options.Retry ||
				v.retriesUpdate() && tries && value == v.spec.Strategy.Canary.Commands.Retry)
		}
		if !right {
			v.report(4, "", "C6: sets annotation %s of revision %s to %q, which is no verdict on it", key, name, value)
		}
	}
}

// mayComplete reports whether the revision of that name may get the mark of a rollout that came to its end (T8).
func (v *verifier) mayComplete(name string, update bool) bool {
	if update {
		return (v.staging.completes || v.history.completed) && !history.Completed(v.history.update)
	}
	if v.history.anyCompleted || len(v.stages) == 0 && v.failed.options == nil {
		return false
	}
	return slices.ContainsFunc(v.snapshot.Revisions, func(revision *appsv1.ControllerRevision) bool {
		return revision.Name == name && !v.holdsTemplate(revision) && v.staging.bases[history.HashOf(revision)]
	})
}

// isUnmarkedStable reports whether the revision of that name is the stable one and does not say so yet.
func (v *verifier) isUnmarkedStable(name string) bool {
	return slices.ContainsFunc(v.history.byHash[v.trial.stable], func(revision *appsv1.ControllerRevision) bool {
		return revision.Name == name && !history.Promoted(revision)
	})
}

// retriesUpdate reports whether a fail of the update revision is taken back by command.
func (v *verifier) retriesUpdate() bool {
	return v.judged != nil && v.judged.retried
}

// checkCanaryLabel judges the patch of a pod's canary label: on trial are the pods of the update revision on canary nodes,
// and no others. What a predecessor's pod carries is not for this set to judge.
func (c *patchedPod) checkCanaryLabel(labels map[string]string) {
	value, there := labels[rollout.CanaryLabel]
	right := c.pod.node != nil && c.pod.node.canary && (c.pod.atUpdate || c.pod.begun)
	switch {
	case there && (!right || value != "true"):
		c.wrong(4, "C1: sets the canary label to %q, right is only on pods that are on trial", value)
	case !there && c.predecessor(c.pod.object):
		c.wrong(4, "C1: takes the canary label from a pod of the predecessor, to which another set gave it")
	case !there && right && c.pod.atUpdate:
		c.wrong(4, "C1: takes the canary label from a pod that is on trial")
	}
}

// checkNewMarks holds the annotations of a revision that is created to the verdict on it.
func (v *verifier) checkNewMarks(object *appsv1.ControllerRevision) {
	annotations := make(map[string]string)
	for key, value := range object.Annotations {
		if slices.Contains([]string{
			history.CompletedAnnotation, history.PromotedAnnotation, history.RetriedAnnotation, history.FailedAnnotation,
			history.FailedMessageAnnotation, history.FrontierAnnotation,
		}, key) {
			annotations[key] = value
		}
	}
	v.checkSetMarks(object.Name, object.Revision, true, annotations)
}

// endsFrontier reports whether the update revision is to be without the mark of a frontier (T8): its parts are not followed, or
// not any more, or none is done.
func (v *verifier) endsFrontier() bool {
	return !v.staging.followed || v.staging.completes || v.staging.frontier.At.IsZero() || v.failed.givesUp || len(v.stages) == 0
}

// checkFrontierMark holds the plan to writing how far the parts are, so that a lost memory loses nothing (T8). A mark that is
// later than the frontier stays.
func (v *verifier) checkFrontierMark() {
	update := v.history.update
	if update == nil || v.history.asked[update.Name] { // what is written to it is seen first
		return
	}
	is, number := update.Annotations[history.FrontierAnnotation], max(update.Revision, v.history.next)
	for _, action := range v.plan.Revisions {
		if action.Verb != rollout.AnnotateRevision || action.Name != update.Name {
			continue
		}
		if slices.Contains(action.RemoveAnnotations, history.FrontierAnnotation) {
			is = ""
		}
		is = cmp.Or(action.Annotations[history.FrontierAnnotation], is)
	}
	right, marked := v.staging.frontier, stage.ReadAnnotation(is, number)
	switch {
	case v.endsFrontier() && is != "":
		v.report(12, "", "T8: the update revision keeps the frontier %s, right is none", is)
	case !v.endsFrontier() && (!marked.IsAt(right) || marked.At.Before(right.At)):
		v.report(12, "", "T8: the update revision has the frontier %q, right is %+v", is, right)
	}
}
