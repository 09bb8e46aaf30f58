// Package kubelet changes pod objects as what runs around them in a cluster does: the scheduler that binds them, the kubelet
// that starts, restarts, resizes and gives up their containers and reports it, and the controllers of users that see to
// lifecycle hooks. It knows what happens and not when: delays, and what goes wrong, are the caller's.
//
//	pod = pod.DeepCopy() // others hold the object
//	kubelet.Bind(pod, "node-7", now)
//	running := make([]kubelet.Running, len(pod.Spec.Containers))
//	kubelet.StartContainers(pod, running, nil, now.Add(5*time.Second))
//	if kubelet.GatesOpen(pod) {
//		kubelet.Ready(pod, now.Add(5*time.Second))
//	}
//
// # Contract
//
// A function that has no result, or that returns what a container was made from or what was done, writes to the pod that
// it is given, which must be a deep copy that is the caller's own. All others only read. No pod is kept. A pod must not be
// nil, and the ordinal of a container must be one of its spec's. Running, where a function takes it, is written by ordinal.
//
// # Differences from real kubelets
//
// A container that crashed waits at once, without a first restart that waits for nothing. Init containers do nothing. All
// containers of a pod start together. The IDs of images and containers are made up, and equal ones mean what equal ones
// of a node mean.
package kubelet
