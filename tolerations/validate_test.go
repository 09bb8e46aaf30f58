package tolerations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/tolerations"
)

func TestValidate(t *testing.T) {
	exists, equal := corev1.TolerationOpExists, corev1.TolerationOpEqual
	seconds := new(int64(30))
	tests := []struct {
		name, why string
		list      []corev1.Toleration
		want      []string
	}{
		{"none", "nothing can be wrong", nil, nil},
		{"everything", "Exists without a key tolerates every taint", []corev1.Toleration{{Operator: exists}}, nil},
		{"key only", "the operator defaults to Equal, the value to empty", []corev1.Toleration{{Key: "k"}}, nil},
		{"equal", "a plain one", []corev1.Toleration{{Key: "k", Operator: equal, Value: "v", Effect: corev1.TaintEffectNoSchedule}}, nil},
		{"prefer", "tolerated, though it keeps no pod away", []corev1.Toleration{{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule}}, nil},
		{"seconds", "NoExecute may end",
			[]corev1.Toleration{{Key: "k", Operator: exists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds}}, nil},
		{"seconds without effect", "only NoExecute evicts",
			[]corev1.Toleration{{Key: "k", Operator: exists, TolerationSeconds: seconds}}, []string{"list[0].effect"}},
		{"seconds of another effect", "only NoExecute evicts",
			[]corev1.Toleration{{Key: "k", Operator: exists, Effect: corev1.TaintEffectNoSchedule, TolerationSeconds: seconds}},
			[]string{"list[0].effect"}},
		{"exists with value", "Exists takes no value", []corev1.Toleration{{Key: "k", Operator: exists, Value: "v"}}, []string{"list[0].value"}},
		{"no key", "Equal needs a key", []corev1.Toleration{{Value: "v"}}, []string{"list[0].operator"}},
		{"bad key", "a key is a qualified name", []corev1.Toleration{{Key: "a b"}}, []string{"list[0].key"}},
		{"bad value", "a value is a label value", []corev1.Toleration{{Key: "k", Value: "a b"}}, []string{"list[0].value"}},
		{"bad operator", "there are two", []corev1.Toleration{{Key: "k", Operator: "Foo"}}, []string{"list[0].operator"}},
		{"comparison", "the feature gate for Gt and Lt is off", []corev1.Toleration{{Key: "k", Operator: "Gt", Value: "1"}},
			[]string{"list[0].operator"}},
		{"bad effect", "there are three", []corev1.Toleration{{Key: "k", Effect: "Foo"}}, []string{"list[0].effect"}},
		{"all at once", "every mistake is reported, with its index",
			[]corev1.Toleration{{Key: "k"}, {Key: "a b", Operator: "Foo", Effect: "Bar"}},
			[]string{"list[1].key", "list[1].operator", "list[1].effect"}},
	}
	seen := make(map[string]bool)
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a name of its own and a reason", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, err := range tolerations.Validate(tt.list, field.NewPath("list")) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		})
	}
}
