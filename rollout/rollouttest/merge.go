package rollouttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mergePatch is RFC 7386 for objects.
func mergePatch(original, patch []byte) ([]byte, error) {
	return mergeWith(original, patch, func(object, change map[string]any) error {
		mergeObjects(object, change)
		return nil
	})
}

// strategicMergePatch merges the lists of a pod as the tags of the API's types say: by key, or as sets. Directives, which
// no planner of this library writes, are refused. It is written here because apimachinery's own, which a test compares
// it with, brings a dozen modules along, and whoever imports this package would get them.
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

// mergeList merges lists whose tag says so; others are replaced.
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
			element = list[at].(map[string]any) //nolint:errcheck // indexOf found a key in it
		}
		if err := mergeStruct(field.Type.Elem(), element, wanted); err != nil {
			return nil, err
		}
		merged[i] = element
	}
	return interleave(list, merged, key), nil
}

// interleave puts the elements of a list that a patch does not name between those that it does, which keep the order of
// the patch: a patch that names containers in another order than the pod reorders them, as an API server does.
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

// indexOf finds an element by its key, or by its value if there is none.
func indexOf(list []any, value any, key string) int {
	of := func(value any) any {
		if object, ok := value.(map[string]any); ok {
			return object[key]
		}
		return value
	}
	return slices.IndexFunc(list, func(other any) bool { return of(other) == of(value) })
}

// memberOf finds the field of a struct by its name in JSON, those of inlined structs included. Any member of a map is one.
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
