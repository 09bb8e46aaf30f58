package lifecycle

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Hook marks pods that somebody else has to let go first (L1). A pod matches a handler if it carries the label with
// that value, or the finalizer. A nil Hook, and one without handlers, hooks no pod.
type Hook struct {
	// Labels are the label handlers: key and the value that hooks.
	Labels map[string]string
	// Finalizers are the finalizer handlers.
	Finalizers []string
	// MarkPodNotReady makes the pod not ready while the hook is waited for, and until the pod is Normal again (L4).
	MarkPodNotReady bool
}

// Hooks are the hooks of a set. The zero value has none.
type Hooks struct {
	// PreDelete is waited for before a pod is deleted (L2).
	PreDelete *Hook
	// InPlaceUpdate is waited for before and after an in-place update (L3).
	InPlaceUpdate *Hook
	// PreNormal is waited for before a new pod is Normal (L3).
	PreNormal *Hook
}

// PodReady is the readiness gate of pods that hooks may mark as not ready (L4).
const PodReady corev1.PodConditionType = "KruisePodReady"

// Patch is a change of a pod, ready for a client's Patch call. It carries the UID of the pod, so that it never hits a
// namesake.
type Patch struct {
	// Type of the patch.
	Type types.PatchType
	// Subresource to patch: "" is the pod itself, else "status" or "resize".
	Subresource string
	// Data is the patch.
	Data []byte
}
