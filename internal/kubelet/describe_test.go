package kubelet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// describe returns the pod's status in one line.
func describe(p *corev1.Pod) string {
	words := []string{string(p.Status.Phase)}
	if p.Status.Reason != "" {
		words = append(words, p.Status.Reason)
	}
	for _, c := range p.Status.Conditions {
		word := fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.LastTransitionTime.UTC().Format("15:04:05"))
		for _, more := range []string{c.Reason, c.Message} {
			if more != "" {
				word += " " + more
			}
		}
		words = append(words, word)
	}
	for _, s := range p.Status.ContainerStatuses {
		word := fmt.Sprintf("%s %s ready=%t restarts=%d", s.Name, s.Image, s.Ready, s.RestartCount)
		if s.Started != nil {
			word += fmt.Sprintf(" started=%t", *s.Started)
		}
		if s.State.Running != nil {
			word += " runs since " + s.State.Running.StartedAt.UTC().Format("15:04:05")
		}
		if s.State.Waiting != nil {
			word += " waits " + s.State.Waiting.Reason
		}
		if ended := s.LastTerminationState.Terminated; ended != nil {
			word += fmt.Sprintf(" ended %d %s %s", ended.ExitCode, ended.Reason, ended.FinishedAt.UTC().Format("15:04:05"))
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func noon() time.Time { return rollouttest.Noon() }

// fresh is a pod with the containers main and side that is bound to nothing and reports nothing.
func fresh() *corev1.Pod {
	pod := rollouttest.Pod("p", rollouttest.Pending())
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "agent:v1"}, {Name: "side", Image: "side:v1"}}
	return pod
}

// up is such a pod whose containers have been running since a minute before noon, and that is Ready.
func up() *corev1.Pod {
	pod := fresh()
	kubelet.StartContainers(pod, nil, nil, noon().Add(-time.Minute))
	kubelet.Ready(pod, noon().Add(-time.Minute))
	return pod
}

