package differential_test

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/tolerations"
)

// Text that encoders treat in their own ways.
var helperTexts = []string{
	"", "a", "b", "a<b&c>d", "\u2028", "é", "日本", "\xff", "a\xc3", "\x00", "\"\\/", "1", "01", "true", "null", "1000m",
	"2024-01-01T00:00:00Z",
}

var helperQuantities = []string{
	"0", "1", "1000m", "0.1", "100m", "1Ki", "1024", "1k", "1e3", "-1", "1n", "9223372036854775807",
	"9223372036854775808", "12345678901234567890123", "1.5Gi",
}

func anyText(t *rapid.T, label string) string { return rapid.SampledFrom(helperTexts).Draw(t, label) }

func anyTexts(t *rapid.T, label string) []string {
	return anyList(t, 2, rapid.SampledFrom(helperTexts), label)
}

func anyQuantities(t *rapid.T, label string) corev1.ResourceList {
	size := rapid.IntRange(0, 3).Draw(t, "count of "+label) - 1
	if size < 0 {
		return nil
	}
	out := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, "example.com/device"}[:size] {
		quantity := resource.MustParse(rapid.SampledFrom(helperQuantities).Draw(t, label))
		if oneIn(t, 3, "rendered before") {
			_ = quantity.String() // remembers its text, which a dump of the object shows
		}
		out[name] = quantity
	}
	return out
}

// optional draws nil as often as a value.
func anyOptional[T any](t *rapid.T, value *rapid.Generator[T], label string) *T {
	if rapid.Bool().Draw(t, "without "+label) {
		return nil
	}
	return new(value.Draw(t, label))
}

func anyInstant(t *rapid.T, label string) metav1.Time {
	leap := time.Date(2024, 2, 29, 23, 59, 60, 0, time.FixedZone("", 5400))
	return rapid.SampledFrom([]metav1.Time{{}, metav1.Unix(0, 0), metav1.Unix(1, 999_999_999), metav1.NewTime(leap)}).Draw(t, label)
}

func anyPort() *rapid.Generator[intstr.IntOrString] {
	return rapid.SampledFrom([]intstr.IntOrString{
		{}, intstr.FromInt32(1), intstr.FromInt32(math.MaxInt32), intstr.FromInt32(math.MinInt32), intstr.FromString("1"),
		intstr.FromString(""), {Type: intstr.String, IntVal: 3, StrVal: "b"},
	})
}

func anyContainer() *rapid.Generator[corev1.Container] {
	return rapid.Custom(func(t *rapid.T) corev1.Container {
		c := corev1.Container{Name: anyText(t, "container"), Image: anyText(t, "image"), Args: anyTexts(t, "args")}
		c.Env = anyList(t, 2, rapid.Custom(func(t *rapid.T) corev1.EnvVar {
			if oneIn(t, 2, "plain") {
				return corev1.EnvVar{Name: anyText(t, "env"), Value: anyText(t, "value")}
			}
			return corev1.EnvVar{Name: anyText(t, "env"), ValueFrom: &corev1.EnvVarSource{
				ResourceFieldRef: &corev1.ResourceFieldSelector{
					Resource: "limits.cpu", Divisor: resource.MustParse(rapid.SampledFrom(helperQuantities).Draw(t, "divisor")),
				},
			}}
		}), "env")
		c.Resources.Limits, c.Resources.Requests = anyQuantities(t, "limits"), anyQuantities(t, "requests")
		if oneIn(t, 3, "security") {
			c.SecurityContext = &corev1.SecurityContext{
				RunAsUser:  anyOptional(t, rapid.SampledFrom([]int64{0, 1, 1 << 60, math.MaxInt64, math.MinInt64}), "user"),
				Privileged: anyOptional(t, rapid.Bool(), "privileged"),
			}
		}
		if oneIn(t, 3, "probed") {
			period := rapid.SampledFrom([]int32{0, 1, math.MaxInt32, math.MinInt32}).Draw(t, "period")
			c.LivenessProbe = &corev1.Probe{PeriodSeconds: period}
			c.LivenessProbe.HTTPGet = &corev1.HTTPGetAction{Port: anyPort().Draw(t, "port")}
		}
		if oneIn(t, 3, "exposed") {
			protocol := corev1.Protocol(anyText(t, "protocol"))
			c.Ports = []corev1.ContainerPort{{ContainerPort: 53, Protocol: "UDP"}, {ContainerPort: 53, Protocol: protocol}}
		}
		return c
	})
}

