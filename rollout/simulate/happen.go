package simulate

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// happening is an event of the scenario with its state in the run.
type happening struct {
	event  *Event
	random random
	times  int  // that it has happened
	effect bool // on any node, ever
	timer  timer
}

// undoing is the end of something that an event did to a node.
type undoing struct {
	what  What
	event *Event
	node  *node
	timer timer
}

// effect is something that events do to a node, and that is undone when the last of them is over.
type effect struct {
	what What // CordonNode for drains, too
	key  string
}

func effectOf(e *Event) effect {
	switch e.What {
	case DrainNode:
		return effect{what: CordonNode}
	case TaintNode, UntaintNode:
		return effect{TaintNode, e.Taint.Key + ":" + string(e.Taint.Effect)}
	default:
		return effect{what: e.What}
	}
}

// beginEffect counts an event that has the effect.
func (n *node) beginEffect(e effect) {
	if n.begun == nil {
		n.begun = map[effect]int{}
	}
	n.begun[e]++
}

func (n *node) endEffect(e effect) bool {
	if n.begun[e] > 0 {
		n.begun[e]--
	}
	return n.begun[e] == 0
}

// relabelled is a label that events have changed. base is what it was before, events are those that are not over, the latest
// last.
type relabelled struct {
	base   string
	events []*Event
}

// expectEvents sets the timers of all events.
func (s *Simulation) expectEvents() {
	for i := range s.scenario.Events {
		e := &s.scenario.Events[i]
		h := &happening{event: e, random: s.random.sub("event", strconv.Itoa(i))}
		h.timer.owner = h
		h.timer.background = e.Every.isSet() && e.Until == 0
		s.happenings = append(s.happenings, h)
		s.queue.put(&h.timer, e.At)
	}
}

// fire lets the event happen.
func (h *happening) fire(s *Simulation) {
	e := h.event
	h.times++
	s.occur(h)
	if !e.Every.isSet() {
		return
	}
	if next := s.elapsed + h.random.durationOf(e.Every, "every", strconv.Itoa(h.times)); e.Until == 0 || next <= e.Until {
		s.queue.put(&h.timer, next)
	}
}

func (s *Simulation) occur(h *happening) {
	before := h.effect
	h.effect = true
	switch e := h.event; e.What {
	case AddNodes:
		s.join(&e.Join)
		s.record(Record{Kind: EventHappened, Detail: fmt.Sprintf("%s %d of pool %s", e.What, e.Join.Nodes, e.Join.Name)})
	case SetSpec:
		s.record(Record{Kind: EventHappened, Detail: e.What.String()})
		s.setSpec(*e.Spec)
	case GiveCommands:
		s.record(Record{Kind: EventHappened, Detail: e.What.String()})
		spec := s.spec
		if spec.Strategy.Canary == nil {
			return // of another spec, which has none
		}
		options := *spec.Strategy.Canary
		options.Commands = e.Commands
		spec.Strategy.Canary = &options
		s.setSpec(spec)
	case ApproveStage:
		s.record(Record{Kind: EventHappened, Detail: e.What.String() + " " + e.Approval.Stage})
		h.effect = s.approve(e.Approval) || before
	case ExpediteRevision:
		s.record(Record{Kind: EventHappened, Detail: e.What.String()})
		spec := s.spec
		spec.Strategy.Policy.Expedite = s.revisionOr(e.Revision)
		s.setSpec(spec)
	case RetryRevision:
		s.record(Record{Kind: EventHappened, Detail: e.What.String()})
		h.effect = s.retry(e.Revision) || before
	case CrashController:
		s.record(Record{Kind: EventHappened, Detail: e.What.String()})
		s.strike()
	case SetClock:
		s.record(Record{Kind: EventHappened, Detail: e.What.String() + " " + e.Behind.String() + " behind"})
		s.controller.behind = e.Behind
	default:
		nodes := make([]*corev1.Node, len(s.names))
		for i, n := range s.names {
			nodes[i] = n.object
		}
		chosen := e.choose(h.random, h.times, nodes)
		h.effect = before || len(chosen) > 0
		for _, name := range chosen {
			n := s.nodes[name]
			s.record(Record{Kind: EventHappened, Node: n.name, Zone: n.zone, Detail: e.What.String()})
			s.befall(h, n)
		}
	}
}

// befall makes the event happen to a node.
func (s *Simulation) befall(h *happening, n *node) {
	e := h.event
	undo := undoing{what: e.What, event: e, node: n}
	switch e.What {
	case RemoveNode:
		s.removeNode(n)
		return
	case NodeNotReady:
		n.beginEffect(effectOf(e))
		s.silence(n, true)
	case NodeReady:
		delete(n.begun, effect{what: NodeNotReady})
		s.silence(n, false)
		return
	case CordonNode:
		n.beginEffect(effectOf(e))
		s.cordon(n, true)
	case UncordonNode:
		delete(n.begun, effect{what: CordonNode})
		s.cordon(n, false)
		return
	case DrainNode:
		n.beginEffect(effectOf(e))
		s.cordon(n, true)
		s.eachPod(n, s.deletePod)
	case LabelNode:
		n.beginLabels(e)
		s.label(n, e.Labels)
	case TaintNode:
		n.beginEffect(effectOf(e))
		s.taint(n, e.Taint, true)
	case UntaintNode:
		delete(n.begun, effectOf(e))
		s.taint(n, e.Taint, false)
		return
	case MaintainNode:
		n.beginEffect(effectOf(e))
		s.maintain(n, corev1.ConditionTrue)
	case EvictPod:
		s.eachPod(n, s.evict)
		return
	case DeletePod:
		s.eachPod(n, s.deletePod)
		return
	case CrashPod:
		s.eachPod(n, s.crashOnce)
		return
	default:
		return
	}
	if e.For.isSet() {
		undo.timer.background = h.timer.background
		undo.timer.owner = &undo
		s.healing++
		key := n.name + "/" + strconv.Itoa(h.times)
		s.queue.put(&undo.timer, s.elapsed+h.random.durationOf(e.For, "for", key))
	}
}

