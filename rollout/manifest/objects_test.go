package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// list reads all objects, each as "document/item apiVersion kind name".
func list(data string) (objects []string, err error) {
	for object, err := range manifest.Objects([]byte(data)) {
		if err != nil {
			return objects, err
		}
		var meta metav1.PartialObjectMetadata
		if err := object.Decode(&meta); err != nil {
			return objects, err
		}
		objects = append(objects, fmt.Sprintf("%d/%d %s %s %s", object.Document, object.Item, object.APIVersion, object.Kind, meta.Name))
	}
	return objects, nil
}

func TestObjects(t *testing.T) {
	node := func(name string) string {
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `"}}`
	}
	type test struct {
		row
		text string
		want []string
	}
	each(t, []test{
		{row{"nothing", "empty data has no objects"}, "", nil},
		{row{"separators", "empty documents are not counted"}, "---\n---\n\n--- # a comment\n---\n" + node("a"), []string{"1/0 v1 Node a"}},
		{row{"stream", "JSON values follow one another"}, node("a") + node("b") + "\n " + node("c"),
			[]string{"1/0 v1 Node a", "2/0 v1 Node b", "3/0 v1 Node c"}},
		{row{"list last", "kubectl sorts keys: the kind follows the items"}, `{"apiVersion":"v1","items":[` + node("a") + " ,\n" + node("b") + `],"kind":"List"}`,
			[]string{"1/1 v1 Node a", "1/2 v1 Node b"}},
		{row{"list first", "other programs do not sort"}, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[` + node("a") + `]}`,
			[]string{"1/1 v1 Node a"}},
		{row{"typed list", "its items need not say what they are"}, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p"}},` + node("a") + `]}`,
			[]string{"1/1 v1 Pod p", "1/2 v1 Node a"}},
		{row{"empty list", "has no objects"}, `{"kind":"List","items":[]}` + node("a"), []string{"2/0 v1 Node a"}},
		{row{"no list", "an object whose kind ends so, without items"}, `{"kind":"PriceList","apiVersion":"x/v1","metadata":{"name":"l"}}`,
			[]string{"1/0 x/v1 PriceList l"}},
		{row{"null items", "what Go writes for none: an object like any other"}, `{"kind":"NodeList","apiVersion":"v1","items":null}`,
			[]string{"1/0 v1 NodeList "}},
		{row{"items of no list", "an object may have such a field"}, `{"kind":"Basket","items":[1],"apiVersion":"x/v1"}`, []string{"1/0 x/v1 Basket "}},
		{row{"directive", "YAML 1.1 and 1.2 are read alike"}, "\ufeff# made by hand\n\n%YAML  1.2 # or 1.1\r\n---\nkind: Node\n", []string{"1/0  Node "}},
		{row{"directive of the older version", "the same"}, "%YAML 1.1\n--- {kind: Node}\n", []string{"1/0  Node "}},
		{row{"array", "as jq prints .items"}, "[" + node("a") + "," + node("b") + "]", []string{"1/1 v1 Node a", "1/2 v1 Node b"}},
		{row{"empty array", "has no objects"}, "[]", nil},
		{row{"YAML list", "kubectl -o yaml"}, "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    name: a\nkind: List\n",
			[]string{"1/1 v1 Node a"}},
		{row{"mixed", "YAML and JSON in one file"}, "kind: Node\nmetadata: {name: a}\n---\n" + node("b") + node("c") + "\n---\nkind: Node\n",
			[]string{"1/0  Node a", "2/0 v1 Node b", "3/0 v1 Node c", "4/0  Node "}},
		{row{"content beside the separator", "YAML allows it"}, "--- {kind: Node}\n---\t{\"kind\": \"Pod\"}\n", []string{"1/0  Node ", "2/0  Pod "}},
		{row{"no separator", "dashes within a line, a longer line of dashes in a comment, indented dashes"},
			"kind: Node\n# ---\nmetadata:\n  name: a\n  annotations:\n    x: a --- b\n    y: |\n      ---\n      text\n----x: y\n", []string{"1/0  Node a"}},
		{row{"strings", "brackets, quotes and backslashes within strings end nothing"},
			`{"kind":"List","items":[{"kind":"Node","metadata":{"annotations":{"\\":"]}\\\"[{","b\\\\":"\\"},"name":"a"}},` + node("b") + `]}`,
			[]string{"1/1  Node a", "1/2 v1 Node b"}},
		{row{"kind alone in a typed list", "an item that says what it is, is that"}, `{"kind":"PodList","apiVersion":"v1","items":[{"kind":"Special"}]}`,
			[]string{"1/1  Special "}},
		{row{"empty array first", "as jq prints no items"}, "[]\n" + node("a"), []string{"2/0 v1 Node a"}},
		{row{"YAML with quotes first", "keys may have them, and comments"}, "\"kind\": Node\n---\n# \"by hand\"\nkind: Pod\n", []string{"1/0  Node ", "2/0  Pod "}},
		{row{"YAML list in brackets", "begins like JSON and is none"}, "[{kind: Node}, {kind: Pod}]", []string{"1/1  Node ", "1/2  Pod "}},
		{row{"YAML list of aliases", "is longer than it looks"}, "[&a {kind: Node, metadata: {name: a}}, *a, *a, *a]",
			[]string{"1/1  Node a", "1/2  Node a", "1/3  Node a", "1/4  Node a"}},
		{row{"kind twice below", "only the top level counts"}, `{"metadata":{"kind":"Pod","name":"a"},"kind":"Node","apiVersion":"v1"}`, []string{"1/0 v1 Node a"}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		got, err := list(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	})
}

// mistaken is a text with a mistake, and what Objects says of it.
type mistaken struct {
	row
	text string
	want string
}

func TestObjectsErrors(t *testing.T) {
	findMistakes(t, []mistaken{
		{row{"first", "even the only document is numbered: the caller puts a file name before it"}, "a: b: c", "document 1: mapping values are not allowed in this context"},
		{row{"second", "documents count, empty ones do not"}, "kind: A\n---\n---\nb: c: d", "document 2: line 4: mapping values are not allowed in this context"},
		{row{"item", "of a list in YAML"}, "kind: List\nitems:\n- kind: A\n- {}\n", "document 1, item 2: kind: Required value: says what the object is"},
		{row{"item is no object", "of a list in JSON"}, `{"kind":"List","items":[{"kind":"A"},5]}`, "document 1, item 2: must be an object with apiVersion and kind, not 5"},
		{row{"item without kind", "a List says nothing of its items"}, `{"kind":"List","items":[{"metadata":{}}]}`, "document 1, item 1: kind: Required value: says what the object is"},
		{row{"no comma", "found while splitting"}, "{\"kind\":\"List\",\n\"items\":[{\"kind\":\"A\"}\n{\"kind\":\"B\"}]}",
			"document 1, item 1: line 3: invalid character '{' after array element"},
		{row{"comma at the end", "found while splitting"}, `{"kind":"List","items":[{"kind":"A"},]}`, "document 1, item 1: line 1: invalid character ']' looking for beginning of value"},
		{row{"array of arrays", "no objects"}, "[[1]]", "document 1, item 1: must be an object with apiVersion and kind, not [1]"},
		{row{"apiVersion is a list", "it must be a string"}, `{"apiVersion":["v1"],"kind":"A"}`, `document 1: apiVersion: Invalid value: "[\"v1\"]": must be a string`},
		{row{"kind not closed", "a string without end"}, `{"kind":"A`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"key not closed", "a string without end"}, `{"kind`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"before a separator", "lines count the same whatever follows"}, "{\n\n\"a\" 5}\n---\n", "document 1: line 3: invalid character '5' after object key"},
		{row{"closing only", "no object"}, "{\"kind\":\"A\"}\n}", `document 2: line 2: an object must begin with {, not with "}"`},
		{row{"missing colon", "found while looking for the kind"}, "{\n\"a\" 5}", "document 1: line 2: invalid character '5' after object key"},
		{row{"wrong bracket", "counts as the end, then the parser says what is wrong"}, `{"a": 1]`, "document 1: line 1: invalid character ']' after object key:value pair"},
		{row{"bracket for a value", "there is none"}, `{"a":]`, "document 1: line 1: invalid character ']' looking for beginning of value"},
		{row{"equals sign", "no colon"}, `{"apiVersion":"v1","kind"="Node"}`, "document 1: line 1: invalid character '=' after object key"},
		{row{"other quotes", "no key"}, `{"a":1,'kind":"Node",'apiVersion":"v1"}`, `document 1: line 1: invalid character '\'' looking for beginning of object key string`},
		{row{"kind not closed before a brace", "the brace is part of it"}, `{"kind":"A}`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"kind of an item", "it must be a string"}, `{"kind":"List","items":[{"kind":5}]}`, `document 1, item 1: kind: Invalid value: "5": must be a string`},
		{row{"binary", "there is no text to find documents in"}, "\x00\xff", "document 1: the data is not UTF-8 text"},
		{row{"after a list", "what is wrong is not in the list"}, "{\"kind\":\"List\",\"items\":[{\"kind\":\"A\"}]}\n5\n\n",
			`document 2: line 2: an object must begin with {, not with "5"`},
		{row{"document after a list", "what is wrong is not in the list"}, "[{\"kind\":\"A\"}]\n---\na: b: c\n",
			"document 2: line 3: mapping values are not allowed in this context"},
		{row{"later piece", "lines count from the top"}, "kind: A\n---\n{\"kind\": \"B\"}\n\n x", `document 3: line 5: an object must begin with {, not with "x"`},
	})
}

