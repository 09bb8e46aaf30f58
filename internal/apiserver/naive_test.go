package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/rollout"
)

// This file patches pods in a naive way, with which the fast one is compared: it converts the whole pod to JSON, merges the patch
// there, and converts the result back.

// naivePatch is the pod after the patch, as an API server applies it. On the pod itself everything but the status can change, and
// of the spec only images. On "status" only the status can change. On "resize" only the cpu and memory of containers can. What
// the subresource does not cover is dropped silently, as on an API server.
func naivePatch(pod *corev1.Pod, patch *rollout.Patch) (*corev1.Pod, error) {
	var meant corev1.Pod
	if err := json.Unmarshal(patch.Data, &struct {
		Metadata *metav1.ObjectMeta `json:"metadata"`
	}{&meant.ObjectMeta}); err != nil {
		return nil, err
	}
	if meant.UID != "" && meant.UID != pod.UID || meant.ResourceVersion != "" && meant.ResourceVersion != pod.ResourceVersion {
		return nil, apiserver.ErrConflict
	}
	before, merged, err := mergedPod(pod, patch)
	if err != nil {
		return nil, err
	}
	if merged.UID != pod.UID || merged.Name != pod.Name || merged.Namespace != pod.Namespace {
		return nil, errors.New("a patch must not change identity")
	}
	patched := pod.DeepCopy()
	switch patch.Subresource {
	case "":
		patched.Labels, patched.Annotations = merged.Labels, merged.Annotations
		patched.OwnerReferences, patched.Finalizers = merged.OwnerReferences, merged.Finalizers
		if !sameButImages(&before.Spec, &merged.Spec) {
			return nil, errors.New("of the spec of a pod only images can change, and tolerations be added")
		}
		patched.Spec.Tolerations = merged.Spec.Tolerations
		for i := range patched.Spec.Containers {
			patched.Spec.Containers[i].Image = merged.Spec.Containers[i].Image
		}
		for i := range patched.Spec.InitContainers {
			patched.Spec.InitContainers[i].Image = merged.Spec.InitContainers[i].Image
		}
	case "status":
		takeOver(&patched.Status, &before.Status, &merged.Status)
	case "resize":
		if err := naiveResize(&patched.Spec, &merged.Spec); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("pods have no subresource %q to patch", patch.Subresource)
	}
	return patched, nil
}

// mergedPod is the pod with the patch merged in, and the pod before that. JSON cuts instants to seconds, so the pod before it is
// converted to JSON and back, too.
func mergedPod(pod *corev1.Pod, patch *rollout.Patch) (before, after *corev1.Pod, err error) {
	original, err := json.Marshal(pod)
	if err != nil {
		return nil, nil, err
	}
	var merged []byte
	switch patch.Type {
	case types.StrategicMergePatchType:
		merged, err = strategicMergePatch(original, patch.Data)
	case types.MergePatchType:
		merged, err = mergePatch(original, patch.Data)
	default:
		err = fmt.Errorf("patches of type %q are not simulated", patch.Type)
	}
	if err != nil {
		return nil, nil, err
	}
	before, after = &corev1.Pod{}, &corev1.Pod{}
	return before, after, errors.Join(json.Unmarshal(original, before), json.Unmarshal(merged, after))
}

// sameButImages reports whether the specs differ at most in the images of containers.
func sameButImages(before, after *corev1.PodSpec) bool {
	a, b := before.DeepCopy(), after.DeepCopy()
	for _, old := range a.Tolerations {
		kept := false
		for _, new := range b.Tolerations {
			new.TolerationSeconds = old.TolerationSeconds
			kept = kept || apiequality.Semantic.DeepEqual(old, new)
		}
		if !kept {
			return false
		}
	}
	a.Tolerations, b.Tolerations = nil, nil
	for _, spec := range []*corev1.PodSpec{a, b} {
		for i := range spec.Containers {
			spec.Containers[i].Image = ""
		}
		for i := range spec.InitContainers {
			spec.InitContainers[i].Image = ""
		}
	}
	return apiequality.Semantic.DeepEqual(a, b)
}

