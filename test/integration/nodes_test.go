package integration_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Nodes that come get a pod, nodes that go lose theirs, and so do nodes that the template no longer fits.
func TestNodesComeAndGo(t *testing.T) {
	w := newWorld(t, 5)
	w.set()
	w.runController()
	w.settled(5)

	w.addNode(w.namespace + "-more")
	w.settled(6)

	edit := func(name string, change func(*corev1.Node)) {
		t.Helper()
		var node corev1.Node
		if err := w.Get(w.Context(), client.ObjectKey{Name: name}, &node); err != nil {
			t.Fatal(err)
		}
		before := node.DeepCopy()
		change(&node)
		if err := w.Patch(w.Context(), &node, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	edit(w.namespace+"-0000", func(n *corev1.Node) { delete(n.Labels, "world") })
	w.settled(5)
	edit(w.namespace+"-0001", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoExecute})
	})
	w.settled(4)
	before := w.pods()
	edit(w.namespace+"-0002", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule})
	})
	w.settled(3)
	if pods := w.pods(); pods[w.namespace+"-0002"] == nil || pods[w.namespace+"-0002"].UID != before[w.namespace+"-0002"].UID {
		t.Errorf("the running pod of a node that takes no new ones was not kept (M4)")
	}
	for _, name := range []string{"-0000", "-0001"} {
		if pod := w.pods()[w.namespace+name]; pod != nil {
			t.Errorf("node %s still has pod %s", name, pod.Name)
		}
	}
}