// findMistakes expects the error of each row as the last pair.
func findMistakes(t *testing.T, tests []mistaken) {
	t.Helper()
	each(t, tests, func(c mistaken) row { return c.row }, func(t *testing.T, c mistaken) {
		var got error
		for object, err := range manifest.Objects([]byte(c.text)) {
			if got != nil {
				t.Fatalf("a pair follows the error: %+v, %v", object, err)
			}
			got = err
			if err == nil {
				continue
			}
			e, ok := errors.AsType[*manifest.DocumentError](err)
			if !ok || e.Document != object.Document || e.Item != object.Item || object.Kind != "" {
				t.Errorf("error %#v and object %+v do not name the same place", err, object)
			}
		}
		if got == nil || got.Error() != c.want {
			t.Errorf("got  %v\nwant %s", got, c.want)
		}
	})
}

// TestObjectsStop leaves the loop early, at every point.
func TestObjectsStop(t *testing.T) {
	data := []byte(`{"kind":"List","items":[{"kind":"A"},{"kind":"B"}]}{"kind":"C"}` + "\n---\nkind: D\n---\n{")
	for stop := 1; stop <= 4; stop++ {
		n := 0
		for _, err := range manifest.Objects(data) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("got %d objects, want %d", n, stop)
		}
	}
}

