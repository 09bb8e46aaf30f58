package rollout

import (
	"cmp"
	"slices"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// What step report says of policies: how domains (B10) and the parts of stages (T8) stand, and which nodes have failed (F rules).

// reportDomains lists how each value of the domains stands, and makes places in that list of the values that nodes wait for.
func (r *run) reportDomains() {
	if r.rules.Domains.Len() == 0 {
		return
	}
	values := r.nodeFacts.Cells.Values()
	var order []int32 // ordinals of the values that nodes have
	for v := range values {
		if use := r.domains.Usage(int32(v)); use.Desired > 0 || use.Taken > 0 {
			order = append(order, int32(v))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(values[a].Domain, values[b].Domain), cmp.Compare(values[a].Text, values[b].Text))
	})
	places := make([]int32, len(values))
	r.plan.Domains = make([]DomainState, len(order))
	for place, v := range order {
		places[v] = int32(place)
		use, index := r.domains.Usage(v), values[v].Domain
		r.plan.Domains[place] = DomainState{
			Index: index, Key: r.spec.Strategy.Policy.Domains[index].Key, Value: values[v].Text,
			Desired: use.Desired, Max: use.Max, Taken: use.Taken, AtOnce: use.AtOnce, Disturbed: use.Disturbed,
		}
	}
	users := r.domainUsers()
	for i := range r.nodes {
		d := r.decision(int32(i))
		if d.Domain == 0 {
			continue
		}
		v := d.Domain - 1
		d.Domain = places[v] + 1
		state := &r.plan.Domains[places[v]]
		if state.Max > 0 && state.Taken >= state.Max {
			state.Users = users.ofValue[v]
		} else {
			state.Users = users.ofDomain[state.Index]
		}
	}
}

// domainUsers are the first disturbed nodes of each value, and of each domain.
type domainUsers struct{ ofValue, ofDomain [][]string }

func (r *run) domainUsers() domainUsers {
	cells := r.nodeFacts.Cells
	users := domainUsers{make([][]string, len(cells.Values())), make([][]string, r.rules.Domains.Len())}
	for i := range r.nodes {
		d := r.decision(int32(i))
		goes := d.Exempt() && slices.ContainsFunc(r.podsOf(&r.nodes[i]), func(p pod) bool {
			return p.isPrepared() && p.traits.hasAny(deleting|planUpdates)
		})
		if !r.takesBudget(d) && !goes { // one that is left out takes room all the same when this plan takes its last pod
			continue
		}
		for index := range users.ofDomain {
			if v := cells.Value(r.nodes[i].Cell, int32(index)); v != domain.None {
				users.ofValue[v] = appendUser(users.ofValue[v], d.Node)
				users.ofDomain[index] = appendUser(users.ofDomain[index], d.Node)
			}
		}
	}
	return users
}

// reportParts lists how each part stands, and makes places in that list of the parts that nodes wait for.
func (r *run) reportParts() {
	if len(r.stages.States) == 0 || r.rules.Stages.Len() == 0 {
		return
	}
	parts := r.parts()
	places := make([]int32, parts.Len()) // from 1; 0: not listed
	for _, s := range r.stages.States {
		part, c := parts.Part(s.Part), r.partCounts[s.Part]
		state := PartState{
			Value: part.Value, Phase: s.Phase, Nodes: c.Nodes, Settled: c.Settled, Unavailable: c.Unavailable, Behind: c.Behind,
			Exempt: c.Exempt, Held: c.Held + c.Obstructed, Away: c.Away + c.Barred, Done: s.Done, Until: s.Until,
		}
		if stages := r.spec.Strategy.Policy.Stages; int(part.Stage) < len(stages) {
			state.Stage, state.Key = stages[part.Stage].Name, stages[part.Stage].Key
		}
		empty := c == stage.Count{}
		if empty && (state.Stage == "" || state.Key != "") {
			continue // nobody named it
		}
		r.plan.Parts = append(r.plan.Parts, state)
		places[s.Part] = int32(len(r.plan.Parts))
	}
	r.plan.StaleApprovals = r.stages.Stale
	for i := range r.nodes {
		n, d := &r.nodes[i], r.decision(int32(i))
		place := places[n.Part]
		if d.Reason == ReasonGated && d.Limit == n.closed && n.closed != LimitFailures && place > 0 {
			d.Part = place
		}
		if place > 0 && r.keepsPart(int32(i), r.plan.Parts[place-1].Phase) {
			state := &r.plan.Parts[place-1]
			state.Blocking = appendUser(state.Blocking, n.Name)
		}
	}
}

// keepsPart reports whether the node keeps its part, which is in that phase, from being done.
func (r *run) keepsPart(i int32, phase stage.Phase) bool {
	n, d := &r.nodes[i], r.decision(i)
	runs := d.Placement.Outcome == placement.Run
	switch {
	case phase != stage.Open && phase != stage.NoEvidence || runs && n.Unselected:
		return false
	case d.Exempt() || n.departing || n.draining && r.standing(i) == behind || d.Limit == LimitInPlaceOnly:
		return phase == stage.NoEvidence
	case runs:
		return r.standing(i) != settled
	default:
		return d.Unavailable || phase == stage.NoEvidence && d.Placement.Test == placement.TestTaint
	}
}

// partGate returns what the next part waits for.
func (r *run) partGate() status.Gate {
	for _, s := range r.stages.States {
		switch {
		case s.Phase == stage.Approving:
			return status.GateApproval
		case s.Phase == stage.NoEvidence:
			return status.GateEvidence
		case s.Phase == stage.Waiting && !s.Until.IsZero():
			return status.GateSoak
		case s.Phase == stage.Open:
			return status.GateNone
		}
	}
	return status.GateNone
}

// onlyFailedLeft reports whether all that is left of the rollout, as far as it may go, are nodes that have failed: nothing
// else will bring it forward.
func (r *run) onlyFailedLeft() bool {
	if r.failed == 0 || r.partGate() != status.GateNone {
		return false
	}
	for i := range r.nodes {
		n, d := &r.nodes[i], r.decision(int32(i))
		left := d.Placement.Outcome == placement.Run && n.closed == LimitNone && n.heldBy == LimitNone && !d.Exempt()
		if left && !d.Failed && r.standing(int32(i)) != settled {
			return false
		}
	}
	return true
}

// frontier returns what to remember of the stages. It ends when the revision is marked.
func (r *run) frontier() stage.Frontier {
	switch {
	case r.revision.Completed:
		return stage.Frontier{}
	case len(r.stages.States) > 0:
		return r.stages.Frontier
	default:
		return r.record.Frontier
	}
}

// reportFailures shows what is counted of failures.
func (r *run) reportFailures() {
	budget := &r.plan.Budget
	budget.Failed, budget.MaxFailed, budget.MaxQuarantined = r.failed, r.maxFailed, r.maxQuarantined
	if r.isGivenUp() {
		r.plan.GaveUp = r.gaveUpBefore()
	}
}
