package rollouttest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
)

// NodeOption changes one thing about a node. Options are applied in order, so that a later one overrides an earlier. Where none
// does what a test needs, any function of that type will do.
type NodeOption func(*corev1.Node)

// Node returns a node of that name: UID "node-<name>", the label kubernetes.io/hostname, no taints, Ready since an
// hour before [Noon].
func Node(name string, options ...NodeOption) *corev1.Node {
	node := objects.Node(name)
	for _, option := range options {
		option(node)
	}
	return node
}

// Nodes returns one [Node] without options for each name, in the order given. Without names the list is empty.
func Nodes(names ...string) []*corev1.Node {
	nodes := make([]*corev1.Node, len(names))
	for i, name := range names {
		nodes[i] = Node(name)
	}
	return nodes
}

// Label sets a label of the node. The value may be empty, which is not the same as no label.
func Label(key, value string) NodeOption { return objects.Labelled(key, value) }

// Images makes the node report that it has the images, besides those it has already.
func Images(names ...string) NodeOption {
	return func(n *corev1.Node) {
		for _, name := range names {
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{name}})
		}
	}
}

// Kubelet makes the node report that version of its kubelet, and that it has these features, in place of those before: some
// updates in place and some pods need nodes that say so (I2).
func Kubelet(version string, features ...string) NodeOption {
	return func(n *corev1.Node) {
		n.Status.NodeInfo.KubeletVersion = version
		n.Status.DeclaredFeatures = slices.Sorted(slices.Values(features))
	}
}

// Taint adds a taint to the node. The value may be empty.
func Taint(key, value string, effect corev1.TaintEffect) NodeOption {
	return objects.Tainted(key, value, effect)
}

// Cordoned makes the node unschedulable, by field and by taint as a live cluster has it. Daemon pods tolerate it (P1).
func Cordoned() NodeOption { return objects.Cordoned() }

// ResourcesFor gives a container of the spec's pods other resources on this node, as JSON (P8):
// {"requests":{"cpu":"1"}}. It need not be well-formed.
func ResourcesFor(spec rollout.Spec, container, resources string) NodeOption {
	return objects.ResourcesFor(spec, container, resources)
}

// NotReady makes the node's Ready condition False since [Noon], and adds the taints that a live cluster adds then. Daemon pods
// tolerate the one with NoExecute only (P1), so that they may stay there and new ones may not start (P3).
func NotReady() NodeOption { return objects.NotReady() }

// Unreachable makes the node's Ready condition Unknown since [Noon], and adds the taints that a live cluster adds then. For
// daemon pods it is as [NotReady].
func Unreachable() NodeOption { return objects.Unreachable() }
