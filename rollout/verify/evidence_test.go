package verify_test

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// handEnded is a container that ended that long ago, and was started again.
func handEnded(ago time.Duration) corev1.ContainerStatus {
	return corev1.ContainerStatus{RestartCount: 1, LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(handNow().Add(-ago))},
	}}
}

func handContainers(name string, statuses ...corev1.ContainerStatus) change {
	return onPods(func(p *corev1.Pod) { p.Status.ContainerStatuses = statuses }, name)
}

// handEvicted marks pods for deletion as an eviction does.
func handEvicted(names ...string) change {
	return both(handTerminating(30*time.Second, names...), onPods(func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
	}, names...))
}

// handWanting sets the number of canary nodes.
func handWanting(nodes int32) change {
	return handTrying(func(o *canary.Options) { o.Replicas = new(intstr.FromInt32(nodes)) })
}

func TestVerifyAcceptsEvidence(t *testing.T) {
	tooLong := handTrying(func(o *canary.Options) { o.AutoFail.MaxRestartsDuration = new(11 * time.Minute) })
	restarting := func(from, to time.Duration) change {
		return handRecorded(func(r *canary.Record) {
			r.Restarting, r.Restarted = handNow().Add(-from), handNow().Add(-to)
		})
	}
	young := handCreated(19*time.Minute, "a-new") // younger than the trial
	passed := func(changes ...change) func() *handmade {
		fleet := []change{handWithTrial, handRecorded(func(r *canary.Record) { r.Elapsed = time.Hour })}
		return handFleet(append(fleet, changes...)...)
	}
	runAccepts(t, []acceptRow{
		{name: "passed, beside a node that has the revision from before", why: "C1: it is none of the canary's", scene: passed(
			handPods("available", "a-new", "b-new", "c-old"), handRecorded(func(r *canary.Record) { r.Nodes = []string{"b"} }))},
		{name: "passed, with fewer nodes than before", why: "C1: who is updated counts", scene: passed(
			handPods("available", "a-old", "b-new", "c-old"), handRecorded(func(r *canary.Record) { r.Nodes = []string{"a", "b"} }))},
		{name: "passed, with a container that was started just now", why: "C2: for the first time, which is no restart", scene: passed(
			handPods("available", "a-new"), handContainers("a-new", corev1.ContainerStatus{State: corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(handNow().Add(-time.Minute))},
			}}))},
		{name: "passed, as long after a disturbance as is wanted", why: "C2: five minutes are within which nothing may happen", scene: passed(
			handPods("available", "a-new"), handRecorded(func(r *canary.Record) { r.Disturbed = handNow().Add(-5 * time.Minute) }))},
		{name: "as many restarts as there may be", why: "C4: it fails beyond that", scene: handTrial(handRestarted(5),
			handTrying(func(o *canary.Options) { o.AutoPause.Disabled = true }))},
		{name: "a container that waits to be started again", why: "C3: that it takes long counts only for its first start", scene: handTrial(handWaiting("CrashLoopBackOff"),
			handTrying(func(o *canary.Options) { o.AutoPause.MaxSlowStartDuration = new(time.Minute) }))},
		{name: "a clock that has run for ever", why: "C2: long enough, and no less for being too long to count", scene: handFleet(handWithTrial,
			handPods("available", "a-new"), handRecorded(func(r *canary.Record) { r.Elapsed = math.MaxInt64 }))},
		{name: "a clock that has hardly begun", why: "C2: it goes on, whether the pod is available or not", scene: handFleet(handWithTrial,
			handPods("unready", "a-new"), handPods("available", "b-old"), handLabelled("a-new"),
			handRecorded(func(r *canary.Record) { r.Elapsed, r.Since = 1, time.Time{} }))},
		{name: "a canary pod that terminates", why: "C2: nobody evicted it", scene: handTrial(handTerminating(30*time.Second, "a-new"))},
		{name: "a canary pod that is evicted", why: "C2: that disturbs it", scene: handTrial(handEvicted("a-new"))},
		{name: "restarts that go on, seen of a pod now", why: "C4: the last one is no longer ago", scene: handTrial(restarting(20*time.Minute, 19*time.Minute), tooLong,
			young, handContainers("a-new", handEnded(5*time.Minute)))},
		{name: "restarts that went on", why: "C4: the pod of the last one is gone", scene: handTrial(restarting(20*time.Minute, 5*time.Minute), tooLong,
			young, handContainers("a-new", handEnded(15*time.Minute)))},
		{name: "restarts that go on, seen of two pods for the first time", why: "C4: from the first of them to the last", scene: handFleet(handWithTrial, tooLong, handWanting(2),
			handPods("available", "a-new", "b-new", "c-old", "d-old"), handLabelled("a-new", "b-new"),
			handRecorded(func(r *canary.Record) { r.Nodes = []string{"a", "b"} }),
			young, handCreated(19*time.Minute, "b-new"), handContainers("a-new", handEnded(18*time.Minute)), handContainers("b-new", handEnded(time.Minute)))},
		{name: "failed by restarts of a pod that comes after others", why: "C4: all of the revision are asked", scene: handFleet(handWithTrial,
			handPods("available", "b-old", "c-old", "a-new"), handRestarted(6))},
		{name: "timed out, with restarts", why: "C4: of which nobody asks how long they go on", scene: handTrial(handContainers("a-new", handEnded(time.Minute)),
			handTrying(func(o *canary.Options) { o.AutoFail.CanaryTimeout = new(15 * time.Minute) }))},
		{name: "a pod that is given time, and has a start of zero", why: "C3: it is none", scene: handTrial(handWaiting("ErrImagePull"),
			handTrying(func(o *canary.Options) { o.AutoPause.MaxSlowStartDuration = new(time.Hour) }),
			onPods(func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{} }, "a-new"))},
	})
}

