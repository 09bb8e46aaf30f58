//go:build teeth

package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// planted is a bug of a planner: what its plans become after they were verified, or the spec that it forgets.
type planted struct {
	rule      judge.Rule
	name, why string
	// spoil changes a plan.
	spoil func(*simulate.Step)
	// wanted is what the user asked for, and the planner does not know of.
	wanted func(rollout.Spec) rollout.Spec
	// shape makes the rule matter in more worlds. Nil: they are as they were drawn.
	shape func(*simulate.Scenario)
	// policies: the worlds have some.
	policies bool
}

// strategy changes the strategy of a spec.
func strategy(change func(*rollout.Strategy)) func(rollout.Spec) rollout.Spec {
	return func(s rollout.Spec) rollout.Spec {
		change(&s.Strategy)
		return s
	}
}

// remove adds deletes of the first so many pods that are such.
func remove(most int, such func(*simulate.Step, *corev1.Pod) bool) func(*simulate.Step) {
	return func(step *simulate.Step) {
		plan := &step.Plan
		left := most
		for _, p := range step.Snapshot.Pods {
			chosen := slices.ContainsFunc(plan.Deletes, func(d rollout.Delete) bool { return d.UID == p.UID })
			if left > 0 && p.DeletionTimestamp == nil && !chosen && such(step, p) {
				left--
				plan.Deletes = append(plan.Deletes, rollout.Delete{
					Node: nodeOf(p), Pod: p.Name, UID: p.UID, Revision: hashOf(p), Reason: rollout.ReasonOutdated,
				})
			}
		}
	}
}

// bring adds creates at the update revision where a pod is such.
func bring(such func(*simulate.Step, *corev1.Pod) bool) func(*simulate.Step) {
	return func(step *simulate.Step) {
		plan := &step.Plan
		for _, p := range step.Snapshot.Pods {
			chosen := slices.ContainsFunc(plan.Creates, func(c rollout.Create) bool { return c.Node == nodeOf(p) })
			if p.DeletionTimestamp == nil && !chosen && plan.Status.UpdateRevision != "" && such(step, p) {
				plan.Creates = append(plan.Creates, rollout.Create{
					Node: nodeOf(p), Revision: plan.Status.UpdateRevision, Reason: rollout.ReasonOutdated,
				})
			}
		}
	}
}

// replan makes the plan of a planner that sees another spec and another snapshot.
func replan(change func(*rollout.Spec, *rollout.Snapshot)) func(*simulate.Step) {
	return func(step *simulate.Step) {
		spec, seen := step.Spec, step.Snapshot
		change(&spec, &seen)
		planner, err := rollout.New(spec)
		if err != nil {
			return
		}
		if plan, err := planner.Plan(seen); err == nil {
			step.Plan = plan
		}
	}
}

// everywhere makes a change in all specs of a scenario.
func everywhere(change func(*rollout.Spec)) func(*simulate.Scenario) {
	return func(s *simulate.Scenario) {
		*s, _ = inSpecs(*s, func(spec *rollout.Spec) bool {
			change(spec)
			return true
		})
	}
}

// departs reports whether the node of that name departs by what all policies go by.
func departs(step *simulate.Step, name string) bool {
	i := slices.IndexFunc(step.Snapshot.Nodes, func(n *corev1.Node) bool { return n.Name == name })
	options := step.Spec.Strategy.Policy.Outages
	return i >= 0 && options != nil && !options.Touch && outage.Options{}.Of(step.Snapshot.Nodes[i]).Departing
}

func dropped[T any](list *[]T, such func(*T) bool) {
	*list = slices.DeleteFunc(*list, func(t T) bool { return such(&t) })
}

func hashOf(p *corev1.Pod) string { return p.Labels["controller-revision-hash"] }

func isOld(step *simulate.Step, p *corev1.Pod) bool {
	return hashOf(p) != step.Plan.Status.UpdateRevision && lifecycle.Ready(p)
}

func isNew(step *simulate.Step, p *corev1.Pod) bool {
	return hashOf(p) == step.Plan.Status.UpdateRevision && lifecycle.Ready(p)
}

