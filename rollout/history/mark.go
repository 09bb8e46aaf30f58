package history

import appsv1 "k8s.io/api/apps/v1"

// Annotations of a ControllerRevision that hold the verdict of its canary (C6). They are on the object, so that a lost
// memory loses no verdict.
const (
	// PromotedAnnotation is on revisions that were promoted; its value is when, as RFC 3339. Any value counts.
	PromotedAnnotation = "daemonplan.io/promoted"
	// FailedAnnotation is on revisions whose canary failed; its value is the reason.
	FailedAnnotation = "daemonplan.io/failed"
	// FailedMessageAnnotation says in words what failed.
	FailedMessageAnnotation = "daemonplan.io/failed-message"
	// RetriedAnnotation holds the last retry command that was obeyed, so that it is obeyed once.
	RetriedAnnotation = "daemonplan.io/retried"
)

// Promoted tells whether a revision carries the mark of a promotion. Nil: no.
func Promoted(revision *appsv1.ControllerRevision) bool {
	if revision == nil {
		return false
	}
	_, ok := revision.Annotations[PromotedAnnotation]
	return ok
}

// Failed tells whether a revision carries the mark of a failed canary. Nil: no.
func Failed(revision *appsv1.ControllerRevision) bool {
	if revision == nil {
		return false
	}
	_, ok := revision.Annotations[FailedAnnotation]
	return ok
}
