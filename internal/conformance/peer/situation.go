package peer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// Situation is what a controller decides about, read naively from a case.
type Situation struct {
	Case *Case
	Spec rollout.Spec
	// Surge reports whether the set is updated with maxSurge.
	Surge bool
	// Desired is the number of run nodes.
	Desired int32
	// Nodes are in the order of their names, with those that only pods name.
	Nodes []*Node

	controller Controller
	native     RuleSet // in which the controller does as we do
	update     string  // hash of the update revision
}

// Node is a node with the pods of the set.
type Node struct {
	Name string
	// Vanished reports whether the node does not exist, but pods name it. Its outcome is Leave, its object empty.
	Vanished bool
	Object   *corev1.Node
	Outcome  placement.Outcome
	// Test is the placement test that failed, if the pod is not to run here.
	Test placement.Test
	// Pods are in the order of [Oldest].
	Pods []*corev1.Pod
}

// Live lists the pods that are not terminating, finished ones too.
func (n *Node) Live() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(n.Pods), marked)
}

// NewSituation reads a case. The spec is the one that the case has, or what a test made of it.
func NewSituation(c *Case, spec rollout.Spec) (*Situation, error) {
	if len(c.Revisions) == 0 {
		return nil, fmt.Errorf("%s: revisions: none, the last is to be that of the template", c.Name)
	}
	matcher, err := placement.Compile(&spec.Template)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	s := &Situation{
		Case: c, Spec: spec, Surge: Scaled(c.Set.Rolling().MaxSurge, 1, 0) > 0,
		controller: c.Controller(), native: c.Controller().others(),
		update: c.Revisions[len(c.Revisions)-1].Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
	}
	byName := make(map[string]*Node)
	for _, n := range c.Nodes {
		verdict := matcher.Evaluate(n)
		byName[n.Name] = &Node{Name: n.Name, Object: n, Outcome: verdict.Outcome, Test: verdict.Test}
		s.Desired += count(verdict.Outcome == placement.Run)
	}
	for _, p := range c.Own() {
		name, ok := placement.TargetNode(p)
		if !ok {
			continue
		}
		if byName[name] == nil {
			byName[name] = &Node{Name: name, Vanished: true, Object: &corev1.Node{}, Outcome: placement.Leave}
		}
		byName[name].Pods = append(byName[name].Pods, p)
	}
	for _, n := range byName {
		slices.SortFunc(n.Pods, Oldest)
		s.Nodes = append(s.Nodes, n)
	}
	slices.SortFunc(s.Nodes, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

func (s *Situation) generationMatches(p *corev1.Pod) bool {
	g := s.Spec.TemplateGeneration
	return g != nil && p.Labels["pod-template-generation"] == strconv.FormatInt(*g, 10)
}

// pod finds a pod of the set by its name.
func (s *Situation) pod(name string) *corev1.Pod {
	for _, p := range s.Case.Own() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Oldest orders a node's pods as the controllers do; those that are not bound come last.
func Oldest(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(count(a.Spec.NodeName == ""), count(b.Spec.NodeName == "")),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// Scaled reads a budget; percentages are of so many nodes, rounded up. What cannot be read is 0.
func Scaled(v *intstr.IntOrString, of int32, unset int) int {
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

func marked(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }

func count(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
