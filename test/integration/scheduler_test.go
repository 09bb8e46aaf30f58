package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// The kube-scheduler binds the pods of our sets, and not the kubelet.
func TestScheduler(t *testing.T) {
	c := startReal(t, "kube-scheduler", &kubelet.Agent{Scheduled: true})
	if _, err := c.Scheduler("kube-scheduler"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		run  func(*scheduled)
	}{
		{"Rollout", (*scheduled).rollsOut},
		{"TooSmall", (*scheduled).leavesOutTooSmall},
		{"Taints", (*scheduled).obeysTaints},
		{"Placement", (*scheduled).agrees},
		{"SurgeHostPort", (*scheduled).stopsSurgeAtHostPort},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(&scheduled{worldOn(t, c, 6), c}) })
	}
}

// scheduled is a world whose pods the kube-scheduler binds.
type scheduled struct {
	*world
	cluster *controlplane.Cluster
}

// install makes a set, runs our controller, and waits for the pods of so many nodes.
func (w *scheduled) install(available int32, change ...func(*v1alpha1.PlannedDaemonSet)) {
	w.Helper()
	w.set(change...)
	w.runAs(manner{}, on(w.cluster))
	w.has(6, available)
	w.audit.Begin()
}

// has waits until so many nodes are at the present template, and so many available.
func (w *scheduled) has(updated, available int32) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d updated and %d available nodes", updated, available), func() error {
		set := w.current()
		s := set.Status
		if s.ObservedGeneration != set.Generation || s.UpdatedNumberScheduled != updated || s.NumberAvailable != available {
			return fmt.Errorf("generation %d of %d, %d updated, %d available, %s %s", s.ObservedGeneration, set.Generation,
				s.UpdatedNumberScheduled, s.NumberAvailable, s.State, s.Reason)
		}
		return nil
	})
}

func (w *scheduled) rollsOut() {
	w.install(6, maxUnavailable("2"))
	w.change(image("v2"))
	w.settled(6)
	w.endedSoundly(6, 2)
	w.eventually("12 pods were bound by the scheduler", func() error {
		bound := 0
		var list corev1.EventList
		if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if list.Items[i].Reason == "Scheduled" {
				bound++
			}
		}
		if bound != 12 {
			return fmt.Errorf("%d were", bound)
		}
		return nil
	})
}

// The pod of a node without room for it waits, is counted, and uses the budget up unless maxUnschedulable says otherwise.
func (w *scheduled) leavesOutTooSmall() {
	small := w.node(2)
	allocate := func(cpu string) {
		w.editNode(small, func(n *corev1.Node) {
			n.Status.Allocatable = n.Status.Allocatable.DeepCopy()
			n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu)
		})
	}
	allocate("500m")
	w.install(5, maxUnavailable("1"), func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	w.unschedulable(small)
	if s := w.current().Status; s.DesiredNumberScheduled != 6 || s.CurrentNumberScheduled != 6 || s.NumberUnavailable != 1 {
		w.Errorf("desired %d, current %d, unavailable %d; want 6, 6 and the one without room", s.DesiredNumberScheduled,
			s.CurrentNumberScheduled, s.NumberUnavailable)
	}

	w.change(image("v2"))
	w.has(1, 5) // its own pod disturbs nobody
	w.stays("the others wait", time.Second, func() error {
		if s := w.current().Status; s.UpdatedNumberScheduled != 1 {
			return fmt.Errorf("%d updated", s.UpdatedNumberScheduled)
		}
		return nil
	})
	w.change(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.MaxUnschedulable = new(intstr.FromInt32(1)) })
	w.has(6, 5)
	w.endedSoundly(6, 1)
	w.unschedulable(small)

	allocate("64")
	w.settled(6)
	w.endedSoundly(6, 1) // the same pods: it was waited for
}

