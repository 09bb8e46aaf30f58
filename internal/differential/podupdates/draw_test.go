package podupdates

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// drawn is what one case begins with.
type drawn struct {
	old, new  *corev1.PodTemplateSpec
	options   inplace.Options
	node      *corev1.Node
	admission []func(*corev1.Pod) // what others make of each pod that is created
	later     []func(*corev1.Pod) // what others have made of the pod that runs
}

type drawer struct{ *rand.Rand }

func (r drawer) one(in int) bool { return r.IntN(in) == 0 }

func pick[T any](r drawer, of ...T) T { return of[r.IntN(len(of))] }

func (r drawer) image() string {
	return pick(r, "app:1", "app:1", "app:2", "app:3", "app:latest", "reg:5000/app", "docker.io/library/app:1",
		"app:1@sha256:0000000000000000000000000000000000000000000000000000000000000000")
}

func (r drawer) quantity(name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourceCPU {
		return resource.MustParse(pick(r, "100m", "200m", "0.2", "1"))
	}
	return resource.MustParse(pick(r, "64Mi", "128Mi", "134217728"))
}

func (r drawer) resources(likely int) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if r.IntN(4) < likely {
			r.set(&out.Requests, name)
		}
		if r.IntN(4) < likely {
			r.set(&out.Limits, name)
		}
	}
	return out
}

func (r drawer) set(list *corev1.ResourceList, name corev1.ResourceName) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = r.quantity(name)
}

func (r drawer) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: r.image(), Resources: r.resources(1)}
	if r.one(3) {
		c.ImagePullPolicy = pick(r, corev1.PullIfNotPresent, corev1.PullAlways)
	}
	if r.one(4) {
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	}
	if r.one(4) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: pick(r, "metadata.labels['a']", "metadata.annotations['a']", "metadata.labels['controller-revision-hash']", "spec.nodeName"),
		}}})
	}
	if r.one(6) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "R", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
			Resource: pick(r, "limits.cpu", "requests.cpu", "requests.memory"), ContainerName: name,
		}}})
	}
	if r.one(12) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "barrier"}, Key: pick(r, "p_1", "p_2"),
			},
		}})
	}
	return c
}

func (r drawer) toleration() corev1.Toleration {
	return pick(r,
		corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists},
		corev1.Toleration{Key: "a", Value: "1"},
		corev1.Toleration{Key: "a", Operator: corev1.TolerationOpEqual, Value: "1"},
		corev1.Toleration{Key: "b", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(30))},
		corev1.Toleration{Operator: corev1.TolerationOpExists},
	)
}

func (r drawer) template() *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}}
	if r.one(2) {
		t.Labels["a"] = pick(r, "1", "2")
	}
	if r.one(2) {
		t.Annotations = map[string]string{"a": pick(r, "1", "2", `"<quoted>"`)}
	}
	t.Spec.Containers = []corev1.Container{r.container("main")}
	if r.one(2) {
		t.Spec.Containers = append(t.Spec.Containers, r.container("beside"))
	}
	if r.one(3) {
		sidecar := r.container("sidecar")
		sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		t.Spec.InitContainers = append(t.Spec.InitContainers, sidecar)
	}
	if r.one(4) {
		setup := r.container("setup")
		setup.ResizePolicy = nil
		t.Spec.InitContainers = append(t.Spec.InitContainers, setup)
	}
	if r.one(5) {
		whole := r.resources(2)
		for _, list := range []corev1.ResourceList{whole.Limits, whole.Requests} {
			for name, quantity := range list { // room for what the containers have
				quantity.Mul(5)
				list[name] = quantity
			}
		}
		t.Spec.Resources = &whole
	}
	for range r.IntN(3) {
		t.Spec.Tolerations = append(t.Spec.Tolerations, r.toleration())
	}
	if r.one(30) {
		t.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
	}
	if r.one(10) {
		t.Spec.HostNetwork = true
		t.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
	}
	if r.one(10) {
		t.Spec.TerminationGracePeriodSeconds = new(pick(r, int64(-1), 5))
	}
	return t
}