// takeOver copies to the status what the merge has changed. Conditions that the merge did not change keep their fractions of
// seconds.
func takeOver(status, before, after *corev1.PodStatus) {
	for i := range after.Conditions {
		at := func(s *corev1.PodStatus) int {
			return slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == after.Conditions[i].Type })
		}
		if was := at(before); was >= 0 && before.Conditions[was] == after.Conditions[i] {
			after.Conditions[i] = status.Conditions[at(status)]
		}
	}
	if !reflect.DeepEqual(before.Conditions, after.Conditions) {
		status.Conditions = slices.Clone(after.Conditions)
	}
	to, from, old := reflect.ValueOf(status).Elem(), reflect.ValueOf(after).Elem(), reflect.ValueOf(before).Elem()
	for i, field := range reflect.VisibleFields(to.Type()) {
		if field.Name != "Conditions" && !apiequality.Semantic.DeepEqual(old.Field(i).Interface(), from.Field(i).Interface()) {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// naiveResize sets cpu and memory of the spec's containers to those of the wanted spec.
func naiveResize(spec, wanted *corev1.PodSpec) error {
	names := func(spec *corev1.PodSpec) (names []string) {
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			names = append(names, c.Name)
		}
		return names
	}
	if !slices.Equal(names(spec), names(wanted)) {
		return errors.New("a resize cannot add, remove or reorder containers")
	}
	for _, lists := range [][2][]corev1.Container{{spec.Containers, wanted.Containers}, {spec.InitContainers, wanted.InitContainers}} {
		for i := range lists[0] {
			c, to := &lists[0][i], lists[1][i].Resources
			err := errors.Join(naiveResizable(c.Resources.Limits, to.Limits), naiveResizable(c.Resources.Requests, to.Requests))
			if err != nil {
				return fmt.Errorf("container %s: %w", c.Name, err)
			}
			c.Resources.Limits, c.Resources.Requests = to.Limits.DeepCopy(), to.Requests.DeepCopy()
		}
	}
	before, after := &corev1.ResourceRequirements{}, &corev1.ResourceRequirements{}
	if spec.Resources != nil {
		before = spec.Resources
	}
	if wanted.Resources != nil {
		after = wanted.Resources
	}
	if err := errors.Join(naiveResizable(before.Limits, after.Limits), naiveResizable(before.Requests, after.Requests)); err != nil {
		return fmt.Errorf("the pod: %w", err)
	}
	spec.Resources = wanted.Resources.DeepCopy()
	return nil
}

func naiveResizable(before, after corev1.ResourceList) error {
	for name := range before {
		if _, ok := after[name]; !ok {
			return fmt.Errorf("%s cannot be removed", name)
		}
	}
	for name, quantity := range after {
		old := before[name]
		if quantity.Cmp(old) != 0 && name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			return fmt.Errorf("%s cannot change in a running pod", name)
		}
	}
	return nil
}

// mergePatch merges a patch into an object by RFC 7386.
func mergePatch(original, patch []byte) ([]byte, error) {
	return mergeWith(original, patch, func(object, change map[string]any) error {
		mergeObjects(object, change)
		return nil
	})
}

// strategicMergePatch merges the lists of a pod as the tags of the API's types say: by key, or as sets. It refuses directives,
// which no planner of this library writes.
func strategicMergePatch(original, patch []byte) ([]byte, error) {
	return mergeWith(original, patch, func(object, change map[string]any) error {
		return mergeStruct(reflect.TypeFor[corev1.Pod](), object, change)
	})
}

