package verify

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/tolerations"
)

// placer decides about a node. The second result tells that a taint makes it Leave (M4).
type placer func(*corev1.Node) (placement.Outcome, bool)

// placerOf decides about nodes as P1 to P4 say, by the Kubernetes helpers instead of the matcher
// that the planner uses. Nil decides about none.
func placerOf(template *corev1.PodTemplateSpec) placer {
	if template == nil {
		return nil
	}
	spec := &template.Spec
	selected, matchesTerm := affinityOf(*spec)
	tolerated := tolerations.ForDaemon(spec)
	return func(node *corev1.Node) (placement.Outcome, bool) {
		if spec.NodeName != "" && spec.NodeName != node.Name {
			return placement.Leave, false
		}
		if matches, _ := selected.Match(node); !matches || !matchesTerm(node) {
			return placement.Leave, false
		}
		outcome := placement.Run
		for _, taint := range node.Spec.Taints {
			if tolerates(tolerated, taint) {
				continue
			}
			switch taint.Effect {
			case corev1.TaintEffectNoExecute:
				return placement.Leave, true
			case corev1.TaintEffectNoSchedule:
				outcome = placement.Keep
			}
		}
		return outcome, false
	}
}

// affinityOf reads the nodeSelector and the required terms of a pod, of which one has to match. Each term is a selector of
// its own, so that only those are asked that can match.
func affinityOf(spec corev1.PodSpec) (selected nodeaffinity.RequiredNodeAffinity, matchesTerm func(*corev1.Node) bool) {
	var required *corev1.NodeSelector
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		required = spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	spec.Affinity = nil
	selected = nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec})
	if required == nil {
		return selected, func(*corev1.Node) bool { return true }
	}
	var terms []*nodeaffinity.LazyErrorNodeSelector
	var wants [][]oneOf
	for i := range required.NodeSelectorTerms {
		one := &corev1.NodeSelector{NodeSelectorTerms: required.NodeSelectorTerms[i : i+1]}
		terms = append(terms, nodeaffinity.NewLazyErrorNodeSelector(one))
		wants = append(wants, wantsOfTerm(&one.NodeSelectorTerms[0]))
	}
	candidates := candidatesOf(wants)
	return selected, func(node *corev1.Node) bool {
		return candidates.any(node, func(i int) bool {
			matches, _ := terms[i].Match(node) // the error tells of an invalid term, which matches no node (P4)
			return matches
		})
	}
}

func tolerates(list []corev1.Toleration, taint corev1.Taint) bool {
	for _, t := range list {
		key := t.Key == "" || t.Key == taint.Key
		effect := t.Effect == "" || t.Effect == taint.Effect
		equal := (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Value == taint.Value
		if key && effect && (equal || t.Operator == corev1.TolerationOpExists) {
			return true
		}
	}
	return false
}

// nodeNameOf is P7: the node a pod is bound to, else pinned to; empty if neither. Of several
// matchFields the first decides, as in the controllers: a pod pinned to two nodes at once is pinned to
// none.
func nodeNameOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key != metav1.ObjectNameField || field.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			if len(field.Values) != 1 {
				return ""
			}
			return field.Values[0]
		}
	}
	return ""
}
