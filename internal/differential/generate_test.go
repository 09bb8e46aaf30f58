package differential_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/differential"
)

// noon is the clock of every generated world. The controller truncates what it stores to seconds; so is this.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// anyWorld is whatever the controller could find: mostly what is there on the way of a rollout, with a few things that
// should not be. The set is one that the API server lets in.
func anyWorld() *rapid.Generator[differential.World] {
	return rapid.Custom(func(t *rapid.T) differential.World {
		g := generator{T: t}
		w := differential.World{Now: noon, Set: g.set(), Burst: g.oneOf("burst", 0, 0, 0, 1, 2, 3, 5)}
		w.Revisions = g.history(w.Set)
		w.Nodes = g.nodes()
		w.Pods = g.pods(&w)
		return w
	})
}

// anyFleet is a world whose set has got another template: each node that runs a pod has an available one, of an older revision
// or, so far as the rollout has come, of the new one. Here and there is a pod that is not well.
func anyFleet() *rapid.Generator[differential.World] {
	return rapid.Custom(func(t *rapid.T) differential.World {
		g := generator{T: t}
		w := differential.World{Now: noon, Set: g.set(), Burst: g.oneOf("burst", 0, 0, 0, 3)}
		w.Revisions = g.history(w.Set)
		w.Nodes = make([]*corev1.Node, g.oneOf("fleet", 3, 5, 10, 20, 40))
		updated := g.oneOf("percent updated", 0, 0, 30, 70)
		for i := range w.Nodes {
			w.Nodes[i] = g.node("node-" + letters(i))
			if g.chance("empty", 3) {
				continue
			}
			pod := g.pod(&w, fmt.Sprintf("agent-%02d", i), w.Nodes[i].Name)
			if !g.chance("not well", 10) {
				revision := w.Revisions[0]
				if g.chance("updated", updated) {
					revision = w.Revisions[len(w.Revisions)-1]
				}
				pod.DeletionTimestamp, pod.Spec.NodeName, pod.Status = nil, w.Nodes[i].Name, readySince(w.Now.Add(-time.Hour))
				pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
			}
			w.Pods = append(w.Pods, pod)
		}
		return w
	})
}

// generator draws with short names, and with labels that say in a failing example what was drawn.
type generator struct {
	*rapid.T
}

func (g generator) chance(label string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(g.T, label) >= 100-percent // small numbers, which shrinking goes for, mean no
}

func (g generator) oneOf(label string, from ...int) int {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

func pick[T any](g generator, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

// set draws a DaemonSet as the API server stores it: with its defaults.
func (g generator) set() *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "agent", UID: "set-agent", Generation: 3},
		Spec: appsv1.DaemonSetSpec{
			Selector:             &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			Template:             g.template(),
			UpdateStrategy:       g.strategy(),
			MinReadySeconds:      int32(g.oneOf("minReadySeconds", 0, 0, 0, 30, 60)),
			RevisionHistoryLimit: new(int32(g.oneOf("revisionHistoryLimit", 10, 10, 0, 1, 2))),
		},
	}
	if g.chance("templateGeneration", 15) {
		set.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "2"}
	}
	if g.chance("collisionCount", 10) {
		set.Status.CollisionCount = new(int32(g.oneOf("collisions", 0, 1, 7)))
	}
	return set
}

func (g generator) strategy() appsv1.DaemonSetUpdateStrategy {
	if g.chance("onDelete", 10) {
		return appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
	none := intstr.FromInt32(0)
	budget := pick(g, "budget", intstr.FromInt32(1), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromInt32(3), intstr.FromInt32(10000),
		intstr.FromString("1%"), intstr.FromString("10%"), intstr.FromString("34%"), intstr.FromString("50%"), intstr.FromString("100%"))
	rolling := &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &budget, MaxSurge: &none}
	if g.chance("surge", 40) {
		rolling.MaxUnavailable, rolling.MaxSurge = rolling.MaxSurge, rolling.MaxUnavailable
	}
	return appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: rolling}
}

