// Package kubelet runs the pods of a cluster that has an API server and no nodes: it binds pods to the nodes that they are pinned
// to, and reports their containers as started, restarted with another image, resized, and gone.
//
// What happens to a pod is decided by the package internal/kubelet, as in the simulator; this one does it through the API, with
// a delay for each step.
package kubelet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// Agent is the kubelet of every node, and the scheduler of the pods that are pinned to one.
type Agent struct {
	client.Client
	// Start is how long the containers of a pod take to be ready, Stop how long they take to be gone.
	Start, Stop time.Duration
	// Behaves tells what becomes of a pod whose containers have been started. Nil: each is ready.
	Behaves func(*corev1.Pod) Behavior
	// Scheduled says that a scheduler binds the pods. Default: the agent does.
	Scheduled bool

	mutex   sync.Mutex
	running map[types.UID]*state
}

// Behavior of a pod once it was started.
type Behavior int

// What may become of a pod.
const (
	GetsReady Behavior = iota
	StaysUnready
	Crashes
	Fails
)

// ByTag has the pods crash whose image has the tag "broken", those fail with the tag "fails", and all others get ready.
func ByTag(pod *corev1.Pod) Behavior {
	switch image := pod.Spec.Containers[0].Image; {
	case strings.HasSuffix(image, ":broken"):
		return Crashes
	case strings.HasSuffix(image, ":fails"):
		return Fails
	default:
		return GetsReady
	}
}

// state is what a kubelet knows of a pod beside the object.
type state struct {
	since   time.Time // when the pod came into the state that the next delay counts from
	running []kubelet.Running
	crashed time.Time // last
}

// atOnce is how many pods are looked after at a time: each mostly waits for the API server, and a wave of a rollout on a thousand
// nodes is a hundred of them.
const atOnce = 64

// SetupWithManager watches all pods.
func (a *Agent) SetupWithManager(manager ctrl.Manager) error {
	a.running = map[types.UID]*state{}
	return ctrl.NewControllerManagedBy(manager).
		Named("kubelet").
		For(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: atOnce}).
		Complete(a)
}

// Reconcile does the next thing that is due for a pod.
func (a *Agent) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var cached corev1.Pod
	if err := a.Get(ctx, request.NamespacedName, &cached); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	wait, err := a.step(ctx, &cached)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // a newer state is on its way
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: wait}, err
}

func (a *Agent) step(ctx context.Context, cached *corev1.Pod) (time.Duration, error) {
	pod := cached.DeepCopy()
	known := a.of(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		return a.stop(ctx, pod)
	case lifecycle.Terminal(pod):
		return 0, nil
	case pod.Spec.NodeName == "" && a.Scheduled:
		return 0, nil
	case pod.Spec.NodeName == "":
		return a.bind(ctx, pod)
	}
	if left := time.Until(known.since.Add(a.Start)); left > 0 {
		return left, nil
	}
	var wait time.Duration
	if now := time.Now(); cannotStart(pod) {
		wait = failToStart(pod, now)
	} else {
		wait = a.run(pod, known, now)
	}
	if equality.Semantic.DeepEqual(pod.Status, cached.Status) {
		return wait, nil
	}
	return wait, a.Status().Update(ctx, pod)
}

// of returns what is known of a pod. One that was there before the agent runs what it reports.
func (a *Agent) of(pod *corev1.Pod) *state {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	known := a.running[pod.UID]
	if known == nil {
		known = &state{since: time.Now()}
		for i := range pod.Spec.Containers {
			known.running = append(known.running, kubelet.RunningIn(pod, i))
		}
		a.running[pod.UID] = known
	}
	return known
}

// stop lets the pod go once its finalizers are off and its containers had time to stop.
func (a *Agent) stop(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	if left := time.Until(pod.DeletionTimestamp.Add(-grace(pod)).Add(a.Stop)); left > 0 {
		return left, nil
	}
	if len(pod.Finalizers) > 0 {
		return 0, nil
	}
	err := a.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if err == nil {
		a.mutex.Lock()
		delete(a.running, pod.UID)
		a.mutex.Unlock()
	}
	return 0, err
}

func grace(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}

// bind does what the scheduler does for a pod that is pinned: the node has to exist and to tolerate it.
func (a *Agent) bind(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	name, ok := placement.TargetNode(pod)
	if !ok {
		return 0, fmt.Errorf("pod %s is pinned to no node", pod.Name)
	}
	var node corev1.Node
	if err := a.Get(ctx, types.NamespacedName{Name: name}, &node); err != nil {
		return bindAgain, client.IgnoreNotFound(err)
	}
	matcher, err := placement.Compile(&corev1.PodTemplateSpec{Spec: pod.Spec})
	if err != nil || matcher.Evaluate(&node).Outcome != placement.Run {
		return bindAgain, err
	}
	return 0, a.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: name}})
}

// bindAgain is when to look again at a node that does not take its pod: nodes come, and change, without a word about pods.
const bindAgain = 200 * time.Millisecond

// run brings the containers to what the pod says, and reports them. It returns when to look again.
func (a *Agent) run(pod *corev1.Pod, known *state, now time.Time) time.Duration {
	behavior := GetsReady
	if a.Behaves != nil {
		behavior = a.Behaves(pod)
	}
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = new(metav1.NewTime(now))
	}
	if behavior == Fails {
		kubelet.Fail(pod, now)
		return 0
	}
	if !kubelet.HasRun(pod, 0) {
		kubelet.CreateContainers(pod, known.running, nil, now)
	}
	for i := range pod.Spec.Containers {
		switch {
		case kubelet.Outdated(pod, i, known.running[i], true):
			known.running[i] = kubelet.RestartContainer(pod, i, nil, now)
		default:
			if changed := kubelet.Resized(pod, i); len(changed) > 0 {
				kubelet.ResizeContainer(pod, i)
				if kubelet.RestartsFor(&pod.Spec.Containers[i], changed) {
					known.running[i] = kubelet.RestartContainer(pod, i, nil, now)
				}
			}
		}
	}
	pod.Status.ObservedGeneration = pod.Generation
	switch {
	case behavior == Crashes:
		if left := known.crashed.Add(crashEvery).Sub(now); left > 0 {
			return left
		}
		known.crashed = now
		kubelet.Crash(pod, 0, 1, "Error", now)
		return crashEvery
	case behavior == StaysUnready:
	case !kubelet.ContainersReady(pod):
		kubelet.StartContainers(pod, known.running, nil, now)
	}
	ready := kubelet.ConditionStatus(pod, corev1.PodReady) == corev1.ConditionTrue
	switch open := kubelet.GatesOpen(pod) && kubelet.ContainersReady(pod); {
	case open && !kubelet.Settled(pod):
		kubelet.Ready(pod, now)
	case !open && ready:
		kubelet.Unready(pod, now)
	}
	return 0
}

// crashEvery is how often a container crashes that does: tests have no time for a back-off.
const crashEvery = time.Second

// Node is a node that is ready, with room for all pods.
func Node(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// MakeReady takes off what admission puts on new nodes, and reports the node as ready.
func MakeReady(ctx context.Context, c client.Client, node *corev1.Node) error {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	if err := c.Update(ctx, node); err != nil {
		return err
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
	}}
	node.Status.Capacity = allocatable
	node.Status.Allocatable = allocatable
	return c.Status().Update(ctx, node)
}

var allocatable = corev1.ResourceList{
	corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
	corev1.ResourcePods: resource.MustParse("250"),
}
