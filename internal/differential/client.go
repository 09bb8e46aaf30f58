package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// client is the controller's client, with what the controller has a use for. It panics for anything else, as a nil client does,
// which a new version of the controller would have to be looked at for. The client that Kubernetes has for tests would do the
// same: its packages take longer to build than those of the controller.
type client struct {
	kubernetes.Interface
	server *server
}

func (c client) AppsV1() appsclient.AppsV1Interface { return apps{server: c.server} }
func (c client) CoreV1() coreclient.CoreV1Interface { return core{server: c.server} }

type apps struct {
	appsclient.AppsV1Interface
	server *server
}

func (a apps) DaemonSets(string) appsclient.DaemonSetInterface { return sets{server: a.server} }
func (a apps) ControllerRevisions(string) appsclient.ControllerRevisionInterface {
	return revisions{server: a.server}
}

type core struct {
	coreclient.CoreV1Interface
	server *server
}

func (c core) Pods(string) coreclient.PodInterface { return pods{server: c.server} }

type sets struct {
	appsclient.DaemonSetInterface
	server *server
}

// Get gives the set of the world.
func (s sets) Get(_ context.Context, name string, _ metav1.GetOptions) (*appsv1.DaemonSet, error) {
	if name != s.server.set.Name {
		return nil, apierrors.NewNotFound(appsv1.Resource("daemonsets"), name)
	}
	return s.server.set.DeepCopy(), nil
}

// UpdateStatus notes the status.
func (s sets) UpdateStatus(_ context.Context, set *appsv1.DaemonSet, _ metav1.UpdateOptions) (*appsv1.DaemonSet, error) {
	status := set.Status
	s.server.note(func(r *Requests) { r.Status = &status })
	return set, nil
}

type revisions struct {
	appsclient.ControllerRevisionInterface
	server *server
}

// Get gives a revision of the world.
func (r revisions) Get(_ context.Context, name string, _ metav1.GetOptions) (*appsv1.ControllerRevision, error) {
	i := slices.IndexFunc(r.server.revisions, func(known *appsv1.ControllerRevision) bool { return known.Name == name })
	if i < 0 {
		return nil, apierrors.NewNotFound(appsv1.Resource("controllerrevisions"), name)
	}
	return r.server.revisions[i].DeepCopy(), nil
}

// Create notes a revision, unless the world has one of that name.
func (r revisions) Create(
	ctx context.Context, revision *appsv1.ControllerRevision, _ metav1.CreateOptions,
) (*appsv1.ControllerRevision, error) {
	if _, err := r.Get(ctx, revision.Name, metav1.GetOptions{}); err == nil {
		return nil, apierrors.NewAlreadyExists(appsv1.Resource("controllerrevisions"), revision.Name)
	}
	r.note("create", revision.Name, revision)
	return revision, nil
}

// Update notes what becomes of a revision.
func (r revisions) Update(
	_ context.Context, revision *appsv1.ControllerRevision, _ metav1.UpdateOptions,
) (*appsv1.ControllerRevision, error) {
	r.note("update", revision.Name, revision)
	return revision, nil
}

// Delete notes the name.
func (r revisions) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	r.note("delete", name, nil)
	return nil
}

func (r revisions) note(verb, name string, object *appsv1.ControllerRevision) {
	r.server.note(func(requests *Requests) {
		requests.Revisions = append(requests.Revisions, RevisionRequest{Verb: verb, Name: name, Object: object})
	})
}

// Patch is sent to adopt and to release a revision, which is not noted.
func (r revisions) Patch(
	ctx context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string,
) (*appsv1.ControllerRevision, error) {
	return r.Get(ctx, name, metav1.GetOptions{})
}

type pods struct {
	coreclient.PodInterface
	server *server
}

// Patch is sent for pods of duplicate revisions; it notes the hash that they get.
func (p pods) Patch(
	_ context.Context, name string, kind types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Pod, error) {
	var change corev1.Pod
	if err := json.Unmarshal(patch, &change); err != nil || kind != types.MergePatchType {
		return nil, fmt.Errorf("unexpected patch of %s: %s", name, patch)
	}
	p.server.note(func(r *Requests) {
		if r.Relabels == nil {
			r.Relabels = make(map[string]string)
		}
		r.Relabels[name] = change.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	})
	return &change, nil
}
