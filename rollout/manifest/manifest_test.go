package manifest_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// row is what every table of this package has.
type row struct {
	name string // unique
	why  string
}

// each runs a table, and refuses rows without name or reason.
func each[T any](t *testing.T, table []T, key func(T) row, test func(*testing.T, T)) {
	t.Helper()
	seen := make(map[string]bool)
	for _, r := range table {
		k := key(r)
		if k.name == "" || k.why == "" || seen[k.name] {
			t.Fatalf("row %+v needs a unique name and a reason", k)
		}
		seen[k.name] = true
		t.Run(k.name, func(t *testing.T) {
			t.Log(k.why)
			test(t, r)
		})
	}
}

// full returns a DaemonSet with every field that a Spec knows.
func full() *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "agent", Namespace: "kube-system", UID: "u-1", Generation: 7,
			Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "5"},
		},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"pool": "general"},
					Containers:   []corev1.Container{{Name: "agent", Image: "agent:v1", Args: []string{"-v"}}},
				},
			},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type: appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{
					MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromString("30%")),
				},
			},
			MinReadySeconds:      30,
			RevisionHistoryLimit: new(int32(3)),
		},
		Status: appsv1.DaemonSetStatus{CollisionCount: new(int32(2))},
	}
	return ds
}

func fullSpec() rollout.Spec {
	ds := full()
	return rollout.Spec{
		Name: "agent", Namespace: "kube-system", UID: "u-1", APIVersion: "apps/v1", Kind: "DaemonSet", Generation: 7,
		TemplateGeneration: new(int64(5)),
		Selector:           ds.Spec.Selector,
		Template:           ds.Spec.Template,
		Strategy: rollout.Strategy{
			Type: rollout.RollingUpdate, MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromString("30%")),
		},
		MinReadySeconds:      30,
		RevisionHistoryLimit: new(int32(3)),
	}
}

func TestFromDaemonSet(t *testing.T) {
	type test struct {
		row
		change func(*appsv1.DaemonSet)
		want   func(*rollout.Spec)
	}
	each(t, []test{
		{row{"full", "every field has its place"}, func(*appsv1.DaemonSet) {}, func(*rollout.Spec) {}},
		{row{"no type", "clients leave apiVersion and kind out of typed objects"},
			func(ds *appsv1.DaemonSet) { ds.TypeMeta = metav1.TypeMeta{} }, func(*rollout.Spec) {}},
		{row{"no strategy", "an object from a file; New knows the defaults"},
			func(ds *appsv1.DaemonSet) { ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{} },
			func(s *rollout.Spec) { s.Strategy = rollout.Strategy{} }},
		{row{"OnDelete", "types are spelled alike"},
			func(ds *appsv1.DaemonSet) {
				ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
			},
			func(s *rollout.Spec) { s.Strategy = rollout.Strategy{Type: rollout.OnDelete} }},
		{row{"unknown strategy", "New refuses it, with its name"},
			func(ds *appsv1.DaemonSet) { ds.Spec.UpdateStrategy.Type = "Sometimes" },
			func(s *rollout.Spec) { s.Strategy.Type = "Sometimes" }},
		{row{"surge alone", "maxUnavailable stays unset, so that it becomes 0 and not 1"},
			func(ds *appsv1.DaemonSet) { ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = nil },
			func(s *rollout.Spec) { s.Strategy.MaxUnavailable = nil }},
		{row{"unset pointers", "nil means the default, not zero"},
			func(ds *appsv1.DaemonSet) { ds.Spec.RevisionHistoryLimit, ds.Spec.Selector = nil, nil },
			func(s *rollout.Spec) { s.RevisionHistoryLimit, s.Selector = nil, nil }},
		{row{"no template generation", "absent is nil"},
			func(ds *appsv1.DaemonSet) { ds.Annotations = nil }, func(s *rollout.Spec) { s.TemplateGeneration = nil }},
		{row{"unreadable template generation", "the controller ignores it too"},
			func(ds *appsv1.DaemonSet) { ds.Annotations[appsv1.DeprecatedTemplateGeneration] = "5.0" },
			func(s *rollout.Spec) { s.TemplateGeneration = nil }},
		{row{"template generation in another base", "the controller reads decimals"},
			func(ds *appsv1.DaemonSet) { ds.Annotations[appsv1.DeprecatedTemplateGeneration] = "1a" },
			func(s *rollout.Spec) { s.TemplateGeneration = nil }},
		{row{"being deleted", "the controller leaves it alone, and its revisions may be gone"},
			func(ds *appsv1.DaemonSet) { ds.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0))) },
			func(s *rollout.Spec) { s.Strategy.Frozen = true }},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		ds, want := full(), fullSpec()
		c.change(ds)
		c.want(&want)
		before := ds.DeepCopy()
		got, err := manifest.FromDaemonSet(ds)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("spec (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, ds); diff != "" {
			t.Errorf("the argument was changed (-before +after):\n%s", diff)
		}
	})
}

