package peer

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

const (
	stateLabel   = "lifecycle.apps.kruise.io/state"
	stateLeaving = "PreparingDelete"
	inPlaceIfCan = "InPlaceIfPossible"
)

// OnItsWayOut reports whether a pod is in PreparingDelete.
func OnItsWayOut(p *corev1.Pod) bool { return p != nil && p.Labels[stateLabel] == stateLeaving }

// availableInStatus is more than available for the budget: OpenKruise looks at the in-place condition too.
func (m *Model) availableInStatus(p *corev1.Pod) bool {
	c := condition(p, lifecycle.InPlaceUpdateReady)
	return m.Available(p) && (!hasGate(p) || c == nil || c.Status == corev1.ConditionTrue)
}

// Hooked reports whether the preDelete hook holds the pod: any one of its handlers does.
func (m *Model) Hooked(p *corev1.Pod) bool {
	hook := m.Case.Set.hook()
	if hook == nil {
		return false
	}
	for k, v := range hook.LabelsHandler {
		if p.Labels[k] == v {
			return true
		}
	}
	return slices.ContainsFunc(hook.FinalizersHandler, func(f string) bool { return slices.Contains(p.Finalizers, f) })
}

// removal returns what happens to a pod that is to go: nothing, if it waits for its hook already.
func (m *Model) removal(p *corev1.Pod) []string {
	switch {
	case !m.Hooked(p):
		return Deleted.Of(p.Name)
	case OnItsWayOut(p):
		return nil
	default:
		return Preparing.Of(p.Name)
	}
}

// UpdateOf returns what happens to a pod that is to be updated.
func (m *Model) UpdateOf(p *corev1.Pod) []string {
	if m.takesInPlace(p) {
		return InPlace.Of(p.Name)
	}
	return m.removal(p)
}

// takesInPlace reports whether the update can be made in place: the pod has the readiness gate, its revision is known,
// and nothing but images, labels and annotations differs.
func (m *Model) takesInPlace(p *corev1.Pod) bool {
	if m.Surge || m.Case.Set.Rolling().RollingUpdateType != inPlaceIfCan || !hasGate(p) {
		return false
	}
	if m.on(IdlePodIsRecreated) && (p.Spec.NodeName == "" || lifecycle.Terminal(p)) {
		return false
	}
	revisions := m.Case.Revisions
	last := len(revisions) - 1
	for _, r := range revisions[:last] {
		if r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] {
			return fixed(r) == fixed(revisions[last])
		}
	}
	return false
}

// begunInPlace reports whether an earlier plan made the pod not ready for an update that it can take.
func (m *Model) begunInPlace(p *corev1.Pod) bool {
	c := condition(p, lifecycle.InPlaceUpdateReady)
	return c != nil && c.Status == corev1.ConditionFalse && m.takesInPlace(p)
}

// fixed returns what of a revision's template cannot be changed in place.
func fixed(r *appsv1.ControllerRevision) string {
	var data struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Data.Raw, &data); err != nil {
		return err.Error()
	}
	template := &data.Spec.Template
	template.Labels, template.Annotations = nil, nil
	for i := range template.Spec.Containers {
		template.Spec.Containers[i].Image = ""
	}
	text, err := json.Marshal(template)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Burst returns how many creates and how many deletes a phase may do.
func (m *Model) Burst() int {
	if m.controller == Kubernetes {
		if b := m.Case.BurstReplicas; b != nil {
			return max(0, int(*b))
		}
		return 250
	}
	if m.on(BurstOfDesired) {
		return max(1, scaledTo(m.Case.Set.Spec.BurstReplicas, m.Desired, 250, false))
	}
	return max(0, scaledTo(m.Case.Set.Spec.BurstReplicas, m.Case.Set.Status.DesiredNumberScheduled, 250, false))
}

// hasGate reports whether the pod can be made not ready for an in-place update.
func hasGate(p *corev1.Pod) bool {
	for _, g := range p.Spec.ReadinessGates {
		if g.ConditionType == lifecycle.InPlaceUpdateReady {
			return true
		}
	}
	return false
}
