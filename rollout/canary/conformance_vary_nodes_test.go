package canary_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
)

// nodesChanges are the changes that make variations of a recorded choice of nodes.
var nodesChanges = []change[fleet]{
	{"a node more", func(f *fleet, r *rand.Rand) {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("more-%d", len(f.nodes))}}
		if len(f.nodes) > 0 && r.IntN(4) > 0 {
			n.Labels = maps.Clone(oneOf(r, f.nodes).Labels)
		}
		f.nodes = append(f.nodes, n)
	}},
	{"a node less", func(f *fleet, r *rand.Rand) {
		if len(f.nodes) > 0 {
			i := r.IntN(len(f.nodes))
			f.nodes = slices.Delete(f.nodes, i, i+1)
		}
	}},
	{"another label", func(f *fleet, r *rand.Rand) {
		f.node(r, func(n *corev1.Node) {
			n.Labels = maps.Clone(n.Labels)
			if n.Labels == nil {
				n.Labels = make(map[string]string)
			}
			n.Labels[oneOf(r, []string{"canary", "zone", "type", "missing"})] = oneOf(r, []string{"true", "a", "b", "x", ""})
		})
	}},
	{"a taint", func(f *fleet, r *rand.Rand) {
		f.node(r, func(n *corev1.Node) {
			key := oneOf(r, []string{
				"dedicated", corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeMemoryPressure,
			})
			effect := oneOf(r, []corev1.TaintEffect{
				corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule,
			})
			n.Spec.Taints = append(slices.Clone(n.Spec.Taints), corev1.Taint{Key: key, Effect: effect})
		})
	}},
	{"a toleration", func(f *fleet, _ *rand.Rand) {
		f.template.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}},
	{"a pod that restarts", func(f *fleet, r *rand.Rand) {
		f.node(r, func(n *corev1.Node) {
			status := []corev1.ContainerStatus{{Name: "any", RestartCount: oneOf(r, []int32{0, 1, 2, 3, 100})}}
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("more-%d", len(f.pods)), Labels: map[string]string{setLabel: f.set}}}
			if pod.Spec.NodeName = n.Name; r.IntN(2) == 0 {
				pod.Status.ContainerStatuses = status
			} else {
				pod.Status.InitContainerStatuses = status
			}
			f.pods = append(f.pods, pod)
		})
	}},
	{"a pod of another set", func(f *fleet, r *rand.Rand) {
		f.node(r, func(n *corev1.Node) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{setLabel: f.set + "-other"}}}
			pod.Spec.NodeName = n.Name
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 7}}
			f.pods = append(f.pods, pod)
		})
	}},
	{"another node chosen before", func(f *fleet, r *rand.Rand) {
		f.node(r, func(n *corev1.Node) {
			if !slices.Contains(f.chosen, n.Name) {
				f.chosen = append(f.chosen, n.Name)
			}
		})
	}},
	{"a node chosen before that is gone", func(f *fleet, _ *rand.Rand) {
		if !slices.Contains(f.chosen, "never") {
			f.chosen = append(f.chosen, "never")
		}
	}},
	{"nothing chosen before", func(f *fleet, _ *rand.Rand) { f.chosen = nil }},
	{"another number", func(f *fleet, r *rand.Rand) {
		f.spec.Replicas = new(oneOf(r, []intstr.IntOrString{
			intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromInt32(100), intstr.FromInt32(math.MaxInt32), intstr.FromString("1%"),
			intstr.FromString("50%"), intstr.FromString("99%"), intstr.FromString("100%"),
			// These values are refused.
			intstr.FromInt32(0), intstr.FromInt32(-3), intstr.FromInt32(math.MinInt32), intstr.FromString("101%"),
			intstr.FromString("-1%"), intstr.FromString("0%"), intstr.FromString("3"), intstr.FromString("%"), intstr.FromString("+5%"),
		}))
	}},
	{"another stored status", func(f *fleet, r *rand.Rand) {
		f.desired = oneOf(r, []int32{0, 1, 5, 50, conformance.MostNodes, 2_000_000_000, -1, math.MaxInt32, math.MinInt32})
	}},
	{"other keys", func(f *fleet, r *rand.Rand) {
		f.spec.NodeAntiAffinityKeys = oneOf(r, [][]string{nil, {"zone"}, {"missing"}, {"zone", "type"}})
	}},
	{"another selector", func(f *fleet, r *rand.Rand) {
		f.spec.NodeSelector = oneOf(r, []*metav1.LabelSelector{
			nil, {}, {MatchLabels: map[string]string{"canary": "true"}},
			{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: metav1.LabelSelectorOpExists}}},
			{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Unheard-of"}}},
		})
	}},
}

func (f *fleet) node(r *rand.Rand, change func(*corev1.Node)) {
	if len(f.nodes) > 0 {
		change(&f.nodes[r.IntN(len(f.nodes))])
	}
}

// variedFleets makes variations of recorded choices.
func variedFleets(tb testing.TB, each int) (fleets []*fleet, made []string) {
	recorded := recordings[nodesCase](tb, "eds/canary-nodes.jsonl")
	return vary(len(recorded), each, nodesChanges, func(i int) (*fleet, string) {
		f := recorded[i].fleet()
		f.spec = new(*f.spec)
		f.nodes, f.pods, f.chosen = slices.Clone(f.nodes), slices.Clone(f.pods), slices.Clone(f.chosen)
		return f, recorded[i].Name
	})
}

// TestConformanceNodesVaried compares Choose with the model of the controller on randomly generated variations.
func TestConformanceNodesVaried(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	fleets, names := variedFleets(t, 5)
	count := tally{file: "variations of canary-nodes", of: chooseRules, own: chooseRules}
	for i, f := range fleets {
		count.compareChoice(t, names[i], f)
	}
	count.report(t)
}
