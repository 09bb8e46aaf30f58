package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// With -rollout there is a DaemonSet whose update v2 gets ready on the first nodes, and crashes on all that follow. One node has
// lost its kubelet before.
const (
	namespace  = "kube-system"
	name       = "node-agent"
	lost       = "node-0003"
	fine       = 6
	most       = 3  // unavailable at a time
	leastNodes = 15 // some for each state
)

// fleet knows on which nodes the update is fine.
type fleet struct {
	mutex sync.Mutex
	fine  map[string]bool
}

func (f *fleet) behaves(pod *corev1.Pod) kubelet.Behavior {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	node := pod.Spec.NodeName
	switch {
	case !strings.HasSuffix(pod.Spec.Containers[0].Image, ":v2") || f.fine[node]:
		return kubelet.ByTag(pod)
	case len(f.fine) == fine:
		return kubelet.Crashes
	}
	if f.fine == nil {
		f.fine = map[string]bool{}
	}
	f.fine[node] = true
	return kubelet.GetsReady
}

// getStuck installs the DaemonSet on all nodes but the lost one, and updates it until nothing moves.
func getStuck(ctx context.Context, cluster *controlplane.Cluster, nodes int) error {
	api, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		return err
	}
	if err := loseNode(ctx, api); err != nil {
		return fmt.Errorf("node %s: %w", lost, err)
	}
	if _, err := cluster.DaemonSetController("daemonset-controller"); err != nil {
		return err
	}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(most))}
	set.Spec.Template.Labels = map[string]string{"app": name}
	set.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(5))
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "registry.example/agent:v1"}}
	if err := api.Create(ctx, set); err != nil {
		return err
	}
	err = until(ctx, func() (bool, error) {
		err := api.Get(ctx, client.ObjectKeyFromObject(set), set)
		return int(set.Status.NumberAvailable) == nodes-1, err
	})
	if err != nil {
		return err
	}
	update := client.RawPatch(types.JSONPatchType, []byte(
		`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example/agent:v2"}]`))
	if err := api.Patch(ctx, set, update); err != nil {
		return err
	}
	return until(ctx, func() (bool, error) {
		var pods corev1.PodList
		err := api.List(ctx, &pods, client.InNamespace(namespace))
		crashing := 0
		for i := range pods.Items {
			if s := pods.Items[i].Status.ContainerStatuses; len(s) > 0 && s[0].RestartCount > 0 {
				crashing++
			}
		}
		return crashing == most, err
	})
}

// loseNode does what the node controller does with a node whose kubelet is silent. No daemon pod comes to it any more.
func loseNode(ctx context.Context, api client.Client) error {
	var node corev1.Node
	if err := api.Get(ctx, client.ObjectKey{Name: lost}, &node); err != nil {
		return err
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect})
	}
	if err := api.Update(ctx, &node); err != nil {
		return err
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown",
		Message: "Kubelet stopped posting node status.", LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
	}}
	return api.Status().Update(ctx, &node)
}

// until waits until something is reached.
func until(ctx context.Context, reached func() (bool, error)) error {
	for {
		if done, err := reached(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

const rolloutGuide = `A cluster of %d nodes runs. They exist as objects only. An update of the DaemonSet node-agent in the
namespace kube-system to v2 is stuck, because its pods crash. Interrupt it (Ctrl-C) to end it; nothing remains.

In another terminal:

  export KUBECONFIG=%s
  %s
  go install -C %s .    # kubectl-daemonplan
  export PATH="$(go env GOPATH)/bin:$PATH"

What does the rollout wait for, and what is wrong with its nodes and pods?

  kubectl daemonplan plan node-agent -n kube-system
  kubectl daemonplan pods node-agent -n kube-system
  kubectl daemonplan explain node-0003 -n kube-system
  kubectl daemonplan diff node-agent -n kube-system

What would v3 restart, where, in what order, and how long would it take?

  kubectl set image ds node-agent agent=registry.example/agent:v3 -n kube-system --dry-run=client -o yaml > v3.yaml
  kubectl daemonplan plan node-agent -n kube-system --change v3.yaml --forecast

Then let it go through, and look again:

  kubectl set image ds node-agent agent=registry.example/agent:v3 -n kube-system
  kubectl daemonplan rollout status node-agent -n kube-system
`
