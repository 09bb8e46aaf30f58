package simulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// caseEqual compares cases as a planner does: instants are equal whatever their zones.
var caseEqual = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
}

// A case that is written and read is equal to the original, and gives the same plan.
func TestCaseRoundTrip(t *testing.T) { rapid.Check(t, inputCaseRoundTrip) }

func FuzzCaseRoundTrip(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(inputCaseRoundTrip)) }

func inputCaseRoundTrip(t *rapid.T) {
	spec := rapid.OneOf(draw.AnySpec(), draw.AnyCanarySpec()).Draw(t, "spec")
	want := simulate.Case{Spec: spec, Snapshot: draw.AnySnapshot(spec).Draw(t, "snapshot")}
	inputWholeSeconds(reflect.ValueOf(&want.Snapshot).Elem())
	if memory, err := json.Marshal(want.Snapshot.Memory); err != nil || json.Unmarshal(memory, &rollout.Memory{}) != nil {
		want.Snapshot.Memory = rollout.Memory{} // a memory with undeclared codes cannot be stored
	}
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := simulate.ReadCase(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, caseEqual); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	plan := func(c simulate.Case) string {
		planner, err := rollout.New(c.Spec)
		if err != nil {
			return err.Error()
		}
		plan, err := planner.Plan(c.Snapshot)
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if diff := cmp.Diff(plan(want), plan(got)); diff != "" {
		t.Fatalf("the plan of the case, -before +after:\n%s", diff)
	}
}

// inputWholeSeconds cuts off fractions of seconds, which no API server keeps.
func inputWholeSeconds(v reflect.Value) {
	if at, ok := reflect.TypeAssert[*metav1.Time](v.Addr()); ok {
		at.Time = at.Truncate(time.Second)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			inputWholeSeconds(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				inputWholeSeconds(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			inputWholeSeconds(v.Index(i))
		}
	}
}

// A case keeps every field of a spec and a snapshot. Each field is set by reflection, and must be the same after reading.
func TestCaseHasEveryField(t *testing.T) {
	want := simulate.Case{}
	filled := 0
	inputFill(reflect.ValueOf(&want).Elem(), 0, &filled)
	if filled < 500 {
		t.Fatalf("only %d fields were set", filled)
	}
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := simulate.ReadCase(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, caseEqual); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// inputFill sets every field to a value that is not zero and that has a text.
func inputFill(v reflect.Value, depth int, filled *int) {
	const deepest = 14
	switch special := v.Addr().Interface().(type) {
	case *time.Time:
		*special = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		return
	case *metav1.Time:
		special.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		return
	case *metav1.MicroTime:
		special.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		return
	case *resource.Quantity:
		*special = resource.MustParse("1500m")
		return
	case *[]byte:
		*special = []byte(`{"spec":"<&>"}`)
		return
	case *metav1.FieldsV1:
		special.SetRawString(`{}`)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth < deepest && v.Type() != reflect.TypeFor[*corev1.PodSpec]() {
			v.Set(reflect.New(v.Type().Elem()))
			inputFill(v.Elem(), depth+1, filled)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "k8s.io/apimachinery/pkg/util/intstr" {
			v.FieldByName("IntVal").SetInt(7)
			return
		}
		for i := range v.NumField() {
			// Objects that were decoded by the API machinery are not part of the text.
			if field := v.Type().Field(i); field.IsExported() && !strings.HasPrefix(field.Tag.Get("json"), "-") {
				*filled++
				inputFill(v.Field(i), depth+1, filled)
			}
		}
	case reflect.Slice:
		if depth < deepest {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			inputFill(v.Index(0), depth+1, filled)
		}
	case reflect.Map:
		if depth < deepest {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			inputFill(key, depth+1, filled)
			inputFill(value, depth+1, filled)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString("x<&>")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(1)
	}
}

// A case keeps the data of revisions byte by byte, even data that is no JSON, or not in its shortest form.
func TestCaseKeepsRevisionData(t *testing.T) {
	for _, data := range []string{"", "{", `{"a": 1}`, `{"a":1}`, "{\"a\":1}\n", `{"a":"<&>\u2028"}`, "null", "5", "\xff", "\"\xff\""} {
		revision := &appsv1.ControllerRevision{}
		revision.Data.Raw = []byte(data)
		want := simulate.Case{Snapshot: rollout.Snapshot{Revisions: []*appsv1.ControllerRevision{{}, revision, nil}}}
		text, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := simulate.ReadCase(text)
		if err != nil {
			t.Fatal(err)
		}
		if back := string(got.Snapshot.Revisions[1].Data.Raw); back != data || string(revision.Data.Raw) != data {
			t.Errorf("%q comes back as %q", data, back)
		}
	}
}

func TestReadCaseMistakes(t *testing.T) {
	tests := []struct{ name, why, text, want string }{
		{"nothing", "an empty file", "", "case: EOF"},
		{"no JSON", "where the mistake is", "{\n\"spec\": {},\n oops", "case: line 3: invalid character 'o'"},
		{"cut off", "a disk was full", `{"spec": {`, "case: unexpected EOF"},
		{"a dump", "objects of kubectl are for -f", `{"apiVersion":"v1","kind":"List","items":[]}`, `case: json: unknown field "apiVersion"`},
		{"empty", "neither is there", `{}`, `case: must be a JSON object with "spec" and "snapshot", as Case.Encode writes it`},
		{"null", "neither is there", `null`, `case: must be a JSON object with "spec" and "snapshot"`},
		{"no spec", "half of it", `{"snapshot":{}}`, `case: spec: must be there, as Case.Encode writes it`},
		{"no snapshot", "half of it", `{"spec":{}}`, `case: snapshot: must be there, as Case.Encode writes it`},
		{"misspelt", "what is not understood might have made another plan", `{"spec":{"Nam":"x"},"snapshot":{}}`, `case: json: unknown field "Nam"`},
		{"wrong type", "a number is no name", `{"spec":{"Name":5},"snapshot":{}}`, "case: json: cannot unmarshal number"},
		{"endless and nothing else", "the text ends with the number", "1e-99999999", "case: 1e-99999999: a quantity"},
		{"data of no revision", "it belongs nowhere", `{"spec":{},"snapshot":{},"revisionData":{"0":"eA=="}}`, "case: revisionData[0]: there is no such revision in the snapshot"},
		{"data before the first", "it belongs nowhere", `{"spec":{},"snapshot":{},"revisionData":{"-1":"eA=="}}`, "case: revisionData[-1]: there is no such revision"},
		{"data of a revision that is null", "it belongs nowhere", `{"spec":{},"snapshot":{"Revisions":[null]},"revisionData":{"0":"eA=="}}`, "case: revisionData[0]: there is no such"},
		{"trailing", "two cases in one file", `{"spec":{},"snapshot":{}} {}`, "case: there is text behind the end of the JSON"},
		{"endless quantity", "it would take for ever to read",
			`{"spec":{"Template":{"spec":{"overhead":{"cpu":"1e-99999999"}}}},"snapshot":{}}`,
			"case: 1e-99999999: a quantity with so many digits, or so small an exponent, is not read"},
		{"endless number", "numbers are quantities, too",
			`{"spec":{"Template":{"spec":{"overhead":{"cpu":1.5E-99999999}}}},"snapshot":{}}`, "case: 1.5E-99999999: a quantity"},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			got, err := simulate.ReadCase([]byte(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s: %s", err, tt.want, tt.why)
			}
			if !reflect.DeepEqual(got, simulate.Case{}) {
				t.Error("there is a case beside the error")
			}
		})
	}
	for _, fine := range []string{`"1e-3"`, `"img:v1e-12"`, `"a1e-99999999"`, `"1e-99999999b"`} {
		if _, err := simulate.ReadCase([]byte(`{"spec":{"Name":` + fine + `},"snapshot":{}}`)); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
}

func FuzzReadCase(f *testing.F) {
	spec := kit.Spec("agent")
	text, err := simulate.Case{Spec: spec, Snapshot: rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a")}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"spec":{"Template":{"spec":{"overhead":{"cpu":"1e-99999999"}}}},"snapshot":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := simulate.ReadCase(data)
		if err != nil {
			return
		}
		text, err := c.Encode()
		if err != nil {
			return // for example, a year is out of range
		}
		if _, err := simulate.ReadCase(text); err != nil {
			t.Fatalf("what was read and written is not read again: %v", err)
		}
	})
}

// inputStep is a step in which the plan creates a pod on node a.
func inputStep(t *testing.T) simulate.Step {
	t.Helper()
	step := simulate.Step{
		Number: 12, At: 270 * time.Second, Spec: kit.Spec("agent"),
		Snapshot: rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a", "b")},
	}
	planner, err := rollout.New(step.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if step.Plan, err = planner.Plan(step.Snapshot); err != nil {
		t.Fatal(err)
	}
	return step
}

func TestStepError(t *testing.T) {
	step := inputStep(t)
	head := "simulate: seed 7, step 12, 4m30s after the beginning (" + kit.Noon().UTC().Format(time.RFC3339) + "): "
	const again = "\nto see it again: run the scenario with seed 7 up to step 12, or write what Case of this error returns to a file " +
		"with Encode, and plan it with: kubectl daemonplan plan --case FILE"
	of := func(n int, node string) (all []verify.Violation) {
		for i := range n {
			all = append(all, verify.Violation{Invariant: 1, Node: node, Message: fmt.Sprint("m", i)})
		}
		return all
	}
	tests := []struct {
		name, why  string
		violations []verify.Violation
		err        error
		want       string
	}{
		{"an observer's", "its words", nil, errors.New("too many are down"), head + "too many are down" + again},
		{"nothing", "there is always a text", nil, nil, head + "the run was ended" + again},
		{"about the plan", "no node to explain", of(1, ""), nil, head + "the plan breaks an invariant\n  V1: m0" + again},
		{"about a node", "with what the plan says about it, once", of(2, "a"), nil,
			head + "the plan breaks 2 invariants\n  V1: node a: m0\n    plan: " + step.Plan.Explain("a") + "\n  V1: node a: m1" + again},
		{"ten", "all of them", of(10, ""), nil, ""},
		{"eleven", "the rest is counted", of(11, ""), nil, ""},
		{"twelve", "the rest is counted once", of(12, ""), nil, ""},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			err := &simulate.StepError{Seed: 7, Step: step, Violations: tt.violations, Err: tt.err}
			got := err.Error()
			if tt.want != "" && got != tt.want {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, tt.want, tt.why)
			}
			// The errors are the same: neither of them wraps the other.
			if inner := errors.Unwrap(err); !errors.Is(inner, tt.err) || !errors.Is(tt.err, inner) {
				t.Errorf("unwraps to %v", inner)
			}
			if n := strings.Count(got, "\n  V1"); n != min(len(tt.violations), 10) {
				t.Errorf("it lists %d of %d: %s", n, len(tt.violations), tt.why)
			}
			more := fmt.Sprintf("\n  and %d more\n", len(tt.violations)-10)
			if n, rest := strings.Count(got, "\n  and "), len(tt.violations) > 10; rest != strings.Contains(got, more) || n > 1 {
				t.Errorf("there are more: %v, and it is said %d times: %s", rest, n, tt.why)
			}
		})
	}
}

func TestStepErrorCase(t *testing.T) {
	step := inputStep(t)
	err := &simulate.StepError{Seed: 7, Step: step}
	if diff := cmp.Diff(simulate.Case{Spec: step.Spec, Snapshot: step.Snapshot}, err.Case(), caseEqual); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var none *simulate.StepError
	if !reflect.DeepEqual(none.Case(), simulate.Case{}) || none.Unwrap() != nil || none.Error() != "simulate: no error" {
		t.Error("no error has no case")
	}
	if !reflect.DeepEqual((*simulate.Step)(nil).Case(), simulate.Case{}) {
		t.Error("no step has no case")
	}
}
