package cli

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
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
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// TestFleetFile compares the embedded file with what the code generates. With -update it writes the file.
func TestFleetFile(t *testing.T) {
	want := newFleet().yaml(t)
	if *update {
		if err := os.WriteFile(fleetName, want, 0o644); err != nil {
			t.Fatal(err)
		}
		fleetFile = want // so that the golden files, which are written next, are made from it
		return
	}
	if !bytes.Equal(fleetFile, want) {
		t.Errorf("%s is not what the test writes; run the test with -update and read the diff", fleetName)
	}
}

// fleet is the embedded example: a cluster in three zones with two node pools, three control-plane nodes and six nodes with GPUs.
// The rollout goes by descending node names, and has updated the whole memory pool.
type fleet struct {
	set       *appsv1.DaemonSet
	revisions []*appsv1.ControllerRevision
	nodes     []*corev1.Node
	pods      []*corev1.Pod
}

func newFleet() *fleet {
	f := &fleet{set: fleetSet()}
	f.revisions = []*appsv1.ControllerRevision{
		revisionOf(f.set, fleetTemplate("2.13.1"), 1),
		revisionOf(f.set, fleetTemplate("2.14.0"), 2),
	}
	for _, zone := range []string{"1a", "1b", "1c"} {
		f.pool("control-plane", "m6i.xlarge", zone, 1)
		f.pool("general", "m6i.2xlarge", zone, 12)
		f.pool("gpu", "g5.4xlarge", zone, 2)
		f.pool("memory", "r6i.2xlarge", zone, 6)
	}
	f.cordon("general-1b-07")
	f.loseContact("general-1c-04")
	f.evict("memory-1a-03")
	f.justBecameReady("memory-1b-05")
	f.terminate("memory-1c-02")
	f.join("general-1c-12")
	f.remove("general-1a-12")
	f.taint("memory-1b-02", corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule})
	f.taint("gpu-1c-02", corev1.Taint{Key: "example.com/driver-upgrade", Effect: corev1.TaintEffectNoExecute})
	return f
}

func (f *fleet) yaml(t *testing.T) []byte {
	t.Helper()
	return listYAML(t, f.nodes, f.pods, f.revisions, f.set)
}

// listYAML is a list as "kubectl get -o yaml" prints it.
func listYAML(t *testing.T, nodes []*corev1.Node, pods []*corev1.Pod, revisions []*appsv1.ControllerRevision, set any) []byte {
	t.Helper()
	var items []any
	for _, node := range nodes {
		items = append(items, node)
	}
	for _, pod := range pods {
		items = append(items, pod)
	}
	for _, revision := range revisions {
		items = append(items, revision)
	}
	items = append(items, set)
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func ago(d time.Duration) metav1.Time { return metav1.NewTime(fleetTime().Add(-d)) }

const day = 24 * time.Hour

func fleetLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "node-agent", "app.kubernetes.io/instance": "prod"}
}

func fleetTemplate(version string) corev1.PodTemplateSpec {
	labels := fleetLabels()
	labels["app.kubernetes.io/version"] = version
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:  "agent",
				Image: "registry.example.com/observability/node-agent:" + version,
				Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9100, Protocol: corev1.ProtocolTCP}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("180Mi"),
				}},
				TerminationMessagePath:   "/dev/termination-log",
				TerminationMessagePolicy: corev1.TerminationMessageReadFile,
				ImagePullPolicy:          corev1.PullIfNotPresent,
			}},
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(60)),
			DNSPolicy:                     corev1.DNSClusterFirst,
			NodeSelector:                  map[string]string{"kubernetes.io/os": "linux"},
			SecurityContext:               &corev1.PodSecurityContext{},
			SchedulerName:                 "default-scheduler",
			Tolerations: []corev1.Toleration{
				{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
			},
		},
	}
}

func fleetSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "node-agent", Namespace: "observability", UID: "6f1c2d1e-0c55-4a3b-9a52-3a4c5f2b8e01", Generation: 2,
			CreationTimestamp: ago(214 * day), Labels: fleetLabels(),
			Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "2"},
		},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: fleetLabels()},
			Template: fleetTemplate("2.14.0"),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type: appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{
					MaxUnavailable: new(intstr.FromString("10%")), MaxSurge: new(intstr.FromInt32(0)),
				},
			},
			MinReadySeconds:      30,
			RevisionHistoryLimit: new(int32(10)),
		},
	}
}

// revisionOf is the ControllerRevision that the set's controller stores for a template.
func revisionOf(ds *appsv1.DaemonSet, template corev1.PodTemplateSpec, number int64) *appsv1.ControllerRevision {
	data, err := history.Data(&template)
	if err != nil {
		panic(err)
	}
	hash := history.Hash(&template, nil)
	revision := &appsv1.ControllerRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ds.Name + "-" + hash, Namespace: ds.Namespace, UID: uid("revision", hash), OwnerReferences: owner(ds),
			CreationTimestamp: ago(time.Duration(2-number)*100*day + 25*time.Minute),
			Labels:            map[string]string{appsv1.ControllerRevisionHashLabelKey: hash},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
	maps.Copy(revision.Labels, template.Labels)
	return revision
}

// pool adds nodes of one kind in one zone, each with its pod.
func (f *fleet) pool(pool, machine, zone string, count int) {
	for i := range count {
		name := fmt.Sprintf("%s-%s-%02d", pool, zone, i+1)
		node := &corev1.Node{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: uid("node", name), CreationTimestamp: ago(90 * day),
				Labels: map[string]string{
					"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
					"node.kubernetes.io/instance-type": machine,
					"topology.kubernetes.io/region":    "eu-west-1",
					"topology.kubernetes.io/zone":      "eu-west-" + zone,
					"example.com/pool":                 pool,
				},
			},
			Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.37.2", OSImage: "Ubuntu 24.04.3 LTS"}},
		}
		for _, kind := range []corev1.NodeConditionType{
			corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady,
		} {
			c := corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasNo" + string(kind),
				LastHeartbeatTime: ago(2 * time.Minute), LastTransitionTime: ago(90 * day),
			}
			if kind == corev1.NodeReady {
				c.Status, c.Reason = corev1.ConditionTrue, "KubeletReady"
			}
			node.Status.Conditions = append(node.Status.Conditions, c)
		}
		switch pool {
		case "control-plane":
			node.Labels["node-role.kubernetes.io/control-plane"] = ""
			node.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
		case "gpu":
			node.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}
		}
		f.nodes = append(f.nodes, node)
		if pool != "control-plane" {
			f.pods = append(f.pods, f.pod(name, pool == "memory"))
		}
	}
}

func (f *fleet) pod(node string, updated bool) *corev1.Pod {
	version, revision, started := "2.13.1", f.revisions[0], 40*day
	if updated {
		version, revision, started = "2.14.0", f.revisions[1], 10*time.Minute
	}
	template := fleetTemplate(version)
	hash := revision.Labels[appsv1.ControllerRevisionHashLabelKey]
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "node-agent-" + random(node, hash), GenerateName: "node-agent-", Namespace: f.set.Namespace,
			UID: uid("pod", node, hash), CreationTimestamp: ago(started), Labels: template.Labels, OwnerReferences: owner(f.set),
		},
		Spec: template.Spec,
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, StartTime: new(ago(started)),
		},
	}
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = hash
	pod.Labels[rollout.TemplateGenerationLabel] = fmt.Sprint(revision.Revision)
	pod.Spec.NodeName = node
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
			}},
		}}},
	}}
	for _, key := range []string{
		"not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable",
	} {
		effect := corev1.TaintEffectNoSchedule
		if key == "not-ready" || key == "unreachable" {
			effect = corev1.TaintEffectNoExecute
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: "node.kubernetes.io/" + key, Operator: corev1.TolerationOpExists, Effect: effect,
		})
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: ago(started - 20*time.Second),
		})
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "agent", Image: pod.Spec.Containers[0].Image, Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ago(started - 10*time.Second)}},
	}}
	return pod
}

