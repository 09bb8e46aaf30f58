package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// outcome is what came of a run.
type outcome struct {
	report   simulate.Report
	features features
	// failure is nil if all that must hold held.
	failure *failure
}

// failure is what must not happen and did.
type failure struct {
	// kind tells failures apart that have different causes. Shrinking keeps it.
	kind string
	// nodes concerned.
	nodes []string
	text  string
	// step at which the run ended; nil: there was none, or the failure is in the run as a whole.
	step *simulate.Step
}

// broken is the error of an observer: what an oracle of ours found.
type broken struct {
	oracle, node, text string
}

func (b *broken) Error() string { return b.oracle + ": " + b.text }

func brokenAt(oracle, node, format string, args ...any) *broken {
	return &broken{oracle, node, fmt.Sprintf(format, args...)}
}

// cluster is the simulated cluster as it is.
type cluster interface {
	Nodes() []*corev1.Node
	Pods() []*corev1.Pod
	NodeState(name string) simulate.NodeState
	Spec() rollout.Spec
}

// checker holds one run to what must hold on top of [rollout.Verify]. What it knows of the cluster is what is, and not what
// the controller sees, except where it says so. It is naive on purpose: it looks at everything again each time.
type checker struct {
	scenario *simulate.Scenario
	sim      cluster
	features features
	found    *broken // by an oracle that listens to records; it is told at the next occasion

	step    *simulate.Step // the last one
	runs    map[string]bool
	steps   int
	options checkOptions

	images  map[string]string // of the first container, by revision
	choices choices
	trials  map[string]*trial
	nodes   map[string]*nodeCount
	changes int // of the spec, the canary, and restarts of the controller
	befell  int // events on nodes
}

// checkOptions say how much is checked.
type checkOptions struct {
	// every is how many steps there are from one at which plans are made again to the next, to see whether planning is
	// pure (V13) and idempotent (V14), and wakes in time (V15). 0: never.
	every int
	// wanted turns a spec in force into the one that the oracles go by. Nil: it is that one. Another one is for tests: the
	// planner and Verify then agree on what the oracles are to reject.
	wanted func(rollout.Spec) rollout.Spec
}

// check runs a scenario.
func check(s simulate.Scenario, options checkOptions) outcome { return checkAnd(s, options, nil) }

// checkAnd tells somebody of all that happens, too.
func checkAnd(s simulate.Scenario, options checkOptions, listen func(simulate.Record)) (out outcome) {
	c := newChecker(&s, options)
	defer func() {
		if r := recover(); r != nil {
			out.failure = &failure{kind: fmt.Sprintf("panic: %v", r), text: string(debug.Stack()), step: c.step}
		}
	}()
	s.History = func(r simulate.Record) {
		if listen != nil {
			listen(r)
		}
		c.record(r)
	}
	sim, err := simulate.New(s)
	if err != nil {
		return outcome{failure: &failure{kind: "scenario", text: err.Error()}}
	}
	c.sim = sim
	sim.Watch(func(*simulate.Simulation) error { return c.watch() })
	report, err := sim.Run(nil, func(_ *simulate.Simulation, step *simulate.Step) error { return c.observe(step) })
	c.features.ofReport(&report)
	out = outcome{report: report, features: c.features}
	if err == nil {
		if err = c.end(&report); err == nil {
			return out
		}
	}
	out.failure = c.failed(err)
	return out
}

func newChecker(s *simulate.Scenario, options checkOptions) *checker {
	c := &checker{
		scenario: s, options: options, features: features{}, images: map[string]string{}, choices: newChoices(),
		trials: map[string]*trial{}, nodes: map[string]*nodeCount{},
	}
	c.knowImages()
	c.features.ofScenario(s)
	return c
}

