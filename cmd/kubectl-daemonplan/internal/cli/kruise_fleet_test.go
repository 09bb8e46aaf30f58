package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// TestKruiseFile compares the embedded file with what the code generates. With -update it writes the file.
func TestKruiseFile(t *testing.T) {
	want := newKruiseFleet().yaml(t)
	if *update {
		if err := os.WriteFile(kruiseName, want, 0o644); err != nil {
			t.Fatal(err)
		}
		kruiseFile = want // so that the golden files, which are written next, are made from it
		return
	}
	if !bytes.Equal(kruiseFile, want) {
		t.Errorf("%s is not what the test writes; run the test with -update and read the diff", kruiseName)
	}
}

// kruiseFleet is the second embedded example: an Advanced DaemonSet on 14 workers and two GPU nodes. OpenKruise has begun the
// rollout in place, by descending node names, and another controller continues it. The agent labels its pod while it has logs to
// send, and the preDelete hook waits for that label.
type kruiseFleet struct {
	set       map[string]any
	owner     *appsv1.DaemonSet
	revisions []*appsv1.ControllerRevision
	nodes     []*corev1.Node
	pods      []*corev1.Pod
}

const (
	kruiseUnsent = "logs.example.com/unsent"
	kruiseImage  = "registry.example.com/logging/log-agent:"
)

func newKruiseFleet() *kruiseFleet {
	f := &kruiseFleet{owner: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "log-agent", Namespace: "logging", UID: "b8f0a1de-52f7-4a55-9d43-1f0f6c7a2c90",
	}}}
	f.set = f.manifest()
	for i, template := range []corev1.PodTemplateSpec{
		kruiseTemplate("2.12.0", "debug"), kruiseTemplate("2.13.1", "info"), kruiseTemplate("2.14.0", "info"),
	} {
		revision := revisionOf(f.owner, template, int64(i+1))
		revision.OwnerReferences[0].APIVersion = "apps.kruise.io/v1beta1"
		revision.CreationTimestamp = ago(time.Duration(2-i)*40*day + 20*time.Minute)
		f.revisions = append(f.revisions, revision)
	}
	for i := range 14 {
		f.node(fmt.Sprintf("worker-%02d", i+1), "worker", 2)
	}
	f.node("gpu-01", "gpu", 2)
	f.node("gpu-02", "gpu", 2)

	f.updatedInPlace("worker-14", true, ago(15*time.Minute))
	f.updatedInPlace("worker-13", true, ago(14*time.Minute))
	setReady(f.podOn("worker-13"), corev1.ConditionTrue, ago(13*time.Minute))
	f.updatedInPlace("worker-12", true, ago(40*time.Second))
	f.updatedInPlace("worker-11", false, ago(25*time.Second))
	f.pod("worker-10", 1).Labels[kruiseUnsent] = "true"
	f.podOn("worker-10").Labels[lifecycle.StateLabel] = string(lifecycle.PreparingDelete)
	f.podOn("worker-10").Annotations = map[string]string{
		lifecycle.TimestampAnnotation: ago(time.Minute).UTC().Format(time.RFC3339),
	}
	f.podOn("worker-08").Spec.ReadinessGates = nil // the pod was made while the update type was Standard
	f.pod("worker-07", 1).Labels[kruiseUnsent] = "true"
	f.nodeNamed("worker-06").Status.Images = append(f.nodeNamed("worker-06").Status.Images,
		corev1.ContainerImage{Names: []string{kruiseImage + "2.14.0"}, SizeBytes: 61_200_000})
	return f
}

func (f *kruiseFleet) yaml(t *testing.T) []byte {
	t.Helper()
	return listYAML(t, f.nodes, f.pods, f.revisions, f.set)
}

func kruiseLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "log-agent"}
}

func kruiseTemplate(version, level string) corev1.PodTemplateSpec {
	labels := kruiseLabels()
	labels["app.kubernetes.io/version"] = version
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "agent", Image: kruiseImage + version, Env: []corev1.EnvVar{{Name: "LOG_LEVEL", Value: level}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("96Mi"),
				}},
			}},
			Tolerations:      []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		},
	}
}

