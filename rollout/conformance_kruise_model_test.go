package rollout_test

import (
	"encoding/json"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/placement"
)

const (
	stateLabel   = "lifecycle.apps.kruise.io/state"
	stateLeaving = "PreparingDelete"
	inPlaceIfCan = "InPlaceIfPossible"
)

func leaving(p *corev1.Pod) bool { return p != nil && p.Labels[stateLabel] == stateLeaving }

// leaves tells whether a pod goes because it was on its way out.
func (m *model) leaves(_ *nodeSituation, p *corev1.Pod) bool { return leaving(p) }

// availableInStatus is more than available for the budget: OpenKruise looks at the in-place condition too.
func (m *model) availableInStatus(p *corev1.Pod) bool {
	c := condition(p, "InPlaceUpdateReady")
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
		return deleted.of(p.Name)
	case leaving(p):
		return nil
	default:
		return preparingDelete.of(p.Name)
	}
}

// updateOf is what happens to a pod that is to be updated.
func (m *model) updateOf(p *corev1.Pod) []string {
	if m.takesInPlace(p) {
		return updatedInPlace.of(p.Name)
	}
	return m.removal(p)
}

// takesInPlace tells whether the update can be made in place: the pod has the readiness gate, its revision is known,
// and nothing but images, labels and annotations differs.
func (m *model) takesInPlace(p *corev1.Pod) bool {
	if m.surge || m.recorded.set.rolling().RollingUpdateType != inPlaceIfCan || !hasGate(p) {
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

// partition is how many nodes are not to be updated.
func (m *model) partition() int {
	of := m.recorded.set.Status.DesiredNumberScheduled
	if m.on(partitionOfDesired) {
		of = m.desired
	}
	return scaledTo(m.recorded.set.rolling().Partition, of, 0, false)
}

// scaling is how many nodes may get a pod that lack one, if the partition has a say in it.
func (m *model) scaling() (limit int, ordered bool) {
	partition := m.partition()
	if partition == 0 {
		return 0, false
	}
	set := m.recorded.set
	if set.Spec.ScaleStrategy == nil || !set.Spec.ScaleStrategy.PartitionedScaling {
		return math.MaxInt, true
	}
	fresh := 0
	for _, v := range m.views(phaseOutcome{}) {
		if !v.vanished && len(v.news) == 1 && len(v.olds) <= 1 {
			fresh++
		}
	}
	desired := int(m.desired)
	return max(0, desired-fresh-max(0, min(partition, desired))), true
}

// begins names the nodes that the update phase looks at: OpenKruise first takes those that are updated or about to be,
// then those selected, all by descending name, and cuts off as many as the partition says.
func (m *model) begins(views []nodeView) map[string]bool {
	selector := labels.Everything()
	if s := m.recorded.set.rolling().Selector; s != nil {
		selector, _ = metav1.LabelSelectorAsSelector(s)
	}
	var updated, updating, rest []string
	all := 0
	for _, v := range slices.Backward(views) {
		if v.vanished && m.peer == kruise || v.empty && v.outcome != placement.Run {
			continue
		}
		all++
		switch {
		case len(v.news) > 0 || len(v.olds) > 1:
			updated = append(updated, v.name)
		case len(v.olds) == 0 || leaving(v.olds[0]):
			updating = append(updating, v.name)
		case selector.Matches(labels.Set(v.object.Labels)):
			rest = append(rest, v.name)
		}
	}
	names := slices.Concat(updated, updating, rest)
	names = names[:max(0, min(all-m.partition(), len(names)))]
	begun := make(map[string]bool)
	for _, name := range names {
		begun[name] = true
	}
	return begun
}