func anyObjectMeta() *rapid.Generator[metav1.ObjectMeta] {
	return rapid.Custom(func(t *rapid.T) metav1.ObjectMeta {
		meta := metav1.ObjectMeta{
			Labels: anyLabels(t, 3, "labels"), Annotations: anyLabels(t, 2, "annotations"), Finalizers: anyTexts(t, "finalizers"),
		}
		if !oneIn(t, 4, "with what only the API server sets") {
			return meta
		}
		meta.Name, meta.Namespace, meta.CreationTimestamp = anyText(t, "name"), anyText(t, "namespace"), anyInstant(t, "created")
		meta.DeletionTimestamp = anyOptional(t, rapid.Just(anyInstant(t, "deleted")), "deletion")
		meta.Generation = rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64}).Draw(t, "generation")
		if oneIn(t, 2, "managed") {
			raw := rapid.SampledFrom([]string{
				"", `{}`, `{"f:a":{},"f:b":1}`, ` { "f:b" : 12345678901234567890 }`, `null`, `{`, "\xff", `{"b":1,"a":"<"}`,
			})
			fields := &metav1.FieldsV1{}
			fields.SetRawString(raw.Draw(t, "fields"))
			meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: anyText(t, "manager"), FieldsV1: fields}}
		}
		return meta
	})
}

// templates draws templates as a client might send them, and some that none could.
func anyTemplate() *rapid.Generator[*corev1.PodTemplateSpec] {
	return rapid.Custom(func(t *rapid.T) *corev1.PodTemplateSpec {
		template := &corev1.PodTemplateSpec{ObjectMeta: anyObjectMeta().Draw(t, "metadata"), Spec: anyEligibility().Draw(t, "spec")}
		spec := &template.Spec
		spec.Containers = anyList(t, 2, anyContainer(), "containers")
		if oneIn(t, 4, "initialised") {
			spec.InitContainers = anyList(t, 1, anyContainer(), "initContainers")
		}
		spec.TerminationGracePeriodSeconds = anyOptional(t, rapid.SampledFrom([]int64{0, 30, -1, math.MaxInt64}), "grace")
		spec.Priority = anyOptional(t, rapid.SampledFrom([]int32{0, 2_000_001_000, math.MinInt32}), "priority")
		spec.EnableServiceLinks = anyOptional(t, rapid.Bool(), "links")
		spec.RestartPolicy = corev1.RestartPolicy(rapid.SampledFrom([]string{"", "Always", "Never"}).Draw(t, "restartPolicy"))
		if oneIn(t, 3, "with volumes") {
			volume := corev1.Volume{Name: anyText(t, "volume")}
			volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
			if oneIn(t, 2, "limited") {
				volume.EmptyDir.SizeLimit = new(resource.MustParse(rapid.SampledFrom(helperQuantities).Draw(t, "sizeLimit")))
			}
			spec.Volumes = []corev1.Volume{volume}
		}
		if oneIn(t, 5, "secure") {
			groups := rapid.SampledFrom([]int64{0, -1, math.MaxInt64})
			spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroups: anyList(t, 2, groups, "groups")}
		}
		return template
	})
}

// mended is what is left of a template when what no API server accepts is taken out, so that rollout.New takes it.
func mended(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	template = template.DeepCopy()
	spec := &template.Spec
	template.Labels, template.ManagedFields = map[string]string{"app": "agent", "tier": "node"}, nil
	spec.NodeName, spec.RestartPolicy = "", ""
	spec.Tolerations = slices.DeleteFunc(spec.Tolerations, func(t corev1.Toleration) bool {
		return len(tolerations.Validate([]corev1.Toleration{t}, field.NewPath("tolerations"))) > 0
	})
	if len(placement.Validate(template, nil)) > 0 {
		spec.NodeSelector, spec.Affinity = nil, nil
	}
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{}}
	}
	for prefix, containers := range map[string][]corev1.Container{"c": spec.Containers, "i": spec.InitContainers} {
		for i := range containers {
			containers[i].Name, containers[i].Image = fmt.Sprint(prefix, i), "agent:v1"
		}
	}
	return template
}
