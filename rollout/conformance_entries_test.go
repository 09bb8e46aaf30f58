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

// rule is one deliberate difference from the recorded controller: a switch of the model.
type rule uint8

const (
	generationLabel rule = iota
	terminatingIsNotLive
	anyPodCounts
	failedGoTogether
	finishedPodGoesFirst
	deletedOnce
	keepReplacesNothing
	servesWhileLeaving
	bestPodStays
	readyPodServes
	vanishedNodeStopsNothing
	unavailableNewPodHoldsPlace
	budgetCountsRunNodes
	oneServingPodWillDo
	missingPodsComeFirst
	burstIsPerPlan

	rules // count
)

// ruleSet holds the rules that are switched on, one bit each.
type ruleSet uint32

const allRules ruleSet = 1<<rules - 1

// entries is the table of deliberate differences. A difference is put down to the entries without whose rules the
// model of the controller would not become our plan.
var entries = [rules]struct{ id, rule, why string }{
	generationLabel: {"generation-label", "R5",
		"the controller takes an outdated pod for updated if its template-generation label matches"},
	terminatingIsNotLive: {"terminating-is-not-live", "S1",
		"the controller counts a terminating pod as ready, available and updated"},
	anyPodCounts: {"any-pod-counts", "S1",
		"the controller's status looks at the oldest scheduled pod of a node only"},
	failedGoTogether: {"failed-go-together", "M2",
		"two failed pods of a node share the controller's back-off, so that one of them stays"},
	finishedPodGoesFirst: {"finished-pod-goes-first", "M1",
		"under surge the controller creates a pod beside a finished one that it deletes in the same sync"},
	deletedOnce: {"deleted-once", "M5",
		"the controller deletes an unbound pod of a vanished node again although it is marked for deletion"},
	keepReplacesNothing: {"keep-replaces-nothing", "M4",
		"the controller deletes an outdated pod where no new one may start"},
	servesWhileLeaving: {"serves-while-leaving", "M4",
		"under surge the controller deletes available pods of deselected nodes before others are available"},
	bestPodStays: {"best-pod-stays", "M3",
		"of several pods of a node the controller keeps the oldest, even against the only available one"},
	readyPodServes: {"ready-pod-serves", "B3, B4",
		"the controller treats an outdated Ready pod inside minReadySeconds as broken, and replaces it past the budget"},
	vanishedNodeStopsNothing: {"vanished-node-stops-nothing", "B4",
		"a pod bound to a node that does not exist stops the controller's surge rollout"},
	unavailableNewPodHoldsPlace: {"unavailable-new-pod-holds-place", "B4",
		"the controller takes no surge place for a new pod without an old one beside it, or created beside a broken one"},
	budgetCountsRunNodes: {"budget-counts-run-nodes", "B2",
		"pods on nodes that are not to run one and on vanished nodes use up the controller's budget"},
	oneServingPodWillDo: {"one-serving-pod-will-do", "B2, B4",
		"a node with several live pods uses up the controller's budget, even if one of them serves"},
	missingPodsComeFirst: {"missing-pods-come-first", "M7",
		"what repair creates and deletes counts in the budget of the same plan; the controller counts phase by phase"},
	burstIsPerPlan: {"burst-is-per-plan", "M6",
		"repairs and updates of one plan share burst; each phase of the controller has its own"},
}

// situation is what the input of a recorded case says, read naively.
type situation struct {
	recorded *recorded
	spec     rollout.Spec
	surge    bool
	burst    int
	desired  int32
	update   string           // hash of the update revision
	nodes    []*nodeSituation // by name; vanished ones too
}

type nodeSituation struct {
	name     string
	vanished bool // pods name it, but it does not exist; its outcome is Leave
	outcome  placement.Outcome
	test     placement.Test
	pods     []*corev1.Pod // all that count (M1), oldest first
}

// live lists the pods that are not terminating, finished ones too.
func (n *nodeSituation) live() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(n.pods), marked)
}

func marked(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }

func newSituation(c *recorded, spec rollout.Spec) *situation {
	s := &situation{
		recorded: c, spec: spec, burst: 250,
		update: c.Revisions[len(c.Revisions)-1].Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
	}
	if c.BurstReplicas != nil {
		s.burst = int(*c.BurstReplicas)
	}
	if u := c.DaemonSet.Spec.UpdateStrategy; u.Type != appsv1.OnDeleteDaemonSetStrategyType && u.RollingUpdate != nil {
		s.surge = scaled(u.RollingUpdate.MaxSurge, 1, 0) > 0
	}
	byName := make(map[string]*nodeSituation)
	matcher, _ := placement.Compile(&spec.Template)
	for _, n := range c.Nodes {
		verdict := matcher.Evaluate(n)
		byName[n.Name] = &nodeSituation{name: n.Name, outcome: verdict.Outcome, test: verdict.Test}
		s.desired += count(verdict.Outcome == placement.Run)
	}
	for _, p := range c.snapshot().Pods {
		name, ok := placement.TargetNode(p)
		if !ok || marked(p) && lifecycle.Terminal(p) {
			continue
		}
		if byName[name] == nil {
			byName[name] = &nodeSituation{name: name, vanished: true, outcome: placement.Leave}
		}
		byName[name].pods = append(byName[name].pods, p)
	}
	for _, n := range byName {
		slices.SortFunc(n.pods, oldest)
		s.nodes = append(s.nodes, n)
	}
	slices.SortFunc(s.nodes, func(a, b *nodeSituation) int { return cmp.Compare(a.name, b.name) })
	return s
}

func count(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

func (s *situation) generationMatches(p *corev1.Pod) bool {
	g := s.spec.TemplateGeneration
	return g != nil && p.Labels["pod-template-generation"] == strconv.FormatInt(*g, 10)
}

func (s *situation) available(p *corev1.Pod) bool {
	return lifecycle.Available(p, s.spec.MinReadySeconds, s.recorded.Now)
}