// unschedulable waits until the scheduler says so of the pod that is pinned to a node.
func (w *scheduled) unschedulable(node string) {
	w.Helper()
	w.eventually("the pod of "+node+" is unschedulable", func() error {
		var list corev1.PodList
		if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			pod := &list.Items[i]
			if target, _ := placement.TargetNode(pod); target == node && pod.Spec.NodeName == "" && isUnschedulable(pod) {
				return nil
			}
		}
		return fmt.Errorf("it is not")
	})
}

func isUnschedulable(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// A cordoned node is updated as all others are; the pod of a node with a taint that it does not tolerate stays as it is.
func (w *scheduled) obeysTaints() {
	w.install(6, maxUnavailable("6"))
	cordoned, tainted := w.node(0), w.node(1)
	w.editNode(cordoned, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	w.editNode(tainted, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule})
	})
	before := w.pods()
	w.settled(5)
	w.change(image("v2"))
	w.settled(5)
	after := w.pods()
	if pod := after[cordoned]; pod == nil || pod.Spec.Containers[0].Image != "registry.example/agent:v2" {
		w.Errorf("the cordoned node was not updated\n%s", w.podsText())
	}
	if pod := after[tainted]; pod == nil || pod.UID != before[tainted].UID {
		w.Errorf("the pod of the tainted node was not kept\n%s", w.podsText())
	}
	if created, deleted, _ := w.counts(); created != 5 || deleted != 5 {
		w.Errorf("%d pods created and %d deleted, want 5 and 5", created, deleted)
	}
}

// Where the planner says that a node runs the pod, the scheduler binds it there, and nowhere else: each of these templates on each
// of these nodes.
func (w *scheduled) agrees() {
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: "x", Effect: effect})
		}
	}
	label := func(key, value string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[key] = value } }
	for i, edit := range []func(*corev1.Node){
		func(n *corev1.Node) { n.Spec.Unschedulable = true },
		func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)(n)
		},
		taint("dedicated", corev1.TaintEffectNoSchedule),
		taint("dedicated", corev1.TaintEffectNoExecute),
		taint("dedicated", corev1.TaintEffectPreferNoSchedule),
		taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule),
		taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		taint(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		taint(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		taint(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		taint(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		taint(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule),
		taint(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute),
		label("cores", "8"),
		label("cores", "many"),
		label("zone", "a"),
		label("zone", "b"),
		label("zone", ""),
	} {
		name := fmt.Sprintf("%s-edited-%02d", w.namespace, i)
		w.addNode(name)
		w.editNode(name, edit)
	}
	affinity := func(terms ...corev1.NodeSelectorTerm) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
			}}
		}
	}
	where := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	both := where("zone", corev1.NodeSelectorOpExists)
	both.MatchExpressions = append(both.MatchExpressions, where("zone", corev1.NodeSelectorOpNotIn, "a").MatchExpressions...)
	var nodes corev1.NodeList
	if err := w.List(w.Context(), &nodes, client.MatchingLabels{"world": w.namespace}); err != nil {
		w.Fatal(err)
	}
	for i, edit := range []func(*corev1.PodSpec){
		func(*corev1.PodSpec) {},
		func(s *corev1.PodSpec) { s.HostNetwork = true },
		func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"zone": "a"} },
		func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"zone": ""} },
		func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "x"}}
		},
		func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "dedicated", Value: "y"}, {
				Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(1)),
			}}
		},
		func(s *corev1.PodSpec) { s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} },
		affinity(where("cores", corev1.NodeSelectorOpGt, "4")),
		affinity(where("cores", corev1.NodeSelectorOpLt, "9"), where("zone", corev1.NodeSelectorOpIn, "b", "c")),
		affinity(where("zone", corev1.NodeSelectorOpDoesNotExist)),
		affinity(both),
		affinity(corev1.NodeSelectorTerm{}, where("zone", corev1.NodeSelectorOpIn, "a")),
		affinity(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{w.node(0)},
		}}}),
	} {
		template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}}}
		template.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v1"}}
		edit(&template.Spec)
		w.agreesOn(fmt.Sprintf("template %d", i), template, nodes.Items)
	}
}

