package properties_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// The properties of one plan. Which invariant a violation belongs to is the verifier's to say, so each can be run alone.
var (
	contract     = property{"contract", onePlan(), verified(0)}
	budget       = property{"V1 budget", onePlan(objects.Released()), verified(1)}
	surge        = property{"V2 surge", onePlan(objects.Released()), verified(2)}
	onePerNode   = property{"V3 one per node", onePlan(), verified(3)}
	handsOff     = property{"V4 hands off", onePlan(), verified(4)}
	held         = property{"V6 held", onePlan(rollouttest.OnDelete()), verified(6)}
	pausedHeld   = property{"V6 paused", onePlan(rollouttest.Paused()), verified(6)}
	frozen       = property{"V7 frozen", onePlan(rollouttest.Frozen()), verified(7)}
	burst        = property{"V11 burst", onePlan(rollouttest.Burst("1")), verified(11)}
	accounting   = property{"V12 accounting", onePlan(), verified(12)}
	requested    = property{"V14 requested", onePlan(), verified(14)}
	bounded      = property{"V15 bounded", onePlan(), verified(15)}
	safe         = property{"V1 to V12, V14, V15", onePlan(), once(checkSafe)}
	safeAlong    = property{"V1 to V12, V14, V15, along the way", manyPlans(), once(checkSafeAlong)}
	budgetAlways = property{"V1 and V2, seen from outside", rollouts(), once(checkDisruption)}
)

func TestPlanIsSafe(t *testing.T) {
	// The others of these hold of the same specs as the whole, which has them all: see TestPlanIsSafeAsAWhole.
	test(t, contract, budget, surge, held, pausedHeld, frozen, burst)
}

func TestPlanIsSafeAsAWhole(t *testing.T) { test(t, safe) }

func TestPlanIsSafeAlongTheWay(t *testing.T) { test(t, safeAlong, budgetAlways) }

func checkSafe(c trial, plan harness.PlanFunc) error {
	return harness.CheckSafe(c.Spec, plan, c.Snapshot)
}

// checkSafeAlong lets the update revision be good, never ready, or failing.
func checkSafeAlong(c trial, plan harness.PlanFunc) error {
	switch c.count % 3 {
	case 1:
		c.behavior.NeverReady = []string{rollouttest.Hash(c.Spec)}
	case 2:
		c.behavior.Failing = []string{rollouttest.Hash(c.Spec)}
	}
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.behavior)
	if err != nil {
		return err
	}
	const enough = 60 // of those that fail or are held there is no end
	_, err = cluster.Run(plan, enough, func(s rollout.Snapshot, p rollout.Plan) error {
		var errs []error
		for _, v := range verify.Plan(c.Spec, s, &p) {
			errs = append(errs, errors.New(v.String()))
		}
		return errors.Join(errs...)
	})
	return err
}

// rollouts generates fleets without anything wrong, each with one outdated and available pod per node, and a budget
// that the property can compute itself. The update revision is good, never ready, or failing.
func rollouts() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		nodes := rapid.IntRange(1, 12).Draw(t, "nodes")
		c := trial{behavior: draw.AnyBehavior().Draw(t, "behavior"), count: rapid.IntRange(1, 14).Draw(t, "budget")}
		option := rapid.SampledFrom([]func(string) rollouttest.SpecOption{
			rollouttest.MaxUnavailable, rollouttest.MaxSurge,
		}).Draw(t, "strategy")
		seconds := rapid.SampledFrom([]int32{0, 30}).Draw(t, "minReadySeconds")
		old := rollouttest.Spec("agent")
		c.Spec = rollouttest.Spec("agent", rollouttest.Image("agent:v2"), option(fmt.Sprint(c.count)), rollouttest.MinReadySeconds(seconds))
		c.Snapshot = rollout.Snapshot{Now: rollouttest.Noon(), Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)}}
		pod := rollouttest.Of(old)
		for i := range nodes {
			name := string(rune('a' + i))
			c.Snapshot.Nodes = append(c.Snapshot.Nodes, rollouttest.Node(name))
			c.Snapshot.Pods = append(c.Snapshot.Pods, rollouttest.Pod("agent-"+name, pod, rollouttest.OnNode(name)))
		}
		hash := rollouttest.Hash(c.Spec)
		switch rapid.SampledFrom([]string{"good", "never ready", "failing"}).Draw(t, "revision") {
		case "never ready":
			c.behavior.NeverReady = []string{hash}
		case "failing":
			c.behavior.Failing = []string{hash}
		}
		return c
	})
}

// checkDisruption asks neither the verifier nor the plan, but counts pods in the cluster after every step of such a rollout.
func checkDisruption(c trial, plan harness.PlanFunc) error {
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.behavior)
	if err != nil {
		return err
	}
	const steps = 150
	_, err = cluster.Run(plan, steps, func(s rollout.Snapshot, p rollout.Plan) error {
		deletes := make([]types.UID, 0, len(p.Deletes)+len(s.InFlight.Deletes))
		for _, d := range p.Deletes {
			deletes = append(deletes, d.UID)
		}
		deletes = append(deletes, s.InFlight.Deletes...)
		serving, double := map[string]bool{}, map[string]int{}
		for _, pod := range s.Pods {
			if pod.DeletionTimestamp != nil || slices.Contains(deletes, pod.UID) {
				continue
			}
			double[nodeOf(pod)]++
			serving[nodeOf(pod)] = serving[nodeOf(pod)] || isReady(pod)
		}
		for _, create := range p.Creates {
			double[create.Node]++
		}
		for _, create := range s.InFlight.Creates {
			double[create.Node]++
		}
		return disruption(c, serving, double)
	})
	return err
}

// disruption judges one instant: how many of the nodes have no Ready pod left, and how many have two pods.
func disruption(c trial, serving map[string]bool, double map[string]int) error {
	var without, two []string
	for _, n := range c.Snapshot.Nodes {
		if !serving[n.Name] {
			without = append(without, n.Name)
		}
		if double[n.Name] > 1 {
			two = append(two, n.Name)
		}
	}
	mayLack, mayDouble := c.count, 0
	if c.Spec.Strategy.MaxSurge != nil {
		mayLack, mayDouble = 0, c.count
	}
	var errs []error
	if len(without) > mayLack {
		errs = append(errs, fmt.Errorf("nodes %v have no Ready pod, %d may", without, mayLack))
	}
	if len(two) > mayDouble {
		errs = append(errs, fmt.Errorf("nodes %v have two pods, %d may", two, mayDouble))
	}
	return errors.Join(errs...)
}

func nodeOf(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	return p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
