package rollout

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

func (p *Planner) pod(create Create) (*corev1.Pod, error) {
	if create.Node == "" {
		return nil, fmt.Errorf("create: node must not be empty")
	}
	if create.Revision == "" {
		return nil, fmt.Errorf("create: revision must not be empty: take it from a plan")
	}
	pod := placement.Pod(&p.spec.Template, create.Node)
	pod.GenerateName = p.spec.Name + "-"
	pod.Namespace = p.spec.Namespace
	pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = create.Revision
	if p.spec.TemplateGeneration != nil {
		pod.Labels[TemplateGenerationLabel] = strconv.FormatInt(*p.spec.TemplateGeneration, 10)
	}
	if p.spec.UID != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: p.spec.APIVersion, Kind: p.spec.Kind, Name: p.spec.Name, UID: p.spec.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	}
	return pod, nil
}
