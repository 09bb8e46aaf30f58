package differential_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/internal/differential"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stock"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// course is how a fleet got from where it was to where it came to rest, under one of the two.
type course struct {
	steps int // plans, or syncs, that did something
	// atOnce is the most of them at one instant.
	atOnce  int
	elapsed time.Duration
	settled bool
	end     map[string]string // by node
	// broken are the steps at which nodes were taken down, or pods put beside others, beyond what the set promises.
	broken int
	// needed are the rules that explain what a plan would have done otherwise on the way. Could are those that leave the
	// controller other choices than a plan, even where the plan is one of its choices.
	needed, could peer.RuleSet
}

// promise is a bound that the set gives, in nodes.
type promise struct {
	*placement.Matcher
	w             differential.World
	surge, budget int
	updated       func(*corev1.Pod) bool
}

func newPromise(w differential.World, spec rollout.Spec) promise {
	matcher, _ := placement.Compile(&spec.Template) // what it reports, New has accepted
	p := promise{Matcher: matcher, w: w, updated: func(pod *corev1.Pod) bool {
		return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == w.UpdateHash()
	}}
	desired := 0
	for _, n := range w.Nodes {
		if matcher.Evaluate(n).Outcome == placement.Run {
			desired++
		}
	}
	if r := w.Set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		p.surge, _ = intstr.GetScaledValueFromIntOrPercent(r.MaxSurge, desired, true)
		p.budget, _ = intstr.GetScaledValueFromIntOrPercent(r.MaxUnavailable, desired, true)
	}
	return p
}

// broken tells whether what is done to the pods breaks the promise: a pod that serves is taken away from a node that is to
// run one while more nodes than maxUnavailable are, or come to be, without; or one is put beside it while more nodes than
// maxSurge have a new pod that is not available beside an old one that is Ready.
func (p *promise) broken(s rollout.Snapshot, deletes, creates []string) bool {
	down, surging, chose, beside := 0, 0, false, false
	for _, n := range s.Nodes {
		if p.Evaluate(n).Outcome != placement.Run {
			continue
		}
		var before, after, old, fresh bool
		for _, pod := range s.Pods {
			if target, _ := placement.TargetNode(pod); target != n.Name || pod.DeletionTimestamp != nil {
				continue
			}
			available := lifecycle.Available(pod, p.w.Set.Spec.MinReadySeconds, s.Now)
			serves := p.serves(pod, s.Now)
			before = before || serves
			if !slices.Contains(deletes, pod.Name) {
				after = after || serves
				old = old || lifecycle.Ready(pod) && !p.updated(pod)
				fresh = fresh || !available && p.updated(pod)
			}
		}
		created := slices.Contains(creates, n.Name)
		if !after {
			down++
		}
		if old && (fresh || created) {
			surging++
		}
		chose = chose || before && !after
		beside = beside || old && created
	}
	if p.surge > 0 {
		return beside && surging > p.surge || chose
	}
	return chose && down > p.budget
}

// serves is what B2 calls so.
func (p *promise) serves(pod *corev1.Pod, now time.Time) bool {
	return lifecycle.Available(pod, p.w.Set.Spec.MinReadySeconds, now) || lifecycle.Ready(pod) && !p.updated(pod)
}

// asPlans lets the controller plan for the harness's cluster. The stock planner, which sees the same, must ask for as much each time,
// also while failed pods wait for their back-off. Which pods it may ask for is compared step by step.
type asPlans struct {
	*differential.Controller
	world  differential.World
	stock  *stock.Kubernetes
	memory rollout.Memory // of the stock planner
}

// drivenBy returns what plans in the world as the driver does.
func drivenBy(driver *differential.Controller, w differential.World, spec rollout.Spec) (harness.PlanFunc, error) {
	imitation, err := stock.NewKubernetes(spec, uint64(len(w.Pods)))
	return (&asPlans{Controller: driver, world: w, stock: imitation}).plan, err
}

