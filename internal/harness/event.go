package harness

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Event is one thing that happened in a [Cluster].
type Event struct {
	// At is the virtual instant.
	At time.Time
	// Kind says what happened.
	Kind EventKind
	// Node concerned; empty for revisions and for pods of no node.
	Node string
	// Object is the name of the pod, the revision, or the image.
	Object string
	// UID of that object.
	UID types.UID
	// Revision is the hash that the pod carries afterwards, or the hash of the revision.
	Revision string
	// Detail is the container, its reason to wait or the pod's to fail, the handlers of hooks, or the annotations of a
	// revision that were set or removed; empty if there is nothing to add.
	Detail string
}

// String is the event in one line, with the time of day.
func (e Event) String() string {
	line := fmt.Sprintf("%s %s %s", e.At.UTC().Format("15:04:05"), e.Kind, e.Object)
	if e.Node != "" {
		line += " on " + e.Node
	}
	if e.Detail != "" {
		line += " (" + e.Detail + ")"
	}
	return line
}

// EventKind says what happened.
type EventKind uint8

// The kinds of events. The first ten, up to Refused, are requests of a plan, the others what scheduler, kubelets, pod
// garbage collector, the controllers of users and their administrators do.
const (
	// RevisionCreated, RevisionRenumbered, RevisionAnnotated, RevisionDeleted: a revision action took effect.
	RevisionCreated EventKind = iota
	RevisionRenumbered
	RevisionAnnotated
	RevisionDeleted
	// PodPatched: a patch took effect.
	PodPatched
	// PodUpdated: a patch took effect that brings the pod to another revision in place.
	PodUpdated
	// PullStarted: a node began to pull an image.
	PullStarted
	// PodDeleted: a pod was marked for deletion, or was gone at once because it was on no node.
	PodDeleted
	// PodCreated: a pod was created, pinned to its node.
	PodCreated
	// Refused: a request met an object that is not there any more, another one in its place, or one that was written
	// meanwhile; or it asked for a pull that is under way.
	Refused
	// PodBound: the scheduler bound a pod to its node.
	PodBound
	// PodReady: a pod became Ready.
	PodReady
	// PodFailed: a pod Failed.
	PodFailed
	// PodGone: the object of a terminating pod was removed.
	PodGone
	// PodCollected: the object of a pod of a vanished node was removed.
	PodCollected
	// PodStarted: all containers of a pod became ready, and its readiness gates keep it from being Ready.
	PodStarted
	// PodUnready: a readiness gate made a pod not Ready.
	PodUnready
	// ContainerRestarted: a container was made anew, from what its pod says now.
	ContainerRestarted
	// ContainerResized: a container got its new resources.
	ContainerResized
	// PodReleased: handlers of hooks were taken off a pod.
	PodReleased
	// PodHooked: handlers of hooks were put on a pod.
	PodHooked
	// PullDone: a node has pulled an image.
	PullDone
	// PullFailed: a node could not pull an image.
	PullFailed
	// PodUnscheduled: the scheduler found no room for a pod on its node.
	PodUnscheduled
	// ContainersCreated: all containers of a pod run, and are not ready yet.
	ContainersCreated
	// ContainerWaiting: a container waits instead of starting, with the reason as the detail.
	ContainerWaiting
	// ContainerCrashed: a container ended by itself, and is to be started again.
	ContainerCrashed
	// PodDrained: an administrator marked a pod for deletion.
	PodDrained

	eventKinds // count
)

// String is the kind in one or two words.
func (k EventKind) String() string {
	if k >= eventKinds {
		return "unknown"
	}
	return eventNames[k]
}

var eventNames = [eventKinds]string{
	"revision created", "revision renumbered", "revision annotated", "revision deleted", "patched", "updated",
	"pull started", "deleted", "created", "refused", "bound", "ready", "failed", "gone", "collected", "started", "unready",
	"restarted", "resized", "released", "hooked", "pulled", "pull failed", "unschedulable", "containers created", "waiting",
	"crashed", "drained",
}
