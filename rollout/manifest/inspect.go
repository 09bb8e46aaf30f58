package manifest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/quantities"
)

// findings are what is in an object's text and does not fit its Go type.
type findings struct {
	unknown  []unknownField
	twice    field.ErrorList // keys that an object has more than once
	mistyped field.ErrorList // values that the type cannot hold
}

// unknownField is one that the type does not have.
type unknownField struct {
	path  string
	known []string // the fields that it does have, sorted
}

// The ends of error messages that say what a value must be.
const (
	mustBeString  = "must be a string"
	mustBeNumber  = "must be a number"
	mustBeBool    = "must be true or false"
	mustBeObject  = "must be an object"
	mustBeArray   = "must be a list"
	mustBeBase64  = "must be a string in base64"
	mustBeTime    = "must be a time such as 2006-01-02T15:04:05Z"
	mustBeSpan    = "must be a duration such as 90s or 10m"
	mustBeAmount  = "must be a quantity such as 100m or 64Mi"
	mustBeIntOr   = "must be a whole number or a string such as 10%"
	mustBeOnce    = "must not be given twice"
	maxExcerpt    = 60
	wholeNumberOf = "must be a whole number of at most %d bits"
)

// inspect walks the text along the type of into, and returns everything that does not fit, with its path below at, which may be
// nil. The decoder of apimachinery reports only the first misfit, and its path without indices. The text must be correct JSON;
// the decoder limits its depth.
func inspect(text []byte, into any, at *field.Path) findings {
	in := inspector{decoder: json.NewDecoder(bytes.NewReader(text))}
	in.decoder.UseNumber()
	in.value(reflect.TypeOf(into), at)
	return in.findings
}

type inspector struct {
	findings
	decoder *json.Decoder
}

func (in *inspector) value(t reflect.Type, path *field.Path) {
	optional := false
	for t.Kind() == reflect.Pointer && !decodesItself(t) {
		t, optional = t.Elem(), true
	}
	if decodesItself(t) || t.Kind() == reflect.Interface {
		in.opaque(t, optional, path)
		return
	}
	token, err := in.decoder.Token()
	if err != nil || token == nil { // null leaves a field as it is, whatever its type
		return
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		if token != json.Delim('{') {
			in.misfit(path, token, mustBeObject)
			return
		}
		in.object(t, path)
	case reflect.Slice, reflect.Array:
		in.list(t, path, token)
	default:
		in.scalar(t, path, token)
	}
}

func (in *inspector) object(t reflect.Type, path *field.Path) {
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = make(map[string]reflect.Type)
		collectFields(t, fields, nil)
	}
	seen := make(map[string]bool)
	for in.decoder.More() {
		token, err := in.decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return
		}
		below := path.Child(key)
		of, known := fields[key]
		if t.Kind() == reflect.Map {
			below, of, known = path.Key(key), t.Elem(), true
		}
		if seen[key] {
			in.twice = append(in.twice, field.Forbidden(below, mustBeOnce))
		}
		if !known {
			in.unknown = append(in.unknown, unknownField{below.String(), slices.Sorted(maps.Keys(fields))})
			of = reflect.TypeFor[any]()
		}
		seen[key] = true
		in.value(of, below)
	}
	_, _ = in.decoder.Token() // the closing brace; that it is there is known
}

func (in *inspector) list(t reflect.Type, path *field.Path, token json.Token) {
	if t.Elem().Kind() == reflect.Uint8 {
		text, ok := token.(string)
		if !ok {
			in.misfit(path, token, mustBeBase64)
		} else if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			in.misfit(path, token, mustBeBase64)
		}
		return
	}
	if token != json.Delim('[') {
		in.misfit(path, token, mustBeArray)
		return
	}
	for i := 0; in.decoder.More(); i++ {
		in.value(t.Elem(), path.Index(i))
	}
	_, _ = in.decoder.Token() // the closing bracket; that it is there is known
}

func (in *inspector) scalar(t reflect.Type, path *field.Path, token json.Token) {
	if _, ok := token.(json.Delim); !ok {
		text, err := json.Marshal(token)
		if err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil {
			return
		}
	}
	want := mustBeNumber
	switch t.Kind() {
	case reflect.String:
		want = mustBeString
	case reflect.Bool:
		want = mustBeBool
	default:
		if _, ok := token.(json.Number); ok {
			want = fmt.Sprintf(wholeNumberOf, 8*t.Size())
		}
	}
	in.misfit(path, token, want)
}

// opaque checks a value of a type that decodes itself by decoding it. For one that is optional, null is not decoded.
func (in *inspector) opaque(t reflect.Type, optional bool, path *field.Path) {
	var raw json.RawMessage
	if in.decoder.Decode(&raw) != nil || t.Kind() == reflect.Interface || optional && string(raw) == "null" {
		return
	}
	if t == reflect.TypeFor[resource.Quantity]() && isUnbounded(raw) {
		in.mistyped = append(in.mistyped, field.TypeInvalid(path, excerpt(raw), mustBeAmount))
		return
	}
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if err == nil {
		return
	}
	want := err.Error()
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		want = mustBeTime
	case reflect.TypeFor[metav1.Duration]():
		want = mustBeSpan
	case reflect.TypeFor[resource.Quantity]():
		want = mustBeAmount
	case reflect.TypeFor[intstr.IntOrString]():
		want = mustBeIntOr
	}
	in.mistyped = append(in.mistyped, field.TypeInvalid(path, excerpt(raw), want))
}

// isUnbounded reports whether reading the value as a quantity could take for ever.
func isUnbounded(raw []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	return decoder.Decode(&value) == nil && quantities.Unbounded(value)
}

// misfit records a token that does not fit, and skips the rest of its value.
func (in *inspector) misfit(path *field.Path, token json.Token, want string) {
	if delim, ok := token.(json.Delim); ok {
		in.skipRest()
		token = delim.String() + "…"
	}
	in.mistyped = append(in.mistyped, field.TypeInvalid(path, token, want))
}

// skipRest skips the rest of a list or object whose opening delimiter was read.
func (in *inspector) skipRest() {
	for depth := 1; depth > 0; {
		token, err := in.decoder.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// decodesItself reports whether a type has its own decoder. It is false for pointers and interfaces, because a pointer to these
// has no methods.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// collectFields adds the JSON fields of a struct, those of embedded structs included. A struct that embeds itself, by
// way of the structs in within, adds nothing more.
func collectFields(t reflect.Type, fields map[string]reflect.Type, within []reflect.Type) {
	if slices.Contains(within, t) {
		return
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case name == "-":
		case name == "" && f.Anonymous && embedded.Kind() == reflect.Struct:
			collectFields(embedded, fields, append(within, t)) // of an unexported struct too, as encoding/json has it
		case f.IsExported():
			fields[cmp.Or(name, f.Name)] = f.Type
		}
	}
}

// excerpt returns a value as it is shown in an error: without quotes if it is a string, and not long.
func excerpt(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return shortened(text)
}

func shortened(text string) string {
	runes := []rune(text)
	if len(runes) > maxExcerpt {
		return string(runes[:maxExcerpt]) + "…"
	}
	return text
}