func mergeWith(original, patch []byte, merge func(object, change map[string]any) error) ([]byte, error) {
	var object, change map[string]any
	if err := errors.Join(json.Unmarshal(original, &object), json.Unmarshal(patch, &change)); err != nil {
		return nil, err
	}
	if err := merge(object, change); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

func mergeObjects(object, change map[string]any) {
	for key, value := range change {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isObject:
			old, ok := object[key].(map[string]any)
			if !ok {
				old = map[string]any{}
			}
			mergeObjects(old, inner)
			object[key] = old
		default:
			object[key] = value
		}
	}
}

// mergeStruct merges a change into an object of the given type, a struct or a map.
func mergeStruct(typ reflect.Type, object, change map[string]any) error {
	for key, value := range change {
		if strings.HasPrefix(key, "$") {
			return fmt.Errorf("the directive %s is not simulated", key)
		}
		field, ok := memberOf(typ, key)
		if !ok {
			return fmt.Errorf("%s has no field %s", typ.Name(), key)
		}
		switch value := value.(type) {
		case nil:
			delete(object, key)
		case map[string]any:
			old, ok := object[key].(map[string]any)
			if !ok {
				old = map[string]any{}
			}
			if err := mergeStruct(field.Type, old, value); err != nil {
				return err
			}
			object[key] = old
		case []any:
			old, _ := object[key].([]any)
			merged, err := mergeList(field, old, value)
			if err != nil {
				return err
			}
			object[key] = merged
		default:
			object[key] = value
		}
	}
	return nil
}

// mergeList merges lists whose tag says so, and replaces other lists.
func mergeList(field reflect.StructField, list, change []any) ([]any, error) {
	if strategy, _, _ := strings.Cut(field.Tag.Get("patchStrategy"), ","); strategy != "merge" {
		return change, nil
	}
	key := field.Tag.Get("patchMergeKey")
	merged := make([]any, len(change))
	for i, value := range change {
		wanted, isObject := value.(map[string]any)
		switch {
		case isObject != (key != "") || isObject && wanted[key] == nil:
			return nil, fmt.Errorf("an element of %s is not what it should be, or has no %s", field.Name, key)
		case !isObject:
			merged[i] = value
			continue
		}
		element := map[string]any{}
		if at := indexOf(list, value, key); at >= 0 {
			element = list[at].(map[string]any)
		}
		if err := mergeStruct(field.Type.Elem(), element, wanted); err != nil {
			return nil, err
		}
		merged[i] = element
	}
	return interleave(list, merged, key), nil
}

// interleave puts the elements of a list that a patch does not name between those that it names. The named ones keep the order of
// the patch: a patch that names containers in another order than the pod reorders them, as on an API server.
func interleave(list, merged []any, key string) []any {
	var others, all []any
	for _, value := range list {
		if indexOf(merged, value, key) < 0 {
			others = append(others, value)
		}
	}
	for _, value := range merged {
		at := indexOf(list, value, key)
		for len(others) > 0 && at >= 0 && indexOf(list, others[0], key) < at {
			all, others = append(all, others[0]), others[1:]
		}
		all = append(all, value)
	}
	return append(all, others...)
}

// indexOf returns the index of the element with a key, or with a value if there is no key.
func indexOf(list []any, value any, key string) int {
	of := func(value any) any {
		if object, ok := value.(map[string]any); ok {
			return object[key]
		}
		return value
	}
	return slices.IndexFunc(list, func(other any) bool { return of(other) == of(value) })
}

// memberOf finds the field of a struct by its name in JSON, also in inlined structs. In a map it finds any name.
func memberOf(typ reflect.Type, name string) (reflect.StructField, bool) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Map {
		return reflect.StructField{Name: name, Type: typ.Elem()}, true
	}
	if typ.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	for field := range typ.Fields() {
		called, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if called == name {
			return field, true
		}
		if called == "" && field.Anonymous {
			if inner, ok := memberOf(field.Type, name); ok {
				return inner, true
			}
		}
	}
	return reflect.StructField{}, false
}
