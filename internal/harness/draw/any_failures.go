package draw

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// InFailures generates cases as the given generator does, and adds what failures are about (F1 to F4): the policy; pods that were
// created long ago, stopped to be ready, or restarted; the marks of revisions that were given up or rolled out; and in memories
// what is known of failed pods that were deleted, and that the revision was given up. They are drawn at the end, so that what was
// drawn before stays what it is without failures.
func InFailures(cases *rapid.Generator[harness.Case]) *rapid.Generator[harness.Case] {
	return rapid.Custom(func(t *rapid.T) harness.Case {
		c := cases.Draw(t, "case without failures")
		hash := kit.Hash(c.Spec)
		options := AnyFailures(hash).Draw(t, "failures")
		options.Deadline = max(options.Deadline, time.Duration(c.Spec.MinReadySeconds)*time.Second+time.Second)
		kit.Failures(options)(&c.Spec)
		for _, p := range c.Snapshot.Pods {
			drawTrouble(t, options.Deadline, p)
		}
		for _, r := range c.Snapshot.Revisions {
			if r != nil {
				drawVerdict(t, hash, r)
			}
		}
		drawSeries(t, hash, options.Deadline, &c.Snapshot)
		return c
	})
}

// AnyFailures generates valid policies for failures of a set whose update revision has that hash.
func AnyFailures(hash string) *rapid.Generator[failure.Options] {
	return rapid.Custom(func(t *rapid.T) failure.Options {
		o := failure.Options{
			Deadline: pick(t, "deadline", 10*time.Minute, 10*time.Minute, time.Second, time.Minute),
			Action:   pick(t, "action", failure.Rollback, failure.Rollback, failure.Pause, ""),
			Retry:    pick(t, "retry", "", "", "", hash, setName+"-"+hash, hash+"/2", canary.Any, canary.Any+"/2", "5f46b89dcc"),
		}
		if most := pick(t, "maxRestarts", -1, -1, 0, 1, 3); most >= 0 {
			o.MaxRestarts = new(int32(most))
		}
		bounds := pick(t, "maxFailed and quarantine", [2]string{"", ""}, [2]string{"1", ""}, [2]string{"1", "1"},
			[2]string{"2", "1"}, [2]string{"34%", "1"}, [2]string{"50%", "34%"}, [2]string{"100%", "100%"}, [2]string{"0", "0"},
			[2]string{"99%", "50%"})
		if bounds[0] != "" {
			o.MaxFailed = new(intstr.Parse(bounds[0]))
		}
		if bounds[1] != "" {
			o.Quarantine = new(intstr.Parse(bounds[1]))
		}
		return o
	})
}

// aroundDeadline are how long ago things happened from which a deadline runs.
func aroundDeadline(t *rapid.T, label string, deadline time.Duration) time.Duration {
	return pick(t, label, deadline, deadline, deadline-1, deadline-time.Second, deadline+time.Second, 0, 24*time.Hour)
}

// drawTrouble draws since when a pod has been there, when it stopped to be ready, and how often it restarted.
func drawTrouble(t *rapid.T, deadline time.Duration, p *corev1.Pod) {
	if p == nil || pick(t, "as it is", false, false, true) {
		return
	}
	created := aroundDeadline(t, "created", deadline)
	kit.Created(kit.Noon().Add(-created))(p)
	if pick(t, "started", true, true, false) {
		p.Status.StartTime = new(metav1.NewTime(kit.Noon().Add(-created)))
	}
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		if c.Type != corev1.PodReady {
			continue
		}
		if pick(t, "unready", false, true) {
			c.Status = corev1.ConditionFalse
		}
		since := pick(t, "unready since", created, created-time.Second, created-time.Second-1,
			min(created, deadline), min(created, deadline-1))
		c.LastTransitionTime = metav1.NewTime(kit.Noon().Add(-max(0, since)))
	}
	restarts := pick[int32](t, "restarts", 0, 0, 1, 2, 4)
	if restarts > 0 && len(p.Status.ContainerStatuses) == 0 {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
	}
	if restarts > 0 {
		p.Status.ContainerStatuses[0].RestartCount = restarts
	}
}

// drawVerdict draws what a revision says: that it was given up, that somebody marked it otherwise, that it was rolled out.
func drawVerdict(t *rapid.T, hash string, r *appsv1.ControllerRevision) {
	if history.HashOf(r) != hash {
		if pick(t, "rolled out", false, false, true) {
			r.Annotations = with(r.Annotations, history.CompletedAnnotation, "2026-01-01T10:00:00Z")
		}
		if pick(t, "failed once", false, false, false, false, true) {
			r.Annotations = with(r.Annotations, history.FailedAnnotation, failure.Reason)
		}
		return
	}
	switch pick(t, "verdict", "", "", "", "given up", "given up", "without a message", "another", "rolled out") {
	case "given up":
		r.Annotations = with(r.Annotations, history.FailedMessageAnnotation, "2 nodes failed, at most 1 may: a, b")
		fallthrough
	case "without a message":
		r.Annotations = with(r.Annotations, history.FailedAnnotation, failure.Reason)
	case "another":
		r.Annotations = with(r.Annotations, history.FailedAnnotation, "Restarts")
	case "rolled out":
		r.Annotations = with(r.Annotations, history.CompletedAnnotation, "2026-01-01T10:00:00Z")
	}
	if retried := pick(t, "retried", "", "", "", hash, canary.Any, hash+"/2"); retried != "" {
		r.Annotations = with(r.Annotations, history.RetriedAnnotation, retried)
	}
	if pick(t, "promoted", false, false, false, true) {
		r.Annotations = with(r.Annotations, history.PromotedAnnotation, "2026-01-01T10:00:00Z")
	}
}

// drawSeries draws what a memory says of failed pods that were deleted, and whether the revision was given up.
func drawSeries(t *rapid.T, hash string, deadline time.Duration, s *rollout.Snapshot) {
	m := &s.Memory
	if pick(t, "remembers the rollout", false, true, true) {
		m.Version, m.Rollout.Revision = rollout.MemoryVersion, hash
	}
	if m.Version == 0 {
		return
	}
	m.Backoffs = slices.Clone(m.Backoffs)
	for i := range m.Backoffs {
		if b := &m.Backoffs[i]; pick(t, "counted", false, true) {
			b.First = kit.Noon().Add(-aroundDeadline(t, "first", deadline))
			b.Deleted = pick[int32](t, "deleted", 1, 1, 2, 4, 1<<31-1)
		}
	}
	for _, n := range s.Nodes {
		if n == nil || !pick(t, "failed before", false, false, false, true) {
			continue
		}
		m.Backoffs = append(m.Backoffs, rollout.Backoff{
			Node: n.Name, Revision: hash, Delay: pick(t, "delay", time.Second, time.Minute, 15*time.Minute),
			Since: kit.Noon().Add(-pick(t, "since", 0, time.Second, time.Minute, 30*time.Minute, 30*time.Minute+1)),
			First: kit.Noon().Add(-aroundDeadline(t, "first", deadline)), Deleted: pick[int32](t, "deleted", 1, 1, 2, 4),
		})
	}
	m.Rollout.GaveUp = pick(t, "gave up", "", "", "", "2 nodes failed, at most 1 may: a, b")
}
