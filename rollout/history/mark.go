package history

import appsv1 "k8s.io/api/apps/v1"

// Annotations of a ControllerRevision that hold the verdict of its canary (C6), and that its rollout came to its end (T8).
// They are on the object, so that a lost memory loses no verdict.
const (
	// PromotedAnnotation is on revisions that were promoted. Its value is the time in RFC 3339, but any value counts.
	PromotedAnnotation = "daemonplan.io/promoted"
	// FailedAnnotation is on revisions whose canary failed. Its value is the reason.
	FailedAnnotation = "daemonplan.io/failed"
	// FailedMessageAnnotation says in words what failed.
	FailedMessageAnnotation = "daemonplan.io/failed-message"
	// CompletedAnnotation is on revisions that were rolled out to every node, stage by stage (T8). Its value is the time in
	// RFC 3339, but any value counts.
	CompletedAnnotation = "daemonplan.io/completed"
	// FrontierAnnotation is on the update revision while it is rolled out in stages. It says how far they are, so that a lost
	// memory loses no soak and no approval (T8). [stage.ReadAnnotation] reads its value.
	//
	// [stage.ReadAnnotation]: https://pkg.go.dev/github.com/daemonplan/daemonplan/rollout/stage#ReadAnnotation
	FrontierAnnotation = "daemonplan.io/frontier"
	// RetriedAnnotation holds the last retry command that was obeyed, so that it is obeyed once.
	RetriedAnnotation = "daemonplan.io/retried"
)

// Promoted reports whether a revision carries the mark of a promotion. It is false for nil.
func Promoted(revision *appsv1.ControllerRevision) bool {
	if revision == nil {
		return false
	}
	_, ok := revision.Annotations[PromotedAnnotation]
	return ok
}

// Failed reports whether a revision carries the mark of a failed canary. It is false for nil.
func Failed(revision *appsv1.ControllerRevision) bool {
	if revision == nil {
		return false
	}
	_, ok := revision.Annotations[FailedAnnotation]
	return ok
}

// Completed reports whether a revision carries the mark of a rollout that came to its end. It is false for nil.
func Completed(revision *appsv1.ControllerRevision) bool {
	if revision == nil {
		return false
	}
	_, ok := revision.Annotations[CompletedAnnotation]
	return ok
}
