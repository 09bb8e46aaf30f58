package objects

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// Node returns a node of that name: UID "node-<name>", the label kubernetes.io/hostname, no taints, Ready since an hour before
// [Noon].
func Node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			UID:               types.UID("node-" + name),
			Labels:            map[string]string{corev1.LabelHostname: name},
			CreationTimestamp: HourAgo(),
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: HourAgo()},
		}},
	}
}

// Labelled sets a label of the node.
func Labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = With(n.Labels, key, value) }
}

// Unlabelled removes a label of the node.
func Unlabelled(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Labels = maps.Clone(n.Labels)
		delete(n.Labels, key)
	}
}

// NodeAnnotation sets an annotation of the node.
func NodeAnnotation(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = With(n.Annotations, key, value) }
}

// ResourcesFor gives a container of the spec's pods other resources on this node, as JSON (P8): {"requests":{"cpu":"1"}}. It
// need not be well-formed.
func ResourcesFor(spec rollout.Spec, container, resources string) func(*corev1.Node) {
	spec = spec.Default()
	return NodeAnnotation(placement.OverrideAnnotationPrefix+spec.Namespace+"."+spec.Name+"."+container, resources)
}

// Tainted adds a taint to the node.
func Tainted(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(slices.Clip(n.Spec.Taints), corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func untaint(n *corev1.Node, key string) {
	n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == key })
}

// Cordoned makes the node unschedulable, by field and by taint as a live cluster has it.
func Cordoned() func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		Tainted(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)(n)
	}
}

// Uncordoned makes the node schedulable again.
func Uncordoned() func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Unschedulable = false
		untaint(n, corev1.TaintNodeUnschedulable)
	}
}

// NotReady makes the node's Ready condition False and adds the taints that a live cluster adds then.
func NotReady() func(*corev1.Node) {
	return ailing(corev1.ConditionFalse, corev1.TaintNodeNotReady)
}

// Unreachable makes the node's Ready condition Unknown and adds the taints that a live cluster adds then.
func Unreachable() func(*corev1.Node) {
	return ailing(corev1.ConditionUnknown, corev1.TaintNodeUnreachable)
}

func ailing(status corev1.ConditionStatus, taint string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		NodeCondition(corev1.NodeReady, status, Noon())(n)
		Tainted(taint, "", corev1.TaintEffectNoSchedule)(n)
		Tainted(taint, "", corev1.TaintEffectNoExecute)(n)
	}
}

// NodeCondition sets a condition of the node since the given instant.
func NodeCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus, since time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		same := func(c corev1.NodeCondition) bool { return c.Type == kind }
		n.Status.Conditions = append(slices.DeleteFunc(slices.Clone(n.Status.Conditions), same), corev1.NodeCondition{
			Type: kind, Status: status, LastTransitionTime: metav1.NewTime(since),
		})
	}
}

// Recovered makes the node Ready since the given instant, and takes the taints of [NotReady] and [Unreachable] off.
func Recovered(since time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		NodeCondition(corev1.NodeReady, corev1.ConditionTrue, since)(n)
		untaint(n, corev1.TaintNodeNotReady)
		untaint(n, corev1.TaintNodeUnreachable)
	}
}
