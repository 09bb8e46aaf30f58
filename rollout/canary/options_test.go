package canary_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// everything has every option set, to something valid that is no default.
func everything() canary.Options {
	return canary.Options{
		Replicas:             new(intstr.FromString("5%")),
		Mode:                 canary.Auto,
		Duration:             minutes(20),
		NoRestartsDuration:   minutes(3),
		NodeSelector:         &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}},
		NodeAntiAffinityKeys: []string{"topology.kubernetes.io/zone"},
		AutoPause:            canary.AutoPause{MaxRestarts: new(int32(1)), MaxSlowStartDuration: minutes(4)},
		AutoFail: canary.AutoFail{
			MaxRestarts: new(int32(7)), MaxRestartsDuration: minutes(6), CanaryTimeout: minutes(60),
		},
		Commands: canary.Commands{Pause: "a", Unpause: "b", Validate: "c", Fail: "d", Retry: "e"},
	}
}

func TestDefault(t *testing.T) {
	want := canary.Options{
		Replicas:           new(intstr.FromInt32(1)),
		Mode:               canary.Auto,
		Duration:           minutes(10),
		NoRestartsDuration: minutes(5),
		AutoPause:          canary.AutoPause{MaxRestarts: new(int32(2))},
		AutoFail:           canary.AutoFail{MaxRestarts: new(int32(5))},
	}
	if got := (canary.Options{}).Default(); !reflect.DeepEqual(got, want) {
		t.Errorf("the defaults are %+v", got)
	}
	if got := everything().Default(); !reflect.DeepEqual(got, everything()) {
		t.Errorf("what is set became %+v", got)
	}
	want.Mode, want.Duration, want.NoRestartsDuration = canary.Manual, nil, nil
	if got := (canary.Options{Mode: canary.Manual}).Default(); !reflect.DeepEqual(got, want) {
		t.Errorf("the defaults of mode manual are %+v", got)
	}
}