func (f *fleet) nodeNamed(name string) *corev1.Node {
	for _, node := range f.nodes {
		if node.Name == name {
			return node
		}
	}
	panic("no node " + name)
}

func (f *fleet) podOn(node string) *corev1.Pod {
	for _, pod := range f.pods {
		if pod.Spec.NodeName == node {
			return pod
		}
	}
	panic("no pod on " + node)
}

func (f *fleet) replacePod(node string, updated bool) *corev1.Pod {
	pod := f.podOn(node)
	*pod = *f.pod(node, updated)
	return pod
}

func (f *fleet) taint(node string, taint corev1.Taint) {
	n := f.nodeNamed(node)
	n.Spec.Taints = append(n.Spec.Taints, taint)
}

func (f *fleet) cordon(node string) {
	f.nodeNamed(node).Spec.Unschedulable = true
	f.taint(node, corev1.Taint{
		Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: new(ago(3 * time.Hour)),
	})
}

// loseContact writes what the node controller writes when a kubelet stops reporting. Here that is after its pod was updated.
func (f *fleet) loseContact(node string) {
	n, since := f.nodeNamed(node), ago(4*time.Minute)
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
		c.LastTransitionTime = since
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		f.taint(node, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect, TimeAdded: &since})
	}
	setReady(f.replacePod(node, true), corev1.ConditionFalse, since)
}

// evict writes what the kubelet writes to a pod that it evicts because the node is short of disk.
func (f *fleet) evict(node string) {
	pod := f.replacePod(node, false)
	setReady(pod, corev1.ConditionFalse, ago(90*time.Second))
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
	pod.Status.Message = "The node was low on resource: ephemeral-storage."
	pod.Status.ContainerStatuses = nil
}

// justBecameReady makes the pod Ready for 12 of the 30 minReadySeconds, so that 18 are left.
func (f *fleet) justBecameReady(node string) {
	pod := f.podOn(node)
	pod.CreationTimestamp = ago(40 * time.Second)
	setReady(pod, corev1.ConditionTrue, ago(12*time.Second))
}

// terminate marks the outdated pod for deletion, 25 seconds into its grace period.
func (f *fleet) terminate(node string) {
	pod := f.replacePod(node, false)
	pod.DeletionTimestamp = new(metav1.NewTime(fleetTime().Add(35 * time.Second)))
	pod.DeletionGracePeriodSeconds = new(int64(60))
}

// join makes the node a new one without a pod.
func (f *fleet) join(node string) {
	f.nodeNamed(node).CreationTimestamp = ago(40 * time.Second)
	pod := f.podOn(node)
	f.pods = deleteOf(f.pods, pod)
}

// remove removes the node, but not its pod.
func (f *fleet) remove(node string) {
	f.nodes = deleteOf(f.nodes, f.nodeNamed(node))
}

func deleteOf[T comparable](list []T, one T) []T {
	var rest []T
	for _, element := range list {
		if element != one {
			rest = append(rest, element)
		}
	}
	return rest
}

func setReady(pod *corev1.Pod, status corev1.ConditionStatus, since metav1.Time) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.LastTransitionTime = status, since
		}
	}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Ready = status == corev1.ConditionTrue
	}
}

// random is the random part of a pod's name. It is computed from the seed, so that it is always the same.
func random(seed ...string) string {
	return rand.SafeEncodeString(fmt.Sprint(number(seed...)))[:5]
}

func uid(seed ...string) types.UID {
	n := number(seed...)
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", n>>32, n>>16&0xffff, n&0xfff, n>>8&0xfff, n&0xffffffffffff))
}

func number(seed ...string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(seed, "/")))
	return h.Sum64()
}
