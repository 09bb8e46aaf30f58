package inplace_test

import (
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
)

// vary changes which values change, and in which order.
func (c *batchesCase) vary(r *rand.Rand) {
	in := &c.Input
	if r.IntN(4) == 0 {
		in.FeatureGates.InPlaceWorkloadVerticalScaling = !in.FeatureGates.InPlaceWorkloadVerticalScaling
	}
	for range 1 + r.IntN(5) {
		if len(in.Pod.Spec.Containers) == 0 {
			return
		}
		container := &in.Pod.Spec.Containers[r.IntN(len(in.Pod.Spec.Containers))]
		switch r.IntN(13) {
		case 0:
			put(&in.ContainerImages, container.Name, "repo/"+container.Name+[]string{":v1", ":v2", ":v3"}[r.IntN(3)])
		case 1:
			delete(in.ContainerImages, container.Name)
		case 2, 3:
			key, value := []string{"slot", "tier"}[r.IntN(2)], []string{"a", "b", "c"}[r.IntN(3)]
			if r.IntN(2) == 0 {
				put(&in.ContainerRefMetadata, container.Name, inplace.RefMetadata{Labels: map[string]string{key: value}})
			} else {
				put(&in.ContainerRefMetadata, container.Name, inplace.RefMetadata{Annotations: map[string]string{key: value}})
			}
		case 4:
			delete(in.ContainerRefMetadata, container.Name)
		case 5:
			put(&in.ContainerResources, container.Name, corev1.ResourceRequirements{
				Limits: corev1.ResourceList{
					[]corev1.ResourceName{"cpu", "cpu", "cpu", "memory"}[r.IntN(4)]: resource.MustParse([]string{"1", "2", "3"}[r.IntN(3)]),
				},
			})
		case 6:
			delete(in.ContainerResources, container.Name)
		case 7, 8:
			container.Env = []corev1.EnvVar{{Name: barrierName}}
			if r.IntN(10) > 0 {
				key := []string{"p_1", "p_2", "p_-1", "p_x"}[r.IntN(4)]
				container.Env[0].ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: key}}
			}
		case 9:
			container.Env = nil
		case 10:
			if n := len(in.Pod.Status.ContainerStatuses); n > 0 {
				in.Pod.Status.ContainerStatuses = slices.Delete(in.Pod.Status.ContainerStatuses, n-1, n)
			}
		case 11:
			in.Pod.Spec.ReadinessGates = nil
		case 12:
			key := []string{"slot", "cfg", "x"}[r.IntN(3)]
			values := map[string]*string{key: nil}
			if r.IntN(2) == 0 {
				values[key] = new("z")
			}
			in.MetadataPatch.Metadata.Annotations = patchedMap{Values: values}
		}
	}
	// A label or an annotation that several containers read has one value.
	one := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(in.ContainerRefMetadata)) {
		ref := in.ContainerRefMetadata[name]
		for kind, values := range map[string]map[string]string{"label": ref.Labels, "annotation": ref.Annotations} {
			for key, value := range values {
				if first, ok := one[kind+key]; ok {
					values[key] = first
				} else {
					one[kind+key] = value
				}
			}
		}
	}
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}
