package simulate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// observe brings the state of a node up to date, and records a change.
func (s *Simulation) observe(n *node) {
	if !s.watching {
		return
	}
	to := s.stateOf(n)
	if to == n.state && n.zone == n.counted {
		return
	}
	from, before := n.state, n.counted
	n.state, n.counted = to, n.zone
	s.counts[from]--
	s.counts[to]++
	if unavailable(from) {
		s.lacking[before]--
	}
	if unavailable(to) {
		s.lacking[n.zone]++
	}
	s.changed = true
	s.tally.node(s.elapsed, n.name, n.zone, from, to)
	if s.scenario.History != nil { // else nobody asks what serves
		if from == 0 {
			s.recordLabels(n)
		}
		s.record(Record{Kind: NodeChanged, Node: n.name, Zone: n.zone, Revision: s.serving(n, to), From: from, To: to})
	}
}

// observeAll observes all nodes, after a change that may concern each of them.
func (s *Simulation) observeAll() {
	for _, n := range s.names {
		s.observe(n)
	}
}

// stateOf reads the state of a node off it and its pods.
func (s *Simulation) stateOf(n *node) NodeState {
	switch {
	case n.gone:
		return 0
	case !n.runs:
		return NodeOutside
	case n.silent:
		return NodeLost
	}
	old, fresh, worst := false, false, NodeEmpty
	for _, p := range n.pods {
		updated := s.isUpdate(p)
		switch {
		case leaves(p.object):
			worst = max(worst, NodeTerminating)
		case updated && lifecycle.Available(p.object, s.spec.MinReadySeconds, s.now()):
			return NodeNew
		case updated:
			fresh = true
			worst = max(worst, p.progress())
			s.availableLater(n, p)
		case lifecycle.Ready(p.object):
			old = true
		default:
			worst = max(worst, p.progress())
		}
	}
	switch {
	case old && fresh:
		return NodeSurging
	case old:
		return NodeOld
	}
	return worst
}

// serving is the hash of the revision that serves on a node in that state; "" if none does.
func (s *Simulation) serving(n *node, state NodeState) string {
	if state == NodeNew {
		return s.update
	}
	for _, p := range n.pods {
		if state.Serving() && !s.isUpdate(p) && !leaves(p.object) && lifecycle.Ready(p.object) {
			return revisionOf(p.object)
		}
	}
	return ""
}

// isUpdate reports whether the pod is at the update revision, with the resources that the overrides of its node ask for (P8).
func (s *Simulation) isUpdate(p *pod) bool {
	return revisionOf(p.object) == s.update &&
		(p.node.anyResources || p.object.Annotations[placement.DigestAnnotation] == p.node.digest)
}

// leaves reports whether the pod is on its way out: marked for deletion, or prepared for it by a hook.
func leaves(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || lifecycle.StateOf(p) == lifecycle.PreparingDelete
}

// progress is the state of a node whose only pod is this one, which does not serve.
func (p *pod) progress() NodeState {
	switch p.stage {
	case unbound:
		return NodePending
	case pulling:
		if isSet(p.rules.NoImage) || p.pullsFailed > 0 {
			return NodeBroken
		}
		return NodePulling
	case crashed, finished:
		return NodeBroken
	case creating:
		if p.inARow > 0 {
			return NodeBroken
		}
	case readying, ready, gone:
	}
	return NodeStarting
}

// availableLater looks at the node again when its pod has been Ready for long enough.
func (s *Simulation) availableLater(n *node, p *pod) {
	if s.spec.MinReadySeconds <= 0 || !lifecycle.Ready(p.object) {
		return
	}
	for i := range p.object.Status.Conditions {
		c := &p.object.Status.Conditions[i]
		if c.Type != corev1.PodReady {
			continue
		}
		at := c.LastTransitionTime.Add(time.Duration(s.spec.MinReadySeconds) * time.Second).Sub(s.start)
		if at > s.elapsed {
			n.soon.owner = nodeSoon{n}
			if !n.soon.isSet() || at < n.soon.at { // of several pods the first
				s.queue.put(&n.soon, at)
			}
		}
	}
}

// nodeSoon looks at a node again.
type nodeSoon struct{ *node }

func (n nodeSoon) fire(s *Simulation) { s.observe(n.node) }

// record gives a record to the history of the scenario, if there is one.
func (s *Simulation) record(r Record) {
	if s.scenario.History == nil {
		return
	}
	r.At, r.Step = s.elapsed, s.step
	s.scenario.History(r)
}

// about is a record about a pod.
func (s *Simulation) about(p *pod, kind RecordKind, detail string) Record {
	r := Record{Kind: kind, Pod: p.object.Name, Revision: revisionOf(p.object), Detail: detail, Node: targetOf(p)}
	if p.node != nil {
		r.Zone = p.node.zone
	}
	return r
}

// canaryChanged records each change of the canary's phase or of the reason for it.
func (s *Simulation) canaryChanged(now *rollout.Canary) {
	if now.Phase == s.canary.Phase && now.Reason == s.canary.Reason {
		return
	}
	trying := s.trying()
	if s.canary = (canaryState{now.Phase, now.Reason}); trying != s.trying() {
		for _, p := range s.order {
			s.schedule(p)
		}
	}
	s.record(Record{Kind: CanaryChanged, Revision: now.Revision, Detail: now.Phase.String() + " " + now.Reason.String()})
}

type canaryState struct {
	Phase  canary.Phase
	Reason canary.PhaseReason
}

// complete reports whether every node is where it is to end, according to the last plan and to the nodes as they are.
func (s *Simulation) complete() bool {
	there := s.counts[NodeNew] + s.counts[NodeOld] + s.counts[NodeOutside]
	strategy := &s.spec.Strategy
	switch s.decided.Canary.Phase {
	case canary.Running, canary.Paused:
		return false
	default:
	}
	if strategy.Paused || strategy.Frozen {
		return there == len(s.names) && s.counts[NodeOld] == 0
	}
	for i := range s.decided.Decisions {
		switch d := &s.decided.Decisions[i]; d.Reason {
		case rollout.ReasonUpToDate, rollout.ReasonStable, rollout.ReasonIneligible, rollout.ReasonKept, rollout.ReasonHeld,
			rollout.ReasonVanished, rollout.ReasonUnattributable:
		case rollout.ReasonPartitionedScaling: // it is to be empty (T7)
			if s.nodes[d.Node] != nil && s.nodes[d.Node].state == NodeEmpty {
				there++
			}
		default:
			return false
		}
	}
	return there == len(s.names)
}
