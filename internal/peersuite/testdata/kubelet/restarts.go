package kuberuntime

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/allocation/state"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	proberesults "k8s.io/kubernetes/pkg/kubelet/prober/results"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

var restartCases = flag.Int("n", 20000, "how many updates are judged")

// TestRestarts asks the kubelet which containers the patches of an update in place restart, and holds package inplace to it: it makes
// the pod not ready exactly if one restarts, and waits for those.
func TestRestarts(t *testing.T) {
	kinds, bad := map[string]int{}, 0
	for seed := range *restartCases {
		kind, wrong := judgedByKubelet(t, uint64(seed))
		if kinds[kind]++; wrong == "" {
			continue
		}
		if bad++; bad <= 10 {
			d := draw(uint64(seed))
			t.Errorf("case %d: %s\nfrom %s\nto   %s", seed, wrong, plainText(d.old), plainText(d.new))
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d cases are wrong", bad, *restartCases)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%6d %s", kinds[kind], kind)
	}
}

func judgedByKubelet(t *testing.T, seed uint64) (kind, wrong string) {
	d := draw(seed)
	d.options.EnvFromMetadata = false // it is not the kubelet that restarts for that
	made := placement.Pod(d.old, d.node.Name)
	made.Name, made.Namespace, made.UID, made.ResourceVersion = "agent-x", "ns", "uid", "1"
	made.Spec.NodeName = d.node.Name
	made.Labels["controller-revision-hash"] = "old"
	made.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	server := strategies{}
	pod, err := server.created(made, d.admission...)
	if err != nil {
		return "no such pod", ""
	}
	again := placement.Pod(d.new, d.node.Name)
	again.Name, again.Namespace, again.UID = "agent-x", "ns", "uid"
	if _, err := server.created(again, d.admission...); err != nil {
		return "no such pod", ""
	}
	run(pod, 1)
	ctx, logger := context.Background(), klog.Background()
	manager := &kubeGenericRuntimeManager{
		livenessManager: proberesults.NewManager(), startupManager: proberesults.NewManager(),
		actuatedState: state.NewStateMemory(logger, nil),
	}
	status := running(t, manager, pod)
	if restarts := restarted(manager.computePodActions(ctx, pod, status, false)); len(restarts) > 0 {
		return "", fmt.Sprintf("the kubelet restarts %v without an update", restarts)
	}

	step, err := inplace.Compare(d.old, d.new, d.options).Begin(
		pod, inplace.Target{Revision: "new", Node: d.node}, inplace.Metadata{}, time.Unix(1_800_000_000, 0))
	if err != nil {
		return "not in place", ""
	}
	next, unready := pod, false
	for _, patch := range step.Patches {
		unready = unready || patch.Subresource == "status"
		if next, err = server.sent(next, patch, d.node); err != nil {
			return "", fmt.Sprintf("refused: %v", err)
		}
	}
	restarts := restarted(manager.computePodActions(ctx, next, status, false))
	if unready != (len(restarts) > 0) {
		return "", fmt.Sprintf("made not ready: %v, and the kubelet restarts %v", unready, restarts)
	}
	waited := map[string]bool{}
	for _, wait := range inplace.Completed(next).Waits {
		waited[wait.Container] = true
		if wait.Code == inplace.ImageUnchanged && !slices.Contains(restarts, wait.Container) {
			return "", fmt.Sprintf("waits for ever for %s: the kubelet restarts %v", wait.Container, restarts)
		}
	}
	for _, name := range restarts {
		if !waited[name] {
			return "", fmt.Sprintf("does not wait for %s, which the kubelet restarts", name)
		}
	}
	return fmt.Sprintf("%d containers restart", len(restarts)), ""
}

// running returns what the runtime reports of a pod whose containers are as its spec has them.
func running(t *testing.T, manager *kubeGenericRuntimeManager, pod *corev1.Pod) *kubecontainer.PodStatus {
	t.Helper()
	logger := klog.Background()
	sandbox := &runtimeapi.PodSandboxStatus{
		Id: "sandbox", State: runtimeapi.PodSandboxState_SANDBOX_READY, Metadata: &runtimeapi.PodSandboxMetadata{},
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: "10.0.0.1"},
	}
	if pod.Spec.HostNetwork {
		sandbox.Linux = &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
			Options: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE},
		}}
	}
	status := &kubecontainer.PodStatus{ID: pod.UID, SandboxStatuses: []*runtimeapi.PodSandboxStatus{sandbox}}
	add := func(c *corev1.Container, s kubecontainer.State) {
		status.ContainerStatuses = append(status.ContainerStatuses, &kubecontainer.Status{
			ID: kubecontainer.ContainerID{Type: "test", ID: c.Name}, Name: c.Name, State: s, Hash: kubecontainer.HashContainer(c),
		})
		if err := manager.actuatedState.SetContainerResources(logger, pod.UID, c.Name, c.Resources); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pod.Spec.InitContainers {
		c, s := &pod.Spec.InitContainers[i], kubecontainer.ContainerStateExited
		if c.RestartPolicy != nil {
			s = kubecontainer.ContainerStateRunning
		}
		add(c, s)
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i], kubecontainer.ContainerStateRunning)
	}
	if pod.Spec.Resources != nil {
		if err := manager.actuatedState.SetPodLevelResources(logger, pod.UID, pod.Spec.Resources); err != nil {
			t.Fatal(err)
		}
	}
	status.ActiveContainerStatuses = status.ContainerStatuses
	return status
}

// restarted are the names of the containers that the kubelet ends, sorted; all of them if it ends the pod.
func restarted(actions podActions) []string {
	if actions.KillPod {
		return []string{"the pod"}
	}
	names := map[string]bool{}
	for id := range actions.ContainersToKill {
		names[id.ID] = true
	}
	return slices.Sorted(maps.Keys(names))
}
