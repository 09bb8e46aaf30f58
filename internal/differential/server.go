package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/testing"

	"github.com/daemonplan/daemonplan/placement"
)

// server stands in for the API server: it agrees to everything and notes it. It is the controller's client for revisions
// and the set, and its PodControlInterface, so that no pod object has to be made for a create.
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

// react answers what goes through the client.
func (s *server) react(action testing.Action) (handled bool, answer runtime.Object, err error) {
	switch request := action.(type) {
	case testing.GetActionImpl:
		return s.get(request)
	case testing.CreateActionImpl:
		if revision, ok := request.GetObject().(*appsv1.ControllerRevision); ok {
			return s.create(revision)
		}
		return true, request.GetObject(), nil // an event
	case testing.UpdateActionImpl:
		switch object := request.GetObject().(type) {
		case *appsv1.DaemonSet:
			status := object.Status
			s.note(func(r *Requests) { r.Status = &status })
			return true, object, nil
		case *appsv1.ControllerRevision:
			s.note(func(r *Requests) {
				r.Revisions = append(r.Revisions, RevisionRequest{Verb: "update", Name: object.Name, Object: object})
			})
			return true, object, nil
		}
	case testing.DeleteActionImpl:
		s.note(func(r *Requests) {
			r.Revisions = append(r.Revisions, RevisionRequest{Verb: "delete", Name: request.GetName()})
		})
		return true, nil, nil
	case testing.PatchActionImpl:
		return s.patch(request)
	}
	verb, resource := action.GetVerb(), action.GetResource().Resource
	return true, nil, fmt.Errorf("the DaemonSet controller is not known to %s %s", verb, resource)
}

func (s *server) get(request testing.GetActionImpl) (bool, runtime.Object, error) {
	if request.GetResource().Resource == "daemonsets" && request.GetName() == s.set.Name {
		return true, s.set.DeepCopy(), nil
	}
	i := slices.IndexFunc(s.revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == request.GetName() })
	if request.GetResource().Resource != "controllerrevisions" || i < 0 {
		return true, nil, apierrors.NewNotFound(request.GetResource().GroupResource(), request.GetName())
	}
	return true, s.revisions[i].DeepCopy(), nil
}

func (s *server) create(revision *appsv1.ControllerRevision) (bool, runtime.Object, error) {
	if slices.ContainsFunc(s.revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == revision.Name }) {
		return true, nil, apierrors.NewAlreadyExists(appsv1.Resource("controllerrevisions"), revision.Name)
	}
	s.note(func(r *Requests) {
		r.Revisions = append(r.Revisions, RevisionRequest{Verb: "create", Name: revision.Name, Object: revision})
	})
	return true, revision, nil
}

// patch is sent for pods of duplicate revisions, and to adopt and release revisions.
func (s *server) patch(request testing.PatchActionImpl) (bool, runtime.Object, error) {
	if request.GetResource().Resource == "controllerrevisions" {
		i := slices.IndexFunc(s.revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == request.GetName() })
		if i < 0 {
			return true, nil, apierrors.NewNotFound(request.GetResource().GroupResource(), request.GetName())
		}
		return true, s.revisions[i].DeepCopy(), nil
	}
	var change corev1.Pod
	if err := json.Unmarshal(request.GetPatch(), &change); err != nil || request.GetPatchType() != types.MergePatchType {
		return true, nil, fmt.Errorf("unexpected patch of %s: %s", request.GetName(), request.GetPatch())
	}
	s.note(func(r *Requests) {
		if r.Relabels == nil {
			r.Relabels = make(map[string]string)
		}
		r.Relabels[request.GetName()] = change.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	})
	return true, &change, nil
}
