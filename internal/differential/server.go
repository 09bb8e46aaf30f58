package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/placement"
)

// server stands in for the API server: it agrees to everything and notes it. What the controller's client sends comes here, see
// client; and it is the controller's PodControlInterface, so that no pod object has to be made for a create.
type server struct {
	set       *appsv1.DaemonSet
	revisions []*appsv1.ControllerRevision

	mu       sync.Mutex // the controller creates and deletes pods in goroutines
	requests Requests
}

func (s *server) note(change func(*Requests)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.requests)
}

// CreatePods notes for which node the pod is, and of what it is made.
func (s *server) CreatePods(
	_ context.Context, _ string, template *corev1.PodTemplateSpec, _ runtime.Object, _ *metav1.OwnerReference,
) error {
	node, err := pinnedTo(template)
	if err != nil {
		return err
	}
	s.note(func(r *Requests) {
		r.Creates = append(r.Creates, node)
		r.Templates = append(r.Templates, template)
	})
	return nil
}

// CreatePodsWithGenerateName is the other half of the interface, which the controller does not use.
func (s *server) CreatePodsWithGenerateName(
	context.Context, string, *corev1.PodTemplateSpec, runtime.Object, *metav1.OwnerReference, string,
) error {
	return fmt.Errorf("the DaemonSet controller has no use for this")
}

// DeletePod notes the deletion.
func (s *server) DeletePod(_ context.Context, _, pod string, _ runtime.Object) error {
	s.note(func(r *Requests) { r.Deletes = append(r.Deletes, pod) })
	return nil
}

// PatchPod is how pods are adopted and released.
func (s *server) PatchPod(_ context.Context, _, pod string, data []byte) error {
	var change struct {
		Metadata struct {
			OwnerReferences []struct {
				Patch string `json:"$patch"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &change); err != nil {
		return err
	}
	released := len(change.Metadata.OwnerReferences) > 0 && change.Metadata.OwnerReferences[0].Patch == "delete"
	s.note(func(r *Requests) {
		if released {
			r.Releases = append(r.Releases, pod)
		} else {
			r.Adopts = append(r.Adopts, pod)
		}
	})
	return nil
}

// pinnedTo is the node to which the controller pins a pod of the template.
func pinnedTo(template *corev1.PodTemplateSpec) (string, error) {
	node, ok := placement.TargetNode(&corev1.Pod{Spec: template.Spec})
	if !ok {
		return "", fmt.Errorf("the pod is pinned to no node: %v", template.Spec.Affinity)
	}
	return node, nil
}
