package rollouttest

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
	// Object is the name of the pod or the revision.
	Object string
	// UID of that object.
	UID types.UID
	// Revision is the hash that the pod carries afterwards, or the hash of the revision.
	Revision string
}

// String is the event in one line, with the time of day.
func (e Event) String() string {
	line := fmt.Sprintf("%s %s %s", e.At.UTC().Format("15:04:05"), e.Kind, e.Object)
	if e.Node != "" {
		line += " on " + e.Node
	}
	return line
}

// EventKind says what happened.
type EventKind uint8

// The kinds of events. The first seven are requests of a plan, the others what scheduler, kubelets and pod garbage
// collector do.
const (
	// RevisionCreated, RevisionRenumbered, RevisionDeleted: a revision action took effect.
	RevisionCreated EventKind = iota
	RevisionRenumbered
	RevisionDeleted
	// PodPatched: a patch took effect.
	PodPatched
	// PodDeleted: a pod was marked for deletion, or was gone at once because it was on no node.
	PodDeleted
	// PodCreated: a pod was created, pinned to its node.
	PodCreated
	// Refused: a request met an object that is not there any more, or another one in its place.
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
	"revision created", "revision renumbered", "revision deleted", "patched", "deleted", "created", "refused", "bound",
	"ready", "failed", "gone", "collected",
}
