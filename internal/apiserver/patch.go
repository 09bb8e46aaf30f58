package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// ErrConflict is the error of a patch that is for another object of that name, or for another version of it.
var ErrConflict = errors.New("conflict")

// Patch is the pod after the patch, as an API server applies it. On the pod itself everything but the status can change, and of
// the spec only images and tolerations that are added. On "status" only the status can change. On "resize" only the cpu and
// memory of containers and of the pod as a whole can, and the containers must stay the same ones. What the subresource does not
// cover is dropped silently, as on an API server.
//
// The result shares nothing with the pod, which is not written to. The caller sets its resource version. The error is
// [ErrConflict], or that of a patch that no API server would accept.
func Patch(pod *corev1.Pod, patch *rollout.Patch) (*corev1.Pod, error) {
	var change map[string]any
	if err := json.Unmarshal(patch.Data, &change); err != nil {
		return nil, err
	}
	if !meant(pod, change) {
		return nil, ErrConflict
	}
	m := merger{}
	switch patch.Type {
	case types.StrategicMergePatchType:
		m.strategic = true
	case types.MergePatchType:
	default:
		return nil, fmt.Errorf("patches of type %q are not simulated", patch.Type)
	}
	merged := pod.DeepCopy()
	if err := m.merge(reflect.ValueOf(merged).Elem(), change); err != nil {
		return nil, err
	}
	if merged.UID != pod.UID || merged.Name != pod.Name || merged.Namespace != pod.Namespace {
		return nil, errors.New("a patch must not change identity")
	}
	return m.covered(pod, merged, patch.Subresource, change)
}

// meant reports whether the patch is for this pod and this version of it. A UID or a version that the patch does not name is not
// compared.
func meant(pod *corev1.Pod, change map[string]any) bool {
	metadata, _ := change["metadata"].(map[string]any)
	same := func(key, is string) bool {
		said, _ := metadata[key].(string)
		return said == "" || said == is
	}
	return same("uid", string(pod.UID)) && same("resourceVersion", pod.ResourceVersion)
}

// covered is the pod with those changes of merged that the subresource lets a patch make. The result takes over the memory of
// merged.
func (m merger) covered(pod, merged *corev1.Pod, subresource string, change map[string]any) (*corev1.Pod, error) {
	names := func(part string) bool {
		_, ok := change[part]
		return ok
	}
	patched := &corev1.Pod{
		TypeMeta: pod.TypeMeta, ObjectMeta: merged.ObjectMeta, Spec: merged.Spec, Status: merged.Status,
	}
	if names("metadata") {
		patched.ObjectMeta = *pod.ObjectMeta.DeepCopy()
	}
	if names("spec") && subresource != "" {
		patched.Spec = *pod.Spec.DeepCopy()
	}
	if names("status") && subresource != "status" {
		patched.Status = *pod.Status.DeepCopy()
	}
	switch subresource {
	case "":
		patched.Labels, patched.Annotations = merged.Labels, merged.Annotations
		patched.OwnerReferences, patched.Finalizers = merged.OwnerReferences, merged.Finalizers
		if names("spec") && !sameButImages(&pod.Spec, &merged.Spec, m.strategic && namesImages(change["spec"])) {
			return nil, errors.New("of the spec of a pod only images can change, and tolerations be added")
		}
		return patched, nil
	case "status":
		keepFractions(pod.Status.Conditions, patched.Status.Conditions)
		return patched, nil
	case "resize":
		if err := resize(&patched.Spec, &merged.Spec); err != nil {
			return nil, err
		}
		return patched, nil
	default:
		return nil, fmt.Errorf("pods have no subresource %q to patch", subresource)
	}
}

