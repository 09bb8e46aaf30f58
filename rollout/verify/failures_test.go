package verify_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// handFailures is a policy for failures, which gives the revision up.
func handFailures(maxFailed, quarantine int32, changes ...func(*failure.Options)) change {
	options := failure.Options{
		Action: failure.Rollback, MaxFailed: new(intstr.FromInt32(maxFailed)), Quarantine: new(intstr.FromInt32(quarantine)),
	}
	for _, apply := range changes {
		apply(&options)
	}
	return handStrategy(func(s *rollout.Strategy) { s.Policy.Failures = &options })
}

func pauses(o *failure.Options)     { o.Action = failure.Pause }
func retriesAny(o *failure.Options) { o.Retry = "*" }
func byRestarts(o *failure.Options) { o.MaxRestarts = new(int32(2)) }
func restarted(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}}
}

// handStuck are pods that were created so long ago and were never ready.
func handStuck(ago time.Duration, names ...string) change {
	return func(s *handmade) {
		handPods("unready", names...)(s)
		for _, name := range names {
			pod, at := s.pod(name), metav1.NewTime(handNow().Add(-ago))
			pod.CreationTimestamp, pod.Status.StartTime = at, &at
			for i := range pod.Status.Conditions {
				pod.Status.Conditions[i].LastTransitionTime = at
			}
		}
	}
}

// handMarks puts annotations on the update revision.
func handMarks(annotations map[string]string) change {
	return func(s *handmade) { s.snapshot.Revisions[1].Annotations = annotations }
}

// handGivenUp are the marks of a revision that was given up.
func handGivenUp(more ...string) map[string]string {
	marks := map[string]string{history.FailedAnnotation: failure.Reason, history.FailedMessageAnnotation: "1 node failed, at most 0 may: a"}
	for i := 0; i < len(more); i += 2 {
		marks[more[i]] = more[i+1]
	}
	return marks
}

// handFailing is a fleet of three nodes: the update revision has failed on a, while b and d are outdated.
func handFailing(changes ...change) func() *handmade {
	return handFleet(append([]change{atMost("9"), handFailures(0, 0), handStuck(time.Hour, "a-new"), handPods("available", "b-old", "d-old")}, changes...)...)
}

func TestVerifyAcceptsFailures(t *testing.T) {
	runAccepts(t, []acceptRow{
		{name: "too many have failed", why: "F3", scene: handFailing()},
		{name: "fewer than may", why: "F2", scene: handFailing(handFailures(1, 0))},
		{name: "in quarantine", why: "F4", scene: handFailing(handFailures(1, 1))},
		{name: "given up", why: "F3", scene: handFailing(handMarks(handGivenUp()))},
		{name: "retried", why: "F3", scene: handFailing(handFailures(0, 0, retriesAny), handMarks(handGivenUp()))},
		{name: "retried already", why: "F3", scene: handFailing(handFailures(0, 0, retriesAny), handMarks(handGivenUp(history.RetriedAnnotation, "*")))},
		{name: "restarts of one of many alike", why: "F1: it is told apart from the others", scene: handFleet(
			atMost("9"), handFailures(0, 0, byRestarts), handPods("available", "a-new", "b-new", "c-new", "d-new", "e-old", "f-old"), onPods(restarted, "c-new"))},
		{name: "a hook, and too many have failed", why: "F3, L2: what leaves is taken back", scene: handFailing(
			preDelete, hookedBy("b-old"), inStateOf("PreparingDelete", "b-old"))},
	})
}

