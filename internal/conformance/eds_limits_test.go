package conformance_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// edsLimits is a recording of how many pods the controller creates and deletes, given ten numbers.
type edsLimits struct {
	Name  string `json:"name"`
	Input struct {
		Nodes              int `json:"nodes"`
		Pods               int `json:"pods"`
		AvailablePods      int `json:"availablePods"`
		OldAvailablePods   int `json:"oldAvailablePods"`
		OldUnavailablePods int `json:"oldUnavailablePods"`
		UnresponsiveNodes  int `json:"unresponsiveNodes"`
		CreatedPods        int `json:"createdPods"`
		MaxPodCreation     int `json:"maxPodCreation"`
		MaxUnavailable     int `json:"maxUnavailable"`
		MaxUnschedulable   int `json:"maxUnschedulable"`
	} `json:"input"`
	Expect struct {
		Create int `json:"create"`
		Delete int `json:"delete"`
	} `json:"expect"`
}

// These are the deliberate differences of the limits. They are switches of their model.
const (
	limitsBrokenInFull = 1 << iota
	limitsDeletesInTurn
	limitsRules // end
)

var edsLimitsEntries = map[int]edsEntry{
	limitsBrokenInFull: {"limits-broken-in-full", "B3",
		"broken outdated pods raise the controller's budget, whoever then goes; here they all go, and no healthy one for them"},
	limitsDeletesInTurn: {"limits-deletes-in-turn", "B7",
		"the controller's deletes have no part in maxPodCreation; here they get what creates leave of it"},
}

// outcome returns how many pods are created and deleted, with some of our rules. The controller picks the deleted pods at random.
func (c *edsLimits) outcome(rules int) (creates, deletes int) {
	in := c.Input
	creates = max(0, min(in.Nodes-in.Pods, in.MaxPodCreation))
	unavailable := in.Nodes - min(in.UnresponsiveNodes, in.MaxUnschedulable) - in.AvailablePods - in.OldAvailablePods
	if rules&limitsBrokenInFull == 0 {
		deletes = max(0, min(in.MaxUnavailable-unavailable+in.OldUnavailablePods, in.MaxUnavailable))
	} else {
		deletes = in.OldUnavailablePods + max(0, min(in.MaxUnavailable-unavailable, in.OldAvailablePods))
	}
	if rules&limitsDeletesInTurn != 0 {
		deletes = min(deletes, max(0, in.MaxPodCreation-min(creates, c.missing())))
	}
	return creates, deletes
}

// missing returns how many nodes have no pod. The pods of unresponsive nodes are not counted among the pods, but they exist.
func (c *edsLimits) missing() int { return c.Input.Nodes - c.Input.Pods - c.Input.UnresponsiveNodes }

// done returns how many pods are really created and deleted: not more than there are nodes without a pod, and outdated pods.
func (c *edsLimits) done(rules int) (creates, deletes int) {
	creates, deletes = c.outcome(rules)
	return min(creates, c.missing()), min(deletes, c.Input.OldAvailablePods+c.Input.OldUnavailablePods)
}

// impossible returns why no cluster can have these numbers; empty if one can.
func (c *edsLimits) impossible() string {
	in := c.Input
	switch {
	case max(in.Nodes, in.Pods, in.AvailablePods, in.OldAvailablePods, in.OldUnavailablePods, in.UnresponsiveNodes) > conformance.MostNodes:
		return "more objects than any cluster has"
	case max(in.MaxPodCreation, in.MaxUnavailable, in.MaxUnschedulable) > math.MaxInt32:
		return "a limit of more than 32 bits"
	case min(in.Nodes, in.Pods, in.AvailablePods, in.OldAvailablePods, in.OldUnavailablePods, in.UnresponsiveNodes) < 0:
		return "a negative number of objects"
	case min(in.MaxPodCreation, in.MaxUnavailable, in.MaxUnschedulable) < 0:
		return "a negative limit"
	case in.Pods+in.UnresponsiveNodes > in.Nodes:
		return "more nodes with a pod than nodes"
	case in.AvailablePods+in.OldAvailablePods+in.OldUnavailablePods > in.Pods:
		return "more pods of some kind than pods"
	default:
		return ""
	}
}

// spec returns a spec with the limits of the recording.
func (c *edsLimits) spec() rollout.Spec {
	quantity := func(n int) *intstr.IntOrString { return new(intstr.FromInt32(int32(n))) }
	spec := kit.Spec("agent", kit.Burst("100000"), kit.Image("agent:v2"))
	spec.Strategy.MaxUnavailable = quantity(c.Input.MaxUnavailable)
	spec.Strategy.MaxUnschedulable = quantity(c.Input.MaxUnschedulable)
	spec.Strategy.SlowStart = &rollout.SlowStart{
		Interval: time.Hour, Increase: quantity(c.Input.MaxPodCreation), MaxParallel: quantity(c.Input.MaxPodCreation),
	}
	return spec
}