// sameButImages reports whether the specs differ at most in the images of containers and in tolerations that are added. With
// onlyImages, the patch named nothing but containers and images. Then the only other difference can be the order of containers,
// or a new container.
func sameButImages(before, after *corev1.PodSpec, onlyImages bool) bool {
	if !sameContainers(before, after) {
		return false
	}
	if onlyImages {
		return true
	}
	for _, toleration := range before.Tolerations {
		kept := func(other corev1.Toleration) bool {
			other.TolerationSeconds = toleration.TolerationSeconds // they alone may change
			return apiequality.Semantic.DeepEqual(toleration, other)
		}
		if !slices.ContainsFunc(after.Tolerations, kept) {
			return false
		}
	}
	a, b := *before, *after
	a.Tolerations, b.Tolerations = nil, nil
	for _, spec := range [...]*corev1.PodSpec{&a, &b} {
		spec.Containers, spec.InitContainers = withoutImages(spec.Containers), withoutImages(spec.InitContainers)
	}
	return apiequality.Semantic.DeepEqual(a, b)
}

// sameContainers reports whether the specs have containers of the same names in the same order.
func sameContainers(a, b *corev1.PodSpec) bool {
	sameName := func(a, b corev1.Container) bool { return a.Name == b.Name }
	return slices.EqualFunc(a.Containers, b.Containers, sameName) &&
		slices.EqualFunc(a.InitContainers, b.InitContainers, sameName)
}

func withoutImages(containers []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		containers[i].Image = ""
	}
	return containers
}

// namesImages reports whether a patch of a spec names nothing but containers and their images, as the patches of updates in place
// do. For such a patch the specs need not be compared as a whole, which takes longer than all else of a patch.
func namesImages(change any) bool {
	object, ok := change.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range object {
		list, ok := value.([]any)
		if !ok || key != "containers" && key != "initContainers" {
			return false
		}
		for _, element := range list {
			container, _ := element.(map[string]any) // merging has refused elements that are no objects
			for field := range container {
				if field != "name" && field != "image" {
					return false
				}
			}
		}
	}
	return true
}

// keepFractions gives conditions that did not change the fractions of their instants back, which JSON cuts to seconds.
func keepFractions(before, after []corev1.PodCondition) {
	for i := range after {
		was := slices.IndexFunc(before, func(c corev1.PodCondition) bool { return c.Type == after[i].Type })
		if was < 0 || !before[was].LastTransitionTime.Truncate(time.Second).Equal(after[i].LastTransitionTime.Time) {
			continue
		}
		same := after[i]
		same.LastTransitionTime = before[was].LastTransitionTime
		if same == before[was] {
			after[i] = same
		}
	}
}

// resize sets cpu and memory of the spec's containers to those of the wanted spec.
func resize(spec, wanted *corev1.PodSpec) error {
	if !sameContainers(spec, wanted) {
		return errors.New("a resize cannot add, remove or reorder containers")
	}
	if err := resizeContainers(spec.Containers, wanted.Containers); err != nil {
		return err
	}
	if err := resizeContainers(spec.InitContainers, wanted.InitContainers); err != nil {
		return err
	}
	var has, to corev1.ResourceRequirements
	if spec.Resources != nil {
		has = *spec.Resources
	}
	if wanted.Resources != nil {
		to = *wanted.Resources
	}
	if err := errors.Join(resizable(has.Limits, to.Limits), resizable(has.Requests, to.Requests)); err != nil {
		return fmt.Errorf("the pod: %w", err)
	}
	spec.Resources = wanted.Resources.DeepCopy()
	return nil
}

func resizeContainers(containers, wanted []corev1.Container) error {
	for i := range containers {
		c := &containers[i]
		to := wanted[i].Resources
		err := errors.Join(resizable(c.Resources.Limits, to.Limits), resizable(c.Resources.Requests, to.Requests))
		if err != nil {
			return fmt.Errorf("container %s: %w", c.Name, err)
		}
		c.Resources.Limits, c.Resources.Requests = to.Limits.DeepCopy(), to.Requests.DeepCopy()
	}
	return nil
}

func resizable(before, after corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			return fmt.Errorf("%s cannot be removed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		quantity, old := after[name], before[name]
		if quantity.Cmp(old) != 0 && name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			return fmt.Errorf("%s cannot change in a running pod", name)
		}
	}
	return nil
}
