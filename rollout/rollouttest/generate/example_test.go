package generate_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/generate"
)

// A promise of one's own spec: whatever the fleet is like, no plan deletes more pods than its burst.
func Example() {
	spec := rollouttest.Spec("agent", rollouttest.MaxUnavailable("100%"), rollouttest.Burst("2"))
	planner, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	property := func(t *rapid.T) {
		plan, err := planner.Plan(generate.Snapshot(spec).Draw(t, "snapshot"))
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Deletes) > 2 {
			t.Fatalf("%d pods are deleted", len(plan.Deletes))
		}
	}
	_ = func(t *testing.T) { rapid.Check(t, property) } // in a test
	fmt.Println("checked by rapid.Check(t, property)")
	// Output: checked by rapid.Check(t, property)
}

func ExampleSnapshot() {
	spec := rollouttest.Spec("agent")
	planner, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := generate.Snapshot(spec).Example(1) // Draw it in a test.
	_, err = planner.Plan(s)
	fmt.Println(s.Now.Equal(rollouttest.Noon()), err)
	// Output: true <nil>
}

func ExampleSpec() {
	spec := generate.Spec(rollouttest.Paused()).Example(1) // Draw it in a test.
	_, err := rollout.New(spec)
	fmt.Println(spec.Name, spec.Strategy.Paused, err)
	// Output: agent true <nil>
}

func ExampleCanarySpec() {
	spec := generate.CanarySpec(rollouttest.Canary("2")).Example(1) // Draw it in a test.
	_, err := rollout.New(spec)
	fmt.Println(err)
	// Output: <nil>
}
