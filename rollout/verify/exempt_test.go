package verify_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// handDeselected makes the template's node selector exclude the named nodes.
func handDeselected(nodes ...string) change {
	return func(s *handmade) {
		s.spec.Template.Spec.NodeSelector = map[string]string{"app-node": "yes"}
		s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
		for _, name := range nodes {
			handNode(name, func(n *corev1.Node) { n.Labels = nil })(s)
		}
	}
}

func TestVerifyAcceptsExempt(t *testing.T) {
	runAccepts(t, []acceptRow{
		{name: "after nodes that count", why: "B8: any node may be left out", scene: handFleet(handPods("available", "a-new"),
			handPods("unready", "b-new"), handUnreachable("b"), handLeavingOut("1"))},
		{name: "a node that is tainted as unreachable", why: "B8: its condition may be gone", scene: handFleet(handPods("unready", "a-new"), handOldPods(),
			handNode("a", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
			}), atMost("1"), handLeavingOut("1"))},
		{name: "a deselected node, while a pod of another does not come up", why: "M4: who is left out is not waited for", scene: handFleet(
			handPods("available", "a-new", "z-new"), handPods("unready", "b-new"), handUnreachable("b"), handSurgingBy(1), handLeavingOut("1"),
			handDeselected("z"))},
		{name: "one is begun while others hold more than all places", why: "B8: it holds none", scene: handFleet(handPods("available", "a-old"),
			handPods("unready", "b-new", "c-new"), inStateOf("PreparingUpdate", "a-old"), handUnreachable("a"), handSurgingBy(1), handLeavingOut("1"))},
	})
}

func TestVerifyLeftOut(t *testing.T) {
	leaves := func(s *handmade) { s.delete("z-new").bring() }
	runViolations(t, []violationRow{
		{
			name: "one beside one that is right", why: "B8: each is judged by itself", scene: handFleet(handPods("available", "a-new"),
				handPods("unready", "b-new"), handUnreachable("b"), handLeavingOut("2")),
			plant: func(s *handmade) { s.decision("a").Exemption = rollout.ExemptionUnschedulable }, want: 1, mention: "node a: B8: left out of the budgets, although it can be reached",
		},
		{
			name: "a deselected pod goes, for a node that can be reached", why: "M4: that one is waited for", scene: handFleet(
				handPods("available", "a-new", "z-new"), handPods("", "b"), handSurgingBy(1), handLeavingOut("1"), handDeselected("z")),
			plant: leaves, want: 4, mention: "node z: M4: delete of the available pods here leaves 1 nodes with an available pod, but 2",
		},
		{
			name: "a deselected pod goes, for a node whose pod serves", why: "M4: it counts as it is, although nobody can reach it", scene: handFleet(
				handPods("available", "a-new", "b-new", "z-new"), handPods("", "c"), handUnreachable("b"), handSurgingBy(1), handLeavingOut("1"),
				handDeselected("z")),
			plant: leaves, want: 4, mention: "node z: M4: delete of the available pods here leaves 2 nodes with an available pod, but 3",
		},
	})
}
