package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/tolerations"
)

// Pin returns a copy of the affinity whose required node affinity has a single term, matchFields
// metadata.name In [node]; preferred terms and pod affinities stay (P6). What the template required before
// is dropped, because the node was evaluated already. A nil affinity gives one with nothing but the pin.
// The input is not changed and shares no memory with the result.
func Pin(affinity *corev1.Affinity, node string) *corev1.Affinity {
	pinned := affinity.DeepCopy()
	if pinned == nil {
		pinned = &corev1.Affinity{}
	}
	if pinned.NodeAffinity == nil {
		pinned.NodeAffinity = &corev1.NodeAffinity{}
	}
	pinned.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key:      metav1.ObjectNameField,
				Operator: corev1.NodeSelectorOpIn,
				Values:   []string{node},
			}},
		}},
	}
	return pinned
}

// Pod returns the pod that the template gives on the node, as far as placement goes: labels, annotations
// and finalizers of the template, its spec with the tolerations of P1, pinned to the node (P6). Labels and
// annotations are never nil. It has no name, namespace, owner or revision label yet. The pod shares no
// memory with the template. A nil template stands for an empty one.
func Pod(template *corev1.PodTemplateSpec, node string) *corev1.Pod {
	if template == nil {
		template = &corev1.PodTemplateSpec{}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      cloned(template.Labels),
			Annotations: cloned(template.Annotations),
			Finalizers:  slices.Clone(template.Finalizers),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	pod.Spec.Tolerations = tolerations.ForDaemon(&template.Spec)
	pod.Spec.Affinity = Pin(template.Spec.Affinity, node)
	return pod
}

// TargetNode returns the node a pod is on or will be on (P7): spec.nodeName, else the value of the first
// matchField metadata.name In of its required node affinity. That field must have exactly one value; if it
// has none or several, later fields are not consulted, as in the Kubernetes controller. An empty name
// attributes a pod to nothing. A nil pod has no node. It does not allocate.
func TargetNode(pod *corev1.Pod) (string, bool) {
	if pod == nil {
		return "", false
	}
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName, true
	}
	required := requiredTerms(pod.Spec.Affinity)
	if required == nil {
		return "", false
	}
	for i := range required.NodeSelectorTerms {
		fields := required.NodeSelectorTerms[i].MatchFields
		for j := range fields {
			if fields[j].Key == metav1.ObjectNameField && fields[j].Operator == corev1.NodeSelectorOpIn {
				return only(fields[j].Values)
			}
		}
	}
	return "", false
}

func only(values []string) (string, bool) {
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}

func cloned(source map[string]string) map[string]string {
	target := make(map[string]string, len(source))
	maps.Copy(target, source)
	return target
}
