package outage_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout/outage"
)

// everything has every option set, to something valid that is no default.
func everything() outage.Options {
	return outage.Options{
		MaxExempt: new(intstr.FromString("5%")), ProvenAfter: time.Hour, Touch: true,
		Taints: []string{"example.com/drained"}, Conditions: []string{"Drained"},
	}
}

func TestDefault(t *testing.T) {
	if got, want := (outage.Options{}).Default(), (outage.Options{MaxExempt: new(intstr.FromInt32(0))}); !reflect.DeepEqual(got, want) {
		t.Errorf("the defaults are %+v", got)
	}
	if got := everything().Default(); !reflect.DeepEqual(got, everything()) {
		t.Errorf("what is set became %+v", got)
	}
	invalid := outage.Options{MaxExempt: new(intstr.FromString("x"))}
	if got := invalid.Default(); !reflect.DeepEqual(got, invalid) {
		t.Errorf("what is invalid became %+v", got)
	}
}

// TestCopiesShareNothing changes all that a copy points to.
func TestCopiesShareNothing(t *testing.T) {
	for name, copied := range map[string]func(outage.Options) outage.Options{
		"DeepCopy": outage.Options.DeepCopy, "Default": outage.Options.Default,
	} {
		t.Run(name, func(t *testing.T) {
			o := everything()
			c := copied(o)
			if !reflect.DeepEqual(c, everything()) {
				t.Fatalf("the copy is %+v", c)
			}
			*c.MaxExempt, c.Taints[0], c.Conditions[0] = intstr.FromInt32(9), "", ""
			if !reflect.DeepEqual(o, everything()) {
				t.Errorf("the original became %+v", o)
			}
		})
	}
	if got := (outage.Options{}).DeepCopy(); !reflect.DeepEqual(got, outage.Options{}) {
		t.Errorf("the copy of nothing is %+v", got)
	}
}

// TestSignsAreTheCallersOwn changes the lists that it is given.
func TestSignsAreTheCallersOwn(t *testing.T) {
	taints, conditions := outage.Signs()
	wantTaints := []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "node.kubernetes.io/out-of-service"}
	wantConditions := []string{"GracefulNodeShutdownInProgress", "MaintenanceInProgress"}
	if !slices.Equal(taints, wantTaints) || !slices.Equal(conditions, wantConditions) {
		t.Fatalf("the signs are %q and %q", taints, conditions)
	}
	taints[0], conditions[0] = "", ""
	if again, more := outage.Signs(); again[0] == "" || more[0] == "" {
		t.Error("the lists are shared")
	}
}

// TestLifecycle: each condition is known, and does what M8 says: nothing, draining, or departing.
func TestLifecycle(t *testing.T) {
	var got []string
	for _, kind := range outage.LifecycleConditions() {
		out := outage.Options{}.Of(nodeOf(up, condition(string(kind), corev1.ConditionTrue, time.Hour)))
		got = append(got, fmt.Sprintf("%s departing=%t draining=%t", kind, out.Departing, out.Draining))
	}
	want := []string{
		"MaintenancePlanned departing=false draining=false", "DrainInProgress departing=false draining=true",
		"Drained departing=false draining=true", "MaintenanceInProgress departing=true draining=false",
		"GracefulNodeShutdownInProgress departing=true draining=false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValidate(t *testing.T) {
	rows := []struct {
		name, why string
		change    func(*outage.Options)
		want      string // kinds and fields of the mistakes
	}{
		{"everything set", "all of it is valid", func(*outage.Options) {}, ""},
		{"nothing set", "so are the defaults", func(o *outage.Options) { *o = outage.Options{} }, ""},
		{"none", "B9: departing nodes are left alone all the same", func(o *outage.Options) { o.MaxExempt = new(intstr.FromInt32(0)) }, ""},
		{"negative", "no number of nodes", func(o *outage.Options) { o.MaxExempt = new(intstr.FromInt32(-1)) }, "Invalid maxExempt"},
		{"more nodes than there may be", "a fleet may grow", func(o *outage.Options) { o.MaxExempt = new(intstr.FromInt32(101)) }, ""},
		{"all", "B9: there is still evidence to be had", func(o *outage.Options) { o.MaxExempt = new(intstr.FromString("100%")) }, ""},
		{"more than all", "no share of anything", func(o *outage.Options) { o.MaxExempt = new(intstr.FromString("101%")) }, "Invalid maxExempt"},
		{"no percentage", "a string is one", func(o *outage.Options) { o.MaxExempt = new(intstr.FromString("5")) }, "Invalid maxExempt"},
		{"a percentage that wraps around", "it is too large", func(o *outage.Options) { o.MaxExempt = new(intstr.FromString("4294967297%")) }, "Invalid maxExempt"},
		{"proven at once", "B9: the default is never", func(o *outage.Options) { o.ProvenAfter = 0 }, ""},
		{"proven before", "time does not run backwards", func(o *outage.Options) { o.ProvenAfter = -1 }, "Invalid provenAfter"},
		{"taints", "no taint has these", func(o *outage.Options) { o.Taints = []string{"a b", "ok", ""} }, "Invalid taints[0], Invalid taints[2], Invalid taints[2]"},
		{"conditions", "no condition has these", func(o *outage.Options) { o.Conditions = []string{"ok", "a/b/c"} }, "Invalid conditions[1]"},
		{"condition Ready", "M8: each node that is well would be departing", func(o *outage.Options) { o.Conditions = []string{"Ready"} }, "Invalid conditions[0]"},
		{"taint Ready", "no condition", func(o *outage.Options) { o.Taints = []string{"Ready"} }, ""},
		{"all at once", "in the order of the fields", func(o *outage.Options) {
			o.MaxExempt, o.ProvenAfter, o.Taints, o.Conditions = new(intstr.FromInt32(-1)), -1, []string{"-"}, []string{"Ready"}
		}, "Invalid maxExempt, Invalid provenAfter, Invalid taints[0], Invalid conditions[0]"},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			o := everything()
			row.change(&o)
			for prefix, path := range map[string]*field.Path{"": nil, "spec.outages.": field.NewPath("spec", "outages")} {
				var got []string
				for _, e := range o.Validate(path) {
					if e.Detail == "" {
						t.Errorf("%v does not say why", e)
					}
					got = append(got, strings.TrimPrefix(string(e.Type), "FieldValue")+" "+strings.TrimPrefix(e.Field, prefix))
				}
				if text := strings.Join(got, ", "); text != row.want {
					t.Errorf("%s: got %q, want %q", row.why, text, row.want)
				}
			}
		})
	}
}
