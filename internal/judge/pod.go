package judge

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

const (
	preparingDelete = lifecycle.PreparingDelete
	preparingUpdate = lifecycle.PreparingUpdate
	hashLabel       = appsv1.DefaultDaemonSetUniqueLabelKey
)

func hashOf(p *corev1.Pod) string { return p.Labels[hashLabel] }

func state(p *corev1.Pod) lifecycle.State { return lifecycle.State(p.Labels[lifecycle.StateLabel]) }

// live: not marked for deletion; one that has Failed is live.
func live(p *corev1.Pod) bool { return p.DeletionTimestamp == nil }

// ended: it runs no more.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// is reports whether the condition is there and has the status.
func is(p *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	c := condition(p, kind)
	return c != nil && c.Status == status
}

// ready as B5 has it: the condition Ready, and the one of in-place updates not in the way.
func ready(p *corev1.Pod) bool {
	if c := condition(p, lifecycle.InPlaceUpdateReady); c != nil && c.Status != corev1.ConditionTrue {
		return false
	}
	return !ended(p) && p.Spec.NodeName != "" && is(p, corev1.PodReady, corev1.ConditionTrue)
}

// available as B5 has it.
func available(p *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	if !ready(p) {
		return false
	}
	since := condition(p, corev1.PodReady).LastTransitionTime.Time
	return minReadySeconds == 0 || !since.Add(time.Duration(minReadySeconds)*time.Second).After(now)
}

// target is the node that the pod is bound to, else pinned to (P6, P7); empty: none.
func target(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	affinity := p.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == "metadata.name" && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// matches reports whether any one handler of the hook is on the pod (L1, L2).
func matches(p *corev1.Pod, hook *lifecycle.Hook) bool {
	if hook == nil {
		return false
	}
	for key, value := range hook.Labels {
		if has, ok := p.Labels[key]; ok && has == value {
			return true
		}
	}
	return slices.ContainsFunc(hook.Finalizers, func(f string) bool { return slices.Contains(p.Finalizers, f) })
}

// ofPredecessor reports whether the pod is one of the set that came before: such a pod is outdated whatever it carries.
func ofPredecessor(p *corev1.Pod, spec *rollout.Spec) bool {
	if spec.Predecessor == nil {
		return false
	}
	for i := range p.OwnerReferences {
		owner := &p.OwnerReferences[i]
		if owner.Controller != nil && *owner.Controller {
			return slices.Contains(spec.Predecessor.UIDs, owner.UID)
		}
	}
	return !selects(spec.Selector, p.Labels)
}

// inPlace reports whether a patch changed what the pod runs, or brought it to another revision, and did not merely relabel
// it (R3).
func inPlace(before, after *corev1.Pod) bool {
	return before.Annotations[inplace.StateKey] != after.Annotations[inplace.StateKey] && hashOf(before) != hashOf(after) ||
		!sameContainers(before, after)
}

// prepares reports whether a patch takes the pod out of service to delete it or to update it in place.
func prepares(before, after *corev1.Pod) bool {
	if s := state(after); s != state(before) && (s == preparingDelete || s == preparingUpdate) {
		return true
	}
	const gate = lifecycle.InPlaceUpdateReady
	return is(after, gate, corev1.ConditionFalse) && !is(before, gate, corev1.ConditionFalse)
}

// troubled reports whether a container waits for anything but its creation, or has restarted.
func troubled(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.RestartCount > 0 || s.State.Waiting != nil && s.State.Waiting.Reason != "ContainerCreating"
	})
}

// normal reports whether no hook and no update in place has to do with the pod now.
func normal(p *corev1.Pod) bool { return state(p) == "" || state(p) == lifecycle.Normal }

// marks reports whether a patch makes a pod that is on its way out unready for its hook (L4).
func marks(before, after *corev1.Pod) bool {
	const mark = lifecycle.PodReady
	return (state(after) == preparingDelete || state(after) == preparingUpdate) &&
		is(after, mark, corev1.ConditionFalse) && !is(before, mark, corev1.ConditionFalse)
}