func (a *asPlans) plan(s rollout.Snapshot) (rollout.Plan, error) {
	w := a.world
	w.Now, w.Nodes, w.Pods, w.Revisions = s.Now, s.Nodes, s.Pods, s.Revisions
	if err := a.Load(w); err != nil {
		return rollout.Plan{}, err
	}
	requests, err := a.Sync()
	if err != nil && !strings.Contains(err.Error(), "couldn't get node for nodeName") {
		return rollout.Plan{}, err
	}
	s.Memory = a.memory
	imitated, err := a.stock.Plan(s)
	if err != nil {
		return rollout.Plan{}, err
	}
	if a.memory = imitated.Memory; len(imitated.Creates) != len(requests.Creates) || len(imitated.Deletes) != len(requests.Deletes) {
		return rollout.Plan{}, fmt.Errorf("the stock planner asks for %d creates and %d deletes, the controller for %v and %v",
			len(imitated.Creates), len(imitated.Deletes), requests.Creates, requests.Deletes)
	}
	var plan rollout.Plan
	for _, r := range requests.Revisions {
		i := slices.IndexFunc(s.Revisions, func(o *appsv1.ControllerRevision) bool { return o.Name == r.Name })
		if r.Verb != "delete" || i < 0 {
			return rollout.Plan{}, fmt.Errorf("the history is as it should be, but the controller wants to %s %s", r.Verb, r.Name)
		}
		plan.Revisions = append(plan.Revisions, rollout.RevisionAction{Verb: rollout.DeleteRevision, Name: r.Name, UID: s.Revisions[i].UID})
	}
	for i, node := range requests.Creates {
		hash := requests.Templates[i].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		plan.Creates = append(plan.Creates, rollout.Create{Node: node, Revision: hash})
	}
	for _, p := range s.Pods {
		node, _ := placement.TargetNode(p)
		if slices.Contains(requests.Deletes, p.Name) {
			plan.Deletes = append(plan.Deletes, rollout.Delete{Node: node, Pod: p.Name, UID: p.UID})
		}
		if p.DeletionTimestamp != nil {
			continue
		}
		// It asks to be called again when a back-off or minReadySeconds are over.
		wake := lifecycle.Evaluate(p, w.Set.Spec.MinReadySeconds, s.Now).AvailableAt
		if lifecycle.Terminal(p) {
			wake = s.Now.Add(time.Second)
		}
		if wake.After(s.Now) && (plan.NextWake.IsZero() || wake.Before(plan.NextWake)) {
			plan.NextWake = wake
		}
	}
	return plan, nil
}

// travel lets a cluster run until it is at rest, under the driver if there is one, else under the planner. Each step on the way
// is compared with what the other would do.
func travel(
	c *differential.Controller, w differential.World, spec rollout.Spec, behavior harness.Behavior, driver *differential.Controller,
) (course, error) {
	begin := rollout.Snapshot{
		Now: w.Now, Nodes: w.Nodes, Pods: w.Pods, Revisions: w.Revisions,
		Memory: rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: w.Set.Status.CollisionCount},
	}
	cluster, err := harness.NewCluster(spec, begin, behavior)
	if err != nil {
		return course{}, err
	}
	plan := cluster.Plan
	if driver != nil {
		driver.Forget()
		if plan, err = drivenBy(driver, w, spec); err != nil {
			return course{}, err
		}
	}
	bound := newPromise(w, spec)
	t := course{end: map[string]string{}}
	var instant time.Time
	atInstant := 0
	result, err := cluster.Run(plan, 4*cluster.Steps(), func(s rollout.Snapshot, p rollout.Plan) error {
		if driver == nil {
			for _, v := range verify.Plan(spec, s, &p) {
				return errors.New(v.String())
			}
		}
		now := w
		now.Now, now.Nodes, now.Pods, now.Revisions = s.Now, s.Nodes, s.Pods, s.Revisions
		step, err := take(c, now)
		if err != nil {
			return err
		}
		needed, err := step.differ()
		t.needed |= needed
		for _, r := range []peer.Rule{peer.KeepReplacesNothing, peer.GenerationLabel, peer.ServesWhileLeaving} {
			if step.situation.Matters(r, peer.DecidedBy(step.plan)) {
				t.could |= 1 << r
			}
		}
		if err != nil || p.Empty() {
			return err
		}
		t.steps++
		if !s.Now.Equal(instant) {
			instant, atInstant = s.Now, 0
		}
		atInstant++
		t.atOnce = max(t.atOnce, atInstant)
		decided := peer.DecidedBy(p)
		if bound.broken(s, peer.Deleted.Among(decided.Fates), decided.Creates) {
			t.broken++
		}
		return nil
	})
	t.settled = result.Settled
	if events := cluster.Events(); len(events) > 0 { // what a clock changes after it is a matter of the status
		t.elapsed = events[len(events)-1].At.Sub(w.Now)
	}
	for _, n := range result.Snapshot.Nodes {
		t.end[n.Name] = ends(bound, result.Snapshot, n)
	}
	return t, err
}

