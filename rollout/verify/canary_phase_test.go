package verify_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestVerifyCanaryPhase(t *testing.T) {
	commanded := func(apply func(*canary.Commands)) change {
		return handTrying(func(o *canary.Options) { apply(&o.Commands) })
	}
	paused := handTrial(commanded(func(c *canary.Commands) { c.Pause = canary.Any }))
	failed := handTrial(commanded(func(c *canary.Commands) { c.Fail = canary.Any }))
	runViolations(t, []violationRow{
		{
			name: "runs after a fail", why: "C5", scene: handTrial(), plant: handMarkedBy(history.FailedAnnotation, "ByCommand"),
			want: 6, mention: "right is Failed: that is on record",
		},
		{
			name: "runs after a fail that memory knows", why: "C6", scene: handTrial(),
			plant: handRecorded(func(r *canary.Record) { r.Verdict = &canary.Finding{Phase: canary.Failed} }), want: 6, mention: "right is Failed",
		},
		{
			name: "a retry is obeyed twice", why: "C5: once per value", scene: handTrial(commanded(func(c *canary.Commands) { c.Retry = freshHash })),
			plant: both(handMarkedBy(history.FailedAnnotation, "ByCommand"), handMarkedBy(history.RetriedAnnotation, freshHash)),
			want:  6, mention: "right is Failed: that is on record, and nobody has retried it",
		},
		{
			name: "runs although it is given up", why: "C5", scene: handTrial(),
			plant: commanded(func(c *canary.Commands) { c.Fail = "agent-" + freshHash }), want: 6, mention: "right is Failed: by command",
		},
		{
			name: "runs although it is validated", why: "C5", scene: handTrial(),
			plant: commanded(func(c *canary.Commands) { c.Validate = freshHash }), want: 12, mention: "right is Idle: validated by command",
		},
		{
			name: "runs after it was promoted", why: "C6", scene: handTrial(),
			plant: handRecorded(func(r *canary.Record) { r.Verdict = &canary.Finding{} }), want: 12, mention: "right is Idle: the revision is promoted",
		},
		{
			name: "runs although it is paused", why: "C5", scene: handTrial(),
			plant: commanded(func(c *canary.Commands) { c.Pause = freshHash }), want: 6, mention: "right is Paused or Failed: it is paused by command",
		},
		{
			name: "runs after an automatic pause", why: "C3", scene: handTrial(),
			plant: both(handRecorded(func(r *canary.Record) { r.Pause = &canary.Finding{} }), func(s *handmade) {
				s.plan.Memory.Canary.Pause = &canary.Finding{}
			}),
			want: 6, mention: "nobody has unpaused it",
		},
		{
			name: "forgets an automatic pause", why: "C3", scene: handTrial(handRestarted(3)),
			plant: func(s *handmade) { s.plan.Memory.Canary.Pause = nil }, want: 12, mention: "forgets that the canary was paused",
		},
		{
			name: "forgets an automatic pause of before", why: "C3", scene: handTrial(handRecorded(func(r *canary.Record) {
				r.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.SlowStart}
			}), commanded(func(c *canary.Commands) { c.Pause = canary.Any })),
			plant: func(s *handmade) { s.plan.Memory.Canary.Pause = nil }, want: 12, mention: "forgets that the canary was paused",
		},
		{
			name: "runs for too long", why: "C4", scene: handTrial(),
			plant: handTrying(func(o *canary.Options) { o.AutoFail.CanaryTimeout = new(20*time.Minute - 1) }), want: 6, mention: "longer than the timeout",
		},
		{
			name: "runs with restarts", why: "C3", scene: handTrial(handRestarted(2)),
			plant: handRestarted(3), want: 6, mention: "pod a-new does not come up",
		},
		{
			name: "runs with far too many restarts", why: "C4", scene: handTrial(handRestarted(2),
				handTrying(func(o *canary.Options) { o.AutoPause.Disabled = true })),
			plant: handRestarted(6), want: 6, mention: "pod a-new restarted too often",
		},
		{
			name: "runs without an image", why: "C3", scene: handTrial(handRestarted(0)),
			plant: handWaiting("InvalidImageName"), want: 6, mention: "pod a-new does not come up",
		},
		{
			name: "runs while a pod is slow", why: "C3", scene: handTrial(handWaiting("PodInitializing")),
			plant: handTrying(func(o *canary.Options) { o.AutoPause.MaxSlowStartDuration = new(10*time.Minute - 1) }), want: 6, mention: "pod a-new does not come up",
		},
		{
			name: "runs while a pod is slow since its start", why: "C3", scene: handTrial(handWaiting("ErrImagePull"),
				handTrying(func(o *canary.Options) { o.AutoPause.MaxSlowStartDuration = new(10 * time.Minute) })),
			plant: onPods(func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: handNow().Add(-time.Hour)} }, "a-new"),
			want:  6, mention: "pod a-new does not come up",
		},
		{
			name: "failed without a reason", why: "C4", scene: failed,
			plant: commanded(func(c *canary.Commands) { c.Fail = "" }), want: 12, mention: "right is on trial: nothing shows that it has failed",
		},
		{
			name: "failed by restarts although that is turned off", why: "C4", scene: handTrial(handRestarted(6)),
			plant: handTrying(func(o *canary.Options) { o.AutoFail.Disabled = true }), want: 12, mention: "nothing shows that it has failed",
		},
		{
			name: "failed by restarts that are few", why: "C4", scene: handTrial(handRestarted(6)),
			plant: handTrying(func(o *canary.Options) { o.AutoFail.MaxRestarts = new(int32(6)) }), want: 12, mention: "nothing shows that it has failed",
		},
		{
			name: "timed out before its time", why: "C4", scene: handTrial(
				handTrying(func(o *canary.Options) { o.AutoFail.CanaryTimeout = new(20*time.Minute - 1) })),
			plant: handTrying(func(o *canary.Options) { o.AutoFail.CanaryTimeout = new(20 * time.Minute) }), want: 12, mention: "nothing shows that it has failed",
		},
		{
			name: "failed by restarts that did not go on", why: "C4", scene: handTrial(handRecorded(func(r *canary.Record) {
				r.Restarting, r.Restarted = handNow().Add(-20*time.Minute), handNow().Add(-9*time.Minute)
			}), handTrying(func(o *canary.Options) { o.AutoFail.MaxRestartsDuration = new(11*time.Minute - 1) })),
			plant: handTrying(func(o *canary.Options) { o.AutoFail.MaxRestartsDuration = new(11 * time.Minute) }), want: 12, mention: "nothing shows",
		},
		{
			name: "failed by restarts that began before the canary", why: "C4: they are of another", scene: handTrial(handRecorded(func(r *canary.Record) {
				r.Restarting, r.Restarted = handNow().Add(-20*time.Minute), handNow().Add(-9*time.Minute)
			}), handTrying(func(o *canary.Options) { o.AutoFail.MaxRestartsDuration = new(11*time.Minute - 1) })),
			plant: handRecorded(func(r *canary.Record) { r.Began = r.Began.Add(1) }), want: 12, mention: "nothing shows that it has failed",
		},
		{
			name: "paused without a reason", why: "C3", scene: paused,
			plant: commanded(func(c *canary.Commands) { c.Pause = "" }), want: 12, mention: "right is Running: nothing shows that it is to rest",
		},
		{
			name: "paused by restarts that are few", why: "C3", scene: handTrial(handRestarted(3)),
			plant: handTrying(func(o *canary.Options) { o.AutoPause.MaxRestarts = new(int32(3)) }), want: 12, mention: "nothing shows that it is to rest",
		},
		{
			name: "paused although that is turned off", why: "C3", scene: handTrial(handRestarted(3)),
			plant: handTrying(func(o *canary.Options) { o.AutoPause.Disabled = true }), want: 12, mention: "nothing shows that it is to rest",
		},
		{
			name: "paused although it is unpaused", why: "C3", scene: handTrial(handRestarted(3)),
			plant: both(commanded(func(c *canary.Commands) { c.Unpause = freshHash }), func(s *handmade) {
				s.plan.Memory.Canary.Pause = nil
			}),
			want: 12, mention: "nothing shows that it is to rest", raw: true,
		},
		{
			name: "a command that is not reported", why: "C5", scene: handTrial(),
			plant: commanded(func(c *canary.Commands) { c.Fail = "other" }), want: 12, mention: `C5: stale commands are [], right are ["fail other"]`,
		},
		{
			name: "another revision", why: "C6", scene: handTrial(), plant: func(s *handmade) { s.plan.Canary.Revision = staleHash },
			want: 12, mention: `C6: canary of revision "stale"`,
		},
		{
			name: "another stable revision", why: "C6", scene: handTrial(), plant: func(s *handmade) { s.plan.Canary.Stable = olderHash },
			want: 12, mention: `with the stable revision "older"`,
		},
		{
			name: "another stable revision in the status", why: "C6", scene: handTrial(),
			plant: func(s *handmade) { s.plan.Status.StableRevision = olderHash }, want: 12, mention: `status.stableRevision is "older"`,
		},
		{
			name: "a clock that runs ahead", why: "C2", scene: handTrial(), plant: func(s *handmade) {
				s.plan.Memory.Canary.Elapsed += time.Second
				s.plan.NextWake = handNow().Add(time.Second)
			},
			want: 12, mention: "has the clock at 3m1s, right is 3m0s",
		},
		{
			name: "a clock that runs while the canary rests", why: "C2", scene: paused,
			plant: func(s *handmade) { s.plan.Memory.Canary.Since = handNow() }, want: 12, mention: "lets the clock run while the canary rests",
		},
		{
			name: "a clock that runs while the set rests", why: "C7", scene: handTrial(handStrategy(func(s *rollout.Strategy) { s.Paused = true })),
			plant: func(s *handmade) { s.plan.Memory.Canary.Since, s.plan.NextWake = handNow(), handNow().Add(time.Second) }, want: 12, mention: "lets the clock run while the canary rests",
		},
		{
			name: "a clock that is started too early", why: "C2", scene: handFleet(handWithTrial, handPods("unready", "a-new", "b-old"),
				handRecorded(func(r *canary.Record) { r.Elapsed, r.Since = 0, time.Time{} }), handLabelled("a-new")),
			plant: func(s *handmade) { s.plan.Memory.Canary.Since = handNow() }, want: 12, mention: "starts the clock before every canary node",
		},
		{
			name: "a clock that runs from the future", why: "C2", scene: handTrial(), plant: func(s *handmade) {
				s.plan.Memory.Canary.Elapsed, s.plan.Memory.Canary.Since = 3*time.Minute, handNow().Add(1)
			},
			want: 12, mention: "which is to come",
		},
		{
			name: "a disturbance that is forgotten", why: "C2", scene: handTrial(handRecorded(func(r *canary.Record) { r.Disturbed = handNow() })),
			plant: func(s *handmade) { s.plan.Memory.Canary.Disturbed = handNow().Add(-1) }, want: 12, mention: "it was last disturbed",
		},
		{
			name: "another beginning", why: "C4", scene: handTrial(), plant: func(s *handmade) { s.plan.Memory.Canary.Began = handNow() },
			want: 12, mention: "says it began at",
		},
		{
			name: "a memory of another revision", why: "C6", scene: handTrial(), plant: func(s *handmade) { s.plan.Memory.Canary.Revision = staleHash },
			want: 12, mention: `is of revision "stale"`,
		},
		{
			name: "a verdict while it runs", why: "C6", scene: handTrial(),
			plant: func(s *handmade) { s.plan.Memory.Canary.Verdict = &canary.Finding{} }, want: 12, mention: "has a verdict while the canary is Running",
		},
		{
			name: "a fail that is not written down", why: "C6", scene: failed, plant: func(s *handmade) { s.plan.Revisions = nil },
			want: 12, mention: "C6: nothing writes " + history.FailedAnnotation,
		},
		{
			name: "a fail that is forgotten", why: "C6", scene: failed, plant: func(s *handmade) { s.plan.Memory.Canary.Verdict = nil },
			want: 12, mention: "C6: memory forgets that the canary is Failed",
		},
	})
}

