package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
)

var (
	dumpFile  = flag.String("dump", "", "write a dump of a large cluster to this file, to try the program on")
	dumpNodes = flag.Int("dump-nodes", 5000, "number of nodes, and of pods, in the dump")
)

func TestWriteDump(t *testing.T) {
	if *dumpFile == "" {
		t.Skip("no -dump FILE")
	}
	if err := os.WriteFile(*dumpFile, dump(*dumpNodes), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	dumpName     = "@NAME@"
	dumpNumber   = "@NUMBER@"
	dumpRevision = "@HASH@"
)

var dumpNow = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// dump is what "kubectl get nodes,pods,controllerrevisions,ds -A -o json" prints for a cluster of that many nodes, a third of
// them updated. Keys are sorted, the indentation is four, and every node has 50 images.
func dump(nodes int) []byte {
	var b bytes.Buffer
	b.WriteString("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")
	ds, revisions := dumpSet(nodes)
	writeItem(&b, asKubectl(ds))
	for _, revision := range revisions {
		b.WriteString(",\n")
		writeItem(&b, asKubectl(revision))
	}
	nodeText, podText := asKubectl(dumpNode()), asKubectl(dumpPod())
	for i := range nodes {
		hash := revisions[0].Labels[appsv1.ControllerRevisionHashLabelKey]
		if i%3 == 0 {
			hash = revisions[1].Labels[appsv1.ControllerRevisionHashLabelKey]
		}
		replacer := strings.NewReplacer(
			dumpName, fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i>>16, i>>8&255, i&255),
			dumpNumber, fmt.Sprintf("%06d", i),
			dumpRevision, hash,
		)
		for _, text := range []string{nodeText, podText} {
			b.WriteString(",\n")
			writeItem(&b, replacer.Replace(text))
		}
	}
	b.WriteString("\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n")
	return b.Bytes()
}

func writeItem(w io.Writer, text string) {
	_, _ = io.WriteString(w, "        "+text)
}

// asKubectl prints an object as kubectl does inside a list: keys sorted, indented by eight and then by four.
func asKubectl(object any) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	text, err = json.MarshalIndent(tree, "        ", "    ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func dumpLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "node-agent", "app.kubernetes.io/instance": "node-agent"}
}

func dumpTemplate(tag string) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: dumpLabels()}}
	template.Labels["app.kubernetes.io/component"] = "agent"
	template.Labels["app.kubernetes.io/version"] = tag
	template.Spec = corev1.PodSpec{
		HostNetwork:       true,
		PriorityClassName: "system-node-critical",
		RestartPolicy:     corev1.RestartPolicyAlways,
		DNSPolicy:         corev1.DNSClusterFirst,
		SchedulerName:     "default-scheduler",
		NodeSelector:      map[string]string{"kubernetes.io/os": "linux"},
		SecurityContext:   &corev1.PodSecurityContext{},
		Containers:        []corev1.Container{dumpContainer("agent", tag), dumpContainer("logs", tag)},
		Tolerations:       []corev1.Toleration{{Operator: corev1.TolerationOpExists, Key: "dedicated"}},
	}
	for _, name := range []string{"run", "log", "sys"} {
		template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/var/" + name, Type: new(corev1.HostPathUnset)},
		}})
	}
	return template
}

func dumpContainer(name, tag string) corev1.Container {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("200m"),
		corev1.ResourceMemory: resource.MustParse("256Mi"),
	}
	c := corev1.Container{
		Name:      name,
		Image:     "registry.example.com/platform/" + name + ":" + tag,
		Args:      []string{"--config=/etc/agent/config.yaml", "--log-level=info", "--node-name=$(NODE_NAME)"},
		Resources: corev1.ResourceRequirements{Requests: amounts, Limits: amounts},
		Env: []corev1.EnvVar{{Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"},
		}}},
		Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9100, HostPort: 9100, Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(9100), Scheme: "HTTP"}},
			PeriodSeconds:    10,
			TimeoutSeconds:   1,
			SuccessThreshold: 1,
			FailureThreshold: 3,
		},
		ImagePullPolicy:          corev1.PullIfNotPresent,
		TerminationMessagePath:   "/dev/termination-log",
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
	for _, volume := range []string{"run", "log", "sys"} {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/host/" + volume, ReadOnly: true})
	}
	return c
}

func dumpSet(nodes int) (*appsv1.DaemonSet, []*appsv1.ControllerRevision) {
	ds := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}}
	ds.ObjectMeta = metav1.ObjectMeta{
		Name: "node-agent", Namespace: "kube-system", UID: "d5000000-0000-4000-8000-000000000001", Generation: 2,
		CreationTimestamp: metav1.NewTime(dumpNow.AddDate(-1, 0, 0)), Labels: dumpLabels(),
		Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "2"},
	}
	ds.Spec = appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: dumpLabels()},
		Template: dumpTemplate("1.9.0"),
		UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxUnavailable: new(intstr.FromString("2%")), MaxSurge: new(intstr.FromInt32(0)),
			},
		},
		RevisionHistoryLimit: new(int32(10)),
	}
	ds.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: int32(nodes), CurrentNumberScheduled: int32(nodes)}
	var revisions []*appsv1.ControllerRevision
	for number, tag := range []string{"1.8.3", "1.9.0"} {
		revisions = append(revisions, revisionOf(ds, dumpTemplate(tag), int64(number+1)))
	}
	return ds, revisions
}

func owner(ds *appsv1.DaemonSet) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: ds.Name, UID: ds.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

