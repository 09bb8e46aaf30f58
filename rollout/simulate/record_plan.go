package simulate

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/rollout"
)

// What the history tells of plans and of the end of a run, beside what happens to nodes and pods. With it, every figure of a
// Report can be counted anew from the records alone.

// told is what the history told last, so that it has a record for each change only.
type told struct {
	begun       bool
	limit, used int
	surge       bool
	waits       []int // by the place in the list of the tally
	updated     int
	revision    string
	failed      int
	maxFailed   int
	quarantined int
	gaveUp      string
	parts       []rollout.PartState
	calls       int
	limited     time.Duration
}

// recordPlan records a plan, and what it says otherwise than the plan before. The tally has been told of it.
func (s *Simulation) recordPlan(p *rollout.Plan) {
	if s.scenario.History == nil {
		return
	}
	t, b := &s.told, &p.Budget
	update := p.Status.UpdateRevision
	s.record(Record{Kind: Planned, Revision: update, Detail: strconv.Itoa(actions(p))})
	use := &s.tally.budget
	if !t.begun || use.limit != t.limit || use.now != t.used || use.surge != t.surge {
		t.limit, t.used, t.surge = use.limit, use.now, use.surge
		knob := rollout.LimitMaxUnavailable
		if use.surge {
			knob = rollout.LimitMaxSurge
		}
		s.record(Record{Kind: BudgetUsed, Count: use.now, Limit: use.limit, Detail: knob.String()})
	}
	s.recordWaits()
	if updated := int(p.Status.Updated); !t.begun || updated != t.updated || update != t.revision {
		t.updated = updated
		s.record(Record{Kind: NodesUpdated, Revision: update, Count: updated})
	}
	failed, most := int(b.Failed), int(b.MaxFailed)
	if failed != t.failed || failed > 0 && (most != t.maxFailed || update != t.revision) {
		t.failed, t.maxFailed = failed, most
		s.record(Record{Kind: NodesFailed, Revision: update, Count: failed, Limit: most})
	}
	if quarantined := int(b.Quarantined); quarantined != t.quarantined || quarantined > 0 && update != t.revision {
		t.quarantined = quarantined
		s.record(Record{Kind: NodesQuarantined, Revision: update, Count: quarantined})
	}
	if p.GaveUp != t.gaveUp || p.GaveUp != "" && update != t.revision {
		t.gaveUp = p.GaveUp
		s.record(Record{Kind: RevisionGivenUp, Revision: update, Detail: p.GaveUp})
	}
	s.recordStages(update, p.Parts)
	t.begun, t.revision = true, update
}

// recordWaits records for how many nodes each thing that nodes wait for holds, where that changed.
func (s *Simulation) recordWaits() {
	for i := range s.tally.waits.list {
		w := &s.tally.waits.list[i]
		if i == len(s.told.waits) {
			s.told.waits = append(s.told.waits, 0)
		}
		if w.nodes == s.told.waits[i] {
			continue
		}
		s.told.waits[i] = w.nodes
		s.record(Record{Kind: NodesWait, Count: w.nodes, Detail: w.reason.String() + " " + w.limit.String()})
	}
}

// recordStages records the parts of the stages whose phase, or number of unavailable nodes, changed, and all of a revision of
// which none was recorded. A plan that judges no part says nothing of any.
func (s *Simulation) recordStages(update string, parts []rollout.PartState) {
	t := &s.told
	if update != t.revision {
		t.parts = nil
	}
	if len(parts) == 0 {
		return
	}
	for i := range parts {
		p := &parts[i]
		known := slices.IndexFunc(t.parts, func(b rollout.PartState) bool { return b.Stage == p.Stage && b.Value == p.Value })
		if known >= 0 && t.parts[known].Phase == p.Phase && t.parts[known].Unavailable == p.Unavailable {
			continue
		}
		s.record(Record{
			Kind: StageChanged, Revision: update, Count: int(p.Unavailable), Limit: int(p.Nodes),
			Detail: p.Phase.String() + " " + p.Stage + "/" + p.Key + "=" + p.Value,
		})
	}
	t.parts = slices.Clone(parts)
}

// recordCalls records how many calls were sent since that was recorded last, if any were.
func (s *Simulation) recordCalls() {
	if sent := s.controller.sent; sent > s.told.calls {
		limited := s.controller.rateLimited(s.elapsed)
		s.record(Record{Kind: CallsSent, Count: sent - s.told.calls, Took: limited - s.told.limited})
		s.told.calls, s.told.limited = sent, limited
	}
}

// recordLabels records the labels that a node has now.
func (s *Simulation) recordLabels(n *node) {
	if s.scenario.History == nil || !s.watching || n.gone {
		return
	}
	s.record(Record{Kind: NodeLabelled, Node: n.name, Zone: n.zone, Detail: labels.Set(n.object.Labels).String()})
}

// ended notes how the run ended, and records it.
func (s *Simulation) ended(end End) {
	s.end = end
	s.recordCalls()
	s.record(Record{Kind: RunEnded, Detail: end.String()})
}
