package verify_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

func handRetrying(value string) change {
	return handTrying(func(o *canary.Options) { o.Commands.Retry = value })
}

// handDuplicate adds an older revision of the template.
func handDuplicate(annotations map[string]string) change {
	return func(s *handmade) {
		twin := handRevision("twin", 1, s.spec.Template)
		twin.Annotations = annotations
		s.snapshot.Revisions = append(s.snapshot.Revisions, twin)
	}
}

// handNamesake adds a revision of another template with the hash of an existing revision.
func handNamesake(of int, annotations map[string]string) change {
	return func(s *handmade) {
		there := s.snapshot.Revisions[of]
		namesake := handRevision(history.HashOf(there), there.Revision, handTemplate("v9"))
		namesake.Name, namesake.UID, namesake.Annotations = "agent-z", "uid-agent-z", annotations
		s.snapshot.Revisions = append(s.snapshot.Revisions, namesake)
	}
}

// handCopied adds a revision of the template with the hash of the update revision and another name, before it or after it.
func handCopied(number int64, before int, annotations map[string]string) change {
	return func(s *handmade) {
		twin := handRevision(freshHash, number, s.spec.Template)
		twin.Name, twin.UID, twin.Annotations = "agent-z", "uid-agent-z", annotations
		s.snapshot.Revisions = slices.Insert(s.snapshot.Revisions, 2-before, twin)
	}
}

// handKeeping removes the deletion of revisions from a plan.
func handKeeping(scene func() *handmade) func() *handmade {
	return func() *handmade {
		s := scene()
		s.plan.Revisions = slices.DeleteFunc(s.plan.Revisions, func(a rollout.RevisionAction) bool { return a.Verb == rollout.DeleteRevision })
		return s
	}
}

func handWithoutCanary(s *handmade) { s.spec.Strategy.Canary = nil }

func TestVerifyAcceptsMarks(t *testing.T) {
	promoted, failed := map[string]string{history.PromotedAnnotation: "?"}, map[string]string{history.FailedAnnotation: "?"}
	runAccepts(t, []acceptRow{
		{name: "an empty one", why: "C6: a mark is one, whatever it says", scene: func() *handmade {
			s := handPassed()()
			for _, action := range s.plan.Revisions {
				action.Annotations[history.PromotedAnnotation] = ""
			}
			return s
		}},
		{name: "a fail is taken back as the canary is turned off", why: "C6: it is rolled out all the same", scene: handRejected(handWithoutCanary)},
		{name: "a fail is taken back, of what was promoted, without a canary", why: "C6: nothing else is to be written", scene: func() *handmade {
			s := handRejected(handWithoutCanary, handMarkedBy(history.PromotedAnnotation, "?"))()
			s.plan.Revisions = nil
			s.annotating(freshHash, nil, history.FailedAnnotation)
			return s
		}},
		{name: "promoted in spite of a fail, as only the memory knows", why: "C6: what was decided last counts", scene: handRejected(
			handRecorded(func(r *canary.Record) { r.Verdict = &canary.Finding{} }))},
		{name: "promoted after a retry, and the fail is seen only now", why: "C5: the retry is on record", scene: handRejected(
			handRetrying(freshHash), handRecorded(func(r *canary.Record) { r.Verdict = &canary.Finding{} }))},
		{name: "a duplicate was promoted, without a canary", why: "C6: marks are kept up", scene: handTrial(handWithoutCanary, handDuplicate(promoted))},
		{name: "a duplicate was promoted", why: "C6: so is the revision, and says so", scene: handTrial(handDuplicate(promoted))},
		{name: "a duplicate was promoted, and the revision has failed", why: "C6: a promotion counts more", scene: handRejected(handDuplicate(promoted))},
		{name: "retried and given up again", why: "C5: retry revives it, and it fails by command", scene: handRejected(
			handMarkedBy(history.RetriedAnnotation, freshHash), handTrying(func(o *canary.Options) {
				o.Commands.Retry, o.Commands.Fail = freshHash+"/2", freshHash
			}))},
		{name: "a namesake of its hash has failed", why: "C6: that is another template's", scene: handTrial(
			handNamesake(1, failed))},
		{name: "an older duplicate of its hash goes", why: "R3: its pods are those of the one that stays", scene: handTrial(handCopied(1, 0, nil))},
		{name: "a duplicate that was promoted goes, another stays", why: "C6: the mark is still there", scene: func() *handmade {
			s := handTrial(handCopied(1, 0, promoted), handDuplicate(promoted))()
			s.plan.Revisions = append(s.plan.Revisions, rollout.RevisionAction{Verb: rollout.DeleteRevision, Name: "agent-z", UID: "uid-agent-z", Number: 1})
			return s
		}},
		{name: "duplicates that were promoted go, as the revision is", why: "C6: its own mark tells", scene: handTrial(
			handCopied(1, 0, promoted), handDuplicate(promoted), handMarkedBy(history.PromotedAnnotation, "?"))},
		{name: "a duplicate that was promoted has the hash of another template", why: "C6: the mark is waited for all the same", scene: handTrial(
			handDuplicate(promoted), func(s *handmade) {
				twin := s.snapshot.Revisions[len(s.snapshot.Revisions)-1]
				twin.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = olderHash
			})},
		{name: "an older duplicate of its hash has failed", why: "C6: the last one tells", scene: handKeeping(handTrial(handCopied(1, 0, failed)))},
		{name: "it has failed, and an older duplicate of its hash has not", why: "C6: the last one tells", scene: handKeeping(handRejected(handCopied(1, 0, nil)))},
		{name: "an older duplicate of its hash, which comes first, has failed", why: "C6: the last one tells", scene: handKeeping(handTrial(handCopied(1, 1, failed)))},
		{name: "a duplicate of its hash and number has failed", why: "C6: the name tells", scene: handKeeping(handTrial(handCopied(2, 0, failed)))},
		{name: "it has failed, and a duplicate of its hash and number has not", why: "C6: the name tells", scene: handKeeping(handRejected(handCopied(2, 0, nil)))},
		{name: "it has failed, and a duplicate of its hash and number, which comes first, has not", why: "C6: the name tells", scene: handKeeping(handRejected(handCopied(2, 1, nil)))},
		{name: "a new revision with an annotation of somebody", why: "C6: it is no verdict", scene: func() *handmade {
			s := handTrial(func(s *handmade) { s.spec.Template = handTemplate("v3") })()
			s.plan.Revisions[0].Object.Annotations = map[string]string{"note": "x"}
			return s
		}},
		{name: "commanded by the name of the object", why: "C5: whatever that is", scene: handTrial(func(s *handmade) {
			s.snapshot.Revisions[1].Name = "renamed"
		}, handTrying(func(o *canary.Options) { o.Commands.Pause = "renamed" }))},
	})
}

