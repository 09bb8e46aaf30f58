package differential_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/differential"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Every tenth node of a fleet is tainted, which its set tolerates, and every fiftieth is excluded by a label. No node is both.
const (
	taintedEvery  = 10
	excludedEvery = 50
)

// eligibleOf is how many of the nodes of a fleet are to run the pod.
func eligibleOf(nodes int) int { return nodes - (nodes+excludedEvery-2)/excludedEvery }

// fleet is what the benchmarks show to both sides: the very same objects.
type fleet struct {
	world    differential.World
	spec     rollout.Spec
	snapshot rollout.Snapshot
}

// newFleet has an available pod on every eligible node. Those for which outdated says so are at the revision before the
// set's, and the stored status is right.
//
// Objects are as a watch delivers them: each is decoded by itself, in random order, so that it shares no string with
// another, and its parts lie anywhere on the heap. The lists are in an order of their own, like that of an informer's map.
func newFleet(tb testing.TB, nodes int, outdated func(i int) bool) *fleet {
	tb.Helper()
	f := &fleet{world: differential.World{Now: noon, Set: fleetSet()}}
	set := f.world.Set
	before := set.DeepCopy()
	before.Spec.Template.Spec.Containers[0].Image = "registry.example/observability/agent:v2.40.1"
	before.Annotations[appsv1.DeprecatedTemplateGeneration] = "1"
	current, old := newPodMaker(tb, set), newPodMaker(tb, before)
	f.world.Revisions = []*appsv1.ControllerRevision{
		received(tb, revisionOf(set, &before.Spec.Template, 1)), received(tb, revisionOf(set, &set.Spec.Template, 2)),
	}

	random := rand.New(rand.NewPCG(1, uint64(nodes)))
	for _, k := range random.Perm(2 * nodes) {
		switch i := k / 2; {
		case k%2 == 0:
			f.world.Nodes = append(f.world.Nodes, received(tb, fleetNode(i)))
		case excluded(i):
		case outdated(i):
			f.world.Pods = append(f.world.Pods, received(tb, old.pod(tb, i)))
		default:
			f.world.Pods = append(f.world.Pods, received(tb, current.pod(tb, i)))
		}
	}
	shuffle(random, f.world.Nodes)
	shuffle(random, f.world.Pods)

	spec, err := manifest.FromDaemonSet(set)
	if err != nil {
		tb.Fatal(err)
	}
	f.spec = spec
	f.snapshot = rollout.Snapshot{Now: f.world.Now, Nodes: f.world.Nodes, Pods: f.world.Pods, Revisions: f.world.Revisions}
	f.settle(tb)
	return f
}

// settle stores what a plan reports as the set's status, and lets the next plan remember what this one did, so that
// neither side has anything to write but the pods of the rollout.
func (f *fleet) settle(tb testing.TB) {
	tb.Helper()
	planner, err := rollout.New(f.spec)
	if err != nil {
		tb.Fatal(err)
	}
	plan, err := planner.Plan(f.snapshot)
	if err != nil {
		tb.Fatal(err)
	}
	f.world.Set.Status = plan.Status.DaemonSetStatus()
	f.snapshot.Memory = plan.Memory
}

// received is the object as a watch delivers it.
func received[T any, P interface {
	*T
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}](tb testing.TB, object P) P {
	tb.Helper()
	data, err := object.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	decoded := P(new(T))
	if err := decoded.Unmarshal(data); err != nil {
		tb.Fatal(err)
	}
	return decoded
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// fleetSet is a DaemonSet as the API server stores it.
func fleetSet() *appsv1.DaemonSet {
	podLabels := map[string]string{"app": "agent", "app.kubernetes.io/component": "node", "tier": "infra", "team": "platform"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "monitoring", Name: "agent", UID: "5b1f3a52-7f0e-4a8b-9a0f-2f7a3c3f0001", Generation: 2,
			Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "2"},
		},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
					Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
							MatchExpressions: []corev1.NodeSelectorRequirement{
								{Key: excludeLabel, Operator: corev1.NodeSelectorOpDoesNotExist},
								{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64", "arm64"}},
							},
						}}},
					}},
					Tolerations:                   []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
					Containers:                    []corev1.Container{fleetContainer()},
					Volumes:                       []corev1.Volume{{Name: "varlog", VolumeSource: hostPath("/var/log")}},
					ServiceAccountName:            "agent",
					RestartPolicy:                 corev1.RestartPolicyAlways,
					DNSPolicy:                     corev1.DNSClusterFirst,
					SchedulerName:                 corev1.DefaultSchedulerName,
					TerminationGracePeriodSeconds: new(int64(30)),
					SecurityContext:               &corev1.PodSecurityContext{},
				},
			},
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

