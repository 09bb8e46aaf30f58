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
// it with, brings a dozen modules along.
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
	list = slices.Clone(list)
	key, element := field.Tag.Get("patchMergeKey"), field.Type.Elem()
	for _, value := range change {
		if key == "" {
			if reflect.TypeOf(value).Kind() == reflect.Map {
				return nil, fmt.Errorf("%s is no list of objects", field.Name)
			}
			if !slices.Contains(list, value) {
				list = append(list, value)
			}
			continue
		}
		wanted, ok := value.(map[string]any)
		if !ok || wanted[key] == nil {
			return nil, fmt.Errorf("an element of %s has no %s", field.Name, key)
		}
		at := slices.IndexFunc(list, func(has any) bool { return has.(map[string]any)[key] == wanted[key] }) //nolint:errcheck // a list of structs
		if at < 0 {
			list = append(list, map[string]any{})
			at = len(list) - 1
		}
		if err := mergeStruct(element, list[at].(map[string]any), wanted); err != nil { //nolint:errcheck // as above
			return nil, err
		}
	}
	return list, nil
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
