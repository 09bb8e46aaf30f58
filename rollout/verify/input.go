package verify

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// checkInput reports what makes any plan meaningless. After it nothing in the snapshot is nil, and names and UIDs tell
// objects apart: they are found by them from now on.
func (v *verifier) checkInput(spec rollout.Spec) {
	before := v.kept.terms
	if v.terms = termsOf(spec, before); v.terms != before {
		v.kept = kept{terms: v.terms}
	}
	for _, problem := range v.problems {
		v.report(0, "", "%s", problem)
	}
	if v.snapshot.Now.IsZero() {
		v.report(0, "", "snapshot.Now: must be set, there is no other clock")
	}
	v.checkNodes()
	v.checkPods()
	v.checkHistory()
}

func (v *verifier) checkNodes() {
	nodes := &v.kept.nodes
	nodes.begin(len(v.snapshot.Nodes), func(node *corev1.Node) string { return node.Name })
	for i, object := range v.snapshot.Nodes {
		switch {
		case object == nil:
			v.report(0, "", "snapshot.Nodes[%d]: must not be nil", i)
		case nodes.enter(object) != nil:
		case object.Name == "":
			v.report(0, "", "snapshot.Nodes[%d]: must have a name", i)
		default:
			v.report(0, object.Name, "snapshot.Nodes[%d]: there must be one node of this name", i)
		}
	}
	nodes.end()
}

func (v *verifier) checkPods() {
	pods := &v.kept.pods
	pods.begin(len(v.snapshot.Pods), func(pod *corev1.Pod) types.UID { return pod.UID })
	for i, object := range v.snapshot.Pods {
		switch {
		case object == nil:
			v.report(0, "", "snapshot.Pods[%d]: must not be nil", i)
		case pods.enter(object) != nil:
		case object.UID == "":
			v.report(0, "", "snapshot.Pods[%d]: pod %q must have a UID", i, object.Name)
		default:
			v.report(0, "", "snapshot.Pods[%d]: there must be one pod of UID %q", i, object.UID)
		}
	}
	pods.end()
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
