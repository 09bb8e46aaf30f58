package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// retry is how long a controller waits before it plans again after a call that failed.
const retry = time.Second

// controller is the program around the planner, as it is at one instant.
type controller struct {
	// dirty: something has changed since the last plan. wake is when that plan asked to be made again; 0: never.
	dirty bool
	wake  time.Duration
	// memory is that of the last plan. saved is what was written with the status, so that a crash does not lose it.
	memory, saved rollout.Memory
	written       status.Status
	// reading is that of the last plan since the controller started.
	reading *rollout.Reading

	// plan is being carried out, and planner made it. The next call is number call of calls, at nextCall.
	plan     rollout.Plan
	planner  *rollout.Planner
	busy     bool
	call     int
	calls    int
	nextCall time.Duration
	// spent is the time until which the calls so far use up the rate, see spendCall.
	spent time.Duration
	// limited: actions wait for the rate of calls, since limitedFrom. limitedFor is for how long they did before.
	limited                 bool
	limitedFrom, limitedFor time.Duration
	retryAt                 time.Duration // not before this, as calls came to nothing
	// refused are pods of which a patch was refused. batches are the ends of the batches of creates.
	refused map[types.UID]bool
	batches []int
	failed  bool // a create of this batch
	// reported: the status was written, or its call failed.
	reported bool

	// down: it has crashed. doomed: it crashes in the middle of the next plan.
	down, doomed bool
	fatal        int // the number of the call before which it does
	restarts     int
	crash        crashTimer
	restart      restartTimer

	flight flight
	timer  timer
	behind time.Duration // the cluster's clock is its own
	last   time.Duration // when it planned last
	ever   bool          // it has
	sent   int           // calls, ever
}

// flight is what was asked for and is not shown by the watches yet.
type flight struct {
	creates   []*pod
	deletes   []*pod
	patches   []expected[*pod]
	revisions []expected[string]
	pulls     []expected[*ahead] // that ended well
}

type expected[T any] struct {
	what    T
	version int32
}

type (
	crashTimer   struct{ timer timer }
	restartTimer struct{ timer timer }
)

// wakeController sets when the controller does something next: sends the next call, or plans because something has changed, or
// because the last plan said so. It keeps the interval between plans, the rate of calls, and the pause after calls that failed.
func (s *Simulation) wakeController() {
	c := &s.controller
	switch {
	case c.down:
		s.queue.stop(&c.timer)
	case c.busy:
		s.queue.put(&c.timer, max(c.nextCall, s.elapsed))
	case c.dirty && !c.ever:
		s.queue.put(&c.timer, s.elapsed)
	case c.dirty:
		s.queue.put(&c.timer, max(c.last+s.scenario.Controller.Interval, c.nextCall, c.retryAt, s.elapsed))
	case c.wake > 0:
		s.queue.put(&c.timer, max(c.last+s.scenario.Controller.Interval, c.nextCall, c.wake))
	default:
		s.queue.stop(&c.timer)
	}
}

// fire does nothing: the controller's turn comes after all else of its instant.
func (c *controller) fire(*Simulation) {}

// inFlight is what the controller asked for and does not see yet. It forgets what the watches show by now.
func (s *Simulation) inFlight() rollout.InFlight {
	f := &s.controller.flight
	f.creates = slices.DeleteFunc(f.creates, func(p *pod) bool { return p.shown.ever })
	f.deletes = slices.DeleteFunc(f.deletes, func(p *pod) bool {
		return p.shown.ever && (p.shown.at == 0 || s.cache.pods[p.shown.at-1].DeletionTimestamp != nil)
	})
	f.patches = slices.DeleteFunc(f.patches, func(e expected[*pod]) bool { return e.what.shown.shows >= e.version })
	f.revisions = slices.DeleteFunc(f.revisions, func(e expected[string]) bool { return s.shownRevisions.shows >= e.version })
	var out rollout.InFlight
	for _, p := range f.creates {
		out.Creates = append(out.Creates, rollout.InFlightCreate{Node: targetOf(p), Revision: revisionOf(p.object)})
	}
	for _, p := range f.deletes {
		out.Deletes = append(out.Deletes, p.object.UID)
	}
	for _, e := range f.patches {
		out.Patches = append(out.Patches, e.what.object.UID)
	}
	slices.Sort(out.Patches) // a pod may have several
	out.Patches = slices.Compact(out.Patches)
	for _, e := range f.revisions {
		if !slices.Contains(out.Revisions, e.what) {
			out.Revisions = append(out.Revisions, e.what)
		}
	}
	for _, a := range s.pulls {
		out.Pulls = append(out.Pulls, predownload.Request{Node: a.node.name, Image: a.image})
	}
	f.pulls = slices.DeleteFunc(f.pulls, func(e expected[*ahead]) bool { return e.what.node.shown.shows >= e.version })
	for _, e := range f.pulls {
		out.Pulls = append(out.Pulls, predownload.Request{Node: e.what.node.name, Image: e.what.image})
	}
	return out
}

// snapshot is what the controller sees. keep reports whether it has to stay as it is when the cache changes.
func (s *Simulation) snapshot(keep bool) rollout.Snapshot {
	nodes, pods := s.cache.nodes, s.cache.pods
	if keep {
		nodes, pods = slices.Clone(nodes), slices.Clone(pods)
	}
	return rollout.Snapshot{
		Now: s.now().Add(-s.controller.behind), Revisions: s.cache.revisions, Nodes: nodes, Pods: pods,
		FailedPulls: slices.Clone(s.failedPulls), InFlight: s.inFlight(), Memory: s.controller.memory,
		Reading: s.controller.reading,
	}
}

