package rollout

import (
	"cmp"
	"fmt"
	"slices"
)

// WaitingNodes is a group of nodes that wait for the same limit.
type WaitingNodes struct {
	// Reason and Limit that the nodes share.
	Reason Reason
	Limit  Limit
	// Size of the limit: in nodes for maxUnavailable, maxSurge, partition and slow start, in actions of each kind for burst.
	// 0 for other limits.
	Size int32
	// Domain that they wait for, if the limit is [LimitDomain]; nil: it is another. Because then lists the first five nodes that
	// use it up.
	Domain *DomainState
	// Part is the part of a stage that has to be done or opened first, if the limit is [LimitStage], [LimitSoak] or
	// [LimitApproval]; nil: the limit is another, or the nodes wait for the stages of an earlier revision. Because then lists
	// the first five nodes that keep it from being done.
	Part *PartState
	// Cause is why the pods of these nodes do not serve, in the words of the objects, if the nodes wait for that alone, and for
	// no limit; "" for groups that wait for a limit.
	Cause string
	// Nodes that wait, in ascending order.
	Nodes []string
	// Because lists the nodes that use the limit up, in ascending order: for maxUnavailable those that count as
	// unavailable, for maxSurge those that hold a place. Nodes that wait prepared (ReasonPrepared) do not list each other. Empty
	// for limits that no node uses up.
	Because []string
}

// Waits groups the nodes that a limit keeps from an action, and those that wait for a pod that does not serve although it should
// by now, in the order of the reason codes, then limits and causes. It answers the question why the rest of the nodes wait. Nil:
// no node waits for anything but what is under way.
func (p *Plan) Waits() []WaitingNodes {
	type key struct {
		reason Reason
		limit  Limit
		domain int32
		cause  string
	}
	groups := make(map[key]int)
	var waits []WaitingNodes
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if d.Verb != VerbWait && d.Verb != VerbHold {
			continue
		}
		cause := ""
		if c := p.CauseOf(d.Node); c != nil && d.Limit == LimitNone {
			cause = c.Brief()
		}
		if d.Limit == LimitNone && cause == "" {
			continue
		}
		k := key{d.Reason, d.Limit, d.Domain, cause}
		at, ok := groups[k]
		if !ok {
			at = len(waits)
			groups[k] = at
			w := WaitingNodes{
				Reason: d.Reason, Limit: d.Limit, Cause: cause, Size: p.size(d.Limit), Because: p.users(d.Reason, d.Limit),
			}
			if domain := p.domainOf(d); domain != nil {
				w.Domain, w.Size, w.Because = domain, domain.limit(), domain.Users
			}
			if d.Limit == LimitFailures {
				w.Size, w.Because = p.Budget.MaxFailed, p.failed()
			}
			if p.partOf(d) != nil {
				w.Part = p.nextPart()
				w.Because = w.Part.Blocking
			}
			waits = append(waits, w)
		}
		waits[at].Nodes = append(waits[at].Nodes, d.Node)
	}
	slices.SortFunc(waits, func(a, b WaitingNodes) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Limit, b.Limit), compareDomains(a.Domain, b.Domain),
			cmp.Compare(a.Cause, b.Cause))
	})
	return waits
}

// compareDomains compares by domain and value. Nil ones are not compared: the limit decides.
func compareDomains(a, b *DomainState) int {
	if a == nil || b == nil {
		return 0 // a limit is a domain for all of its groups, or for none
	}
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Value, b.Value))
}

// domainOf returns the domain that a node waits for; nil: it waits for none.
func (p *Plan) domainOf(d *Decision) *DomainState {
	if d.Domain <= 0 || int(d.Domain) > len(p.Domains) {
		return nil
	}
	return &p.Domains[d.Domain-1]
}

func (p *Plan) size(limit Limit) int32 {
	switch limit {
	case LimitMaxUnavailable:
		return p.Budget.MaxUnavailable
	case LimitMaxSurge:
		return p.Budget.MaxSurge
	case LimitBurst:
		return p.Budget.Burst
	case LimitPartition:
		return p.Budget.Partition
	case LimitSlowStart:
		return p.Budget.SlowStart
	default:
		return 0
	}
}

// users lists the nodes that use a budget up. Nodes that wait prepared count against it, too, but are not listed as what another
// prepared node waits for: its room is counted without them (B3).
func (p *Plan) users(reason Reason, limit Limit) []string {
	var nodes []string
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if reason == ReasonPrepared && d.Reason == ReasonPrepared {
			continue
		}
		if limit == LimitMaxUnavailable && d.Unavailable || limit == LimitMaxSurge && d.Surging {
			nodes = append(nodes, d.Node)
		}
	}
	return nodes
}

// failed lists the nodes that the update revision has failed on.
func (p *Plan) failed() []string {
	var nodes []string
	for i := range p.Decisions {
		if p.Decisions[i].Failed {
			nodes = append(nodes, p.Decisions[i].Node)
		}
	}
	return nodes
}

// String returns the group as one sentence. It names at most five of the nodes that wait, and of those that use the limit up.
func (w WaitingNodes) String() string {
	one, many := "1 node waits", "%d nodes wait"
	if w.Reason == ReasonHeld {
		one, many = "1 node is held at its old revision", "%d nodes are held at their old revision"
	}
	if n := len(w.Nodes); n != 1 {
		one = fmt.Sprintf(many, n)
	}
	return one + ": " + w.because() + " (" + list(w.Nodes, len(w.Nodes)) + ")"
}

func (w WaitingNodes) because() string {
	switch {
	case w.Cause != "":
		return "the pod does not serve: " + w.Cause
	case w.Limit == LimitBurst:
		return fmt.Sprintf("this plan has the %d creates, deletes or updates in place that burst allows", w.Size)
	case w.Limit == LimitSlowStart:
		return fmt.Sprintf("slow start allows %d under way now", w.Size)
	case w.Domain != nil:
		return w.Domain.spent()
	case w.Limit == LimitFailures:
		return fmt.Sprintf("the update revision has failed on more than %s: %s", counted(w.Size, "node"),
			list(w.Because, len(w.Because)))
	case w.Part != nil && w.Limit == LimitStage: // their own part comes after that one
		return w.Part.before()
	case w.Part != nil:
		return w.Part.obstacle(nil)
	case w.Reason == ReasonPrepared && w.Limit == LimitMaxSurge:
		return "a prepared pod serves until its node's new pod is available"
	case w.Reason == ReasonPrepared && w.Limit == LimitMaxUnavailable && len(w.Because) == 0:
		return fmt.Sprintf("without a prepared pod more nodes than maxUnavailable %d would be down", w.Size)
	case w.Limit == LimitMaxUnavailable || w.Limit == LimitMaxSurge:
		return fmt.Sprintf("%s %d is used up by %s", w.Limit, w.Size, list(w.Because, len(w.Because)))
	case w.Reason == ReasonHeld && w.Limit == LimitPartition:
		return fmt.Sprintf("partition %d", w.Size)
	case w.Reason == ReasonHeld && w.Limit == LimitNodeSelector:
		return "the strategy's nodeSelector does not match"
	case w.Reason == ReasonHeld:
		return w.Limit.ofNode()
	default:
		return w.Limit.ofNodes()
	}
}