// TestTransitions applies each transition to a pod of its own. Each row lists everything that the pod's status then shows.
func TestTransitions(t *testing.T) {
	const (
		started = "main agent:v1 ready=true restarts=0 started=true runs since 11:59:00"
		side    = "side side:v1 ready=true restarts=0 started=true runs since 11:59:00"
		ready   = "Ready=True 11:59:00"
		unready = "Ready=False 12:00:00"
	)
	tests := []struct {
		name, why string
		pod       *corev1.Pod
		do        func(*corev1.Pod)
		want      string
	}{
		{"bind", "nothing is reported of containers", fresh(), func(p *corev1.Pod) { kubelet.Bind(p, "a", noon()) },
			"Pending, PodScheduled=True 12:00:00"},
		{"bind after all", "the reason is gone", fresh(), func(p *corev1.Pod) {
			kubelet.Unschedulable(p, "", noon())
			kubelet.Bind(p, "a", noon().Add(time.Second))
		}, "Pending, PodScheduled=True 12:00:01"},
		{"unschedulable", "the reason says so", fresh(), func(p *corev1.Pod) { kubelet.Unschedulable(p, "", noon()) },
			"Pending, PodScheduled=False 12:00:00 Unschedulable"},
		{"creating", "all wait", fresh(), func(p *corev1.Pod) { kubelet.SetWaiting(p, kubelet.ContainerCreating) },
			"Pending, main agent:v1 ready=false restarts=0 started=false waits ContainerCreating, " +
				"side side:v1 ready=false restarts=0 started=false waits ContainerCreating"},
		{"creating again", "what ran before stays", up(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "agent:v2"
			kubelet.SetWaiting(p, kubelet.ErrImagePull)
		},
			"Running, " + ready + ", main agent:v1 ready=false restarts=0 started=false waits ErrImagePull, " +
				"side side:v1 ready=false restarts=0 started=false waits ErrImagePull"},
		{"created", "they run and are not ready", fresh(), func(p *corev1.Pod) {
			kubelet.SetWaiting(p, kubelet.ContainerCreating)
			kubelet.CreateContainers(p, nil, nil, noon())
		}, "Running, " + unready + ", main agent:v1 ready=false restarts=0 started=true runs since 12:00:00, " +
			"side side:v1 ready=false restarts=0 started=true runs since 12:00:00"},
		{"start", "no restart is counted the first time", fresh(), func(p *corev1.Pod) { kubelet.StartContainers(p, nil, nil, noon()) },
			"Pending, main agent:v1 ready=true restarts=0 started=true runs since 12:00:00, " +
				"side side:v1 ready=true restarts=0 started=true runs since 12:00:00"},
		{"start of what runs", "it goes on", up(), func(p *corev1.Pod) {
			kubelet.SetContainerReady(p, "side", false)
			kubelet.StartContainers(p, nil, nil, noon())
		}, "Running, " + ready + ", " + started + ", " + side},
		{"ready", "the phase, too", fresh(), func(p *corev1.Pod) { kubelet.Ready(p, noon()) }, "Running, Ready=True 12:00:00"},
		{"unready", "nothing else", up(), func(p *corev1.Pod) { kubelet.Unready(p, noon()) }, "Running, " + unready + ", " + started + ", " + side},
		{"fail", "for good", up(), func(p *corev1.Pod) { kubelet.Fail(p, noon()) }, "Failed, " + unready + ", " + started + ", " + side},
		{"evict", "the reason says so", up(), func(p *corev1.Pod) { kubelet.Evict(p, noon()) },
			"Failed, Evicted, " + unready + ", " + started + ", " + side},
		{"restart", "another image, and neither is ready", up(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "agent:v2"
			kubelet.RestartContainer(p, 0, nil, noon())
		}, "Running, " + unready + ", main agent:v2 ready=false restarts=1 started=true runs since 12:00:00, " + side},
		{"restart of an unready pod", "it is unready since before", up(), func(p *corev1.Pod) {
			kubelet.Unready(p, noon().Add(-time.Second))
			kubelet.RestartContainer(p, 1, nil, noon())
		}, "Running, Ready=False 11:59:59, " + started + ", side side:v1 ready=false restarts=1 started=true runs since 12:00:00"},
		{"hold up", "what ran before is reported", up(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "agent:v2"
			kubelet.HoldUpContainer(p, 0, kubelet.ErrImagePull, nil, noon())
		}, "Running, " + unready + ", main agent:v1 ready=false restarts=1 started=false waits ErrImagePull, " + side},
		{"hold up, then start", "the restart is counted once", up(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "agent:v2"
			kubelet.HoldUpContainer(p, 0, kubelet.ErrImagePull, nil, noon())
			kubelet.StartContainers(p, nil, nil, noon().Add(time.Second))
		}, "Running, " + unready + ", main agent:v2 ready=true restarts=1 started=true runs since 12:00:01, " + side},
		{"hold up what nobody reported", "it is started", fresh(), func(p *corev1.Pod) {
			kubelet.HoldUpContainer(p, 0, kubelet.ErrImagePull, nil, noon())
		}, "Pending, main agent:v1 ready=false restarts=0 started=true runs since 12:00:00"},
		{"crash", "it backs off", up(), func(p *corev1.Pod) { kubelet.Crash(p, 0, 137, "OOMKilled", noon()) },
			"Running, " + unready +
				", main agent:v1 ready=false restarts=1 started=false waits CrashLoopBackOff ended 137 OOMKilled 12:00:00, " + side},
		{"crash, then start", "the restart is counted once", up(), func(p *corev1.Pod) {
			kubelet.Crash(p, 0, 1, "Error", noon())
			kubelet.StartContainers(p, nil, nil, noon().Add(time.Second))
			kubelet.Ready(p, noon().Add(2*time.Second))
		}, "Running, Ready=True 12:00:02, main agent:v1 ready=true restarts=1 started=true runs since 12:00:01 ended 1 Error 12:00:00, " + side},
		{"crash before the pod ran", "it does now", fresh(), func(p *corev1.Pod) {
			kubelet.StartContainers(p, nil, nil, noon().Add(-time.Minute))
			kubelet.Crash(p, 0, 1, "Error", noon())
		}, "Running, " + unready +
			", main agent:v1 ready=false restarts=1 started=false waits CrashLoopBackOff ended 1 Error 12:00:00, " + side},
		{"crash of what nobody reported", "nothing ran", fresh(), func(p *corev1.Pod) { kubelet.Crash(p, 0, 1, "Error", noon()) }, "Pending"},
		{"readiness of what nobody reported", "nothing ran", fresh(), func(p *corev1.Pod) { kubelet.SetContainerReady(p, "main", true) }, "Pending"},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			test.do(test.pod)
			if got := describe(test.pod); got != test.want {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, test.want, test.why)
			}
		})
	}
}
