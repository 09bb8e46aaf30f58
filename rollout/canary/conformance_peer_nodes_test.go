package canary_test

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
)

// fleet is what the controller chooses canary nodes from.
type fleet struct {
	spec     *canarySpec
	desired  int32
	template corev1.PodTemplateSpec
	nodes    []corev1.Node
	set      string
	pods     []corev1.Pod
	chosen   []string
}

// mostWalked is the largest number of nodes that the model can walk in every order.
const mostWalked = 60

// impossible returns why no cluster can have this fleet; empty if one can.
func (f *fleet) impossible() string {
	switch {
	case max(int(f.desired), len(f.nodes)) > conformance.MostNodes:
		return "more nodes than any cluster has"
	case f.desired < 0:
		return "a negative number of nodes"
	case slices.ContainsFunc(f.pods, func(p corev1.Pod) bool {
		return slices.ContainsFunc(ours().containers(&p), func(s corev1.ContainerStatus) bool {
			return s.RestartCount < 0 || s.RestartCount > 1_000_000
		})
	}):
		return "restarts that nobody counts"
	default:
		return ""
	}
}

// selection is every choice that is possible. There are several because the controller follows the order of an unordered list.
type selection struct {
	wanted int
	sets   []string // each a sorted list, joined by spaces
	err    string
}

// considered is a node that the controller considers.
type considered struct {
	name, value string
	fit         bool
	restarts    int32
}

// choose finds all choices that the controller can make. If only is not nil, it finds those of these nodes.
func (p peer) choose(f *fleet, only []string) selection {
	wanted, err := p.wanted(f)
	if err != nil {
		return selection{err: err.Error()}
	}
	// The controller logs and ignores an invalid selector.
	matches := func(corev1.Node) bool { return true }
	if selector, err := metav1.LabelSelectorAsSelector(f.spec.NodeSelector); err == nil && f.spec.NodeSelector != nil {
		matches = func(n corev1.Node) bool { return selector.Matches(labels.Set(n.Labels)) }
	}
	var candidates []considered
	for _, n := range f.nodes {
		if matches(n) {
			candidates = append(candidates, considered{
				name: n.Name, value: f.value(n), fit: p.fits(f.template, n), restarts: p.restartsOn(f, n.Name),
			})
		}
	}
	kept := p.kept(f, candidates, wanted)
	if p.is(unfitUsesNoQuota) {
		candidates = slices.DeleteFunc(candidates, func(c considered) bool { return !c.fit })
	}
	w := &walk{
		peer: p, wanted: wanted, spread: len(f.spec.NodeAntiAffinityKeys) > 0, only: only,
		values: make(map[string]int), seen: make(map[step]bool), sets: make(map[string]bool),
	}
	var at step
	for _, c := range candidates {
		if _, known := w.values[c.value]; !known {
			w.values[c.value] = len(w.values)
		}
		if slices.Contains(kept, c.name) {
			at.used[w.values[c.value]]++
		}
	}
	w.kept = kept
	w.candidates = slices.DeleteFunc(candidates, func(c considered) bool { return slices.Contains(kept, c.name) })
	at.left = 1<<len(w.candidates) - 1
	w.visit(at)
	return selection{wanted: wanted, sets: slices.Sorted(maps.Keys(w.sets))}
}

func (p peer) wanted(f *fleet) (int, error) {
	desired := int(f.desired)
	if p.is(desiredIsCounted) {
		desired = 0
		for _, n := range f.nodes {
			if p.fits(f.template, n) {
				desired++
			}
		}
	}
	wanted, err := intstr.GetScaledValueFromIntOrPercent(f.spec.Replicas, desired, true)
	if p.is(desiredAtMost) {
		wanted = min(wanted, desired)
	}
	if r := f.replicas(); p.is(someNodeIsLeftOut) && r.Type == intstr.String && r.StrVal != "100%" {
		wanted = min(wanted, desired-1)
	}
	if p.is(someNodeAtLeast) {
		wanted = max(wanted, 1)
	}
	return wanted, err
}

// kept are the nodes that were chosen before and stay.
func (p peer) kept(f *fleet, candidates []considered, wanted int) []string {
	kept := slices.DeleteFunc(slices.Clone(f.chosen), func(name string) bool {
		i := slices.IndexFunc(candidates, func(c considered) bool { return c.name == name })
		exists := slices.ContainsFunc(f.nodes, func(n corev1.Node) bool { return n.Name == name })
		switch {
		case i >= 0:
			return !candidates[i].fit
		case exists:
			return p.is(deselectedIsReplaced)
		default:
			return p.is(goneIsReplaced)
		}
	})
	if p.is(surplusIsDropped) {
		kept = inOrder(kept)[:max(0, min(wanted, len(kept)))]
	}
	return kept
}

