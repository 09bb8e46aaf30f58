package rollouttest

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Revision returns the ControllerRevision of the spec's template as the planner creates it (R1), with the given
// revision number and the UID "revision-<name>". It is nil for a spec that [rollout.New] refuses; a snapshot that
// contains it is refused in turn.
func Revision(spec rollout.Spec, number int64) *appsv1.ControllerRevision {
	return objects.Revision(spec, number)
}

// Hash returns the hash of the spec's template, which pods of that revision carry as a label. It is empty for a spec
// that [rollout.New] refuses. It differs between versions of k8s.io/api (R1), so do not write it into a test.
func Hash(spec rollout.Spec) string { return objects.Hash(spec) }

// Promoted returns the revision of the spec, as [Revision] does, with the mark of a promotion an hour before [Noon] (C6).
func Promoted(spec rollout.Spec, number int64) *appsv1.ControllerRevision {
	return objects.Marked(Revision(spec, number), map[string]string{
		history.PromotedAnnotation: objects.HourAgo().UTC().Format(time.RFC3339),
	})
}

// RolledOut returns the revision of the spec, as [Revision] does, with the mark of a rollout that came to its end an hour before
// [Noon] (T8).
func RolledOut(spec rollout.Spec, number int64) *appsv1.ControllerRevision {
	return objects.Marked(Revision(spec, number), map[string]string{
		history.CompletedAnnotation: objects.HourAgo().UTC().Format(time.RFC3339),
	})
}

// Rejected returns the revision of the spec, as [Revision] does, with the mark of a canary that failed (C6).
func Rejected(spec rollout.Spec, number int64, reason canary.PhaseReason) *appsv1.ControllerRevision {
	return objects.Marked(Revision(spec, number), map[string]string{history.FailedAnnotation: reason.String()})
}
