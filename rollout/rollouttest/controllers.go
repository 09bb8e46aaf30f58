package rollouttest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// The controllers that users run beside the planner: they see to the hooks of the spec in force (L1), take back what
// others have to say about a pod's readiness, and take their finalizers off what is terminating.

// dueHook says when they do something about the pod.
func (c *Cluster) dueHook(p *simulated) happening {
	if c.behavior.Hook < 0 || !c.concernsControllers(p.Pod) {
		return happening{}
	}
	_, kind, _ := c.seenTo(p.Pod)
	if kind == eventKinds {
		return happening{}
	}
	return happening{kind: kind, at: c.after(p.asked, c.delay(p, c.behavior.Hook, defaultHook))}
}

// concernsControllers is a quick test that most pods fail.
func (c *Cluster) concernsControllers(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && len(p.Finalizers) > 0 || lifecycle.StateOf(p) != "" ||
		len(p.Spec.ReadinessGates) > 0 && hasGate(p, lifecycle.PodReady)
}

func (c *Cluster) seeToHooks(p *simulated, kind EventKind) {
	changed, _, handlers := c.seenTo(p.Pod)
	c.replace(p, changed)
	c.recordDetail(kind, p.Pod, strings.Join(handlers, ", "))
}

// seenTo is the pod after its controllers did their part, and which handlers that was about; the kind eventKinds means
// that there is nothing to do.
func (c *Cluster) seenTo(p *corev1.Pod) (changed *corev1.Pod, kind EventKind, handlers []string) {
	hooks := c.spec.Lifecycle
	changed = p.DeepCopy()
	note := func(list []lifecycle.Handler) {
		for _, h := range list {
			handlers = append(handlers, h.String())
		}
	}
	off := func(list []lifecycle.Handler) {
		note(list)
		for _, h := range list {
			delete(changed.Labels, h.Label)
			changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == h.Finalizer })
		}
	}
	on := func(list []lifecycle.Handler) {
		note(list)
		for _, h := range list {
			if h.Finalizer != "" {
				changed.Finalizers = append(changed.Finalizers, h.Finalizer)
				continue
			}
			changed.Labels[h.Label] = h.Value // a pod with a state has labels
		}
	}
	kind = PodReleased
	if p.DeletionTimestamp != nil {
		for _, f := range p.Finalizers {
			handlers = append(handlers, "finalizer "+f)
		}
		changed.Finalizers = nil
	} else {
		switch lifecycle.StateOf(p) {
		case lifecycle.PreparingDelete:
			off(hooks.Pending(p, lifecycle.WaitPreDelete))
		case lifecycle.PreparingUpdate:
			off(hooks.Pending(p, lifecycle.WaitInPlaceUpdate))
		case lifecycle.Updated:
			kind = PodHooked
			on(hooks.Pending(p, lifecycle.WaitUpdated))
		case lifecycle.PreparingNormal:
			kind = PodHooked
			on(hooks.Pending(p, lifecycle.WaitPreNormal))
		}
		if len(handlers) == 0 && c.takeBack(changed) {
			kind, handlers = PodReleased, append(handlers, "condition "+string(lifecycle.PodReady))
		}
	}
	if len(handlers) == 0 {
		kind = eventKinds
	}
	return changed, kind, handlers
}

// takeBack takes the messages of others out of the condition KruisePodReady, as whoever wrote them does in the end, and
// all of it if it cannot be read, as somebody has to. It tells whether there was anything.
func (c *Cluster) takeBack(p *corev1.Pod) bool {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == lifecycle.PodReady })
	if i < 0 || !hasGate(p, lifecycle.PodReady) || p.Status.Conditions[i].Status == corev1.ConditionTrue {
		return false
	}
	condition := &p.Status.Conditions[i]
	var messages []map[string]any
	if condition.Message != "" && json.Unmarshal([]byte(condition.Message), &messages) != nil {
		messages = nil
	}
	kept := slices.DeleteFunc(slices.Clone(messages), func(m map[string]any) bool { return m["userAgent"] != "Lifecycle" })
	if len(kept) > 0 && len(kept) == len(messages) {
		return false
	}
	condition.Message = ""
	if len(kept) == 0 {
		setCondition(p, lifecycle.PodReady, corev1.ConditionTrue, c.now)
		return true
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return false
	}
	condition.Message = string(text)
	return true
}

// without is the map without a key.
func without(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
