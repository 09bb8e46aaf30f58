package rollout

import (
	"cmp"
	"maps"
	"slices"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/status"
)

// verifiedOwner is what a Decision is about: a node of the snapshot, or a stray pod.
type verifiedOwner struct{ node, pod string }

// ownerOf tells which Decision belongs to an action with this node and pod; node is nil if the snapshot has none of the name.
func ownerOf(node *verifiedNode, name, pod string) verifiedOwner {
	if node != nil {
		return verifiedOwner{node: name}
	}
	return verifiedOwner{node: name, pod: pod}
}

// verifiedTally counts what belongs to one owner.
type verifiedTally struct {
	have, least, most int             // Decisions: those there are, and how many there must be
	claimed, planned  verifiedActions // by its Decisions, and in the plan
}

// tallyOf is the tally of an owner, which is the node if there is one.
func (v *verifier) tallyOf(node *verifiedNode, owner verifiedOwner) *verifiedTally {
	if node != nil {
		return &node.tally
	}
	if v.others[owner] == nil {
		v.others[owner] = &verifiedTally{}
	}
	return v.others[owner]
}

// eachTally hands all tallies to f.
func (v *verifier) eachTally(f func(verifiedOwner, *verifiedTally)) {
	for _, node := range v.nodes {
		f(verifiedOwner{node: node.name}, &node.tally)
	}
	for owner, tally := range v.others {
		f(owner, tally)
	}
}

func compareOwners(a, b verifiedOwner) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.pod, b.pod))
}

func (o verifiedOwner) String() string {
	if o.pod == "" {
		return "the node"
	}
	return "stray pod " + o.pod
}

// checkDecisions is the first half of V12: a Decision for each node and each stray pod, in order,
// well-formed.
func (v *verifier) checkDecisions() {
	inStrays := false
	var last verifiedOwner
	for i := range v.plan.Decisions {
		d, node := &v.plan.Decisions[i], v.decided(i)
		owner, isStray := ownerOf(node, d.Node, d.Pod), node == nil
		tally := v.tallyOf(node, owner)
		tally.have++
		tally.claimed.add(verifiedActions{int(d.Creates), int(d.Deletes), int(d.Patches), int(d.Pulls)})
		if (inStrays && !isStray) || (inStrays == isStray && compareOwners(last, owner) > 0) {
			v.report(12, d.Node, "decision %d comes after one about node %q, pod %q; right are nodes by name, then stray "+
				"pods by node and name", i, last.node, last.pod)
		}
		inStrays, last = isStray, owner
		v.checkCodes(d, isStray)
		v.checkDiff(d, node)
		v.checkFacts(d, node)
		v.checkReading(d, node)
	}
	v.checkOwners()
}

// checkOwners compares the number of Decisions with what there is in the snapshot. A stray pod that M1
// ignores may have one or none.
func (v *verifier) checkOwners() {
	for _, node := range v.nodes {
		node.tally.least++
		node.tally.most++
	}
	for _, pod := range v.strays {
		tally := v.tallyOf(nil, verifiedOwner{node: pod.name, pod: pod.object.Name})
		tally.most++
		if !pod.ignored() {
			tally.least++
		}
	}
	v.eachTally(func(owner verifiedOwner, t *verifiedTally) {
		if t.have < t.least || t.have > t.most {
			v.report(12, owner.node, "%d decisions about %s, right are %d", t.have, owner, t.most)
		}
	})
}

// checkCodes holds every code of a Decision to the declared ones, and its verb and state to what they claim.
func (v *verifier) checkCodes(d *Decision, isStray bool) {
	if d.Reason == ReasonNone || d.Reason >= reasons {
		v.report(12, d.Node, "decision without a known reason (code %d)", uint8(d.Reason))
	}
	if d.State >= states || d.Target >= targets || d.Verb >= verbs || d.Limit >= limits {
		v.report(12, d.Node, "decision with an unknown code: state %d, target %d, verb %d, limit %d",
			uint8(d.State), uint8(d.Target), uint8(d.Verb), uint8(d.Limit))
	}
	stray := StateVanished
	if d.Node == "" {
		stray = StateUnattributed
	}
	if isStray && d.State != stray || !isStray && (d.State == StateVanished || d.State == StateUnattributed) {
		v.report(12, d.Node, "decision with state %s, which such an owner cannot have", d.State)
	}
	var claimed bool
	switch d.Verb {
	case VerbNone, VerbWait, VerbHold:
		claimed = d.Creates == 0 && d.Deletes == 0 && d.Patches == 0
	case VerbPatch, VerbPrepare, VerbUpdate:
		claimed = d.Patches > 0
	case VerbDelete, VerbReplace:
		claimed = d.Deletes > 0
	case VerbCreate, VerbSurge:
		claimed = d.Creates > 0
	default:
		claimed = true // an unknown one claims nothing, and is reported above
	}
	if !claimed {
		v.report(12, d.Node, "verb %s with %d creates, %d deletes and %d patches", d.Verb, d.Creates, d.Deletes, d.Patches)
	}
}

