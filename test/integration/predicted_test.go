package integration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// TestDaemonSetControllerIsPredicted: what package stock plans for the objects of a real API server is what the DaemonSet
// controller of Kubernetes then does there, and the end that a simulation comes to is the end.
func TestDaemonSetControllerIsPredicted(t *testing.T) {
	c := startReal(t, "kube-controller-manager", &kubelet.Agent{Scheduled: true})
	if _, err := c.Scheduler("kube-scheduler"); err != nil {
		t.Skip(err)
	}
	theirs := &daemonSetController{cluster: c}
	theirs.start(t)
	planner := func(spec rollout.Spec) (simulate.PlanFunc, error) {
		planner, err := stock.NewKubernetes(spec, 1)
		return planner.Plan, err
	}
	for _, test := range append(predictions(), []prediction{
		{"LostNodes", 16, func(w *predicted) { w.loses(3, "13 v1 ready, 3 v2 unready") }},
		{"NoScheduleSurge", 7, func(w *predicted) { w.tainted(corev1.TaintEffectNoSchedule, rolling(0, 2), "5 v2 ready") }},
		{"Claim", 4, func(w *predicted) { w.claims(rolling(2, 0), "1 v1 ready, 3 v2 unbound") }},
		{"Orphan", 3, func(w *predicted) { w.orphaned(0) }}, // it does not find the node, and does nothing until the pod is gone
	}...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // they mostly wait, each in a namespace and on nodes of its own
			test.run(&predicted{
				annotated: &annotated{world: worldOn(t, c, test.nodes), theirs: theirs}, nodes: test.nodes, planner: planner,
				kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
			})
		})
	}
}

// prediction is a run that is predicted, and then done.
type prediction struct {
	name  string
	nodes int
	run   func(*predicted)
}

// predictions are the runs in which both controllers do the same.
func predictions() []prediction {
	return []prediction{
		{"Update", 7, func(w *predicted) { w.updates(rolling(2, 0)) }},
		{"Surge", 7, func(w *predicted) { w.updates(rolling(0, 2)) }},
		{"MinReadySeconds", 5, func(w *predicted) {
			w.updates(rolling(2, 0), func(ds *appsv1.DaemonSet) { ds.Spec.MinReadySeconds = 2 })
		}},
		{"HostPort", 3, func(w *predicted) {
			w.surges("ports", func(ds *appsv1.DaemonSet) {
				ds.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9100, HostPort: 9100}}
			})
		}},
		{"AntiAffinity", 3, func(w *predicted) {
			w.surges("anti-affinity", func(ds *appsv1.DaemonSet) {
				ds.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						LabelSelector: ds.Spec.Selector, TopologyKey: corev1.LabelHostname,
					}},
				}}
			})
		}},
		{"NoRoom", 3, func(w *predicted) {
			w.surges("Insufficient cpu", func(ds *appsv1.DaemonSet) {
				ds.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("40"), // of 64
				}
			})
		}},
		{"NoSchedule", 7, func(w *predicted) { w.tainted(corev1.TaintEffectNoSchedule, rolling(3, 0), "5 v2 ready") }},
		{"NoExecute", 7, func(w *predicted) { w.tainted(corev1.TaintEffectNoExecute, rolling(3, 0), "4 v2 ready") }},
		{"NoExecuteSurge", 7, func(w *predicted) { w.tainted(corev1.TaintEffectNoExecute, rolling(0, 2), "4 v2 ready") }},
		{"Evictions", 7, func(w *predicted) { w.evicted(rolling(2, 0)) }},
		{"EvictionsSurge", 7, func(w *predicted) { w.evicted(rolling(0, 2)) }},
		{"ThirdRevision", 7, func(w *predicted) { w.revised("v3", rolling(2, 0)) }},
		{"ThirdRevisionSurge", 7, func(w *predicted) { w.revised("v3", rolling(0, 2)) }},
		{"Rollback", 7, func(w *predicted) { w.revised("v1", rolling(2, 0)) }},
		{"RollbackSurge", 7, func(w *predicted) { w.revised("v1", rolling(0, 2)) }},
		{"ClaimSurge", 4, func(w *predicted) { w.claims(rolling(0, 1), "1 v1 ready, 4 v2 unbound") }},
		{"Unready", 7, func(w *predicted) {
			w.unready(rolling(2, 0), "5 v1 ready, 2 v2 unready", "4 v1 ready, 3 v2 unready", "v3")
		}},
		{"UnreadySurge", 7, func(w *predicted) {
			w.unready(rolling(0, 2), "7 v1 ready, 2 v2 unready", "6 v1 ready, 3 v2 unready", "v3")
		}},
		{"UnreadyRollback", 7, func(w *predicted) {
			w.unready(rolling(2, 0), "5 v1 ready, 2 v2 unready", "4 v1 ready, 3 v2 unready", "v1")
		}},
		{"UnreadyRollbackSurge", 7, func(w *predicted) {
			w.unready(rolling(0, 2), "7 v1 ready, 2 v2 unready", "6 v1 ready, 3 v2 unready", "v1")
		}},
		{"Nodes", 7, func(w *predicted) { w.joined(rolling(2, 0)) }},
		{"NodesSurge", 7, func(w *predicted) { w.joined(rolling(0, 2)) }},
		{"NodeSelector", 7, func(w *predicted) { w.selected(rolling(2, 0)) }},
		{"NodeSelectorSurge", 7, func(w *predicted) { w.selected(rolling(0, 2)) }},
		{"OnDelete", 7, (*predicted).byHand},
	}
}

