package verify

import (
	"cmp"
	"encoding"
	"maps"
	"slices"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// owner is what a Decision is about: a node of the snapshot, or a stray pod.
type owner struct{ node, pod string }

// ownerOf tells which Decision belongs to an action with this node and pod; node is nil if the snapshot has none of the name.
func ownerOf(node *node, name, pod string) owner {
	if node != nil {
		return owner{node: name}
	}
	return owner{node: name, pod: pod}
}

// tally counts what belongs to one owner.
type tally struct {
	have, least, most int     // Decisions: those there are, and how many there must be
	claimed, planned  actions // by its Decisions, and in the plan
}

// tallyOf is the tally of an owner, which is the node if there is one.
func (v *verifier) tallyOf(node *node, owner owner) *tally {
	if node != nil {
		return &node.tally
	}
	if v.others[owner] == nil {
		v.others[owner] = &tally{}
	}
	return v.others[owner]
}

// eachTally hands all tallies to f.
func (v *verifier) eachTally(f func(owner, *tally)) {
	for _, node := range v.nodes {
		f(owner{node: node.name}, &node.tally)
	}
	for owner, tally := range v.others {
		f(owner, tally)
	}
}

func compareOwners(a, b owner) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.pod, b.pod))
}

func (o owner) String() string {
	if o.pod == "" {
		return "the node"
	}
	return "stray pod " + o.pod
}