// TestCopiesShareNothing changes all that a copy points to.
func TestCopiesShareNothing(t *testing.T) {
	for name, copied := range map[string]func(canary.Options) canary.Options{
		"DeepCopy": canary.Options.DeepCopy, "Default": canary.Options.Default,
	} {
		t.Run(name, func(t *testing.T) {
			o := everything()
			c := copied(o)
			if !reflect.DeepEqual(c, everything()) {
				t.Fatalf("the copy is %+v", c)
			}
			*c.Replicas = intstr.FromInt32(9)
			for _, d := range []*time.Duration{
				c.Duration, c.NoRestartsDuration, c.AutoPause.MaxSlowStartDuration, c.AutoFail.MaxRestartsDuration, c.AutoFail.CanaryTimeout,
			} {
				*d = 0
			}
			c.NodeSelector.MatchLabels["canary"] = "no"
			c.NodeAntiAffinityKeys[0] = ""
			*c.AutoPause.MaxRestarts, *c.AutoFail.MaxRestarts = 9, 9
			if !reflect.DeepEqual(o, everything()) {
				t.Errorf("the original became %+v", o)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	rows := []struct {
		name, why string
		change    func(*canary.Options)
		want      string // kinds and fields of the mistakes
	}{
		{"everything set", "all of it is valid", func(*canary.Options) {}, ""},
		{"nothing set", "so are the defaults", func(o *canary.Options) { *o = canary.Options{} }, ""},
		{"replicas 1", "C7: the least", func(o *canary.Options) { o.Replicas = new(intstr.FromInt32(1)) }, ""},
		{"replicas 0", "C1: no canary is to leave the field out", func(o *canary.Options) { o.Replicas = new(intstr.FromInt32(0)) }, "Invalid replicas"},
		{"replicas -1", "no number of nodes", func(o *canary.Options) { o.Replicas = new(intstr.FromInt32(-1)) }, "Invalid replicas"},
		{"replicas 1%", "C7: the least", func(o *canary.Options) { o.Replicas = new(intstr.FromString("1%")) }, ""},
		{"replicas 0%", "as 0", func(o *canary.Options) { o.Replicas = new(intstr.FromString("0%")) }, "Invalid replicas"},
		{"replicas 100%", "C7: the most", func(o *canary.Options) { o.Replicas = new(intstr.FromString("100%")) }, ""},
		{"replicas 101%", "more than all", func(o *canary.Options) { o.Replicas = new(intstr.FromString("101%")) }, "Invalid replicas"},
		{"replicas beyond int32", "it must not wrap around", func(o *canary.Options) { o.Replicas = new(intstr.FromString("4294967297%")) }, "Invalid replicas"},
		{"replicas without %", "a string is a percentage", func(o *canary.Options) { o.Replicas = new(intstr.FromString("3")) }, "Invalid replicas"},
		{"replicas %", "no digits", func(o *canary.Options) { o.Replicas = new(intstr.FromString("%")) }, "Invalid replicas"},
		{"replicas +5%", "signs are refused", func(o *canary.Options) { o.Replicas = new(intstr.FromString("+5%")) }, "Invalid replicas"},
		{"replicas of no type", "neither number nor string", func(o *canary.Options) { o.Replicas = &intstr.IntOrString{Type: 7, IntVal: 1} }, "Invalid replicas"},
		{"unknown mode", "C2: there are two", func(o *canary.Options) { o.Mode = "Auto" }, "NotSupported validationMode"},
		{"negative durations", "time does not run backwards", func(o *canary.Options) {
			o.Duration, o.NoRestartsDuration = minutes(-1), minutes(-1)
		}, "Invalid duration, Invalid noRestartsDuration"},
		{"durations 0", "C2: nothing is waited for", func(o *canary.Options) { o.Duration, o.NoRestartsDuration = minutes(0), minutes(0) }, ""},
		{"manual", "C7: without durations", func(o *canary.Options) { o.Mode, o.Duration, o.NoRestartsDuration = canary.Manual, nil, nil }, ""},
		{"manual with durations", "C7: they have no effect", func(o *canary.Options) { o.Mode = canary.Manual },
			"Forbidden duration, Forbidden noRestartsDuration"},
		{"manual with durations 0", "C7: nor have these", func(o *canary.Options) {
			o.Mode, o.Duration, o.NoRestartsDuration = canary.Manual, minutes(0), nil
		}, "Forbidden duration"},
		{"bad selector", "it would match nothing", func(o *canary.Options) {
			o.NodeSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "In"}}
		}, "Required nodeSelector.matchExpressions[0].values"},
		{"bad keys", "no label has these", func(o *canary.Options) { o.NodeAntiAffinityKeys = []string{"zone", "a b", "-"} },
			"Invalid nodeAntiAffinityKeys[1], Invalid nodeAntiAffinityKeys[2]"},
		{"negative numbers", "nothing happens less than never", func(o *canary.Options) {
			o.AutoPause.MaxRestarts, o.AutoFail.MaxRestarts = new(int32(-2)), new(int32(-1))
			o.AutoPause.MaxSlowStartDuration, o.AutoFail.MaxRestartsDuration = minutes(-1), minutes(-1)
		}, "Invalid autoPause.maxRestarts, Invalid autoPause.maxSlowStartDuration, Invalid autoFail.maxRestarts, Invalid autoFail.maxRestartsDuration"},
		{"zeros", "C3, C4: the first restart, the first moment", func(o *canary.Options) {
			o.AutoPause.MaxRestarts, o.AutoFail.MaxRestarts = new(int32(0)), new(int32(0))
			o.AutoPause.MaxSlowStartDuration, o.AutoFail.MaxRestartsDuration = minutes(0), minutes(0)
		}, ""},
		{"fails before it pauses", "C7: the pause would never come", func(o *canary.Options) { o.AutoFail.MaxRestarts = new(int32(0)) },
			"Invalid autoFail.maxRestarts"},
		{"fails before it pauses by default", "C7: the default counts", func(o *canary.Options) {
			o.AutoPause.MaxRestarts, o.AutoFail.MaxRestarts = nil, new(int32(1))
		}, "Invalid autoFail.maxRestarts"},
		{"fails as it pauses", "C7: equal is not less", func(o *canary.Options) { o.AutoFail.MaxRestarts = new(int32(1)) }, ""},
		{"never pauses", "C7: there is no pause to come", func(o *canary.Options) {
			o.AutoFail.MaxRestarts, o.AutoPause.Disabled = new(int32(0)), true
		}, ""},
		{"never fails", "C7: there is no fail to come before", func(o *canary.Options) {
			o.AutoFail.MaxRestarts, o.AutoFail.Disabled = new(int32(0)), true
		}, ""},
		{"times out as it is promoted", "C7: the canary has no time left", func(o *canary.Options) { o.AutoFail.CanaryTimeout = minutes(20) },
			"Invalid autoFail.canaryTimeout"},
		{"times out after it is promoted", "C7: a moment is enough", func(o *canary.Options) {
			o.AutoFail.CanaryTimeout = new(20*time.Minute + 1)
		}, ""},
		{"times out before it is promoted by default", "C7: the default counts", func(o *canary.Options) {
			o.Duration, o.AutoFail.CanaryTimeout = nil, minutes(10)
		}, "Invalid autoFail.canaryTimeout"},
		{"manual with a timeout", "there is no duration to compare with, and no panic", func(o *canary.Options) {
			o.Mode, o.Duration, o.NoRestartsDuration, o.AutoFail.CanaryTimeout = canary.Manual, nil, nil, minutes(1)
		}, ""},
		{"manual with duration and timeout", "one mistake is enough", func(o *canary.Options) {
			o.Mode, o.NoRestartsDuration, o.AutoFail.CanaryTimeout = canary.Manual, nil, minutes(1)
		}, "Forbidden duration"},
		{"shortest timeout", "C7: it is positive", func(o *canary.Options) {
			o.Mode, o.Duration, o.NoRestartsDuration, o.AutoFail.CanaryTimeout = canary.Manual, nil, nil, new(time.Nanosecond)
		}, ""},
		{"timeout 0", "nothing could be tried", func(o *canary.Options) {
			o.Mode, o.Duration, o.NoRestartsDuration, o.AutoFail.CanaryTimeout = canary.Manual, nil, nil, minutes(0)
		}, "Invalid autoFail.canaryTimeout"},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			o := everything()
			row.change(&o)
			for prefix, path := range map[string]*field.Path{"": nil, "spec.canary.": field.NewPath("spec", "canary")} {
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

// TestValidateSaysAll holds that mistakes come all at once, in the order of the fields.
func TestValidateSaysAll(t *testing.T) {
	o := canary.Options{
		Replicas: new(intstr.FromInt32(0)), Mode: "", Duration: minutes(-1), NodeAntiAffinityKeys: []string{""},
		AutoPause: canary.AutoPause{MaxRestarts: new(int32(-1))}, AutoFail: canary.AutoFail{MaxRestarts: new(int32(-2))},
	}
	var fields []string
	for _, e := range o.Validate(field.NewPath("canary")) {
		fields = append(fields, e.Field)
	}
	want := []string{
		"canary.replicas", "canary.duration", "canary.nodeAntiAffinityKeys[0]", "canary.nodeAntiAffinityKeys[0]",
		"canary.autoPause.maxRestarts", "canary.autoFail.maxRestarts", "canary.autoFail.maxRestarts",
	}
	if !slices.Equal(fields, want) {
		t.Errorf("mistakes in %q", fields)
	}
}
