package simulate

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

const (
	hashLabel    = appsv1.DefaultDaemonSetUniqueLabelKey
	defaultLimit = 7 * 24 * time.Hour
)

// Simulation is one run, step by step. It is not for concurrent use.
type Simulation struct {
	scenario Scenario
	random   random
	start    time.Time
	elapsed  time.Duration
	limit    time.Duration

	queue    queue
	registry *registry
	tally    *tally

	// The spec in force, and what is derived from it.
	spec      rollout.Spec
	planner   *rollout.Planner
	ownPlan   PlanFunc          // of the scenario; nil: it has none
	workspace rollout.Workspace // of plans that nobody keeps
	verifier  verify.Verifier
	matcher   *placement.Matcher
	overrides *placement.Overrides
	update    string // hash of the update revision

	nodes       map[string]*node
	names       []*node // ascending by name
	pools       map[string]*Pool
	imageLists  map[longer]imageList
	joined      map[string]int  // the number of the next node of a pool
	taken       map[string]bool // names and UIDs of pods of the beginning
	pods        map[types.UID]*pod
	claims      []*corev1.PersistentVolumeClaim // of the fleet, those that only one pod may use
	order       []*pod                          // as they were created, those that are gone too until there are many
	made        made                            // the last pod that the controller made, which others are like
	dead        int
	revisions   []*appsv1.ControllerRevision
	pulls       []*ahead // in no order that means anything
	failedPulls []predownload.Failure
	created     int
	version     int

	cache          cache
	shownRevisions sights[[]*appsv1.ControllerRevision]
	epoch          int // of lists by the controller
	controller     controller

	// What observers, watchers and the report need.
	watching bool
	counts   [nodeStates]int
	lacking  map[string]int // unavailable nodes by zone
	changed  bool
	watchers []func(*Simulation) error
	canary   canaryState
	told     told         // what the history has of plans
	decided  rollout.Plan // the last one
	healing  int          // undoings that are to come
	// usedRules says which rules were about a pod. happenings are the events of the scenario.
	usedRules  []bool
	ruleSets   map[string]*Kubelet // by the ordinals of the rules that are in each
	noRules    Kubelet             // that hold for a pod of which nothing runs
	happenings []*happening

	step       int
	atOnce     int // plans at this instant
	end        End
	violations []verify.Violation
	failure    error
}

// Step is one plan of the run.
type Step struct {
	// Number counts plans from 1.
	Number int
	// At is when the plan was made, from the beginning of the run.
	At time.Duration
	// Spec is the one in force, Snapshot what the controller saw, and Plan what it made of it. An [Observer] gets only plans
	// that hold the invariants. The three must not be written to.
	Spec     rollout.Spec
	Snapshot rollout.Snapshot
	Plan     rollout.Plan
}

// Observer is called at every step, after the plan was verified and before it is carried out. An error ends the run, which
// returns it in a [*StepError]. See [Simulation.Watch] for what happens between steps.
type Observer func(*Simulation, *Step) error

// New returns the simulation of a scenario at its beginning. The error lists every mistake in the scenario, with field
// paths.
func New(scenario Scenario) (*Simulation, error) {
	if err := scenario.Validate(); err != nil {
		return nil, err
	}
	snapshot, err := scenario.Fleet.snapshot()
	if err != nil {
		return nil, err
	}
	s := &Simulation{
		scenario: scenario, random: random(scenario.Seed), start: snapshot.Now, limit: scenario.Limit,
		nodes: make(map[string]*node, len(snapshot.Nodes)), pods: make(map[types.UID]*pod, len(snapshot.Pods)),
		pools: map[string]*Pool{}, imageLists: map[longer]imageList{}, joined: map[string]int{},
		lacking: map[string]int{},
		taken:   make(map[string]bool, 2*len(snapshot.Pods)),
		tally:   newTally(scenario.Spec.Name, scenario.Seed),
		claims:  slices.DeleteFunc(slices.Clone(scenario.Fleet.Claims), usedByMany),
	}
	if s.limit == 0 {
		s.limit = defaultLimit
	}
	s.usedRules, s.ruleSets = make([]bool, len(scenario.Model.Kubelets)), map[string]*Kubelet{}
	s.registry = newRegistry(scenario.Model.Registry, s.random)
	s.controller.timer.owner = &s.controller
	s.controller.timer.background = true // whether there is anything to do is asked otherwise
	s.controller.crash.timer.owner, s.controller.crash.timer.background = &s.controller.crash, true
	s.controller.restart.timer.owner = &s.controller.restart
	if err := s.use(scenario.Spec); err != nil {
		return nil, err
	}
	s.begin(&snapshot)
	return s, nil
}

