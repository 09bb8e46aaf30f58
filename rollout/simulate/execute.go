package simulate

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/rollout"
)

// How the controller carries out a plan, call by call.

// send sends the calls that are due now: the next one if the rate is limited, else all.
func (s *Simulation) send() error {
	c := &s.controller
	c.goOn(s.elapsed)
	for c.busy && !c.down {
		if c.doomed && c.call == c.fatal {
			s.crashController()
			return nil
		}
		if c.call == c.calls {
			if c.busy = s.statusChanged() && !c.reported; !c.busy {
				s.recordCalls()
				return nil
			}
		}
		sent := c.sent
		if err := s.sendCall(c.call); err != nil {
			return err
		}
		if c.sent > sent && s.spendCall() {
			return nil
		}
	}
	return nil
}

// spendCall notes that a call was sent, and reports whether the next one has to wait until nextCall. Each call uses up the time
// that it may take at the rate, and the burst says how far ahead of that time calls may be.
func (s *Simulation) spendCall() (waits bool) {
	c, model := &s.controller, &s.scenario.Controller
	if model.CallsPerSecond <= 0 {
		return false
	}
	each := time.Duration(float64(time.Second) / model.CallsPerSecond)
	c.spent = max(c.spent, s.elapsed) + each
	c.nextCall = max(s.elapsed, c.spent-time.Duration(max(model.CallBurst, 1)-1)*each)
	if c.nextCall > s.elapsed && c.call < c.calls { // the status alone keeps no node waiting
		c.limited, c.limitedFrom = true, s.elapsed
	}
	return c.nextCall > s.elapsed
}

// goOn ends a wait for the rate of calls.
func (c *controller) goOn(at time.Duration) {
	c.limitedFor, c.limited = c.rateLimited(at), false
}

// rateLimited is for how long actions waited for the rate of calls so far.
func (c *controller) rateLimited(at time.Duration) time.Duration {
	if !c.limited {
		return c.limitedFor
	}
	return c.limitedFor + at - c.limitedFrom
}

// statusChanged reports whether the status or the memory of the plan differs from what is written.
func (s *Simulation) statusChanged() bool {
	c := &s.controller
	return !reflect.DeepEqual(c.written, c.plan.Status) || !reflect.DeepEqual(c.saved, c.plan.Memory)
}

// sendStatus writes the status, with the memory: the last call of a plan.
func (s *Simulation) sendStatus() {
	c := &s.controller
	c.reported = true
	if effect, _ := s.answer("update status"); effect {
		c.written, c.saved = c.plan.Status, c.plan.Memory
	}
}

// sendCall sends call i of the plan, and makes the next call the one after it.
func (s *Simulation) sendCall(i int) error {
	c := &s.controller
	c.call = min(i+1, c.calls)
	p := &c.plan
	if i == c.calls {
		s.sendStatus()
		return nil
	}
	if i < len(p.Revisions) {
		return s.sendRevision(&p.Revisions[i])
	}
	i -= len(p.Revisions)
	if i < len(p.Patches) {
		return s.sendPatch(&p.Patches[i])
	}
	i -= len(p.Patches)
	if i < len(p.Pulls) {
		s.sendPull(&p.Pulls[i])
		return nil
	}
	i -= len(p.Pulls)
	if i < len(p.Deletes) {
		s.sendDelete(&p.Deletes[i])
		return nil
	}
	return s.sendCreate(i - len(p.Deletes))
}

// answer draws the outcome of the next call: whether it takes effect, and whether the controller hears that it did.
func (s *Simulation) answer(detail string) (effect, heard bool) {
	c, model := &s.controller, &s.scenario.Controller
	c.sent++
	effect, heard = true, true
	if model.FailedCalls > 0 || model.LostAnswers > 0 {
		switch drawn := s.random.fraction("call", strconv.Itoa(c.sent)); {
		case drawn < model.FailedCalls:
			effect, heard = false, false
		case drawn < model.FailedCalls+model.LostAnswers:
			heard = false
		}
	}
	s.tally.call(!heard)
	if !heard {
		s.again()
		s.record(Record{Kind: CallFailed, Detail: detail})
	}
	return effect, heard
}

// again makes the controller plan again after a call that had no effect or no answer. It does not do so at once, because its
// watches may still be as stale as before.
func (s *Simulation) again() {
	c := &s.controller
	c.dirty, c.retryAt = true, s.elapsed+retry
}

func (s *Simulation) sendRevision(action *rollout.RevisionAction) error {
	c := &s.controller
	effect, heard := s.answer(action.Verb.String() + " revision " + action.Name)
	if !heard {
		c.call = c.calls // nothing that refers to it is sent
	}
	if !effect {
		return nil
	}
	uid := types.UID("revision-" + action.Name + "-" + strconv.Itoa(c.sent))
	after, done, detail, err := apiserver.Revise(s.revisions, action, s.stamp(), uid)
	if err != nil {
		return err
	}
	if !done {
		s.again()
		return nil
	}
	s.revisions = after
	s.showRevisions()
	c.flight.revisions = append(c.flight.revisions, expected[string]{action.Name, s.shownRevisions.version})
	s.tally.action(RevisionChanged)
	s.record(Record{Kind: RevisionChanged, Revision: action.Name, Detail: detail})
	return nil
}

