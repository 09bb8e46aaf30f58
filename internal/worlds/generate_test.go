package worlds_test

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// TestScenariosAreValid: a scenario that the simulator refuses would test nothing, and one that its seed does not make again
// could not be looked into.
func TestScenariosAreValid(t *testing.T) {
	for _, scenario := range []func(uint64) simulate.Scenario{worlds.Scenario, worlds.WithPolicies} {
		for seed := range uint64(200) {
			s := scenario(seed)
			if err := s.Validate(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !reflect.DeepEqual(s, scenario(seed)) {
				t.Fatalf("seed %d gives another scenario the second time", seed)
			}
		}
	}
}

// TestPoliciesAreAdded: worlds with policies have some, and kubelets that are about a revision are about one that is there.
func TestPoliciesAreAdded(t *testing.T) {
	outages, domains, about, stages, failures := 0, 0, 0, 0, 0
	for seed := range uint64(200) {
		s, plain := worlds.WithPolicies(seed), worlds.Scenario(seed)
		if s.Spec.Strategy.Policy.Outages != nil {
			outages++
		}
		if len(s.Spec.Strategy.Policy.Domains) > 0 {
			domains++
		}
		if len(s.Spec.Strategy.Policy.Stages) > 0 {
			stages++
		}
		if s.Spec.Strategy.Policy.Failures != nil {
			failures++
		}
		if len(s.Events) < len(plain.Events) || len(s.Model.Kubelets) < len(plain.Model.Kubelets) {
			t.Errorf("seed %d: what was there without policies is not there with them", seed)
		}
		for i := range plain.Model.Kubelets {
			was, is := plain.Model.Kubelets[i].Revision, s.Model.Kubelets[i].Revision
			if was == rollouttest.Hash(plain.Spec) {
				about++
				if is != rollouttest.Hash(s.Spec) {
					t.Errorf("seed %d: a kubelet is about revision %s, right is %s", seed, is, rollouttest.Hash(s.Spec))
				}
			}
		}
	}
	if outages < 100 || domains < 100 || stages < 100 || failures < 100 || about == 0 {
		t.Errorf("%d of 200 worlds have outages, %d domains, %d stages, %d failures, %d kubelets are about the revision of the spec",
			outages, domains, stages, failures, about)
	}
}

func TestScenariosDiffer(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(100) {
		s := worlds.Scenario(seed)
		s.Seed = 0
		text, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[string(text)]; ok {
			t.Errorf("seeds %d and %d give one scenario", other, seed)
		}
		seen[string(text)] = seed
	}
}
