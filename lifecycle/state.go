package lifecycle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// These are where a pod carries its state (L1), as in OpenKruise.
const (
	// StateLabel is the label that holds the [State].
	StateLabel = "lifecycle.apps.kruise.io/state"
	// TimestampAnnotation is the annotation that holds when the state was last changed, in RFC 3339.
	TimestampAnnotation = "lifecycle.apps.kruise.io/timestamp"
)

// State is how far a pod is with the hooks of its set, as its label [StateLabel] says (L1). Pods of sets without hooks have no
// label, and the state "".
type State string

// The states. [Hooks.Next] says how one leads to another.
const (
	// PreparingNormal: the pod is new, and PreNormal's handlers are still missing.
	PreparingNormal State = "PreparingNormal"
	// Normal: nothing is waited for.
	Normal State = "Normal"
	// PreparingUpdate: the pod is to be updated in place as soon as InPlaceUpdate's handlers are off it.
	PreparingUpdate State = "PreparingUpdate"
	// Updating: the in-place update has begun, and is not complete.
	Updating State = "Updating"
	// Updated: the in-place update is complete, and InPlaceUpdate's handlers are not all back.
	Updated State = "Updated"
	// PreparingDelete: the pod is to be deleted as soon as PreDelete's handlers are off it.
	PreparingDelete State = "PreparingDelete"
)

// StateOf returns the state that pod is labelled with, "" if there is none or pod is nil. Values that this package does
// not know are returned as they are.
func StateOf(pod *corev1.Pod) State {
	if pod == nil {
		return ""
	}
	return State(pod.Labels[StateLabel])
}

// Intent is what a rollout wants with a pod now.
type Intent uint8

// The intents.
const (
	// Keep: the pod goes on as it is. What was being prepared is taken back, and what has been begun is finished. Only the
	// caller knows whether a pod in state PreparingDelete is wanted again (L2).
	Keep Intent = iota
	// Delete: the pod is to be deleted.
	Delete
	// Update: the pod is to be updated in place; its spec patch is due.
	Update

	intents
)

// String returns "Keep", "Delete" or "Update"; for other values "Intent(n)".
func (i Intent) String() string {
	names := [intents]string{"Keep", "Delete", "Update"}
	if i >= intents {
		return fmt.Sprintf("Intent(%d)", uint8(i))
	}
	return names[i]
}

// HookWait is what a pod waits for.
type HookWait uint8

// What there is to wait for.
const (
	// NotWaiting: nothing.
	NotWaiting HookWait = iota
	// WaitPreDelete: all handlers of PreDelete have to come off the pod.
	WaitPreDelete
	// WaitInPlaceUpdate: all handlers of InPlaceUpdate have to come off the pod.
	WaitInPlaceUpdate
	// WaitCompletion: the in-place update under way has to be complete (I5). No hook is waited for.
	WaitCompletion
	// WaitUpdated: all handlers of InPlaceUpdate have to be put back on the pod.
	WaitUpdated
	// WaitPreNormal: all handlers of PreNormal have to be put on the pod.
	WaitPreNormal

	waits
)

// String returns what is waited for in a few words, such as "preDelete"; for other values "HookWait(n)".
func (w HookWait) String() string {
	names := [waits]string{
		"nothing", "preDelete", "inPlaceUpdate", "completion of the in-place update", "inPlaceUpdate to be put back",
		"preNormal",
	}
	if w >= waits {
		return fmt.Sprintf("HookWait(%d)", uint8(w))
	}
	return names[w]
}