func (s *Simulation) sendPatch(patch *rollout.Patch) error {
	c := &s.controller
	if c.refused[patch.UID] {
		return nil
	}
	effect, heard := s.answer("patch pod " + patch.Pod)
	p := s.pods[patch.UID]
	done := false
	if effect && p != nil {
		object, err := apiserver.Patch(p.object, patch)
		switch {
		case err == nil:
			s.patched(p, object, patch)
			done = true
		case !errors.Is(err, apiserver.ErrConflict):
			return fmt.Errorf("patch of pod %s: %w", patch.Pod, err)
		}
	}
	if !done || !heard {
		if c.refused == nil {
			c.refused = map[types.UID]bool{}
		}
		c.refused[patch.UID] = true
		s.again()
	}
	return nil
}

// patched puts the patched object in the place of the pod's.
func (s *Simulation) patched(p *pod, object *corev1.Pod, patch *rollout.Patch) {
	c := &s.controller
	if !equality.Semantic.DeepEqual(object.Spec, p.object.Spec) || !kubelet.SameEnvironment(object, p.object) {
		p.changed = s.elapsed
	}
	s.begun(patch.Node, patch.Reason)
	before := p.object
	p.object = object
	if revisionOf(before) != revisionOf(object) || p.changed == s.elapsed {
		p.rules = s.rulesFor(p)
	}
	p.object = before
	if p.changed == s.elapsed && (p.stage == pulling || p.stage == creating) {
		s.fetch(p, object) // what it waited for may be of no use any more
	}
	s.report(p, object)
	s.changePod(p, object)
	c.flight.patches = append(c.flight.patches, expected[*pod]{p, p.shown.version})
	s.tally.action(PodPatched)
	s.record(s.about(p, PodPatched, patch.Reason.String()))
	if apiserver.Released(object) {
		s.removePod(p)
	}
}

func (s *Simulation) sendPull(pull *rollout.Pull) {
	effect, _ := s.answer("pull " + pull.Image + " on " + pull.Node)
	n := s.nodes[pull.Node]
	if !effect || n == nil {
		s.again()
		return
	}
	if n.aheadOf(pull.Image) != nil {
		return
	}
	a := s.addAhead(n, pull.Image)
	if pull.Timeout > 0 {
		s.queue.put(&a.timer, s.elapsed+pull.Timeout)
	}
	if !n.silent {
		s.registry.begin(s.elapsed, n.name, n.zone, pull.Image, s.bandwidth(n))
	}
	s.tally.action(PullStarted)
	s.record(Record{Kind: PullStarted, Node: n.name, Zone: n.zone, Revision: pull.Revision, Detail: pull.Image})
}

func (s *Simulation) sendDelete(action *rollout.Delete) {
	effect, _ := s.answer("delete pod " + action.Pod)
	p := s.pods[action.UID]
	if !effect || p == nil {
		s.again()
		return
	}
	s.begun(action.Node, action.Reason)
	s.controller.flight.deletes = append(s.controller.flight.deletes, p)
	s.tally.action(PodDeleted)
	s.record(s.about(p, PodDeleted, action.Reason.String()))
	s.deletePod(p)
}

func (s *Simulation) sendCreate(i int) error {
	c := &s.controller
	create := c.plan.Creates[i]
	for len(c.batches) > 0 && i >= c.batches[0] {
		if c.batches = c.batches[1:]; c.failed { // the batch before had a create that failed (M6)
			c.call = c.calls
			return nil
		}
	}
	effect, heard := s.answer("create pod on " + create.Node)
	if !heard {
		c.failed = true
	}
	if !effect {
		return nil
	}
	object, err := s.made.pod(c.planner, &create)
	if err != nil {
		return fmt.Errorf("create on node %s: %w", create.Node, err)
	}
	for s.taken[fmt.Sprintf("%s%05d", object.GenerateName, s.created+1)] || s.taken[string(uidOf(s.created+1))] {
		s.created++
	}
	serial := s.created + 1
	apiserver.Admit(object, fmt.Sprintf("%s%05d", object.GenerateName, serial), uidOf(serial), s.stamp())
	object.ResourceVersion = s.nextVersion()
	p := s.addPod(object)
	if create.Template == nil && c.planner == s.planner { // it differs from the template only in being pinned to its node
		p.matcher = s.matcher
	}
	s.showPod(p, object)
	s.schedule(p)
	if p.node != nil {
		s.begun(p.node.name, create.Reason)
		s.observe(p.node)
	}
	c.flight.creates = append(c.flight.creates, p)
	s.tally.action(PodCreated)
	s.record(s.about(p, PodCreated, create.Reason.String()))
	return nil
}

// begun notes that the rollout, and not a repair, begins a node.
func (s *Simulation) begun(node string, reason rollout.Reason) {
	switch reason {
	case rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady, rollout.ReasonOutdatedFailed, rollout.ReasonBegun:
		s.tally.begun(s.elapsed, node)
	default: // repair
	}
}
