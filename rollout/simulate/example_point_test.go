package simulate_test

import (
	"fmt"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// pointOf counts one node in each of the states.
func pointOf(states ...simulate.NodeState) simulate.Point {
	var recorder simulate.Recorder
	for i, s := range states {
		recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: fmt.Sprint(i), To: s})
	}
	return recorder.Series().Points[0]
}

func ExamplePoint_Count() {
	p := pointOf(simulate.NodeOld, simulate.NodeOld, simulate.NodeNew)
	fmt.Println(p.Count(simulate.NodeOld), p.Count(simulate.NodeNew), p.Count(simulate.NodeLost))
	// Output: 2 1 0
}

func ExamplePoint_Desired() {
	fmt.Println(pointOf(simulate.NodeOld, simulate.NodeOutside, simulate.NodeEmpty).Desired())
	// Output: 2
}

func ExamplePoint_Unavailable() {
	p := pointOf(simulate.NodeOld, simulate.NodeSurging, simulate.NodeOutside, simulate.NodeEmpty, simulate.NodeBroken)
	fmt.Println(p.Unavailable())
	// Output: 2
}

func ExampleCanaryReport_String() {
	fmt.Println(simulate.CanaryReport{Phase: canary.Failed, Reason: canary.TimedOut, Nodes: 3, Failed: 90e9})
	// Output: Failed (TimedOut), on at most 3 nodes, failed after 1m30s
}
