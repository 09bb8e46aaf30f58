package rollouttest

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

// NodeOption changes one thing about a node. Options are applied in order.
type NodeOption func(*corev1.Node)

// Node returns a node of that name: UID "node-<name>", the label kubernetes.io/hostname, no taints, Ready since an
// hour before [Noon].
func Node(name string, options ...NodeOption) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			UID:               types.UID("node-" + name),
			Labels:            map[string]string{corev1.LabelHostname: name},
			CreationTimestamp: hourAgo(),
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: hourAgo()},
		}},
	}
	for _, option := range options {
		option(node)
	}
	return node
}

// Nodes returns one [Node] without options for each name, in the order given.
func Nodes(names ...string) []*corev1.Node {
	nodes := make([]*corev1.Node, len(names))
	for i, name := range names {
		nodes[i] = Node(name)
	}
	return nodes
}

// Zones labels the nodes in turn with "zone" and the names given: the first node is in the first zone. Without names it
// does nothing. It returns the nodes.
func Zones(nodes []*corev1.Node, zones ...string) []*corev1.Node {
	for i, node := range nodes {
		if len(zones) > 0 {
			Label(zoneLabel, zones[i%len(zones)])(node)
		}
	}
	return nodes
}

// Label sets a label of the node.
func Label(key, value string) NodeOption {
	return func(n *corev1.Node) { n.Labels = with(n.Labels, key, value) }
}

// Images makes the node report that it has the images.
func Images(names ...string) NodeOption {
	return func(n *corev1.Node) {
		for _, name := range names {
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{name}})
		}
	}
}

// Taint adds a taint to the node.
func Taint(key, value string, effect corev1.TaintEffect) NodeOption {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

// Cordoned makes the node unschedulable, by field and by taint as a live cluster has it. Daemon pods tolerate it
// (P1).
func Cordoned() NodeOption {
	return func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		Taint(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)(n)
	}
}

// Uncordoned makes the node schedulable again.
func Uncordoned() NodeOption {
	return func(n *corev1.Node) {
		n.Spec.Unschedulable = false
		untaint(n, corev1.TaintNodeUnschedulable)
	}
}

// Unlabelled removes a label of the node.
func Unlabelled(key string) NodeOption {
	return func(n *corev1.Node) {
		n.Labels = maps.Clone(n.Labels)
		delete(n.Labels, key)
	}
}

// NodeAnnotation sets an annotation of the node.
func NodeAnnotation(key, value string) NodeOption {
	return func(n *corev1.Node) { n.Annotations = with(n.Annotations, key, value) }
}

// ResourcesFor gives a container of the spec's pods other resources on this node, as JSON (P8):
// {"requests":{"cpu":"1"}}. It need not be well-formed.
func ResourcesFor(spec rollout.Spec, container, resources string) NodeOption {
	spec = spec.Default()
	return NodeAnnotation(placement.OverrideAnnotationPrefix+spec.Namespace+"."+spec.Name+"."+container, resources)
}

func untaint(n *corev1.Node, key string) {
	n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == key })
}

// Recovered makes the node Ready since the given instant, and takes the taints of [NotReady] and [Unreachable] off.
func Recovered(since time.Time) NodeOption {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)},
		}
		untaint(n, corev1.TaintNodeNotReady)
		untaint(n, corev1.TaintNodeUnreachable)
	}
}

// NotReady makes the node's Ready condition False and adds the taints that a live cluster adds then. Daemon pods
// tolerate the one with NoExecute only (P1), so that they may stay there and new ones may not start (P3).
func NotReady() NodeOption {
	return ailing(corev1.ConditionFalse, corev1.TaintNodeNotReady)
}

// Unreachable makes the node's Ready condition Unknown and adds the taints that a live cluster adds then.
func Unreachable() NodeOption {
	return ailing(corev1.ConditionUnknown, corev1.TaintNodeUnreachable)
}

func ailing(status corev1.ConditionStatus, taint string) NodeOption {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(Noon())},
		}
		Taint(taint, "", corev1.TaintEffectNoSchedule)(n)
		Taint(taint, "", corev1.TaintEffectNoExecute)(n)
	}
}
