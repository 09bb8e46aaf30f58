package rollout_test

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// situation is what the input of a recorded case says, read naively.
type situation struct {
	recorded *recorded
	peer     peer
	native   ruleSet // in which the peer does as we do
	spec     rollout.Spec
	surge    bool
	desired  int32
	update   string           // hash of the update revision
	nodes    []*nodeSituation // by name; vanished ones too
}

type nodeSituation struct {
	name     string
	vanished bool // pods name it, but it does not exist; its outcome is Leave
	object   *corev1.Node
	outcome  placement.Outcome
	test     placement.Test
	pods     []*corev1.Pod // oldest first
}

// live lists the pods that are not terminating, finished ones too.
func (n *nodeSituation) live() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(n.pods), marked)
}

func marked(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }

func newSituation(c *recorded, spec rollout.Spec) *situation {
	s := &situation{
		recorded: c, peer: c.peer(), native: c.peer().others(), spec: spec, surge: scaled(c.set.rolling().MaxSurge, 1, 0) > 0,
		update: c.Revisions[len(c.Revisions)-1].Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
	}
	byName := make(map[string]*nodeSituation)
	matcher, _ := placement.Compile(&spec.Template)
	for _, n := range c.Nodes {
		verdict := matcher.Evaluate(n)
		byName[n.Name] = &nodeSituation{name: n.Name, object: n, outcome: verdict.Outcome, test: verdict.Test}
		s.desired += count(verdict.Outcome == placement.Run)
	}
	for _, p := range c.own() {
		name, ok := placement.TargetNode(p)
		if !ok {
			continue
		}
		if byName[name] == nil {
			byName[name] = &nodeSituation{name: name, vanished: true, object: &corev1.Node{}, outcome: placement.Leave}
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

// pod finds a pod of the set by its name.
func (s *situation) pod(name string) *corev1.Pod {
	for _, p := range s.recorded.own() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// oldest orders a node's pods as the controllers do; those that are not bound come last.
func oldest(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(count(a.Spec.NodeName == ""), count(b.Spec.NodeName == "")),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// scaled reads a budget; percentages are of the desired nodes, rounded up.
func scaled(v *intstr.IntOrString, of int32, unset int) int {
	return scaledTo(v, of, unset, true)
}

func scaledTo(v *intstr.IntOrString, of int32, unset int, up bool) int {
	if v == nil {
		return unset
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(of), up)
	if err != nil {
		return 0
	}
	return n
}