func TestObjectDecodeErrors(t *testing.T) {
	type test struct {
		row
		text string
		want string
	}
	each(t, []test{
		{row{"syntax", "the line is that of the input"}, "{\"kind\":\"Node\"}\n{\"kind\":\"Node\",\n\"spec\":{\"taints\":[,]}}", "line 3: invalid character ',' looking for beginning of value"},
		{row{"syntax in an item", "the line is that of the input"}, "{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\"},\n{\"kind\":\"Node\",\n\"spec\":{,}}]}", "line 4: invalid character ',' looking for beginning of object key string"},
		{row{"syntax in an array", "the line is that of the input"}, "[\n{\"kind\":\"Node\",\"spec\":tru}]", "line 2: invalid character '}' in literal true (expecting 'e')"},
		{row{"syntax at the end of a line", "the line of the mistake, not the next one"}, "{\"kind\":\"Node\",\n\"spec\":{\"taints\":[,\n]}}", "line 2: invalid character ',' looking for beginning of value"},
		{row{"line break in a string", "it belongs to the line that it ends"}, "{\"kind\":\"Node\",\"spec\":{\"podCIDR\":\"a\nb\"}}", `line 1: invalid character '\n' in string literal`},
		{row{"comma missing", "finding the object passes over it"}, `{"kind":"Node" "apiVersion":"v1"}`, `line 1: invalid character '"' after object key:value pair`},
		{row{"syntax behind the kind", "finding the object does not read on"}, `{"apiVersion":"v1","kind":"Node","spec" 5}`, "line 1: invalid character '5' after object key"},
		{row{"types", "all at once"}, `{"kind":"Node","spec":{"unschedulable":"maybe","taints":[{"key":1}]}}`,
			`[spec.unschedulable: Invalid value: "maybe": must be true or false, spec.taints[0].key: Invalid value: 1: must be a string]`},
		{row{"base64", "bytes are written so"}, `{"kind":"Node","spec":{"unschedulable":1}}`, `spec.unschedulable: Invalid value: 1: must be true or false`},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		var got error
		for object, err := range manifest.Objects([]byte(c.text)) {
			if err != nil {
				t.Fatal(err)
			}
			if err := object.Decode(new(corev1.Node)); err != nil && got == nil {
				got = err
			}
		}
		if got == nil || got.Error() != c.want {
			t.Errorf("got  %v\nwant %s", got, c.want)
		}
	})
}

