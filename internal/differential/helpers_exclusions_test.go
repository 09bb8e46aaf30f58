package differential_test

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the scheme
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
)

// pairOfPods is a pod that stands on a node, and one that is to be bound there.
type pairOfPods struct {
	First, Second *corev1.PodTemplateSpec
	Node          *corev1.Node
}

func compareExclusions() comparison[pairOfPods, []placement.ExclusionCode] {
	kinds := []string{0: "nothing", placement.HostPort: "a port", placement.AntiAffinity: "an anti-affinity", placement.NodeRoom: "no room"}
	kinds[placement.PodClaim] = "several"
	answer := func(p pairOfPods) (codes []placement.ExclusionCode) {
		for _, exclusion := range placement.Excludes(p.First, p.Second, "ns", p.Node, nil) {
			codes = append(codes, exclusion.Code)
		}
		return slices.Compact(codes)
	}
	changed := func(change func(*pairOfPods)) func(pairOfPods) []placement.ExclusionCode {
		return func(p pairOfPods) []placement.ExclusionCode {
			p.First, p.Second, p.Node = p.First.DeepCopy(), p.Second.DeepCopy(), p.Node.DeepCopy()
			change(&p)
			return answer(p)
		}
	}
	return comparison[pairOfPods, []placement.ExclusionCode]{
		theirs: "NodePorts, InterPodAffinity, NodeResourcesFit", ours: "placement.Excludes", kinds: kinds,
		inputs: anyPairOfPods(), batch: 50, answer: answer, judge: judgeExclusions,
		bugs: []plantedBug[pairOfPods, []placement.ExclusionCode]{
			{"ports by number", "a protocol and an address are forgotten", changed(func(p *pairOfPods) {
				for _, t := range []*corev1.PodTemplateSpec{p.First, p.Second} {
					for i := range t.Spec.Containers[0].Ports {
						t.Spec.Containers[0].Ports[i].Protocol, t.Spec.Containers[0].Ports[i].HostIP = "", ""
					}
				}
			})},
			{"no defaults", "with the network of the host every port is one of it", changed(func(p *pairOfPods) { p.Second.Spec.HostNetwork = false })},
			{"one way", "the anti-affinity of the pod that is there counts, too", changed(func(p *pairOfPods) { p.First.Spec.Affinity = nil })},
			{"any label", "a node without the label is in no place", changed(func(p *pairOfPods) { p.Node.Labels = nil; p.Node = nil })},
			{"no keys", "matchLabelKeys stand for labels of the pod", changed(func(p *pairOfPods) {
				for _, t := range []*corev1.PodTemplateSpec{p.First, p.Second} {
					if t.Spec.Affinity != nil {
						t.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = nil
					}
				}
			})},
			{"one pod", "the node has to hold both", changed(func(p *pairOfPods) { p.First.Spec.Containers[0].Resources.Requests = nil })},
		},
	}
}

// judgeExclusions asks the scheduler's own code, about pods as the API server makes them.
func judgeExclusions(p pairOfPods, ours []placement.ExclusionCode) judgement {
	first, second := madeOf(p.First), madeOf(p.Second)
	node := framework.NewNodeInfo(first)
	node.SetNode(p.Node)
	var theirs []placement.ExclusionCode
	if !nodeports.Fits(second, node) {
		theirs = append(theirs, placement.HostPort)
	}
	if repels(second, first, p.Node) || repels(first, second, p.Node) {
		theirs = append(theirs, placement.AntiAffinity)
	}
	wanted, err := framework.NewPodInfo(second)
	if err != nil {
		return judgement{err: err}
	}
	cpu := wanted.CalculateResource().Resource.GetMilliCPU()
	if cpu > 0 && cpu > node.GetAllocatable().GetMilliCPU()-node.GetRequested().GetMilliCPU() {
		theirs = append(theirs, placement.NodeRoom)
	}
	j := judgement{}
	if len(theirs) == 1 {
		j.kind = int(theirs[0])
	} else if len(theirs) > 1 {
		j.kind = int(placement.PodClaim)
	}
	if !slices.Equal(theirs, ours) {
		j.err = disagree(p, theirs, ours)
	}
	return j
}

