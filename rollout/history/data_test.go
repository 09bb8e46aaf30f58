package history_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

const (
	opening = `{"spec":{"template":{"$patch":"replace","metadata":{},"spec":{"containers":[{"name":"main","resources":{`
	closing = `}}]}}}}`
)

// around puts a piece of the pod's spec beside one container.
func around(piece string) string {
	return strings.Replace(opening+closing, `"spec":{"containers"`, `"spec":{`+piece+`"containers"`, 1)
}

func TestSameData(t *testing.T) {
	limits := func(cpu string) string { return opening + `"limits":{"cpu":` + cpu + `}` + closing }
	// An annotation in front of a long common part: the scan must find its way back into step.
	noted := func(note string) string {
		return strings.Replace(opening+closing, `"metadata":{}`, `"metadata":{"annotations":{"note":`+note+`},"labels":{"a":"b"}}`, 1)
	}
	managed := func(fields string) string {
		return strings.Replace(opening+closing, `"metadata":{}`, `"metadata":{"managedFields":[{"fieldsV1":`+fields+`}]}`, 1)
	}
	for _, row := range []struct {
		name, why string
		a, b      string
		same      bool
		scan      string
	}{
		{name: "quantities", why: "R2: spelled otherwise", a: limits(`"1"`), b: limits(`"1000m"`), same: true, scan: "unsure"},
		{name: "quantity as number", why: "R2: the API reads both", a: limits(`"1"`), b: limits(`1`), same: true, scan: "unsure"},
		{name: "quantity with spaces", why: "R2: the API trims", a: limits(`"1"`), b: limits(`" 1 "`), same: true, scan: "unsure"},
		{name: "signed quantity", why: "R2", a: limits(`"1"`), b: limits(`"+1"`), same: true, scan: "unsure"},
		{name: "rounded quantity", why: "R2: no quantity is finer than nano", a: limits(`"1n"`), b: limits(`"0.1n"`), same: true, scan: "unsure"},
		{name: "cut quantity", why: "R2: no binary quantity is above 2^63-1", a: limits(`"10Ei"`), b: limits(`"11Ei"`), same: true, scan: "unsure"},
		{name: "cut by digits", why: "R2", a: limits(`"10000000000Gi"`), b: limits(`"10000000001Gi"`), same: true, scan: "unsure"},
		{name: "large decimals", why: "these are not cut", a: limits(`"10E"`), b: limits(`"11E"`), scan: "different"},
		{name: "large integers", why: "these are not cut", a: limits(`"9223372036854775808"`), b: limits(`"9223372036854775809"`), scan: "different"},
		{name: "large exponents", why: "must end", a: limits(`"1e99999"`), b: limits(`"2e99999"`), scan: "unsure"},
		{name: "exponents", why: "R2", a: limits(`"1e3"`), b: limits(`"1k"`), same: true, scan: "unsure"},
		{name: "other suffix", why: "equal digits, other value", a: limits(`"1k"`), b: limits(`"1M"`), scan: "unsure"},
		{name: "other quantity", why: "R2", a: limits(`"100m"`), b: limits(`"200m"`), scan: "different"},
		{name: "greatest with suffix", why: "10^9-1 Gi is below 2^63", a: limits(`"999999999Gi"`), b: limits(`"999999998Gi"`), scan: "different"},
		{name: "quantity gone", why: "an entry of a map is one, even if zero", a: limits(`"0"`), b: opening + closing, scan: "unsure"},
		{name: "null in a map", why: "decodes to an entry", a: limits(`null`), b: strings.Replace(limits(`null`), `"cpu":null`, ``, 1), scan: "unsure"},
		{name: "slow quantity", why: "must end; unreadable", a: limits(`"1e-999999999"`), b: limits(`"1e-999999998"`), scan: "unsure"},
		{name: "null field", why: "R2: older libraries write it", a: opening + closing, b: around(`"hostPID":null,`), same: true, scan: "unsure"},
		{
			name: "null field in order", why: "R2: as written by an older library", same: true, scan: "same",
			a: opening + closing, b: strings.Replace(opening, `"name"`, `"image":null,"name"`, 1) + closing,
		},
		{
			name: "null last", why: "R2: the other object ends first", same: true, scan: "same",
			a: opening + closing, b: strings.Replace(opening+closing, `}]}`, `}],"zone":null}`, 1),
		},
		{
			name: "null repeated", why: "a field twice is unreadable, whatever it holds", scan: "unsure",
			a: opening + closing, b: strings.Replace(opening, `"name":"main"`, `"name":"main","name":null`, 1) + closing,
		},
		{
			name: "null twice", why: "a field twice is unreadable", scan: "unsure",
			a: opening + closing, b: strings.Replace(opening, `"name"`, `"image":null,"image":null,"name"`, 1) + closing,
		},
		{
			name: "missing comma", why: "no JSON", scan: "unsure",
			a: opening + closing, b: strings.Replace(opening, `"name"`, `"image":null"name"`, 1) + closing,
		},
		{
			name: "null in first", why: "R2 has no direction", same: true, scan: "same",
			a: strings.Replace(opening, `"name"`, `"image":null,"name"`, 1) + closing, b: opening + closing,
		},
		{name: "empty list", why: "R2", a: opening + closing, b: strings.Replace(opening, `"name"`, `"args":[],"name"`, 1) + closing, same: true, scan: "unsure"},
		{name: "list with null", why: "it has an element", a: opening + closing, b: strings.Replace(opening, `"name"`, `"args":[null],"name"`, 1) + closing, scan: "different"},
		{name: "empty list with space", why: "white space is no element", a: opening + closing, b: strings.Replace(opening, `"name"`, `"args":[ ],"name"`, 1) + closing, same: true, scan: "unsure"},
		{name: "empty object for a pointer", why: "present is not absent", a: opening + closing, b: strings.Replace(opening, `"resources"`, `"livenessProbe":{},"resources"`, 1) + closing, scan: "unsure"},
		{name: "unknown empty", why: "R2: a newer version may add it", a: opening + closing, b: strings.Replace(opening, `"resources"`, `"pony":{"legs":0,"name":"","tail":{}},"resources"`, 1) + closing, same: true, scan: "unsure"},
		{name: "unknown list", why: "it has an element", a: opening + closing, b: strings.Replace(opening, `"resources"`, `"pony":[0],"resources"`, 1) + closing, scan: "different"},
		{name: "unknown field", why: "what cannot be read is not the same", a: opening + closing, b: strings.Replace(opening, `"resources"`, `"pony":{"legs":4},"resources"`, 1) + closing, scan: "different"},
		{
			name: "unknown field in both", why: "equal although unknown; the rest decides", scan: "unsure", same: true,
			a: strings.Replace(opening, `"resources"`, `"pony":4,"resources"`, 1) + `"limits":{"cpu":"1"}` + closing,
			b: strings.Replace(opening, `"resources"`, `"pony":4,"resources"`, 1) + `"limits":{"cpu":"1000m"}` + closing,
		},
		{
			name: "unknown number", why: "nobody knows whether its spelling counts", scan: "unsure",
			a: strings.Replace(opening, `"resources"`, `"pony":1,"resources"`, 1) + closing,
			b: strings.Replace(opening, `"resources"`, `"pony":1.0,"resources"`, 1) + closing,
		},
		{name: "other image", why: "R2", a: strings.Replace(opening, `"name"`, `"image":"a","name"`, 1) + closing, b: strings.Replace(opening, `"name"`, `"image":"b","name"`, 1) + closing, scan: "different"},
		{name: "false", why: "R2: the zero value of a plain field", a: opening + closing, b: strings.Replace(opening+closing, `}]}`, `}],"hostPID":false}`, 1), same: true, scan: "unsure"},
		{name: "false for a pointer", why: "set to false is not unset", a: opening + closing, b: strings.Replace(opening+closing, `}]}`, `}],"hostUsers":false}`, 1), scan: "unsure"},
		{name: "true", why: "R2", a: opening + closing, b: strings.Replace(opening+closing, `}]}`, `}],"hostPID":true}`, 1), scan: "different"},
		{name: "true and false", why: "R2", a: around(`"a":true,`), b: around(`"a":false,`), scan: "different"},
		{name: "minus zero", why: "R2: the same integer", a: around(`"a":0,`), b: around(`"a":-0,`), same: true, scan: "unsure"},
		{name: "integers", why: "R2", a: around(`"activeDeadlineSeconds":1,`), b: around(`"activeDeadlineSeconds":2,`), scan: "different"},
		{name: "leading zero", why: "no JSON", a: around(`"activeDeadlineSeconds":1,`), b: around(`"activeDeadlineSeconds":01,`), scan: "unsure"},
		{name: "case of a field", why: "the API counts case: an unknown field", a: around(`"hostPID":true,`), b: around(`"hostpid":true,`), scan: "different"},
		{name: "escape", why: "R2: the same text", a: noted(`"note"`), b: noted(`"\u006eote"`), same: true, scan: "unsure"},
		{name: "invalid UTF-8", why: "both are read as the replacement character", a: noted("\"\xff\""), b: noted("\"\xfe\""), same: true, scan: "unsure"},
		{name: "one invalid UTF-8", why: "it is read as the replacement character", a: noted("\"\ufffd\""), b: noted("\"\xff\""), same: true, scan: "unsure"},
		{name: "upper case exponents", why: "R2", a: limits(`"1E3"`), b: limits(`"1k"`), same: true, scan: "unsure"},
		{name: "decimals below one", why: "not empty", a: opening + closing, b: strings.Replace(opening+closing, `}]}`, `}],"pony":0.5}`, 1), scan: "different"},
		{name: "text below one", why: "not empty", a: opening + closing, b: strings.Replace(opening+closing, `}]}`, `}],"pony":"-.5"}`, 1), scan: "different"},
		{
			name: "escaped zero", why: "R2: an absent divisor is zero", same: true, scan: "unsure",
			a: around(`"volumes":[{"downwardAPI":{"items":[{"path":"p","resourceFieldRef":{"resource":"r"}}]},"name":"v"}],`),
			b: around(`"volumes":[{"downwardAPI":{"items":[{"path":"p","resourceFieldRef":{"divisor":"\u0030","resource":"r"}}]},"name":"v"}],`),
		},
		{name: "digits in a note", why: "R2: other digits, other text", a: noted(`"68293403851429488"`), b: noted(`"68293403851429489"`), scan: "different"},
		{name: "quantity in a note", why: "text is text", a: noted(`"1000m"`), b: noted(`"1"`), scan: "unsure"},
		{name: "time in a note", why: "text is text", a: noted(`"2024-01-01T00:00:00Z"`), b: noted(`"2024-01-01T01:00:00+01:00"`), scan: "unsure"},
		{name: "digest in a note", why: "begins with digits, is no number", a: noted(`"9c1f3a"`), b: noted(`"9c1f3b"`), scan: "different"},
		{name: "no $patch", why: "the directive says nothing of the template", a: opening + closing, b: strings.Replace(opening, `"$patch":"replace",`, ``, 1) + closing, same: true, scan: "unsure"},
		{name: "other $patch", why: "not a whole template", a: opening + closing, b: strings.Replace(opening, `replace`, `merge`, 1) + closing, scan: "different"},
		{name: "no template", why: "unreadable", a: `{"spec":{}}`, b: `{"spec":{ }}`, scan: "unsure"},
		{name: "null template", why: "unreadable", a: `{"spec":{"template":null}}`, b: `{"spec":{ "template":null}}`, scan: "unsure"},
		{name: "no JSON, equal", why: "byte-equal", a: `x`, b: `x`, same: true, scan: "unsure"},
		{name: "empty, equal", why: "byte-equal", a: ``, b: ``, same: true, scan: "unsure"},
		{name: "trailing text", why: "no JSON", a: opening + closing, b: opening + closing + "}", scan: "unsure"},
		{name: "cut", why: "no JSON", a: opening + closing, b: (opening + closing)[:len(opening)], scan: "unsure"},
		{name: "zero in another spelling", why: "R2: empty, in an unknown field too", a: opening + closing, b: around(`"pony":-0.0e5,`), same: true, scan: "unsure"},
		{name: "zero with a greater exponent", why: "the exponent of zero says nothing", a: around(`"pony":0e5,`), b: around(`"pony":0E7,`), same: true, scan: "unsure"},
		{name: "almost a suffix", why: "no quantity, so other text", a: noted(`"1ex"`), b: noted(`"1ey"`), scan: "different"},
		{name: "sign alone", why: "no quantity, so other text", a: noted(`"-"`), b: noted(`"+"`), scan: "different"},
		{name: "zero quantity in a note", why: "an entry of a map, whatever it holds", a: noted(`"0"`), b: strings.Replace(noted(`"0"`), `"note":"0"`, ``, 1), scan: "unsure"},
		{name: "cut in a value", why: "no JSON", a: opening + closing, b: (opening + closing)[:strings.Index(opening, `main`)], scan: "unsure"},
		{name: "cut in a value that is missing", why: "no JSON", a: opening + closing, b: `{"a":"`, scan: "unsure"},
		{name: "cut after a value that is missing", why: "no JSON, so not the same", a: opening + closing, b: `{"a":1`, scan: "different"},
		{name: "cut in a later value", why: "no JSON", a: opening + closing, b: `{"tail":{"a`, scan: "unsure"},
		{name: "cut in an escape", why: "no JSON", a: opening + closing, b: `{"spec\`, scan: "unsure"},
		{name: "key without value", why: "no JSON", a: opening + closing, b: `{"spec"}`, scan: "unsure"},
		{name: "key with escape", why: "R2: the same key", a: around(`"hostPID":true,`), b: around(`"host\u0050ID":true,`), same: true, scan: "unsure"},
		{name: "closing bracket in an object", why: "no JSON", a: around(`"a":{"b":1},`), b: around(`"a":{"b":1],`), scan: "unsure"},
		{name: "list without comma", why: "no JSON", a: around(`"args":["a","b"],`), b: around(`"args":["a" "b"],`), scan: "unsure"},
		{name: "lists of texts", why: "R2: element by element", a: around(`"args":["a","b","c"],`), b: around(`"args":["a","b","d"],`), scan: "different"},
		{name: "unknown false", why: "R2: an unknown field that is empty", a: around(`"pony":{"x":false},"zone":{"cpu":"1"},`), b: around(`"zone":{"cpu":"1"},`), same: true, scan: "unsure"},
		{name: "wrong type", why: "unreadable", a: around(`"hostPID":"",`), b: around(`"hostPID": "",`), scan: "unsure"},
		{name: "longer list", why: "R2", a: around(`"args":["a"],`), b: around(`"args":["a","b"],`), scan: "different"},
		{name: "deep", why: "deeper than the scan goes", a: around(`"a":` + strings.Repeat("[", 90) + `1` + strings.Repeat("]", 90) + `,`), b: around(`"a":` + strings.Repeat("[", 90) + `2` + strings.Repeat("]", 90) + `,`), scan: "unsure"},
		{name: "null in raw JSON", why: "it is kept as it is, behind an object too", scan: "unsure", a: managed(`{"f:a":{},"f:b":null}`), b: managed(`{"f:a":{}}`)},
		{name: "null in a list of raw JSON", why: "it is kept as it is", scan: "unsure", a: managed(`{"l":["x",{}]}`), b: managed(`{"l":["x",{"n":null}]}`)},
		{
			name: "text escaped in a list", why: "R2: the same text; what follows is compared as ever", same: true, scan: "unsure",
			a: strings.Replace(opening, `"name"`, `"args":["\u0061","b"],"command":null,"name"`, 1) + closing,
			b: strings.Replace(opening, `"name"`, `"args":["a","b"],"envFrom":null,"name"`, 1) + closing,
		},
		{name: "quote in a text", why: "it does not end it", a: around(`"args":["\"]"],`), b: around(`"args":["\"\u005d"],`), same: true, scan: "unsure"},
		{name: "quote at the end of a text", why: "the next one ends it", a: around(`"args":["a\"","]"],`), b: around(`"args":["a\"","\u005d"],`), same: true, scan: "unsure"},
		{name: "null behind an escaped key", why: "R2: unknown, and empty", a: around(`"pony":[{"\u0061":null}],`), b: around(`"pony":[{}],`), same: true, scan: "unsure"},
		{name: "null behind a key beyond ASCII", why: "R2: unknown, and empty", a: opening + closing, b: strings.Replace(opening, `"resources"`, `"pony":{"é":null},"resources"`, 1) + closing, same: true, scan: "unsure"},
		{name: "lists of several kinds", why: "element by element, whatever is before", a: around(`"pony":[{"n":null},1,5],`), b: around(`"pony":[{},2,5],`), scan: "different"},
		{name: "key that repeats below itself", why: "another key is another key", a: `{"abcd":{"abce":{"abcd":1}}}`, b: `{"abcd":{"abcd":{"abcd":1}}}`, scan: "different"},
		{name: "key that repeats, the other way round", why: "the same", a: `{"abcd":{"abcd":{"abcd":1}}}`, b: `{"abcd":{"abce":{"abcd":1}}}`, scan: "different"},
		{name: "short and long", why: "no template", a: `{"x":1}`, b: `{"x":1,"yyyyyyyy":null}`, scan: "same"},
		{name: "empty key", why: "no template", a: `{"":1}`, b: `{"":2}`, scan: "different"},
		{name: "number for a key", why: "no JSON", a: `{1:2}`, b: `{1:3}`, scan: "unsure"},
		{name: "comma before the first key", why: "no JSON", a: opening + closing, b: "{," + opening[1:] + closing, scan: "unsure"},
		{name: "comma before the first element", why: "no JSON", a: around(`"args":["a"],`), b: around(`"args":[,"a"],`), scan: "unsure"},
		{name: "nine", why: "a digit as any other", a: around(`"activeDeadlineSeconds":9,`), b: around(`"activeDeadlineSeconds":8,`), scan: "different"},
		{name: "nine for nothing", why: "not empty", a: opening + closing, b: around(`"a":9,`), scan: "different"},
		{name: "nothing for a value", why: "no JSON", a: opening + closing, b: strings.Replace(opening, `"resources"`, `"pony":{"a":},"resources"`, 1) + closing, scan: "unsure"},
		{
			name: "null below the scan", why: "R2: unknown, and empty", same: true, scan: "unsure",
			a: around(`"a":` + strings.Repeat("[", 60) + `{"x":null}` + strings.Repeat("]", 60) + `,`),
			b: around(`"a":` + strings.Repeat("[", 60) + `{"y":null}` + strings.Repeat("]", 60) + `,`),
		},
		{name: "too deep", why: "unreadable", a: around(`"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,`), b: around(`"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,"b":0,`), scan: "unsure"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			if got := history.SameData([]byte(row.a), []byte(row.b)); got != row.same {
				t.Errorf("same %v, want %v: %s\n%s\n%s", got, row.same, row.why, row.a, row.b)
			}
			if got := history.SameData([]byte(row.b), []byte(row.a)); got != row.same {
				t.Errorf("the other way round %v, want %v: %s", got, row.same, row.why)
			}
			if row.a == row.b {
				return
			}
			for _, marked := range []bool{false, true} {
				if got := history.ScanSays([]byte(row.a), []byte(row.b), marked); got != row.scan {
					t.Errorf("marked %v: the scan says %s, want %s: %s\n%s\n%s", marked, got, row.scan, row.why, row.a, row.b)
				}
			}
		})
	}
}

// A scan without marks compares token by token; both ways must come to the same everywhere in a long text.
func TestScanWithAndWithoutMarks(t *testing.T) {
	if !history.Marked(mustData(realistic("v1"))) {
		t.Fatal("what Data writes has no marks")
	}
	template := realistic("v1")
	template.Spec.InitContainers, template.Spec.Volumes = nil, template.Spec.Volumes[:1]
	for i := range template.Spec.Containers {
		c := &template.Spec.Containers[i]
		c.Env, c.VolumeMounts, c.LivenessProbe = c.Env[13:], c.VolumeMounts[:1], nil
	}
	text := mustData(template)
	for i := range text {
		for _, changed := range []string{
			string(text[:i]) + "x" + string(text[i+1:]),
			string(text[:i]) + string(text[i+1:]),
			string(text[:i]) + `"a":null,` + string(text[i:]),
		} {
			plain, marked := history.ScanSays(text, []byte(changed), false), history.ScanSays(text, []byte(changed), true)
			if plain != marked {
				t.Fatalf("at %d: %s without marks, %s with:\n%s", i, plain, marked, changed)
			}
			if i%7 == 0 && marked != "unsure" && (marked == "same") != naiveSame(text, []byte(changed)) {
				t.Fatalf("at %d: wrongly %s:\n%s", i, marked, changed)
			}
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	a, b := mustData(realistic("v1")), mustData(realistic("v2"))
	if n := testing.AllocsPerRun(100, func() { history.ScanSays(a, b, false) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The scan takes null members for absent ones except in these fields, by name. A new version of k8s.io/api may
// bring another.
func TestOpaqueFieldsAreComplete(t *testing.T) {
	var fields []string
	seen := map[reflect.Type]bool{}
	var walk func(name string, typ reflect.Type)
	walk = func(name string, typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(name, typ.Elem())
		case reflect.Map:
			fields = append(fields, name)
			walk(name, typ.Elem())
		case reflect.Interface, reflect.Float32, reflect.Float64:
			t.Errorf("field %s is of type %s, which the scan does not expect", name, typ)
		case reflect.Struct:
			switch typ.String() {
			case "v1.FieldsV1":
				fields = append(fields, name)
				return
			case "v1.Time", "resource.Quantity", "intstr.IntOrString":
				return
			}
			if seen[typ] {
				return
			}
			seen[typ] = true
			if _, ok := reflect.PointerTo(typ).MethodByName("UnmarshalJSON"); ok {
				t.Errorf("field %s is of type %s, which decodes itself in a way the scan does not know", name, typ)
			}
			for member := range typ.Fields() {
				tag, _, _ := strings.Cut(member.Tag.Get("json"), ",")
				walk(tag, member.Type)
			}
		}
	}
	walk("", reflect.TypeFor[corev1.PodTemplateSpec]())
	slices.Sort(fields)
	if fields = slices.Compact(fields); !slices.Equal(fields, history.OpaqueFields()) {
		t.Errorf("maps and raw JSON in a pod template: %q, the scan knows %q", fields, history.OpaqueFields())
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, row := range []struct {
		name, why string
		data      string
		says      string
	}{
		{"no data", "there is nothing", ``, "not valid JSON"},
		{"cut", "no JSON", `{"spec":`, "not valid JSON"},
		{"list", "no object", `[]`, "no spec.template"},
		{"no spec", "nothing to decode", `{}`, "no spec.template"},
		{"spec of a wrong type", "nothing to decode", `{"spec":1}`, "no spec.template"},
		{"template of a wrong type", "nothing to decode", `{"spec":{"template":[]}}`, "no spec.template"},
		{"another directive", "a patch is not a template", `{"spec":{"template":{"$patch":"merge"}}}`, `$patch is "merge"`},
		{"field twice", "which one counts is open", `{"spec":{"template":{"spec":{"hostPID":true,"hostPID":false}}}}`, `"hostPID" appears twice`},
		{"wrong type", "this version cannot read it", around(`"hostPID":"yes",`), "hostPID"},
		{"unknown field", "decoding would drop it", around(`"pony":{"legs":4},`), "unknown to this API version: spec.template.spec.pony"},
		{"unknown fields", "all are named, in order", around(`"pony":1,"mule":1,`), "spec.template.spec.mule, spec.template.spec.pony"},
		{"unknown in a list", "it has an index", strings.Replace(opening, `"name"`, `"pony":1,"name"`, 1) + closing, "spec.template.spec.containers[0].pony"},
		{"unknown beside the template", "it is not daemonplan's", `{"spec":{"claims":[1],"template":{}}}`, "spec.claims"},
		{"slow quantity", "must end", opening + `"limits":{"cpu":"1e-99999"}` + closing, "spec.template.spec.containers[0].resources.limits[cpu]"},
		{"slow number", "must end", opening + `"limits":{"cpu":1E-99999}` + closing, "limits[cpu]"},
		{"long quantity", "must end soon", opening + `"limits":{"c\"":"0.` + strings.Repeat("0", 200) + `"}` + closing, `limits["c\""]`},
		{"too deep", "bounded recursion", around(`"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,`), "nested more than 200 deep"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "agent-1"}}
			revision.Data.Raw = []byte(row.data)
			template, err := history.Template(revision)
			if template != nil || !errors.Is(err, history.ErrUnreadable) {
				t.Fatalf("got %v, %v", template, err)
			}
			if !strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), `"agent-1"`) {
				t.Errorf("%s: the error is %q and should name %q", row.why, err, row.says)
			}
		})
	}
	if _, err := history.Template(nil); !errors.Is(err, history.ErrUnreadable) {
		t.Errorf("nil revision: %v", err)
	}
}

