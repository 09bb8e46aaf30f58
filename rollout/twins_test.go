package rollout_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// A duplicate that alone says that its template was promoted stays until the mark is seen on the revision that stays (C6): the
// planner keeps it, and the verifier refuses a plan in which it goes, whatever else is true of the set.
func TestVerifyPromotedDuplicateGoes(t *testing.T) {
	specs := map[string][]kit.SpecOption{
		"with a canary": {kit.Canary("1")}, "without a canary": nil, "frozen": {kit.Canary("1"), kit.Frozen()},
		"manual": {kit.Canary("1"), kit.CanaryManual()},
	}
	fleets := map[string][]spot{
		"on trial": {on("a", newPod()), on("b", oldPod())}, "empty": {on("a"), on("b")}, "rolled out": {on("a", newPod()), on("b", newPod())},
		"carried": {on("a", newPod(kit.AtRevision(twin))), on("b", oldPod())},
	}
	marks := func(hash string) func(*lab) { return withMark(hash, history.PromotedAnnotation, "x") }
	labelled := func(hash string) func(*lab) {
		return func(l *lab) {
			for _, revision := range l.snapshot.Revisions {
				if history.HashOf(revision) == twin {
					revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = l.hash(hash)
				}
			}
		}
	}
	flying := func(names ...string) func(*lab) {
		return func(l *lab) {
			for _, name := range names {
				l.snapshot.InFlight.Revisions = append(l.snapshot.InFlight.Revisions, "agent-"+l.hash(name))
			}
		}
	}
	histories := map[string]func(*lab){
		"marked": marks(twin), "marked, and the stable one": all(marks(twin), marks("old")), "marked, and it has failed": all(marks(twin), failedRevision),
		"marked, with the same hash": all(marks(twin), labelled("update")), "marked, with the hash of another": all(marks(twin), labelled("old")),
		"the mark is on its way": all(marks(twin), flying("update")),
		"empty": all(marks(twin), func(l *lab) {
			for _, revision := range l.snapshot.Revisions {
				if _, ok := revision.Annotations[history.PromotedAnnotation]; ok {
					revision.Annotations[history.PromotedAnnotation] = ""
				}
			}
		}),
	}
	for of, spec := range specs {
		for fleet, spots := range fleets {
			for name, set := range histories {
				l := newLab(spec...).add(spots...)
				l.numbered(t, numbered{"old", 2}, numbered{"twin", 5}, numbered{"update", 9})
				set(l)
				plan := l.plan(t)
				for _, violation := range verify.Plan(l.spec, l.snapshot, &plan) {
					t.Errorf("%s, %s, %s: the planner's own plan: %v", of, fleet, name, violation)
				}
				i := slices.IndexFunc(l.snapshot.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == "agent-"+twin })
				gone := l.snapshot.Revisions[i]
				plan.Revisions = append(plan.Revisions, rollout.RevisionAction{
					Verb: rollout.DeleteRevision, Name: gone.Name, UID: gone.UID, Number: gone.Revision,
				})
				violations := verify.Plan(l.spec, l.snapshot, &plan)
				if !slices.ContainsFunc(violations, func(v verify.Violation) bool {
					return v.Invariant == 4 && strings.Contains(v.Message, "alone says that its template was promoted")
				}) {
					t.Errorf("%s, %s, %s: the duplicate goes: %v", of, fleet, name, violations)
				}
			}
		}
	}
}