func hostPath(path string) corev1.VolumeSource {
	return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}
}

func fleetContainer() corev1.Container {
	return corev1.Container{
		Name: "agent", Image: "registry.example/observability/agent:v2.41.0", ImagePullPolicy: corev1.PullIfNotPresent,
		Args: []string{"--config=/etc/agent/config.yaml", "--log-level=info"},
		Env: []corev1.EnvVar{{Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"},
		}}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("200Mi"),
		}},
		VolumeMounts: []corev1.VolumeMount{{Name: "varlog", MountPath: "/var/log", ReadOnly: true}},
	}
}

const excludeLabel = "node.kubernetes.io/exclude-agent"

func excluded(i int) bool { return i%excludedEvery == 1 }

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i/65536, i/256%256, i%256)
}

func fleetNode(i int) *corev1.Node {
	name, arch, zone := nodeName(i), []string{"amd64", "arm64"}[i%2], "eu-central-1"+string(rune('a'+i%3))
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("5b1f3a52-0000-4a8b-9a0f-%012d", i)), ResourceVersion: fmt.Sprint(1_000_000 + i),
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: arch,
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": arch,
				corev1.LabelInstanceTypeStable: "m6i.4xlarge", corev1.LabelInstanceType: "m6i.4xlarge",
				corev1.LabelTopologyRegion: "eu-central-1", corev1.LabelTopologyZone: zone,
				corev1.LabelFailureDomainBetaRegion: "eu-central-1", corev1.LabelFailureDomainBetaZone: zone,
				"pool": fmt.Sprintf("pool-%d", i%4), "capacity": "spot", "team": "platform", "rack": fmt.Sprintf("r%03d", i/40),
			},
			Annotations: map[string]string{
				"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		Spec: corev1.NodeSpec{
			ProviderID: fmt.Sprintf("cloud:///%s/i-%017x", zone, i), PodCIDR: fmt.Sprintf("10.%d.%d.0/24", i/256, i%256),
		},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			},
			NodeInfo: corev1.NodeSystemInfo{
				KernelVersion: "6.12.30", ContainerRuntimeVersion: "containerd://2.1.3", KubeletVersion: "v1.37.2",
			},
		},
	}
	if i%taintedEvery == 0 {
		node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	}
	if excluded(i) {
		node.Labels[excludeLabel] = "true"
	}
	for image := range 10 {
		repository := fmt.Sprintf("registry.example/team-%d/service-%d", image%7, image)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("%s@sha256:%064d", repository, image), repository + ":v1.4.0"},
			SizeBytes: 50 << 20,
		})
	}
	return node
}

// podMaker makes the running pods of a set's template.
type podMaker struct {
	planner  *rollout.Planner
	template *corev1.PodTemplateSpec
	revision string
}

func newPodMaker(tb testing.TB, set *appsv1.DaemonSet) podMaker {
	tb.Helper()
	spec, err := manifest.FromDaemonSet(set)
	if err != nil {
		tb.Fatal(err)
	}
	planner, err := rollout.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return podMaker{planner: planner, template: &set.Spec.Template, revision: history.Hash(&set.Spec.Template, nil)}
}

func (m podMaker) pod(tb testing.TB, i int) *corev1.Pod {
	tb.Helper()
	pod, err := m.planner.Pod(rollout.Create{Node: nodeName(i), Revision: m.revision})
	if err != nil {
		tb.Fatal(err)
	}
	since := metav1.NewTime(noon.Add(-time.Duration(1+i%48) * time.Hour))
	pod.Name, pod.UID = fmt.Sprintf("agent-%05x", i), types.UID(fmt.Sprintf("9d0c4c1e-0000-4d52-8f3b-%012d", i))
	pod.ResourceVersion, pod.CreationTimestamp = fmt.Sprint(2_000_000+i), since
	pod.Spec.NodeName = nodeName(i)
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &since, PodIP: fmt.Sprintf("10.%d.%d.7", i/256, i%256), QOSClass: corev1.PodQOSBurstable,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "agent", Ready: true, Started: new(true), Image: m.template.Spec.Containers[0].Image,
			ImageID:     fmt.Sprintf("registry.example/observability/agent@sha256:%064d", 1),
			ContainerID: fmt.Sprintf("containerd://%064d", i),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}},
	}
	for _, condition := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady, corev1.PodScheduled,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: since,
		})
	}
	return pod
}
