package lifecycle

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Hook names the handlers, labels and finalizers, by which somebody else holds a pod back or takes it up again (L1). A pod
// matches a handler if it carries the label with that very value, or the finalizer. A label with the value "" has to be there
// too.
//
// A hook without handlers, like a nil one, holds no pod and is never waited for.
type Hook struct {
	// Labels are the label handlers: the key, and the value that the pod has to have.
	Labels map[string]string
	// Finalizers are the finalizer handlers. One that is listed twice counts once.
	Finalizers []string
	// MarkPodNotReady makes the pods that have the readiness gate [PodReady] not ready (L4). With PreDelete that lasts as
	// long as the hook is waited for, with InPlaceUpdate from before the update until the pod is [Updated] or [Normal], and
	// with PreNormal until a new pod has all handlers. The controller that sets the handlers of PreNormal must then not wait
	// for the pod to be ready.
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

// Matches reports whether pod matches any one handler of h. It is false for a nil pod, a nil hook and a hook without handlers.
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

// MatchesAll reports whether pod matches every handler of h. With a nil hook and one without handlers it is true for every pod,
// because there is nothing to wait for. It is false for a nil pod.
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

// empty reports whether the hook has no handler, so that there is nothing to wait for.
func (h *Hook) empty() bool { return h == nil || len(h.Labels)+len(h.Finalizers) == 0 }
