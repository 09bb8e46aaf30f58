package draw_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func ExampleAnyCanaryCase() {
	s := draw.AnyCanaryCase(kit.Canary("2")).Example(1)
	fmt.Println(s.Spec.Name, s.Spec.Strategy.Type == rollout.OnDelete || s.Spec.Strategy.Canary.Replicas.IntVal == 2)
	// Output: agent true
}

func ExampleAnyCanarySpec() {
	_, err := rollout.New(draw.AnyCanarySpec().Example(1))
	fmt.Println(err)
	// Output: <nil>
}

func ExampleAnyCanary() {
	spec := kit.Spec("agent")
	options := draw.AnyCanary(kit.Hash(spec)).Example(1)
	spec.Strategy.Canary = &options
	_, err := rollout.New(spec)
	fmt.Println(err)
	// Output: <nil>
}

func ExampleAnyCanaryWorld() {
	w := draw.AnyCanaryWorld(objects.Released()).Example(1)
	fmt.Println(harness.CheckCanaryEnds(harness.Planner, w, harness.EndsPromoted))
	// Output: <nil>
}

func ExampleAnyIllness() {
	w := draw.AnyCanaryWorld(objects.Released(), kit.AutoFail(canary.AutoFail{CanaryTimeout: new(time.Hour)})).Example(1)
	w.Behavior = draw.AnyIllness(w.Behavior, kit.Hash(w.Spec)).Example(1)
	fmt.Println(harness.CheckCanaryEnds(harness.Planner, w, harness.EndsFailed))
	// Output: <nil>
}

func ExampleAnyMishaps() {
	w := draw.AnyCanaryWorld().Example(1)
	w.Mishaps = draw.AnyMishaps(w.Snapshot.Nodes).Example(1)
	fmt.Println(len(w.Mishaps) <= 5, harness.CheckCanary(harness.Planner, w))
	// Output: true <nil>
}

func ExampleAnyBehavior() {
	behavior := draw.AnyBehavior().Example(1) // Draw it in a test with rapid.
	fmt.Println(behavior.Hook >= 0)
	// Output: true
}

func ExampleAnyChanges() {
	changes := draw.AnyChanges(kit.Spec("agent")).Example(1) // Draw it in a test with rapid.
	fmt.Println(len(changes) > 1)
	// Output: true
}

func ExampleAnySpec() {
	spec := draw.AnySpec(kit.Paused()).Example(1)
	_, err := rollout.New(spec)
	fmt.Println(spec.Name, spec.Strategy.Paused, err)
	// Output: agent true <nil>
}

func ExampleAnySnapshot() {
	spec := kit.Spec("agent")
	p, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := draw.AnySnapshot(spec).Example(1)
	_, err = p.Plan(s)
	fmt.Println(s.Now.Equal(kit.Noon()), err)
	// Output: true <nil>
}

// In a test the property is checked by rapid.Check(t, …), or by rapid.MakeFuzz for native fuzzing.
func ExampleAnyCase() {
	property := func(t *rapid.T) {
		s := draw.AnyCase().Draw(t, "scenario")
		p, err := rollout.New(s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := harness.CheckSafe(s.Spec, p.Plan, s.Snapshot); err != nil {
			t.Fatal(err)
		}
	}
	_ = rapid.MakeCheck(property)
	fmt.Println(len(draw.AnyCase().Example(3).Snapshot.Nodes) > 0)
	// Output: true
}
