package rollout_test

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

func onItsWayOut(p *corev1.Pod) bool { return p != nil && p.Labels[stateLabel] == stateLeaving }

// availableInStatus is more than available for the budget: OpenKruise looks at the in-place condition too.
func (m *model) availableInStatus(p *corev1.Pod) bool {
	c := condition(p, lifecycle.InPlaceUpdateReady)
	return m.available(p) && (!hasGate(p) || c == nil || c.Status == corev1.ConditionTrue)
}

// hooked tells whether the preDelete hook holds the pod: any one of its handlers does.
func (m *model) hooked(p *corev1.Pod) bool {
	hook := m.recorded.set.hook()
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

// removal is what happens to a pod that is to go: nothing, if it waits for its hook already.
func (m *model) removal(p *corev1.Pod) []string {
	switch {
	case !m.hooked(p):
		return fateDeleted.of(p.Name)
	case onItsWayOut(p):
		return nil
	default:
		return fatePreparing.of(p.Name)
	}
}

// updateOf is what happens to a pod that is to be updated.
func (m *model) updateOf(p *corev1.Pod) []string {
	if m.takesInPlace(p) {
		return fateInPlace.of(p.Name)
	}
	return m.removal(p)
}

// takesInPlace tells whether the update can be made in place: the pod has the readiness gate, its revision is known,
// and nothing but images, labels and annotations differs.
func (m *model) takesInPlace(p *corev1.Pod) bool {
	if m.surge || m.recorded.set.rolling().RollingUpdateType != inPlaceIfCan || !hasGate(p) {
		return false
	}
	if m.on(idlePodIsRecreated) && (p.Spec.NodeName == "" || lifecycle.Terminal(p)) {
		return false
	}
	revisions := m.recorded.Revisions
	last := len(revisions) - 1
	for _, r := range revisions[:last] {
		if r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] {
			return fixed(r) == fixed(revisions[last])
		}
	}
	return false
}

// begunInPlace tells whether an earlier plan made the pod not ready for an update that it can take.
func (m *model) begunInPlace(p *corev1.Pod) bool {
	c := condition(p, lifecycle.InPlaceUpdateReady)
	return c != nil && c.Status == corev1.ConditionFalse && m.takesInPlace(p)
}

// fixed is what of a revision's template cannot be changed in place.
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

// burst is how many creates and how many deletes a phase may do.
func (m *model) burst() int {
	if m.peer == kubernetes {
		if b := m.recorded.BurstReplicas; b != nil {
			return int(*b)
		}
		return 250
	}
	if m.on(burstOfDesired) {
		return max(1, scaledTo(m.recorded.set.Spec.BurstReplicas, m.desired, 250, false))
	}
	return scaledTo(m.recorded.set.Spec.BurstReplicas, m.recorded.set.Status.DesiredNumberScheduled, 250, false)
}
