package inplace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/daemonplan/daemonplan/internal/quantities"
)

// DiffRevisions is [Compare] of the templates that two revisions store. The error wraps [ErrUnreadable] and names the
// revision: nil, no JSON, no template, a value of a wrong type, a quantity that would take without bound to read, or a
// field that this API version does not have and that is not empty, because it may have changed unseen. A
// caller that has decoded the templates already uses [Compare].
func DiffRevisions(old, new *appsv1.ControllerRevision, options Options) (*Update, error) {
	before, err := templateOf(old)
	if err != nil {
		return nil, err
	}
	after, err := templateOf(new)
	if err != nil {
		return nil, err
	}
	return Compare(before, after, options), nil
}

func templateOf(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if revision == nil {
		return nil, fmt.Errorf("%w revision: nil", ErrUnreadable)
	}
	template, err := decodeTemplate(revision.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("%w revision %q: %w", ErrUnreadable, revision.Name, err)
	}
	return template, nil
}

func decodeTemplate(data []byte) (*corev1.PodTemplateSpec, error) {
	var document struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if !json.Valid(data) {
		return nil, errors.New("not valid JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	tree := document.Spec.Template
	if tree == nil {
		return nil, errors.New("no template")
	}
	delete(tree, "$patch") // says how the revision is applied (R1)
	template := &corev1.PodTemplateSpec{}
	if err := decodeTree(tree, template); err != nil {
		return nil, err
	}
	return template, nil
}

// decodeChecked decodes JSON after a look at what cannot be told or read. Target is a pointer.
func decodeChecked(data []byte, target any) error {
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return err
	}
	return decodeTree(tree, target)
}

// decodeTree decodes the very tree that was looked at: in the text, a field that appears twice could smuggle another
// value in.
func decodeTree(tree, target any) error {
	if err := readable("", reflect.TypeOf(target), tree); err != nil {
		return err
	}
	checked, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(checked, target)
}

// readable walks a tree beside the type it is to be decoded into. What does not fit the type is left to the decoder.
func readable(path string, typ reflect.Type, tree any) error {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch value := tree.(type) {
	case map[string]any:
		for _, name := range sortedKeys(value) {
			var member reflect.Type
			at := elementPath(path, name)
			switch {
			case typ.Kind() == reflect.Map:
				member = typ.Elem()
			case typ.Kind() == reflect.Struct && !readsOwnJSON(typ):
				at = strings.TrimPrefix(path+"."+name, ".")
				if member = memberType(typ, name); member == nil {
					if empty(value[name]) {
						continue
					}
					return fmt.Errorf("field %s is unknown to this API version", at)
				}
			default:
				return nil
			}
			if err := readable(at, member, value[name]); err != nil {
				return err
			}
		}
	case []any:
		if typ.Kind() != reflect.Slice {
			return nil
		}
		for i, element := range value {
			if err := readable(elementPath(path, fmt.Sprint(i)), typ.Elem(), element); err != nil {
				return err
			}
		}
	default:
		if typ == reflect.TypeFor[resource.Quantity]() && quantities.Unbounded(tree) {
			return fmt.Errorf("field %s: %w", path, errQuantity)
		}
	}
	return nil
}

// memberType returns the type of a struct's member by its name in JSON; nil if there is none.
func memberType(typ reflect.Type, name string) reflect.Type {
	for field := range typ.Fields() {
		switch own := jsonName(field); {
		case own == name && name != "":
			return field.Type
		case own == "":
			if found := memberType(field.Type, name); found != nil {
				return found
			}
		}
	}
	return nil
}

var errQuantity = errors.New("a quantity too long to read")

// empty reports whether a value says nothing, like the fields that newer API versions merely add (R2).
func empty(tree any) bool {
	switch value := tree.(type) {
	case nil:
		return true
	case map[string]any:
		for _, member := range value {
			if !empty(member) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return false
}