// checkDecisions is the first half of V12: a Decision for each node and each stray pod, in order,
// well-formed.
func (v *verifier) checkDecisions() {
	inStrays, inPlace := false, false
	var last owner
	for i, of := range v.statements {
		d, node := of.Decision, of.node
		owner, isStray := ownerOf(node, d.Node, d.Pod), node == nil
		tally := v.tallyOf(node, owner)
		tally.have++
		tally.claimed.add(actions{int(d.Creates), int(d.Deletes), int(d.Patches), int(d.Pulls)})
		wasInPlace := inPlace || i == 0
		inPlace = i < len(v.nodes) && node == v.nodes[i]
		ordered := inPlace && wasInPlace // as the nodes are; their names need not be compared again
		if !ordered && (inStrays && !isStray || inStrays == isStray && compareOwners(last, owner) > 0) {
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
		tally := v.tallyOf(nil, owner{node: pod.name, pod: pod.object.Name})
		tally.most++
		if !pod.ignored() {
			tally.least++
		}
	}
	v.eachTally(func(owner owner, t *tally) {
		if t.have < t.least || t.have > t.most {
			v.report(12, owner.node, "%d decisions about %s, right are %d", t.have, owner, t.most)
		}
	})
}

// checkCodes holds every code of a Decision to the declared ones, and its verb and state to what they claim.
func (v *verifier) checkCodes(d *rollout.Decision, isStray bool) {
	if d.Reason == rollout.ReasonNone || !v.reasons.declares(d.Reason) {
		v.report(12, d.Node, "decision without a known reason (code %d)", uint8(d.Reason))
	}
	if !v.states.declares(d.State) || !v.targets.declares(d.Target) || !v.verbs.declares(d.Verb) ||
		!v.limitCodes.declares(d.Limit) {
		v.report(12, d.Node, "decision with an unknown code: state %d, target %d, verb %d, limit %d",
			uint8(d.State), uint8(d.Target), uint8(d.Verb), uint8(d.Limit))
	}
	stray := rollout.StateVanished
	if d.Node == "" {
		stray = rollout.StateUnattributed
	}
	if isStray && d.State != stray || !isStray && (d.State == rollout.StateVanished || d.State == rollout.StateUnattributed) {
		v.report(12, d.Node, "decision with state %s, which such an owner cannot have", d.State)
	}
	var claimed bool
	switch d.Verb {
	case rollout.VerbNone, rollout.VerbWait, rollout.VerbHold:
		claimed = d.Creates == 0 && d.Deletes == 0 && d.Patches == 0
	case rollout.VerbPatch, rollout.VerbPrepare, rollout.VerbUpdate:
		claimed = d.Patches > 0
	case rollout.VerbDelete, rollout.VerbReplace:
		claimed = d.Deletes > 0
	case rollout.VerbCreate, rollout.VerbSurge:
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
func (v *verifier) checkDiff(d *rollout.Decision, node *node) {
	if diff := d.Diff; diff != nil && node != nil {
		if diff.To != v.goalHash(node) || diff.Update.InPlace() {
			v.report(12, d.Node, "I2: decision with a diff to revision %q that can be made in place (%t), right is one to %q "+
				"that cannot", diff.To, diff.Update.InPlace(), v.goalHash(node))
		}
	}
	replaced := d.Verb == rollout.VerbReplace && d.Reason != rollout.ReasonOutdatedFailed
	held := d.Reason == rollout.ReasonHeld && d.Limit == rollout.LimitInPlaceOnly
	if (replaced || held) && v.spec.Strategy.Method != inplace.Recreate && d.Obstruction == 0 && d.Diff == nil {
		v.report(12, d.Node, "I1: decision %s %s with method %s does not say what keeps the pod from being updated in place",
			d.Verb, d.Reason, v.spec.Strategy.Method)
	}
}

// checkFacts compares facts and placement of a Decision with the snapshot (S1, P2, P3).
func (v *verifier) checkFacts(d *rollout.Decision, node *node) {
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
func (v *verifier) facts(node *node) status.Facts {
	var facts status.Facts
	set := func(condition bool, fact status.Facts) {
		if condition {
			facts |= fact
		}
	}
	set(node.outcome == placement.Run, status.Desired)
	set(len(node.pods) > 0, status.Present)
	set(node.any(func(p *pod) bool { return p.active() && p.ready }), status.Ready)
	set(node.any(func(p *pod) bool { return p.active() && p.avail }), status.Available)
	set(node.any(func(p *pod) bool { return p.live() && p.updated }), status.Updated)
	return facts
}

// actions counts actions of each kind.
type actions struct{ creates, deletes, patches, pulls int }

func (a *actions) add(n actions) {
	a.creates, a.deletes, a.patches, a.pulls = a.creates+n.creates, a.deletes+n.deletes, a.patches+n.patches, a.pulls+n.pulls
}

// checkActions is the second half of V12: each action belongs to exactly one Decision, and says why it is
// done.
func (v *verifier) checkActions() {
	planned := func(name, pod string, n actions) {
		node := v.nodeOf(name)
		v.tallyOf(node, ownerOf(node, name, pod)).planned.add(n)
	}
	explained := func(node, pod string, reason rollout.Reason) {
		if reason == rollout.ReasonNone || !v.reasons.declares(reason) {
			v.report(12, node, "action on pod %q without a known reason (code %d)", pod, uint8(reason))
		}
	}
	for _, c := range v.plan.Creates {
		explained(c.Node, "", c.Reason)
		planned(c.Node, "", actions{creates: 1})
	}
	for _, d := range v.plan.Deletes {
		explained(d.Node, d.Pod, d.Reason)
		planned(d.Node, d.Pod, actions{deletes: 1})
	}
	for _, p := range v.plan.Patches {
		explained(p.Node, p.Pod, p.Reason)
		planned(p.Node, p.Pod, actions{patches: 1})
	}
	for _, p := range v.plan.Pulls {
		planned(p.Node, "", actions{pulls: 1})
	}
	v.eachTally(func(owner owner, t *tally) {
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

// codes tells which codes an enumeration declares: no other has a text form. It asks for the text of each code once, because
// every Decision has five codes.
type codes[C interface {
	~uint8
	encoding.TextMarshaler
}] struct {
	asked, declared [1 << 8]bool
}

// declares reports whether the code is one of them.
func (c *codes[C]) declares(code C) bool {
	if !c.asked[code] {
		_, err := code.MarshalText()
		c.asked[code], c.declared[code] = true, err == nil
	}
	return c.declared[code]
}

// acts reports whether the verb is one of doing something.
func acts(v rollout.Verb) bool {
	return v != rollout.VerbNone && v != rollout.VerbWait && v != rollout.VerbHold
}
