package rollout

import (
	"strings"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// checkCreates is V3, and what V2, V6 and V14 say of one create.
func (v *verifier) checkCreates() {
	seen := make(map[string]bool)
	revisions := v.revisionsOfCreates()
	for i := range v.plan.Creates {
		create := &v.plan.Creates[i]
		node := v.nodeOf[create.Node]
		if create.Revision == "" || create.Revision != v.plan.Status.UpdateRevision {
			v.report(3, create.Node, "T1: create at revision %q, right is the update revision %q",
				create.Revision, v.plan.Status.UpdateRevision)
		}
		if create.Revision == v.plan.Status.UpdateRevision && !revisions[create.Revision] {
			v.report(3, create.Node, "R3: create at revision %q, which neither exists nor is created by this plan nor requested",
				create.Revision)
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

// revisionsOfCreates are the hashes of the revisions there are once the plan's own revisions are created (R3).
func (v *verifier) revisionsOfCreates() map[string]bool {
	hashes := make(map[string]bool)
	for _, revision := range v.snapshot.Revisions {
		hashes[history.HashOf(revision)] = true
	}
	for i := range v.plan.Revisions {
		if action := &v.plan.Revisions[i]; action.Verb == CreateRevision && action.Object != nil {
			hashes[history.HashOf(action.Object)] = true
		}
	}
	for _, name := range v.snapshot.InFlight.Revisions {
		if hash, ok := strings.CutPrefix(name, v.spec.Name+"-"); ok {
			hashes[hash] = true
		}
	}
	return hashes
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
	left := 0
	for _, pod := range node.pods {
		if pod.stays() {
			left++
		}
	}
	if left > 1 && v.surges() {
		v.report(3, node.name, "M3: create beside %d live pods, right is beside one, when the others are deleted", left)
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
