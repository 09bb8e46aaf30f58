package rollouttest

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// The controllers that users run beside the planner: they see to the hooks of the spec in force (L1), take back what
// others have to say about a pod's readiness, and take finalizers off what is terminating.

// dueHook says when they do something about the pod.
func (c *Cluster) dueHook(p *simulated) happening {
	if c.behavior.Hook < 0 {
		return happening{}
	}
	kind, handlers := c.asked(p.Pod)
	if len(handlers) == 0 {
		if _, foreign := ownMessages(p.Pod); !foreign {
			return happening{}
		}
	}
	return happening{kind: kind, at: c.after(p.asked, c.delay(p, c.behavior.Hook, defaultHook))}
}

// asked lists the handlers that are to be taken off the pod, or put on it.
func (c *Cluster) asked(p *corev1.Pod) (EventKind, []lifecycle.Handler) {
	hooks := c.spec.Lifecycle
	if p.DeletionTimestamp != nil {
		var handlers []lifecycle.Handler
		for _, f := range p.Finalizers {
			handlers = append(handlers, lifecycle.Handler{Finalizer: f})
		}
		return PodReleased, handlers
	}
	switch lifecycle.StateOf(p) {
	case lifecycle.PreparingDelete:
		return PodReleased, hooks.Pending(p, lifecycle.WaitPreDelete)
	case lifecycle.PreparingUpdate:
		return PodReleased, hooks.Pending(p, lifecycle.WaitInPlaceUpdate)
	case lifecycle.Updated:
		return PodHooked, hooks.Pending(p, lifecycle.WaitUpdated)
	case lifecycle.PreparingNormal:
		return PodHooked, hooks.Pending(p, lifecycle.WaitPreNormal)
	default:
		return PodReleased, nil
	}
}

// seeTo does what the pod asks of its controllers.
func (c *Cluster) seeTo(p *simulated) {
	kind, handlers := c.asked(p.Pod)
	changed := p.DeepCopy()
	var details []string
	for _, h := range handlers {
		details = append(details, h.String())
		switch {
		case kind == PodReleased && h.Finalizer != "":
			changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == h.Finalizer })
		case kind == PodReleased:
			delete(changed.Labels, h.Label)
		case h.Finalizer != "":
			changed.Finalizers = append(changed.Finalizers, h.Finalizer)
		default:
			changed.Labels[h.Label] = h.Value // a pod with a state has labels
		}
	}
	if message, foreign := ownMessages(changed); foreign {
		details = append(details, "condition "+string(lifecycle.PodReady))
		status := corev1.ConditionTrue
		if message != "" {
			status = corev1.ConditionFalse
		}
		setCondition(changed, lifecycle.PodReady, status, c.now)
		changed.Status.Conditions[len(changed.Status.Conditions)-1].Message = message
	}
	c.replace(p, changed)
	c.recordDetail(kind, p.Pod, strings.Join(details, ", "))
}

// ownMessages is the message of the condition KruisePodReady without what others than the hooks have put there; foreign
// tells whether there is any, or anything that cannot be read.
func ownMessages(p *corev1.Pod) (message string, foreign bool) {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == lifecycle.PodReady })
	if i < 0 || p.Status.Conditions[i].Status == corev1.ConditionTrue || !hasGate(p, lifecycle.PodReady) {
		return "", false
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(p.Status.Conditions[i].Message), &list) != nil || len(list) == 0 {
		return "", true
	}
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
