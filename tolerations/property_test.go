package tolerations_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/tolerations"
)

var (
	keys = []string{
		"", "dedicated", corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure,
		corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable,
		corev1.TaintNodeNetworkUnavailable,
	}
	values    = []string{"", "gpu", "3"}
	operators = []corev1.TolerationOperator{
		"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt, "Weird",
	}
	effects = []corev1.TaintEffect{
		"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute, "Weird",
	}
)

// tolerationGen draws defaults of P1, with and without a period, as often as arbitrary tolerations: only
// near-duplicates exercise the merge.
func tolerationGen() *rapid.Generator[corev1.Toleration] {
	return rapid.Custom(func(t *rapid.T) corev1.Toleration {
		toleration := corev1.Toleration{
			Key:      rapid.SampledFrom(keys).Draw(t, "key"),
			Operator: rapid.SampledFrom(operators).Draw(t, "operator"),
			Value:    rapid.SampledFrom(values).Draw(t, "value"),
			Effect:   rapid.SampledFrom(effects).Draw(t, "effect"),
		}
		if rapid.Bool().Draw(t, "default") {
			toleration = rapid.SampledFrom(wantDefaults(true)).Draw(t, "which")
		}
		if rapid.Bool().Draw(t, "finite") {
			seconds := rapid.Int64Range(0, 2).Draw(t, "seconds")
			toleration.TolerationSeconds = &seconds
		}
		return toleration
	})
}

func specGen() *rapid.Generator[*corev1.PodSpec] {
	return rapid.Custom(func(t *rapid.T) *corev1.PodSpec {
		list := rapid.SliceOfN(tolerationGen(), 0, 6).Draw(t, "tolerations")
		return &corev1.PodSpec{
			HostNetwork: rapid.Bool().Draw(t, "hostNetwork"),
			// Spare capacity shows an append that writes into the caller's array.
			Tolerations: append(make([]corev1.Toleration, 0, len(list)+10), list...),
		}
	})
}

// wantDefaults spells P1 out once more, from the text of the rule.
func wantDefaults(hostNetwork bool) []corev1.Toleration {
	list := []corev1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"},
		{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"},
		{Key: "node.kubernetes.io/disk-pressure", Operator: "Exists", Effect: "NoSchedule"},
		{Key: "node.kubernetes.io/memory-pressure", Operator: "Exists", Effect: "NoSchedule"},
		{Key: "node.kubernetes.io/pid-pressure", Operator: "Exists", Effect: "NoSchedule"},
		{Key: "node.kubernetes.io/unschedulable", Operator: "Exists", Effect: "NoSchedule"},
	}
	if hostNetwork {
		list = append(list, corev1.Toleration{
			Key: "node.kubernetes.io/network-unavailable", Operator: "Exists", Effect: "NoSchedule",
		})
	}
	return list
}

// naiveForDaemon is the oracle: one default at a time, a new list for each.
func naiveForDaemon(spec *corev1.PodSpec) []corev1.Toleration {
	list := spec.DeepCopy().Tolerations
	for _, wanted := range wantDefaults(spec.HostNetwork) {
		var next []corev1.Toleration
		found := false
		for _, have := range list {
			bare := have
			bare.TolerationSeconds = nil
			if bare == wanted {
				have, found = wanted, true
			}
			next = append(next, have)
		}
		if !found {
			next = append(next, wanted)
		}
		list = next
	}
	return list
}

// checkForDaemon is the property of ForDaemon for any implementation: equal to the oracle, input untouched, no
// memory shared, idempotent.
func checkForDaemon(forDaemon func(*corev1.PodSpec) []corev1.Toleration, spec *corev1.PodSpec) string {
	before := spec.DeepCopy()
	spare := slices.Clone(spec.Tolerations[:cap(spec.Tolerations)])
	got := forDaemon(spec)
	if diff := cmp.Diff(naiveForDaemon(before), got); diff != "" {
		return "differs from the oracle (-want +got):\n" + diff
	}
	if diff := cmp.Diff(forDaemon(&corev1.PodSpec{HostNetwork: spec.HostNetwork, Tolerations: got}), got); diff != "" {
		return "is not idempotent:\n" + diff
	}
	for i := range got {
		got[i].Key = "overwritten"
		if got[i].TolerationSeconds != nil {
			*got[i].TolerationSeconds = 99
		}
	}
	if diff := cmp.Diff(before, spec); diff != "" {
		return "wrote or shares the input:\n" + diff
	}
	if diff := cmp.Diff(spare, spec.Tolerations[:cap(spec.Tolerations)]); diff != "" {
		return "wrote into the spare capacity of the input:\n" + diff
	}
	return ""
}

func propertyForDaemon(t *rapid.T) {
	if problem := checkForDaemon(tolerations.ForDaemon, specGen().Draw(t, "spec")); problem != "" {
		t.Fatal(problem)
	}
}

func TestForDaemonAgreesWithOracle(t *testing.T) { rapid.Check(t, propertyForDaemon) }

func FuzzForDaemon(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(propertyForDaemon)) }

// upstream calls the API type's own method with a logger left to inference; with the gate off it logs nothing.
func upstream[L any](
	tolerates func(*corev1.Toleration, L, *corev1.Taint, bool) bool, toleration *corev1.Toleration, taint *corev1.Taint,
) bool {
	var silent L
	return tolerates(toleration, silent, taint, false)
}

// TestToleratesEqualsAPIMethod is exhaustive over the alphabets above.
func TestToleratesEqualsAPIMethod(t *testing.T) {
	compared := 0
	for _, taintKey := range keys[:3] {
		for _, taintValue := range values {
			for _, taintEffect := range effects {
				taint := &corev1.Taint{Key: taintKey, Value: taintValue, Effect: taintEffect}
				for _, key := range keys[:3] {
					for _, value := range values {
						for _, effect := range effects {
							for _, operator := range operators {
								toleration := &corev1.Toleration{Key: key, Value: value, Effect: effect, Operator: operator}
								want := upstream((*corev1.Toleration).ToleratesTaint, toleration, taint)
								if got := tolerations.Tolerates(toleration, taint); got != want {
									t.Errorf("Tolerates(%+v, %+v) = %v, want %v", toleration, taint, got, want)
								}
								compared++
							}
						}
					}
				}
			}
		}
	}
	if compared != 3*3*5*3*3*5*6 {
		t.Errorf("compared %d pairs: the alphabets changed", compared)
	}
}
