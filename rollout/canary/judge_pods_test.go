package canary_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// onNode puts a pod on the first node, which is not available then.
func onNode(s *situation, options ...podOption) { s.in.Nodes[0] = bad("a", options...) }

// times is a container that has restarted n times, last two minutes ago and for want of memory.
func times(n int32) podOption { return restarted("agent", n, ago(2*time.Minute), "OOMKilled") }

func TestJudgePauses(t *testing.T) {
	runJudge(t, []judgeRow{
		{"two restarts", "C3: maxRestarts is 2, and more pauses", func(s *situation) { onNode(s, times(2)) }, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"three restarts", "C3: one more than 2; the clock rests", func(s *situation) { onNode(s, times(3)) }, `Paused TooManyRestarts a a-1 agent OOMKilled x3 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x3 at now`},
		{"maxRestarts 0", "C3: the first restart pauses", func(s *situation) {
			s.o.AutoPause.MaxRestarts = new(int32(0))
			onNode(s, times(1))
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x1 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x1 at now`},
		{"maxRestarts 0, none", "C3: no restart is not more than 0", func(s *situation) {
			s.o.AutoPause.MaxRestarts = new(int32(0))
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"negative maxRestarts", "refused by Validate; it counts as 0", func(s *situation) {
			s.o.AutoPause.MaxRestarts = new(int32(-1))
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"disabled", "C3: autoPause is off", func(s *situation) {
			s.o.AutoPause.Disabled = true
			onNode(s, times(3))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"two containers", "C3: of the container that restarted most, as in ExtendedDaemonSet, not of all together", func(s *situation) {
			onNode(s, times(2), restarted("trace", 2, ago(time.Minute), "Error"))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -1m0s; restarting -2m0s; restarted -1m0s`},
		{"cannot start", "C3: at once, as no time is given", func(s *situation) { onNode(s, waits("agent", "ErrImagePull")) }, `Paused CannotStart a a-1 agent ErrImagePull at now; clock 4m0s; records Paused CannotStart a a-1 agent ErrImagePull at now`},
		{"cannot start for good", "C3: it makes no difference whether it might start yet", func(s *situation) {
			onNode(s, waits("agent", "InvalidImageName"))
		}, `Paused CannotStart a a-1 agent InvalidImageName at now; clock 4m0s; records Paused CannotStart a a-1 agent InvalidImageName at now`},
		{"cannot start after restarts", "C3: that it cannot start says more", func(s *situation) {
			onNode(s, times(3), waits("trace", "CreateContainerConfigError"))
		}, `Paused CannotStart a a-1 trace CreateContainerConfigError at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused CannotStart a a-1 trace CreateContainerConfigError at now`},
		{"cannot start any more", "the restarts are those of the container that waits", func(s *situation) {
			onNode(s, times(1), waits("agent", "ImagePullBackOff"))
		}, `Paused CannotStart a a-1 agent ImagePullBackOff x1 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused CannotStart a a-1 agent ImagePullBackOff x1 at now`},
		{"crash loop", "C3: it shows as restarts, not as a pod that cannot start", func(s *situation) {
			onNode(s, times(1), waits("agent", "CrashLoopBackOff"))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"cannot start, with time left", "C3: it is given maxSlowStartDuration", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(15)
			onNode(s, waits("agent", "ErrImagePull"))
		}, `Running Starting; clock 1m0s running since -3m0s; wake 1ns`},
		{"cannot start, time over", "C3: after that time", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(15)
			onNode(s, waits("agent", "ErrImagePull"), started(ago(15*time.Minute+1)))
		}, `Paused CannotStart a a-1 agent ErrImagePull at now; clock 4m0s; records Paused CannotStart a a-1 agent ErrImagePull at now`},
		{"cannot start with time left, too many restarts", "C3: the restarts are a reason of their own", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(15)
			onNode(s, times(3), waits("trace", "ErrImagePull"))
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x3 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; wake 1ns; records Paused TooManyRestarts a a-1 agent OOMKilled x3 at now`},
		{"created for long", "C3: without maxSlowStartDuration a pod may be created for ever", func(s *situation) {
			onNode(s, waits("agent", "ContainerCreating"))
		}, `Running Starting; clock 1m0s running since -3m0s`},
		{"created, with time left", "C3: exactly that long is not longer", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(15)
			onNode(s, waits("agent", "ContainerCreating"))
		}, `Running Starting; clock 1m0s running since -3m0s; wake 1ns`},
		{"slow start", "C3: the time is over", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(14)
			onNode(s, waits("agent", "ContainerCreating"))
		}, `Paused SlowStart a a-1 agent ContainerCreating at now; clock 4m0s; records Paused SlowStart a a-1 agent ContainerCreating at now`},
		{"slow start of a pod with init containers", "such a pod never says ContainerCreating", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(14)
			onNode(s, waits("agent", "PodInitializing"))
		}, `Paused SlowStart a a-1 agent PodInitializing at now; clock 4m0s; records Paused SlowStart a a-1 agent PodInitializing at now`},
		{"started later than created", "C3: the time runs from the start time", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(14)
			onNode(s, waits("agent", "ContainerCreating"), started(ago(time.Minute)))
		}, `Running Starting; clock 1m0s running since -3m0s; wake 13m0.000000001s`},
		{"not started", "C3: without a start time it runs from the creation", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(14)
			onNode(s, waits("agent", "ContainerCreating"), created(ago(time.Minute)), func(p *corev1.Pod) { p.Status.StartTime = nil })
		}, `Running Starting; clock 1m0s running since -3m0s; wake 13m0.000000001s`},
		{"zero start time", "it is as good as none", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(14)
			onNode(s, waits("agent", "ContainerCreating"), created(ago(time.Minute)), started(time.Time{}))
		}, `Running Starting; clock 1m0s running since -3m0s; wake 13m0.000000001s`},
		{"neither started nor created", "a pod that has no times at all has had its time", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(14)
			onNode(s, waits("agent", "ContainerCreating"), created(time.Time{}), started(time.Time{}))
		}, `Paused SlowStart a a-1 agent ContainerCreating at now; clock 4m0s; records Paused SlowStart a a-1 agent ContainerCreating at now`},
		{"two slow starts", "NextWake is for the first of them; the first node that gives a reason then is named", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(14)
			s.in.Nodes = []canary.Node{
				bad("a", waits("agent", "ContainerCreating"), started(ago(time.Minute))),
				bad("b", waits("agent", "ContainerCreating"), started(ago(2*time.Minute))),
				bad("c", waits("agent", "ContainerCreating"), started(ago(time.Minute))),
			}
		}, `Running Starting; wake 12m0.000000001s`},
		{"first node by name", "C3: it gives the reason, whatever the order and the kind", func(s *situation) {
			s.in.Nodes = []canary.Node{bad("b", waits("agent", "ErrImagePull")), bad("a", times(3))}
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x3 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x3 at now`},
		{"first node that gives one now", "C3: a reason that is yet to come is none", func(s *situation) {
			s.o.AutoPause.MaxSlowStartDuration = minutes(5)
			s.in.Nodes = []canary.Node{
				bad("a", waits("agent", "ErrImagePull"), started(ago(time.Minute))), bad("b", waits("agent", "ErrImagePull")),
			}
		}, `Paused CannotStart b b-1 agent ErrImagePull at now; clock 4m0s; wake 4m0.000000001s; records Paused CannotStart b b-1 agent ErrImagePull at now`},
		{"first pod by name", "the order of the pods must not matter", func(s *situation) {
			s.in.Nodes[0].Pods = []*corev1.Pod{podOf("a-2", times(3)), nil, podOf("a-1", times(4))}
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x4 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; wake 6m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x4 at now`},
		{"first pod by UID", "nor must it for pods of one name", func(s *situation) {
			uid := func(uid types.UID) podOption { return func(p *corev1.Pod) { p.UID = uid } }
			s.in.Nodes[0].Pods = []*corev1.Pod{podOf("a-1", times(3), uid("2")), podOf("a-1", times(4), uid("1"))}
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x4 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; wake 6m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x4 at now`},
		{"terminating", "it is being dealt with, and ExtendedDaemonSet passes over it too", func(s *situation) {
			onNode(s, times(9), waits("agent", "ErrImagePull"), terminating)
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"failed pod", "it is deleted by repair (M2)", func(s *situation) {
			onNode(s, times(9), waits("agent", "ErrImagePull"), phase(corev1.PodFailed))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed now; restarting -2m0s; restarted -2m0s`},
		{"succeeded pod", "it is deleted by repair (M2)", func(s *situation) {
			onNode(s, times(9), waits("agent", "ErrImagePull"), phase(corev1.PodSucceeded))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"pause on record", "C3: it stays until unpause, with its first reason, and stops the promotion", func(s *situation) {
			s.in.Record.Since, s.in.Record.Elapsed = time.Time{}, time.Hour
			s.in.Record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.SlowStart, Node: "a", At: ago(time.Minute)}
			s.in.Nodes[1] = bad("b", times(3))
		}, `Paused SlowStart a at -1m0s; clock 1h0m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused SlowStart a at -1m0s`},
		{"pause on record, turned off since", "C3: a pause is lifted by unpause only", func(s *situation) {
			s.o.AutoPause.Disabled = true
			s.in.Record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.SlowStart, Node: "a", At: ago(time.Minute)}
		}, `Paused SlowStart a at -1m0s; clock 4m0s; records Paused SlowStart a at -1m0s`},
		{"pause on record that says otherwise", "a record that was tampered with does not promote", func(s *situation) {
			s.in.Record.Pause = &canary.Finding{Phase: canary.Idle, Reason: canary.Promoted, At: ago(time.Minute)}
		}, `Paused Promoted at -1m0s; clock 4m0s; records Idle Promoted at -1m0s`},
		{"halted", "the pods are looked at all the same", func(s *situation) {
			s.in.Halted = true
			onNode(s, waits("agent", "ErrImagePull"))
		}, `Paused CannotStart a a-1 agent ErrImagePull at now; clock 4m0s; records Paused CannotStart a a-1 agent ErrImagePull at now`},
		{"updated in place", "what a pod restarted before it got the revision says nothing about it", func(s *situation) {
			s.in.Record.Began = ago(10 * time.Minute)
			s.in.Nodes[0] = good("a", times(9), restarted("trace", 1, ago(time.Hour), "Error"))
		}, `Running Observing; clock 1m0s running since -3m0s; began -10m0s; disturbed -2m0s; until 6m0s; wake 6m0s`},
		{"updated in place before", "only the restarts since then count, by container", func(s *situation) {
			s.in.Record.Began = ago(10 * time.Minute)
			s.in.Record.Before = []canary.Baseline{
				{UID: "uid-c"}, {UID: "uid-a-1", Restarts: map[string]int32{"agent": 9, "trace": 0}},
			}
			s.in.Nodes[0] = good("a", times(10), restarted("trace", 3, ago(time.Minute), "Error"))
		}, `Paused TooManyRestarts a a-1 trace Error x3 at now; clock 4m0s; began -10m0s; disturbed -1m0s; restarting -2m0s; restarted -1m0s; wake 6m0s; records Paused TooManyRestarts a a-1 trace Error x3 at now`},
		{"restarts ahead of the baseline only", "fewer restarts than before are none", func(s *situation) {
			s.in.Record.Began = ago(10 * time.Minute)
			s.in.Record.Before = []canary.Baseline{{UID: "uid-a-1", Restarts: map[string]int32{"agent": 9}}}
			s.in.Nodes[0] = good("a", times(8))
		}, `Running Observing; clock 1m0s running since -3m0s; began -10m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; until 6m0s; wake 6m0s`},
		{"there at the beginning", "with the record lost nobody knows which restarts do not count, so all do", func(s *situation) {
			s.in.Record = canary.Record{}
			s.in.Nodes[0] = good("a", times(3))
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x3 at now; began now; disturbed now; records Paused TooManyRestarts a a-1 agent OOMKilled x3 at now`},
		{"created in the second of the beginning", "creation times have whole seconds", func(s *situation) {
			s.in.Record.Began = ago(15 * time.Minute).Add(time.Second - 1)
			s.in.Nodes[0] = good("a", times(3))
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x3 at now; clock 4m0s; began -14m59.000000001s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; wake 6m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x3 at now`},
		{"no UID", "a pod that cannot be told from others has no baseline", func(s *situation) {
			s.in.Record.Began = ago(10 * time.Minute)
			s.in.Nodes[0] = good("a", times(3), func(p *corev1.Pod) { p.UID = "" })
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x3 at now; clock 4m0s; began -10m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; wake 6m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x3 at now`},
	})
}

func TestJudgeFails(t *testing.T) {
	runJudge(t, []judgeRow{
		{"five restarts", "C4: maxRestarts is 5, and only more fails; it pauses", func(s *situation) { onNode(s, times(5)) }, `Paused TooManyRestarts a a-1 agent OOMKilled x5 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x5 at now`},
		{"six restarts", "C4: one more than 5", func(s *situation) { onNode(s, times(6)) }, `Failed TooManyRestarts a a-1 agent OOMKilled x6 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 6 times, last after OOMKilled`},
		{"six restarts without a reason", "the kubelet may give none", func(s *situation) {
			onNode(s, times(6), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].LastTerminationState.Terminated = nil })
		}, `Failed TooManyRestarts a a-1 agent x6 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 6 times`},
		{"available", "C4: also with an available pod, at the end of the duration: C5 comes to promotion later", func(s *situation) {
			ran(s, time.Hour)
			s.o.NoRestartsDuration = minutes(0)
			s.in.Nodes[0] = good("a", times(6))
		}, `Failed TooManyRestarts a a-1 agent OOMKilled x6 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 6 times, last after OOMKilled`},
		{"maxRestarts", "C4: as the options say", func(s *situation) {
			s.o.AutoFail.MaxRestarts = new(int32(3))
			onNode(s, times(4))
		}, `Failed TooManyRestarts a a-1 agent OOMKilled x4 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 4 times, last after OOMKilled`},
		{"negative maxRestarts", "refused by Validate; it counts as 0", func(s *situation) {
			s.o.AutoFail.MaxRestarts = new(int32(-1))
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"disabled", "C4: autoFail is off, autoPause is not", func(s *situation) {
			s.o.AutoFail.Disabled = true
			onNode(s, times(6))
		}, `Paused TooManyRestarts a a-1 agent OOMKilled x6 at now; clock 4m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s; records Paused TooManyRestarts a a-1 agent OOMKilled x6 at now`},
		{"all disabled", "C4: nothing comes of it", func(s *situation) {
			s.o.AutoFail.Disabled, s.o.AutoPause.Disabled = true, true
			onNode(s, times(6))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"second node", "C4: one pod is enough; the first by name gives the reason", func(s *situation) {
			s.in.Nodes = []canary.Node{good("c", times(8)), good("b", times(7)), good("a")}
		}, `Failed TooManyRestarts b b-1 agent OOMKilled x7 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod b-1 on node b restarted 7 times, last after OOMKilled`},
		{"terminating", "it is being dealt with", func(s *situation) { onNode(s, times(6), terminating) }, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"paused by command", "C5: too many restarts come first", func(s *situation) {
			s.o.Commands.Pause = onTrial
			onNode(s, times(6))
		}, `Failed TooManyRestarts a a-1 agent OOMKilled x6 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 6 times, last after OOMKilled`},
		{"automatically paused", "C5: a pause on record does not protect it", func(s *situation) {
			s.in.Record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.CannotStart}
			onNode(s, times(6))
		}, `Failed TooManyRestarts a a-1 agent OOMKilled x6 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 6 times, last after OOMKilled`},
		{"halted", "C4: also then", func(s *situation) {
			s.in.Halted = true
			onNode(s, times(6))
		}, `Failed TooManyRestarts a a-1 agent OOMKilled x6 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 6 times, last after OOMKilled`},
		{"first restart", "C4: the restarts begin", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			onNode(s, times(1))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -2m0s; restarted -2m0s`},
		{"restarts went on", "C4: for exactly that long is not longer", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Record.Restarting, s.in.Record.Restarted = ago(5*time.Minute), ago(4*time.Minute)
			onNode(s, times(2))
		}, `Running Starting; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -5m0s; restarted -2m0s`},
		{"restarts went on for too long", "C4: the last of them more than three minutes after the first", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Record.Restarting, s.in.Record.Restarted = ago(5*time.Minute+1), ago(4*time.Minute)
			s.in.Nodes[1] = bad("b", restarted("agent", 1, ago(3*time.Minute), "Error"))
			onNode(s, times(2))
		}, `Failed RestartsGoOn a a-1 agent OOMKilled x2 at now; set failed=RestartsGoOn; set failed-message=restarts have gone on for too long: container agent of pod a-1 on node a restarted 2 times, last after OOMKilled`},
		{"restarts went on in two pods", "C4: from the first restart of any canary pod to the last", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Nodes[1] = bad("b", restarted("agent", 1, ago(6*time.Minute), "Error"))
			onNode(s, times(1))
		}, `Failed RestartsGoOn a a-1 agent OOMKilled x1 at now; set failed=RestartsGoOn; set failed-message=restarts have gone on for too long: container agent of pod a-1 on node a restarted once, last after OOMKilled`},
		{"restarts on record", "the pod that restarted may be gone", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Record.Restarting, s.in.Record.Restarted = ago(9*time.Minute), ago(4*time.Minute)
		}, `Failed RestartsGoOn at now; wake 6m0s; set failed=RestartsGoOn; set failed-message=restarts have gone on for too long`},
		{"restarts before those on record", "C4: whichever becomes known first", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Record.Restarting, s.in.Record.Restarted = ago(5*time.Minute), ago(4*time.Minute)
			onNode(s, restarted("agent", 1, ago(8*time.Minute), "Error"))
		}, `Failed RestartsGoOn a a-1 agent Error x1 at now; set failed=RestartsGoOn; set failed-message=restarts have gone on for too long: container agent of pod a-1 on node a restarted once, last after Error`},
		{"restarts on record of before the canary began", "C4: those of a canary before are not those of this one", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Record.Restarting, s.in.Record.Restarted = ago(30*time.Minute), ago(2*time.Minute)
		}, `Running Observing; clock 1m0s running since -3m0s; restarting -2m0s; restarted -2m0s; until 6m0s; wake 6m0s`},
		{"two containers that restarted", "C4: from the first of the pod to the last", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			onNode(s, restarted("agent", 1, ago(6*time.Minute), "Error"), restarted("trace", 1, ago(time.Minute), "Error"))
		}, `Failed RestartsGoOn a a-1 agent Error x1 at now; set failed=RestartsGoOn; set failed-message=restarts have gone on for too long: container agent of pod a-1 on node a restarted once, last after Error`},
		{"restarts end", "C4: they do not go on by themselves", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(1)
			s.in.Record.Restarting, s.in.Record.Restarted = ago(5*time.Minute), ago(5*time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 1, ago(5*time.Minute), "Error"))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -5m0s; restarting -5m0s; restarted -5m0s; until 6m0s; wake 6m0s`},
		{"restarts before the canary began", "C4: those of the revision before are not those of this one", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Nodes[0] = good("a", restarted("agent", 1, ago(20*time.Minute+1), "Error"))
			s.in.Nodes[1] = good("b", restarted("agent", 1, ago(10*time.Minute), "Error"))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -10m0s; restarting -10m0s; restarted -10m0s; until 6m0s; wake 6m0s`},
		{"restarts as the canary began", "C4: that very instant counts", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Nodes[0] = good("a", restarted("agent", 1, ago(20*time.Minute), "Error"))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -20m0s; restarting -20m0s; restarted -20m0s; until 6m0s; wake 6m0s`},
		{"restart ahead of now", "a kubelet whose clock is ahead: by its time they will have gone on for too long", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration = minutes(3)
			s.in.Record.Restarting, s.in.Record.Restarted = ago(2*time.Minute), ago(2*time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 1, noon().Add(2*time.Minute), "Error"))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed now; restarting -2m0s; restarted now; until 7m0s; wake 1m0.000000001s`},
		{"restarts, disabled", "C4: autoFail is off", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration, s.o.AutoFail.Disabled = minutes(3), true
			s.in.Record.Restarting, s.in.Record.Restarted = ago(9*time.Minute), ago(4*time.Minute)
		}, `Running Observing; clock 1m0s running since -3m0s; restarting -9m0s; restarted -4m0s; until 6m0s; wake 6m0s`},
		{"updates in place", "C4: restarts for the update itself are not restarts that go on", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration, s.in.Record.Began = minutes(3), ago(10*time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 7, ago(8*time.Minute), ""))
			s.in.Record.Before = []canary.Baseline{{UID: "uid-b-1", InPlace: true, Restarts: map[string]int32{"agent": 3}}}
			s.in.Nodes[1] = good("b", restarted("agent", 4, ago(2*time.Minute), ""))
		}, `Running Observing; clock 1m0s running since -3m0s; began -10m0s; disturbed -2m0s; until 6m0s; wake 6m0s`},
		{"restarts after updates in place", "C4: any further ones are", func(s *situation) {
			s.o.AutoFail.MaxRestartsDuration, s.in.Record.Began = minutes(3), ago(10*time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 2, ago(7*time.Minute), ""))
			s.in.Record.Before = []canary.Baseline{{UID: "uid-a-1"}, {UID: "uid-b-1", InPlace: true, Restarts: map[string]int32{"agent": 3}}}
			s.in.Nodes[1] = good("b", restarted("agent", 5, ago(2*time.Minute), ""))
			s.in.Nodes = append(s.in.Nodes, good("c", restarted("agent", 5, ago(time.Minute), "")))
		}, `Failed RestartsGoOn b b-1 agent x2 at now; began -10m0s; set failed=RestartsGoOn; set failed-message=restarts have gone on for too long: container agent of pod b-1 on node b restarted 2 times`},
		{"timeout to come", "C4: exactly that long is not longer", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(20)
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 1ns`},
		{"timeout", "C4: a moment longer", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(20)
			s.in.Record.Began = ago(20*time.Minute + 1)
		}, `Failed TimedOut at now; began -20m0.000000001s; wake 6m0s; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"timeout, and a restart ahead of now", "a kubelet whose clock is ahead: by its time restarts will have gone on for too long, which counts first", func(s *situation) {
			s.o.AutoFail.CanaryTimeout, s.o.AutoFail.MaxRestartsDuration = minutes(20), minutes(3)
			s.in.Record.Began = ago(20*time.Minute + 1)
			s.in.Nodes[0] = good("a", restarted("agent", 1, noon().Add(2*time.Minute), "Error"))
			s.in.Nodes[1] = good("b", restarted("agent", 1, ago(2*time.Minute), "Error"))
		}, `Failed TimedOut at now; began -20m0.000000001s; wake 1m0.000000001s; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"timeout without a pod", "C4: pod or no pod", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(19)
			s.in.Nodes = []canary.Node{{Name: "a"}, {Name: "b"}}
		}, `Failed TimedOut at now; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"timeout without a node", "C4: nor is a node needed", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(19)
			s.in.Nodes = nil
		}, `Failed TimedOut at now; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"timeout while paused", "C4: paused or not; C5: it comes before a pause on record", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(19)
			s.in.Record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.CannotStart}
		}, `Failed TimedOut at now; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"timeout while paused by command", "C5: the command comes first", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(19)
			s.o.Commands.Pause = onTrial
		}, `Paused ByCommand; clock 4m0s`},
		{"timeout while halted", "C4: paused or not", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(19)
			s.in.Halted = true
		}, `Failed TimedOut at now; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"timeout ahead while halted", "it comes by the clock", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(25)
			s.in.Halted = true
		}, `Running Halted; clock 4m0s; wake 5m0.000000001s`},
		{"timeout as it passes", "C5: the promotion comes first", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(19)
			ran(s, 10*time.Minute)
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"timeout, disabled", "C4: autoFail is off", func(s *situation) {
			s.o.AutoFail.CanaryTimeout, s.o.AutoFail.Disabled = minutes(19), true
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"timeout and cannot start", "C5: a fail comes before an automatic pause", func(s *situation) {
			s.o.AutoFail.CanaryTimeout = minutes(19)
			onNode(s, waits("agent", "ErrImagePull"))
		}, `Failed TimedOut at now; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"passes and cannot start", "C5: so does the promotion; the pod that cannot start is a second one", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Nodes[0].Pods = append(s.in.Nodes[0].Pods, podOf("a-2", waits("agent", "ErrImagePull")))
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
	})
}