// restartsOn counts restarts of the set's pods on the node.
func (p peer) restartsOn(f *fleet, node string) (sum int32) {
	for _, pod := range f.pods {
		if pod.Spec.NodeName != node || pod.Labels[setLabel] != f.set {
			continue
		}
		counted := pod.Status.ContainerStatuses
		if p.is(initRestartsCount) {
			counted = slices.Concat(counted, pod.Status.InitContainerStatuses)
		}
		for _, s := range counted {
			sum += s.RestartCount
		}
	}
	return sum
}

// walk walks the candidates in every order that is possible.
type walk struct {
	peer
	wanted     int
	spread     bool
	only       []string // the nodes that may be taken; nil: all
	kept       []string
	candidates []considered
	values     map[string]int // the number of each value of the labels
	seen       map[step]bool
	sets       map[string]bool
}

// step is a step of a walk. Bits stand for candidates, and numbers for values.
type step struct {
	left, taken uint64
	used        [64]int8
}

// visit continues the walk with each candidate that may be the next.
func (w *walk) visit(at step) {
	if w.seen[at] {
		return
	}
	w.seen[at] = true
	if taken := bits.OnesCount64(at.taken) + len(w.kept); at.left == 0 || taken >= w.wanted {
		names := slices.Clone(w.kept)
		for i, c := range w.candidates {
			if at.taken>>i&1 == 1 {
				names = append(names, c.name)
			}
		}
		w.sets[strings.Join(inOrder(names), " ")] = true
		return
	}
	order := func(a, b considered) int {
		var byValue, byName int
		if w.spread && w.is(rarestValueFirst) {
			byValue = cmp.Compare(at.used[w.values[a.value]], at.used[w.values[b.value]])
		}
		if w.byName {
			byName = cmp.Compare(a.name, b.name)
		}
		return cmp.Or(byValue, cmp.Compare(a.restarts, b.restarts), byName)
	}
	var next []int
	for i, c := range w.candidates {
		if at.left>>i&1 == 0 {
			continue
		}
		if len(next) > 0 && order(c, w.candidates[next[0]]) < 0 {
			next = nil
		}
		if len(next) == 0 || order(c, w.candidates[next[0]]) == 0 {
			next = append(next, i)
		}
	}
	for _, i := range next {
		w.try(at, i)
	}
}

// try takes a candidate, unless its value has had its share. A candidate that is not fit uses up a part of the share, too.
func (w *walk) try(at step, i int) {
	c := w.candidates[i]
	at.left &^= 1 << i
	used := &at.used[w.values[c.value]]
	if !w.spread || w.is(rarestValueFirst) || int(*used) < (w.wanted+len(w.values)-1)/len(w.values) {
		*used++
		if c.fit && w.only != nil && !slices.Contains(w.only, c.name) {
			return
		}
		if c.fit {
			at.taken |= 1 << i
		}
	}
	w.visit(at)
}

func inOrder(names []string) []string { return slices.Sorted(slices.Values(names)) }

// value is the value of the node's labels over which the nodes are spread.
func (f *fleet) value(n corev1.Node) string {
	var values []string
	for _, key := range f.spec.NodeAntiAffinityKeys {
		values = append(values, n.Labels[key])
	}
	return strings.Join(values, "$")
}

// fits reports whether the controller thinks that a pod of the template may run on the node.
func (p peer) fits(template corev1.PodTemplateSpec, n corev1.Node) bool {
	if !labels.SelectorFromSet(template.Spec.NodeSelector).Matches(labels.Set(n.Labels)) {
		return false
	}
	tolerated := func(taint corev1.Taint) bool {
		for _, key := range []string{"network-unavailable", "unschedulable", "disk-pressure", "memory-pressure"} {
			if taint.Key == "node.kubernetes.io/"+key && taint.Effect == corev1.TaintEffectNoSchedule {
				return true
			}
		}
		for _, key := range []string{"not-ready", "unreachable"} {
			if taint.Key == "node.kubernetes.io/"+key && taint.Effect == corev1.TaintEffectNoExecute {
				return true
			}
		}
		if p.is(pidPressureIsTolerated) && taint.Key == corev1.TaintNodePIDPressure && taint.Effect == corev1.TaintEffectNoSchedule {
			return true
		}
		return slices.ContainsFunc(template.Spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == taint.Key && t.Operator == corev1.TolerationOpExists && (t.Effect == "" || t.Effect == taint.Effect)
		})
	}
	return !slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(taint)
	})
}