// usedByMany reports whether more than one pod may use the claim. Of a nil one nothing is known.
func usedByMany(claim *corev1.PersistentVolumeClaim) bool {
	return claim == nil || !slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
}

// use puts a spec in force.
func (s *Simulation) use(spec rollout.Spec) error {
	planner, err := rollout.New(spec)
	if err != nil {
		return err
	}
	matcher, err := placement.Compile(&spec.Template)
	if err != nil {
		return err
	}
	defaulted := spec.Default()
	overrides, err := placement.CompileOverrides(defaulted.Namespace, defaulted.Name, &spec.Template, defaulted.Overrides)
	if err != nil {
		return err
	}
	var plan PlanFunc
	if s.scenario.Planner != nil {
		if plan, err = s.scenario.Planner(spec); err != nil {
			return err
		}
	}
	s.spec, s.planner, s.matcher, s.overrides, s.ownPlan = spec, planner, matcher, overrides, plan
	return nil
}

// Run runs a scenario to its end. The error is that of [New], or the [*StepError] that ended the run. In the latter case the
// report covers what happened until then.
func Run(scenario Scenario, observers ...Observer) (Report, error) {
	s, err := New(scenario)
	if err != nil {
		return Report{}, err
	}
	return s.Run(nil, observers...)
}

// Run goes on until the run is over or the condition holds after a step. A nil condition never holds. A run that is over stays
// over. A run that a condition ended goes on with the next call. The error is a [*StepError].
//
// Without a condition and observers nobody gets the steps, so that their plans are made in the same memory, one after the other.
// That spares a large fleet a quarter of the time. [Simulation.Watch] and [Scenario.History] make no difference to that.
func (s *Simulation) Run(until func(*Simulation, *Step) bool, observers ...Observer) (Report, error) {
	return s.run(until, observers, until != nil || len(observers) > 0)
}

// run is Run. keep reports whether anyone may keep a step for longer than the condition and the observers take.
func (s *Simulation) run(until func(*Simulation, *Step) bool, observers []Observer, keep bool) (Report, error) {
	for {
		step, err := s.advance(observers, keep)
		if err != nil {
			return s.Report(), err
		}
		if step == nil {
			return s.Report(), nil
		}
		if until != nil && until(s, step) {
			report := s.Report()
			report.End = EndCondition
			return report, nil
		}
	}
}

// Step goes on to the next plan, makes and verifies it, and carries it out as far as the controller gets before anything
// else happens. It returns nil if the run is over; Report.End then has the reason. The error is a [*StepError].
func (s *Simulation) Step() (*Step, error) { return s.advance(nil, true) }