// snapshot returns a cluster with these numbers. Pods that are of none of the counted kinds are new ones that do not become ready
// and were created too long ago to be under way.
func (c *edsLimits) snapshot(spec rollout.Spec) rollout.Snapshot {
	old := spec.Default()
	kit.Image("agent:v1")(&old)
	s := rollout.Snapshot{
		Now: kit.Noon(), Revisions: []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(spec, 2)},
		Memory: rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{Revision: kit.Hash(spec),
			Began: kit.Noon()}},
	}
	before, now := kit.AtRevision(kit.Hash(old)), kit.AtRevision(kit.Hash(spec))
	unschedulable := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	in := c.Input
	for _, kind := range []struct {
		count   int
		options func(node string) []kit.PodOption
	}{
		{in.AvailablePods, func(n string) []kit.PodOption { return []kit.PodOption{kit.OnNode(n), now} }},
		{in.OldAvailablePods, func(n string) []kit.PodOption { return []kit.PodOption{kit.OnNode(n), before} }},
		{in.OldUnavailablePods, func(n string) []kit.PodOption { return []kit.PodOption{kit.OnNode(n), before, kit.Unready()} }},
		{in.Pods - in.AvailablePods - in.OldAvailablePods - in.OldUnavailablePods,
			func(n string) []kit.PodOption { return []kit.PodOption{kit.OnNode(n), now, kit.Unready()} }},
		{in.UnresponsiveNodes, func(n string) []kit.PodOption { return []kit.PodOption{kit.PinnedTo(n), now, unschedulable} }},
		{c.missing(), nil},
	} {
		for range kind.count {
			name := fmt.Sprintf("n%05d", len(s.Nodes))
			s.Nodes = append(s.Nodes, kit.Node(name))
			if kind.options != nil {
				s.Pods = append(s.Pods, kit.Pod("p-"+name, append(kind.options(name), kit.ControlledBy(spec))...))
			}
		}
	}
	return s
}

// refused returns the field for which a spec with the limits is refused.
func (c *edsLimits) refused() string {
	switch {
	case c.Input.MaxUnavailable == 0: // without maxSurge no pod could ever be updated (B1)
		return "spec.strategy.maxUnavailable"
	case c.Input.MaxPodCreation == 0: // no pod could ever be created (B7)
		return "spec.strategy.slowStart.increase"
	default:
		return ""
	}
}

// TestConformanceEDSLimits compares how many pods are created and deleted in a cluster with the numbers of a recording. It also
// asserts the relation that holds instead of the controller's: broken pods are all replaced, as far as slow start permits it, and
// healthy pods are never deleted beyond the budget.
func TestConformanceEDSLimits(t *testing.T) {
	agree, explained, refused, impossible := 0, 0, make(map[string]int), make(map[string]int)
	needed := make(map[int]int)
	for _, c := range edsLines[edsLimits](t, "limits") {
		if creates, deletes := c.outcome(0); creates != c.Expect.Create || deletes != c.Expect.Delete {
			t.Errorf("%s: the model creates %d and deletes %d, the controller %+v", c.Name, creates, deletes, c.Expect)
		}
		if why := c.impossible(); why != "" {
			impossible[why]++
			continue
		}
		if path := c.refused(); path != "" {
			refused[path]++
			_, err := rollout.New(c.spec())
			assertEDSRefused(t, c.Name, err, path)
			continue
		}
		creates, deletes := c.plan(t)
		rules, ok := limitsRules-1, false
		for _, r := range []int{0, limitsBrokenInFull, limitsDeletesInTurn, limitsRules - 1} {
			if a, b := c.done(r); a == creates && b == deletes && !ok {
				rules, ok = r, true
			}
		}
		for r := range edsLimitsEntries {
			needed[r] += (rules & r) / r
		}
		switch a, b := c.done(limitsRules - 1); {
		case a != creates || b != deletes:
			t.Errorf("%s: unexplained: the plan creates %d and deletes %d, by our rules %d and %d: %+v", c.Name, creates,
				deletes, a, b, c.Input)
		case rules == 0:
			agree++
		default:
			explained++
		}
	}
	t.Logf("%d agree, %d explained, %v refused, %v that no cluster shows", agree, explained, refused, impossible)
	for r, e := range edsLimitsEntries {
		if t.Logf("%4d cases need it: %s (%s): %s", needed[r], e.id, e.rule, e.why); needed[r] == 0 && !edsElsewhere() {
			t.Errorf("no case needs %s", e.id)
		}
	}
}

// plan counts creates and deletes, and asserts what holds for them whatever the controller does.
func (c *edsLimits) plan(t *testing.T) (creates, deletes int) {
	t.Helper()
	spec := c.spec()
	snapshot := c.snapshot(spec)
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatalf("%s: New: %v", c.Name, err)
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatalf("%s: Plan: %v", c.Name, err)
	}
	if c.Input.Nodes <= 200 {
		verifyEDS(t, c.Name, spec, snapshot, plan)
	}
	broken, healthy := 0, 0
	for _, d := range plan.Deletes {
		switch d.Reason {
		case rollout.ReasonOutdatedNotReady:
			broken++
		case rollout.ReasonOutdated:
			healthy++
		default:
			t.Errorf("%s: a delete for %v", c.Name, d.Reason)
		}
	}
	slots := c.Input.MaxPodCreation - len(plan.Creates)
	if want := min(c.Input.OldUnavailablePods, slots); broken != want {
		t.Errorf("%s: B3: %d broken pods are replaced, want %d", c.Name, broken, want)
	}
	unavailable := c.Input.Nodes - c.Input.AvailablePods - c.Input.OldAvailablePods - min(c.Input.UnresponsiveNodes,
		c.Input.MaxUnschedulable)
	if healthy > 0 && unavailable+healthy > c.Input.MaxUnavailable {
		t.Errorf("%s: B3: %d healthy pods are deleted while %d of %d nodes are unavailable", c.Name, healthy, unavailable,
			c.Input.MaxUnavailable)
	}
	return len(plan.Creates), len(plan.Deletes)
}
