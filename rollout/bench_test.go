package rollout_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// The fleets of the benchmarks look like real ones: 15 labels and 4 annotations a node, taints on a tenth of the nodes, pods
// with 6 labels, 2 annotations and 5 conditions.
//
// So does the heap. Each object is decoded by itself, as from a watch, so that no string or slice is shared; a plan pays for
// every cache miss. They are decoded in random order, neither that of the names nor that of the lists: heartbeats replace the
// nodes of an informer one by one, and it lists what it has in the order of a map.

var benchSizes = []int{1_000, 5_000, 15_000, 50_000, 100_000}

// benchNodes is another size that the benchmarks of plans, Readings and the verifier are to have: a million nodes take minutes and
// some 10 GiB of memory, most of it for the objects.
var benchNodes = flag.Int("nodes", 0, "benchmark plans, Readings and the verifier on fleets of so many nodes only")

// sizesOr returns the sizes, or the one that the flag asks for.
func sizesOr(sizes []int) []int {
	if *benchNodes > 0 {
		return []int{*benchNodes}
	}
	return sizes
}

var benchNow = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func BenchmarkPlan(b *testing.B) {
	for _, profile := range []struct {
		name string
		old  func(i int) bool // the node's pod is outdated
		pods bool
	}{
		{name: "steady", pods: true, old: func(int) bool { return false }},
		{name: "rollout", pods: true, old: func(i int) bool { return i%2 == 0 }},
		{name: "install", pods: false},
	} {
		for _, n := range sizesOr(benchSizes) {
			b.Run(fmt.Sprintf("%s/nodes=%d", profile.name, n), func(b *testing.B) {
				spec := benchSpec()
				planner, err := rollout.New(spec)
				if err != nil {
					b.Fatal(err)
				}
				snapshot := benchSnapshot(b, spec, n)
				if !profile.pods {
					snapshot.Pods = nil
				}
				for i, p := range snapshot.Pods {
					if profile.old(i) {
						p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(snapshot.Revisions[0])
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					if _, err := planner.Plan(snapshot); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}

// BenchmarkNew is what a change of the spec costs once.
func BenchmarkNew(b *testing.B) {
	spec := benchSpec()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rollout.New(spec); err != nil {
			b.Fatal(err)
		}
	}
}

func benchSpec() rollout.Spec {
	labels := map[string]string{"app.kubernetes.io/name": "agent", "app.kubernetes.io/component": "node", "tier": "infra", "team": "platform", "release": "agent"}
	return rollout.Spec{
		Name: "agent", Namespace: "monitoring", UID: "5b1f3a52-7f0e-4a8b-9a0f-2f7a3c3f0001",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "agent"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"kubernetes.io/os": "linux"},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchExpressions: []corev1.NodeSelectorRequirement{
							{Key: "node.kubernetes.io/exclude-agent", Operator: corev1.NodeSelectorOpDoesNotExist},
							{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64", "arm64"}},
						},
					}}},
				}},
				Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
				Containers: []corev1.Container{{
					Name: "agent", Image: "registry.example/agent:v2",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("200Mi"),
					}},
				}},
			},
		},
		Strategy:        rollout.Strategy{MaxUnavailable: new(intstr.FromString("10%"))},
		MinReadySeconds: 30,
	}
}

// benchSnapshot has one available updated pod on every eligible node, and two revisions in the history.
func benchSnapshot(tb testing.TB, spec rollout.Spec, n int) rollout.Snapshot {
	tb.Helper()
	old := spec.Template.DeepCopy()
	old.Spec.Containers[0].Image = "registry.example/agent:v1"
	snapshot := rollout.Snapshot{Now: benchNow, Revisions: []*appsv1.ControllerRevision{
		benchRevision(tb, spec, old, 1), benchRevision(tb, spec, &spec.Template, 2),
	}}
	hash := history.HashOf(snapshot.Revisions[1])
	snapshot.Nodes, snapshot.Pods = make([]*corev1.Node, n), make([]*corev1.Pod, n)
	random := rand.New(rand.NewPCG(1, 2))
	nodes, pods, pod := random.Perm(n), random.Perm(n), random.Perm(n)
	for k, node := range random.Perm(n) {
		snapshot.Nodes[nodes[k]] = decoded(tb, benchNode(node), new(corev1.Node))
		snapshot.Pods[pods[k]] = decoded(tb, benchPod(pod[k], hash), new(corev1.Pod))
	}
	return snapshot
}

// message is an object of the API.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// decoded returns the object as a client decodes it: every string and slice has memory of its own.
func decoded[M message](tb testing.TB, object, fresh M) M {
	tb.Helper()
	data, err := object.Marshal()
	if err == nil {
		err = fresh.Unmarshal(data)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return fresh
}

func benchRevision(tb testing.TB, spec rollout.Spec, template *corev1.PodTemplateSpec, number int64) *appsv1.ControllerRevision {
	tb.Helper()
	data, err := history.Data(template)
	if err != nil {
		tb.Fatal(err)
	}
	hash := history.Hash(template, nil)
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.Name + "-" + hash, Namespace: spec.Namespace, UID: types.UID("r-" + hash),
			Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
}

func benchNodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i/65536, i/256%256, i%256)
}

