package inplace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// sized returns a list of resources from "cpu=1" and the like.
func sized(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, pair := range pairs {
		name, quantity, _ := strings.Cut(pair, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}

// sidecar adds a native sidecar.
func sidecar(p *corev1.PodTemplateSpec) {
	p.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "side:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
}

func imageVolume(name, image string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image}}}
}

func TestDiffI2(t *testing.T) {
	all := inplace.Options{Resize: true, EnvFromMetadata: true}
	tests := []struct {
		name, why string
		options   inplace.Options
		old       func(*corev1.PodTemplateSpec)
		change    func(*corev1.PodTemplateSpec)
		obstacles []string
	}{
		{"identical", "nothing to do is in place", all, nil, func(*corev1.PodTemplateSpec) {}, nil},
		{"image", "the plain case", inplace.Options{}, nil, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "agent:2" }, nil},
		{"all reasons", "every one is told, sorted by path", inplace.Options{}, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = []corev1.Volume{{Name: "tmp"}}
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more", Image: "more:1"})
			p.Name = "named"
			p.Spec.Containers[0].Image = ""
		}, []string{
			"metadata.name: cannot change in a running pod",
			"spec.containers[agent].image: no image is named",
			"spec.containers[more]: running pods lack the container",
			"spec.volumes[tmp]: cannot change in a running pod (added)",
		}},
		{"restarted by kubectl", "the command asks for a restart, whatever the spec names", inplace.Options{}, nil, func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
		}, []string{"metadata.annotations[kubectl.kubernetes.io/restartedAt]: its change asks for a restart, which takes a new pod"}},
		{"restarted before", "to go back to a template without it is a change, too", inplace.Options{}, func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
		}, func(p *corev1.PodTemplateSpec) { p.Annotations = nil },
			[]string{"metadata.annotations[kubectl.kubernetes.io/restartedAt]: its change asks for a restart, which takes a new pod"}},
		{"restart keys", "a prefix with its slash, a key, labels too, and nothing that only begins alike",
			inplace.Options{RestartKeys: []string{"checksum/", "stamp"}}, nil, func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{"checksum/config": "1", "checksums": "1", "stamp": "1", "stamp/of": "1", "checksum": "1"}
				p.Labels = map[string]string{"app": "agent", "checksum/label": "1"}
			}, []string{
				"metadata.annotations[checksum/config]: its change asks for a restart, which takes a new pod",
				"metadata.annotations[stamp]: its change asks for a restart, which takes a new pod",
				"metadata.labels[checksum/label]: its change asks for a restart, which takes a new pod",
			}},
		{"a checksum that nobody names", "it may be read while the pod runs", inplace.Options{}, nil, func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"checksum/config": "1"}
		}, nil},
		{"eviction responders", "they are for pods that are made", all, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "example.com/a", Priority: new(int32(1))}}
		}, []string{"spec.evictionResponders[example.com/a]: cannot change in a running pod (added)"}},
		{"nil and empty", "say the same", all, nil, func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{}
			p.Spec.Volumes = []corev1.Volume{}
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{}
		}, nil},
		{"quantities", "count by value", inplace.Options{}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Limits = sized("cpu=1", "example.com/gpu=1k")
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Limits = sized("cpu=1000m", "example.com/gpu=1000")
		}, nil},
		{"pointer inside", "a struct behind a pointer is compared member by member", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1)), FSGroup: new(int64(1))}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext.RunAsUser = new(int64(2)) },
			[]string{"spec.securityContext.runAsUser: cannot change in a running pod"}},
		{"pointer dropped", "it is one change", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1))}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext = nil },
			[]string{"spec.securityContext: cannot change in a running pod"}},
		{"inlined struct", "its members have no path of their own", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}}}}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Volumes[0].HostPath.Path = "/b" },
			[]string{"spec.volumes[v].hostPath.path: cannot change in a running pod"}},
		{"map", "by key", all, func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{"a": "1", "b": "1", "c": "1"} },
			func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{"a": "2", "c": "1", "d": "1"} },
			[]string{
				"spec.nodeSelector[a]: cannot change in a running pod",
				"spec.nodeSelector[b]: cannot change in a running pod (removed)",
				"spec.nodeSelector[d]: cannot change in a running pod (added)",
			}},
		{"list without names", "by position", all, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args = []string{"a", "b"} },
			func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args = []string{"b"} },
			[]string{
				"spec.containers[agent].args[0]: cannot change in a running pod",
				"spec.containers[agent].args[1]: cannot change in a running pod (removed)",
			}},
		{"order of variables", "later ones may expand earlier ones", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}, {Name: "B"}}
		}, func(p *corev1.PodTemplateSpec) { slices.Reverse(p.Spec.Containers[0].Env) },
			[]string{"spec.containers[agent].env: cannot change in a running pod (order)"}},
		{"repeated variable", "no name of its own: by position", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}, {Name: "A", Value: "x"}}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Env[1].Value = "y" },
			[]string{"spec.containers[agent].env[1].value: cannot change in a running pod"}},
		{"bytes", "a value of its own kind is one value", all, func(p *corev1.PodTemplateSpec) { p.ManagedFields = nil },
			func(p *corev1.PodTemplateSpec) { p.CreationTimestamp = metav1.NewTime(noon) },
			[]string{"metadata.creationTimestamp: cannot change in a running pod"}},
		{"containers swapped", "they have started in the old order", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more", Image: "more:1"})
		}, func(p *corev1.PodTemplateSpec) { slices.Reverse(p.Spec.Containers) },
			[]string{"spec.containers: the containers of running pods have started in another order"}},
		{"container without a name", "cannot be told from another", all, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Name = ""
		}, []string{"spec.containers: cannot change in a running pod (a container without a name of its own)"}},
		{"two containers of one name", "the same list is no change, though", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		}, func(*corev1.PodTemplateSpec) {}, nil},
		{"init container", "does not run again", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup:1"}}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.InitContainers[0].Image = "setup:2" },
			[]string{"spec.initContainers[setup].image: init containers do not run again"}},
		{"cpu and memory", "can be resized", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=2Gi"), Requests: sized("cpu=1", "memory=1Gi")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=4", "memory=4Gi"), Requests: sized("cpu=2", "memory=2Gi")}
		}, nil},
		{"requests from limits", "a request that is not given equals its limit, so the class stays Guaranteed", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Limits = sized("cpu=2", "memory=2Gi")
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = sized("cpu=4", "memory=2Gi") }, nil},
		{"to BestEffort", "zero counts as none", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=1")
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Requests = sized("cpu=0") },
			[]string{"spec: the QoS class of a pod is fixed (Burstable becomes BestEffort)"}},
		{"init containers and the class", "they count", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup:1"}}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=2Gi"), Requests: sized("cpu=1", "memory=2Gi")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=2Gi")
		}, nil},
		{"resources of the pod", "decide the class alone", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=4", "memory=4Gi")}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=2Gi"), Requests: sized("cpu=1", "memory=2Gi")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=2Gi")
		}, nil},
		{"requests of the pod that follow its containers", "the API server has made them from those, and the class with them", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=2Gi")}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=2Gi"), Requests: sized("cpu=1", "memory=2Gi")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=2Gi")
		}, []string{"spec: the QoS class of a pod is fixed (Burstable becomes Guaranteed)"}},
		{"the pod as a whole", "it is resized, too", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=3", "memory=1Gi"), Requests: sized("cpu=1")}
		}, nil},
		{"the pod as a whole, without the option", "as for containers", inplace.Options{}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=3"), Requests: sized("cpu=1", "memory=1Gi")}
		}, []string{
			"spec.resources.limits[cpu]: resizing in place is not enabled",
			"spec.resources.requests[memory]: running pods lack the request or limit",
		}},
		{"resources of the pod that go", "the API server takes nothing away", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Resources = nil }, []string{
			"spec: the QoS class of a pod is fixed (Burstable becomes BestEffort)",
			"spec.resources.limits[cpu]: running pods keep the request or limit",
			"spec.resources.requests[cpu]: running pods keep the request or limit",
		}},
		{"limits of the pod that restart", "a container without a limit of its own has the pod's, and nothing shows whether it has restarted", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=1Gi"), Requests: sized("cpu=1")}
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=3", "memory=2Gi"), Requests: sized("cpu=1")}
		}, []string{
			"spec.resources.limits[cpu]: it is the limit of containers that restart when it changes, and nothing shows whether they have (agent)",
		}},
		{"a volume that is an image", "it is mounted when the pod starts", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = []corev1.Volume{imageVolume("data", "models:1"), imageVolume("more", "more:1")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = []corev1.Volume{imageVolume("data", "models:2"), imageVolume("more", "more:1")}
		}, []string{"spec.volumes[data].image.reference: the volumes of a running pod are mounted already, and keep their image"}},
		{"a volume that becomes an image", "it is another volume", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Volumes = []corev1.Volume{imageVolume("data", "models:2")} }, []string{
			"spec.volumes[data].emptyDir: cannot change in a running pod",
			"spec.volumes[data].image: cannot change in a running pod",
		}},
		{"resources in turn", "a later batch can only change what the pod has", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=4"), Requests: sized("cpu=2")}
			p.Spec.Containers[0].Env = []corev1.EnvVar{barrier(1)}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=1")
		}, []string{
			"spec.containers[agent].resources: containers that are updated in turn can change only requests and limits that they have",
			"spec.resources: containers that are updated in turn can change only requests and limits that they have",
		}},
		{"Windows", "its kubelet resizes nothing", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
			p.Spec.Containers[0].Resources.Requests = sized("cpu=1")
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=2")
		}, []string{"spec.os.name: Windows pods cannot be resized"}},
		{"Windows image", "restarts as everywhere", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "agent:2" }, nil},
		{"a limit where there was none", "resize adds it, and the request that follows it", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=1")
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: sized("cpu=1"), Limits: sized("cpu=2")}
		}, nil},
		{"a limit where there was none, without the option", "as before", inplace.Options{}, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Limits = sized("cpu=2")
		}, []string{
			"spec: the QoS class of a pod is fixed (BestEffort becomes Burstable)",
			"spec.containers[agent].resources.limits[cpu]: running pods lack the request or limit",
		}},
		{"the tag latest", "a pod that is made pulls it always, and a running one keeps its policy", all, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Image = "agent:latest"
		}, []string{"spec.containers[agent].imagePullPolicy: cannot change in a running pod (by the tag of the image IfNotPresent becomes Always)"}},
		{"away from a name without tag", "it means latest", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Image = "reg:5000/agent"
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Image = "agent:latest-1"
		}, []string{"spec.containers[agent].imagePullPolicy: cannot change in a running pod (by the tag of the image Always becomes IfNotPresent)"}},
		{"latest by digest", "the policy follows the tag beside it, and no tag is none", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Image = "agent:latest@sha256:1"
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "agent@sha256:1" },
			[]string{"spec.containers[agent].imagePullPolicy: cannot change in a running pod (by the tag of the image Always becomes IfNotPresent)"}},
		{"a policy that is written out", "it is what the pod has already", all, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
		}, nil},
		{"another policy", "it cannot change", all, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].ImagePullPolicy = corev1.PullNever
		}, []string{"spec.containers[agent].imagePullPolicy: cannot change in a running pod"}},
		{"toleration", "the API server takes additions, and nothing restarts", inplace.Options{}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Value: "1"}}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpExists}, {Key: "a", Operator: corev1.TolerationOpEqual, Value: "1"}}
		}, nil},
		{"toleration, switched off", "the option", inplace.Options{Tolerations: new(bool)}, nil, func(p *corev1.PodTemplateSpec) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a"}}
		}, []string{"spec.tolerations: adding tolerations in place is not enabled"}},
		{"toleration that goes", "running pods keep it", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = p.Spec.Tolerations[:1] },
			[]string{"spec.tolerations[1]: cannot change in a running pod (removed)"}},
		{"sidecar", "its kubelet restarts the one container", inplace.Options{}, sidecar, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers[0].Image = "side:2"
		}, nil},
		{"sidecar, switched off", "the option", inplace.Options{Sidecars: new(bool)}, sidecar, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers[0].Image = "side:2"
		}, []string{"spec.initContainers[side].image: updating sidecars in place is not enabled"}},
		{"sidecar, otherwise", "nothing but image and size", all, sidecar, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers[0].Command = []string{"run"}
			p.Spec.InitContainers[0].Image = "side:latest"
			p.Spec.InitContainers[0].Resources.Requests = sized("example.com/gpu=1")
		}, []string{
			"spec.initContainers[side].command[0]: init containers do not run again (added)",
			"spec.initContainers[side].imagePullPolicy: cannot change in a running pod (by the tag of the image IfNotPresent becomes Always)",
			"spec.initContainers[side].resources.requests[example.com/gpu]: only cpu and memory can be resized",
		}},
		{"sidecar that ends", "another kind of container", all, sidecar, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers[0].RestartPolicy, p.Spec.InitContainers[0].Image = nil, "side:2"
		}, []string{
			"spec.initContainers[side].image: init containers do not run again",
			"spec.initContainers[side].restartPolicy: init containers do not run again",
		}},
		{"resources of an init container", "they are counted for the node; one that says it restarts is refused", all, func(p *corev1.PodTemplateSpec) {
			for _, name := range []string{"a", "b"} {
				p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: "setup:1",
					Resources: corev1.ResourceRequirements{Requests: sized("cpu=1")}})
			}
			p.Spec.InitContainers[1].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers[0].Resources.Requests = sized("cpu=2")
			p.Spec.InitContainers[1].Resources.Requests = sized("cpu=2")
		}, []string{"spec.initContainers[b].resources.requests[cpu]: init containers do not run again"}},
		{"AppArmor by annotation", "the API server lets nobody change it", all, nil, func(p *corev1.PodTemplateSpec) {
			p.Labels = map[string]string{"app": "agent", "container.apparmor.security.beta.kubernetes.io/agent": "any"}
			p.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/agent": "unconfined"}
		}, []string{"metadata.annotations[container.apparmor.security.beta.kubernetes.io/agent]: cannot change in a running pod"}},
		{"the revision in a variable", "the update writes the label, and the container keeps the old one", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.labels['controller-revision-hash']")}
		}, func(p *corev1.PodTemplateSpec) { p.Labels = map[string]string{"app": "agent", "tier": "b"} },
			[]string{"spec.containers[agent].env[labels_controller-revision-hash]: an environment variable reads what the update itself writes (controller-revision-hash)"}},
		{"only requests of the pod", "they decide as well", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: sized("cpu=2")}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=2Gi"), Requests: sized("cpu=1", "memory=2Gi")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=2Gi")
		}, nil},
		{"empty resources of the pod", "decide nothing", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = &corev1.ResourceRequirements{}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2", "memory=2Gi"), Requests: sized("cpu=1", "memory=2Gi")}
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=2Gi")
		},
			[]string{"spec: the QoS class of a pod is fixed (Burstable becomes Guaranteed)"}},
		{"cgroup v1", "first the resize, then the image", inplace.Options{Resize: true, CgroupV1: true}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=1", "memory=1Gi")
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].Resources.Requests = "agent:2", sized("cpu=2", "memory=2Gi")
		}, []string{"spec.containers[agent].resources: on cgroup v1 the resize has to be rolled out before the image"}},
		{"cgroup v1 resize", "alone it is fine", inplace.Options{Resize: true, CgroupV1: true}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=1")
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Requests = sized("cpu=2") }, nil},
		{"cgroup v1 image", "alone it is fine", inplace.Options{CgroupV1: true}, nil,
			func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "agent:2" }, nil},
		{"request read by another", "containerName names the one that is read", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=1", "memory=1Gi")
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "reader", Image: "reader:1", Env: []corev1.EnvVar{
				resourceRef("SELF", "", "requests.cpu"), resourceRef("CPU", "agent", "requests.cpu"),
				resourceRef("MEMORY", "agent", "requests.memory"), resourceRef("LIMIT", "agent", "limits.cpu"),
			}})
		}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = sized("cpu=2", "memory=1Gi")
		},
			[]string{"spec.containers[reader].env[CPU]: an environment variable reads a resource that is resized (requests.cpu of agent)"}},
		{"request that follows its limit", "is read as well", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Limits = sized("cpu=1", "memory=1Gi")
			p.Spec.Containers[0].Resources.Requests = sized("memory=1Gi")
			p.Spec.Containers[0].Env = []corev1.EnvVar{resourceRef("CPU", "", "requests.cpu"), resourceRef("MEMORY", "", "requests.memory")}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = sized("cpu=2", "memory=1Gi") },
			[]string{"spec.containers[agent].env[CPU]: an environment variable reads a resource that is resized (requests.cpu of agent)"}},
		{"request given beside its limit", "does not follow it", all, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
			p.Spec.Containers[0].Env = []corev1.EnvVar{resourceRef("CPU", "", "requests.cpu")}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = sized("cpu=3") }, nil},
		{"odd field references", "that are no keys are read by nobody", inplace.Options{}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{
				fieldRef("metadata.name"), fieldRef("metadata.labels"), fieldRef("metadata.labels['app"), fieldRef("spec.nodeName']"),
			}
		}, func(p *corev1.PodTemplateSpec) { p.Labels["app"] = "agent2" }, nil},
		{"metadata that others read", "of the other kind", inplace.Options{}, func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.annotations['app']")}
		}, func(p *corev1.PodTemplateSpec) { p.Labels["app"] = "agent2" }, nil},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.name == "" || test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a name of its own and a reason", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			old := agent("agent:1")
			if test.old != nil {
				test.old(old)
			}
			changed := old.DeepCopy()
			test.change(changed)
			u := inplace.Compare(old, changed, test.options)
			got := []string{}
			for _, obstacle := range u.Obstacles {
				got = append(got, obstacle.String())
			}
			if !slices.Equal(got, test.obstacles) {
				t.Errorf("%s: obstacles\n%s\nwant\n%s", test.why, strings.Join(got, "\n"), strings.Join(test.obstacles, "\n"))
			}
			if u.InPlace() != (len(got) == 0) {
				t.Error("InPlace does not follow from the obstacles")
			}
		})
	}
}

