package rollout

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

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
	pod.GenerateName = generateName(p.spec.Name)
	pod.Namespace = p.spec.Namespace
	if pod.Labels == nil {
		pod.Labels = make(map[string]string)
	}
	pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = create.Revision
	if p.spec.TemplateGeneration != nil {
		pod.Labels[templateGenerationLabel] = strconv.FormatInt(*p.spec.TemplateGeneration, 10)
	}
	if p.spec.UID != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: p.spec.APIVersion, Kind: p.spec.Kind, Name: p.spec.Name, UID: p.spec.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	}
	return pod, nil
}

// generateName is "<set>-"; without the dash where the API server would refuse that as the beginning of a name.
func generateName(set string) string {
	// The API server appends five characters, and judges the prefix without its last one.
	if prefix := set + "-"; len(validation.IsDNS1123Subdomain(set)) == 0 && len(prefix)+5 <= validation.DNS1123SubdomainMaxLength {
		return prefix
	}
	return set
}
