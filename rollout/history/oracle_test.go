package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// understood is what the oracle reads from a revision's data.
type understood struct {
	template corev1.PodTemplateSpec
	unknown  map[string]any
}

var slowQuantity = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

// naiveSame is R2 word for word: byte-equal or, decoded, semantically equal, with whatever cannot be read being a
// difference. It decodes everything, always.
func naiveSame(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	first, err := understand(a)
	if err != nil {
		return false
	}
	second, err := understand(b)
	return err == nil && apiequality.Semantic.DeepEqual(first.template, second.template) &&
		reflect.DeepEqual(first.unknown, second.unknown)
}

func understand(data []byte) (understood, error) {
	var out understood
	if !json.Valid(data) {
		return out, errors.New("invalid")
	}
	if repeats(json.NewDecoder(bytes.NewReader(data))) {
		return out, errors.New("a field twice")
	}
	if slowQuantity.Match(data) {
		return out, errors.New("possibly a slow quantity")
	}
	raw := tree(data)
	root, _ := raw.(map[string]any)
	spec, _ := root["spec"].(map[string]any)
	template, ok := spec["template"].(map[string]any)
	if !ok {
		return out, errors.New("no template")
	}
	if patch, ok := template["$patch"]; ok && patch != "replace" {
		return out, errors.New("no whole template")
	}
	delete(template, "$patch")
	var typed struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	// Some types decode the text they are given without undoing escapes; JSON gives those no meaning.
	canonical, err := json.Marshal(raw)
	if err != nil {
		return out, err
	}
	if err := utiljson.Unmarshal(canonical, &typed); err != nil {
		return out, err
	}
	out.template = typed.Spec.Template

	// What does not come back from the Go types is unknown to them.
	back, err := json.Marshal(typed)
	if err != nil {
		return out, err
	}
	out.unknown = map[string]any{}
	lost("", raw, tree(back), out.unknown)
	return out, nil
}

func lost(path string, raw, back any, into map[string]any) {
	switch raw := raw.(type) {
	case map[string]any:
		known, _ := back.(map[string]any)
		for key, value := range raw {
			at := path + "/" + fmt.Sprintf("%q", key)
			switch member, ok := known[key]; {
			case ok:
				lost(at, value, member, into)
			case strings.HasSuffix(at, `/"metadata"/"creationTimestamp"`) && value == "0001-01-01T00:00:00Z":
				// The zero time does not come back although the field is known.
			case !blank(value):
				into[at] = stripped(value)
			}
		}
	case []any:
		known, _ := back.([]any)
		for i, value := range raw {
			if i < len(known) {
				lost(fmt.Sprintf("%s/%d", path, i), value, known[i], into)
			}
		}
	}
}

func blank(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == ""
	case json.Number:
		mantissa, _, _ := strings.Cut(strings.ToLower(string(value)), "e")
		return strings.Trim(mantissa, "-0.") == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, member := range value {
			if !blank(member) {
				return false
			}
		}
		return true
	}
	return false
}

func stripped(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := maps.Clone(value)
		maps.DeleteFunc(out, func(_ string, member any) bool { return blank(member) })
		for key := range out {
			out[key] = stripped(out[key])
		}
		return out
	case []any:
		out := slices.Clone(value)
		for i := range out {
			if out[i] = stripped(out[i]); blank(out[i]) {
				out[i] = nil
			}
		}
		return out
	}
	return value
}

// repeats reports whether a field appears twice in one object.
func repeats(decoder *json.Decoder) bool {
	type container struct {
		keys    map[string]bool // nil in a list
		wantKey bool
	}
	var stack []container
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		top := len(stack) - 1
		if key, ok := token.(string); ok && top >= 0 && stack[top].wantKey {
			if stack[top].keys[key] {
				return true
			}
			stack[top].keys[key], stack[top].wantKey = true, false
			continue
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, container{keys: map[string]bool{}, wantKey: true})
			continue
		case json.Delim('['):
			stack = append(stack, container{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			top--
		}
		if top >= 0 {
			stack[top].wantKey = stack[top].keys != nil
		}
	}
}

// tree decodes JSON that is known to be valid.
func tree(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		panic(err)
	}
	return out
}
