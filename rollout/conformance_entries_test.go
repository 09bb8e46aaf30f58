package rollout_test

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// entry is one deliberate difference from the recorded controller. It explains a difference if it recognises, from
// the input alone, the situation in which the rule and the controller part.
type entry struct {
	id, rule, why string
	aspects       []aspect
	recognises    func(*situation, difference) bool
}

// entries is the table of deliberate differences. A difference is put down to the first entry that recognises it, so
// those that speak of one node or pod stand before those that speak of the budget as a whole.
var entries = []entry{
	{
		id: "generation-label", rule: "R5",
		why:     "the controller takes an outdated pod for updated if its template-generation label matches",
		aspects: []aspect{creates, deletes, statusWord},
		recognises: func(s *situation, d difference) bool {
			return s.spec.TemplateGeneration != nil && s.statusIsTheControllers(d) && s.about(d, func(n *nodeSituation) bool {
				return slices.ContainsFunc(n.pods, s.hiddenByGeneration)
			})
		},
	},
	{
		id: "terminating-is-not-live", rule: "S1",
		why:     "the controller counts a terminating pod as ready, available and updated",
		aspects: []aspect{statusWord},
		recognises: func(s *situation, d difference) bool {
			return s.statusIsTheControllers(d) &&
				s.about(d, func(n *nodeSituation) bool { return n.outcome == placement.Run && n.terminating > 0 })
		},
	},
	{
		id: "any-pod-counts", rule: "S1",
		why:     "the controller's status looks at the oldest scheduled pod of a node only",
		aspects: []aspect{statusWord},
		recognises: func(s *situation, d difference) bool {
			return s.statusIsTheControllers(d) &&
				s.about(d, func(n *nodeSituation) bool { return n.outcome == placement.Run && len(n.pods) > 1 })
		},
	},
	{
		id: "failed-go-together", rule: "M2",
		why:     "two failed pods of a node share the controller's back-off, so that one of them stays",
		aspects: []aspect{deletes},
		recognises: func(s *situation, d difference) bool {
			return d.ours && s.aboutPod(d, func(n *nodeSituation, p *corev1.Pod) bool {
				return p.Status.Phase == corev1.PodFailed && n.failed > 1
			})
		},
	},
	{
		id: "finished-pod-goes-first", rule: "M1",
		why:     "under surge the controller creates a pod beside a finished one that it deletes in the same sync",
		aspects: []aspect{creates},
		recognises: func(s *situation, d difference) bool {
			return !d.ours && s.surge && s.about(d, func(n *nodeSituation) bool {
				return n.outcome == placement.Run && n.failed+n.succeeded > 0
			})
		},
	},
	{
		id: "keep-replaces-nothing", rule: "M4",
		why:     "the controller deletes an outdated pod where no new one may start",
		aspects: []aspect{deletes},
		recognises: func(s *situation, d difference) bool {
			return !d.ours && s.aboutPod(d, func(n *nodeSituation, p *corev1.Pod) bool {
				return n.outcome == placement.Keep && !s.updated(p)
			})
		},
	},
	{
		id: "serves-while-leaving", rule: "M4",
		why:     "under surge the controller deletes available pods of deselected nodes before others are available",
		aspects: []aspect{deletes},
		recognises: func(s *situation, d difference) bool {
			return !d.ours && s.surge && s.aboutPod(d, func(n *nodeSituation, p *corev1.Pod) bool {
				return n.outcome == placement.Leave && n.test != placement.TestTaint && s.available(p)
			})
		},
	},
	{
		id: "best-pod-stays", rule: "M3",
		why:     "of several pods of a node the controller keeps the oldest, even against the only available one",
		aspects: []aspect{deletes},
		recognises: func(s *situation, d difference) bool {
			return s.aboutPod(d, func(n *nodeSituation, _ *corev1.Pod) bool { return len(n.current)+len(n.other) > 1 })
		},
	},
	{
		id: "ready-pod-serves", rule: "B3, B4",
		why:     "the controller treats an outdated Ready pod inside minReadySeconds as broken, and replaces it past the budget",
		aspects: []aspect{creates, deletes},
		recognises: func(s *situation, d difference) bool {
			return s.anyNode(func(n *nodeSituation) bool {
				return slices.ContainsFunc(n.other, func(p *corev1.Pod) bool { return lifecycle.Ready(p) && !s.available(p) })
			}) && s.concernsUpdate(d)
		},
	},
	{
		id: "vanished-node-stops-nothing", rule: "B4",
		why:     "a pod bound to a node that does not exist stops the controller's surge rollout",
		aspects: []aspect{creates, deletes},
		recognises: func(s *situation, d difference) bool {
			return d.ours && s.recorded.Expect.RollingUpdateError != "" && s.concernsUpdate(d)
		},
	},
	{
		id: "unavailable-new-pod-holds-place", rule: "B2, B4",
		why:     "the controller takes no surge place for a new pod that has no old one beside it, or that is created beside a broken one",
		aspects: []aspect{creates},
		recognises: func(s *situation, d difference) bool {
			return !d.ours && s.surge && s.concernsUpdate(d) && s.anyNode(func(n *nodeSituation) bool {
				broken := func(p *corev1.Pod) bool { return s.updated(p) && !s.available(p) || !lifecycle.Ready(p) }
				return n.outcome != placement.Leave && slices.ContainsFunc(n.live(), broken)
			})
		},
	},
	{
		id: "missing-pods-come-first", rule: "M7",
		why:     "a pod that repair creates or deletes counts in the budget of the same plan; the controller counts phase by phase",
		aspects: []aspect{creates, deletes},
		recognises: func(s *situation, d difference) bool {
			return !d.ours && s.concernsUpdate(d) && s.anyNode(func(n *nodeSituation) bool {
				return n.outcome == placement.Run && (len(n.live()) == 0 || len(n.pods) > 1)
			})
		},
	},
	{
		id: "budget-counts-run-nodes", rule: "B2",
		why:     "pods on nodes that are not to run one, on vanished nodes and beside others use up the controller's budget",
		aspects: []aspect{creates, deletes},
		recognises: func(s *situation, d difference) bool {
			return d.ours && s.concernsUpdate(d) && (s.vanished || s.anyNode(func(n *nodeSituation) bool {
				return len(n.pods) > 0 && n.outcome != placement.Run || len(n.pods) > 1
			}))
		},
	},
	{
		id: "burst-is-per-plan", rule: "M6",
		why:     "repairs and updates of one plan share burst; each phase of the controller has its own",
		aspects: []aspect{creates, deletes},
		recognises: func(s *situation, d difference) bool {
			return !d.ours && s.recorded.BurstReplicas != nil && s.concernsUpdate(d)
		},
	},
}