func TestVerifyMarks(t *testing.T) {
	promoted := map[string]string{history.PromotedAnnotation: "?"}
	marks := func(hash string, set map[string]string, remove ...string) func(*handmade) {
		return func(s *handmade) { s.annotating(hash, set, remove...) }
	}
	deletes := func(names ...string) func(*handmade) {
		return func(s *handmade) {
			for _, name := range names {
				s.plan.Revisions = append(s.plan.Revisions, rollout.RevisionAction{
					Verb: rollout.DeleteRevision, Name: "agent-" + name, UID: types.UID("uid-agent-" + name), Number: 1,
				})
			}
		}
	}
	retried := func(hash, value string) func(*handmade) {
		return marks(hash, map[string]string{history.RetriedAnnotation: value})
	}
	runViolations(t, []violationRow{
		{
			name: "of a duplicate", why: "C6: the revision itself is marked", scene: handTrial(handDuplicate(nil), handMarkedBy(history.PromotedAnnotation, "?")),
			plant: marks("twin", promoted), want: 4, mention: "annotates revision agent-twin, which is neither",
		},
		{
			name: "a duplicate of its hash goes with the only promotion", why: "C6: nothing else tells that it was tried", scene: handTrial(handCopied(1, 0, promoted)),
			plant: deletes("z"), want: 4, mention: "C6: delete of revision agent-z, which alone says",
		},
		{
			name: "a duplicate goes with the only promotion", why: "C6: nothing else tells that it was tried", scene: handTrial(handDuplicate(promoted)),
			plant: deletes("twin"), want: 4, mention: "C6: delete of revision agent-twin, which alone says",
		},
		{
			name: "a duplicate goes with the only promotion, without a canary", why: "C6: it may come back", scene: handTrial(handWithoutCanary, handDuplicate(promoted)),
			plant: deletes("twin"), want: 4, mention: "C6: delete of revision agent-twin, which alone says",
		},
		{
			name: "both duplicates that were promoted go", why: "C6: one has to stay", scene: handTrial(handCopied(1, 0, promoted), handDuplicate(promoted)),
			plant: deletes("z", "twin"), want: 4, mention: "C6: delete of revision agent-twin, which alone says",
		},
		{
			name: "a duplicate goes with a promotion, the other in flight", why: "C6: that may be its deletion", scene: handTrial(handCopied(1, 0, promoted), handDuplicate(promoted),
				func(s *handmade) { s.snapshot.InFlight.Revisions = []string{"agent-twin"} }),
			plant: deletes("z"), want: 4, mention: "C6: delete of revision agent-z, which alone says",
		},
		{
			name: "a promotion again, without a canary", why: "C6: it has its mark", scene: handTrial(handWithoutCanary,
				handMarkedBy(history.PromotedAnnotation, "?")),
			plant: marks(freshHash, map[string]string{history.PromotedAnnotation: "!"}), want: 4, mention: "which is no verdict on it",
		},
		{
			name: "of the stable revision, which has one, beside a namesake", why: "C6: each says it for itself", scene: handTrial(handNamesake(0, nil), func(s *handmade) {
				s.plan.Revisions = nil
			}),
			plant: marks(staleHash, map[string]string{history.PromotedAnnotation: "!"}), want: 4, mention: "which is no verdict on it",
		},
		{
			name: "a promotion beside a fail", why: "C6: a revision has one verdict", scene: handRejected(handDuplicate(promoted)),
			plant: func(s *handmade) { s.plan.Revisions[0].RemoveAnnotations = nil },
			want:  4, mention: "C6: marks revision agent-fresh as promoted beside the mark of a fail",
		},
		{
			name: "a retry that was obeyed before", why: "C5: once for each value",
			scene: handRejected(handRetrying(freshHash), handMarkedBy(history.RetriedAnnotation, freshHash),
				handRecorded(func(r *canary.Record) { r.Verdict = &canary.Finding{} })),
			plant: func(s *handmade) { s.plan.Revisions[0].Annotations[history.RetriedAnnotation] = freshHash },
			want:  4, mention: "sets annotation " + history.RetriedAnnotation,
		},
		{
			name: "a retry on the stable revision", why: "C5: the update revision is retried", scene: handRejected(handRetrying(freshHash)),
			plant: retried(staleHash, freshHash), want: 4, mention: "sets annotation " + history.RetriedAnnotation,
		},
		{
			name: "a retry of another revision", why: "C5: it is not obeyed here", scene: handTrial(handRetrying("other")),
			plant: retried(freshHash, "other"), want: 4, mention: "sets annotation " + history.RetriedAnnotation,
		},
		{
			name: "the fail of the stable revision goes", why: "C5: the update revision is retried", scene: handRejected(handRetrying(freshHash), func(s *handmade) {
				s.snapshot.Revisions[0].Annotations[history.FailedAnnotation] = "?"
			}),
			plant: marks(staleHash, nil, history.FailedAnnotation), want: 4, mention: "removes annotation " + history.FailedAnnotation,
		},
		{
			name: "a fail goes by a promotion", why: "C5: only retry takes it back", scene: handRejected(handMarkedBy(history.PromotedAnnotation, "?")),
			plant: marks(freshHash, nil, history.FailedAnnotation), want: 4, mention: "removes annotation " + history.FailedAnnotation,
		},
		{
			name: "a fail goes as a duplicate was rolled out", why: "C5, T8: only retry takes it back",
			scene: handRejected(handDuplicate(map[string]string{history.CompletedAnnotation: "?"})),
			plant: func(s *handmade) {
				i := slices.IndexFunc(s.plan.Revisions, func(a rollout.RevisionAction) bool { return a.Annotations[history.CompletedAnnotation] != "" })
				s.plan.Revisions[i].RemoveAnnotations = []string{history.FailedAnnotation}
			},
			want: 4, mention: "removes annotation " + history.FailedAnnotation,
		},
		{
			name: "a promotion comes with another action", why: "C6: only an annotation writes it down",
			scene: handFleet(handWithTrial, handPods("available", "a-new"), handTrying(func(o *canary.Options) { o.Commands.Validate = freshHash }),
				func(s *handmade) { s.snapshot.Revisions[0].Revision = 3 }),
			plant: func(s *handmade) {
				for i, action := range s.plan.Revisions {
					if action.Verb == rollout.AnnotateRevision {
						s.plan.Revisions = append(s.plan.Revisions[:i:i], s.plan.Revisions[i+1:]...)
						break
					}
				}
				s.plan.Revisions[0].Annotations = promoted
			},
			want: 12, mention: "C6: nothing writes " + history.PromotedAnnotation,
		},
		{
			name: "a label before the update", why: "C1: the pod is none of the revision", scene: handFleet(handWithTrial,
				handPods("available", "a-old", "b-old"), handStrategy(func(s *rollout.Strategy) { s.Paused = true })),
			plant: handLabelPatch("a-old", `"true"`), want: 4, mention: `sets the canary label to "true"`,
		},
		{
			name: "a label of the predecessor's", why: "C1: another set gave it", scene: handTrial(handPredecessors("b-old"), handLabelled("b-old"), partitionOf("4")),
			plant: handLabelPatch("b-old", "null"), want: 4, mention: "C1: takes the canary label from a pod of the predecessor",
		},
		{
			name: "a stale command without a canary", why: "C5: there are none", scene: handTrial(handWithoutCanary),
			plant: func(s *handmade) { s.plan.Canary.Stale = []string{"pause x"} }, want: 12, mention: "the spec asks for none",
		},
	})
}