func benchNode(i int) *corev1.Node {
	name := benchNodeName(i)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(fmt.Sprintf("5b1f3a52-0000-4a8b-9a0f-%012d", i)),
		Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": []string{"amd64", "arm64"}[i%2],
			"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": []string{"amd64", "arm64"}[i%2],
			"node.kubernetes.io/instance-type": "m6i.4xlarge", "beta.kubernetes.io/instance-type": "m6i.4xlarge",
			"topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": "eu-central-1" + string(rune('a'+i%3)),
			"failure-domain.beta.kubernetes.io/region": "eu-central-1",
			"failure-domain.beta.kubernetes.io/zone":   "eu-central-1" + string(rune('a'+i%3)),
			"pool":                                     fmt.Sprintf("pool-%d", i%4), "capacity": "spot", "team": "platform", "rack": fmt.Sprintf("r%03d", i/40),
		},
	}}
	node.Annotations = map[string]string{
		"alpha.kubernetes.io/provided-node-ip": fmt.Sprintf("10.%d.%d.%d", i/65536, i/256%256, i%256), "node.alpha.kubernetes.io/ttl": "0",
		"volumes.kubernetes.io/controller-managed-attach-detach": "true", "csi.volume.kubernetes.io/nodeid": `{"ebs.csi.aws.com":"i-0"}`,
	}
	if i%10 == 0 {
		node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	}
	return node
}

func benchPod(i int, hash string) *corev1.Pod {
	since := metav1.NewTime(benchNow.Add(-time.Duration(1+i%48) * time.Hour))
	condition := func(t corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: since}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("agent-%05x", i), Namespace: "monitoring", UID: types.UID(fmt.Sprintf("9d0c4c1e-0000-4d52-8f3b-%012d", i)),
			CreationTimestamp: since,
			Annotations:       map[string]string{"checksum/config": fmt.Sprintf("%064d", i%7), "prometheus.io/scrape": "true"},
			Labels: map[string]string{
				"app.kubernetes.io/name": "agent", "app.kubernetes.io/component": "node", "tier": "infra", "team": "platform", "release": "agent",
				appsv1.DefaultDaemonSetUniqueLabelKey: hash,
			},
		},
		Spec: corev1.PodSpec{NodeName: benchNodeName(i), Containers: []corev1.Container{{Name: "agent", Image: "registry.example/agent:v2"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			condition("PodReadyToStartContainers"), condition(corev1.PodInitialized), condition(corev1.ContainersReady),
			condition(corev1.PodReady), condition(corev1.PodScheduled),
		}},
	}
}

// BenchmarkFloor only looks at what no planner can do without: of each node its name, its taints and as many labels as the
// template of the other benchmarks asks for, of each pod its UID, its deletion mark, its phase, its conditions, its node and its
// revision. Nothing is joined, sorted or kept. What a plan takes beyond that is what a planner costs.
//
// Whoever tells names and UIDs apart has to read them: here they are searched for a byte that none of them has.
func BenchmarkFloor(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			snapshot := benchSnapshot(b, benchSpec(), n)
			hash := history.HashOf(snapshot.Revisions[1])
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				eligible, available := 0, 0
				for _, node := range snapshot.Nodes {
					if looksEligible(node) {
						eligible++
					}
				}
				for _, pod := range snapshot.Pods {
					if looksAvailable(pod, hash) {
						available++
					}
				}
				if eligible != n || available != n {
					b.Fatalf("%d nodes are eligible and %d pods available, want %d", eligible, available, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}

// nothing is in no name and no UID.
const nothing = '!'

func looksEligible(node *corev1.Node) bool {
	if strings.IndexByte(node.Name, nothing) >= 0 {
		return false
	}
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; taint.Effect == corev1.TaintEffectNoSchedule && taint.Key != "dedicated" {
			return false
		}
	}
	if _, excluded := node.Labels["node.kubernetes.io/exclude-agent"]; excluded || node.Labels["kubernetes.io/os"] != "linux" {
		return false
	}
	arch := node.Labels["kubernetes.io/arch"]
	return arch == "amd64" || arch == "arm64"
}

func looksAvailable(pod *corev1.Pod, hash string) bool {
	if strings.IndexByte(string(pod.UID), nothing) >= 0 || strings.IndexByte(pod.Spec.NodeName, nothing) >= 0 ||
		pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
		return false
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady {
			ready := c.Status == corev1.ConditionTrue && c.LastTransitionTime.Add(30*time.Second).Before(benchNow)
			return ready && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash
		}
	}
	return false
}
