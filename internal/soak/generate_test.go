package main

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// TestScenariosAreText: what a failure leaves behind is enough to see it again.
func TestScenariosAreText(t *testing.T) {
	for seed := range fixedseed.Share(15) {
		s := worldFrom(0, seed).scenario()
		text, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var read simulate.Scenario
		if err := yaml.Unmarshal(text, &read); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		first, second := check(s, checkOptions{}), check(read, checkOptions{})
		if first.failure != nil || second.failure != nil {
			t.Fatalf("seed %d: %+v, from text %+v", seed, first.failure, second.failure)
		}
		if a, b := first.report, second.report; !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d gives another run when it was read from text:\n%s\n%s", seed, &a, &b)
		}
	}
}
