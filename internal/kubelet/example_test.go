package kubelet_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func Example() {
	now := rollouttest.Noon()
	pod := rollouttest.Pod("p", rollouttest.Pending()) // nobody else holds it, otherwise it would be a deep copy
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "agent:v1"}}
	kubelet.Bind(pod, "node-7", now)
	kubelet.Notice(pod, now)
	running := make([]kubelet.Running, len(pod.Spec.Containers))
	kubelet.StartContainers(pod, running, nil, now.Add(5*time.Second))
	if kubelet.GatesOpen(pod) {
		kubelet.Ready(pod, now.Add(5*time.Second))
	}
	fmt.Println(kubelet.Settled(pod), kubelet.Outdated(pod, 0, running[0], false))
	pod.Spec.Containers[0].Image = "agent:v2" // as a patch does
	fmt.Println(kubelet.Settled(pod), kubelet.Outdated(pod, 0, running[0], false))
	running[0] = kubelet.RestartContainer(pod, 0, nil, now.Add(time.Minute))
	fmt.Println(kubelet.Settled(pod), kubelet.Restarts(pod))
	// Output:
	// true false
	// true true
	// false 1
}