// predicted is a world with a DaemonSet that the controller of its kind updates.
type predicted struct {
	*annotated
	nodes   int
	kind    schema.GroupVersionKind
	planner func(rollout.Spec) (simulate.PlanFunc, error)
	// beyond is what the strategy for rolling updates has with this kind, and has not with that of Kubernetes.
	beyond map[string]any
}

// set makes the DaemonSet on the nodes of this world. It has the defaults that the API server gives to those of its own kind.
func (w *predicted) set(change ...func(*appsv1.DaemonSet)) {
	w.Helper()
	ds := w.daemonSet("", change...)
	if err := w.Create(w.Context(), ds, client.DryRunAll); err != nil {
		w.Fatal(err)
	}
	ds.ObjectMeta = metav1.ObjectMeta{Name: ds.Name, Namespace: ds.Namespace}
	w.create(w.as(ds))
}

// as is a DaemonSet as one of this world's kind.
func (w *predicted) as(ds *appsv1.DaemonSet) *unstructured.Unstructured {
	w.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ds)
	if err != nil {
		w.Fatal(err)
	}
	set := &unstructured.Unstructured{Object: object}
	set.SetGroupVersionKind(w.kind)
	for name, value := range w.beyond {
		if ds.Spec.UpdateStrategy.RollingUpdate == nil {
			break
		}
		if err := unstructured.SetNestedField(object, value, "spec", "updateStrategy", "rollingUpdate", name); err != nil {
			w.Fatal(err)
		}
	}
	return set
}

// current is the DaemonSet, without what those of Kubernetes have not.
func (w *predicted) current() *appsv1.DaemonSet {
	w.Helper()
	set := w.as(&appsv1.DaemonSet{})
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "agent"}, set); err != nil {
		w.Fatal(err)
	}
	var ds appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(set.Object, &ds); err != nil {
		w.Fatal(err)
	}
	return &ds
}

// change edits the DaemonSet as a user does. What comes back is what is stored.
func (w *predicted) change(edit func(*appsv1.DaemonSet), options ...client.PatchOption) *unstructured.Unstructured {
	w.Helper()
	before := w.current()
	after := before.DeepCopy()
	edit(after)
	set := w.as(after)
	stored := w.as(before)
	for name := range w.beyond { // it may have changed since, and is sent again
		unstructured.RemoveNestedField(stored.Object, "spec", "updateStrategy", "rollingUpdate", name)
	}
	if err := w.Patch(w.Context(), set, client.MergeFrom(stored), options...); err != nil {
		w.Fatal(err)
	}
	return set
}