// checkDiff is about what a Decision says keeps a pod from being updated in place (I1): it names a change of the plan, to
// the update revision; and who recreates instead, or holds, must say why.
func (v *verifier) checkDiff(d *Decision, node *verifiedNode) {
	if d.Diff < 0 || int(d.Diff) > len(v.plan.Diffs) {
		v.report(12, d.Node, "I2: decision with diff %d, but the plan has %d", d.Diff, len(v.plan.Diffs))
		return
	}
	if d.Diff > 0 && node != nil {
		if diff := &v.plan.Diffs[d.Diff-1]; diff.To != v.goalHash(node) || diff.Update.InPlace() {
			v.report(12, d.Node, "I2: decision with a diff to revision %q that can be made in place (%t), right is one to %q "+
				"that cannot", diff.To, diff.Update.InPlace(), v.goalHash(node))
		}
	}
	replaces := d.Verb == VerbReplace && d.Reason != ReasonOutdatedFailed || d.Reason == ReasonHeld && d.Limit == LimitInPlaceOnly
	if replaces && v.spec.Strategy.Method != inplace.Recreate && !d.obstructed() {
		v.report(12, d.Node, "I1: decision %s %s with method %s does not say what keeps the pod from being updated in place",
			d.Verb, d.Reason, v.spec.Strategy.Method)
	}
}

// checkFacts compares facts and placement of a Decision with the snapshot (S1, P2, P3).
func (v *verifier) checkFacts(d *Decision, node *verifiedNode) {
	if node == nil {
		if d.Facts != 0 {
			v.report(12, d.Node, "S1: facts %s about stray pod %s, right are none: it counts on no node", d.Facts, d.Pod)
		}
		return
	}
	if d.Facts != node.facts {
		v.report(12, d.Node, "S1: facts are %s, right are %s", d.Facts, node.facts)
	}
	if d.Placement.Outcome != node.outcome {
		v.report(12, d.Node, "P2, P3: placement is %s, right is %s", d.Placement.Outcome, node.outcome)
	}
}

// facts of a node before the plan. A requested pod is no pod object yet, but a pod requested to be deleted
// is marked.
func (v *verifier) facts(node *verifiedNode) status.Facts {
	var facts status.Facts
	set := func(condition bool, fact status.Facts) {
		if condition {
			facts |= fact
		}
	}
	set(node.outcome == placement.Run, status.Desired)
	set(len(node.pods) > 0, status.Present)
	set(node.any(func(p *verifiedPod) bool { return p.active() && p.ready }), status.Ready)
	set(node.any(func(p *verifiedPod) bool { return p.active() && p.avail }), status.Available)
	set(node.any(func(p *verifiedPod) bool { return p.live() && p.updated }), status.Updated)
	return facts
}

// verifiedActions counts actions of each kind.
type verifiedActions struct{ creates, deletes, patches, pulls int }

func (a *verifiedActions) add(n verifiedActions) {
	a.creates, a.deletes, a.patches, a.pulls = a.creates+n.creates, a.deletes+n.deletes, a.patches+n.patches, a.pulls+n.pulls
}

// checkActions is the second half of V12: each action belongs to exactly one Decision, and says why it is
// done.
func (v *verifier) checkActions() {
	planned := func(name, pod string, n verifiedActions) {
		node := v.nodeOf[name]
		v.tallyOf(node, ownerOf(node, name, pod)).planned.add(n)
	}
	explained := func(node, pod string, reason Reason) {
		if reason == ReasonNone || reason >= reasons {
			v.report(12, node, "action on pod %q without a known reason (code %d)", pod, uint8(reason))
		}
	}
	for _, c := range v.plan.Creates {
		explained(c.Node, "", c.Reason)
		planned(c.Node, "", verifiedActions{creates: 1})
	}
	for _, d := range v.plan.Deletes {
		explained(d.Node, d.Pod, d.Reason)
		planned(d.Node, d.Pod, verifiedActions{deletes: 1})
	}
	for _, p := range v.plan.Patches {
		explained(p.Node, p.Pod, p.Reason)
		planned(p.Node, p.Pod, verifiedActions{patches: 1})
	}
	for _, p := range v.plan.Pulls {
		planned(p.Node, "", verifiedActions{pulls: 1})
	}
	v.eachTally(func(owner verifiedOwner, t *verifiedTally) {
		if p, d := t.planned, t.claimed; p != d {
			v.report(12, owner.node, "the decision about %s counts %d creates, %d deletes, %d patches and %d pulls, "+
				"the plan holds %d, %d, %d and %d", owner,
				d.creates, d.deletes, d.patches, d.pulls, p.creates, p.deletes, p.patches, p.pulls)
		}
	})
}

func sortedKeys(set map[string]bool) []string {
	return slices.Sorted(maps.Keys(set))
}
