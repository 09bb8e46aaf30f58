package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/status"
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

// broken is the error of an observer: what must hold and does not.
type broken struct {
	kind, node, text string
}

func (b *broken) Error() string { return b.kind + ": " + b.text }

// checker holds one run to what must hold on top of verify.Plan: the judge watches the cluster's objects, and plans are
// made again now and then.
type checker struct {
	scenario *simulate.Scenario
	sim      *simulate.Simulation
	judge    *judge.Judge
	features features
	options  checkOptions
	step     *simulate.Step // the last one
	steps    int
	said     time.Duration // when a plan said last that nothing is left to do, or who is to do what
}

// checkOptions say how much is checked.
type checkOptions struct {
	// every is how many steps there are from one at which plans are made again to the next, to see whether planning is
	// pure (V13) and idempotent (V14), and wakes in time (V15). 0: never.
	every int
	// wanted turns a spec in force into the one that the judge goes by. Nil: it is that one. Another one is for tests: the
	// planner and the verifier then agree on what the judge is to reject.
	wanted func(rollout.Spec) rollout.Spec
	// spoil changes plans after they were verified. Nil: no plan is changed. It is for tests, too: the judge sees what comes
	// of a planner with a bug that the verifier would have noticed.
	spoil func(*simulate.Step)
	// ends: the set comes to its end, or says what is in its way and what would help.
	ends bool
	// good are the hashes of revisions that may not be given up.
	good []string
}

// check runs a scenario.
func check(s simulate.Scenario, options checkOptions) outcome { return checkAnd(s, options, nil) }

// checkAnd tells somebody of all that happens, too.
func checkAnd(s simulate.Scenario, options checkOptions, listen func(simulate.Record)) (out outcome) {
	c := &checker{scenario: &s, options: options, features: features{}}
	c.features.ofScenario(&s)
	defer func() {
		if r := recover(); r != nil {
			out.failure = &failure{kind: fmt.Sprintf("panic: %v", r), text: string(debug.Stack()), step: c.step}
		}
	}()
	s.History = func(r simulate.Record) {
		if listen != nil {
			listen(r)
		}
		c.record(&r)
	}
	sim, err := simulate.New(s)
	if err != nil {
		return outcome{failure: &failure{kind: "scenario", text: err.Error()}}
	}
	c.sim = sim
	c.judge = judge.New(sim.Now(), c.cluster())
	sim.Watch(func(*simulate.Simulation) error {
		c.see()
		return c.found()
	})
	report, err := sim.Run(nil, func(_ *simulate.Simulation, step *simulate.Step) error { return c.observe(step) })
	c.features.ofReport(&report)
	out = outcome{report: report, features: c.features}
	if err == nil {
		err = c.end(&report)
	}
	if err != nil {
		out.failure = c.failed(err)
	}
	return out
}