// plantedBugs are what the judge was seen to find.
var plantedBugs = []planted{
	{
		rule: judge.Budget, name: "admits one more", why: "one Ready pod more than the plan's goes",
		spoil: remove(1, isOld),
	},
	{
		rule: judge.LetGo, name: "lets all go at once", why: "what hooks let go is deleted, however many nodes are down",
		spoil: remove(100, func(_ *simulate.Step, p *corev1.Pod) bool {
			_, hooked := p.Labels[worlds.HookLabel]
			return lifecycle.StateOf(p) == lifecycle.PreparingDelete && !hooked && len(p.Finalizers) == 0
		}),
		// One node may be down at a time, and pods leave through their hooks, not in place or beside new ones.
		shape: func(s *simulate.Scenario) {
			strategy := &s.Spec.Strategy
			strategy.MaxUnavailable, strategy.MaxSurge = new(intstr.FromInt32(1)), nil
			strategy.Method, strategy.SlowStart = inplace.Recreate, nil
		},
	},
	{
		rule: judge.Surge, name: "surges everywhere", why: "each old pod gets a new one beside it",
		spoil: bring(isOld),
	},
	{
		rule: judge.Twins, name: "one more of what is there", why: "the planner forgot to look",
		spoil: bring(isNew),
	},
	{
		rule: judge.Stays, name: "never evicts", why: "pods on nodes that they are to leave stay for ever",
		spoil: func(step *simulate.Step) {
			dropped(&step.Plan.Deletes, func(d *rollout.Delete) bool { return d.Reason == rollout.ReasonLeaving })
		},
	},
	{
		rule: judge.Stays, name: "never clears away", why: "Failed pods stay for ever",
		spoil: func(step *simulate.Step) {
			dropped(&step.Plan.Deletes, func(d *rollout.Delete) bool { return d.Reason == rollout.ReasonFailed })
		},
	},
	{
		rule: judge.Empty, name: "drops a create for ever", why: "the last node of each plan stays empty",
		spoil: func(step *simulate.Step) {
			dropped(&step.Plan.Creates, func(c *rollout.Create) bool { return c.Node[len(c.Node)-1] == '1' })
		},
	},
	{
		rule: judge.Thrash, name: "patches without end", why: "a label comes and goes",
		spoil: flicker(),
	},
	{
		rule: judge.Thrash, name: "takes away what it has replaced", why: "the node's resources never match, as it seems",
		spoil: func(step *simulate.Step) {
			if len(step.Spec.Overrides) > 0 {
				remove(1, isNew)(step)
			}
		},
	},
	{
		rule: judge.Stuck, name: "never updates a node", why: "it is outdated and waits for nothing",
		spoil: func(step *simulate.Step) {
			last := func(node string) bool { return node[len(node)-1] == '1' }
			dropped(&step.Plan.Deletes, func(d *rollout.Delete) bool { return d.Reason == rollout.ReasonOutdated && last(d.Node) })
			dropped(&step.Plan.Patches, func(p *rollout.Patch) bool { return p.Reason == rollout.ReasonOutdated && last(p.Node) })
			dropped(&step.Plan.Creates, func(c *rollout.Create) bool { return c.Reason == rollout.ReasonOutdated && last(c.Node) })
		},
	},
	{
		rule: judge.Stuck, name: "hides when to wake", why: "what the clock brings comes too late",
		spoil: func(step *simulate.Step) { step.Plan.NextWake = time.Time{} },
	},
	{
		rule: judge.Trial, name: "forgets the canary", why: "missing pods come at the revision on trial, wherever they are",
		spoil: func(step *simulate.Step) {
			for i := range step.Plan.Creates {
				c := &step.Plan.Creates[i]
				if step.Plan.Status.UpdateRevision != "" {
					c.Revision, c.Template = step.Plan.Status.UpdateRevision, nil
				}
			}
		},
	},
	{
		rule: judge.Trial, name: "one canary more", why: "the canary was to be smaller",
		wanted: strategy(func(s *rollout.Strategy) {
			if s.Canary != nil {
				options := *s.Canary
				options.Replicas = new(intstr.FromInt32(1))
				s.Canary = &options
			}
		}),
	},
	{
		rule: judge.Downgrade, name: "brings back the past", why: "missing pods come at an older revision",
		spoil: func(step *simulate.Step) {
			for i := range step.Plan.Creates {
				for _, r := range step.Snapshot.Revisions {
					template, err := history.Template(r)
					if hash := r.Labels["controller-revision-hash"]; err == nil && hash != step.Plan.Status.UpdateRevision {
						step.Plan.Creates[i].Revision, step.Plan.Creates[i].Template = hash, template
					}
				}
			}
		},
	},
	{
		rule: judge.HandsOff, name: "deletes what is right", why: "an available pod of the update revision goes",
		spoil: remove(1, isNew),
	},
	{
		rule: judge.InPlace, name: "patches another container", why: "the sidecar is the same in both revisions",
		spoil: func(step *simulate.Step) {
			for i := range step.Plan.Patches {
				p := &step.Plan.Patches[i]
				if p.Type == types.StrategicMergePatchType && p.Subresource == "" && len(step.Spec.Template.Spec.Containers) > 1 {
					p.Data = json.RawMessage(`{"metadata":{"uid":"` + string(p.UID) +
						`"},"spec":{"containers":[{"name":"sidecar","image":"sidecar:v0"}]}}`)
				}
			}
		},
	},
	{
		rule: judge.PreDelete, name: "passes over the hook", why: "pods with handlers are deleted",
		spoil: remove(1, func(step *simulate.Step, p *corev1.Pod) bool {
			return step.Spec.Lifecycle.PreDelete != nil && (p.Labels[worlds.HookLabel] == "no" || slices.Contains(p.Finalizers, worlds.HookFinalizer))
		}),
	},
	{
		rule: judge.UpdateHook, name: "forgets the hook of updates", why: "all pods have its handler",
		wanted: func(s rollout.Spec) rollout.Spec {
			rollouttest.InPlaceUpdateHook(rollouttest.HookLabel("app", worlds.Set))(&s)
			return s
		},
	},
	{
		rule: judge.Frozen, name: "works on while frozen", why: "the planner does not know that the set is",
		wanted: strategy(func(s *rollout.Strategy) { s.Frozen = true }),
	},
	{
		rule: judge.Paused, name: "works on while paused", why: "the planner does not know that the set is",
		wanted: strategy(func(s *rollout.Strategy) { s.Paused = true }),
	},
	{
		rule: judge.Held, name: "forgets the partition", why: "it holds all nodes",
		wanted: strategy(func(s *rollout.Strategy) { s.Partition = new(intstr.FromString("100%")) }),
	},
	{
		rule: judge.Held, name: "forgets the selector", why: "it matches no node",
		wanted: func(s rollout.Spec) rollout.Spec {
			rollouttest.StrategyNodeSelector("no", "node")(&s)
			return s
		},
	},
	{
		rule: judge.SlowStart, name: "is in a hurry", why: "slow start was to let one node be under way",
		wanted: func(s rollout.Spec) rollout.Spec {
			rollouttest.SlowStart(time.Hour, "1", "1")(&s)
			return s
		},
	},
	{
		rule: judge.Burst, name: "bursts", why: "one request of a kind was to be in a plan",
		wanted: func(s rollout.Spec) rollout.Spec {
			rollouttest.Burst("1")(&s)
			return s
		},
	},
	{
		rule: judge.BackOff, name: "deletes Failed pods at once", why: "their back-off is not waited for",
		spoil: remove(100, func(_ *simulate.Step, p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed }),
	},
	{
		rule: judge.Budget, name: "takes any outage for an old one", policies: true,
		why: "V24: each node that is down seems to have been for a day, and no kubelet has started its pods",
		spoil: replan(func(_ *rollout.Spec, seen *rollout.Snapshot) {
			dayAgo := metav1.NewTime(seen.Now.Add(-24 * time.Hour))
			seen.Nodes, seen.Pods = slices.Clone(seen.Nodes), slices.Clone(seen.Pods)
			for i, n := range seen.Nodes {
				n = n.DeepCopy()
				for k := range n.Status.Conditions {
					n.Status.Conditions[k].LastTransitionTime = dayAgo
				}
				seen.Nodes[i] = n
			}
			for i, p := range seen.Pods {
				p = p.DeepCopy()
				p.CreationTimestamp, p.Status.StartTime = metav1.NewTime(seen.Now), nil
				seen.Pods[i] = p
			}
		}),
		shape: everywhere(rollouttest.MaxExempt("100%")),
	},
	{
		rule: judge.Budget, name: "leaves out one node more", why: "V24: maxExempt was to be 0", policies: true,
		wanted: strategy(func(s *rollout.Strategy) {
			if s.Policy.Outages != nil {
				s.Policy.Outages = &outage.Options{}
			}
		}),
	},
	{
		rule: judge.Surge, name: "leaves out one node more beside new pods", why: "V24: maxExempt was to be 0", policies: true,
		wanted: strategy(func(s *rollout.Strategy) {
			if s.Policy.Outages != nil {
				s.Policy.Outages = &outage.Options{}
			}
		}),
		shape: everywhere(rollouttest.MaxSurge("1")),
	},
	{
		rule: judge.Departing, name: "does not know departing nodes", why: "V26: the planner touches them", policies: true,
		spoil: replan(func(spec *rollout.Spec, _ *rollout.Snapshot) {
			if options := spec.Strategy.Policy.Outages; options != nil {
				spec.Strategy.Policy.Outages = &outage.Options{MaxExempt: options.MaxExempt, Touch: true}
			}
		}),
	},
	{
		rule: judge.Departing, name: "deletes where nodes depart", why: "V26: repair ignores it", policies: true,
		spoil: remove(1, func(step *simulate.Step, p *corev1.Pod) bool { return departs(step, nodeOf(p)) }),
	},
	{
		rule: judge.Departing, name: "creates where nodes depart", why: "V26: repair ignores it", policies: true,
		spoil: func(step *simulate.Step) {
			for _, n := range step.Snapshot.Nodes {
				empty := !slices.ContainsFunc(step.Snapshot.Pods, func(p *corev1.Pod) bool { return nodeOf(p) == n.Name })
				if revision := step.Plan.Status.UpdateRevision; empty && revision != "" && departs(step, n.Name) {
					create := rollout.Create{Node: n.Name, Revision: revision, Reason: rollout.ReasonMissing}
					step.Plan.Creates = append(step.Plan.Creates, create)
				}
			}
		},
	},
	{
		rule: judge.Domain, name: "takes percentages of the whole set", policies: true,
		why: "V19: max of a domain is of its value",
		spoil: replan(func(spec *rollout.Spec, seen *rollout.Snapshot) {
			spec.Strategy.Policy.Domains = slices.Clone(spec.Strategy.Policy.Domains)
			for i := range spec.Strategy.Policy.Domains {
				d := &spec.Strategy.Policy.Domains[i]
				if d.Max != nil && d.Max.StrVal != "" {
					n, _ := intstr.GetScaledValueFromIntOrPercent(d.Max, len(seen.Nodes), true)
					d.Max = new(intstr.FromInt(max(n, 1)))
				}
			}
		}),
		shape: everywhere(func(s *rollout.Spec) {
			s.Strategy.Policy.Domains = []domain.Domain{{Key: corev1.LabelTopologyZone, Max: new(intstr.FromString("50%"))}}
		}),
	},
	{
		rule: judge.Domain, name: "forgets atOnce", why: "V19: nodes of all values are disturbed", policies: true,
		spoil: replan(func(spec *rollout.Spec, _ *rollout.Snapshot) {
			spec.Strategy.Policy.Domains = slices.Clone(spec.Strategy.Policy.Domains)
			for i := range spec.Strategy.Policy.Domains {
				d := &spec.Strategy.Policy.Domains[i]
				if d.AtOnce = 0; d.Max == nil {
					d.Max = new(intstr.FromString("100%"))
				}
			}
		}),
	},
	{
		rule: judge.Domain, name: "takes no label for no bound", policies: true,
		why: "V19: a node without the label has the value \"\"",
		spoil: replan(func(spec *rollout.Spec, seen *rollout.Snapshot) {
			spec.Strategy.Policy.Domains = slices.Clone(spec.Strategy.Policy.Domains)
			for i := range spec.Strategy.Policy.Domains {
				d := &spec.Strategy.Policy.Domains[i]
				if d.Key != "" && d.Selector == nil {
					d.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: d.Key, Operator: metav1.LabelSelectorOpExists},
					}}
				}
			}
		}),
	},
	{
		rule: judge.Domain, name: "surges past domains", why: "V19: new pods disturb, too", policies: true,
		spoil: replan(func(spec *rollout.Spec, _ *rollout.Snapshot) { spec.Strategy.Policy.Domains = nil }),
		shape: everywhere(func(s *rollout.Spec) {
			rollouttest.MaxSurge("100%")(s)
			s.Strategy.Method = ""
		}),
	},
	{
		rule: judge.Domain, name: "lets whole domains go at once", policies: true,
		why: "V19: what hooks let go is deleted, however many nodes of a rack are down",
		spoil: remove(100, func(_ *simulate.Step, p *corev1.Pod) bool {
			_, hooked := p.Labels[worlds.HookLabel]
			return lifecycle.StateOf(p) == lifecycle.PreparingDelete && !hooked && len(p.Finalizers) == 0
		}),
		shape: everywhere(func(s *rollout.Spec) {
			strategy := &s.Strategy
			strategy.MaxUnavailable, strategy.MaxSurge = new(intstr.FromString("100%")), nil
			strategy.Method, strategy.SlowStart = inplace.Recreate, nil
			strategy.Policy.Domains = []domain.Domain{{Key: simulate.RackLabel, Max: new(intstr.FromInt32(1))}}
		}),
	},
	{
		rule: judge.Stuck, name: "counts every outage", policies: true,
		why: "B9: nodes that were down before their update hold the rollout up for ever",
		spoil: replan(func(spec *rollout.Spec, _ *rollout.Snapshot) {
			if options := spec.Strategy.Policy.Outages; options != nil {
				counted := *options
				counted.MaxExempt = nil
				spec.Strategy.Policy.Outages = &counted
			}
		}),
		shape: everywhere(func(s *rollout.Spec) {
			rollouttest.MaxExempt("100%")(s)
			s.Strategy.MaxUnavailable, s.Strategy.MaxSurge, s.Strategy.MaxUnschedulable = nil, nil, nil
		}),
	},
	{
		rule: judge.Stuck, name: "never has room in domains", why: "B10: values of a domain are bounded together", policies: true,
		spoil: replan(func(spec *rollout.Spec, _ *rollout.Snapshot) {
			spec.Strategy.Policy.Domains = slices.Clone(spec.Strategy.Policy.Domains)
			for i := range spec.Strategy.Policy.Domains {
				spec.Strategy.Policy.Domains[i].Key = ""
			}
		}),
		// A node that is down for ever is to keep its own rack waiting, and no other.
		shape: func(s *simulate.Scenario) {
			everywhere(func(s *rollout.Spec) {
				s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = new(intstr.FromString("100%")), nil
				s.Strategy.Policy = rollout.Policy{Domains: []domain.Domain{{Key: simulate.RackLabel, Max: new(intstr.FromInt32(1))}}}
			})(s)
			s.Events = append(s.Events, simulate.Event{What: simulate.NodeNotReady})
		},
	},
}

