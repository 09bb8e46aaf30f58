package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// merger merges changes, as decoded from JSON, into values of the API's types. It follows RFC 7386, or if it is strategic, it
// merges lists by key or as sets where the tags of the types say so. A strategic merger refuses directives, which no planner of
// this library writes. Apimachinery's own merge, with which a test compares this one, is not used for two reasons. It brings a
// dozen modules along, which everyone who imports package rollouttest would get. And it converts the whole object to JSON and
// back, while this one touches only what a patch names.
type merger struct {
	strategic bool
}

// merge merges a change into the value, which must be settable. The result shares no memory with the change.
func (m merger) merge(value reflect.Value, change any) error {
	object, isObject := change.(map[string]any)
	switch {
	case change == nil:
		value.SetZero()
		return nil
	case !isObject || encodesItself(value.Type()):
		return replace(value, change)
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			value.Set(reflect.New(value.Type().Elem()))
		}
		return m.merge(value.Elem(), change)
	case reflect.Struct:
		return m.mergeStruct(value, object)
	case reflect.Map:
		return m.mergeMap(value, object)
	default:
		return replace(value, change)
	}
}

// encodesItself reports whether the type decodes its JSON itself, as instants and quantities do.
func encodesItself(typ reflect.Type) bool {
	return reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// replace sets the value to what the change says, whatever it was before.
func replace(value reflect.Value, change any) error {
	if text, ok := change.(string); ok && value.Kind() == reflect.String {
		value.SetString(text)
		return nil
	}
	encoded, err := json.Marshal(change)
	if err != nil {
		return err
	}
	value.SetZero()
	return json.Unmarshal(encoded, value.Addr().Interface())
}

func (m merger) mergeStruct(value reflect.Value, change map[string]any) error {
	// The order of keys makes it always the same one of several errors that is returned.
	for _, key := range slices.Sorted(maps.Keys(change)) {
		if err := m.refusesDirective(key); err != nil {
			return err
		}
		field, member := memberOf(value, key)
		switch list, isList := change[key].([]any); {
		case !member.IsValid() && m.strategic:
			return fmt.Errorf("%s has no field %s", value.Type().Name(), key)
		case !member.IsValid():
		case isList && m.strategic && strategyOf(field) == "merge":
			merged, err := m.mergeList(field, member, list)
			if err != nil {
				return err
			}
			member.Set(merged)
		default:
			if err := m.merge(member, change[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

func (m merger) refusesDirective(key string) error {
	if m.strategic && strings.HasPrefix(key, "$") {
		return fmt.Errorf("the directive %s is not simulated", key)
	}
	return nil
}

func strategyOf(field reflect.StructField) string {
	strategy, _, _ := strings.Cut(field.Tag.Get("patchStrategy"), ",")
	return strategy
}

func (m merger) mergeMap(value reflect.Value, change map[string]any) error {
	if value.IsNil() {
		value.Set(reflect.MakeMap(value.Type()))
	}
	typ := value.Type()
	for _, name := range slices.Sorted(maps.Keys(change)) {
		if err := m.refusesDirective(name); err != nil {
			return err
		}
		key := reflect.ValueOf(name).Convert(typ.Key())
		if change[name] == nil {
			value.SetMapIndex(key, reflect.Value{})
			continue
		}
		element := reflect.New(typ.Elem()).Elem() // in a pod, no element of a map could be merged
		if err := m.merge(element, change[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		value.SetMapIndex(key, element)
	}
	return nil
}

// mergeList merges a list by key, or as a set if the field's tag names no key.
func (m merger) mergeList(field reflect.StructField, list reflect.Value, change []any) (reflect.Value, error) {
	key := field.Tag.Get("patchMergeKey")
	merged := reflect.MakeSlice(list.Type(), len(change), len(change))
	for i, wanted := range change {
		object, isObject := wanted.(map[string]any)
		if isObject != (key != "") || isObject && object[key] == nil {
			return list, fmt.Errorf("an element of %s is not what it should be, or has no %s", field.Name, key)
		}
		if !isObject {
			if err := replace(merged.Index(i), wanted); err != nil {
				return list, fmt.Errorf("%s: %w", field.Name, err)
			}
			continue
		}
		name := reflect.New(list.Type().Elem()).Elem()
		if err := m.mergeStruct(name, map[string]any{key: object[key]}); err != nil {
			return list, err
		}
		if at := indexOf(list, keyOf(name, key), key); at >= 0 {
			merged.Index(i).Set(list.Index(at))
		}
		if err := m.mergeStruct(merged.Index(i), object); err != nil {
			return list, fmt.Errorf("%s: %w", field.Name, err)
		}
	}
	return interleave(list, merged, key), nil
}

// interleave puts the elements of a list that a patch does not name between those that it names. The named ones keep the order of
// the patch: a patch that names containers in another order than the pod reorders them, as on an API server.
func interleave(list, merged reflect.Value, key string) reflect.Value {
	var others []int // the indexes of list's elements that the patch does not name
	for i := range list.Len() {
		if indexOf(merged, keyOf(list.Index(i), key), key) < 0 {
			others = append(others, i)
		}
	}
	if len(others) == 0 {
		return merged
	}
	all := reflect.MakeSlice(list.Type(), 0, len(others)+merged.Len())
	for i := range merged.Len() {
		at := indexOf(list, keyOf(merged.Index(i), key), key)
		for len(others) > 0 && others[0] < at {
			all, others = reflect.Append(all, list.Index(others[0])), others[1:]
		}
		all = reflect.Append(all, merged.Index(i))
	}
	for _, i := range others {
		all = reflect.Append(all, list.Index(i))
	}
	return all
}

// indexOf returns the index of the element with a key, -1 if there is none.
func indexOf(list reflect.Value, wanted, key string) int {
	for i := range list.Len() {
		if keyOf(list.Index(i), key) == wanted {
			return i
		}
	}
	return -1
}

// keyOf is the key of an element as text, or the element itself if there is no key. Keys are texts or numbers.
func keyOf(element reflect.Value, key string) string {
	if key != "" {
		_, element = memberOf(element, key)
	}
	if element.CanInt() {
		return strconv.FormatInt(element.Int(), 10)
	}
	return element.String()
}

// memberOf finds the field of a struct by its name in JSON, also in inlined structs. The value is invalid if there is none.
func memberOf(value reflect.Value, name string) (reflect.StructField, reflect.Value) {
	typ := value.Type()
	for i := range typ.NumField() {
		field := typ.Field(i)
		called, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if called == name {
			return field, value.Field(i)
		}
		if called == "" && field.Anonymous && field.Type.Kind() == reflect.Struct {
			if inner, member := memberOf(value.Field(i), name); member.IsValid() {
				return inner, member
			}
		}
	}
	return reflect.StructField{}, reflect.Value{}
}
