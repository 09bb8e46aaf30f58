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

// owner tells which Decision an action with this node and pod belongs to.
func (v *verifier) owner(node, pod string) verifiedOwner {
	if v.nodeOf[node] != nil {
		return verifiedOwner{node: node}
	}
	return verifiedOwner{node: node, pod: pod}
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
	have := make(map[verifiedOwner]int)
	inStrays := false
	var last verifiedOwner
	for i := range v.plan.Decisions {
		d := &v.plan.Decisions[i]
		owner := v.owner(d.Node, d.Pod)
		have[owner]++
		isStray := v.nodeOf[d.Node] == nil
		if (inStrays && !isStray) || (inStrays == isStray && compareOwners(last, owner) > 0) {
			v.report(12, d.Node, "decision %d comes after one about node %q, pod %q; right are nodes by name, then stray "+
				"pods by node and name", i, last.node, last.pod)
		}
		inStrays, last = isStray, owner
		v.checkCodes(d)
		v.checkDiff(d)
		v.checkFacts(d)
		v.checkReading(d)
	}
	v.checkOwners(have)
}

// checkOwners compares the number of Decisions with what there is in the snapshot. A stray pod that M1
// ignores may have one or none.
func (v *verifier) checkOwners(have map[verifiedOwner]int) {
	least, most := make(map[verifiedOwner]int), make(map[verifiedOwner]int)
	for _, node := range v.nodes {
		least[verifiedOwner{node: node.name}]++
		most[verifiedOwner{node: node.name}]++
	}
	for _, pod := range v.strays {
		owner := verifiedOwner{node: pod.name, pod: pod.object.Name}
		most[owner]++
		if !pod.ignored() {
			least[owner]++
		}
	}
	all := maps.Clone(most)
	maps.Copy(all, have)
	for owner := range all {
		if n := have[owner]; n < least[owner] || n > most[owner] {
			v.report(12, owner.node, "%d decisions about %s, right are %d", n, owner, most[owner])
		}
	}
}

// checkCodes holds every code of a Decision to the declared ones, and its verb and state to what they claim.
func (v *verifier) checkCodes(d *Decision) {
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
	isStray := v.nodeOf[d.Node] == nil
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
func (v *verifier) checkDiff(d *Decision) {
	if d.Diff < 0 || int(d.Diff) > len(v.plan.Diffs) {
		v.report(12, d.Node, "I2: decision with diff %d, but the plan has %d", d.Diff, len(v.plan.Diffs))
		return
	}
	if node := v.nodeOf[d.Node]; d.Diff > 0 && node != nil {
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
func (v *verifier) checkFacts(d *Decision) {
	node := v.nodeOf[d.Node]
	if node == nil {
		if d.Facts != 0 {
			v.report(12, d.Node, "S1: facts %s about stray pod %s, right are none: it counts on no node", d.Facts, d.Pod)
		}
		return
	}
	if want := v.facts(node); d.Facts != want {
		v.report(12, d.Node, "S1: facts are %s, right are %s", d.Facts, want)
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

// checkActions is the second half of V12: each action belongs to exactly one Decision, and says why it is
// done.
func (v *verifier) checkActions() {
	planned, decided := make(map[verifiedOwner]verifiedActions), make(map[verifiedOwner]verifiedActions)
	add := func(to map[verifiedOwner]verifiedActions, owner verifiedOwner, n verifiedActions) {
		sum := to[owner]
		to[owner] = verifiedActions{
			sum.creates + n.creates, sum.deletes + n.deletes, sum.patches + n.patches, sum.pulls + n.pulls,
		}
	}
	explained := func(node, pod string, reason Reason) {
		if reason == ReasonNone || reason >= reasons {
			v.report(12, node, "action on pod %q without a known reason (code %d)", pod, uint8(reason))
		}
	}
	for _, c := range v.plan.Creates {
		explained(c.Node, "", c.Reason)
		add(planned, v.owner(c.Node, ""), verifiedActions{creates: 1})
	}
	for _, d := range v.plan.Deletes {
		explained(d.Node, d.Pod, d.Reason)
		add(planned, v.owner(d.Node, d.Pod), verifiedActions{deletes: 1})
	}
	for _, p := range v.plan.Patches {
		explained(p.Node, p.Pod, p.Reason)
		add(planned, v.owner(p.Node, p.Pod), verifiedActions{patches: 1})
	}
	for _, p := range v.plan.Pulls {
		add(planned, v.owner(p.Node, ""), verifiedActions{pulls: 1})
	}
	for _, d := range v.plan.Decisions {
		add(decided, v.owner(d.Node, d.Pod), verifiedActions{int(d.Creates), int(d.Deletes), int(d.Patches), int(d.Pulls)})
	}
	all := maps.Clone(planned)
	maps.Copy(all, decided)
	for owner := range all {
		if p, d := planned[owner], decided[owner]; p != d {
			v.report(12, owner.node, "the decision about %s counts %d creates, %d deletes, %d patches and %d pulls, "+
				"the plan holds %d, %d, %d and %d", owner,
				d.creates, d.deletes, d.patches, d.pulls, p.creates, p.deletes, p.patches, p.pulls)
		}
	}
}

func sortedKeys(set map[string]bool) []string {
	return slices.Sorted(maps.Keys(set))
}
