package rollout_test

import (
	"encoding/json"
	"fmt"

	"github.com/daemonplan/daemonplan/rollout"
)

// printJSON shows the JSON of a value that has a text form.
func printJSON(v any) {
	data, err := json.Marshal(v)
	fmt.Println(string(data), err)
}

func ExampleNodeState_MarshalText() {
	printJSON(rollout.StateSurging)
	// Output: "surging" <nil>
}

func ExampleTarget_MarshalText() {
	printJSON(rollout.TargetHeld)
	// Output: "held" <nil>
}

func ExampleVerb_MarshalText() {
	printJSON(rollout.VerbReplace)
	// Output: "replace" <nil>
}

func ExampleLimit_MarshalText() {
	printJSON(rollout.LimitMaxSurge)
	// Output: "maxSurge" <nil>
}

func ExampleReason_MarshalText() {
	printJSON(rollout.ReasonBudget)
	// Output: "Budget" <nil>
}

func ExampleRevisionVerb_MarshalText() {
	printJSON(rollout.RenumberRevision)
	// Output: "renumber" <nil>
}

func ExampleMemory_Collided() {
	var memory rollout.Memory
	memory = memory.Collided()
	fmt.Println(*memory.CollisionCount)
	memory = memory.Collided()
	fmt.Println(*memory.CollisionCount)
	// Output:
	// 1
	// 2
}
