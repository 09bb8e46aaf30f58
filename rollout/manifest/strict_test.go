package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

func TestDecodeStrict(t *testing.T) {
	const container = `{"spec":{"template":{"spec":{"containers":[{"name":"agent",%}]}}}}`
	table := []struct {
		name, why, json string
		want            []string
	}{
		{"all known", "nothing to say", `{"metadata":{"name":"agent"},"spec":{"minReadySeconds":3}}`, nil},
		{"null", "leaves a field as it is", `{"metadata":{"name":"agent"},"spec":null}`, nil},
		{"a typo", "its template would lack it", strings.Replace(container, "%", `"imagee":"a"`, 1), []string{"spec.template.spec.containers[0].imagee: Forbidden: unknown field"}},
		{"another case", "field names are case-sensitive", `{"Spec":{}}`, []string{"Spec: Forbidden: unknown field"}},
		{"twice", "which of the two counts is anybody's guess", `{"spec":{"minReadySeconds":1,"minReadySeconds":2}}`, []string{"spec.minReadySeconds: Forbidden: must not be given twice"}},
		{
			"a quantity that takes for ever to read", "it is not read", strings.Replace(container, "%", `"resources":{"limits":{"cpu":"1e-2000000000"}}`, 1),
			[]string{`spec.template.spec.containers[0].resources.limits[cpu]: Invalid value: "1e-2000000000": must be a quantity such as 100m or 64Mi`},
		},
		{
			"everything", "wrong types, unknown fields, repeated keys: each in the order of the text",
			`{"unknown":1,"spec":{"a":1,"minReadySeconds":"b","template":{"x":{"y":1,"y":2},"spec":{"nodeName":3,"nodeName":"n"}}}}`,
			[]string{
				`spec.minReadySeconds: Invalid value: "b": must be a number`, `spec.template.spec.nodeName: Invalid value: 3: must be a string`,
				"unknown: Forbidden: unknown field", "spec.a: Forbidden: unknown field", "spec.template.x: Forbidden: unknown field",
				"spec.template.spec.nodeName: Forbidden: must not be given twice",
			},
		},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			var into appsv1.DaemonSet
			err := manifest.Object{JSON: []byte(row.json)}.DecodeStrict(&into)
			var got []string
			for _, e := range rollout.FieldErrors(err) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(row.want, got); diff != "" || (err == nil) != (row.want == nil) {
				t.Errorf("%v: %s (-want +got)\n%s", err, row.why, diff)
			}
			if row.want == nil && into.Name != "agent" {
				t.Error("it was not read")
			}
		})
	}
	for name, json := range map[string]string{"empty": "", "cut off": `{"spec":`, "two": "{}{}", "no JSON": "maxUnavailable: 2"} {
		if err := (manifest.Object{JSON: []byte(json)}).DecodeStrict(&appsv1.DaemonSet{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, into := range map[string]any{"nil": nil, "no pointer": appsv1.DaemonSet{}, "a nil pointer": (*appsv1.DaemonSet)(nil)} {
		if err := (manifest.Object{JSON: []byte("{}")}).DecodeStrict(into); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