// rolling is a strategy with a budget.
func rolling(maxUnavailable, maxSurge int32) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) {
		ds.Annotations = nil
		ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxUnavailable: new(intstr.FromInt32(maxUnavailable)), MaxSurge: new(intstr.FromInt32(maxSurge)),
			},
		}
	}
}

// installed makes the DaemonSet, and waits until so many pods are available and the others are there.
func (w *predicted) installed(available int32, change ...func(*appsv1.DaemonSet)) {
	w.Helper()
	w.set(change...)
	w.waitFor("the installation", w.podsText, func() error {
		s := w.current().Status
		if s.CurrentNumberScheduled != int32(w.nodes) || s.NumberAvailable != available || s.ObservedGeneration == 0 {
			return fmt.Errorf("%d scheduled, %d available", s.CurrentNumberScheduled, s.NumberAvailable)
		}
		return nil
	})
	w.audit.Begin()
}

// predict returns the first plan for the DaemonSet of now with the change, and how a simulation of it ends.
func (w *predicted) predict(change func(*appsv1.DaemonSet), model simulate.Model) (rollout.Plan, simulate.Report) {
	w.Helper()
	plan, scenario := w.scenario(change, model)
	report, err := simulate.Run(scenario)
	if err != nil {
		w.Fatal(err)
	}
	return plan, report
}

