package placement_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// fleet returns nodes as a cloud provider labels them. A tenth carry one taint that no daemon pod tolerates by default. Each
// is decoded by itself, so that every string has memory of its own, and they are listed in another order than they were made
// in, as by an informer.
func fleet(count int) []*corev1.Node {
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		name := fmt.Sprintf("node-%06d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		pairs := [][2]string{
			{"kubernetes.io/hostname", name},
			{"kubernetes.io/os", "linux"},
			{"kubernetes.io/arch", "amd64"},
			{"beta.kubernetes.io/os", "linux"},
			{"beta.kubernetes.io/arch", "amd64"},
			{"beta.kubernetes.io/instance-type", "m5.xlarge"},
			{"node.kubernetes.io/instance-type", "m5.xlarge"},
			{"topology.kubernetes.io/region", "eu-west-1"},
			{"topology.kubernetes.io/zone", "eu-west-1" + string(rune('a'+i%3))},
			{"failure-domain.beta.kubernetes.io/zone", "eu-west-1" + string(rune('a'+i%3))},
			{"failure-domain.beta.kubernetes.io/region", "eu-west-1"},
			{"example.com/nodegroup", fmt.Sprintf("group-%d", i%20)},
			{"example.com/pool", []string{"system", "apps", "batch"}[i%3]},
			{"example.com/cores", fmt.Sprint(4 << (i % 4))},
			{"example.com/lifecycle", "on-demand"},
		}
		for _, pair := range pairs {
			node.Labels[pair[0]] = pair[1]
		}
		if i%10 == 0 {
			node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		}
		data, err := node.Marshal()
		if err == nil {
			nodes[i] = new(corev1.Node)
			err = nodes[i].Unmarshal(data)
		}
		if err != nil {
			panic(err)
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(count, func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes
}

// benchTemplate has a nodeSelector, two affinity requirements and the tolerations of a typical agent.
func benchTemplate() *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{}
	template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
	template.Spec.Tolerations = []corev1.Toleration{
		{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists},
	}
	template.Spec.Affinity = required(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64", "arm64"}},
		{Key: "example.com/pool", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"virtual"}},
	}})
	return template
}

// BenchmarkPlacement evaluates a whole fleet per operation, one by one and all at once. impl=hoisted is what a controller
// can do with component-helpers: affinity and tolerations parsed once, matched per node.
func BenchmarkPlacement(b *testing.B) {
	template := benchTemplate()
	for _, count := range []int{1_000, 5_000, 15_000, 50_000, 100_000} {
		nodes := fleet(count)
		b.Run(fmt.Sprintf("nodes=%d/impl=compiled", count), func(b *testing.B) {
			matcher, err := placement.Compile(template)
			if err != nil {
				b.Fatal(err)
			}
			run := 0
			b.ReportAllocs()
			for b.Loop() {
				for _, node := range nodes {
					if matcher.Evaluate(node).Outcome == placement.Run {
						run++
					}
				}
			}
			perNode(b, count, run)
		})
		b.Run(fmt.Sprintf("nodes=%d/impl=all", count), func(b *testing.B) {
			matcher, err := placement.Compile(template)
			if err != nil {
				b.Fatal(err)
			}
			run := 0
			verdicts := make([]placement.Verdict, 0, count)
			b.ReportAllocs()
			for b.Loop() {
				verdicts = matcher.EvaluateAll(verdicts[:0], nodes)
				for i := range verdicts {
					if verdicts[i].Outcome == placement.Run {
						run++
					}
				}
			}
			perNode(b, count, run)
		})
		b.Run(fmt.Sprintf("nodes=%d/impl=hoisted", count), func(b *testing.B) {
			evaluate := hoisted(template)
			run := 0
			b.ReportAllocs()
			for b.Loop() {
				for _, node := range nodes {
					if evaluate(node) == placement.Run {
						run++
					}
				}
			}
			perNode(b, count, run)
		})
	}
}

// BenchmarkEvaluatePlain is the floor: no taints, nothing selected.
func BenchmarkEvaluatePlain(b *testing.B) {
	matcher, err := placement.Compile(&corev1.PodTemplateSpec{})
	if err != nil {
		b.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	b.ReportAllocs()
	for b.Loop() {
		matcher.Evaluate(node)
	}
}

func perNode(b *testing.B, nodes, run int) {
	b.Helper()
	if run == 0 {
		b.Fatal("no node runs the pod: the benchmark measures a refusal")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}