func dumpNode() *corev1.Node {
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	node.ObjectMeta = metav1.ObjectMeta{
		Name: dumpName, UID: "a0000000-0000-4000-8000-000000" + dumpNumber,
		CreationTimestamp: metav1.NewTime(dumpNow.AddDate(0, -3, 0)),
		ResourceVersion:   "981" + dumpNumber,
		Labels: map[string]string{
			"beta.kubernetes.io/arch":                  "amd64",
			"beta.kubernetes.io/instance-type":         "m6i.2xlarge",
			"beta.kubernetes.io/os":                    "linux",
			"eks.amazonaws.com/capacityType":           "ON_DEMAND",
			"eks.amazonaws.com/nodegroup":              "general-purpose-2026-01",
			"failure-domain.beta.kubernetes.io/region": "eu-west-1",
			"failure-domain.beta.kubernetes.io/zone":   "eu-west-1a",
			"k8s.io/cloud-provider-aws":                "0e5b1bd7d1f3f5a1c6f1a2b3c4d5e6f7",
			"kubernetes.io/arch":                       "amd64",
			"kubernetes.io/hostname":                   dumpName,
			"kubernetes.io/os":                         "linux",
			"node.kubernetes.io/instance-type":         "m6i.2xlarge",
			"topology.ebs.csi.aws.com/zone":            "eu-west-1a",
			"topology.kubernetes.io/region":            "eu-west-1",
			"topology.kubernetes.io/zone":              "eu-west-1a",
		},
		Annotations: map[string]string{
			"alpha.kubernetes.io/provided-node-ip":                   "10.0.12.7",
			"csi.volume.kubernetes.io/nodeid":                        `{"ebs.csi.aws.com":"i-0abcdef` + dumpNumber + `"}`,
			"node.alpha.kubernetes.io/ttl":                           "0",
			"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		},
	}
	node.Spec = corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-0abcdef" + dumpNumber}
	amounts := corev1.ResourceList{}
	for name, amount := range map[corev1.ResourceName]string{
		"cpu": "8", "memory": "32384120Ki", "pods": "58", "ephemeral-storage": "104845292Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0",
	} {
		amounts[name] = resource.MustParse(amount)
	}
	node.Status = corev1.NodeStatus{
		Capacity: amounts, Allocatable: amounts,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "10.0.12.7"}, {Type: corev1.NodeHostName, Address: dumpName},
			{Type: corev1.NodeInternalDNS, Address: dumpName},
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: "ec2d8b7b9a0c4b0f8c8d8b7b9a0c4b0f", SystemUUID: "ec2d8b7b-9a0c-4b0f-8c8d-8b7b9a0c4b0f", BootID: "6d1c8f5e-1b2a-4c3d-8e9f-0a1b2c3d4e5f",
			KernelVersion: "6.1.147-172.266.amzn2023.x86_64", OSImage: "Amazon Linux 2023.8.20250808", ContainerRuntimeVersion: "containerd://2.0.5",
			KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady,
	} {
		status, reason := corev1.ConditionFalse, "KubeletHas"+string(kind)
		if kind == corev1.NodeReady {
			status, reason = corev1.ConditionTrue, "KubeletReady"
		}
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: "kubelet is posting its status",
			LastHeartbeatTime: metav1.NewTime(dumpNow), LastTransitionTime: metav1.NewTime(dumpNow.AddDate(0, -3, 0)),
		})
	}
	for i := range 50 {
		name := fmt.Sprintf("registry.example.com/platform/component-%02d", i)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{name + "@sha256:" + strings.Repeat("0123456789abcdef", 4), name + ":1.0." + fmt.Sprint(i)},
			SizeBytes: 120_000_000 + int64(i),
		})
	}
	return node
}

func dumpPod() *corev1.Pod {
	ds, _ := dumpSet(1)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	template := dumpTemplate("1.9.0")
	pod.ObjectMeta = metav1.ObjectMeta{
		Name: "node-agent-" + dumpNumber, GenerateName: "node-agent-", Namespace: ds.Namespace,
		UID: "b0000000-0000-4000-8000-000000" + dumpNumber, CreationTimestamp: metav1.NewTime(dumpNow.Add(-time.Hour)),
		Labels: template.Labels, OwnerReferences: owner(ds), ResourceVersion: "982" + dumpNumber,
	}
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = dumpRevision
	pod.Labels[rollout.TemplateGenerationLabel] = "2"
	pod.Spec = template.Spec
	pod.Spec.NodeName = dumpName
	pod.Spec.ServiceAccountName = "node-agent"
	pod.Spec.Priority = new(int32(2000001000))
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{dumpName},
			}},
		}}},
	}}
	for _, key := range []string{
		"not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable", "network-unavailable",
	} {
		effect := corev1.TaintEffectNoSchedule
		if key == "not-ready" || key == "unreachable" {
			effect = corev1.TaintEffectNoExecute
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: "node.kubernetes.io/" + key, Operator: corev1.TolerationOpExists, Effect: effect,
		})
	}
	started := metav1.NewTime(dumpNow.Add(-59 * time.Minute))
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.0.12.7", PodIP: "10.0.12.7", PodIPs: []corev1.PodIP{{IP: "10.0.12.7"}},
		StartTime: &started, QOSClass: corev1.PodQOSGuaranteed,
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: started,
		})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:" + strings.Repeat("0123456789abcdef", 4), Ready: true, Started: new(true),
			ContainerID: "containerd://" + strings.Repeat("0123456789abcdef", 4),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		})
	}
	return pod
}