// scenario begins with the DaemonSet of now with the change. The plan is the first one.
func (w *predicted) scenario(
	change func(*appsv1.DaemonSet), model simulate.Model, events ...simulate.Event,
) (rollout.Plan, simulate.Scenario) {
	w.Helper()
	spec := w.spec(w.change(change, client.DryRunAll))
	var nodes corev1.NodeList
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	if err := w.List(w.Context(), &nodes, client.MatchingLabels{"world": w.namespace}); err != nil {
		w.Fatal(err)
	}
	if err := w.List(w.Context(), &pods, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	if err := w.List(w.Context(), &claims, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	snapshot := rollout.Snapshot{Now: time.Now()}
	fleet := simulate.Fleet{Snapshot: &snapshot}
	for i := range claims.Items {
		fleet.Claims = append(fleet.Claims, &claims.Items[i])
	}
	for i := range nodes.Items {
		snapshot.Nodes = append(snapshot.Nodes, &nodes.Items[i])
	}
	for i := range pods.Items {
		snapshot.Pods = append(snapshot.Pods, &pods.Items[i])
	}
	for _, revision := range w.revisions() {
		snapshot.Revisions = append(snapshot.Revisions, &revision)
	}
	first, err := w.planner(spec)
	if err != nil {
		w.Fatal(err)
	}
	plan, err := first(snapshot)
	if err != nil {
		w.Fatal(err)
	}
	return plan, simulate.Scenario{
		Spec: spec, Fleet: fleet, Model: model, Events: events, Limit: time.Hour, Unverified: true,
		Planner: w.planner,
	}
}

// spec is that of a set.
func (w *predicted) spec(set *unstructured.Unstructured) rollout.Spec {
	w.Helper()
	text, err := set.MarshalJSON()
	if err != nil {
		w.Fatal(err)
	}
	decoded, err := manifest.Decode(text)
	if err != nil {
		w.Fatal(err)
	}
	return decoded.Spec
}

// at counts the pods of an image tag, by whether they are Ready.
func (w *predicted) at(tag string) (ready, unready int) {
	for _, pod := range w.all() {
		switch now := state(&pod); {
		case now == tag+" ready":
			ready++
		case strings.HasPrefix(now, tag+" "):
			unready++
		}
	}
	return ready, unready
}

// all are the pods of the world, also several of a node.
func (w *predicted) all() []corev1.Pod {
	w.Helper()
	var list corev1.PodList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// updates: how many pods are asked for at first, how many are made, and how many nodes are down at most.
func (w *predicted) updates(strategy ...func(*appsv1.DaemonSet)) {
	w.installed(int32(w.nodes), strategy...)
	model := simulate.Model{Kubelets: []simulate.Kubelet{{Ready: simulate.Fixed(100 * time.Millisecond)}}}
	plan, report := w.predict(tag("v2"), model)
	if len(plan.Deletes)+len(plan.Creates) != 2 || report.End != simulate.EndDone {
		w.Fatalf("predicted are %d deletes and %d creates at first, and the end %v", len(plan.Deletes), len(plan.Creates),
			report.End)
	}
	w.change(tag("v2"))
	w.waitFor("the update", w.podsText, func() error {
		if ready, _ := w.at("v2"); ready != w.nodes || len(w.all()) != w.nodes {
			return fmt.Errorf("%d pods are updated and ready", ready)
		}
		return nil
	})
	created, deleted, peak := w.counts()
	if created != w.nodes || deleted != w.nodes || created != report.Created || !w.isPeak(peak, report.Unavailable.Peak, report.Deleted) {
		w.Errorf("%d pods made, %d deleted, %d nodes down at once; predicted were %d and %d down", created, deleted, peak,
			report.Created, report.Unavailable.Peak)
	}
}

// loses three nodes, and is updated with maxUnavailable 3: so many pods are deleted at first, those on lost nodes among them, and it
// never goes on from where it comes to.
func (w *predicted) loses(deleted int, comesTo string) {
	w.Helper()
	lost := []string{w.node(2), w.node(7), w.node(11)}
	for _, node := range lost {
		w.editNode(node, func(n *corev1.Node) { n.Labels["lost"] = "yes" })
	}
	behaviors.Store(w.namespace, func(pod *corev1.Pod) kubelet.Behavior {
		if slices.Contains(lost, pod.Spec.NodeName) {
			return kubelet.StaysUnready
		}
		return kubelet.GetsReady
	})
	w.installed(13, rolling(3, 0))
	model := simulate.Kubelet{Nodes: map[string]string{"lost": "yes"}, NeverReady: new(true)}
	plan, _ := w.predict(tag("v2"), simulate.Model{Kubelets: []simulate.Kubelet{model}})
	var doomed []string
	for _, d := range plan.Deletes {
		doomed = append(doomed, d.Node)
	}
	spared := slices.DeleteFunc(slices.Clone(lost), func(node string) bool { return slices.Contains(doomed, node) })
	if len(doomed) != deleted || len(spared) > 0 {
		w.Fatalf("predicted are deletes on %v, without %v", doomed, spared)
	}
	w.comesTo(simulate.EndStuck, comesTo, moment{change: tag("v2"), model: []simulate.Kubelet{model}, chance: true, fresh: len(lost)})
	w.stays("it stands still", 3*time.Second, func() error {
		if now := summary(w.each()); now != comesTo {
			return fmt.Errorf("there are %s", now)
		}
		return nil
	})
}

// surges: where no second pod can be bound, the first node that surges is the last one.
func (w *predicted) surges(why string, change func(*appsv1.DaemonSet)) {
	for i := range w.nodes { // as a kubelet does
		w.editNode(w.node(i), func(n *corev1.Node) { n.Labels[corev1.LabelHostname] = n.Name })
	}
	w.installed(int32(w.nodes), rolling(0, 1), change)
	spec := w.spec(w.as(w.current()))
	plan, report := w.predict(tag("v2"), simulate.Model{})
	if len(plan.Creates) != 1 || report.End != simulate.EndStuck || report.Finished != 0 {
		w.Fatalf("predicted are %d creates, and the end %v", len(plan.Creates), report.End)
	}
	if planner, err := rollout.New(spec); err != nil || why != "Insufficient cpu" && len(planner.Warnings()) == 0 {
		w.Errorf("nobody warns of %s, error %v", why, err)
	}
	w.change(tag("v2"))
	w.waitFor("a new pod that the scheduler refuses", w.podsText, func() error {
		refused := func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && strings.Contains(c.Message, why)
		}
		for _, pod := range w.all() {
			if slices.ContainsFunc(pod.Status.Conditions, refused) {
				return nil
			}
		}
		return errors.New("there is none")
	})
	w.stays("nothing goes on", 5*time.Second, func() error {
		if ready, _ := w.at("v1"); ready != w.nodes || len(w.all()) != w.nodes+1 {
			return fmt.Errorf("%d old pods serve, and there are %d pods", ready, len(w.all()))
		}
		return nil
	})
}