// ends says what runs on a node: how many pods of which kind.
func ends(p promise, s rollout.Snapshot, n *corev1.Node) string {
	var pods []string
	for _, pod := range s.Pods {
		target, _ := placement.TargetNode(pod)
		if target != n.Name {
			continue
		}
		pods = append(pods, fmt.Sprintf("updated %v, ready %v, phase %s", p.updated(pod), lifecycle.Ready(pod), pod.Status.Phase))
	}
	slices.Sort(pods)
	return fmt.Sprintf("%v: %s", p.Evaluate(n).Outcome, strings.Join(pods, "; "))
}

// lasting are the rules for which nodes of an outcome can come to rest otherwise than under the controller.
var lasting = map[placement.Outcome][]peer.Rule{
	placement.Run:   {peer.GenerationLabel, peer.VanishedNodeStopsNothing, peer.BestPodStays},
	placement.Keep:  {peer.KeepReplacesNothing, peer.GenerationLabel, peer.BestPodStays},
	placement.Leave: {peer.ServesWhileLeaving},
}

// stopping are the rules for which a rollout that cannot succeed, because no new pod becomes ready, stops at another number of
// nodes.
var stopping = []peer.Rule{
	peer.ReadyPodServes, peer.UnavailableNewPodHoldsPlace, peer.BudgetCountsRunNodes, peer.OneServingPodWillDo, peer.MissingPodsComeFirst,
}

// counting are the rules that make a status another one, and nothing else.
const counting peer.RuleSet = 1<<peer.TerminatingIsNotLive | 1<<peer.AnyPodCounts

// TestWholeRollouts lets the controller and the planner bring the same fleet to rest, with the same kubelets, and compares
// the ends, how long it took, and what was promised on the way.
func TestWholeRollouts(t *testing.T) {
	c, driver := newController(t), newController(t)
	var n journeys
	check(t, 40, func(t *rapid.T) {
		g := generator{t}
		w := rapid.OneOf(anyFleet(), anyFleet(), anyWorld()).Draw(t, "world")
		behavior := harness.Behavior{
			Start: time.Duration(g.oneOf("start", 5, 1, 40)) * time.Second,
			Stop:  time.Duration(g.oneOf("stop", 2, 30)) * time.Second,
		}
		if g.chance("never ready", 10) {
			behavior.NeverReady = []string{w.UpdateHash()}
		}
		if err := n.compare(c, driver, w, behavior); err != nil {
			t.Fatal(report("TestWholeRollouts", w, fmt.Errorf("%+v: %w", behavior, err)))
		}
	})
	n.log(t)
	if n.rollouts == 0 || n.theirSteps == 0 {
		t.Error("too little was compared")
	}
}