func TestFromDaemonSetNil(t *testing.T) {
	if _, err := manifest.FromDaemonSet(nil); err == nil || err.Error() != "the DaemonSet must not be nil" {
		t.Errorf("got error %v", err)
	}
}

// TestFromDaemonSetSharesNothing overwrites everything that the argument points to.
func TestFromDaemonSetSharesNothing(t *testing.T) {
	ds := full()
	spec, err := manifest.FromDaemonSet(ds)
	if err != nil {
		t.Fatal(err)
	}
	ds.Spec.Selector.MatchLabels["app"] = "other"
	ds.Spec.Template.Labels["app"] = "other"
	ds.Spec.Template.Spec.NodeSelector["pool"] = "other"
	ds.Spec.Template.Spec.Containers[0].Name = "other"
	ds.Spec.Template.Spec.Containers[0].Args[0] = "other"
	*ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = intstr.FromInt32(9)
	*ds.Spec.UpdateStrategy.RollingUpdate.MaxSurge = intstr.FromInt32(9)
	*ds.Spec.RevisionHistoryLimit = 9
	if diff := cmp.Diff(fullSpec(), spec); diff != "" {
		t.Errorf("the spec changed with the object (-want +got):\n%s", diff)
	}
}

const valid = `apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
      - name: agent
        image: agent:v1
`