// fire undoes what the event did.
func (u *undoing) fire(s *Simulation) {
	s.healing--
	n := u.node
	if n.gone {
		return
	}
	s.record(Record{Kind: EventHappened, Node: n.name, Zone: n.zone, Detail: "end of " + u.what.String()})
	switch e := effectOf(u.event); {
	case u.what == LabelNode:
		s.label(n, n.endLabels(u.event))
	case !n.endEffect(e): // another event does it still
	case e.what == NodeNotReady:
		s.silence(n, false)
	case e.what == CordonNode:
		s.cordon(n, false)
	case e.what == MaintainNode:
		s.maintain(n, corev1.ConditionFalse)
	case e.what == TaintNode:
		s.taint(n, u.event.Taint, false)
	}
}

// beginLabels notes which labels of the node an event changes.
func (n *node) beginLabels(e *Event) {
	for key := range e.Labels {
		label := n.labels[key]
		if label == nil {
			if n.labels == nil {
				n.labels = map[string]*relabelled{}
			}
			label = &relabelled{base: n.object.Labels[key]}
			n.labels[key] = label
		}
		label.events = append(label.events, e)
	}
}

// endLabels ends an event, and returns what the labels that it changed are without it.
func (n *node) endLabels(e *Event) map[string]string {
	back := map[string]string{}
	for key := range e.Labels {
		label := n.labels[key]
		if i := slices.Index(label.events, e); i >= 0 {
			label.events = slices.Delete(label.events, i, i+1)
		}
		back[key] = label.base
		if last := len(label.events); last > 0 {
			back[key] = label.events[last-1].Labels[key]
		}
	}
	return back
}

// maintenanceInProgress is the condition of a node under maintenance.
const maintenanceInProgress corev1.NodeConditionType = "MaintenanceInProgress"

// eachPod calls do with each pod on the node that is not marked for deletion.
func (s *Simulation) eachPod(n *node, do func(*pod)) {
	for _, p := range slices.Clone(n.pods) {
		if p.object.DeletionTimestamp == nil {
			do(p)
		}
	}
}

func (s *Simulation) evict(p *pod) {
	if lifecycle.Terminal(p.object) || p.object.Spec.NodeName == "" {
		return
	}
	object := statusCopy(p.object)
	s.enter(p, finished)
	kubelet.Evict(object, s.stamp())
	s.report(p, object)
	s.changePod(p, object)
}

// crashOnce crashes a pod whose containers run.
func (s *Simulation) crashOnce(p *pod) {
	if p.stage != readying && p.stage != ready || p.node.silent {
		return
	}
	object := statusCopy(p.object)
	s.crash(p, object)
	s.report(p, object)
	s.changePod(p, object)
}

// approve adds an approval to the policy, and returns whether there is such a stage. Another spec may have none.
func (s *Simulation) approve(approval stage.Approval) bool {
	spec := s.spec
	policy := &spec.Strategy.Policy
	if !slices.ContainsFunc(policy.Stages, func(of stage.Stage) bool { return of.Name == approval.Stage }) {
		return false
	}
	approval.Revision = s.revisionOr(approval.Revision)
	policy.Approved = append(slices.Clip(policy.Approved), approval)
	s.setSpec(spec)
	return true
}

// retry rolls a revision out once more, and returns whether the spec watches failures. The instant makes each retry a new one.
func (s *Simulation) retry(revision string) bool {
	spec := s.spec
	if spec.Strategy.Policy.Failures == nil {
		return false
	}
	failures := *spec.Strategy.Policy.Failures
	failures.Retry = s.revisionOr(revision) + "/" + s.elapsed.String()
	spec.Strategy.Policy.Failures = &failures
	s.setSpec(spec)
	return true
}

// revisionOr is the revision that is named, and else the one that the spec rolls out. Only the planner knows its hash.
func (s *Simulation) revisionOr(named string) string {
	if named != "" {
		return named
	}
	plan, err := s.planner.Plan(s.snapshot(false))
	if err != nil {
		return s.update // the next plan fails alike, and ends the run
	}
	return plan.Status.UpdateRevision
}

// setSpec puts another spec in force.
func (s *Simulation) setSpec(spec rollout.Spec) {
	if err := s.use(spec); err != nil {
		s.failure = fmt.Errorf("the spec that an event puts in force: %w", err)
		return
	}
	for _, n := range s.names {
		s.evaluate(n)
	}
	for _, p := range slices.Clone(s.order) {
		s.schedule(p)
	}
	s.observeAll()
	s.controller.dirty = true
}