// advance goes on to the next plan. keep reports whether the step has to stay as it is when the run goes on.
func (s *Simulation) advance(observers []Observer, keep bool) (*Step, error) {
	if !s.watching {
		s.watching = true
		s.observeAll()
	}
	for s.end == 0 {
		at, ok := s.next()
		if at > s.elapsed || !ok || s.atRest() { // nothing more happens now
			if err := s.tell(); err != nil {
				return nil, s.fail(nil, err)
			}
		}
		switch {
		case !ok, s.atRest():
			end := EndStuck
			if s.complete() {
				end = EndDone
			}
			s.ended(end)
			return nil, nil
		case at > s.limit:
			s.elapsed = s.limit
			s.ended(EndLimit)
			return nil, nil
		}
		s.elapsed = at
		s.happenNow()
		if s.failure != nil {
			return nil, s.fail(nil, s.failure)
		}
		if s.wakeController(); !s.controller.timer.isSet() || s.controller.timer.at > s.elapsed {
			continue
		}
		if s.controller.busy {
			if err := s.send(); err != nil {
				return nil, s.fail(nil, err)
			}
			continue
		}
		step, err := s.makePlan(observers, keep)
		if err != nil || len(s.violations) > 0 {
			return step, s.fail(step, err)
		}
		return step, nil
	}
	return nil, nil
}

// next is the next instant at which anything happens.
func (s *Simulation) next() (time.Duration, bool) {
	s.wakeController()
	at, ok := s.registry.next()
	if t := s.queue.next(); t != nil && (!ok || t.at < at) {
		at, ok = t.at, true
	}
	return max(at, s.elapsed), ok
}

// happenNow lets everything happen that is due, except what the controller does, which comes last.
func (s *Simulation) happenNow() {
	for {
		pulls := s.registry.advance(s.elapsed)
		for _, pull := range pulls {
			s.pulledImage(pull)
		}
		s.countFlows()
		fired := 0
		for t := s.queue.next(); t != nil && t.at <= s.elapsed; t = s.queue.next() {
			s.queue.stop(t)
			if t != &s.controller.timer { // which is set again when the rest is done
				t.owner.fire(s)
				fired++
			}
		}
		if fired == 0 && len(pulls) == 0 {
			return
		}
	}
}

// tell calls the watchers, if anything changed at this instant.
func (s *Simulation) tell() error {
	if !s.changed {
		return nil
	}
	s.changed = false
	for _, watch := range s.watchers {
		if err := watch(s); err != nil {
			return err
		}
	}
	return nil
}

// atRest reports whether nothing will happen any more, except what recurs without end.
func (s *Simulation) atRest() bool {
	c := &s.controller
	if c.down || c.busy || c.dirty || c.wake > 0 || s.queue.foreground > 0 || s.registry.pulling() > 0 {
		return false
	}
	return s.healing == 0 || s.complete()
}

// fail ends the run at a step, or between steps if step is nil.
func (s *Simulation) fail(step *Step, err error) error {
	end := EndCondition
	if len(s.violations) > 0 {
		end = EndViolation
	}
	s.ended(end)
	failed := &StepError{Seed: s.scenario.Seed, Violations: s.violations, Err: err}
	if step != nil {
		failed.Step = *step
	} else {
		failed.Step = Step{Number: s.step, At: s.elapsed, Spec: s.spec, Snapshot: s.snapshot(true)}
	}
	return failed
}

// Report sums up the run so far.
func (s *Simulation) Report() Report {
	report := s.tally.report(s.elapsed, s.end, s.violations)
	report.State, report.Reason = s.decided.Status.State, s.decided.Status.Reason
	report.RateLimited = s.controller.rateLimited(s.elapsed)
	report.Unused = s.unused()
	return report
}

// unused lists the parts of the scenario that have had no effect so far.
func (s *Simulation) unused() []string {
	var paths []string
	for i, used := range s.usedRules {
		if !used {
			paths = append(paths, fmt.Sprintf("model.kubelets[%d]", i))
		}
	}
	for i, h := range s.happenings {
		if h.times > 0 && !h.effect {
			paths = append(paths, fmt.Sprintf("events[%d]", i))
		}
	}
	return paths
}

// Watch makes the run call f whenever the state of a node changed, once for each instant, after all that happens then, between
// steps too. An error ends the run like that of an [Observer]. A nil function is ignored.
func (s *Simulation) Watch(f func(*Simulation) error) {
	if f != nil {
		s.watchers = append(s.watchers, f)
	}
}
