package differential

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// World is what the controller's informers show.
type World struct {
	// Now is the instant of the controller's clock.
	Now time.Time
	// Set is the DaemonSet. Its stored status holds the collision count.
	Set *appsv1.DaemonSet
	// Revisions are all ControllerRevisions of the namespace.
	Revisions []*appsv1.ControllerRevision
	Nodes     []*corev1.Node
	// Pods are all pods of the namespace; the controller claims its own.
	Pods []*corev1.Pod
	// Burst is how many pods a phase may create, and how many it may delete. 0: as the controller has it, 250.
	Burst int
}

// Requests is what the controller asked of the API server, in no particular order: it works on several pods at once.
type Requests struct {
	// Creates are the nodes for which pods were created, Templates what the pods are made of.
	Creates   []string
	Templates []*corev1.PodTemplateSpec
	// Deletes, Adopts, Releases and Relabels are names of pods; Relabels gives the new revision hash of each.
	Deletes, Adopts, Releases []string
	Relabels                  map[string]string
	// Revisions are created, updated and deleted ControllerRevisions.
	Revisions []RevisionRequest
	// Status is the status that was stored; nil if none was.
	Status *appsv1.DaemonSetStatus
}

// RevisionRequest is one write to the history.
type RevisionRequest struct {
	// Verb is create, update or delete.
	Verb string
	Name string
	// Object is what was sent; nil for delete.
	Object *appsv1.ControllerRevision
}

// Acts tells whether a pod is created or deleted.
func (r *Requests) Acts() bool { return len(r.Creates) > 0 || len(r.Deletes) > 0 }

// UpdateHash is the hash of the revision with the highest number: the one of the set's template, where the history is in order.
// Empty without revisions.
func (w *World) UpdateHash() string {
	var newest *appsv1.ControllerRevision
	for _, r := range w.Revisions {
		if newest == nil || r.Revision > newest.Revision {
			newest = r
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
}

func key(set *appsv1.DaemonSet) string { return strings.Join([]string{set.Namespace, set.Name}, "/") }
