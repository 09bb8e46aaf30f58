package predownload_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/predownload"
)

func TestOptionsDefault(t *testing.T) {
	want := predownload.Options{Parallelism: number(1), MinUpdatedReadyPods: number(0), TimeoutSeconds: 600, BackoffLimit: new(int32(3))}
	if diff := gocmp.Diff(want, predownload.Options{}.Default()); diff != "" {
		t.Errorf("the zero value (-want +got):\n%s", diff)
	}
	set := predownload.Options{Parallelism: text("x"), MinUpdatedReadyPods: number(-1), TimeoutSeconds: -1, BackoffLimit: new(int32(0))}
	got := set.Default()
	if diff := gocmp.Diff(set, got); diff != "" {
		t.Errorf("what is set changes (-want +got):\n%s", diff)
	}
	*got.Parallelism, *got.MinUpdatedReadyPods, *got.BackoffLimit = *number(7), *number(7), 7
	if *set.Parallelism != *text("x") || *set.MinUpdatedReadyPods != *number(-1) || *set.BackoffLimit != 0 {
		t.Error("the result shares memory with the options")
	}
}

func TestOptionsValidate(t *testing.T) {
	tests := []struct {
		name, why string
		options   predownload.Options
		want      []string // field paths
	}{
		{name: "zero value", why: "everything has a default"},
		{name: "explicit zeros", why: "0 pauses, waits for nothing, tries once", options: predownload.Options{Parallelism: number(0), MinUpdatedReadyPods: number(0), BackoffLimit: new(int32(0))}},
		{name: "percentages", why: "both may be percentages", options: predownload.Options{Parallelism: text("0%"), MinUpdatedReadyPods: text("100%")}},
		{name: "parallelism beyond 100%", why: "that is all nodes", options: predownload.Options{Parallelism: text("101%")}},
		{name: "ready pods beyond 100%", why: "no rollout gets there", options: predownload.Options{MinUpdatedReadyPods: text("101%")}, want: []string{"p.minUpdatedReadyPods"}},
		{name: "many ready pods", why: "the fleet may grow", options: predownload.Options{MinUpdatedReadyPods: number(101)}},
		{name: "negative integers", why: "nothing is less than none", options: predownload.Options{Parallelism: number(-1), MinUpdatedReadyPods: number(-1)}, want: []string{"p.parallelism", "p.minUpdatedReadyPods"}},
		{name: "negative percentage", why: "nor less than 0%", options: predownload.Options{Parallelism: text("-1%")}, want: []string{"p.parallelism"}},
		{name: "plus sign", why: "the API server refuses it", options: predownload.Options{Parallelism: text("+1%")}, want: []string{"p.parallelism"}},
		{name: "fraction", why: "the API server refuses it", options: predownload.Options{Parallelism: text("1.5%")}, want: []string{"p.parallelism"}},
		{name: "number as text", why: "it is neither an integer nor a percentage", options: predownload.Options{Parallelism: text("5")}, want: []string{"p.parallelism"}},
		{name: "bare percent", why: "a percentage has digits", options: predownload.Options{Parallelism: text("%")}, want: []string{"p.parallelism"}},
		{name: "space", why: "the API server refuses it", options: predownload.Options{Parallelism: text("5 %")}, want: []string{"p.parallelism"}},
		{name: "greatest percentage", why: "it fits an int32", options: predownload.Options{Parallelism: text("2147483647%")}},
		{name: "too great a percentage", why: "it does not fit an int32", options: predownload.Options{Parallelism: text("2147483648%")}, want: []string{"p.parallelism"}},
		{name: "neither integer nor text", why: "a value built by hand", options: predownload.Options{Parallelism: &intstr.IntOrString{Type: 7}}, want: []string{"p.parallelism"}},
		{name: "negative seconds", why: "only 0 means the default", options: predownload.Options{TimeoutSeconds: -1}, want: []string{"p.timeoutSeconds"}},
		{name: "one second", why: "short, but a timeout", options: predownload.Options{TimeoutSeconds: 1}},
		{name: "negative limit", why: "a pull is tried at least once", options: predownload.Options{BackoffLimit: new(int32(-1))}, want: []string{"p.backoffLimit"}},
		{name: "all at once", why: "every mistake is reported", options: predownload.Options{Parallelism: text("x"), MinUpdatedReadyPods: text("y"), TimeoutSeconds: -1, BackoffLimit: new(int32(-1))}, want: []string{"p.parallelism", "p.minUpdatedReadyPods", "p.timeoutSeconds", "p.backoffLimit"}},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, err := range test.options.Validate(field.NewPath("p")) {
				got = append(got, err.Field)
			}
			if strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("got %q, want %q: %s", got, test.want, test.why)
			}
			if len(test.options.Validate(nil)) != len(test.want) {
				t.Error("without a path the result is another")
			}
		})
	}
}

// TestOptionsValidateMessages: a message must help whoever reads it.
func TestOptionsValidateMessages(t *testing.T) {
	for _, test := range []struct {
		options predownload.Options
		want    string
	}{
		{predownload.Options{Parallelism: text("x")}, `parallelism: Invalid value: "x": must be an integer or a percentage such as "10%"`},
		{predownload.Options{Parallelism: text("2147483648%")}, `parallelism: Invalid value: "2147483648%": percentage is too large`},
		{predownload.Options{Parallelism: number(-2)}, `parallelism: Invalid value: -2: must not be negative`},
		{predownload.Options{MinUpdatedReadyPods: text("101%")}, `minUpdatedReadyPods: Invalid value: "101%": must not be greater than 100%`},
	} {
		errs := test.options.Validate(nil)
		if len(errs) != 1 || errs[0].Error() != test.want {
			t.Errorf("got %v, want %s", errs, test.want)
		}
	}
}
