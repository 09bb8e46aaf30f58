package lifecycle

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Handler is one handler of a hook: a finalizer, or a label with its value.
type Handler struct {
	// Finalizer is the name of the finalizer; empty for a label.
	Finalizer string
	// Label is the key of the label, Value the value it has to have; both are empty for a finalizer.
	Label, Value string
}

// String returns "finalizer NAME" or "label KEY=VALUE".
func (h Handler) String() string {
	if h.Finalizer != "" {
		return "finalizer " + h.Finalizer
	}
	return "label " + h.Label + "=" + h.Value
}

// Pending lists the handlers for which pod waits: with WaitPreDelete and WaitInPlaceUpdate those that are still on it, with
// WaitUpdated and WaitPreNormal those that are missing. Labels come first, then finalizers, each sorted by name and none
// twice. The result is nil if wait is for no hook, for a nil pod, and when the wait is over.
func (h Hooks) Pending(pod *corev1.Pod, wait HookWait) []Handler {
	var hook *Hook
	switch wait {
	case WaitPreDelete:
		hook = h.PreDelete
	case WaitInPlaceUpdate, WaitUpdated:
		hook = h.InPlaceUpdate
	case WaitPreNormal:
		hook = h.PreNormal
	default:
		return nil
	}
	if hook == nil || pod == nil {
		return nil
	}
	there := wait == WaitPreDelete || wait == WaitInPlaceUpdate
	var pending []Handler
	for _, key := range slices.Sorted(maps.Keys(hook.Labels)) {
		if value, found := pod.Labels[key]; (found && value == hook.Labels[key]) == there {
			pending = append(pending, Handler{Label: key, Value: hook.Labels[key]})
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(hook.Finalizers))) {
		if slices.Contains(pod.Finalizers, name) == there {
			pending = append(pending, Handler{Finalizer: name})
		}
	}
	return pending
}
