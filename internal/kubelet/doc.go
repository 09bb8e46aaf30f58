// Package kubelet changes pod objects as the components around them in a cluster do: the scheduler that binds pods, the kubelet
// that starts, restarts, resizes and gives up containers and reports their status, and the controllers of users that handle
// lifecycle hooks. The package defines how each change shows in the object. The caller decides when it happens, with what delay,
// and what fails.
//
//	pod = pod.DeepCopy() // because others hold the object
//	kubelet.Bind(pod, "node-7", now)
//	kubelet.Notice(pod, now)
//	running := make([]kubelet.Running, len(pod.Spec.Containers))
//	kubelet.StartContainers(pod, running, nil, now.Add(5*time.Second))
//	if kubelet.GatesOpen(pod) {
//		kubelet.Ready(pod, now.Add(5*time.Second))
//	}
//
// # Contract
//
// A function without a result writes to the pod that it is given, and so does one that returns what a container was made from or
// what was done. That pod must be a deep copy that only the caller holds. All other functions only read. No pod is kept. A pod
// must not be nil, and the ordinal of a container must be one of its spec's. If a function takes running, it writes to it by
// ordinal.
//
// # Differences from real kubelets
//
// A container that crashed waits at once. There is no first restart without a delay. Init containers do nothing. All containers
// of a pod start together. The IDs of images and containers are made up, but equal IDs mean what equal IDs on
// a node mean.
package kubelet
