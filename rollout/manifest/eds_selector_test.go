package manifest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// TestEDSSelector has the two meanings of spec.selector: the documented one, pods, and the one of the controller, nodes.
func TestEDSSelector(t *testing.T) {
	type test struct {
		row
		selector string // in flow style
		pod      string // lines below the template's spec, indented by six
		pods     metav1.LabelSelector
		nodes    []corev1.NodeSelectorTerm
	}
	const name = "extendeddaemonset.datadoghq.com/name"
	byName := metav1.LabelSelector{MatchLabels: map[string]string{name: "foo"}}
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	term := func(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: expressions}
	}
	affinity := func(terms string) string {
		return "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + terms + "]}}}\n"
	}
	each(t, []test{
		{row{"empty", "matches everything: nothing is asked for"}, "{}", "", byName, nil},
		{row{"pods by label", "as documented"}, "{matchLabels: {app: foo}}", "",
			metav1.LabelSelector{MatchLabels: map[string]string{name: "foo", "app": "foo"}}, nil},
		{row{"pods by expression", "as documented"}, "{matchExpressions: [{key: app, operator: Exists}]}", "",
			metav1.LabelSelector{MatchLabels: byName.MatchLabels, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Exists"}}}, nil},
		{row{"pods by the name of the set", "the label that EDS puts on every pod"}, "{matchLabels: {" + name + ": foo}}", "", byName, nil},
		{row{"nodes by label", "the template does not have it; in the order of the keys"}, "{matchLabels: {zone: a, app: foo, disk: large}}", "", byName,
			[]corev1.NodeSelectorTerm{term(in("app", "foo"), in("disk", "large"), in("zone", "a"))}},
		{row{"nodes by label and expression", "all of both"}, "{matchLabels: {zone: a}, matchExpressions: [{key: disk, operator: In, values: [large, small]}, {key: gpu, operator: DoesNotExist}]}", "", byName,
			[]corev1.NodeSelectorTerm{term(in("zone", "a"), in("disk", "large", "small"), corev1.NodeSelectorRequirement{Key: "gpu", Operator: "DoesNotExist"})}},
		{row{"nodes in addition to an affinity", "terms are alternatives: each gets it"}, "{matchLabels: {zone: a}}",
			affinity("{matchExpressions: [{key: os, operator: In, values: [linux]}]}, {matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}"), byName,
			[]corev1.NodeSelectorTerm{
				term(in("os", "linux"), in("zone", "a")),
				{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "node-1")}, MatchExpressions: []corev1.NodeSelectorRequirement{in("zone", "a")}},
			}},
		{row{"nodes in addition to an empty term", "it matches no node, and must not begin to"}, "{matchLabels: {zone: a}}",
			affinity("{}, {matchExpressions: [{key: os, operator: In, values: [linux]}]}"), byName,
			[]corev1.NodeSelectorTerm{{}, term(in("os", "linux"), in("zone", "a"))}},
		{row{"nodes in addition to preferences", "which decide nothing"}, "{matchLabels: {zone: a}}",
			"      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}\n", byName, []corev1.NodeSelectorTerm{term(in("zone", "a"))}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(eds{spec: "  selector: " + c.selector + "\n", pod: c.pod}.text()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&c.pods, set.Spec.Selector); diff != "" {
			t.Errorf("pods: -want +got\n%s", diff)
		}
		var nodes []corev1.NodeSelectorTerm
		if a := set.Spec.Template.Spec.Affinity; a != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			nodes = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		}
		if diff := cmp.Diff(c.nodes, nodes); diff != "" {
			t.Errorf("nodes: -want +got\n%s", diff)
		}
		if _, err := rollout.New(set.Spec); err != nil {
			t.Errorf("New: %v", err)
		}
	})
}

// TestEDSExcludedNodes follows the recipe of the documentation, and its relatives, up to the plan.
func TestEDSExcludedNodes(t *testing.T) {
	type test struct {
		row
		manifest eds
		labels   map[string]string // of node b
		creates  []string
		deletes  []string // of the pods on both nodes
	}
	label := func(value string) map[string]string {
		return map[string]string{"extendeddaemonset.datadoghq.com/exclude": value}
	}
	each(t, []test{
		{row{"no node excluded", "NotIn matches a node without the label"}, eds{pod: excluding}, nil, []string{"a", "b"}, nil},
		{row{"node excluded", "that is what the label is for"}, eds{pod: excluding}, label("foo"), []string{"a"}, []string{"pod-b"}},
		{row{"node excluded from another set", "the value says which"}, eds{pod: excluding}, label("bar"), []string{"a", "b"}, nil},
		{row{"without the affinity", "the label alone does nothing"}, eds{}, label("foo"), []string{"a", "b"}, nil},
		{row{"nodes by spec.selector", "the way of the controller"}, eds{spec: "  selector: {matchLabels: {extendeddaemonset.datadoghq.com/exclude: bar}}\n"},
			label("bar"), []string{"b"}, []string{"pod-a"}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(c.manifest.text()))
		if err != nil {
			t.Fatal(err)
		}
		set.Spec.UID = "u-1"
		set.Spec.Strategy.SlowStart = nil // a pod a minute would hide the other nodes
		planner, err := rollout.New(set.Spec)
		if err != nil {
			t.Fatal(err)
		}
		empty := rollout.Snapshot{Now: ready.Add(time.Hour), Nodes: []*corev1.Node{
			{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: c.labels}},
		}}
		plan, err := planner.Plan(empty)
		if err != nil {
			t.Fatal(err)
		}
		var creates []string
		for _, create := range plan.Creates {
			creates = append(creates, create.Node)
		}
		if diff := cmp.Diff(c.creates, creates); diff != "" {
			t.Errorf("creates: -want +got\n%s", diff)
		}
		// With a pod on every node, those of excluded nodes go.
		running := empty
		for _, node := range running.Nodes {
			running.Pods = append(running.Pods, runningPod(set.Spec, node.Name))
		}
		if plan, err = planner.Plan(running); err != nil {
			t.Fatal(err)
		}
		var deletes []string
		for _, d := range plan.Deletes {
			if d.Reason != rollout.ReasonOutdated && d.Reason != rollout.ReasonOutdatedNotReady {
				deletes = append(deletes, d.Pod)
			}
		}
		slices.Sort(deletes)
		if diff := cmp.Diff(c.deletes, deletes); diff != "" {
			t.Errorf("deletes: -want +got\n%s", diff)
		}
	})
}

// runningPod returns a ready pod of the set that carries no revision.
func runningPod(spec rollout.Spec, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "pod-" + node, Namespace: "default", UID: types.UID("uid-" + node), Labels: spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: spec.APIVersion, Kind: spec.Kind, Name: spec.Name, UID: spec.UID, Controller: new(true)}},
	}}
	pod.Spec.NodeName = node
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ready}}
	return pod
}
