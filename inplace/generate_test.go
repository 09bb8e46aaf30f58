package inplace_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// pair is an old template and what became of it.
type pair struct {
	old, new *corev1.PodTemplateSpec
	options  inplace.Options
}

// mutation changes a template in one way; it may find nothing to change.
type mutation struct {
	name   string
	mutate func(*rapid.T, *corev1.PodTemplateSpec)
}

// inPlaceMutations are those that can be taken in place, most of the time.
var inPlaceMutations = []mutation{
	{"image", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		some(t, p.Spec.Containers).Image = rapid.SampledFrom([]string{"app:1", "app:2", "reg:5000/app", "app@sha256:1"}).Draw(t, "image")
	}},
	{"images", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		image := rapid.SampledFrom([]string{"app:1", "app:2"}).Draw(t, "image")
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].Image = image
		}
	}},
	{"sidecar image", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		image := rapid.SampledFrom([]string{"app:1", "app:2"}).Draw(t, "image")
		for i := range p.Spec.InitContainers {
			if p.Spec.InitContainers[i].RestartPolicy != nil {
				p.Spec.InitContainers[i].Image = image
			}
		}
	}},
	{"toleration added", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		added := corev1.Toleration{Key: key(t), Operator: corev1.TolerationOpExists}
		if !slices.Contains(p.Spec.Tolerations, added) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, added)
		}
	}},
	{"resource added", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		r := &some(t, p.Spec.Containers).Resources
		name := rapid.SampledFrom([]corev1.ResourceName{"cpu", "memory"}).Draw(t, "name")
		list := rapid.SampledFrom([]corev1.ResourceList{r.Limits, r.Requests}).Draw(t, "list")
		if _, ok := list[name]; !ok {
			list[name] = quantity(t)
		}
	}},
	{"label", func(t *rapid.T, p *corev1.PodTemplateSpec) { p.Labels[key(t)] = value(t) }},
	{"annotation", func(t *rapid.T, p *corev1.PodTemplateSpec) { p.Annotations[key(t)] = value(t) }},
	{"label dropped", func(t *rapid.T, p *corev1.PodTemplateSpec) { delete(p.Labels, key(t)) }},
	{"annotation dropped", func(t *rapid.T, p *corev1.PodTemplateSpec) { delete(p.Annotations, key(t)) }},
	{"resources", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		r := &some(t, p.Spec.Containers).Resources
		list := rapid.SampledFrom([]corev1.ResourceList{r.Limits, r.Requests}).Draw(t, "list")
		for _, name := range []corev1.ResourceName{"cpu", "memory"} {
			if _, ok := list[name]; ok && rapid.Bool().Draw(t, "change") {
				list[name] = quantity(t)
			}
		}
	}},
}