// decide plans with the planner of the scenario, or with the one of the library, in memory of its own if the plan is kept.
func (s *Simulation) decide(snapshot rollout.Snapshot, keep bool) (rollout.Plan, error) {
	switch {
	case s.ownPlan != nil:
		return s.ownPlan(snapshot)
	case keep:
		return s.planner.Plan(snapshot)
	default:
		return s.workspace.Plan(s.planner, snapshot)
	}
}

// makePlan makes and verifies a plan, and begins to carry it out. keep reports whether the step has to stay as it is when the run
// goes on.
func (s *Simulation) makePlan(observers []Observer, keep bool) (*Step, error) {
	c := &s.controller
	keep = keep || s.ownPlan != nil // which may keep its snapshot
	step := &Step{Number: s.step + 1, At: s.elapsed, Spec: s.spec, Snapshot: s.snapshot(keep)}
	if s.stalled(); s.atOnce > s.mostAtOnce() {
		return step, fmt.Errorf("%d plans were made at one instant, and there is no end to it", s.atOnce)
	}
	s.step++
	c.dirty, c.last, c.ever = false, s.elapsed, true
	var err error
	if step.Plan, err = s.decide(step.Snapshot, keep); err != nil {
		return step, err
	}
	s.tally.plan(s.elapsed, &step.Plan)
	s.recordPlan(&step.Plan)
	s.canaryChanged(&step.Plan.Canary)
	if update := step.Plan.Status.UpdateRevision; update != s.update {
		s.update = update
		s.observeAll()
	}
	s.decided = step.Plan
	if !s.scenario.Unverified {
		if s.violations = s.verifier.Plan(s.spec, step.Snapshot, &step.Plan); len(s.violations) > 0 {
			return step, nil
		}
	}
	for _, observe := range observers {
		if err := observe(s, step); err != nil {
			return step, err
		}
	}
	c.wake = 0
	if wake := step.Plan.NextWake; !wake.IsZero() {
		c.wake = wake.Sub(s.start) + c.behind
	}
	c.memory, c.reading = step.Plan.Memory, step.Plan.Reading
	s.failedPulls = slices.Clone(step.Plan.FailedPulls)
	c.begin(step.Plan, s.planner)
	if c.doomed {
		c.fatal = int(s.random.fraction("fatal", strconv.Itoa(c.restarts)) * float64(c.calls+1))
	}
	return step, s.send()
}

// stalled counts the plans at the present instant.
func (s *Simulation) stalled() {
	if s.atOnce > 0 && s.controller.last != s.elapsed {
		s.atOnce = 0
	}
	s.atOnce++
}

// mostAtOnce is how many plans may be made at one instant: each node may need a few, one after the other.
func (s *Simulation) mostAtOnce() int { return 1000 + 10*len(s.names) }

// begin makes the plan the one that is carried out.
func (c *controller) begin(plan rollout.Plan, planner *rollout.Planner) {
	c.planner = planner
	c.plan, c.call, c.calls, c.busy = plan, 0, actions(&plan), true
	c.refused, c.failed, c.reported, c.batches = nil, false, false, nil
	end := 0
	for _, batch := range plan.Batches() {
		end += len(batch)
		c.batches = append(c.batches, end)
	}
}

func actions(p *rollout.Plan) int {
	return len(p.Revisions) + len(p.Patches) + len(p.Pulls) + len(p.Deletes) + len(p.Creates)
}

// crashController ends the controller, now.
func (s *Simulation) crashController() {
	c := &s.controller
	c.goOn(s.elapsed)
	c.down, c.doomed, c.busy = true, false, false
	c.restarts++
	s.tally.controllerCrashed()
	s.recordCalls()
	s.record(Record{Kind: ControllerCrashed})
	s.queue.stop(&c.crash.timer)
	after := s.random.durationOf(s.scenario.Controller.Restart, "restart", strconv.Itoa(c.restarts))
	s.queue.put(&c.restart.timer, s.elapsed+after)
}

// fire is the controller's next crash by itself: now, or in the middle of its next plan.
func (t *crashTimer) fire(s *Simulation) {
	c := &s.controller
	const share = 0.5 // most of what goes wrong goes wrong at work
	if !c.busy && s.random.happens(share, "doomed", strconv.Itoa(c.restarts)) {
		c.doomed = true
		return
	}
	s.strike()
}

// strike crashes the controller, whatever it is doing, unless it is down.
func (s *Simulation) strike() {
	if !s.controller.down {
		s.crashController()
	}
}

// fire is the start of the controller.
func (t *restartTimer) fire(s *Simulation) {
	c := &s.controller
	c.down, c.flight = false, flight{}
	c.reading = nil
	if c.memory = c.saved; s.scenario.Controller.LosesMemory {
		c.memory = rollout.Memory{}
	}
	s.relist()
	s.record(Record{Kind: ControllerStarted})
	s.nextCrash()
}

// nextCrash draws when the controller crashes by itself.
func (s *Simulation) nextCrash() {
	c, model := &s.controller, &s.scenario.Controller
	if model.Crash.isSet() {
		s.queue.put(&c.crash.timer, s.elapsed+s.random.durationOf(model.Crash, "crash", strconv.Itoa(c.restarts)))
	}
}
