package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// step is one patch of a pod, and the pod before and after it. Pods are compared as they are stored: instants
// in whole seconds.
type step struct {
	patch         *rollout.Patch
	before, after *corev1.Pod
	change        change
	uid, version  string // that the patch demands of the pod
	problem       error  // why the patch cannot be applied; after is nil then
}

// stepOf applies a patch as the API server would. It knows merge patches, and of strategic ones the lists that a
// rollout has to do with; what it does not know is not trusted.
func stepOf(before *corev1.Pod, patch *rollout.Patch) step {
	s := step{patch: patch, before: before}
	if patch.Type != types.StrategicMergePatchType && patch.Type != types.MergePatchType {
		s.problem = fmt.Errorf("a patch of type %q is not read here", patch.Type)
		return s
	}
	var change map[string]any
	if s.problem = json.Unmarshal(patch.Data, &change); s.problem != nil {
		return s
	}
	if metadata, ok := change["metadata"].(map[string]any); ok {
		s.uid, _ = metadata["uid"].(string)
		s.version, _ = metadata["resourceVersion"].(string)
		delete(metadata, "uid") // preconditions change nothing
		delete(metadata, "resourceVersion")
		if len(metadata) == 0 {
			delete(change, "metadata")
		}
	}
	s.after, s.problem = merged(before, change, patch.Type == types.StrategicMergePatchType)
	return s
}

// stored is the pod as it is stored, or nil if it cannot be.
func stored(pod *corev1.Pod) *corev1.Pod {
	encoded, err := json.Marshal(pod)
	if err != nil {
		return nil
	}
	out := &corev1.Pod{}
	if json.Unmarshal(encoded, out) != nil {
		return nil
	}
	return out
}

// merged is the pod with a change merged into it. It shares the parts with it that the change is not about.
func merged(before *corev1.Pod, change map[string]any, strategic bool) (*corev1.Pod, error) {
	after := *before
	for name, value := range change {
		var err error
		switch name {
		case "metadata":
			after.ObjectMeta, err = mergedPart(before.ObjectMeta, value, strategic)
		case "spec":
			after.Spec, err = mergedPart(before.Spec, value, strategic)
		case "status":
			after.Status, err = mergedPart(before.Status, value, strategic)
		default:
			err = fmt.Errorf("the field %q is not read here", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return &after, nil
}

// mergedPart is one part of a pod with a change of it merged into it.
func mergedPart[T any](before T, change any, strategic bool) (after T, err error) {
	const name = "part"
	encoded, err := json.Marshal(map[string]T{name: before})
	if err != nil {
		return after, err
	}
	var object map[string]any
	if err := json.Unmarshal(encoded, &object); err != nil {
		return after, err
	}
	if err := mergeObject(object, map[string]any{name: change}, strategic); err != nil {
		return after, err
	}
	if encoded, err = json.Marshal(object[name]); err != nil {
		return after, err
	}
	err = json.Unmarshal(encoded, &after)
	return after, err
}

// mergeObject is RFC 7386 for objects, and with strategic its extension by lists that are merged by key.
func mergeObject(object, change map[string]any, strategic bool) error {
	for key, value := range change {
		if strategic && strings.HasPrefix(key, "$") {
			return fmt.Errorf("the directive %q is not read here", key)
		}
		switch value := value.(type) {
		case nil:
			delete(object, key)
		case map[string]any:
			inner, ok := object[key].(map[string]any)
			if !ok {
				inner = make(map[string]any)
			}
			if err := mergeObject(inner, value, strategic); err != nil {
				return err
			}
			object[key] = inner
		case []any:
			if !strategic {
				object[key] = value
				continue
			}
			old, _ := object[key].([]any)
			list, err := mergeList(key, old, value)
			if err != nil {
				return err
			}
			object[key] = list
		default:
			object[key] = value
		}
	}
	return nil
}

// mergeList merges the lists of a pod that are patched here.
func mergeList(name string, list, changes []any) ([]any, error) {
	var key string
	switch name {
	case "containers", "initContainers":
		key = "name"
	case "tolerations":
		return changes, nil // they are no list that is merged
	case "conditions":
		key = "type"
	case "finalizers":
		for _, value := range changes {
			if _, ok := value.(string); !ok {
				return nil, errors.New("a finalizer is no text")
			}
			if !slices.Contains(list, value) {
				list = append(list, value)
			}
		}
		return list, nil
	default:
		return nil, fmt.Errorf("the list %q is not read here", name)
	}
	for _, value := range changes {
		change, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("an element of %s is no object", name)
		}
		id, ok := change[key].(string)
		if !ok {
			return nil, fmt.Errorf("an element of %s has no %s", name, key)
		}
		var element map[string]any
		for i := range list {
			if candidate, ok := list[i].(map[string]any); ok && element == nil && candidate[key] == id {
				element = candidate
			}
		}
		if element == nil {
			element = make(map[string]any)
			list = append(list, element)
		}
		if err := mergeObject(element, change, true); err != nil {
			return nil, err
		}
	}
	return list, nil
}