// TestObjectDecodeBytes covers what no manifest of a DaemonSet has: bytes in base64, and long values in messages.
func TestObjectDecodeBytes(t *testing.T) {
	decode := func(data string) error {
		for object, err := range manifest.Objects([]byte(`{"kind":"Secret","data":{"a":` + data + `}}`)) {
			if err != nil {
				return err
			}
			return object.Decode(new(corev1.Secret))
		}
		return nil
	}
	if err := decode(`"aGVsbG8="`); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("x", 100)
	want := "metadata.creationTimestamp: Invalid value: \"" + long[:60] + "…\": must be a time such as 2006-01-02T15:04:05Z"
	if err := decode(`"","b":""},"metadata":{"creationTimestamp":"` + long + `"`); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	want = "metadata.creationTimestamp: Invalid value: \"" + long[:60] + "\": must be a time such as 2006-01-02T15:04:05Z"
	if err := decode(`"","b":""},"metadata":{"creationTimestamp":"` + long[:60] + `"`); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, bad := range []string{`"a"`, `5`} {
		want := "data[a]: Invalid value: " + bad + ": must be a string in base64"
		if err := decode(bad); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestObjectDecodeUnexported has fields that encoding/json finds in a struct that is not exported, or behind a pointer, and
// some that it does not.
func TestObjectDecodeUnexported(t *testing.T) {
	type inner struct{ A int }
	type Outer struct{ B int }
	var into struct {
		inner
		*Outer
		Skipped int `json:"-"`
		hidden  int
	}
	for object, err := range manifest.Objects([]byte(`{"kind":"K","A":"x","B":"z","hidden":"y","-":"w"}`)) {
		if err != nil {
			t.Fatal(err)
		}
		want := `[A: Invalid value: "x": must be a number, B: Invalid value: "z": must be a number]`
		if err := object.Decode(&into); err == nil || err.Error() != want || into.hidden != 0 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestObjectDecodeIntoAnything hands in what no decoder can write to, and types that it must not stumble upon.
func TestObjectDecodeIntoAnything(t *testing.T) {
	type Self struct {
		*Self
		A int
	}
	type Name string
	type odd struct {
		Name
		*metav1.TypeMeta `json:",inline"`
		Func             func()           `json:"func"`
		Chan             chan int         `json:"chan"`
		Complex          complex64        `json:"complex"`
		Any              any              `json:"any"`
		Array            [2]int           `json:"array"`
		Keys             map[int]string   `json:"keys"`
		Deep             map[string][]odd `json:"deep"`
		Skipped          int              `json:"-"`
		Number           float32          `json:"number"`
	}
	type keyed struct {
		Keys map[int]string `json:"keys"`
	}
	text := `{"kind":"A","A":"x","func":1,"chan":{},"complex":"x","any":[],"array":[1,2,3],"keys":{"a":"b"},"deep":{"a":[{"A":1}]},"number":"x"}`
	for object, err := range manifest.Objects([]byte(text)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, into := range []any{
			nil, 5, "text", odd{}, (*odd)(nil), new(odd), new(Self), new(keyed), new(int), new(func()), new([]int), new([]byte),
		} {
			if object.Decode(into) == nil {
				t.Errorf("Decode(%T) reports no error", into)
			}
		}
	}
	if (manifest.Object{}).Decode(new(odd)) == nil {
		t.Error("an object without text decodes")
	}
	if (manifest.Object{JSON: []byte(`{"kind":"A`)}).Decode(new(odd)) == nil {
		t.Error("an object that does not end decodes")
	}
	if _, err := (manifest.Object{APIVersion: "apps/v1", Kind: "DaemonSet"}).Set(); err == nil {
		t.Error("an object without text is a manifest")
	}
}

// naive splits JSON with a parser.
func naive(data []byte) []map[string]any {
	var found []map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value map[string]any
		if decoder.Decode(&value) != nil {
			return found
		}
		if items, ok := value["items"].([]any); ok && strings.HasSuffix(value["kind"].(string), "List") {
			for _, item := range items {
				found = append(found, item.(map[string]any))
			}
			continue
		}
		found = append(found, value)
	}
}

// genJSON draws any JSON value, with strings that try to look like structure.
func genJSON(depth int) *rapid.Generator[any] {
	text := rapid.StringOfN(rapid.SampledFrom([]rune(`"\{}[],:- ab`+"\n")), 0, 6, -1)
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 4
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return text.Draw(t, "text")
		case 1:
			return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
		case 2:
			return rapid.Bool().Draw(t, "bool")
		case 3:
			return nil
		case 4:
			return rapid.SliceOfN(genJSON(depth-1), 0, 4).Draw(t, "list")
		default:
			return rapid.MapOfN(text, genJSON(depth-1), 0, 4).Draw(t, "object")
		}
	})
}