func TestDecode(t *testing.T) {
	type test struct {
		row
		text    string
		unknown []string
		check   func(manifest.Set) any
		want    any
	}
	strategy := func(s manifest.Set) any {
		spec := s.Spec.Default()
		return spec.Strategy.MaxUnavailable.String() + "/" + spec.Strategy.MaxSurge.String()
	}
	name := func(s manifest.Set) any { return s.Spec.Name }
	each(t, []test{
		{row{"plain", "a manifest from a file"}, valid, nil, name, "agent"},
		{row{"separator first", "many files begin so"}, "---\n" + valid, nil, name, "agent"},
		{row{"empty documents", "templates leave them behind"}, "---\n---\n# nothing\n---\n" + valid + "---\n", nil, name, "agent"},
		{row{"carriage returns", "written on Windows"}, strings.ReplaceAll("---\n"+valid, "\n", "\r\n"), nil, name, "agent"},
		{row{"byte order mark", "written on Windows"}, "\ufeff" + valid, nil, name, "agent"},
		{row{"JSON", "as kubectl -o json"}, `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agent"}}`, nil, name, "agent"},
		{row{"JSON with escapes", "a brace and a quote within strings end nothing"},
			`{"metadata":{"annotations":{"a\"}":"\\\"{[\\\\"},"name":"agent"},"apiVersion":"apps/v1","kind":"DaemonSet"}`, nil, name, "agent"},
		{row{"YAML flow", "begins like JSON and is none"}, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}}`, nil, name, "agent"},
		{row{"anchors", "YAML has them"},
			strings.Replace(strings.Replace(valid, "{app: agent}", "&l {app: agent}", 1), "{app: agent}\n    spec", "*l\n    spec", 1),
			nil, func(s manifest.Set) any { return s.Spec.Template.Labels["app"] }, "agent"},
		{row{"no strategy", "the API server's default"}, valid, nil, strategy, "1/0"},
		{row{"surge alone", "maxUnavailable follows"}, valid + "  updateStrategy: {rollingUpdate: {maxSurge: 2}}\n", nil, strategy, "0/2"},
		{row{"recorded surge", "as the API server stores it"},
			valid + "  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}\n", nil, strategy, "0/1"},
		{row{"recorded default", "as the API server stores it"},
			valid + "  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}\n", nil, strategy, "1/0"},
		{row{"percentage", "a string stays one"}, valid + "  updateStrategy: {rollingUpdate: {maxUnavailable: 25%}}\n", nil, strategy, "25%/0"},
		{row{"null", "leaves a field unset"}, valid + "  updateStrategy: null\n  minReadySeconds: null\n", nil, strategy, "1/0"},
		{row{"typing error", "is ignored and listed"}, valid + "  minReadySecond: 5\n", []string{"spec.minReadySecond"}, name, "agent"},
		{row{"wrong case", "field names are case-sensitive"}, valid + "  MinReadySeconds: 5\n", []string{"spec.MinReadySeconds"},
			func(s manifest.Set) any { return s.Spec.MinReadySeconds }, int32(0)},
		{row{"nested unknown", "the path has indices, and the list is sorted"},
			valid + "        ports: [{containerPort: 80}, {containerprt: 81}]\n        imagePulPolicy: Always\nzeta: {a: [1, {b: 2}]}\n",
			[]string{
				"spec.template.spec.containers[0].imagePulPolicy", "spec.template.spec.containers[0].ports[1].containerprt", "zeta",
			}, name, "agent"},
		{row{"unknown in JSON", "the list is sorted, whatever the order of the keys"},
			`{"zeta":1,"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agent"},"alpha":{}}`, []string{"alpha", "zeta"}, name, "agent"},
		{row{"unreadable template generation", "ignored as the controller does, and listed"},
			strings.Replace(valid, "  name: agent\n", "  name: agent\n  annotations: {deprecated.daemonset.template.generation: x}\n  a: 1\n  z: 1\n", 1),
			[]string{"metadata.a", "metadata.annotations[deprecated.daemonset.template.generation]", "metadata.z"}, name, "agent"},
		{row{"no collision count", "the memory is empty"}, valid + "status: {observedGeneration: 3}\n", nil,
			func(s manifest.Set) any { return s.Memory.Version }, 0},
		{row{"collision count", "kept for the names of revisions (R3)"}, valid + "status: {collisionCount: 4}\n", nil,
			func(s manifest.Set) any { return fmt.Sprint(s.Memory.Version, *s.Memory.CollisionCount) }, "1 4"},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.check(set); got != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
		if !slices.Equal(set.Unknown, c.unknown) {
			t.Errorf("unknown fields: got %q, want %q", set.Unknown, c.unknown)
		}
	})
}

func TestDecodeErrors(t *testing.T) {
	const supported = "supported: DaemonSet of apps/v1, apps.kruise.io/v1alpha1 and apps.kruise.io/v1beta1, " +
		"ExtendedDaemonSet of datadoghq.com/v1alpha1"
	const head = "apiVersion: apps/v1\nkind: DaemonSet\n"
	type test struct {
		row
		text string
		want string
	}
	each(t, []test{
		{row{"empty", "there is nothing"}, "", "the manifest holds no object; " + supported},
		{row{"comments only", "there is nothing"}, "# hello\n", "the manifest holds no object; " + supported},
		{row{"null", "there is nothing"}, "null", "the manifest holds no object; " + supported},
		{row{"empty list", "there is nothing"}, `{"apiVersion":"v1","kind":"List","items":[]}`,
			"the manifest holds no object; " + supported},
		{row{"empty object", "nothing says what it is"}, "{}", "kind: Required value: says what the object is"},
		{row{"no kind", "nothing says what it is"}, "apiVersion: apps/v1\n", "kind: Required value: says what the object is"},
		{row{"no apiVersion", "the kind alone is ambiguous"}, "kind: DaemonSet\n", "apiVersion: Required value: " + supported},
		{row{"other kind", "names what is supported"}, "apiVersion: apps/v1\nkind: Deployment\n",
			`kind: Unsupported value: "Deployment": supported values: "DaemonSet", "ExtendedDaemonSet"`},
		{row{"other version", "names what is supported"}, "apiVersion: extensions/v1beta1\nkind: DaemonSet\n",
			`apiVersion: Unsupported value: "extensions/v1beta1": supported values: "apps/v1", "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"`},
		{row{"kind is a number", "it must be a string"}, "apiVersion: apps/v1\nkind: 5\n", "kind: Invalid value: \"5\": must be a string"},
		{row{"two documents", "which one is meant?"}, valid + "---\n" + valid,
			"the manifest has several documents (DaemonSet, DaemonSet, …); it must be one object: " + supported},
		{row{"two JSON values", "which one is meant?"}, `{"kind":"DaemonSet"}{"kind":"Node"}`,
			"the manifest has several documents (DaemonSet, Node, …); it must be one object: " + supported},
		{row{"list", "which one is meant?"}, "kind: List\nitems:\n- kind: DaemonSet\n",
			"the manifest is a list; it must be one object: " + supported},
		{row{"array", "which one is meant?"}, `[{"kind":"DaemonSet"}]`, "the manifest is a list; it must be one object: " + supported},
		{row{"array of numbers", "no objects"}, `- 1`, "document 1, item 1: must be an object with apiVersion and kind, not 1"},
		{row{"text", "no object"}, "hello", `must be an object with apiVersion and kind, not "hello"`},
		{row{"number", "no object"}, "5", `must be an object with apiVersion and kind, not 5`},
		{row{"binary", "no text"}, "\x00\xff\xfe", "the data is not UTF-8 text"},
		{row{"UTF-16", "what PowerShell writes"}, "\xff\xfea\x00", "the text is UTF-16; it must be UTF-8"},
		{row{"UTF-16 of the other order", "what other machines write"}, "\xfe\xff\x00a", "the text is UTF-16; it must be UTF-8"},
		{row{"gzip", "must be unpacked"}, "\x1f\x8b\x08", "the data is compressed with gzip; it must be plain text"},
		{row{"a tab", "the parser does not name it"}, head + "metadata:\n\tname: a\n",
			"line 4: found character that cannot start any token; a tab may be one: YAML is indented with spaces"},
		{row{"broken YAML", "the parser knows the line"}, head + "metadata: {name: a\nspec: b: c\n", "line 3: did not find expected ',' or '}'"},
		{row{"broken YAML, later document", "lines count from the top"}, "# one\n---\n" + head + "  a: b\n", "line 5: mapping values are not allowed in this context"},
		{row{"duplicate key in YAML", "which one is meant?"}, head + "spec: {}\nspec: {}\n", `line 4: key "spec" already set in map`},
		{row{"duplicate key that looks like a place", "only numbers of lines are counted from the top"}, "# one\n---\n" + head + "line up: 1\nline up: 2\n",
			`line 6: key "line up" already set in map`},
		{row{"one duplicate key in JSON", "which one is meant?"},
			`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a","name":"b"}}`, "metadata.name: Forbidden: must not be given twice"},
		{row{"duplicate key in JSON", "which one is meant?"},
			`{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{"minReadySeconds":1,"minReadySeconds":2,"x":1,"x":2}}`,
			"[spec.minReadySeconds: Forbidden: must not be given twice, spec.x: Forbidden: must not be given twice]"},
		{row{"JSON cut off", "names where it began"}, "\n\n{\"kind\": \"DaemonSet\", \"spec\": {", "line 3: the text ends too early, within the object that begins here"},
		{row{"JSON with a mistake", "names the line"}, "{\n\"apiVersion\": \"apps/v1\",\n\"kind\": \"DaemonSet\",\n\"spec\": {,}\n}",
			"line 4: invalid character ',' looking for beginning of object key string"},
		{row{"JSON without a comma", "space between numbers counts"}, `{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{"minReadySeconds":1 2}}`,
			"line 1: invalid character '2' after object key:value pair"},
		{row{"JSON with a comma too many", "in the list"}, `{"kind":"List","items":[{"kind":"DaemonSet"},]}`,
			"the manifest is a list; it must be one object: " + supported},
		{row{"garbage after JSON", "not part of it"}, "{\"kind\": \"DaemonSet\"}\nrest of it", `document 2: line 2: an object must begin with {, not with "rest of it"`},
		{row{"unquoted key", "not JSON"}, `{"apiVersion": "apps/v1", kind: "DaemonSet"}`, "line 1: invalid character 'k' looking for beginning of object key string"},
		{row{"wrong types", "all of them, with indices"},
			head + "spec:\n  minReadySeconds: soon\n  selector: []\n  template: {spec: {containers: [{name: a, stdin: 1}, {name: [1, {a: b}], ports: {}}, 7], tolerations: x}}\n",
			`[spec.minReadySeconds: Invalid value: "soon": must be a number, ` +
				`spec.selector: Invalid value: "[…": must be an object, ` +
				`spec.template.spec.containers[0].stdin: Invalid value: 1: must be true or false, ` +
				`spec.template.spec.containers[1].name: Invalid value: "[…": must be a string, ` +
				`spec.template.spec.containers[1].ports: Invalid value: "{…": must be a list, ` +
				`spec.template.spec.containers[2]: Invalid value: 7: must be an object, ` +
				`spec.template.spec.tolerations: Invalid value: "x": must be a list]`},
		{row{"number is an object", "it is reported, and so is what follows"}, head + "spec: {minReadySeconds: {a: 1}, revisionHistoryLimit: x}\n",
			`[spec.minReadySeconds: Invalid value: "{…": must be a number, spec.revisionHistoryLimit: Invalid value: "x": must be a number]`},
		{row{"null beside a wrong type", "null fits everywhere"}, head + "metadata: {name: null, labels: null}\nspec: {selector: null, minReadySeconds: x}\n",
			`spec.minReadySeconds: Invalid value: "x": must be a number`},
		{row{"numbers", "too large, and broken"}, head + "spec: {minReadySeconds: 3000000000, revisionHistoryLimit: 1.5}\n",
			"[spec.minReadySeconds: Invalid value: 3000000000: must be a whole number of at most 32 bits, " +
				"spec.revisionHistoryLimit: Invalid value: 1.5: must be a whole number of at most 32 bits]"},
		{row{"values that parse themselves", "each says what it wants"},
			head + "metadata: {creationTimestamp: yesterday}\nspec:\n  updateStrategy: {rollingUpdate: {maxSurge: 1.5}}\n" +
				"  template: {spec: {containers: [{name: a, resources: {limits: {cpu: lots}}}]}}\n",
			`[metadata.creationTimestamp: Invalid value: "yesterday": must be a time such as 2006-01-02T15:04:05Z, ` +
				`spec.template.spec.containers[0].resources.limits[cpu]: Invalid value: "lots": must be a quantity such as 100m or 64Mi, ` +
				`spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "1.5": must be a whole number or a string such as 10%]`},
		{row{"label is a number", "as the API server has it"}, head + "metadata: {labels: {version: 5}}\n", `metadata.labels[version]: Invalid value: 5: must be a string`},
		{row{"deep JSON", "the depth is limited"}, `{"kind":"DaemonSet","apiVersion":"apps/v1","spec":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}",
			"line 1: invalid character '[' exceeded max depth"},
		{row{"deep YAML", "the depth is limited"}, strings.Repeat("- ", 20000), "exceeded max depth of 10000"},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(c.text))
		if err == nil {
			t.Fatalf("no error; spec %+v", set.Spec)
		}
		if err.Error() != c.want {
			t.Errorf("got  %s\nwant %s", err, c.want)
		}
		if !reflect.DeepEqual(set, manifest.Set{}) {
			t.Errorf("there is a result beside the error: %+v", set)
		}
	})
}

func TestFieldErrors(t *testing.T) {
	spec := fullSpec()
	spec.Name, spec.Namespace, spec.Generation = "", "A", -1
	spec.MinReadySeconds, spec.RevisionHistoryLimit = -1, new(int32(-1))
	spec.Strategy.MaxSurge, spec.Strategy.MaxUnavailable = new(intstr.FromString("x")), new(intstr.FromInt32(-1))
	spec.Template.Spec.Containers[0].Image = ""
	spec.Template.Labels = nil
	_, err := rollout.New(spec)

	want := []string{
		"metadata.name", "metadata.namespace", "metadata.generation", "spec.template.metadata.labels",
		"spec.template.spec.containers[0].image", "spec.updateStrategy.rollingUpdate.maxUnavailable",
		"spec.updateStrategy.rollingUpdate.maxSurge", "spec.minReadySeconds", "spec.revisionHistoryLimit",
	}
	if got := paths(manifest.FieldErrors(spec, err)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := paths(rollout.FieldErrors(err)); slices.Equal(got, want) || len(got) != len(want) {
		t.Errorf("the error itself was changed: %q", got)
	}

	spec = fullSpec()
	spec.Strategy.Type = "Sometimes"
	_, err = rollout.New(spec)
	if got, want := paths(manifest.FieldErrors(spec, err)), []string{"spec.updateStrategy.type"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	spec.Kind = "AgentSet"
	if got, want := paths(manifest.FieldErrors(spec, err)), []string{"spec.strategy.type"}; !slices.Equal(got, want) {
		t.Errorf("of a kind that is not a manifest's: got %q, want %q", got, want)
	}
	for _, other := range []error{nil, errors.New("other")} {
		if got := manifest.FieldErrors(spec, other); got != nil {
			t.Errorf("FieldErrors(%v) = %v, want nil", other, got)
		}
	}
}

func paths(list field.ErrorList) []string {
	var paths []string
	for _, err := range list {
		paths = append(paths, err.Field)
	}
	return paths
}
