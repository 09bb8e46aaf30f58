package worlds_test

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/worlds"
)

// TestScenariosAreValid: a scenario that the simulator refuses would test nothing, and one that its seed does not make again
// could not be looked into.
func TestScenariosAreValid(t *testing.T) {
	for seed := range uint64(200) {
		s := worlds.Scenario(seed)
		if err := s.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(s, worlds.Scenario(seed)) {
			t.Fatalf("seed %d gives another scenario the second time", seed)
		}
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