func TestVerifyFailures(t *testing.T) {
	failing := handFailing()
	deletes := func(s *handmade) {
		d := s.decision("b")
		d.Limit, d.Reason = rollout.LimitNone, rollout.ReasonOutdated
		s.delete("b-old").bring()
	}
	fresh := func(s *handmade) { s.plan.Creates[0].Revision, s.plan.Creates[0].Template = freshHash, nil }
	gaveUp := handFailing(handMarks(handGivenUp()))
	annotate := func(i int, apply func(*rollout.RevisionAction)) func(*handmade) {
		return func(s *handmade) {
			at := slices.IndexFunc(s.plan.Revisions, func(a rollout.RevisionAction) bool { return a.Name == s.snapshot.Revisions[i].Name })
			apply(&s.plan.Revisions[at])
		}
	}
	remembered := func(s *handmade) {
		s.snapshot.Memory = handMemory()
		s.snapshot.Memory.Rollout = rollout.Record{Revision: freshHash, GaveUp: "1 node failed, at most 0 may: a"}
	}
	says := func(gaveUp string) func(*handmade) {
		return func(s *handmade) { s.plan.GaveUp, s.plan.Memory.Rollout.GaveUp = gaveUp, gaveUp }
	}
	retried := handFailing(handFailures(0, 0, retriesAny), handMarks(handGivenUp()))
	runViolations(t, []violationRow{
		{
			name: "a begin", why: "V25", scene: failing, plant: deletes, want: 25, mention: "node b: delete of the outdated pod b-old begins a held node (failures)",
		},
		{
			name: "a lost pod comes back new", why: "V25", scene: handFailing(handPods("available", "e")), plant: fresh, want: 25,
			mention: `node e: T1: create at revision "fresh"`,
		},
		{
			name: "a begin because a part is open", why: "V25: the deadline counts, not whether the pod is new", plant: deletes, want: 25,
			scene: handFleet(atMost("9"), handFailures(0, 0), handStuck(time.Minute, "a-new"), handPods("available", "b-old"), func(s *handmade) {
				s.snapshot.Memory = handMemory(rollout.Backoff{
					Node: "a", Revision: freshHash, Since: handNow().Add(-time.Minute), Delay: time.Second, First: handNow().Add(-time.Hour), Deleted: 3,
				})
			}), mention: "begins a held node (failures)",
		},
		{
			name: "a begin after too many restarts", why: "V25", plant: deletes, want: 25, mention: "begins a held node (failures)",
			scene: handFleet(atMost("9"), handFailures(0, 0, byRestarts), handPods("available", "a-new", "b-old"), onPods(restarted, "a-new")),
		},
		{
			name: "goes on after it was given up", why: "C7, F3: its goal is the base", scene: gaveUp, plant: func(s *handmade) { s.delete("b-old").bring() },
			want: 4, mention: "node b: delete of pod b-old, the best of revision stale, where the node is to end",
		},
		{
			name: "not given up", why: "V25", scene: failing, plant: says(""), want: 25, mention: "given up because",
		},
		{
			name: "given up without need", why: "V25", scene: handFailing(handFailures(1, 0)), plant: says("?"), want: 25,
			mention: "given up because",
		},
		{
			name: "given up although it is to pause", why: "F3", scene: handFailing(handFailures(0, 0, pauses)), plant: says("?"),
			want: 25, mention: "given up because",
		},
		{
			name: "revived without a command", why: "V25: one verdict", scene: gaveUp, plant: says(""), want: 25,
			mention: "given up because",
		},
		{
			name: "forgotten while its mark is not seen", why: "V25: the memory knows", scene: handFailing(remembered),
			plant: says(""), want: 25, mention: "given up because",
		},
		{
			name: "a retry is not obeyed", why: "F3", scene: handFailing(handFailures(1, 0, retriesAny), handMarks(handGivenUp())),
			plant: says("?"), want: 25, mention: "given up because",
		},
		{
			name: "a retry is obeyed twice", why: "F3: one value works once", want: 25, mention: "given up because",
			scene: handFailing(handFailures(0, 0, retriesAny), handMarks(handGivenUp(history.RetriedAnnotation, "*"))), plant: says(""),
		},
		{
			name: "given up and not remembered", why: "F3", scene: failing, plant: func(s *handmade) { s.plan.Memory.Rollout.GaveUp = "" }, want: 12,
			mention: "F3: memory has that the revision is given up because",
		},
		{
			name: "the verdict is not written", why: "V25", scene: failing, plant: func(s *handmade) { s.plan.Revisions = nil }, want: 25,
			mention: "F3: nothing writes on revision agent-fresh",
		},
		{
			name: "another verdict is written", why: "F3", scene: failing, want: 4, mention: "which is no verdict on it",
			plant: annotate(1, func(a *rollout.RevisionAction) { a.Annotations[history.FailedAnnotation] = "Restarts" }),
		},
		{
			name: "a verdict without failures", why: "F3", scene: handFailing(handFailures(1, 0)), want: 4, mention: "which is no verdict on it",
			plant: func(s *handmade) { s.annotating(freshHash, handGivenUp()) },
		},
		{
			name: "a verdict is taken back without a command", why: "F3", scene: gaveUp, want: 4, mention: "removes annotation",
			plant: func(s *handmade) { s.annotating(freshHash, nil, history.FailedAnnotation) },
		},
		{
			name: "the promotion stays", why: "F3: a revision has one verdict", want: 4, mention: "F3: keeps the mark of the promotion of revision agent-fresh",
			scene: handFailing(handMarks(map[string]string{history.PromotedAnnotation: "?"})),
			plant: annotate(1, func(a *rollout.RevisionAction) { a.RemoveAnnotations = nil }),
		},
		{
			name: "a retry is not written", why: "F3: it would be obeyed again", scene: retried, want: 25, mention: "F3: nothing writes on revision agent-fresh that it is retried",
			plant: func(s *handmade) { s.plan.Revisions = nil },
		},
		{
			name: "not in quarantine's bounds", why: "F4", scene: handFailing(handFailures(1, 1), handStuck(time.Hour, "c-new")), want: 25,
			mention: "F4: left out of the budgets in quarantine as number 2",
			plant:   func(s *handmade) { s.decision("c").Exemption = rollout.ExemptionQuarantined },
		},
		{
			name: "in quarantine and not failed", why: "F4", want: 25, mention: "although it has not failed",
			scene: handFailing(handFailures(1, 1), handStuck(time.Minute, "c-new")),
			plant: func(s *handmade) { s.decision("c").Exemption = rollout.ExemptionQuarantined },
		},
		{
			name: "the base goes", why: "R4: without stages, too", scene: handFailing(handCompleted, func(s *handmade) {
				s.snapshot.Pods = s.snapshot.Pods[:1]
				s.spec.RevisionHistoryLimit = new(int32(0))
			}),
			want: 4, mention: "agent-stale", plant: func(s *handmade) { s.deleteRevision("stale") },
		},
		{
			name: "asleep when the deadline passes", why: "V15", scene: handFailing(handFailures(2, 0), handStuck(9*time.Minute, "c-new")), want: 15,
			mention: "F1: the deadline passes at 2026-01-15T12:01:00Z, before nextWake", plant: func(s *handmade) { s.plan.NextWake = handNow().Add(time.Hour) },
		},
	})
}