// manifest is the set as OpenKruise stores it. It is a map, because this module does not import OpenKruise's types.
func (f *kruiseFleet) manifest() map[string]any {
	return map[string]any{
		"apiVersion": "apps.kruise.io/v1beta1", "kind": "DaemonSet",
		"metadata": map[string]any{
			"name": f.owner.Name, "namespace": f.owner.Namespace, "uid": f.owner.UID, "generation": 3,
			"creationTimestamp": ago(80*day + 20*time.Minute), "labels": kruiseLabels(),
			"annotations": map[string]any{"apps.kruise.io/image-predownload-parallelism": "2"},
		},
		"spec": map[string]any{
			"selector": metav1.LabelSelector{MatchLabels: kruiseLabels()},
			"template": kruiseTemplate("2.14.0", "info"),
			"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
				"rollingUpdateType": "InPlaceIfPossible", "maxUnavailable": 6, "partition": "25%",
				"selector": metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "example.com/pool", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"gpu"}},
				}},
			}},
			"lifecycle":       map[string]any{"preDelete": map[string]any{"labelsHandler": map[string]string{kruiseUnsent: "true"}}},
			"minReadySeconds": 10, "revisionHistoryLimit": 10,
		},
	}
}

func (f *kruiseFleet) node(name, pool string, revision int) {
	f.nodes = append(f.nodes, &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: uid("node", name), CreationTimestamp: ago(90 * day),
			Labels: map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "example.com/pool": pool},
		},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: ago(90 * day),
			}},
			Images:   []corev1.ContainerImage{{Names: []string{kruiseImage + "2.13.1"}, SizeBytes: 60_900_000}},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.37.2"},
		},
	})
	f.pod(name, revision)
}

// pod gives the node another pod in place of the one it has. The new one was created at that revision, and is Ready.
func (f *kruiseFleet) pod(node string, revision int) *corev1.Pod {
	f.pods = slices.DeleteFunc(f.pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node })
	version, level := [...]string{"2.12.0", "2.13.1", "2.14.0"}[revision-1], "info"
	if revision == 1 {
		level = "debug"
	}
	template, since := kruiseTemplate(version, level), ago(30*day)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "log-agent-" + random("log-agent", node, "pod"), GenerateName: "log-agent-", Namespace: f.owner.Namespace,
			UID: uid("pod", node), CreationTimestamp: since, Labels: template.Labels,
			OwnerReferences: slices.Clone(f.revisions[0].OwnerReferences),
		},
		Spec: template.Spec,
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &since,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "agent", Image: kruiseImage + version, ImageID: kruiseImageID(version), Ready: true, Started: new(true),
				Resources: template.Spec.Containers[0].Resources.DeepCopy(), // as reported by kubelets that can resize
				State:     corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
			}},
		},
	}
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = f.revisions[revision-1].Labels[appsv1.ControllerRevisionHashLabelKey]
	pod.Spec.NodeName = node
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	for _, kind := range []corev1.PodConditionType{
		lifecycle.InPlaceUpdateReady, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: since,
		})
	}
	f.pods = append(f.pods, pod)
	return pod
}

// updatedInPlace makes the node's pod one that OpenKruise has updated in place to the newest revision. With restarted, the
// kubelet has restarted the container since.
func (f *kruiseFleet) updatedInPlace(node string, restarted bool, since metav1.Time) {
	pod := f.podOn(node)
	pod.Labels["app.kubernetes.io/version"] = "2.14.0"
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = f.revisions[2].Labels[appsv1.ControllerRevisionHashLabelKey]
	pod.Spec.Containers[0].Image = kruiseImage + "2.14.0"
	state, err := json.Marshal(inplace.UpdateState{
		Revision: pod.Labels[appsv1.ControllerRevisionHashLabelKey], UpdateTimestamp: since, UpdateImages: true,
		LastContainerStatuses:  map[string]inplace.ContainerStatus{"agent": {ImageID: kruiseImageID("2.13.1")}},
		ContainerBatchesRecord: []inplace.Batch{{Timestamp: since, Containers: []string{"agent"}}},
	})
	if err != nil {
		panic(err)
	}
	pod.Annotations = map[string]string{inplace.StateKey: string(state)}
	if restarted {
		pod.Status.ContainerStatuses[0].Image = kruiseImage + "2.14.0"
		pod.Status.ContainerStatuses[0].ImageID = kruiseImageID("2.14.0")
		pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(since.Add(15 * time.Second))
	}
	if fleetTime().Sub(since.Time) > time.Minute {
		setReady(pod, corev1.ConditionTrue, metav1.NewTime(since.Add(20*time.Second)))
		return
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == lifecycle.InPlaceUpdateReady || c.Type == corev1.PodReady {
			c.Status, c.LastTransitionTime = corev1.ConditionFalse, since
		}
	}
}

func kruiseImageID(version string) string {
	return fmt.Sprintf("registry.example.com/logging/log-agent@sha256:%016x%048x", number("image", version), 0)
}

func (f *kruiseFleet) nodeNamed(name string) *corev1.Node {
	return f.nodes[slices.IndexFunc(f.nodes, func(node *corev1.Node) bool { return node.Name == name })]
}

func (f *kruiseFleet) podOn(node string) *corev1.Pod {
	return f.pods[slices.IndexFunc(f.pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node })]
}