// agreesOn compares for each node what the planner says with what the scheduler does: with a pod that only this node may run and
// that asks for all that the template does, and where the planner would have one with the very pod that it makes.
func (w *scheduled) agreesOn(what string, template *corev1.PodTemplateSpec, nodes []corev1.Node) {
	w.Helper()
	matcher, err := placement.Compile(template)
	if err != nil {
		w.Fatal(what, err)
	}
	asked, pinned := make([]*corev1.Pod, len(nodes)), make([]*corev1.Pod, len(nodes))
	send := func(pod *corev1.Pod) *corev1.Pod {
		pod.Namespace, pod.GenerateName = w.namespace, "agent-"
		w.create(pod)
		return pod
	}
	for i := range nodes {
		asked[i] = send(asking(template, nodes[i].Name))
		if matcher.Evaluate(&nodes[i]).Outcome == placement.Run {
			pinned[i] = send(placement.Pod(template, nodes[i].Name))
		}
	}
	run := 0
	for i := range nodes {
		verdict := matcher.Evaluate(&nodes[i])
		if bound := w.isBound(asked[i]); bound != (verdict.Outcome == placement.Run) {
			w.Errorf("%s on node %s, labels %v, taints %v: the planner says %v, the scheduler: bound %v, %v", what, nodes[i].Name,
				nodes[i].Labels, nodes[i].Spec.Taints, verdict, bound, asked[i].Status.Conditions)
		}
		if pinned[i] == nil {
			continue
		}
		run++
		if !w.isBound(pinned[i]) {
			w.Errorf("%s on node %s, labels %v, taints %v: the pod that the planner makes is not scheduled: %v", what, nodes[i].Name,
				nodes[i].Labels, nodes[i].Spec.Taints, pinned[i].Status.Conditions)
		}
	}
	if run == 0 {
		w.Errorf("%s runs on none of the nodes, and tests nothing", what)
	}
	err = w.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.namespace), client.GracePeriodSeconds(0))
	if err != nil {
		w.Fatal(err)
	}
}

// asking is the pod of a node with the template's own required affinity, which the planner's pin replaces (P6).
func asking(template *corev1.PodTemplateSpec, node string) *corev1.Pod {
	pod := placement.Pod(template, node)
	if template.Spec.Affinity == nil {
		return pod
	}
	required := template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.DeepCopy()
	required.NodeSelectorTerms = slices.DeleteFunc(required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchExpressions)+len(t.MatchFields) == 0 // matches nothing, and would match the node with a field
	})
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{
			Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node},
		})
	}
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	return pod
}

// isBound waits until the scheduler has looked at a pod, and tells whether it has bound it.
func (w *scheduled) isBound(pod *corev1.Pod) bool {
	w.Helper()
	w.eventually("the scheduler looks at a pod", func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" && !isUnschedulable(pod) {
			return fmt.Errorf("%v", pod.Status.Conditions)
		}
		return nil
	})
	return pod.Spec.NodeName != ""
}

// A surge pod that needs the host port of the pod that it is to follow finds no room beside it. It keeps its place, so the rollout
// stops at maxSurge nodes, and says which; all old pods serve on.
func (w *scheduled) stopsSurgeAtHostPort() {
	w.install(6, func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.UpdateStrategy.MaxSurge = new(intstr.FromInt32(2))
		s.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	})
	w.change(image("v2"))
	w.has(2, 6)
	w.unschedulable(w.node(5))
	w.unschedulable(w.node(4))
	w.stays("two surge pods, and nothing else", 2*time.Second, func() error {
		if seen := w.audit.Counts(); seen.Created != 2 || seen.Deleted != 0 || seen.Peak != 0 {
			return fmt.Errorf("%d pods created, %d deleted, %d nodes without a serving pod", seen.Created, seen.Deleted, seen.Peak)
		}
		return nil
	})
	if waiting := fmt.Sprint(w.current().Status.Waiting); !strings.Contains(waiting, "maxSurge 2 is used up by "+w.node(4)) {
		w.Errorf("the status says %s, want what the rollout waits for", waiting)
	}
}
