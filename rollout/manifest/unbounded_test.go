package manifest_test

import (
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Quantities that would take for ever to read are refused, with their place, in every kind of object.
func TestDecodeUnboundedQuantities(t *testing.T) {
	set := func(apiVersion, kind, cpu string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"agent"},"spec":{` +
			`"selector":{"matchLabels":{"app":"agent"}},"template":{"metadata":{"labels":{"app":"agent"}},"spec":{"containers":[` +
			`{"name":"agent","image":"agent:v1","resources":{"requests":{"cpu":` + cpu + `}}}]}}}}`
	}
	const place = "spec.template.spec.containers[0].resources.requests[cpu]"
	tests := []struct{ name, why, data, field string }{
		{"DaemonSet", "a string", set("apps/v1", "DaemonSet", `"1e-30000000"`), place},
		{"Advanced DaemonSet", "capital, and with decimals", set("apps.kruise.io/v1beta1", "DaemonSet", `"1.5E-30000000"`), place},
		{"ExtendedDaemonSet", "behind a point", set("datadoghq.com/v1alpha1", "ExtendedDaemonSet", `"1.e-30000000"`), place},
		{"a number", "numbers are quantities, too", set("apps/v1", "DaemonSet", `1e-30000000`), place},
		{"nines", "a digit as any other", set("apps/v1", "DaemonSet", `"9e-99999999"`), place},
		{"five digits", "the least that is not read", set("apps/v1", "DaemonSet", `"1e-99999"`), place},
		{"behind what only looks like one", "it is found all the same", strings.ReplaceAll(set("apps/v1", "DaemonSet", `"1e-30000000"`), "agent:v1", "agent:e-e-"), place},
		{"small enough", "an exponent that is read at once", set("apps/v1", "DaemonSet", `"1e-3"`), ""},
		{"in a name", "what only looks like one is none", strings.ReplaceAll(set("apps/v1", "DaemonSet", `"1"`), "agent:v1", "agent:v1e-30000000"), ""},
	}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" {
			t.Fatal("a row needs a name and a reason")
		}
		t.Run(tt.name, func(t *testing.T) {
			set, err := manifest.Decode([]byte(tt.data))
			if read := set.Spec.Name == "agent"; read != (tt.field == "") {
				t.Errorf("the name is read: %v", read)
			}
			var got string
			for _, e := range rollout.FieldErrors(err) {
				got += e.Field
			}
			if got != tt.field || (err != nil) != (tt.field != "") {
				t.Errorf("error %v in %q, want one in %q: %s", err, got, tt.field, tt.why)
			}
		})
	}
	setting := `{"apiVersion":"datadoghq.com/v1alpha1","kind":"ExtendedDaemonsetSetting","metadata":{"name":"s"},"spec":{` +
		`"reference":{"kind":"ExtendedDaemonset","name":"agent"},"nodeSelector":{},"containers":[{"name":"agent","resources":{"limits":{"cpu":"1e-30000000"}}}]}}`
	if _, err := manifest.DecodeSetting([]byte(setting)); err == nil || !strings.Contains(err.Error(), "limits[cpu]") {
		t.Errorf("setting: error %v, want one about limits[cpu]", err)
	}
}
