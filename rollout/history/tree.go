package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/daemonplan/daemonplan/internal/quantities"
)

// maxDepth bounds the recursion over data. A pod template nests less than thirty levels deep.
const maxDepth = 200

// finding is a field that a type does not have.
type finding struct {
	path  string
	value any // normal, and not nil
}

// parse reads JSON into map[string]any, []any, json.Number, string, bool and nil. Unlike encoding/json it refuses a field
// that appears twice, because which of the two counts would depend on the reader.
func parse(data []byte) (any, error) {
	if !json.Valid(data) {
		return nil, errors.New("not valid JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	// Ordered keys, as in all that Data writes, do not repeat, so that such a text is decoded in one go.
	if ordered(data) {
		var tree any
		err := decoder.Decode(&tree)
		return tree, err
	}
	return parseValue(decoder, 0)
}

func parseValue(decoder *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			key, _ := token.(string)
			if _, ok := object[key]; ok {
				return nil, fmt.Errorf("field %q appears twice", key)
			}
			if object[key], err = parseValue(decoder, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			element, err := parseValue(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err = decoder.Token()
		return list, err
	}
	return token, nil
}

// convert decodes a tree into a Kubernetes type. Field names are case-sensitive, as in the API server.
func convert(tree, target any) error {
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(text, target)
}

// compact renders a tree as JSON on one line, keys sorted, for people: HTML characters stay as they are.
func compact(tree any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(tree) != nil {
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// readable walks a tree beside the type it is to be decoded into. It returns the non-empty fields that the type does
// not have, sorted by path, or an error if decoding could take time without bound.
func readable(typ reflect.Type, tree any) ([]finding, error) {
	var unknown []finding
	type step struct {
		typ   reflect.Type
		key   string
		index int
	}
	var steps []step
	var tooLong []string
	path := func() (path string) {
		for _, step := range steps {
			if step.typ.Kind() == reflect.Slice {
				path = elementPath(path, strconv.Itoa(step.index))
			} else {
				path = memberPath(path, step.typ, step.key)
			}
		}
		return path
	}
	var walk func(typ reflect.Type, tree any)
	walk = func(typ reflect.Type, tree any) {
		if typ == nil {
			if value := normal(tree); value != nil {
				unknown = append(unknown, finding{path(), value})
			}
			return
		}
		typ = pointee(typ)
		if isLeaf(typ) {
			if typ == reflect.TypeFor[resource.Quantity]() && quantities.Unbounded(tree) {
				tooLong = append(tooLong, path())
			}
			return
		}
		switch tree := tree.(type) {
		case map[string]any:
			for key, value := range tree {
				if member, ok := memberType(typ, key); ok {
					steps = append(steps, step{typ: typ, key: key})
					walk(member, value)
					steps = steps[:len(steps)-1]
				}
			}
		case []any:
			for i, element := range tree {
				if typ.Kind() == reflect.Slice {
					steps = append(steps, step{typ: typ, index: i})
					walk(typ.Elem(), element)
					steps = steps[:len(steps)-1]
				}
			}
		}
	}
	walk(typ, tree)
	if len(tooLong) > 0 {
		return nil, fmt.Errorf("%s: too long a quantity", slices.Min(tooLong))
	}
	slices.SortFunc(unknown, func(a, b finding) int { return strings.Compare(a.path, b.path) })
	return unknown, nil
}

// sameFindings reports whether two lists of unknown fields are equal. Only their JSON can be compared.
func sameFindings(a, b []finding) bool {
	return slices.EqualFunc(a, b, func(a, b finding) bool {
		return a.path == b.path && reflect.DeepEqual(a.value, b.value)
	})
}

// normal reduces a value of unknown type to what can matter. Empty values (null, false, 0, "", [], {} and objects of only
// such) become nil, because a newer API version may add them without a meaning (R2). A list with elements is never empty.
func normal(tree any) any {
	switch tree := tree.(type) {
	case bool:
		if tree {
			return tree
		}
	case string:
		if tree != "" {
			return tree
		}
	case json.Number:
		if !zeroMantissa(string(tree)) {
			return tree
		}
	case []any:
		if len(tree) == 0 {
			return nil
		}
		list := make([]any, len(tree))
		for i, element := range tree {
			list[i] = normal(element)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for key, member := range tree {
			if value := normal(member); value != nil {
				object[key] = value
			}
		}
		if len(object) > 0 {
			return object
		}
	}
	return nil
}

// isLeaf reports whether a struct reads its JSON itself, so that its Go fields say nothing about the JSON.
func isLeaf(typ reflect.Type) bool {
	return typ.Kind() == reflect.Struct && reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func pointee(typ reflect.Type) reflect.Type {
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ
}

// memberType returns the type of an object's member, nil for a field that the type does not have. It is false if
// the type is decoded from no object, so that decoding will fail here.
func memberType(typ reflect.Type, key string) (reflect.Type, bool) {
	switch {
	case typ == nil:
		return nil, true
	case typ.Kind() == reflect.Map:
		return typ.Elem(), true
	case typ.Kind() == reflect.Struct:
		if field, ok := fieldOf(typ, key); ok {
			return field.Type, true
		}
		return nil, true
	}
	return nil, false
}

// fieldOf returns the struct field that JSON calls name, also one of an inlined struct.
func fieldOf(typ reflect.Type, name string) (reflect.StructField, bool) {
	for field := range typ.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "" && field.Anonymous {
			if inner, ok := fieldOf(pointee(field.Type), name); ok {
				return inner, true
			}
			continue
		}
		if tag == name && tag != "-" {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// memberPath appends a member to a path: fields with a dot, keys of a map, which may contain dots, in brackets.
func memberPath(path string, typ reflect.Type, key string) string {
	switch {
	case typ != nil && typ.Kind() == reflect.Map:
		return elementPath(path, quoted(key))
	case !isWord(key, ""):
		return elementPath(path, strconv.Quote(key))
	case path == "":
		return key
	}
	return path + "." + key
}

func elementPath(path, shown string) string {
	return path + "[" + shown + "]"
}

// quoted returns a key as it is shown in a path, in quotes unless it can only be read in one way.
func quoted(key string) string {
	if isWord(key, "-./_:") {
		return key
	}
	return strconv.Quote(key)
}

func isWord(text, also string) bool {
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(also, c) {
			return false
		}
	}
	return text != ""
}
