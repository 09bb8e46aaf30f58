package rollout

import (
	"github.com/daemonplan/daemonplan/placement"
)

// checkCreates is V3, and what V2, V6 and V14 say of one create.
func (v *verifier) checkCreates() {
	seen := make(map[string]bool)
	for i := range v.plan.Creates {
		create := &v.plan.Creates[i]
		node := v.nodeOf[create.Node]
		if create.Revision == "" || create.Revision != v.plan.Status.UpdateRevision {
			v.report(3, create.Node, "T1: create at revision %q, right is the update revision %q",
				create.Revision, v.plan.Status.UpdateRevision)
		}
		switch {
		case node == nil:
			v.report(3, create.Node, "create on a node that is not in the snapshot")
		case node.outcome != placement.Run:
			v.report(3, create.Node, "create on a node that is to %s, right is one that is to run the pod (P2)", node.outcome)
		case seen[create.Node]:
			v.report(3, create.Node, "more than one create")
		default:
			v.checkCreate(node, create.Revision)
		}
		seen[create.Node] = true
	}
}

// checkCreate judges a create by what is on the node. What the plan deletes still counts: a delete is not
// observed before the create is sent.
func (v *verifier) checkCreate(node *verifiedNode, revision string) {
	if v.requestsUpdate(node) || len(node.requested) > 0 && !v.surges() {
		v.report(14, node.name, "create, although one is in flight")
		return
	}
	for _, pod := range node.pods {
		switch {
		case pod.active() && v.sameRevision(pod, revision):
			v.report(3, node.name, "create, although pod %s of that revision is there", pod.object.Name)
			return
		case pod.terminal:
			v.report(3, node.name, "M1: create beside pod %s, which has ended; right is to delete that one and wait",
				pod.object.Name)
			return
		}
	}
	if len(node.pods) > 0 && !v.surges() {
		v.report(2, node.name, "M1: create beside pod %s without maxSurge; right is to wait until it is gone",
			node.pods[0].object.Name)
	}
	if v.held() {
		if len(node.requested) > 0 {
			v.report(6, node.name, "create beside the requested outdated pod begins a held node")
		}
		for _, pod := range node.pods {
			if pod.active() {
				v.report(6, node.name, "create beside the outdated pod %s begins a held node", pod.object.Name)
				return
			}
		}
	}
}

// checkFrozen is V7. It holds for revisions too: no pod would refer to a new one.
func (v *verifier) checkFrozen() {
	if !v.spec.Strategy.Frozen {
		return
	}
	for i := range v.plan.Creates {
		v.report(7, v.plan.Creates[i].Node, "create, although the set is frozen")
	}
	for i := range v.plan.Deletes {
		v.report(7, v.plan.Deletes[i].Node, "delete of pod %s, although the set is frozen", v.plan.Deletes[i].Pod)
	}
	for i := range v.plan.Revisions {
		if action := &v.plan.Revisions[i]; action.Verb != RenumberRevision {
			v.report(7, "", "%s of revision %s, although the set is frozen", action.Verb, action.Name)
		}
	}
}