func TestTemplateDecodes(t *testing.T) {
	for _, row := range []struct{ name, why, data string }{
		{"as stored", "R1", opening + closing},
		{"without directive", "others may not write it", strings.Replace(opening, `"$patch":"replace",`, ``, 1) + closing},
		{"unknown but empty", "dropping it loses nothing", around(`"pony":{"legs":0},`)},
		{"largest exponents", "slow only beyond", opening + `"limits":{"cpu":"1e-9999","memory":"1e99999"}` + closing},
		{"exa and exbi", "E is a suffix too", opening + `"limits":{"cpu":"1E","memory":"1Ei"}` + closing},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			revision := &appsv1.ControllerRevision{}
			revision.Data.Raw = []byte(row.data)
			template, err := history.Template(revision)
			if err != nil || len(template.Spec.Containers) != 1 || template.Spec.Containers[0].Name != "main" {
				t.Errorf("%s: %+v, %v", row.why, template, err)
			}
		})
	}
}

func TestDataIsExactAndEscaped(t *testing.T) {
	template := image("a<b>&c\u2028")
	template.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1<<63 - 1))}
	data := string(mustData(template))
	for _, want := range []string{`a\u003cb\u003e\u0026c\u2028`, `"runAsUser":9223372036854775807`, `"resources":{}`} {
		if !strings.Contains(data, want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	template.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1("{")}}
	if data, err := history.Data(template); err == nil || data != nil {
		t.Errorf("invalid raw JSON gave %s", data)
	}
	if _, err := history.Compile(history.Set{Name: "agent"}, template); err == nil {
		t.Error("invalid raw JSON compiled")
	}
}

func TestHashOf(t *testing.T) {
	labelled := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name: "agent-1", Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: "h"},
	}}
	empty := labelled.DeepCopy()
	empty.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = ""
	for _, row := range []struct {
		name, why string
		revision  *appsv1.ControllerRevision
		want      string
	}{
		{"labelled", "the label is what pods carry", labelled, "h"},
		{"unlabelled", "the controller labels it with its name", &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "agent-1"}}, "agent-1"},
		{"empty label", "pods without label must not match", empty, "agent-1"},
		{"nil", "no panic", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := history.HashOf(row.revision); row.why == "" || got != row.want {
				t.Errorf("%q, want %q: %s", got, row.want, row.why)
			}
		})
	}
}

func TestHashOfNilTemplate(t *testing.T) {
	if got := history.Hash(nil, nil); got != "" {
		t.Errorf("%q", got)
	}
}
