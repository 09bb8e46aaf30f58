package verify

import (
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// checkCreates is V3, and what V2, V5, V6 and V14 say of one create.
func (v *verifier) checkCreates() {
	seen := make(map[string]bool)
	revisions := v.revisionsOfCreates()
	for i := range v.plan.Creates {
		create := &v.plan.Creates[i]
		node := v.nodeOf(create.Node)
		v.checkRevisionOf(create, node)
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
			v.checkResourcesOf(create, node)
			if right := node.canary && create.Revision == v.plan.Status.UpdateRevision; create.Canary != right {
				v.report(12, create.Node, "C1: create with canary %t, right is %t", create.Canary, right)
			}
		}
		seen[create.Node] = true
	}
	v.checkInstalls()
}

// checkRevisionOf holds a create to T1: its revision, and the template that is not the Spec's.
func (v *verifier) checkRevisionOf(create *rollout.Create, node *node) {
	update := v.plan.Status.UpdateRevision
	right, invariant := map[string]bool{update: true}, 3
	if node != nil {
		right = v.rightRevisions(node)
		switch {
		case node.goesStable && v.isUpdate(create.Revision):
			invariant = 6 // T6: the revision on trial, or one that has failed, is kept from it
		case node.closed != rollout.LimitNone:
			invariant = closedInvariant(node.closed)
		case v.spec.Strategy.HoldRevision && node.hold != rollout.LimitNone:
			invariant = heldInvariant(node.hold)
		}
	}
	switch {
	case create.Revision == "" || !right[create.Revision]:
		v.report(invariant, create.Node, "T1: create at revision %q, right is the update revision, on nodes that no trial "+
			"has reached the stable one (T6), or with holdRevision and in parts that are not open the one that was lost: %q",
			create.Revision, sortedKeys(right))
	case create.Revision == update && create.Template != nil:
		v.report(3, create.Node, "T1: create at the update revision with a template, right is none: it is the Spec's")
	case create.Revision == update:
		// As it should be.
	case create.Template == nil || !apiequality.Semantic.DeepEqual(create.Template, v.templateOf(create.Revision)):
		v.report(invariant, create.Node, "T1: create at revision %q with a template that is not that revision's", create.Revision)
	}
}

// revisionsOfCreates are the hashes of the revisions there are once the plan's own revisions are created (R3).
func (v *verifier) revisionsOfCreates() map[string]bool {
	hashes := make(map[string]bool)
	for _, revision := range v.snapshot.Revisions {
		hashes[history.HashOf(revision)] = true
	}
	for i := range v.plan.Revisions {
		if action := &v.plan.Revisions[i]; action.Verb == rollout.CreateRevision && action.Object != nil {
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
func (v *verifier) checkCreate(node *node, revision string) {
	inFlight := func(hash string) bool { return v.isGoal(node, hash) == v.isGoal(node, revision) }
	if slices.ContainsFunc(node.requested, inFlight) || len(node.requested) > 0 && (!v.surges() || !v.isGoal(node, revision)) {
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
	// Pods that leave are followed at once, however many; but none of them and a new one stand beside one that stays (M1).
	outdated := node.any(func(p *pod) bool { return p.outdated() && !p.leaves() })
	if left > 1 && outdated && v.surges() {
		v.report(3, node.name, "M3: create beside %d live pods, right is beside one, when the others are deleted", left)
	}
	if len(node.pods) > 0 && !v.surges() {
		v.report(2, node.name, "M1: create beside pod %s without maxSurge; right is to wait until it is gone",
			node.pods[0].object.Name)
	}
	hold, invariant := v.bar(node)
	if hold == rollout.LimitNone {
		return
	}
	if len(node.requested) > 0 {
		v.report(invariant, node.name, "create beside the requested outdated pod begins a held node (%s)", hold)
	}
	for _, pod := range node.pods {
		if pod.active() && !pod.leaves() {
			v.report(invariant, node.name, "create beside the outdated pod %s begins a held node (%s)",
				pod.object.Name, hold)
			return
		}
	}
}

// checkFrozen is V7. It holds for revisions too: no pod would refer to a new one. Verdicts are written down all the same.
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
	for _, pod := range v.pods {
		if pod.dismissed {
			v.report(7, pod.name, "L2: patch of pod %s begins a deletion, although the set is frozen", pod.object.Name)
		}
	}
	for i := range v.plan.Revisions {
		if action := &v.plan.Revisions[i]; action.Verb != rollout.RenumberRevision && action.Verb != rollout.AnnotateRevision {
			v.report(7, "", "%s of revision %s, although the set is frozen", action.Verb, action.Name)
		}
	}
}