// failed makes a failure of the error of a run.
func (c *checker) failed(err error) *failure {
	f := &failure{text: err.Error(), step: c.step}
	stepped, ok := errors.AsType[*simulate.StepError](err)
	if ok {
		f.step = &stepped.Step
	}
	if found, is := errors.AsType[*broken](err); is {
		f.kind = found.kind
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

func (c *checker) cluster() judge.Cluster {
	return judge.Cluster{Nodes: c.sim.Nodes(), Pods: c.sim.Pods(), Revisions: c.sim.Revisions()}
}

func (c *checker) see() { c.judge.See(c.sim.Now(), c.cluster()) }

// found is what the judge has found, if anything; the first finding ends the run.
func (c *checker) found() error {
	list := c.judge.Findings()
	if len(list) == 0 {
		return nil
	}
	var text strings.Builder
	for i, f := range list {
		if i > 0 {
			text.WriteString("\n  and ")
		}
		text.WriteString(f.String())
	}
	return &broken{list[0].Rule.String(), list[0].Node, text.String()}
}

func (c *checker) spec(spec rollout.Spec) rollout.Spec {
	if c.options.wanted != nil {
		return c.options.wanted(spec)
	}
	return spec
}

// observe is called with each plan before it is carried out.
func (c *checker) observe(step *simulate.Step) error {
	c.step = step
	c.steps++
	c.see()
	if err := c.found(); err != nil {
		return err
	}
	c.judge.Look(c.spec(step.Spec), step.Snapshot)
	c.features.ofStep(step)
	if err := c.counted(step); err != nil {
		return err
	}
	if saysWhy(&step.Plan) {
		c.said = step.At
	}
	if err := c.blamed(step); err != nil {
		return err
	}
	if err := c.replanned(step); err != nil {
		return err
	}
	if c.options.spoil != nil {
		c.options.spoil(step)
	}
	return nil
}

// blamed is an error if a revision was given up that is known to work.
func (c *checker) blamed(step *simulate.Step) error {
	for _, revision := range step.Snapshot.Revisions {
		if hash := history.HashOf(revision); history.Failed(revision) && slices.Contains(c.options.good, hash) {
			return &broken{"blame", "", fmt.Sprintf("revision %s was given up (%q), and nothing that happened is its doing",
				hash, revision.Annotations[history.FailedAnnotation])}
		}
	}
	return nil
}

// saysWhy reports whether nothing is left to do by a plan, or who is to do what.
func saysWhy(plan *rollout.Plan) bool {
	switch plan.Status.State {
	case status.Running, status.Paused, status.CanaryPaused, status.CanaryFailed, status.RolledBack:
		return true
	default:
		return plan.Status.State == status.Stuck && len(plan.Blockers) > 0
	}
}

// crashes reports whether a plan says of some node that a container restarts again and again.
func crashes(plan *rollout.Plan) bool {
	return slices.ContainsFunc(plan.Causes, func(c rollout.NodeCause) bool { return c.Restarts > 5 })
}

// ended is an error if the set has neither come to its end nor says who is to do what.
func (c *checker) ended(report *simulate.Report) error {
	if c.step == nil || report.End == simulate.EndDone {
		return nil
	}
	if report.End == simulate.EndLimit && (c.said > 0 && report.Elapsed-c.said < 24*time.Hour || crashes(&c.step.Plan)) {
		return nil // pods that crash for ever may serve for seconds in between
	}
	if saysWhy(&c.step.Plan) {
		return nil
	}
	plan := &c.step.Plan
	return &broken{"end", "", fmt.Sprintf("after %v the state is %s (%s), with %d blockers and next wake %v",
		report.Elapsed, plan.Status.State, plan.Status.Reason, len(plan.Blockers), plan.NextWake)}
}

// record tells the judge of the controller's requests that took effect, as an audit log of the API server would.
func (c *checker) record(r *simulate.Record) {
	c.features.ofRecord(r)
	if c.judge == nil {
		return
	}
	switch r.Kind {
	case simulate.PodCreated:
		c.see()
		c.judge.Created(c.pod(r.Pod))
	case simulate.PodDeleted:
		c.see()
		c.judge.Deleted(c.pod(r.Pod))
	case simulate.PodPatched:
		after := c.pod(r.Pod)
		before := c.judge.Known(after.UID)
		c.see()
		c.judge.Patched(before, after)
	case simulate.RevisionChanged:
		c.see()
	case simulate.ContainerRestarted:
		if p := c.pod(r.Pod); p != nil {
			c.judge.Restarted(p, r.Detail)
		}
	case simulate.CallFailed:
		c.judge.Refused()
	case simulate.ControllerCrashed:
		c.judge.Crashed()
	default:
	}
}

// pod is the pod of that name as it is.
func (c *checker) pod(name string) *corev1.Pod {
	pods := c.sim.Pods()
	if i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == name }); i >= 0 {
		return pods[i]
	}
	return nil
}

// end is called when the run is over.
func (c *checker) end(report *simulate.Report) error {
	c.see()
	if report.End == simulate.EndDone || report.End == simulate.EndStuck {
		c.judge.Rest(c.spec(c.sim.Spec()))
	}
	if c.options.ends {
		if err := c.ended(report); err != nil {
			return err
		}
	}
	return c.found()
}
