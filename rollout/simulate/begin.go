package simulate

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// This file fills the simulated cluster from a snapshot.

// begin fills the cluster.
func (s *Simulation) begin(snapshot *rollout.Snapshot) {
	for i := range s.scenario.Fleet.Pools {
		pool := &s.scenario.Fleet.Pools[i]
		s.pools[pool.Name] = pool
	}
	for i := range s.scenario.Events {
		if e := &s.scenario.Events[i]; e.What == AddNodes {
			s.joined[e.Join.Name] = firstNumber(e.Join.Name, snapshot.Nodes)
		}
	}
	// In order of names, each node is inserted at the end.
	nodes := slices.SortedFunc(slices.Values(snapshot.Nodes), func(a, b *corev1.Node) int {
		return cmp.Compare(a.Name, b.Name)
	})
	for _, object := range nodes {
		s.setNode(object)
	}
	for _, object := range snapshot.Pods {
		s.taken[object.Name], s.taken[string(object.UID)] = true, true
	}
	for _, object := range slices.SortedFunc(slices.Values(snapshot.Pods), byCreation) {
		s.adopt(object)
	}
	for _, p := range s.order { // there is room on a node only when all its pods are known
		s.schedule(p)
	}
	s.revisions = snapshot.Revisions
	s.failedPulls = slices.Clone(snapshot.FailedPulls)
	s.controller.memory, s.controller.saved = snapshot.Memory, snapshot.Memory
	s.relist()
	// Only the planner knows the hash of the update revision. It is asked before anything is counted.
	if plan, err := s.planner.Plan(s.snapshot(false)); err == nil {
		s.update = plan.Status.UpdateRevision
	}
	s.expectEvents()
	s.nextCrash()
}

// adopt takes a pod as the snapshot shows it.
func (s *Simulation) adopt(object *corev1.Pod) {
	object = statedPod(object)
	if !inplace.Unfinished(object) {
		object = settledPod(object)
	}
	p := s.addPod(object)
	for i := range kubelet.Count(object) {
		if p.running[i] = kubelet.Made(object, i); inplace.Unfinished(object) {
			p.running[i] = kubelet.RunningIn(object, i)
		}
	}
	s.takeImages(p)
	switch {
	case lifecycle.Terminal(object):
		p.stage = finished
	case object.Spec.NodeName == "":
		p.stage = unbound
	case kubelet.ContainersReady(object), kubelet.ConditionStatus(object, corev1.PodReady) == corev1.ConditionTrue:
		p.stage = ready
	case kubelet.WaitingFor(object) == kubelet.CrashLoopBackOff:
		p.stage, p.crashes = crashed, int(kubelet.Restarts(object))
		p.inARow = p.crashes
	case kubelet.HasRun(object, 0):
		p.stage = readying
	case p.node != nil:
		p.attempt++
		s.fetch(p, object)
	}
	if at := object.DeletionTimestamp; at != nil { // it is that of the end of its grace period
		p.marked = at.Sub(s.start)
		if grace := object.DeletionGracePeriodSeconds; grace != nil {
			p.marked -= time.Duration(*grace) * time.Second
		}
	}
	p.runs = p.rules
	if p.stage == ready && !lifecycle.Ready(object) { // what the kubelet is about to say
		p.object = statusCopy(object)
		s.report(p, p.object)
	}
}

// takeImages gives the node the images that containers of the pod run, or have run. A container in the middle of an update in
// place does not run what the pod's spec says. If a container has run, the init containers ran before it, and its volumes were
// there.
func (s *Simulation) takeImages(p *pod) {
	object := p.object
	if object.Spec.NodeName == "" || p.node == nil {
		return
	}
	started := false
	for i := range kubelet.Count(object) {
		if lifecycle.Ready(object) || kubelet.HasRun(object, i) {
			started = true
			s.registry.put(p.node.name, p.node.zone, p.running[i].Image)
		}
	}
	if !started {
		return
	}
	for i := range object.Spec.InitContainers {
		s.registry.put(p.node.name, p.node.zone, object.Spec.InitContainers[i].Image)
	}
	for i := range object.Spec.Volumes {
		if source := object.Spec.Volumes[i].Image; source != nil && source.Reference != "" {
			s.registry.put(p.node.name, p.node.zone, source.Reference)
		}
	}
}

// byCreation orders pods by the time of their creation, then name, then UID.
func byCreation(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// statedPod is the pod with a state for each container that the kubelet reports. As the API defines it, a container without a
// state waits, unless something else in its status shows that it ran.
func statedPod(object *corev1.Pod) *corev1.Pod {
	stated := object
	for i := range object.Status.ContainerStatuses {
		status := &object.Status.ContainerStatuses[i]
		ended := status.RestartCount > 0 || status.LastTerminationState.Terminated != nil
		ran := ended || status.Ready || status.ContainerID != ""
		if ran || status.State != (corev1.ContainerState{}) {
			continue
		}
		if stated == object {
			stated = object.DeepCopy()
		}
		stated.Status.ContainerStatuses[i].State.Waiting = new(corev1.ContainerStateWaiting)
	}
	return stated
}

// settledPod is the pod with the resources of its containers in its status. No update of it is under way, so a kubelet that
// reports no resources has nothing to change. For the same reason images are not compared: some runtimes report IDs instead of
// names.
func settledPod(object *corev1.Pod) *corev1.Pod {
	settled := object
	for i := range kubelet.Count(object) {
		if len(kubelet.Resized(object, i)) > 0 {
			if settled == object {
				settled = object.DeepCopy()
			}
			kubelet.ResizeContainer(settled, i)
		}
	}
	return settled
}