// madeOf is the pod that the API server makes of a template.
func madeOf(template *corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = "ns", "p"
	legacyscheme.Scheme.Default(pod)
	in, out := &core.Pod{}, &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, in, nil); err != nil {
		panic(err) // the scheme has both
	}
	podregistry.Strategy.PrepareForCreate(genericapirequest.WithNamespace(context.Background(), "ns"), in)
	if err := legacyscheme.Scheme.Convert(in, out, nil); err != nil {
		panic(err) // as before
	}
	return out
}

// repels reports whether a required anti-affinity of one pod keeps the other off a node, by the scheduler's own terms.
func repels(of, other *corev1.Pod, node *corev1.Node) bool {
	info, err := framework.NewPodInfo(of)
	if err != nil {
		panic(err) // the generator draws selectors that can be read
	}
	for _, term := range info.GetRequiredAntiAffinityTerms() {
		if _, has := node.Labels[term.TopologyKey]; has && term.Matches(other, nil) {
			return true
		}
	}
	return false
}

func anyPairOfPods() *rapid.Generator[pairOfPods] {
	return rapid.Custom(func(t *rapid.T) pairOfPods {
		first := anyDaemon(t, "v1")
		second := first.DeepCopy()
		if rapid.IntRange(0, 2).Draw(t, "another") == 0 {
			second = anyDaemon(t, "v2")
		}
		second.Labels["controller-revision-hash"] = "v2"
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{corev1.LabelHostname: "a"}}}
		if rapid.Bool().Draw(t, "rack") {
			node.Labels["rack"] = "1"
		}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(rapid.SampledFrom([]string{"1", "500m", "4"}).Draw(t, "cpu"))}
		return pairOfPods{first, second, node}
	})
}

func anyDaemon(t *rapid.T, hash string) *corev1.PodTemplateSpec {
	p := &corev1.PodTemplateSpec{}
	p.Labels = map[string]string{"controller-revision-hash": hash, "app": rapid.SampledFrom([]string{"agent", "agent", "other"}).Draw(t, "app")}
	p.Spec.HostNetwork = rapid.IntRange(0, 3).Draw(t, "host network") == 0
	containers := []corev1.Container{{Name: "main", Image: "i"}, {Name: "side", Image: "i"}}
	for i := range containers {
		for range rapid.IntRange(0, 2).Draw(t, "ports") {
			number := rapid.Int32Range(1, 4).Draw(t, "port")
			port := corev1.ContainerPort{
				ContainerPort: number, Protocol: rapid.SampledFrom([]corev1.Protocol{"", "TCP", "UDP"}).Draw(t, "protocol"),
				HostIP: rapid.SampledFrom([]string{"", "", "0.0.0.0", "10.0.0.1", "10.0.0.2"}).Draw(t, "address"),
			}
			if p.Spec.HostNetwork || rapid.Bool().Draw(t, "of the host") {
				port.HostPort = number
				if p.Spec.HostNetwork && rapid.Bool().Draw(t, "left out") {
					port.HostPort = 0
				}
			}
			containers[i].Ports = append(containers[i].Ports, port)
		}
		if rapid.Bool().Draw(t, "requests") {
			containers[i].Resources.Requests = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(rapid.SampledFrom([]string{"0", "100m", "250m", "600m"}).Draw(t, "request")),
			}
		}
	}
	p.Spec.Containers = containers[:1]
	switch rapid.SampledFrom([]string{"none", "sidecar", "init"}).Draw(t, "second container") {
	case "sidecar":
		containers[1].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = containers[1:]
	case "init":
		p.Spec.InitContainers = containers[1:]
	}
	if rapid.Bool().Draw(t, "apart") {
		term := corev1.PodAffinityTerm{
			TopologyKey:   rapid.SampledFrom([]string{corev1.LabelHostname, "rack"}).Draw(t, "topology"),
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			Namespaces:    rapid.SampledFrom([][]string{nil, nil, {"ns"}, {"else"}}).Draw(t, "namespaces"),
		}
		switch rapid.SampledFrom([]string{"", "", "match", "mismatch", "all"}).Draw(t, "more") {
		case "match":
			term.MatchLabelKeys = []string{rapid.SampledFrom([]string{"controller-revision-hash", "none"}).Draw(t, "key")}
		case "mismatch":
			term.MismatchLabelKeys = []string{rapid.SampledFrom([]string{"controller-revision-hash", "none"}).Draw(t, "key")}
		case "all":
			term.NamespaceSelector = &metav1.LabelSelector{}
		}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	}
	return p
}
