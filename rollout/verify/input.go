package verify

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// checkInput reports what makes any plan meaningless. After it nothing in the snapshot is nil, and names and UIDs tell
// objects apart: they are found by them from now on.
func (v *verifier) checkInput() {
	for _, err := range v.spec.Validate(field.NewPath("spec")) {
		v.report(0, "", "%v", err)
	}
	var err error
	if v.template, err = history.Data(&v.spec.Template); err != nil {
		v.report(0, "", "spec.template: %v", err)
	}
	if v.snapshot.Now.IsZero() {
		v.report(0, "", "snapshot.Now: must be set, there is no other clock")
	}
	v.checkNodes()
	v.checkPods()
	v.checkHistory()
}

func (v *verifier) checkNodes() {
	records := make([]node, len(v.snapshot.Nodes))
	v.nodes = make([]*node, 0, len(v.snapshot.Nodes))
	v.nodeOf = make(map[string]*node, len(v.snapshot.Nodes))
	for i, node := range v.snapshot.Nodes {
		switch {
		case node == nil:
			v.report(0, "", "snapshot.Nodes[%d]: must not be nil", i)
		case node.Name == "":
			v.report(0, "", "snapshot.Nodes[%d]: must have a name", i)
		case v.nodeOf[node.Name] != nil:
			v.report(0, node.Name, "snapshot.Nodes[%d]: there must be one node of this name", i)
		default:
			records[i].name, records[i].object = node.Name, node
			v.nodes = append(v.nodes, &records[i])
			v.nodeOf[node.Name] = &records[i]
		}
	}
}

func (v *verifier) checkPods() {
	v.podAt = make(map[types.UID]int, len(v.snapshot.Pods))
	for i, pod := range v.snapshot.Pods {
		switch {
		case pod == nil:
			v.report(0, "", "snapshot.Pods[%d]: must not be nil", i)
		case pod.UID == "":
			v.report(0, "", "snapshot.Pods[%d]: pod %q must have a UID", i, pod.Name)
		case v.podAt[pod.UID] != 0:
			v.report(0, "", "snapshot.Pods[%d]: there must be one pod of UID %q", i, pod.UID)
		default:
			v.podAt[pod.UID] = i + 1
		}
	}
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
