package kubelet

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// Handlers lists the handlers of hooks that the pod's controllers are to take off the pod (takeOff), or else to put on it (L1).
// These are the handlers that the pod waits for. Of a pod that is marked for deletion they are all its finalizers.
func Handlers(pod *corev1.Pod, hooks lifecycle.Hooks) (handlers []lifecycle.Handler, takeOff bool) {
	if pod.DeletionTimestamp != nil {
		for _, f := range pod.Finalizers {
			handlers = append(handlers, lifecycle.Handler{Finalizer: f})
		}
		return handlers, true
	}
	switch lifecycle.StateOf(pod) {
	case lifecycle.PreparingDelete:
		return hooks.Pending(pod, lifecycle.WaitPreDelete), true
	case lifecycle.PreparingUpdate:
		return hooks.Pending(pod, lifecycle.WaitInPlaceUpdate), true
	case lifecycle.Updated:
		return hooks.Pending(pod, lifecycle.WaitUpdated), false
	case lifecycle.PreparingNormal:
		return hooks.Pending(pod, lifecycle.WaitPreNormal), false
	default:
		return nil, true
	}
}

// Asked reports whether the pod needs something from its controllers: it has handlers to take off or to put on ([Handlers]), or a
// message that is not of the hooks keeps it from being ready ([OwnMessages]).
func Asked(pod *corev1.Pod, hooks lifecycle.Hooks) (asked, takeOff bool) {
	handlers, takeOff := Handlers(pod, hooks)
	if len(handlers) > 0 {
		return true, takeOff
	}
	_, foreign := OwnMessages(pod)
	return foreign, takeOff
}

// SeeTo does what the pod needs from its controllers, and returns in words what it did, empty if nothing.
func SeeTo(pod *corev1.Pod, hooks lifecycle.Hooks, now time.Time) string {
	handlers, takeOff := Handlers(pod, hooks)
	var done []string
	for _, h := range handlers {
		done = append(done, h.String())
		switch {
		case takeOff && h.Finalizer != "":
			pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == h.Finalizer })
		case takeOff:
			delete(pod.Labels, h.Label)
		case h.Finalizer != "":
			pod.Finalizers = append(pod.Finalizers, h.Finalizer)
		default:
			pod.Labels[h.Label] = h.Value // a pod with a lifecycle state has labels
		}
	}
	if message, foreign := OwnMessages(pod); foreign {
		done = append(done, "condition "+string(lifecycle.PodReady))
		status := corev1.ConditionTrue
		if message != "" {
			status = corev1.ConditionFalse
		}
		SetCondition(pod, lifecycle.PodReady, status, now).Message = message
	}
	return strings.Join(done, ", ")
}

// OwnMessages is the message of the condition KruisePodReady (L4) with the messages of the hooks only. Foreign reports whether
// the condition has other messages, or any that cannot be read.
func OwnMessages(pod *corev1.Pod) (message string, foreign bool) {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == lifecycle.PodReady })
	if i < 0 || pod.Status.Conditions[i].Status == corev1.ConditionTrue || !HasGate(pod, lifecycle.PodReady) {
		return "", false
	}
	var list []json.RawMessage
	_ = json.Unmarshal([]byte(pod.Status.Conditions[i].Message), &list) // messages that cannot be read are not of the hooks
	var own []string
	for _, text := range list {
		var m lifecycle.Message
		if json.Unmarshal(text, &m) == nil && m.UserAgent == "Lifecycle" {
			own = append(own, string(text))
		}
	}
	if len(own) == 0 {
		return "", true
	}
	return "[" + strings.Join(own, ",") + "]", len(own) < len(list)
}
