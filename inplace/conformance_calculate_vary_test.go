package inplace_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// vary changes both templates of a case, or only the new one.
func (c *calculateCase) vary(r *rand.Rand) {
	old, new := c.templates()
	for range 1 + r.IntN(4) {
		varyTemplates(r, &old, &new)
	}
	if r.IntN(6) == 0 {
		c.Input.FeatureGates.InPlaceUpdateEnvFromMetadata = !c.Input.FeatureGates.InPlaceUpdateEnvFromMetadata
	}
	if r.IntN(6) == 0 {
		c.Input.FeatureGates.InPlaceWorkloadVerticalScaling = !c.Input.FeatureGates.InPlaceWorkloadVerticalScaling
	}
	c.Input.OldRevision.Data, c.Input.NewRevision.Data = revisionData(old), revisionData(new)
	c.Expect = calculateOutcome{}
}

// revisionData stores a template as a revision does.
func revisionData(template corev1.PodTemplateSpec) json.RawMessage {
	var tree map[string]any
	if err := json.Unmarshal([]byte(text(template)), &tree); err != nil {
		panic(err)
	}
	tree["$patch"] = "replace"
	return json.RawMessage(text(map[string]any{"spec": map[string]any{"template": tree}}))
}

var variedKeys = []string{"app", "tier", "cfg", "newann", "example.com/note", "a~b"}

func varyTemplates(r *rand.Rand, old, new *corev1.PodTemplateSpec) {
	both := []*corev1.PodTemplateSpec{old, new}
	some := both
	if r.IntN(2) == 0 {
		some = both[r.IntN(2):][:1]
	}
	key := variedKeys[r.IntN(len(variedKeys))]
	switch r.IntN(14) {
	case 0, 1: // a variable reads metadata, in any container
		path := fmt.Sprintf("metadata.%s['%s']", []string{"labels", "annotations"}[r.IntN(2)], key)
		name := []string{"SIDECARSET_VERSION", "SIDECARSET_VERSION_ALT", "PLAIN", "LEVEL"}[r.IntN(4)]
		init, literal := r.IntN(4) == 0, r.IntN(6) == 0
		i := r.IntN(4)
		for _, template := range both {
			if init && len(template.Spec.InitContainers) == 0 {
				template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "repo/init:v1"}}
			}
			containers := template.Spec.Containers
			if init {
				containers = template.Spec.InitContainers
			}
			if len(containers) > 0 {
				container := &containers[i%len(containers)]
				container.Env = append(slices.DeleteFunc(slices.Clone(container.Env), func(v corev1.EnvVar) bool { return v.Name == name }),
					fieldRef(path))
				container.Env[len(container.Env)-1].Name = name
				if literal {
					container.Env[len(container.Env)-1].Value = "x"
				}
			}
		}
	case 2, 3: // a label or annotation exists, on one side or both
		for _, template := range some {
			m := &template.Labels
			if r.IntN(2) == 0 {
				m = &template.Annotations
			}
			if *m == nil {
				*m = map[string]string{}
			}
			(*m)[key] = fmt.Sprint(r.IntN(3))
		}
	case 4: // or does not exist
		for _, template := range some {
			delete(template.Labels, key)
			delete(template.Annotations, key)
		}
	case 5:
		for _, template := range some {
			template.Annotations = nil
		}
	case 6:
		for _, template := range some {
			template.Labels = nil
		}
	case 7:
		for _, template := range some {
			if n := len(template.Spec.Containers); n > 0 {
				container := &template.Spec.Containers[r.IntN(n)]
				if container.Image = "repo/app:" + []string{"v0", "v1", "v2", "latest"}[r.IntN(4)]; strings.HasSuffix(container.Image, "latest") {
					for _, both := range []*corev1.PodTemplateSpec{old, new} { // the API server gives pods a policy
						for i := range both.Spec.Containers {
							both.Spec.Containers[i].ImagePullPolicy = ""
						}
					}
				}
			}
		}
	case 8, 9: // amounts
		i, name := r.IntN(4), []corev1.ResourceName{"cpu", "memory", "cpu", "memory", "nvidia.com/gpu"}[r.IntN(5)]
		limit := r.IntN(2) == 0
		for _, template := range some {
			if n := len(template.Spec.Containers); n > 0 {
				resources := &template.Spec.Containers[i%n].Resources
				list := &resources.Requests
				if limit {
					list = &resources.Limits
				}
				if *list == nil {
					*list = corev1.ResourceList{}
				}
				(*list)[name] = resource.MustParse([]string{"0", "1", "2", "1500m", "64Mi"}[r.IntN(5)])
			}
		}
	case 10: // a variable reads a resource
		i, j := r.IntN(4), r.IntN(4)
		ref := &corev1.ResourceFieldSelector{Resource: []string{"limits.cpu", "requests.cpu", "limits.memory", "requests.memory"}[r.IntN(4)]}
		for _, template := range both {
			if n := len(template.Spec.Containers); n > 0 {
				if i%2 == 0 {
					ref.ContainerName = template.Spec.Containers[i%n].Name
				}
				container := &template.Spec.Containers[j%n]
				container.Env = append(slices.Clone(container.Env),
					corev1.EnvVar{Name: "AMOUNT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: ref}})
			}
		}
	case 11: // a value that cannot change
		for _, template := range some {
			switch r.IntN(4) {
			case 0:
				template.Finalizers = []string{"example.com/hold"}
			case 1:
				template.Spec.HostNetwork = !template.Spec.HostNetwork
			case 2:
				template.GenerateName = "agent-"
			case 3:
				template.CreationTimestamp = metav1.Time{}
			}
		}
	case 12: // other names of containers
		for _, template := range both {
			for i := range template.Spec.Containers {
				template.Spec.Containers[i].Name += "x"
			}
		}
	case 13: // the same change on both sides
		*old = *new.DeepCopy()
	}
}
