package properties_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Domains (B10): on any snapshot as the verifier sees it, and in whole rollouts as the cluster's objects show it.

var (
	domainsHold = property{"V19 no more disturbed in a domain than may be", domainPlans(), verified(19)}
	domainsSafe = property{"V1 to V19 with domains", domainPlans(), once(checkSafe)}
	domainsSeen = property{"V19 domains, seen from outside", domainRollouts(), once(checkDomainsSeen)}
	domainsLive = property{"V16 with domains", domainRollouts(), once(checkDomainsLive)}
)

func TestDomainsAreSafe(t *testing.T) { test(t, domainsHold, domainsSafe) }

func TestDomainsAllTheWay(t *testing.T) { test(t, domainsSeen, domainsLive) }

// drawDomains draws lists of domains over the zones of generated nodes.
func drawDomains(t *rapid.T) []domain.Domain {
	one := rapid.SampledFrom([]domain.Domain{
		{Key: harness.ZoneLabel, Max: new(intstr.FromInt32(1))},
		{Key: harness.ZoneLabel, Max: new(intstr.FromInt32(2))},
		{Key: harness.ZoneLabel, Max: new(intstr.FromString("34%"))},
		{Key: harness.ZoneLabel, AtOnce: 1},
		{Key: harness.ZoneLabel, AtOnce: 2},
		{Key: harness.ZoneLabel, AtOnce: 1, Max: new(intstr.FromInt32(1))},
		{Max: new(intstr.FromInt32(2))},
		{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{harness.ZoneLabel: "a"}}, Max: new(intstr.FromInt32(1))},
		{Key: "absent", Max: new(intstr.FromInt32(1))},
	})
	return rapid.SliceOfN(one, 1, 3).Draw(t, "domains")
}

// domainPlans generates trials of one snapshot with domains, mostly with a budget that leaves them the say.
func domainPlans() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		options := []rollouttest.SpecOption{rollouttest.Domains(drawDomains(t)...)}
		switch rapid.IntRange(0, 3).Draw(t, "budget of its own") {
		case 0:
			options = append(options, rollouttest.MaxUnavailable("100%"), objects.Released())
		case 1:
			options = append(options, rollouttest.MaxSurge("100%"), objects.Released())
		default:
		}
		if rapid.Bool().Draw(t, "canary") {
			return trial{Case: draw.AnyCanaryCase(options...).Draw(t, "scenario")}
		}
		return trial{Case: draw.AnyCase(options...).Draw(t, "scenario")}
	})
}

// domainRollouts generates rollouts of healthy fleets as rollouts does, with zones and domains. count is unused.
func domainRollouts() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := rollouts().Draw(t, "rollout")
		rollouttest.Domains(drawDomains(t)...)(&c.Spec)
		for _, n := range c.Snapshot.Nodes {
			if zone := rapid.SampledFrom([]string{"", "a", "a", "b", "c"}).Draw(t, "zone"); zone != "" {
				rollouttest.Label(harness.ZoneLabel, zone)(n)
			}
		}
		if c.Spec.Strategy.MaxSurge == nil && rapid.Bool().Draw(t, "in place") {
			rollouttest.InPlaceIfPossible()(&c.Spec)
		}
		return c
	})
}

// checkDomainsSeen asks neither the verifier nor the plan, but counts pods in the cluster after every step of such a rollout. All
// nodes had a Ready pod in the beginning, and nothing else disturbs them, so that in each domain no more are disturbed than may be.
func checkDomainsSeen(c trial, plan harness.PlanFunc) error {
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.behavior)
	if err != nil {
		return err
	}
	const steps = 150
	_, err = cluster.Run(plan, steps, func(s rollout.Snapshot, p rollout.Plan) error {
		return seeDomains(&c.Spec.Strategy, disturbed(c, s, p), c)
	})
	return err
}

// disturbed returns the nodes that have no Ready pod left once the plan is carried out, or with surge a new pod that is not Ready.
func disturbed(c trial, s rollout.Snapshot, p rollout.Plan) map[string]bool {
	gone := slices.Clone(s.InFlight.Deletes)
	for _, d := range p.Deletes {
		gone = append(gone, d.UID)
	}
	surge := c.Spec.Strategy.MaxSurge != nil
	changed := map[types.UID]bool{} // by patches
	for _, patch := range p.Patches {
		changed[patch.UID] = true
	}
	update, serving, starting := rollouttest.Hash(c.Spec), map[string]bool{}, map[string]bool{}
	for _, pod := range s.Pods {
		if pod.DeletionTimestamp != nil || slices.Contains(gone, pod.UID) {
			continue
		}
		isNew := pod.Labels["controller-revision-hash"] == update
		if isReady(pod) && (isNew || !changed[pod.UID]) {
			serving[nodeOf(pod)] = true
		} else if isNew {
			starting[nodeOf(pod)] = true
		}
	}
	for _, create := range p.Creates {
		starting[create.Node] = true
	}
	for _, create := range s.InFlight.Creates {
		starting[create.Node] = true
	}
	nodes := map[string]bool{}
	for _, n := range c.Snapshot.Nodes {
		nodes[n.Name] = surge && starting[n.Name] || !surge && !serving[n.Name]
	}
	return nodes
}

// seeDomains judges one instant.
func seeDomains(strategy *rollout.Strategy, disturbed map[string]bool, c trial) error {
	var errs []error
	for i, d := range strategy.Policy.Domains {
		count, size := map[string]int{}, map[string]int{}
		for _, n := range c.Snapshot.Nodes {
			value := n.Labels[d.Key]
			if d.Selector != nil && n.Labels[harness.ZoneLabel] != d.Selector.MatchLabels[harness.ZoneLabel] {
				continue
			}
			size[value]++
			if disturbed[n.Name] {
				count[value]++
			}
		}
		if d.AtOnce > 0 && len(count) > int(d.AtOnce) {
			errs = append(errs, fmt.Errorf("domain %d: %d values are disturbed, %d may be", i, len(count), d.AtOnce))
		}
		for value, n := range count {
			if most, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(d.Max, intstr.FromInt32(1000)), size[value], true); err != nil || n > most {
				errs = append(errs, fmt.Errorf("domain %d: %d nodes of %q are disturbed, %d may be (%w)", i, n, value, most, err))
			}
		}
	}
	return errors.Join(errs...)
}

// checkDomainsLive: a good revision reaches every node, whatever the domains.
func checkDomainsLive(c trial, plan harness.PlanFunc) error {
	c.behavior.NeverReady, c.behavior.Failing = nil, nil
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.behavior)
	if err != nil {
		return err
	}
	const steps = 400
	end, err := cluster.Run(plan, steps, func(rollout.Snapshot, rollout.Plan) error { return nil })
	if err != nil {
		return err
	}
	if counts := end.Plan.Status.Counts; counts.Updated != counts.Desired || counts.Available != counts.Desired || !end.Plan.Empty() {
		return fmt.Errorf("in the end %+v", counts)
	}
	return nil
}
