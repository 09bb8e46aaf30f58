package rollout_test

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Without a canary, and without the memory of one, the canary label is the user's: taken off pods whose template gives it, it
// would have to be taken off every new pod again.
func TestPlannerLeavesLabelsAlone(t *testing.T) {
	l := newLab(kit.PodTemplateLabel(rollout.CanaryLabel, "true")).add(on("a", trialPod()), on("b", trialPod()))
	compare(t, l, l.plan(t), "", []string{"a: updated>update none UpToDate", "b: updated>update none UpToDate"},
		"nothing is to be done")
}

// TestConcurrentUse is for the race detector: one planner plans one snapshot in several goroutines, while others read the objects of
// that snapshot, as the owners of a cache do. It compares with what one goroutine plans.
func TestConcurrentUse(t *testing.T) {
	spec := kit.Spec("agent", kit.Image("agent:v2"), kit.InPlaceIfPossible(), kit.Partition("10%"))
	old := kit.Changed(spec, kit.Image("agent:v1"))
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	built := kit.Fleet(50, kit.InZones("a", "b"), kit.Running(old))
	fleet, err := built.Build()
	if err != nil {
		t.Fatal(err)
	}
	fleet.Now = kit.Noon()
	want, err := planner.Plan(fleet)
	if err != nil {
		t.Fatal(err)
	}
	fleet.Reading, want.Reading = want.Reading, nil
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				got, err := planner.Plan(fleet)
				got.Reading = nil
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("another plan than alone, or an error: %v", err)
				}
				if _, err := planner.Pod(rollout.Create{Node: fleet.Nodes[0].Name, Revision: kit.Hash(spec)}); err != nil {
					t.Error(err)
				}
				want.Explain(fleet.Nodes[0].Name)
			}
		})
		group.Go(func() {
			for _, p := range fleet.Pods {
				if p.DeepCopy().Name == "" {
					t.Error("a pod has lost its name")
				}
			}
		})
	}
	group.Wait()
}

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