// failed makes a failure of the error of a run.
func (c *checker) failed(err error) *failure {
	f := &failure{text: err.Error(), step: c.step}
	stepped, ok := errors.AsType[*simulate.StepError](err)
	if ok {
		f.step = &stepped.Step
	}
	if found, is := errors.AsType[*broken](err); is {
		f.kind = found.oracle
		if found.node != "" {
			f.nodes = []string{found.node}
		}
		return f
	}
	if !ok || len(stepped.Violations) == 0 {
		f.kind = "error"
		if ok && stepped.Err != nil {
			f.kind = "error: " + withoutDigits(stepped.Err.Error())
		}
		return f
	}
	f.kind = fmt.Sprintf("V%d", stepped.Violations[0].Invariant)
	for _, v := range stepped.Violations {
		if v.Node != "" && !slices.Contains(f.nodes, v.Node) {
			f.nodes = append(f.nodes, v.Node)
		}
	}
	return f
}

func withoutDigits(text string) string {
	b := []byte(text)
	return string(slices.DeleteFunc(b, func(c byte) bool { return '0' <= c && c <= '9' }))
}

// watch is called after all that happened at one instant, if the state of a node changed.
func (c *checker) watch() error {
	if c.found != nil {
		return c.found
	}
	return c.pods()
}

// observe is called with each plan before it is carried out.
func (c *checker) observe(step *simulate.Step) error {
	if c.options.wanted != nil {
		other := *step
		other.Spec = c.options.wanted(step.Spec)
		step = &other
	}
	c.step = step
	c.steps++
	if c.found != nil {
		return c.found
	}
	matcher, err := placement.Compile(&step.Spec.Template)
	if err != nil {
		return err
	}
	c.runs = map[string]bool{}
	for _, n := range step.Snapshot.Nodes {
		if matcher.Evaluate(n).Outcome == placement.Run {
			c.runs[n.Name] = true
		}
	}
	c.features.ofStep(step)
	for _, oracle := range []func(*simulate.Step) error{
		func(*simulate.Step) error { return c.pods() }, c.frozen, c.hooked, c.held, c.partitioned, c.tried, c.counted,
		c.replanned,
	} {
		if err := oracle(step); err != nil {
			return err
		}
	}
	return nil
}

// record listens to the run.
func (c *checker) record(r simulate.Record) {
	c.features.ofRecord(&r)
	switch r.Kind {
	case simulate.EventHappened:
		if r.Node == "" {
			c.changes++
		} else {
			c.befell++
			c.node(r.Node).befell++
		}
	case simulate.ControllerCrashed, simulate.CanaryChanged:
		c.changes++
	default:
	}
	for _, oracle := range []func(*simulate.Record) *broken{c.released, c.chosen, c.thrash} {
		if found := oracle(&r); found != nil && c.found == nil {
			c.found = found
		}
	}
}

// end is called when the run is over.
func (c *checker) end(report *simulate.Report) error {
	if c.found != nil {
		return c.found
	}
	return c.live(report)
}

// resolve makes a number of nodes of a quantity of the spec.
func resolve(quantity *intstr.IntOrString, unset, of int, up bool) int {
	if quantity == nil {
		return unset
	}
	if quantity.Type == intstr.Int {
		return int(quantity.IntVal)
	}
	percent, err := strconv.Atoi(quantity.StrVal[:len(quantity.StrVal)-1])
	if err != nil { // the spec is one of ours
		return unset
	}
	if up {
		return (of*percent + 99) / 100
	}
	return of * percent / 100
}

// live tells whether the pod is not marked for deletion.
func live(p *corev1.Pod) bool { return p.DeletionTimestamp == nil }

// isReady tells whether the pod is reported Ready.
func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// nodeOf is the node that the pod is bound or pinned to; empty: none.
func nodeOf(p *corev1.Pod) string {
	name, _ := placement.TargetNode(p)
	return name
}

// updateOf is the hash of the update revision of a plan.
func updateOf(plan *rollout.Plan) string { return plan.Status.UpdateRevision }