// situation is what the input of a recorded case says, read naively.
type situation struct {
	recorded *recorded
	spec     rollout.Spec
	surge    bool
	vanished bool // a pod's node does not exist
	update   string
	nodes    map[string]*nodeSituation
}

type nodeSituation struct {
	outcome        placement.Outcome
	test           placement.Test
	pods           []*corev1.Pod // all that count (M1)
	current, other []*corev1.Pod // neither terminating nor finished
	terminating    int
	failed         int // not terminating
	succeeded      int // not terminating
}

// live lists the pods that are not terminating, finished ones too.
func (n *nodeSituation) live() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(n.pods), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

func newSituation(c *recorded, spec rollout.Spec) *situation {
	s := &situation{
		recorded: c, spec: spec, nodes: make(map[string]*nodeSituation),
		surge:  spec.Strategy.Type != rollout.OnDelete && spec.Strategy.MaxSurge != nil && !zero(spec.Strategy.MaxSurge),
		update: c.Revisions[len(c.Revisions)-1].Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
	}
	matcher, _ := placement.Compile(&spec.Template)
	for _, n := range c.Nodes {
		verdict := matcher.Evaluate(n)
		s.nodes[n.Name] = &nodeSituation{outcome: verdict.Outcome, test: verdict.Test}
	}
	for _, p := range c.snapshot().Pods {
		name, _ := placement.TargetNode(p)
		n := s.nodes[name]
		switch {
		case p.DeletionTimestamp != nil && lifecycle.Terminal(p):
			continue
		case n == nil:
			s.vanished = true
			continue
		}
		n.pods = append(n.pods, p)
		switch {
		case p.DeletionTimestamp != nil:
			n.terminating++
		case p.Status.Phase == corev1.PodFailed:
			n.failed++
		case p.Status.Phase == corev1.PodSucceeded:
			n.succeeded++
		case s.updated(p):
			n.current = append(n.current, p)
		default:
			n.other = append(n.other, p)
		}
	}
	return s
}

