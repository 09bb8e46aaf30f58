//go:build !strategicpatch

package inplace_test

import (
	"encoding/json"
	"maps"
	"slices"
)

// mergePatch is strategic merge as far as the patches of this package go: objects are merged, null drops a member,
// lists of containers are merged by name and those of conditions by type, all else is replaced. With the build tag
// strategicpatch the tests use apimachinery's own instead, which brings more modules.
func mergePatch(original, patch []byte) ([]byte, error) {
	var from, with map[string]any
	if err := json.Unmarshal(original, &from); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &with); err != nil {
		return nil, err
	}
	return json.Marshal(mergeObjects(from, with))
}

func mergeObjects(original, patch map[string]any) map[string]any {
	out := maps.Clone(original)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(out, name)
		case map[string]any:
			before, _ := out[name].(map[string]any)
			out[name] = mergeObjects(before, value)
		case []any:
			key, merged := map[string]string{"containers": "name", "conditions": "type"}[name]
			if !merged {
				out[name] = value
				continue
			}
			before, _ := out[name].([]any)
			out[name] = mergeLists(before, value, key)
		default:
			out[name] = value
		}
	}
	return out
}

func mergeLists(original, patch []any, key string) []any {
	out := slices.Clone(original)
	for _, element := range patch {
		with := element.(map[string]any)
		i := slices.IndexFunc(out, func(e any) bool { return e.(map[string]any)[key] == with[key] })
		if i < 0 {
			out = append(out, mergeObjects(nil, with))
		} else {
			out[i] = mergeObjects(out[i].(map[string]any), with)
		}
	}
	return out
}
