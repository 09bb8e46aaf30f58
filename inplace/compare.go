package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// comparison collects the paths at which two values of one type differ. Two values are the same if they are semantically equal,
// as for revisions (R2): in lists and maps nil equals empty, and quantities are compared by value.
type comparison struct {
	code      Code
	obstacles []Obstacle
}

func (c *comparison) differ(path, detail string) {
	c.obstacles = append(c.obstacles, Obstacle{Path: path, Code: c.code, Detail: detail})
}

func (c *comparison) values(path string, old, new reflect.Value) {
	if apiequality.Semantic.DeepEqual(old.Interface(), new.Interface()) {
		return
	}
	switch {
	case old.Kind() == reflect.Pointer && !old.IsNil() && !new.IsNil():
		c.values(path, old.Elem(), new.Elem())
	case old.Kind() == reflect.Struct && !readsOwnJSON(old.Type()):
		for i := range old.NumField() {
			c.values(memberPath(path, old.Type().Field(i)), old.Field(i), new.Field(i))
		}
	case old.Kind() == reflect.Map && old.Type().Key().Kind() == reflect.String:
		c.maps(path, old, new)
	case old.Kind() == reflect.Slice && old.Type().Elem().Kind() != reflect.Uint8:
		c.lists(path, old, new)
	default:
		c.differ(path, "")
	}
}

func (c *comparison) maps(path string, old, new reflect.Value) {
	keys := map[string]reflect.Value{}
	for _, side := range []reflect.Value{old, new} {
		for _, key := range side.MapKeys() {
			keys[key.String()] = key
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		before, after := old.MapIndex(keys[name]), new.MapIndex(keys[name])
		c.elements(elementPath(path, name), before, after)
	}
}

// lists compares element by element: by name if all elements have one and no name is there twice, else by position.
func (c *comparison) lists(path string, old, new reflect.Value) {
	before, after := namesOf(old), namesOf(new)
	if before == nil || after == nil {
		for i := range max(old.Len(), new.Len()) {
			c.elements(elementPath(path, fmt.Sprint(i)), at(old, i), at(new, i))
		}
		return
	}
	if reordered(before, after) {
		c.differ(path, "order")
	}
	for i, name := range before {
		c.elements(elementPath(path, name), old.Index(i), at(new, slices.Index(after, name)))
	}
	for i, name := range after {
		if !slices.Contains(before, name) {
			c.elements(elementPath(path, name), reflect.Value{}, new.Index(i))
		}
	}
}

// elements compares two elements of lists or maps, of which one may not be there.
func (c *comparison) elements(path string, old, new reflect.Value) {
	switch {
	case !old.IsValid():
		c.differ(path, "added")
	case !new.IsValid():
		c.differ(path, "removed")
	default:
		c.values(path, old, new)
	}
}

// at returns an element of a list, or the zero Value if there is none.
func at(list reflect.Value, i int) reflect.Value {
	if i < 0 || i >= list.Len() {
		return reflect.Value{}
	}
	return list.Index(i)
}

// namesOf returns the names of a list's elements; nil if not every element has one of its own.
func namesOf(list reflect.Value) []string {
	names := make([]string, 0, list.Len())
	for i := range list.Len() {
		element := list.Index(i)
		if element.Kind() != reflect.Struct {
			return nil
		}
		field := element.FieldByName("Name")
		if !field.IsValid() || field.Kind() != reflect.String || field.String() == "" ||
			slices.Contains(names, field.String()) {
			return nil
		}
		names = append(names, field.String())
	}
	return names
}

// reordered reports whether the names on both sides come in another order.
func reordered(old, new []string) bool {
	both := func(names, others []string) (common []string) {
		for _, name := range names {
			if slices.Contains(others, name) {
				common = append(common, name)
			}
		}
		return common
	}
	return !slices.Equal(both(old, new), both(new, old))
}

// readsOwnJSON reports whether a struct decodes itself from JSON, as a quantity does, so that its fields are not compared.
func readsOwnJSON(typ reflect.Type) bool {
	return reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// jsonName returns a field's name in JSON; "" for one whose members belong to the struct around it.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "" && !field.Anonymous {
		return field.Name
	}
	return name
}

func memberPath(path string, field reflect.StructField) string {
	if name := jsonName(field); name != "" {
		return path + "." + name
	}
	return path
}

func elementPath(path, name string) string {
	return path + "[" + name + "]"
}