// flicker returns what lets plans put a label on a pod that is there, and take it off again, by turns.
func flicker() func(*simulate.Step) {
	return func(step *simulate.Step) {
		if len(step.Snapshot.Pods) == 0 || len(step.Snapshot.InFlight.Patches) > 0 {
			return
		}
		p, value := step.Snapshot.Pods[0], `"true"`
		if p.DeletionTimestamp != nil {
			return
		}
		if p.Labels[rollout.CanaryLabel] != "" {
			value = "null"
		}
		step.Plan.Patches = append(step.Plan.Patches, rollout.Patch{
			Node: nodeOf(p), Pod: p.Name, UID: p.UID, Type: types.StrategicMergePatchType, Revision: hashOf(p),
			Reason: rollout.ReasonCanaryLabel,
			Data:   []byte(`{"metadata":{"uid":"` + string(p.UID) + `","labels":{"` + rollout.CanaryLabel + `":` + value + `}}}`),
		})
	}
}

// TestPlantedBugsAreFound: the judge finds each of these bugs within a few hundred seeds, and says which rule it breaks.
func TestPlantedBugsAreFound(t *testing.T) {
	seen := map[string]bool{}
	for _, test := range plantedBugs {
		if test.name == "" || test.why == "" || seen[test.name] {
			t.Errorf("%q: a test needs a name of its own and a why", test.name)
		}
		seen[test.name] = true
		t.Run(test.rule.String()+": "+test.name, func(t *testing.T) {
			const most = 300
			for seed := range uint64(most) {
				scenario := world{seed: seed, policies: test.policies}.scenario()
				if test.shape != nil {
					test.shape(&scenario)
				}
				out := check(scenario, checkOptions{spoil: test.spoil, wanted: test.wanted})
				if out.failure != nil && out.failure.kind == test.rule.String() {
					t.Logf("found by seed no. %d: %s", seed+1, out.failure.text)
					return
				}
			}
			t.Errorf("not found within %d seeds", most)
		})
	}
}

// TestEveryRuleHasAPlantedBug: a rule that was never seen to be broken may judge nothing. That containers restart for nothing
// is shown by a test of its own, because no patch leads to it that breaks no other rule.
func TestEveryRuleHasAPlantedBug(t *testing.T) {
	planted := map[judge.Rule]bool{judge.Restart: true}
	for _, bug := range plantedBugs {
		planted[bug.rule] = true
	}
	for _, rule := range judge.Rules() {
		if !planted[rule] {
			t.Errorf("no planted bug breaks: %s", rule)
		}
	}
}
