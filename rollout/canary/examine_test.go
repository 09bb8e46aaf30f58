package canary_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// ofInit applies an option to the init containers.
func ofInit(o podOption) podOption {
	return func(p *corev1.Pod) {
		of := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: p.Status.InitContainerStatuses}}
		o(&of)
		p.Status.InitContainerStatuses = of.Status.ContainerStatuses
	}
}

// state changes the first container.
func state(change func(*corev1.ContainerStatus)) podOption {
	return func(p *corev1.Pod) { change(&p.Status.ContainerStatuses[0]) }
}

func TestExamine(t *testing.T) {
	rows := []struct {
		name, why string
		pod       *corev1.Pod
		want      string // restarts of a container, why, when; class, reason and container
	}{
		{"nil", "no pod, no report", nil, `0 "" "" never; NotWaiting "" ""`},
		{"empty", "no status yet", &corev1.Pod{}, `0 "" "" never; NotWaiting "" ""`},
		{"running", "nothing to report", podOf("a"), `0 "" "" never; NotWaiting "" ""`},
		{"restarted", "how often, why, when", podOf("a", times(2)), `2 "agent" "OOMKilled" -2m0s; NotWaiting "" "agent"`},
		{"restarted most", "C3: the container that restarted most; the first of equals",
			podOf("a", times(2), restarted("b", 3, ago(3*time.Minute), "Error"), restarted("c", 3, ago(4*time.Minute), "")),
			`3 "b" "Error" -2m0s; NotWaiting "" "b"`},
		{"last restart of another", "C2: the last of any container",
			podOf("a", times(2), restarted("b", 1, ago(time.Minute), "Error")), `2 "agent" "OOMKilled" -1m0s; NotWaiting "" "agent"`},
		{"init container", "C3: they are looked at, too", podOf("a", ofInit(restarted("init", 4, ago(time.Minute), "Error"))),
			`4 "init" "Error" -1m0s; NotWaiting "" "init"`},
		{"ephemeral container", "the pod runs without it", podOf("a", func(p *corev1.Pod) {
			p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
				Name: "debug", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}},
			}}
		}), `0 "" "" never; NotWaiting "" ""`},
		{"no termination", "the start that followed is the latest time it can have been", podOf("a", state(func(s *corev1.ContainerStatus) {
			s.RestartCount = 1
		})), `1 "agent" "" -15m0s; NotWaiting "" "agent"`},
		{"no termination, terminated", "the start before it is all that is known", podOf("a", state(func(s *corev1.ContainerStatus) {
			s.RestartCount = 1
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(ago(time.Minute))}}
		})), `1 "agent" "" -1m0s; NotWaiting "" "agent"`},
		{"no termination, waiting", "no time is known", podOf("a", waits("agent", "CrashLoopBackOff"), state(func(s *corev1.ContainerStatus) {
			s.RestartCount = 1
		})), `1 "agent" "" never; Other "CrashLoopBackOff" "agent"`},
		{"no state", "no time is known", podOf("a", state(func(s *corev1.ContainerStatus) {
			s.RestartCount, s.State = 1, corev1.ContainerState{}
		})), `1 "agent" "" never; NotWaiting "" "agent"`},
		{"terminated at no time", "the start that followed is known", podOf("a", restarted("agent", 1, time.Time{}, "Error")),
			`1 "agent" "Error" -15m0s; NotWaiting "" "agent"`},
		{"terminated before, not counted", "it terminated all the same", podOf("a", restarted("agent", 0, ago(time.Minute), "Error")),
			`0 "" "" -1m0s; NotWaiting "" ""`},
		{"terminated for the first time", "it has not been started again yet", podOf("a", state(func(s *corev1.ContainerStatus) {
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(ago(time.Minute))}}
		})), `0 "" "" never; NotWaiting "" ""`},
		{"negative", "no number of restarts", podOf("a", state(func(s *corev1.ContainerStatus) { s.RestartCount = -1 })),
			`0 "" "" never; NotWaiting "" ""`},
		{"waits and restarted", "the container that waits is named", podOf("a", times(2), waits("b", "ErrImagePull")),
			`2 "agent" "OOMKilled" -2m0s; Transient "ErrImagePull" "b"`},
		{"cannot start and is created", "that it cannot start says more", podOf("a", waits("agent", "ContainerCreating"), waits("b", "ErrImagePull")),
			`0 "" "" never; Transient "ErrImagePull" "b"`},
		{"two cannot start", "the first", podOf("a", waits("agent", "ErrImagePull"), waits("b", "InvalidImageName")),
			`0 "" "" never; Transient "ErrImagePull" "agent"`},
		{"is created and something else", "that it is created says more",
			podOf("a", waits("agent", "SomethingElse"), waits("b", "PodInitializing"), waits("c", "SomethingElse")),
			`0 "" "" never; Creating "PodInitializing" "b"`},
		{"init container cannot start", "C3: the others wait for it", podOf("a", waits("agent", "PodInitializing"), ofInit(waits("init", "ImagePullBackOff"))),
			`0 "" "" never; Transient "ImagePullBackOff" "init"`},
		{"waits for no reason", "the kubelet gives none", podOf("a", waits("agent", "")), `0 "" "" never; Other "" "agent"`},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			r := canary.Examine(row.pod)
			last := "never"
			if !r.LastRestart.IsZero() {
				last = sayTime(r.LastRestart)
			}
			got := fmt.Sprintf("%d %q %q %s; %v %q %q", r.Restarts, r.Restarted, r.Terminated, last, r.Class, r.Waiting, r.Container)
			if got != row.want {
				t.Errorf("%s\n got %s\nwant %s", row.why, got, row.want)
			}
		})
	}
}

// TestClassify has every reason that C3 names, and some that it does not.
func TestClassify(t *testing.T) {
	want := map[canary.Class][]string{
		canary.Creating: {"ContainerCreating", "PodInitializing"},
		canary.Transient: {"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable", "CreateContainerError",
			"PreStartHookError", "PostStartHookError", "PreCreateHookError"},
		canary.Permanent: {"ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"},
		canary.Other:     {"", "CrashLoopBackOff", "RunContainerError", "errimagepull"},
	}
	for class, reasons := range want {
		for _, reason := range reasons {
			if got := canary.Classify(reason); got != class {
				t.Errorf("%q is %v, want %v", reason, got, class)
			}
			pauses := class == canary.Transient || class == canary.Permanent
			s := observing()
			onNode(&s, waits("agent", reason))
			if j := s.judge(); (j.Reason == canary.CannotStart) != pauses {
				t.Errorf("%q: judged %s", reason, say(j))
			}
		}
	}
}