// otherMutations are those that cannot.
var otherMutations = []mutation{
	{"resource added or removed", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		r := &some(t, p.Spec.Containers).Resources
		name := rapid.SampledFrom([]corev1.ResourceName{"cpu", "memory", "example.com/gpu"}).Draw(t, "name")
		list := rapid.SampledFrom([]corev1.ResourceList{r.Limits, r.Requests}).Draw(t, "list")
		if _, ok := list[name]; ok {
			delete(list, name)
		} else {
			list[name] = quantity(t)
		}
	}},
	{"toleration removed", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		if len(p.Spec.Tolerations) > 0 {
			p.Spec.Tolerations = p.Spec.Tolerations[1:]
		}
	}},
	{"operating system", func(t *rapid.T, p *corev1.PodTemplateSpec) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }},
	{"the pod as a whole", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		p.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": quantity(t)}, Requests: corev1.ResourceList{"cpu": quantity(t)}}
		if rapid.Bool().Draw(t, "memory") {
			p.Spec.Resources.Limits["memory"], p.Spec.Resources.Requests["memory"] = quantity(t), quantity(t)
		}
	}},
	{"env", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		c := some(t, p.Spec.Containers)
		if len(c.Env) > 0 && rapid.Bool().Draw(t, "remove") {
			c.Env = c.Env[1:]
			return
		}
		name := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "variable")
		i := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name })
		if i < 0 {
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value(t)})
		} else {
			c.Env[i] = corev1.EnvVar{Name: name, Value: value(t)}
		}
	}},
	{"command", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		c := some(t, p.Spec.Containers)
		c.Command = append(c.Command, value(t))
	}},
	{"volume", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		if len(p.Spec.Volumes) > 0 {
			p.Spec.Volumes = nil
			return
		}
		p.Spec.Volumes = []corev1.Volume{{Name: "tmp"}}
	}},
	{"image volume", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		image := rapid.SampledFrom([]string{"data:1", "data:2"}).Draw(t, "image")
		p.Spec.Volumes = []corev1.Volume{imageVolume("data", image)}
	}},
	{"node selector", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		p.Spec.NodeSelector = map[string]string{"os": value(t)}
	}},
	{"init container", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		if len(p.Spec.InitContainers) == 0 {
			p.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup:1"}}
			return
		}
		p.Spec.InitContainers[0].Image += "1"
	}},
	{"container added", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		name := fmt.Sprintf("c%d", rapid.IntRange(4, 5).Draw(t, "container"))
		if !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Image: "app:1", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{},
			}})
		}
	}},
	{"container removed", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		if len(p.Spec.Containers) > 1 {
			p.Spec.Containers = p.Spec.Containers[1:]
		}
	}},
	{"containers reordered", func(t *rapid.T, p *corev1.PodTemplateSpec) { slices.Reverse(p.Spec.Containers) }},
	{"finalizer", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		p.Finalizers = append(p.Finalizers, "example.com/"+value(t))
	}},
	{"host network", func(t *rapid.T, p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = !p.Spec.HostNetwork }},
	{"security context", func(t *rapid.T, p *corev1.PodTemplateSpec) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(rapid.Int64Range(0, 2).Draw(t, "user"))}
	}},
	{"image missing", func(t *rapid.T, p *corev1.PodTemplateSpec) { some(t, p.Spec.Containers).Image = "" }},
}

func some(t *rapid.T, containers []corev1.Container) *corev1.Container {
	return &containers[rapid.IntRange(0, len(containers)-1).Draw(t, "container")]
}

func key(t *rapid.T) string   { return rapid.SampledFrom([]string{"a", "b", "c/d"}).Draw(t, "key") }
func value(t *rapid.T) string { return rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value") }

func quantity(t *rapid.T) resource.Quantity {
	return resource.MustParse(rapid.SampledFrom([]string{"1", "1000m", "2", "2Gi", "2147483648", "500m"}).Draw(t, "quantity"))
}

func metadataMap(t *rapid.T, label string) map[string]string {
	m := map[string]string{}
	for _, k := range []string{"a", "b", "c/d"} {
		if rapid.Bool().Draw(t, label) {
			m[k] = value(t)
		}
	}
	return m
}

func template(t *rapid.T) *corev1.PodTemplateSpec {
	p := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: metadataMap(t, "label"), Annotations: metadataMap(t, "annotation")}}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		p.Spec.Containers = append(p.Spec.Containers, container(t, fmt.Sprintf("c%d", i)))
	}
	if kind := rapid.IntRange(0, 5).Draw(t, "init"); kind < 2 {
		p.Spec.InitContainers = []corev1.Container{container(t, "setup")}
		if kind == 1 {
			p.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
	}
	if rapid.Bool().Draw(t, "toleration") {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	}
	if rapid.IntRange(0, 9).Draw(t, "volume") == 0 {
		p.Spec.Volumes = []corev1.Volume{imageVolume("data", "data:1")}
	}
	if rapid.IntRange(0, 19).Draw(t, "os") == 0 {
		p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
	}
	return p
}