func (g generator) template() corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec: corev1.PodSpec{
			Containers:    []corev1.Container{{Name: "main", Image: "reg.example/agent:v9"}},
			RestartPolicy: corev1.RestartPolicyAlways,
			HostNetwork:   g.chance("hostNetwork", 10),
		},
	}
	spec := &template.Spec
	if g.chance("nodeSelector", 20) {
		spec.NodeSelector = map[string]string{"pool": "a"}
	}
	if g.chance("affinity", 20) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: g.affinity()}
	}
	for range g.oneOf("tolerations", 0, 0, 0, 1, 2) {
		spec.Tolerations = append(spec.Tolerations, pick(g, "toleration",
			corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
			corev1.Toleration{Key: "dedicated", Value: "db"},
			corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(30))},
			corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists},
			corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
			corev1.Toleration{Operator: corev1.TolerationOpExists},
		))
	}
	if g.chance("nodeName", 3) {
		spec.NodeName = "node-b"
	}
	return template
}

func (g generator) affinity() *corev1.NodeAffinity {
	required := new(corev1.NodeSelector)
	for range g.oneOf("terms", 1, 1, 2, 3) {
		term := corev1.NodeSelectorTerm{}
		for range g.oneOf("requirements", 1, 1, 0, 2) {
			term.MatchExpressions = append(term.MatchExpressions, pick(g, "requirement",
				corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"z1", "z2"}},
				corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"z1"}},
				corev1.NodeSelectorRequirement{Key: "pool", Operator: corev1.NodeSelectorOpExists},
				corev1.NodeSelectorRequirement{Key: "pool", Operator: corev1.NodeSelectorOpDoesNotExist},
				corev1.NodeSelectorRequirement{Key: "cpus", Operator: corev1.NodeSelectorOpGt, Values: []string{"4"}},
				corev1.NodeSelectorRequirement{Key: "cpus", Operator: corev1.NodeSelectorOpLt, Values: []string{"8"}},
			))
		}
		if g.chance("matchFields", 10) {
			term.MatchFields = []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: pick(g, "field", corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{"node-c"},
			}}
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
}

func (g generator) nodes() []*corev1.Node {
	count := g.oneOf("nodes", 1, 2, 3, 4, 5, 6, 8, 12, 20)
	if g.chance("fleet", 3) {
		count = g.oneOf("many", 0, 40)
	}
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		nodes[i] = g.node("node-" + letters(i))
	}
	return nodes
}

// letters counts a, b, … z, za, zb, …, which sorts as it counts.
func letters(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return "z" + letters(i-26)
}

func (g generator) node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{
		corev1.LabelHostname: name, "zone": pick(g, "zone", "z1", "z2", "z3"),
	}}}
	if pool := pick(g, "pool", "a", "a", "a", "b", ""); pool != "" {
		node.Labels["pool"] = pool
	}
	if g.chance("cpus", 50) {
		node.Labels["cpus"] = pick(g, "cpu", "4", "6", "16", "many")
	}
	if g.chance("tainted", 20) {
		for range g.oneOf("taints", 1, 1, 2) {
			node.Spec.Taints = append(node.Spec.Taints, pick(g, "taint",
				corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
				corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoExecute},
				corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectPreferNoSchedule},
				corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
				corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
				corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
				corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
				corev1.Taint{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
				corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
				corev1.Taint{Key: "dedicated", Value: "gpu", Effect: "Unknown"},
			))
		}
	}
	node.Spec.Unschedulable = g.chance("unschedulable", 5)
	return node
}

// history draws the set's revisions, the one of its template last and with the highest number.
func (g generator) history(set *appsv1.DaemonSet) (revisions []*appsv1.ControllerRevision) {
	older := g.oneOf("older revisions", 1, 1, 1, 0, 2, 3)
	for i := range older {
		template := set.Spec.Template.DeepCopy()
		template.Spec.Containers[0].Image = fmt.Sprintf("reg.example/agent:v%d", i+1)
		revisions = append(revisions, revisionOf(set, template, int64(i+1)))
	}
	return append(revisions, revisionOf(set, &set.Spec.Template, int64(older+1)))
}
