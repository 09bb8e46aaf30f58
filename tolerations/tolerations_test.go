package tolerations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/tolerations"
)

func TestForDaemon(t *testing.T) {
	zero := int64(0)
	unreachable := corev1.Toleration{
		Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
	}
	finite := unreachable
	finite.TolerationSeconds = &zero
	other := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, TolerationSeconds: &zero}
	allEffects := corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists}
	defaults := wantDefaults(false)
	rest := append(defaults[:1:1], defaults[2:]...)

	tests := []struct {
		name, why string
		spec      *corev1.PodSpec
		want      []corev1.Toleration
	}{
		{"nil spec", "no spec has the defaults and no host network", nil, defaults},
		{"empty spec", "P1 alone", &corev1.PodSpec{}, defaults},
		{"host network", "such a pod needs no pod network", &corev1.PodSpec{HostNetwork: true}, wantDefaults(true)},
		{
			"own tolerations first", "the template's come in their order, with their period",
			&corev1.PodSpec{Tolerations: []corev1.Toleration{other}},
			append([]corev1.Toleration{other}, defaults...),
		},
		{
			"equal default", "it is not added twice and keeps its place",
			&corev1.PodSpec{Tolerations: []corev1.Toleration{unreachable, other}},
			append([]corev1.Toleration{unreachable, other}, rest...),
		},
		{
			"finite default", "a daemon pod tolerates a broken node for good",
			&corev1.PodSpec{Tolerations: []corev1.Toleration{finite}},
			append([]corev1.Toleration{unreachable}, rest...),
		},
		{
			"finite default twice", "the controller replaces each of them and merges none",
			&corev1.PodSpec{Tolerations: []corev1.Toleration{finite, unreachable, finite}},
			append([]corev1.Toleration{unreachable, unreachable, unreachable}, rest...),
		},
		{
			"wider toleration", "another effect is another toleration, though it covers the default",
			&corev1.PodSpec{Tolerations: []corev1.Toleration{allEffects}},
			append([]corev1.Toleration{allEffects}, defaults...),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			if diff := cmp.Diff(test.want, tolerations.ForDaemon(test.spec)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.why, diff)
			}
		})
	}
}

// TestForDaemonTablesAreConstant guards the package's own table against a caller that writes into a result.
func TestForDaemonTablesAreConstant(t *testing.T) {
	first := tolerations.ForDaemon(&corev1.PodSpec{HostNetwork: true})
	for i := range first {
		first[i] = corev1.Toleration{Key: "overwritten"}
	}
	if diff := cmp.Diff(wantDefaults(true), tolerations.ForDaemon(&corev1.PodSpec{HostNetwork: true})); diff != "" {
		t.Errorf("a later result changed (-want +got):\n%s", diff)
	}
}

func TestTolerates(t *testing.T) {
	zero := int64(0)
	taint := &corev1.Taint{Key: "num", Value: "3", Effect: corev1.TaintEffectNoExecute}
	tests := []struct {
		name, why  string
		toleration *corev1.Toleration
		taint      *corev1.Taint
		want       bool
	}{
		{"nil toleration", "nothing covers nothing", nil, taint, false},
		{"nil taint", "there is no taint to cover", &corev1.Toleration{Operator: "Exists"}, nil, false},
		{"everything", "no key, no effect, Exists", &corev1.Toleration{Operator: "Exists"}, taint, true},
		{"empty, taint with value", "the empty operator compares the values", &corev1.Toleration{}, taint, false},
		{"empty, taint without value", "empty equals empty", &corev1.Toleration{}, &corev1.Taint{Key: "k"}, true},
		{"other key", "keys must be equal", &corev1.Toleration{Key: "nu", Operator: "Exists"}, taint, false},
		{
			"other effect", "effects must be equal",
			&corev1.Toleration{Effect: "NoSchedule", Operator: "Exists"}, taint, false,
		},
		{
			"zero seconds", "for zero seconds is tolerated",
			&corev1.Toleration{Operator: "Exists", TolerationSeconds: &zero}, taint, true,
		},
		{
			"Gt", "the gate is off, 3 > 2 is not looked at",
			&corev1.Toleration{Key: "num", Operator: "Gt", Value: "2"}, taint, false,
		},
		{"Lt", "the gate is off", &corev1.Toleration{Key: "num", Operator: "Lt", Value: "4"}, taint, false},
		{
			"unknown operator", "what is not understood covers nothing",
			&corev1.Toleration{Operator: "exists"}, taint, false,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			if got := tolerations.Tolerates(test.toleration, test.taint); got != test.want {
				t.Errorf("Tolerates = %v, want %v: %s", got, test.want, test.why)
			}
		})
	}
}
