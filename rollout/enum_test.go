package rollout_test

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
)

// TestPlanReadsInWords: whatever a plan holds that is a code has a text form, so that its JSON can be read.
func TestPlanReadsInWords(t *testing.T) {
	codes := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	seen := map[reflect.Type]bool{}
	walk = func(typ reflect.Type) {
		if seen[typ] || strings.HasPrefix(typ.PkgPath(), "k8s.io/") {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			for field := range typ.Fields() {
				if field.IsExported() {
					walk(field.Type)
				}
			}
		case reflect.Uint8, reflect.Uint16, reflect.Uint32:
			if typ.PkgPath() != "" {
				codes[typ] = true
			}
		default: // says what it is
		}
	}
	walk(reflect.TypeFor[rollout.Plan]())
	if len(codes) < 12 {
		t.Fatalf("a plan holds only the codes %v", codes)
	}
	for code := range codes {
		if !code.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			t.Errorf("%v is encoded as a number", code)
		}
	}
	plan := newLab().add(on("a"), on("b", oldPod())).plan(t)
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{`"Outcome":"run"`, `"State":"missing"`, `"Verb":"create"`, `"Facts":"desired"`} {
		if !strings.Contains(string(data), words) {
			t.Errorf("the plan does not say %s:\n%s", words, data)
		}
	}
}
