package verify

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// checkInput reports what makes any plan meaningless. After it nothing in the snapshot is nil, and names and UIDs tell
// objects apart: they are found by them from now on.
func (v *verifier) checkInput(spec rollout.Spec) {
	before := v.kept.terms
	if v.terms = termsOf(spec, before); v.terms != before {
		*v.kept = kept{terms: v.terms}
	}
	for _, problem := range v.problems {
		v.report(0, "", "%s", problem)
	}
	if v.snapshot.Now.IsZero() {
		v.report(0, "", "snapshot.Now: must be set, there is no other clock")
	}
	if !v.kept.nodes.walk(v.snapshot.Nodes, nameOf) {
		v.checkNodes()
	}
	if !v.kept.pods.walk(v.snapshot.Pods, uidOf) || len(v.problems) == 0 && slices.ContainsFunc(v.kept.pods.changed,
		func(p *podRecord) bool { return v.ofAnother(p.common().object) }) {
		v.checkPods()
	}
	v.checkHistory()
}

func nameOf(node *corev1.Node) string { return node.Name }
func uidOf(pod *corev1.Pod) types.UID { return pod.UID }

func (v *verifier) checkNodes() {
	seen := make(map[string]bool)
	for i, node := range v.snapshot.Nodes {
		switch {
		case node == nil:
			v.report(0, "", "snapshot.Nodes[%d]: must not be nil", i)
		case node.Name == "":
			v.report(0, "", "snapshot.Nodes[%d]: must have a name", i)
		case seen[node.Name]:
			v.report(0, node.Name, "snapshot.Nodes[%d]: there must be one node of this name", i)
		default:
			seen[node.Name] = true
		}
	}
}

func (v *verifier) checkPods() {
	seen := make(map[types.UID]bool)
	for i, pod := range v.snapshot.Pods {
		switch {
		case pod == nil:
			v.report(0, "", "snapshot.Pods[%d]: must not be nil", i)
		case pod.UID == "":
			v.report(0, "", "snapshot.Pods[%d]: pod %q must have a UID", i, pod.Name)
		case seen[pod.UID]:
			v.report(0, "", "snapshot.Pods[%d]: there must be one pod of UID %q", i, pod.UID)
		case len(v.problems) == 0 && v.ofAnother(pod):
			v.report(0, "", "snapshot.Pods[%d]: pod %s/%s is not the set's: rollout.Claim picks those that are", i, pod.Namespace,
				pod.Name)
		default:
			seen[pod.UID] = true
		}
	}
}

// ofAnother reports whether a pod is certainly not the set's: it is in another namespace, another object controls it, or nobody
// does and the selector of the set does not match it. Pods of the predecessor are as good as the set's.
func (v *verifier) ofAnother(pod *corev1.Pod) bool {
	spec := &v.spec
	if cmp.Or(pod.Namespace, metav1.NamespaceDefault) != spec.Namespace {
		return true
	}
	var mine bool
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		mine = spec.UID == "" || controller.UID == spec.UID
	} else {
		mine = selects(spec.Selector)(pod.Labels)
	}
	return !mine && !v.predecessor(pod)
}

func (v *verifier) checkHistory() {
	seen := make(map[string]bool)
	for i, revision := range v.snapshot.Revisions {
		switch {
		case revision == nil:
			v.report(0, "", "snapshot.Revisions[%d]: must not be nil", i)
		case revision.Name == "":
			v.report(0, "", "snapshot.Revisions[%d]: must have a name", i)
		case seen[revision.Name]:
			v.report(0, "", "snapshot.Revisions[%d]: there must be one revision named %q", i, revision.Name)
		default:
			seen[revision.Name] = true
		}
	}
}
