package differential_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"github.com/daemonplan/daemonplan/placement"
)

// placed counts nodes by outcome.
type placed [placement.Run + 1]int

// BenchmarkPlacement evaluates all nodes of a fleet per operation: with our matcher, compiled anew each time; with the
// controller's own function; and with what is left of that when all that does not depend on the node is taken out of the
// loop, which is what a controller can do with component-helpers.
func BenchmarkPlacement(b *testing.B) {
	for _, count := range []int{1_000, 5_000, 15_000, 50_000} {
		b.Run(fmt.Sprintf("nodes=%d", count), func(b *testing.B) {
			f := newFleet(b, count, func(int) bool { return false })
			nodes, set := f.world.Nodes, f.world.Set
			want := placedByController(set, nodes)
			if want[placement.Run] == 0 || want[placement.Run] == count {
				b.Fatalf("%d of %d nodes run the pod: some should, and some should not", want[placement.Run], count)
			}
			for _, impl := range []struct {
				name  string
				place func(*appsv1.DaemonSet, []*corev1.Node) placed
			}{
				{"ours", placedByMatcher}, {"NodeShouldRunDaemonPod", placedByController}, {"hoisted", placedByHelpers},
			} {
				if got := impl.place(set, nodes); got != want {
					b.Fatalf("%s places %v, want %v", impl.name, got, want)
				}
				measure(b, impl.name, count, func() {
					if impl.place(set, nodes) != want {
						b.Fatal("it changed its mind")
					}
				})
			}
		})
	}
}

func placedByMatcher(set *appsv1.DaemonSet, nodes []*corev1.Node) (n placed) {
	matcher, err := placement.Compile(&set.Spec.Template)
	if err != nil {
		return placed{}
	}
	var verdicts []placement.Verdict
	for some := range slices.Chunk(nodes, 1024) { // so that the list of verdicts costs nothing
		verdicts = matcher.EvaluateAll(verdicts[:0], some)
		for i := range verdicts {
			n[verdicts[i].Outcome]++
		}
	}
	return n
}

func placedByController(set *appsv1.DaemonSet, nodes []*corev1.Node) (n placed) {
	for _, node := range nodes {
		switch run, stay := daemon.NodeShouldRunDaemonPod(klog.Logger{}, node, set); {
		case run:
			n[placement.Run]++
		case stay:
			n[placement.Keep]++
		default:
			n[placement.Leave]++
		}
	}
	return n
}

func placedByHelpers(set *appsv1.DaemonSet, nodes []*corev1.Node) (n placed) {
	pod := daemon.NewPod(set, "") // with the daemon tolerations merged
	nodeName, tolerations := set.Spec.Template.Spec.NodeName, pod.Spec.Tolerations
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	keepsAway := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute || t.Effect == corev1.TaintEffectNoSchedule
	}
	evicts := func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	untolerated := func(node *corev1.Node, filter func(*corev1.Taint) bool) bool {
		_, found := schedulinghelpers.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, tolerations, filter, false)
		return found
	}
	for _, node := range nodes {
		matched := nodeName == "" || nodeName == node.Name
		if matched {
			matched, _ = affinity.Match(node) // an invalid term matches nothing, as in the controller
		}
		switch {
		case !matched:
			n[placement.Leave]++
		case !untolerated(node, keepsAway):
			n[placement.Run]++
		case !untolerated(node, evicts):
			n[placement.Keep]++
		default:
			n[placement.Leave]++
		}
	}
	return n
}
