package manifest_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// edsSetting is the text of an ExtendedDaemonsetSetting.
type edsSetting struct {
	metadata   string // in flow style, after the name
	reference  string // in flow style
	selector   string // in flow style
	containers string // in flow style
	rest       string // lines at the end
}

func (s edsSetting) text() string {
	return "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonsetSetting\nmetadata: {name: foo-xxl" + s.metadata + "}\nspec:\n" +
		"  reference: " + s.reference + "\n  nodeSelector: " + s.selector + "\n  containers: [" + s.containers + "]\n" + s.rest
}

const toFoo = "{kind: ExtendedDaemonset, name: foo}"

func TestSetting(t *testing.T) {
	type test struct {
		row
		manifest edsSetting
		want     manifest.Setting
	}
	each(t, []test{
		{row{"documented", "more for large nodes; the kind of the reference is as the documentation spells it"},
			edsSetting{reference: toFoo, selector: "{matchLabels: {node-type: xxl}}", containers: `{name: daemon, resources: {requests: {cpu: "0.5", memory: 300m}}}`},
			manifest.Setting{Set: "foo", Override: placement.Override{
				Name: "foo-xxl", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"node-type": "xxl"}},
				Containers: map[string]corev1.ResourceRequirements{"daemon": {Requests: amounts("cpu", "0.5", "memory", "300m")}},
			}}},
		{row{"stored", "the creation decides conflicts (P8); the status is EDS's opinion"},
			edsSetting{
				metadata: ", namespace: bar, creationTimestamp: 2026-01-15T12:00:00Z", reference: "{apiVersion: datadoghq.com/v1alpha1, kind: ExtendedDaemonSet, name: foo}",
				selector: "{matchExpressions: [{key: gpu, operator: Exists}]}",
				rest:     "status: {status: error, error: conflict}\n",
			},
			manifest.Setting{Namespace: "bar", Set: "foo", Override: placement.Override{
				Name: "foo-xxl", Created: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC),
				NodeSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "gpu", Operator: "Exists"}}},
				Containers:   map[string]corev1.ResourceRequirements{},
			}}},
		{row{"all nodes", "an empty selector matches all; a reference without a kind is by name"},
			edsSetting{reference: "{name: foo}", selector: "{}", containers: "{name: a, resources: {limits: {cpu: 1}}}, {name: b}"},
			manifest.Setting{Set: "foo", Override: placement.Override{
				Name: "foo-xxl", Containers: map[string]corev1.ResourceRequirements{"a": {Limits: amounts("cpu", "1")}, "b": {}},
			}}},
		{row{"unknown fields", "typing errors"}, edsSetting{reference: "{name: foo, names: foo}", selector: "{}", containers: "{name: b, resource: {}}", rest: "status: {why: a}\n"},
			manifest.Setting{
				Set: "foo", Override: placement.Override{Name: "foo-xxl", Containers: map[string]corev1.ResourceRequirements{"b": {}}},
				Unknown: []string{"spec.containers[0].resource", "spec.reference.names", "status.why"},
			}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		got, err := manifest.DecodeSetting([]byte(c.manifest.text()))
		if err != nil {
			t.Fatal(err)
		}
		got.Override.Created = got.Override.Created.UTC()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestSettingErrors(t *testing.T) {
	type test struct {
		row
		text string
		want []string
	}
	of := edsSetting.text
	each(t, []test{
		{row{"nothing", "there is nothing"}, "", []string{"the manifest holds no object"}},
		{row{"another kind", "a setting is meant"}, "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonSet\n",
			[]string{`kind: Unsupported value: "ExtendedDaemonSet": supported values: "ExtendedDaemonsetSetting"`}},
		{row{"another version", "may mean anything"}, "apiVersion: datadoghq.com/v2\nkind: ExtendedDaemonsetSetting\n",
			[]string{`apiVersion: Unsupported value: "datadoghq.com/v2": supported values: "datadoghq.com/v1alpha1"`}},
		{row{"no reference", "EDS puts it in error"}, of(edsSetting{reference: "null", selector: "{}"}), []string{"spec.reference: Required value"}},
		{row{"reference without a name", "EDS puts it in error"}, of(edsSetting{reference: "{kind: ExtendedDaemonSet}", selector: "{}"}), []string{"spec.reference.name: Required value"}},
		{row{"reference to another kind", "EDS takes it for its own: a setting for the DaemonSet foo would change the ExtendedDaemonSet foo"},
			of(edsSetting{reference: "{kind: DaemonSet, name: foo}", selector: "{}"}), []string{`spec.reference.kind: Unsupported value: "DaemonSet": supported values: "ExtendedDaemonSet"`}},
		{row{"malformed selector", "in EDS one puts every setting of the namespace in error"},
			of(edsSetting{reference: toFoo, selector: "{matchExpressions: [{key: a, operator: In}]}"}), []string{"spec.nodeSelector.matchExpressions[0].values: Required value"}},
		{row{"container twice", "EDS creates with one and compares with the other, for ever"},
			of(edsSetting{reference: toFoo, selector: "{}", containers: "{name: a}, {name: b}, {name: a}"}), []string{`spec.containers[2].name: Duplicate value: "a"`}},
		{row{"container without a name", "which one is meant?"}, of(edsSetting{reference: toFoo, selector: "{}", containers: "{resources: {}}"}), []string{"spec.containers[0].name: Required value"}},
		{row{"impossible resources", "the API server refuses every such pod; with the index of the manifest"},
			of(edsSetting{reference: toFoo, selector: "{}", containers: "{name: b}, {name: a, resources: {limits: {cpu: -1}, requests: {memory: -1}}}"}),
			[]string{"spec.containers[1].resources.limits[cpu]: Invalid value", "spec.containers[1].resources.requests[memory]: Invalid value"}},
		{row{"types", "every one of them"}, of(edsSetting{reference: "5", selector: "[]", containers: "{name: 5, resources: {limits: {cpu: lots}}}", rest: "status: 5\n"}),
			[]string{
				"spec.reference: Invalid value", "spec.nodeSelector: Invalid value", "spec.containers[0].name: Invalid value",
				`spec.containers[0].resources.limits[cpu]: Invalid value: "lots": must be a quantity`, "status: Invalid value",
			}},
		{row{"no name, and all the rest", "all at once"}, "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonsetSetting\nspec: {reference: {kind: Pod}, containers: [{}]}\n",
			[]string{"spec.reference.kind: Unsupported value", "spec.reference.name: Required value", "spec.containers[0].name: Required value", "metadata.name: Required value"}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		got, err := manifest.DecodeSetting([]byte(c.text))
		if err == nil {
			t.Fatalf("no error; %+v", got)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %s\nwithout %s", err, want)
			}
		}
		if list := rollout.FieldErrors(err); len(list) > 1 && len(list) != len(c.want) {
			t.Errorf("%d mistakes, want %d: %v", len(list), len(c.want), list)
		}
		if !reflect.DeepEqual(got, manifest.Setting{}) {
			t.Errorf("there is a result beside the error: %+v", got)
		}
	})
}

// TestOverrides finds out which settings are for which set.
func TestOverrides(t *testing.T) {
	settings := []manifest.Setting{
		{Set: "foo", Override: placement.Override{Name: "z"}},
		{Set: "bar", Override: placement.Override{Name: "y"}},
		{Namespace: "default", Set: "foo", Override: placement.Override{Name: "x"}},
		{Namespace: "other", Set: "foo", Override: placement.Override{Name: "w"}},
	}
	type test struct {
		row
		namespace, name, apiVersion, kind string
		want                              []string
	}
	const version, kind = "datadoghq.com/v1alpha1", "ExtendedDaemonSet"
	each(t, []test{
		{row{"default namespace", "in their order"}, "", "foo", version, kind, []string{"z", "x"}},
		{row{"default namespace, spelled out", "the same one"}, "default", "foo", version, kind, []string{"z", "x"}},
		{row{"other namespace", "settings are of a namespace"}, "other", "foo", version, kind, []string{"w"}},
		{row{"other set", "named by another setting"}, "", "bar", version, kind, []string{"y"}},
		{row{"no settings", "none names it"}, "", "baz", version, kind, nil},
		{row{"DaemonSet of that name", "settings are for ExtendedDaemonSets"}, "", "foo", "apps/v1", "DaemonSet", nil},
		{row{"other API of that kind", "the same"}, "", "foo", "example.com/v1", kind, nil},
		{row{"other kind of that API", "the same"}, "", "foo", version, "DatadogAgent", nil},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		spec := rollout.Spec{Name: c.name, Namespace: c.namespace, APIVersion: c.apiVersion, Kind: c.kind}
		var got []string
		for _, o := range manifest.Overrides(spec, settings) {
			got = append(got, o.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestSettingsInDump reads a dump as its reader does: an invalid setting does not keep the others from counting.
func TestSettingsInDump(t *testing.T) {
	dump := edsSetting{reference: toFoo, selector: "{}"}.text() + "---\n" + eds{}.text() + "---\n" +
		edsSetting{reference: "{name: foo}", selector: "{matchExpressions: [{}]}"}.text() + "---\n" + edsSetting{reference: "{name: bar}", selector: "{}"}.text() +
		"---\napiVersion: example.com/v1\nkind: ExtendedDaemonsetSetting\n---\nkind: ExtendedDaemonSet\n"
	var settings []manifest.Setting
	var invalid, others int
	for object, err := range manifest.Objects([]byte(dump)) {
		if err != nil {
			t.Fatal(err)
		}
		if !object.IsSetting() {
			others++
			continue
		}
		setting, err := object.Setting()
		if err != nil {
			invalid++
			continue
		}
		settings = append(settings, setting)
	}
	if len(settings) != 2 || invalid != 1 || others != 3 {
		t.Errorf("%d settings, %d invalid, %d others", len(settings), invalid, others)
	}
	if got := manifest.Overrides(edsSpec(), settings); len(got) != 1 {
		t.Errorf("overrides: %+v", got)
	}
}