func container(t *rapid.T, name string) corev1.Container {
	c := corev1.Container{Name: name, Image: rapid.SampledFrom([]string{"app:1", "app:2"}).Draw(t, "image")}
	c.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{}}
	for _, name := range []corev1.ResourceName{"cpu", "memory"} {
		if rapid.Bool().Draw(t, "limit") {
			c.Resources.Limits[name] = quantity(t)
		}
		if rapid.Bool().Draw(t, "request") {
			c.Resources.Requests[name] = quantity(t)
		}
	}
	for _, variable := range []corev1.EnvVar{
		{Name: "A", Value: "literal"},
		fieldRef("metadata.labels['a']"),
		fieldRef("metadata.annotations['b']"),
		fieldRef("metadata.labels['controller-revision-hash']"),
		{Name: "R", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
	} {
		rare := 3
		if variable.ValueFrom != nil && variable.ValueFrom.FieldRef != nil && strings.Contains(variable.ValueFrom.FieldRef.FieldPath, revisionLabel) {
			rare = 39
		}
		if rapid.IntRange(0, rare).Draw(t, "variable") == 0 {
			c.Env = append(c.Env, variable)
		}
	}
	if rapid.Bool().Draw(t, "barrier") {
		c.Env = append(c.Env, barrier(rapid.IntRange(-1, 2).Draw(t, "priority")))
	}
	if rapid.IntRange(0, 3).Draw(t, "policy") == 0 {
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "memory", RestartPolicy: corev1.RestartContainer}}
	}
	return c
}

func barrier(n int) corev1.EnvVar {
	return corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: fmt.Sprintf("p_%d", n)},
	}}
}

// mutated changes a copy of a template a few times.
func mutated(t *rapid.T, old *corev1.PodTemplateSpec, among []mutation) *corev1.PodTemplateSpec {
	changed := old.DeepCopy()
	for range rapid.IntRange(0, 4).Draw(t, "mutations") {
		m := among[rapid.IntRange(0, len(among)-1).Draw(t, "mutation")]
		m.mutate(t, changed)
	}
	return changed
}

func options(t *rapid.T) inplace.Options {
	on := []*bool{nil, nil, new(true), new(false)}
	return inplace.Options{
		Sidecars: rapid.SampledFrom(on).Draw(t, "sidecars"), Tolerations: rapid.SampledFrom(on).Draw(t, "tolerations"),
		Resize: rapid.Bool().Draw(t, "resize"), EnvFromMetadata: rapid.Bool().Draw(t, "env"), CgroupV1: rapid.Bool().Draw(t, "cgroup"),
	}
}

// anyPair draws a change of any kind.
func anyPair(t *rapid.T) pair {
	old := template(t)
	among := inPlaceMutations
	if rapid.Bool().Draw(t, "any") {
		among = append(slices.Clone(inPlaceMutations), otherMutations...)
	}
	p := pair{old: old, new: mutated(t, old, among), options: options(t)}
	p.options.RestartKeys = rapid.SampledFrom([][]string{nil, nil, {"c/"}, {"a"}, {"c"}}).Draw(t, "restart keys")
	return p
}

// podOf returns a running pod of the template, as the API server and the kubelet have made it: requests that are not given
// equal the limits, and others have written metadata of their own.
func podOf(template *corev1.PodTemplateSpec, revision string) *corev1.Pod {
	template = template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace, pod.UID = "agent-x", "ns", "uid-1"
	setDefault(&pod.Labels, revisionLabel, revision)
	setDefault(&pod.Labels, "foreign", "label")
	setDefault(&pod.Annotations, "cni.example.com/ip", "10.0.0.1")
	pod.Spec.NodeName = "node"
	pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.InPlaceUpdateReady})
	pod.Status.Phase = corev1.PodRunning
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		defaultRequests(c)
		status := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: "id-of-" + c.Image, ContainerID: "containerd://0-" + c.Name, Ready: true}
		if c.RestartPolicy != nil {
			status.Resources, status.State = c.Resources.DeepCopy(), running(start.Add(-minutes(1)))
		}
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		defaultRequests(c)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "id-of-" + c.Image, ContainerID: "containerd://0-" + c.Name, Ready: true,
			Resources: c.Resources.DeepCopy(), State: running(start.Add(-minutes(1))),
		})
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(-minutes(1)))},
		{Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(-minutes(1)))},
	}
	return pod
}

func defaultRequests(c *corev1.Container) {
	for name, limit := range c.Resources.Limits {
		if _, given := c.Resources.Requests[name]; !given {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = limit
		}
	}
}

func setDefault(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}