func TestVerifyEvidence(t *testing.T) {
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}
	disturbedBefore := func(s *handmade) { s.plan.Memory.Canary.Disturbed = handNow().Add(-1) }
	runViolations(t, []violationRow{
		{
			name: "promoted while another node is to join", why: "C2: the clock begins anew with it", scene: handFleet(handWithTrial,
				handPods("available", "a-new", "b-new"), handRecorded(func(r *canary.Record) { r.Elapsed = time.Hour })),
			plant: handWanting(2), want: 6, mention: "the clock stands at 0s of 10m0s",
		},
		{
			name: "promoted at once where pods were seen before", why: "C2: nobody knows what befell them, so it counts as of now", scene: handFleet(handWithTrial,
				handPods("available", "a-new"), handForgotten, handTrying(func(o *canary.Options) {
					o.Duration, o.NoRestartsDuration = new(time.Duration), new(time.Duration)
				})),
			plant: handTrying(func(o *canary.Options) { o.NoRestartsDuration = new(time.Nanosecond) }), want: 6, mention: "evicted less than 1ns ago",
		},
		{
			name: "promoted after a restart of the first container", why: "C2: the last of all restarts counts", scene: handPassed(),
			plant: handContainers("a-new", handEnded(4*time.Minute), handEnded(time.Hour)), want: 6, mention: "less than 5m0s ago",
		},
		{
			name: "what befell a pod before the memory was lost", why: "C2: nobody knows, so it counts as of now",
			scene: handTrial(handForgotten), plant: disturbedBefore, want: 12, mention: "it was last disturbed",
		},
		{
			name: "an eviction that is forgotten", why: "C2", scene: handTrial(handEvicted("a-new")), plant: disturbedBefore, want: 12, mention: "it was last disturbed",
		},
		{
			name: "failed by restarts of another revision", why: "C4: pods of the revision only", scene: handTrial(handRestarted(6)),
			plant: both(handRestarted(0), handContainers("b-old", corev1.ContainerStatus{RestartCount: 9})), want: 12, mention: "nothing shows that it has failed",
		},
		{
			name: "paused by restarts of another revision", why: "C3: pods of the revision only", scene: handTrial(handRestarted(3)),
			plant: both(handRestarted(0), handContainers("b-old", corev1.ContainerStatus{RestartCount: 9})), want: 12, mention: "nothing shows that it is to rest",
		},
		{
			name: "runs with restarts of the second pod", why: "C3: of the first, which is older than the trial, nobody knows", scene: handFleet(handWithTrial, handWanting(2),
				handPods("available", "a-new", "b-new", "c-old"), handLabelled("a-new", "b-new"), handRecorded(func(r *canary.Record) { r.Nodes = []string{"a", "b"} })),
			plant: both(handCreated(10*time.Minute, "b-new"), handContainers("b-new", corev1.ContainerStatus{RestartCount: 3})), want: 6, mention: "pod b-new does not come up",
		},
		{
			name: "runs without an image of the second container", why: "C3: any container counts", scene: handTrial(handRestarted(0)),
			plant: handContainers("a-new", corev1.ContainerStatus{}, waiting), want: 6, mention: "pod a-new does not come up",
		},
	})
}