func resourceRef(name, container, resource string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: container, Resource: resource},
	}}
}

// What changes is listed in order, whether it can be taken in place or not.
func TestDiffLists(t *testing.T) {
	old := agent("agent:1")
	old.Labels = map[string]string{"z": "1", "b": "1", "same": "1"}
	old.Annotations = map[string]string{"x": "1"}
	old.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("memory=2Gi", "cpu=2"), Requests: sized("cpu=1")}
	old.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.annotations['x']"), fieldRef("metadata.labels['new']")}
	changed := old.DeepCopy()
	changed.Labels = map[string]string{"new": "1", "b": "2", "same": "1"}
	changed.Annotations = map[string]string{"x": ""}
	changed.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("memory=4Gi", "cpu=4"), Requests: sized("cpu=2")}
	u := inplace.Compare(old, changed, inplace.Options{})

	var got strings.Builder
	for _, c := range u.Resources {
		fmt.Fprintln(&got, c.Container, c.Limit, c.Resource, c.Old.String(), c.New.String())
	}
	fmt.Fprintf(&got, "%+v\n%+v\n%+v\n", u.Labels, u.Annotations, u.Env)
	want := `agent true cpu 2 4
agent true memory 2Gi 4Gi
agent false cpu 1 2
[{Key:b Old:1 New:2 Added:false Dropped:false} {Key:new Old: New:1 Added:true Dropped:false} {Key:z Old:1 New: Added:false Dropped:true}]
[{Key:x Old:1 New: Added:false Dropped:false}]
[{Container:agent Variable:annotations_x Annotation:true Key:x} {Container:agent Variable:labels_new Annotation:false Key:new}]
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

func TestUpdatesThatAreNone(t *testing.T) {
	pod := agentPod()
	for name, u := range map[string]*inplace.Update{
		"nil": nil, "zero": {}, "no old": inplace.Compare(nil, agent("agent:1"), inplace.Options{}),
		"no new": inplace.Compare(agent("agent:1"), nil, inplace.Options{}), "neither": inplace.Compare(nil, nil, inplace.Options{}),
	} {
		if u.InPlace() || u.Restarts() {
			t.Errorf("%s: can be updated in place", name)
		}
		if u != nil && !u.NeedsUnready(pod) || u == nil && u.NeedsUnready(pod) || u.NeedsUnready(nil) {
			t.Errorf("%s: a change that is not in place takes the pod down", name)
		}
		if _, err := u.Begin(pod, inplace.Target{Revision: "v2"}, inplace.Metadata{}, noon); err == nil || !strings.Contains(err.Error(), "no template") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRestartsOfResizes(t *testing.T) {
	for _, test := range []struct {
		name, why string
		policies  []corev1.ContainerResizePolicy
		restarts  bool
	}{
		{"none", "the default of a policy is not to restart", nil, false},
		{"not required", "said so", []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.NotRequired}}, false},
		{"another resource", "that does not change", []corev1.ContainerResizePolicy{{ResourceName: "memory", RestartPolicy: corev1.RestartContainer}}, false},
		{"restart", "said so", []corev1.ContainerResizePolicy{{ResourceName: "memory", RestartPolicy: corev1.NotRequired}, {ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}}, true},
	} {
		for _, limit := range []bool{true, false} {
			old := agent("agent:1")
			old.Spec.Containers[0].ResizePolicy = test.policies
			old.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=4", "memory=1Gi"), Requests: sized("cpu=1")}
			changed := old.DeepCopy()
			if limit {
				changed.Spec.Containers[0].Resources.Limits = sized("cpu=5", "memory=1Gi")
			} else {
				changed.Spec.Containers[0].Resources.Requests = sized("cpu=2")
			}
			u := inplace.Compare(old, changed, inplace.Options{Resize: true})
			if u.Restarts() != test.restarts || u.NeedsUnready(podOf(old, "v1")) != test.restarts {
				t.Errorf("%s (%s): restarts %v, needs unready %v", test.name, test.why, u.Restarts(), u.NeedsUnready(podOf(old, "v1")))
			}
		}
	}
}