// change changes a template in one way.
func (r drawer) change(t *corev1.PodTemplateSpec) {
	containers := t.Spec.Containers
	if len(t.Spec.InitContainers) > 0 && r.one(3) {
		containers = t.Spec.InitContainers
	}
	c := &containers[r.IntN(len(containers))]
	name := pick(r, corev1.ResourceCPU, corev1.ResourceMemory)
	switch r.IntN(17) {
	case 0, 1, 2:
		c.Image = r.image()
	case 3, 4, 5:
		r.set(pick(r, &c.Resources.Limits, &c.Resources.Requests), name)
	case 6:
		delete(pick(r, c.Resources.Limits, c.Resources.Requests), name)
	case 7:
		t.Labels["a"] = pick(r, "1", "2", "3")
	case 8:
		key := pick(r, "a", "a", "b", "kubectl.kubernetes.io/restartedAt", "container.apparmor.security.beta.kubernetes.io/main")
		if t.Annotations == nil {
			t.Annotations = map[string]string{}
		}
		t.Annotations[key] = pick(r, "runtime/default", "unconfined")
	case 9, 10:
		t.Spec.Tolerations = append(t.Spec.Tolerations, r.toleration())
	case 11:
		if len(t.Spec.Tolerations) > 0 {
			t.Spec.Tolerations = t.Spec.Tolerations[1:]
		}
	case 12, 13:
		if t.Spec.Resources == nil {
			if !r.one(4) {
				return
			}
			t.Spec.Resources = &corev1.ResourceRequirements{}
		}
		list := pick(r, &t.Spec.Resources.Limits, &t.Spec.Resources.Requests)
		r.set(list, name)
		quantity := (*list)[name]
		quantity.Mul(int64(5 + r.IntN(2)))
		(*list)[name] = quantity
	case 14:
		delete(t.Annotations, "a")
		delete(t.Labels, "a")
	case 15:
		switch r.IntN(6) {
		case 0:
			c.Command = []string{"run"}
		case 1:
			c.ImagePullPolicy = pick(r, corev1.PullIfNotPresent, corev1.PullAlways, "")
		case 2:
			t.Spec.HostNetwork = !t.Spec.HostNetwork
		case 3:
			t.Spec.PriorityClassName = "high"
		case 4:
			c.RestartPolicy = nil
		case 5:
			c.ResizePolicy = nil
		}
	case 16:
		t.Spec.ActiveDeadlineSeconds = new(int64(r.IntN(9) + 1))
	}
}

// defaulted returns a template as a DaemonSet has it; that of a custom resource is not defaulted.
func defaulted(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	object := &corev1.PodTemplate{Template: *template.DeepCopy()}
	corev1defaults.SetObjectDefaults_PodTemplate(object)
	return &object.Template
}

func draw(seed uint64) drawn {
	r := drawer{rand.New(rand.NewPCG(seed, 1))}
	d := drawn{old: r.template()}
	d.new = d.old.DeepCopy()
	for range 1 + r.IntN(2) {
		r.change(d.new)
	}
	if r.one(2) {
		d.old, d.new = defaulted(d.old), defaulted(d.new)
	}
	d.options = inplace.Options{Resize: !r.one(6), EnvFromMetadata: r.one(2)}
	d.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	d.node.Status.NodeInfo.KubeletVersion = pick(r, "v1.37.2", "v1.37.2", "v1.31.4")
	for _, feature := range []string{"InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"} {
		if !r.one(3) {
			d.node.Status.DeclaredFeatures = append(d.node.Status.DeclaredFeatures, feature)
		}
	}
	for range r.IntN(3) {
		d.admission = append(d.admission, pick(r, withDefaultTolerations, injects, limits))
	}
	if r.one(8) {
		d.later = append(d.later, pick(r, withDefaultTolerations, resizedByOthers, annotates))
	}
	return d
}

// withDefaultTolerations is what the admission of default tolerations does.
func withDefaultTolerations(pod *corev1.Pod) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		added := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == key }) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, added)
		}
	}
}

// injects is what a service mesh does.
func injects(pod *corev1.Pod) {
	if !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "injected" }) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "injected", Image: "mesh:1", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")},
		}})
	}
}

// limits is what the admission of a LimitRange does: a request of memory by default.
func limits(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		list := &pod.Spec.Containers[i].Resources.Requests
		if _, ok := (*list)[corev1.ResourceMemory]; !ok {
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)[corev1.ResourceMemory] = resource.MustParse("64Mi")
		}
	}
}

// resizedByOthers is what a vertical autoscaler does.
func resizedByOthers(pod *corev1.Pod) {
	for name, quantity := range pod.Spec.Containers[0].Resources.Requests {
		if limit, ok := pod.Spec.Containers[0].Resources.Limits[name]; !ok || limit.Cmp(quantity) != 0 {
			quantity.SetMilli(max(quantity.MilliValue()/2, 1))
			pod.Spec.Containers[0].Resources.Requests[name] = quantity
			return
		}
	}
}

func annotates(pod *corev1.Pod) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations["seen.example.com/by"] = "others"
}