func TestVerifyCanaryMarks(t *testing.T) {
	promoted := map[string]string{history.PromotedAnnotation: "?"}
	failed := map[string]string{history.FailedAnnotation: "ByCommand"}
	unmarked := func(s *handmade) { s.snapshot.Revisions[0].Annotations = nil }
	marks := func(hash string, set map[string]string, remove ...string) func(*handmade) {
		return func(s *handmade) { s.annotating(hash, set, remove...) }
	}
	runViolations(t, []violationRow{
		{
			name: "of another revision", why: "C6: a verdict is on the update revision", scene: handTrial(),
			plant: marks(olderHash, promoted), want: 4, mention: "annotates revision agent-older, which is neither",
		},
		{
			name: "a promotion while it runs", why: "C6", scene: handTrial(), plant: marks(freshHash, promoted), want: 4, mention: "which is no verdict on it",
		},
		{
			name: "a fail while it runs", why: "C6", scene: handTrial(), plant: marks(freshHash, failed), want: 4, mention: "which is no verdict on it",
		},
		{
			name: "a fail of the stable revision", why: "C6", scene: handRejected(), plant: marks(staleHash, failed), want: 4, mention: "which is no verdict on it",
		},
		{
			name: "a promotion of the stable revision that has one", why: "C6", scene: handTrial(), plant: marks(staleHash, promoted),
			want: 4, mention: "which is no verdict on it",
		},
		{
			name: "a promotion of what is given up", why: "C5", scene: handRejected(), plant: marks(freshHash, promoted), want: 4, mention: "which is no verdict",
		},
		{
			name: "an annotation of somebody", why: "C6: verdicts only", scene: handTrial(), plant: marks(freshHash, map[string]string{"x": "y"}),
			want: 4, mention: "sets annotation x",
		},
		{
			name: "a retry that nobody asked for", why: "C5", scene: handTrial(), plant: marks(freshHash, map[string]string{history.RetriedAnnotation: "y"}),
			want: 4, mention: "sets annotation " + history.RetriedAnnotation,
		},
		{
			name: "a fail is taken back", why: "C5: retry does", scene: handRejected(), plant: marks(freshHash, nil, history.FailedAnnotation),
			want: 4, mention: "removes annotation " + history.FailedAnnotation,
		},
		{
			name: "another annotation goes", why: "C5: not by retry", scene: handRejected(handTrying(func(o *canary.Options) { o.Commands.Retry = freshHash })),
			plant: func(s *handmade) {
				s.plan.Revisions[0].RemoveAnnotations = append(s.plan.Revisions[0].RemoveAnnotations, history.PromotedAnnotation)
			},
			want: 4, mention: "removes annotation " + history.PromotedAnnotation,
		},
		{
			name: "nothing that is new", why: "it is there", scene: handTrial(unmarked),
			plant: func(s *handmade) { s.snapshot.Revisions[0].Annotations = s.plan.Revisions[0].Annotations }, want: 4, mention: "changes nothing",
		},
		{
			name: "of a namesake", why: "the UID is the precondition", scene: handTrial(unmarked),
			plant: func(s *handmade) { s.plan.Revisions[0].UID = "other" }, want: 14, mention: "annotate of revision agent-stale with UID",
		},
		{
			name: "twice", why: "once is enough", scene: handTrial(unmarked),
			plant: func(s *handmade) { s.plan.Revisions = append(s.plan.Revisions, s.plan.Revisions[0]) }, want: 14, mention: "second action",
		},
		{
			name: "in flight", why: "it may be this one", scene: handTrial(unmarked),
			plant: func(s *handmade) { s.snapshot.InFlight.Revisions = []string{"agent-stale"} }, want: 14, mention: "second action",
		},
		{
			name: "on a new revision", why: "C6: nobody has tried it", scene: handTrial(func(s *handmade) { s.spec.Template = handTemplate("v3") }),
			plant: func(s *handmade) { s.plan.Revisions[0].Object.Annotations = promoted }, want: 4, mention: "which is no verdict on it",
		},
		{
			name: "on a new revision, without a canary", why: "C6: marks are kept up where there are any",
			scene: handFleet(handPods("available", "a-old"), func(s *handmade) { s.spec.Template = handTemplate("v3") }),
			plant: func(s *handmade) { s.plan.Revisions[0].Object.Annotations = promoted }, want: 4, mention: "which is no verdict on it",
		},
		{
			name: "the stable revision goes", why: "R4", scene: handFleet(handWithTrial, handPods("available", "a-new"), handLabelled("a-new")),
			plant: func(s *handmade) { s.deleteRevision(staleHash) }, want: 4, mention: "R4: delete of the stable revision agent-stale",
		},
	})
}