func TestVerifyWhatPlansSayOfFailures(t *testing.T) {
	failing := handFailing()
	budget := func(apply func(*rollout.Budget)) func(*handmade) {
		return func(s *handmade) { apply(&s.plan.Budget) }
	}
	runViolations(t, []violationRow{
		{
			name: "failed is not said", why: "V12", scene: failing, plant: func(s *handmade) { s.decision("a").Failed = false }, want: 12,
			mention: "node a: F1: failed is false, right is true",
		},
		{
			also: 29, name: "failed is said of another", why: "V12", scene: failing, plant: func(s *handmade) { s.decision("b").Failed = true }, want: 12,
			mention: "node b: F1: failed is true, right is false",
		},
		{
			name: "failed", why: "V12", scene: failing, plant: budget(func(b *rollout.Budget) { b.Failed++ }), want: 12, mention: "F2: budget.failed is 2, right is 1",
		},
		{
			name: "maxFailed", why: "V12", scene: failing, plant: budget(func(b *rollout.Budget) { b.MaxFailed++ }), want: 12,
			mention: "F2: budget.maxFailed is 1, right is 0",
		},
		{
			name: "maxQuarantined", why: "V12", scene: failing, plant: budget(func(b *rollout.Budget) { b.MaxQuarantined++ }), want: 12,
			mention: "F2: budget.maxQuarantined is 1, right is 0",
		},
		{
			name: "quarantined", why: "V12", scene: handFailing(handFailures(1, 1)), plant: budget(func(b *rollout.Budget) { b.Quarantined = 0 }), want: 12,
			mention: "F2: budget.quarantined is 0, right is 1",
		},
		{
			also: 28, name: "rolled back too soon", why: "V12", scene: failing, plant: func(s *handmade) { s.plan.Status.State = status.RolledBack }, want: 12,
			mention: "F3: status.state is RolledBack",
		},
		{
			name: "not rolled back", why: "V12", scene: handFailing(handMarks(handGivenUp())), plant: func(s *handmade) { s.plan.Status.State = status.Updating }, want: 12,
			mention: "F3: status.state is Updating",
		},
		{
			name: "not too many", why: "V12", scene: handFailing(handFailures(1, 0)), plant: func(s *handmade) { s.plan.Status.Reason = status.TooManyFailures }, want: 12,
			mention: "F3: status.reason is TooManyFailures, but only 1 nodes have failed, and 1 may",
		},
		{
			name: "waits for failures without any", why: "V12", scene: handFailing(handFailures(1, 0)), want: 12, mention: "F3: limit failures, right is another",
			plant: func(s *handmade) {
				d := s.decision("b")
				d.Reason, d.Limit = rollout.ReasonGated, rollout.LimitFailures
			},
		},
	})
}