// dump is a stream of objects and lists, as JSON and as what Objects is to read.
type dump struct{ plain, text []byte }

// genDump draws JSON of any indentation or YAML, one or several documents.
func genDump() *rapid.Generator[dump] {
	return rapid.Custom(func(t *rapid.T) dump {
		var d dump
		asYAML := rapid.Bool().Draw(t, "yaml")
		object := func() any {
			o := map[string]any{"kind": "A", "apiVersion": "v1", "spec": genJSON(3).Draw(t, "value")}
			if rapid.Bool().Draw(t, "first") {
				o["a"] = genJSON(2).Draw(t, "a")
			}
			return o
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "documents") {
			value := object()
			if rapid.Bool().Draw(t, "list") {
				items := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					items = append(items, object())
				}
				value = map[string]any{"kind": "List", "apiVersion": "v1", "items": items, "metadata": genJSON(1).Draw(t, "metadata")}
			}
			encoded, err := json.MarshalIndent(value, "", strings.Repeat(" ", rapid.IntRange(0, 4).Draw(t, "indent")))
			if err != nil {
				t.Fatal(err)
			}
			d.plain = append(d.plain, encoded...)
			if asYAML {
				if encoded, err = yaml.JSONToYAML(encoded); err != nil {
					t.Fatal(err)
				}
			}
			switch {
			case i > 0 && asYAML: // YAML ends with a line break, and a second one could belong to the last string
				d.text = append(d.text, "---\n"...)
			case i > 0 && rapid.Bool().Draw(t, "separator"):
				d.text = append(d.text, "\n---\n"...)
			}
			d.text = append(d.text, encoded...)
		}
		return d
	})
}

// splitError returns the property: whatever the objects and however they are written, objects finds the same ones as a
// parser does.
func splitError(d dump, objects func([]byte) ([]map[string]any, error)) error {
	got, err := objects(d.text)
	if err != nil {
		return fmt.Errorf("%w in\n%s", err, d.text)
	}
	if diff := cmp.Diff(naive(d.plain), got); diff != "" {
		return fmt.Errorf("objects (-parser +Objects):\n%s\nin\n%s", diff, d.text)
	}
	return nil
}

func TestObjectsAgreeWithParser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := splitError(genDump().Draw(t, "dump"), objectsOf); err != nil {
			t.Fatal(err)
		}
	})
}

func objectsOf(data []byte) ([]map[string]any, error) {
	var found []map[string]any
	for object, err := range manifest.Objects(data) {
		if err != nil {
			return nil, err
		}
		var value map[string]any
		if err := json.Unmarshal(object.JSON, &value); err != nil {
			return nil, err
		}
		var same map[string]any
		if err := object.Decode(&same); err != nil {
			return nil, err
		}
		again, err := json.Marshal(same)
		if err != nil {
			return nil, err
		}
		var decoded map[string]any
		if err := json.Unmarshal(again, &decoded); err != nil {
			return nil, err
		}
		if !cmp.Equal(value, decoded) {
			return nil, fmt.Errorf("Decode reads %s as %s", object.JSON, again)
		}
		found = append(found, value)
	}
	return found, nil
}