// journeys counts what the comparison of whole rollouts has seen.
type journeys struct {
	rollouts, sameEnd, faster, slower int
	ourSteps, theirSteps              int
	ourBroken, theirBroken            int
	restless                          int
	ends                              [peer.Rules]int
}

func (n *journeys) compare(c, driver *differential.Controller, w differential.World, behavior harness.Behavior) error {
	start, err := take(c, w)
	if err != nil {
		return err
	}
	w.Pods = start.claims.Pods
	spec := start.spec
	ours, err := travel(c, w, spec, behavior, nil)
	if err != nil {
		return fmt.Errorf("under the planner: %w", err)
	}
	theirs, err := travel(c, w, spec, behavior, driver)
	if err != nil {
		return fmt.Errorf("under the controller: %w", err)
	}
	n.rollouts++
	n.ourSteps += ours.steps
	n.theirSteps += theirs.steps
	n.theirBroken += theirs.broken
	n.ourBroken += ours.broken
	if ours.broken > 0 {
		return errors.New("the planner breaks its promise")
	}
	if !ours.settled {
		return errors.New("the planner never comes to rest")
	}
	if !theirs.settled {
		n.restless++
	}
	n.faster += btoi(ours.elapsed < theirs.elapsed)
	n.slower += btoi(ours.elapsed > theirs.elapsed)
	needed := ours.needed | theirs.needed
	// How many steps there are in all says nothing: which node goes next is a free choice (B6), and after it pods may come up one by
	// one that would else come up together. The controller chooses anew each time.
	if later, more := ours.elapsed > theirs.elapsed, ours.atOnce > theirs.atOnce; (later || more) && needed&^counting == 0 {
		return fmt.Errorf("the planner takes %v, and up to %d steps at one instant, the controller %v and %d, and no rule says why",
			ours.elapsed, ours.atOnce, theirs.elapsed, theirs.atOnce)
	}
	var could []peer.Rule
	if len(behavior.NeverReady) > 0 {
		could = stopping
	}
	return n.compareEnds(ours, theirs, needed|ours.could|theirs.could, could)
}

// compareEnds looks at the nodes of each outcome as a whole: where a rollout stops half-way, on which nodes that is was a free
// choice.
func (n *journeys) compareEnds(ours, theirs course, needed peer.RuleSet, more []peer.Rule) error {
	same := true
	for outcome, rules := range lasting {
		if slices.Equal(ours.endsOf(outcome), theirs.endsOf(outcome)) {
			continue
		}
		same = false
		explained := false
		for _, r := range slices.Concat(rules, more) {
			if needed.Has(r) {
				n.ends[r]++
				explained = true
			}
		}
		if !explained {
			return fmt.Errorf("the ends of %v nodes differ, and no rule says why:\nours   %v\ntheirs %v\nrules %b",
				outcome, ours.end, theirs.end, needed)
		}
	}
	n.sameEnd += btoi(same)
	return nil
}

// endsOf lists what runs on the nodes of an outcome.
func (c *course) endsOf(outcome placement.Outcome) (ends []string) {
	for _, end := range c.end {
		if strings.HasPrefix(end, outcome.String()+":") {
			ends = append(ends, end)
		}
	}
	slices.Sort(ends)
	return ends
}

func (n *journeys) log(t *testing.T) {
	t.Helper()
	t.Logf("%d rollouts: %d end alike; the planner was faster in %d and slower in %d", n.rollouts, n.sameEnd, n.faster, n.slower)
	t.Logf("steps that did something: %d of the planner, %d of the controller; steps beyond the budget: %d and %d; %d never ended under the controller",
		n.ourSteps, n.theirSteps, n.ourBroken, n.theirBroken, n.restless)
	for r := range peer.Rules {
		if n.ends[r] == 0 {
			continue
		}
		t.Logf("%6d ends differ where a step needs %s", n.ends[r], peer.Entries[r].ID)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