// statusIsTheControllers guards the entries for the status: a difference is put down to them only if reading the
// oldest scheduled pod of each node, terminating or not, gives exactly what was recorded. Our own counters are held
// to the rules by Verify.
func (s *situation) statusIsTheControllers(d difference) bool {
	return d.aspect != statusWord || s.controllerStatus() == s.recorded.Expect.Status
}

func (s *situation) controllerStatus() statusCounters {
	var counters statusCounters
	for _, n := range s.nodes {
		if n.outcome != placement.Run {
			counters.Misscheduled += count(len(n.pods) > 0)
			continue
		}
		counters.Desired++
		if len(n.pods) == 0 {
			continue
		}
		first := slices.MinFunc(n.pods, func(a, b *corev1.Pod) int {
			return cmp.Or(
				cmp.Compare(count(a.Spec.NodeName == ""), count(b.Spec.NodeName == "")),
				a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
				cmp.Compare(a.Name, b.Name),
			)
		})
		counters.Current++
		counters.Ready += count(lifecycle.Ready(first))
		counters.Available += count(s.available(first))
		counters.Updated += count(s.updated(first) || s.generationMatches(first))
	}
	counters.Unavailable = counters.Desired - counters.Available
	return counters
}

func count(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

func (s *situation) updated(p *corev1.Pod) bool {
	hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	return hash == s.update || !labelled && s.generationMatches(p)
}

func (s *situation) generationMatches(p *corev1.Pod) bool {
	g := s.spec.TemplateGeneration
	return g != nil && p.Labels["pod-template-generation"] == strconv.FormatInt(*g, 10)
}

// hiddenByGeneration tells whether the pod is outdated by its hash and updated by its generation label.
func (s *situation) hiddenByGeneration(p *corev1.Pod) bool {
	return !s.updated(p) && s.generationMatches(p)
}

func (s *situation) available(p *corev1.Pod) bool {
	return lifecycle.Available(p, s.spec.MinReadySeconds, s.recorded.Now)
}

func (s *situation) anyNode(f func(*nodeSituation) bool) bool {
	for _, n := range s.nodes {
		if f(n) {
			return true
		}
	}
	return false
}

// about tells whether f holds for the node that the difference speaks of, or for any if it speaks of none.
func (s *situation) about(d difference, f func(*nodeSituation) bool) bool {
	if d.aspect == statusWord || d.subject == "" {
		return s.anyNode(f)
	}
	n, _ := s.find(d)
	return n != nil && f(n)
}

// aboutPod tells whether f holds for the pod that the difference speaks of.
func (s *situation) aboutPod(d difference, f func(*nodeSituation, *corev1.Pod) bool) bool {
	n, p := s.find(d)
	return n != nil && p != nil && f(n, p)
}

// find looks the subject up: a node for creates, a pod for deletes.
func (s *situation) find(d difference) (*nodeSituation, *corev1.Pod) {
	if d.aspect == creates {
		return s.nodes[d.subject], nil
	}
	for _, n := range s.nodes {
		for _, p := range n.pods {
			if p.Name == d.subject {
				return n, p
			}
		}
	}
	return nil, nil
}

// concernsUpdate tells whether the difference is about an update candidate: a run node with one live pod, an
// outdated one, or the number of candidates admitted.
func (s *situation) concernsUpdate(d difference) bool {
	if d.subject == "" {
		return true
	}
	n, _ := s.find(d)
	return n != nil && n.outcome == placement.Run && len(n.current) == 0 && len(n.other) == 1
}
