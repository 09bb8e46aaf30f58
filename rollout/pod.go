package rollout

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

func (p *Planner) pod(create Create) (*corev1.Pod, error) {
	if create.Node == "" {
		return nil, fmt.Errorf("create: node must not be empty")
	}
	if create.Revision == "" {
		return nil, fmt.Errorf("create: revision must not be empty: take it from a plan")
	}
	template := &p.spec.Template
	if create.Template != nil {
		template = create.Template
	}
	pod := placement.Pod(template, create.Node)
	placement.Overridden{Resources: create.Resources}.Apply(pod)
	pod.GenerateName = p.spec.Name + "-"
	pod.Namespace = p.spec.Namespace
	pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = create.Revision
	if create.Canary {
		pod.Labels[CanaryLabel] = "true"
	}
	if p.spec.TemplateGeneration != nil && create.Template == nil {
		pod.Labels[TemplateGenerationLabel] = strconv.FormatInt(*p.spec.TemplateGeneration, 10)
	}
	if p.spec.Strategy.Method != inplace.Recreate {
		addGate(pod, lifecycle.InPlaceUpdateReady)
	}
	for _, gate := range p.spec.Lifecycle.Gates() {
		addGate(pod, gate)
	}
	if state := p.spec.Lifecycle.InitialState(); state != "" {
		pod.Labels[lifecycle.StateLabel] = string(state)
	}
	if p.spec.UID != "" {
		pod.OwnerReferences = []metav1.OwnerReference{controllerRef(p.spec)}
	}
	return pod, nil
}

// controllerRef returns the owner reference that makes the set the controller of an object.
func controllerRef(spec Spec) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: spec.APIVersion, Kind: spec.Kind, Name: spec.Name, UID: spec.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

// addGate adds a readiness gate that in-place updates (I3) or hooks (L4) need, unless the template has it already.
func addGate(pod *corev1.Pod, condition corev1.PodConditionType) {
	if !slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: condition}) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: condition})
	}
}
