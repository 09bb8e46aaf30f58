package podupdates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/version"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the scheme
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"

	"github.com/daemonplan/daemonplan/lifecycle"
)

const namespace = "ns"

var requestContext = genericapirequest.WithNamespace(context.Background(), namespace)

// server is an API server: the code of one, in this process, or one that runs.
type server interface {
	// created returns the pod that the server makes of a request; an error if it refuses it. Others may change the request on its way,
	// as admission does.
	created(pod *corev1.Pod, admission ...func(*corev1.Pod)) (*corev1.Pod, error)
	// reported returns the pod after its kubelet has written its status.
	reported(pod *corev1.Pod) (*corev1.Pod, error)
	// sent returns the pod after a patch.
	sent(pod *corev1.Pod, patch lifecycle.Patch, node *corev1.Node) (*corev1.Pod, error)
	// updated returns the pod after a request to make it another.
	updated(old, next *corev1.Pod, subresource string, node *corev1.Node) (*corev1.Pod, error)
}

// strategies are the code of an API server: its strategies, and the admission of what nodes do not declare.
type strategies struct{}

// internal returns the pod as the strategies take it.
func internal(pod *corev1.Pod) (*core.Pod, error) {
	out := &core.Pod{}
	return out, legacyscheme.Scheme.Convert(pod, out, nil)
}

func external(pod *core.Pod) (*corev1.Pod, error) {
	out := &corev1.Pod{}
	return out, legacyscheme.Scheme.Convert(pod, out, nil)
}

func (strategies) created(pod *corev1.Pod, admission ...func(*corev1.Pod)) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	legacyscheme.Scheme.Default(pod)
	for _, admit := range admission {
		admit(pod)
	}
	legacyscheme.Scheme.Default(pod)
	in, err := internal(pod)
	if err != nil {
		return nil, err
	}
	podregistry.Strategy.PrepareForCreate(requestContext, in)
	if errs := podregistry.Strategy.Validate(requestContext, in); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	made, err := external(in)
	if err != nil {
		return nil, err
	}
	stored, err := json.Marshal(made) // quantities are stored in one spelling
	if err != nil {
		return nil, err
	}
	out := &corev1.Pod{}
	return out, json.Unmarshal(stored, out)
}

// run gives the pod a status: its containers run what its spec says.
func run(pod *corev1.Pod, restarts int) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.QOSClass = qos.ComputePodQOS(pod)
	status := func(c *corev1.Container) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "id of " + c.Image, ContainerID: fmt.Sprintf("containerd://%s-%d", c.Name, restarts),
			Ready: true, Resources: c.Resources.DeepCopy(),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(int64(restarts), 0)}},
		}
	}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = nil, nil
	for i := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status(&pod.Spec.Containers[i]))
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status(c))
		}
	}
	pod.Status.Resources = pod.Spec.Resources.DeepCopy()
}

// reported takes the status as it is: kubelets may write what they like.
func (strategies) reported(pod *corev1.Pod) (*corev1.Pod, error) { return pod, nil }

func (s strategies) sent(pod *corev1.Pod, patch lifecycle.Patch, node *corev1.Node) (*corev1.Pod, error) {
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(before, patch.Data, &corev1.Pod{})
	if err != nil {
		return nil, err
	}
	next := &corev1.Pod{}
	if err := json.Unmarshal(merged, next); err != nil {
		return nil, err
	}
	return s.updated(pod, next, patch.Subresource, node)
}

func (strategies) updated(old, next *corev1.Pod, subresource string, node *corev1.Node) (*corev1.Pod, error) {
	legacyscheme.Scheme.Default(next)
	was, err := internal(old)
	if err != nil {
		return nil, err
	}
	is, err := internal(next)
	if err != nil {
		return nil, err
	}
	switch subresource {
	case "resize":
		podregistry.ResizeStrategy.PrepareForUpdate(requestContext, is, was)
		if errs := podregistry.ResizeStrategy.ValidateUpdate(requestContext, is, was); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
	case "status":
		podregistry.StatusStrategy.PrepareForUpdate(requestContext, is, was)
		if errs := podregistry.StatusStrategy.ValidateUpdate(requestContext, is, was); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
	case "":
		podregistry.Strategy.PrepareForUpdate(requestContext, is, was)
		if errs := podregistry.Strategy.ValidateUpdate(requestContext, is, was); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
	default:
		return nil, fmt.Errorf("no subresource %q", subresource)
	}
	out, err := external(is)
	if err != nil || subresource == "status" {
		return out, err
	}
	return out, undeclared(old, out, node)
}

// undeclared is what the admission plugin NodeDeclaredFeatureValidator refuses.
func undeclared(old, next *corev1.Pod, node *corev1.Node) error {
	framework := nodedeclaredfeatures.DefaultFramework
	needed, err := framework.InferForPodUpdate(&nodedeclaredfeatures.PodInfo{Spec: &old.Spec, Status: &old.Status},
		&nodedeclaredfeatures.PodInfo{Spec: &next.Spec, Status: &next.Status}, version.MustParseSemantic("1.37.0"))
	if err != nil {
		return err
	}
	match, err := framework.MatchNode(needed, node)
	if err != nil {
		return err
	}
	if !match.IsMatch {
		return errors.New("pod update requires features " + strings.Join(match.UnsatisfiedRequirements, ", "))
	}
	return nil
}
