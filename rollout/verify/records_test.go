package verify_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// handUnchanged adds to a-new the record of an update in place, and the container still runs what it ran before.
func handUnchanged() change {
	return onPods(func(p *corev1.Pod) {
		p.Annotations = map[string]string{inplace.StateKey: `{"revision":"fresh","updateTimestamp":"2026-01-15T11:30:00Z",` +
			`"lastContainerStatuses":{"main":{"imageID":"before"}},"updateImages":true}`}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "before", Ready: true}}
	}, "a-new")
}

// unmarked is a pod that has the gate of hooks, but not the condition by which hooks mark a pod.
func unmarked(p *corev1.Pod) {
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == lifecycle.PodReady })
}

// TestVerifyAcceptsRecords: what pods show of an update in place counts while anything shows that the update is in progress (I5,
// L3). What is left of a node's pods shows what the node ran last (T1).
func TestVerifyAcceptsRecords(t *testing.T) {
	updated := func(changes ...change) func() *handmade {
		return handFleet(append([]change{handPods("available", "a-new", "b-old"), inPlaceBy(inplace.IfPossible), atMost("1")}, changes...)...)
	}
	resized := func(s *handmade) {
		resourced(handRequests("100m"), handRequests("200m"))(s)
		pod := s.pod("a-new")
		pod.Spec.Containers[0].Resources = handRequests("200m")
		pod.Annotations = map[string]string{inplace.StateKey: `{"revision":"fresh","updateTimestamp":"2026-01-15T11:30:00Z",` +
			`"lastContainerStatuses":null,"updateResources":true,"daemonplanRecords":{"main":{"timestamp":"2026-01-15T11:30:00Z","resized":true}}}`}
		running := handRequests("100m")
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "x", Ready: true, Resources: &running}}
	}
	// lost has a node whose last pods have Failed and are marked for deletion. Its revision is held.
	lost := func(pods ...*corev1.Pod) func() *handmade {
		return handFleet(handPods("available", "b-old", "c-old"), func(s *handmade) {
			s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision(olderHash, 0, handTemplate("v0")))
			s.node("a", "d", pods...)
		}, handStrategy(holdingRevisions), partitionOf("3"))
	}
	failing := func(name, hash string, age time.Duration) *corev1.Pod {
		pod := handMarked(handPod(name, hash, "failed"))
		pod.CreationTimestamp = metav1.NewTime(handNow().Add(-age))
		return pod
	}
	runAccepts(t, []acceptRow{
		{name: "an update whose container has not restarted", why: "I5: the condition says that it is under way", scene: updated(handUnchanged(), made(time.Minute, "a-new"))},
		{name: "a record of an update that is over", why: "I5: nothing says that it is under way, so that it serves", scene: updated(handUnchanged())},
		{name: "a record of a pod that hooks have not marked", why: "L4: that it lacks the mark says that something is under way", scene: updated(handUnchanged(), onPods(unmarked, "a-new"))},
		{name: "a record of a pod in a state of the update", why: "L3: the state says that it is under way", scene: updated(handUnchanged(), inPlaceHook,
			inStateOf(lifecycle.Updating, "a-new"))},
		{name: "a resize that the kubelet has not reported", why: "I5: it is under way, ready or not", scene: updated(resized)},
		{name: "a generation of two digits", why: "R5: it is a decimal number", scene: handFleet(handPods("available", "a-new"), func(s *handmade) {
			s.spec.TemplateGeneration = new(int64(12))
			s.pod("a-new").Labels = map[string]string{"app": "agent", "pod-template-generation": "12"}
		})},
		{name: "a pod pinned by its name behind another field", why: "P7: the first field of that name tells the node", scene: handFleet(handPods("available", "a-new"), func(s *handmade) {
			pod := s.pod("a-new")
			pod.Spec.NodeName, pod.Spec.Affinity = "", placement.Pin(nil, "a")
			term := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
			other := corev1.NodeSelectorRequirement{Key: "spec.x", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}
			term.MatchFields = append([]corev1.NodeSelectorRequirement{other}, term.MatchFields...)
		})},
		{name: "a toleration of one value", why: "P2: Equal may be said", scene: handFleet(handPods("", "a"), handTemplated(func(t *corev1.PodTemplateSpec) {
			t.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "x"}}
		}), handNode("a", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoExecute}}
		}))},
		{name: "a node whose last pod is on its way out", why: "T1: it tells what comes back", scene: lost(failing("a-1", olderHash, time.Hour))},
		{name: "a node whose last two pods are on their way out", why: "T1: the younger tells what comes back", scene: lost(
			failing("a-1", staleHash, time.Hour), failing("a-2", olderHash, time.Minute))},
		{name: "a node whose last two pods are of one age", why: "T1: the first by name tells what comes back", scene: lost(
			failing("a-2", staleHash, time.Hour), failing("a-1", olderHash, time.Hour))},
		{name: "a request for a revision that has failed since", why: "M1: what it asked for is there, and leaves", scene: handRejected(func(s *handmade) {
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a"}}
		})},
	})
}

// TestVerifyInAnyOrder: the violations do not depend on the order of the snapshot.
func TestVerifyInAnyOrder(t *testing.T) {
	s := handRolling()
	s.snapshot.Pods = append(s.snapshot.Pods, handPod("c-older", staleHash, "available"), handPod("c-oldest", staleHash, "available"))
	for _, p := range s.snapshot.Pods[len(s.snapshot.Pods)-2:] {
		p.Spec.NodeName = "c"
	}
	s.create("c").create("a")
	found := s.verify()
	if len(found) == 0 {
		t.Fatal("the plan is wrong, but nothing was found")
	}
	slices.Reverse(s.snapshot.Nodes)
	slices.Reverse(s.snapshot.Pods)
	slices.Reverse(s.snapshot.Revisions)
	if got := s.verify(); !slices.Equal(got, found) {
		t.Errorf("in another order of the snapshot got %v, want %v", got, found)
	}
}

// TestVerifyNamedNode: a template for one node excludes the others, as a selector does (M4).
func TestVerifyNamedNode(t *testing.T) {
	runViolations(t, []violationRow{{
		name: "an available pod of a node that is not named, under surge", why: "M4: it serves until the named one does",
		scene: handFleet(handPods("unready", "a-new"), handPods("available", "b-new"), handSurgingBy(1), handTemplated(func(t *corev1.PodTemplateSpec) {
			t.Spec.NodeName = "a"
		})),
		plant: func(s *handmade) { s.delete("b-new").bring() }, want: 4, mention: "leaves 0 nodes with an available pod, but 1",
	}})
}
