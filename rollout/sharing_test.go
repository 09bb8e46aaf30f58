package rollout_test

import (
	"reflect"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
)

// fill gives everything that is nil or empty something to point to or to hold, to a depth.
func fill(v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 4))
		fill(v.Index(0), depth-1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, depth-1)
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), element)
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, depth)
		}
	default:
	}
}

// memory collects the paths of all pointers, maps and slices by their addresses.
func memory(v reflect.Value, path string, found map[uintptr]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		// All values of no size have one address.
		if v.IsNil() || v.Kind() != reflect.Map && v.Type().Elem().Size() == 0 || v.Kind() == reflect.Slice && v.Cap() == 0 {
			return
		}
		found[v.Pointer()] = path
	default:
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			memory(v.Elem(), path, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			memory(v.Index(i), path+"[]", found)
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			memory(key, path+"[]", found)
			memory(value, path+"[]", found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			memory(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
	default:
	}
}

// TestDefaultSharesNoPointer: a Planner keeps what Default returns, and the caller's spec is the caller's.
func TestDefaultSharesNoPointer(t *testing.T) {
	var spec rollout.Spec
	fill(reflect.ValueOf(&spec).Elem(), 5)
	ours, theirs := map[uintptr]string{}, map[uintptr]string{}
	memory(reflect.ValueOf(spec), "", theirs)
	memory(reflect.ValueOf(spec.Default()), "", ours)
	for address, path := range ours {
		if theirs[address] != "" {
			t.Errorf("%s is the caller's", path)
		}
	}
	if len(theirs) < 100 || len(ours) < 100 {
		t.Errorf("only %d and %d places were looked at", len(theirs), len(ours))
	}
}

// TestEmptyPlan: any action counts, and none outweighs another.
func TestEmptyPlan(t *testing.T) {
	lists := map[string]func(*rollout.Plan){
		"Revisions": func(p *rollout.Plan) { p.Revisions = make([]rollout.RevisionAction, 1) },
		"Patches":   func(p *rollout.Plan) { p.Patches = make([]rollout.Patch, 1) },
		"Pulls":     func(p *rollout.Plan) { p.Pulls = make([]rollout.Pull, 1) },
		"Deletes":   func(p *rollout.Plan) { p.Deletes = make([]rollout.Delete, 1) },
		"Creates":   func(p *rollout.Plan) { p.Creates = make([]rollout.Create, 1) },
	}
	if !(&rollout.Plan{}).Empty() {
		t.Error("the zero plan has no action")
	}
	for one, add := range lists {
		for other, addOther := range lists {
			var p rollout.Plan
			add(&p)
			if addOther(&p); p.Empty() {
				t.Errorf("a plan with %s and %s is not empty", one, other)
			}
		}
	}
}
