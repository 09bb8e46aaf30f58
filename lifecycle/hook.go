package lifecycle

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Hook marks pods that somebody else has to let go first, or to take up again (L1). A pod matches a handler if it
// carries the label with that very value, or the finalizer; a label with the value "" has to be there too.
//
// A hook without handlers, like a nil one, hooks no pod and is never waited for.
type Hook struct {
	// Labels are the label handlers: key and the value that hooks.
	Labels map[string]string
	// Finalizers are the finalizer handlers. One that is listed twice counts once.
	Finalizers []string
	// MarkPodNotReady makes the pods that have the readiness gate [PodReady] not ready (L4): before a delete as long as
	// PreDelete is waited for, before and during an in-place update until the pod is [Updated] or [Normal], and a new
	// pod until PreNormal is there. A controller that sees to PreNormal must then not wait for the pod to be ready.
	MarkPodNotReady bool
}

// Hooks are the hooks of a set. The zero value has none.
type Hooks struct {
	// PreDelete is waited for before a pod is deleted (L2).
	PreDelete *Hook
	// InPlaceUpdate is waited for before and after an in-place update (L3): its handlers are taken off the pod before
	// it, and put back after it.
	InPlaceUpdate *Hook
	// PreNormal is waited for before a new pod is Normal (L3).
	PreNormal *Hook
}

// PodReady is the readiness gate of pods that hooks may mark as not ready (L4).
const PodReady corev1.PodConditionType = "KruisePodReady"

// Matches reports whether pod is hooked: it matches any one handler of h. A nil pod, a nil hook and a hook without
// handlers match nothing.
func (h *Hook) Matches(pod *corev1.Pod) bool {
	if h == nil || pod == nil {
		return false
	}
	for _, f := range h.Finalizers {
		if slices.Contains(pod.Finalizers, f) {
			return true
		}
	}
	for key, want := range h.Labels {
		if value, there := pod.Labels[key]; there && value == want {
			return true
		}
	}
	return false
}

// MatchesAll reports whether pod matches every handler of h. A nil hook and one without handlers have nothing to wait
// for, so every pod matches all of them. A nil pod matches nothing.
func (h *Hook) MatchesAll(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	if h == nil {
		return true
	}
	for _, f := range h.Finalizers {
		if !slices.Contains(pod.Finalizers, f) {
			return false
		}
	}
	for key, want := range h.Labels {
		if value, there := pod.Labels[key]; !there || value != want {
			return false
		}
	}
	return true
}

// MarksNotReady reports whether any hook may mark pods as not ready.
func (h Hooks) MarksNotReady() bool {
	return h.PreDelete.marks() || h.InPlaceUpdate.marks() || h.PreNormal.marks()
}

// Gates returns the readiness gates that a new pod of the set must have for its hooks to work: [PodReady] if any hook
// marks pods as not ready, else none (nil). The slice is the caller's.
func (h Hooks) Gates() []corev1.PodConditionType {
	if !h.MarksNotReady() {
		return nil
	}
	return []corev1.PodConditionType{PodReady}
}

// InitialState returns the state that a new pod of the set is labelled with: [PreparingNormal] if there is a PreNormal
// hook to wait for, [Normal] if that hook has no handlers, and "" (no label) if there is none.
func (h Hooks) InitialState() State {
	switch {
	case h.PreNormal == nil:
		return ""
	case h.PreNormal.empty():
		return Normal
	default:
		return PreparingNormal
	}
}

// DeepCopy returns hooks that share no memory with h.
func (h Hooks) DeepCopy() Hooks {
	return Hooks{
		PreDelete: h.PreDelete.deepCopy(), InPlaceUpdate: h.InPlaceUpdate.deepCopy(), PreNormal: h.PreNormal.deepCopy(),
	}
}

func (h *Hook) deepCopy() *Hook {
	if h == nil {
		return nil
	}
	return &Hook{
		Labels: maps.Clone(h.Labels), Finalizers: slices.Clone(h.Finalizers), MarkPodNotReady: h.MarkPodNotReady,
	}
}

func (h *Hook) marks() bool { return h != nil && h.MarkPodNotReady }

// empty reports whether there is nothing to wait for.
func (h *Hook) empty() bool { return h == nil || len(h.Labels)+len(h.Finalizers) == 0 }
