package inplace

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// Update is the change between two templates, computed once by [Compare] or [DiffRevisions] and then applied to any number
// of pods. It is not written after that, so it can be shared. A nil Update, and one made otherwise, is never in place.
//
// The lists have what changes, also where it cannot be changed in place.
type Update struct {
	// Obstacles are all reasons why the change cannot be made in place, sorted by path, code and detail. None: it can.
	Obstacles []Obstacle
	// Images that change, in the order of the containers; sidecars come first.
	Images []ImageChange
	// Resources are the requests and limits of cpu and memory that change or are added, in the order of the containers, init
	// containers first, and the pod as a whole last; limits before requests, cpu before memory.
	Resources []ResourceChange
	// Tolerations that the template adds, in its order.
	Tolerations []corev1.Toleration `json:",omitempty"`
	// Labels that the template adds, changes or drops, sorted by key.
	Labels []MetadataChange
	// Annotations that the template adds, changes or drops, sorted by key.
	Annotations []MetadataChange
	// Env are the environment variables of containers that read an added or changed label or annotation, in the order
	// of the containers and their variables.
	Env []EnvReference

	compiled bool
	options  Options
	// metadata has the labels and annotations that no environment variable reads, which change at once.
	metadata changedMetadata
	// work is what changes container by container.
	work work
	// whole are the resources of the pod as a whole by the new template; nil if it has none, or if nothing is resized.
	whole *corev1.ResourceRequirements
	// resizeRestarts reports whether a resize restarts a container by the resize policies of the new template.
	resizeRestarts bool
	// features are those that a node has to declare, kubelet the least version that its kubelet has to have; nil: any.
	features []string
	kubelet  *version.Version
}

// ImageChange is the change of image of a container or sidecar.
type ImageChange struct {
	// Container that changes.
	Container string
	// Old and New image, as the templates write them.
	Old, New string
}

// ResourceChange is the change of one request or limit.
type ResourceChange struct {
	// Container that changes. Empty: the pod as a whole.
	Container string
	// Limit reports whether a limit changes; else a request does.
	Limit bool
	// Resource is cpu or memory.
	Resource corev1.ResourceName
	// Old and New quantity. Old is zero if Added.
	Old, New resource.Quantity
	// Added reports whether only the new template has the request or limit.
	Added bool `json:",omitempty"`
}

// MetadataChange is the change of one label or annotation of the template.
type MetadataChange struct {
	// Key of the label or annotation.
	Key string
	// Old value; empty if Added.
	Old string
	// New value; empty if Dropped.
	New string
	// Added reports whether only the new template has the key.
	Added bool
	// Dropped reports whether only the old template has the key.
	Dropped bool
}

// EnvReference is an environment variable that reads a label or annotation.
type EnvReference struct {
	// Container and Variable are their names.
	Container, Variable string
	// Annotation reports whether it reads an annotation; else it reads a label.
	Annotation bool
	// Key of the label or annotation.
	Key string
}

// InPlace reports whether the change can be made in place, that is whether there is no obstacle. A single pod may still be
// unable to take it; see [Obstruct] and [Update.Begin].
func (u *Update) InPlace() bool {
	return u != nil && u.compiled && len(u.Obstacles) == 0
}

// Restarts reports whether the change restarts a container: an image changes, or a label or annotation that an
// environment variable reads, or a resource whose resize policy in the new template is RestartContainer.
func (u *Update) Restarts() bool {
	return u != nil && (len(u.Images) > 0 || len(u.Env) > 0 || u.resizeRestarts)
}

// NeedsUnready reports whether pod has to be made not ready before the change (I4): it has the readiness gate, and a container
// restarts that [Options].ServeOn does not name, or the change cannot be made in place. Whether a resize restarts a container is
// decided by the pod's own resize policies. A nil pod needs nothing.
//
// It is an upper bound for [Update.Begin], which leaves out what the pod has already.
func (u *Update) NeedsUnready(pod *corev1.Pod) bool {
	if u == nil || pod == nil || !hasGate(pod) {
		return false
	}
	return !u.InPlace() || u.work.interrupts(pod, u.options.ServeOn)
}

// hasGate reports whether pod has the readiness gate of in-place updates (I3).
func hasGate(pod *corev1.Pod) bool {
	for i := range pod.Spec.ReadinessGates {
		if pod.Spec.ReadinessGates[i].ConditionType == lifecycle.InPlaceUpdateReady {
			return true
		}
	}
	return false
}
