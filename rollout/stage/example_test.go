package stage_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/stage"
)

// A ring of canary nodes soaks for an hour, then zone after zone is opened. The second judgement gets the frontier of the first.
func Example() {
	stages, err := stage.Compile([]stage.Stage{
		{Name: "ring0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}, Soak: time.Hour},
		{Name: "zones", Key: "topology.kubernetes.io/zone"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	parts := stages.NewParts()
	ring0 := parts.Of(map[string]string{"ring": "0", "topology.kubernetes.io/zone": "b"})
	zoneB := parts.Of(map[string]string{"topology.kubernetes.io/zone": "b"})
	zoneA := parts.Of(map[string]string{"topology.kubernetes.io/zone": "a"})
	counts := make([]stage.Count, parts.Len())
	counts[ring0] = stage.Count{Nodes: 3, Settled: 3}
	counts[zoneB] = stage.Count{Nodes: 20, Behind: 20}
	counts[zoneA] = stage.Count{Nodes: 10, Behind: 10}

	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	in := stage.Input{Now: now, Revision: "5f46b89dcc", Counts: counts}
	for range 2 {
		judgement := stage.Judge(parts, in)
		fmt.Println(in.Now.Format(time.TimeOnly))
		for _, s := range judgement.States {
			part := parts.Part(s.Part)
			fmt.Printf("  stage %d, value %q: %s\n", part.Stage, part.Value, s.Phase)
		}
		in.Now, in.Frontier = judgement.Wake, judgement.Frontier
	}
	// Output:
	// 12:00:00
	//   stage 0, value "": Soaking
	//   stage 1, value "a": Waiting
	//   stage 1, value "b": Waiting
	//   stage 2, value "": Skipped
	// 13:00:00
	//   stage 0, value "": Done
	//   stage 1, value "a": Open
	//   stage 1, value "b": Waiting
	//   stage 2, value "": Skipped
}

// A part that needs an approval waits for one that names the revision.
func ExampleJudge_approval() {
	stages, err := stage.Compile([]stage.Stage{{Name: "prod", Approval: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	parts := stages.NewParts()
	in := stage.Input{Revision: "5f46b89dcc", Name: "agent-5f46b89dcc", Counts: make([]stage.Count, parts.Len())}
	in.Counts[parts.Of(nil)] = stage.Count{Nodes: 5, Behind: 5}
	for _, approved := range []string{"7d9c8b6f54", "agent-5f46b89dcc"} {
		in.Approved = []stage.Approval{{Stage: "prod", Revision: approved}}
		judgement := stage.Judge(parts, in)
		fmt.Printf("approved %s: %s, of another revision: %d\n", approved, judgement.States[0].Phase, len(judgement.Stale))
	}
	// Output:
	// approved 7d9c8b6f54: Approving, of another revision: 1
	// approved agent-5f46b89dcc: Open, of another revision: 0
}

func ExampleValidate() {
	for _, err := range stage.Validate(
		[]stage.Stage{{Name: "ring0"}}, []stage.Approval{{Stage: "ring1", Revision: "*"}}, nil,
	) {
		fmt.Println(err)
	}
	// Output:
	// approved[0].stage: Not found: "ring1"
	// approved[0].revision: Invalid value: "*": must name one revision: a stage that any revision may enter needs no approval
}
