//go:build teeth

package predownload_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/predownload"
)

// TestPropertiesReject shows that each property can fail: every planted bug is found by the property that is there to
// find it.
func TestPropertiesReject(t *testing.T) {
	reading := func(change func(*predownload.Input)) selector {
		return func(in predownload.Input) predownload.Selection {
			in.InFlight, in.Failures = slices.Clone(in.InFlight), slices.Clone(in.Failures)
			change(&in)
			return predownload.Select(in)
		}
	}
	spoiling := func(change func(predownload.Input, *predownload.Selection)) selector {
		return func(in predownload.Input) predownload.Selection {
			s := predownload.Select(in)
			change(in, &s)
			return s
		}
	}
	calls := 0
	mutants := []struct {
		name, why, property string
		choose              selector
	}{
		{
			name: "in-flight pulls forgotten", why: "V10 counts them", property: "parallelism",
			choose: reading(func(in *predownload.Input) { in.InFlight = nil }),
		},
		{
			name: "one too many", why: "an off-by-one of the limit", property: "parallelism",
			choose: reading(func(in *predownload.Input) {
				if v := in.Options.Parallelism; v != nil && v.Type == intstr.Int && v.IntVal > 0 {
					in.Options.Parallelism = number(v.IntVal + 1)
				}
			}),
		},
		{
			name: "asked again", why: "what is in flight on a node must not be asked for there", property: "idempotent",
			choose: reading(func(in *predownload.Input) {
				for i := range in.InFlight {
					in.InFlight[i].Node = "elsewhere"
				}
				in.Options.Parallelism = number(100)
			}),
		},
		{
			name: "percent rounded down", why: "D2 rounds up", property: "oracle",
			choose: reading(func(in *predownload.Input) {
				if v := in.Options.Parallelism; v != nil && v.StrVal == "34%" {
					in.Options.Parallelism = text("26%")
				}
			}),
		},
		{
			name: "backwards", why: "pulls must follow the order of admission (D2)", property: "oracle",
			choose: reading(func(in *predownload.Input) {
				candidates := slices.Collect(in.Candidates)
				slices.Reverse(candidates)
				in.Candidates = slices.Values(candidates)
			}),
		},
		{
			name: "first failure counts", why: "several records of one node and image must merge", property: "order",
			choose: reading(func(in *predownload.Input) {
				if len(in.Failures) > 0 {
					in.Failures = in.Failures[:1]
				}
			}),
		},
		{
			name: "everything is read", why: "an integer parallelism must not walk a large fleet", property: "lazy",
			choose: reading(func(in *predownload.Input) {
				in.Candidates = slices.Values(slices.Collect(in.Candidates))
			}),
		},
		{
			name: "read twice", why: "a sequence may be readable once only", property: "lazy",
			choose: reading(func(in *predownload.Input) {
				for range in.Candidates {
				}
			}),
		},
		{
			name: "no wake", why: "nobody would look when a back-off ends", property: "wake",
			choose: spoiling(func(_ predownload.Input, s *predownload.Selection) { s.Wake = time.Time{} }),
		},
		{
			name: "late wake", why: "one that is late delays pulls", property: "wake",
			choose: spoiling(func(_ predownload.Input, s *predownload.Selection) {
				if !s.Wake.IsZero() {
					s.Wake = s.Wake.Add(time.Second)
				}
			}),
		},
		{
			name: "early wake", why: "one that is early makes callers spin", property: "wake",
			choose: spoiling(func(_ predownload.Input, s *predownload.Selection) {
				if !s.Wake.IsZero() {
					s.Wake = s.Wake.Add(-time.Second)
				}
			}),
		},
		{
			name: "a node left out", why: "every needed image is pulled in the end", property: "live",
			choose: spoiling(func(_ predownload.Input, s *predownload.Selection) {
				s.Pulls = slices.DeleteFunc(s.Pulls, func(p predownload.Pull) bool { return p.Node == "n3" })
			}),
		},
		{
			name: "never given up", why: "a pull that fails for ever must not go on for ever", property: "oracle",
			choose: reading(func(in *predownload.Input) { in.Options.BackoffLimit = new(int32(1000)) }),
		},
		{
			name: "greed", why: "a greater limit must not take a pull back", property: "monotone",
			choose: spoiling(func(in predownload.Input, s *predownload.Selection) {
				if v := in.Options.Parallelism; v != nil && v.IntVal == 2 {
					s.Pulls = nil
				}
			}),
		},
		{
			name: "secrets shared", why: "what a caller does to the result must not reach its own slices", property: "inputs",
			choose: spoiling(func(in predownload.Input, s *predownload.Selection) {
				for i := range s.Pulls {
					s.Pulls[i].Secrets = in.Secrets
				}
			}),
		},
		{
			name: "memory", why: "equal inputs must give equal outputs", property: "inputs",
			choose: spoiling(func(_ predownload.Input, s *predownload.Selection) {
				if calls++; calls%2 == 0 {
					s.Pulls = append(s.Pulls, predownload.Pull{})
				}
			}),
		},
	}
	found := make(map[string]bool)
	rows := make(rowNames)
	for _, mutant := range mutants {
		rows.check(t, mutant.name, mutant.why)
		t.Run(mutant.name, func(t *testing.T) {
			for seed := range 2000 {
				if properties[mutant.property](mutant.choose, scenarioGen().Example(seed)) != "" {
					found[mutant.property] = true
					return
				}
			}
			t.Errorf("property %s accepts the bug: %s", mutant.property, mutant.why)
		})
	}
	for name := range properties {
		if !found[name] {
			t.Errorf("no planted bug shows that property %s can fail", name)
		}
	}
}
