package rollouttest_test

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// threeZones is the rollout of a new image to six nodes in three zones. Pods stop within two seconds and are ready after ten.
func threeZones(options ...rollouttest.SpecOption) simulate.Scenario {
	old := rollouttest.Spec("agent")
	return simulate.Scenario{
		Spec:  rollouttest.Spec("agent", append(options, rollouttest.Image("agent:v2"))...),
		Fleet: rollouttest.Fleet(6, rollouttest.InZones("a", "b", "c"), rollouttest.Running(old)),
		Model: simulate.Model{Kubelets: []simulate.Kubelet{{
			Ready: simulate.Fixed(10 * time.Second), Stop: simulate.Fixed(2 * time.Second),
		}}},
	}
}

// In a test t is the *testing.T; here it is one that prints.
func ExampleSimulate() {
	t := reporter{}
	report := rollouttest.Simulate(t, threeZones(rollouttest.MaxUnavailable("2")),
		rollouttest.NeverMoreThan(1, rollouttest.UnavailableIn("zone")),
		rollouttest.DoneWithin(30*time.Second),
		rollouttest.EndsAtUpdateRevision(),
	)
	fmt.Println(report.End, report.Finished)
	// Output:
	// promised: done within 30s
	//   broken at step 13, 36s after the beginning (2026-01-01T12:00:36Z): done after 36s; the set is Running (RolloutComplete); what nodes waited for longest: Budget (maxUnavailable): 1m12s summed over nodes
	//   to see it again (seed 0): simulate.New(scenario), then Step 13 times; KeepCases keeps what the controller saw
	// done 36s
}

func ExampleNeverMoreThan() {
	rollouttest.Simulate(reporter{}, threeZones(rollouttest.MaxUnavailable("2")), rollouttest.NeverMoreThan(1, rollouttest.Unavailable()))
	// Output:
	// promised: never more than 1 unavailable node
	//   broken at step 2, 0s after the beginning (2026-01-01T12:00:00Z): 2 unavailable nodes, of 6
	//   node-00004 is terminating
	//     plan of step 1 (0s): outdated; replace pod agent-node-00004: the pod is outdated, and the budget allows it; counts against maxUnavailable
	//     plan of step 2 (0s): terminating; waits: the node's pods are terminating; counts against maxUnavailable
	//   node-00005 is terminating
	//     plan of step 1 (0s): outdated; replace pod agent-node-00005: the pod is outdated, and the budget allows it; counts against maxUnavailable
	//     plan of step 2 (0s): terminating; waits: the node's pods are terminating; counts against maxUnavailable
	//   to see it again (seed 0): simulate.New(scenario), then Step 2 times; KeepCases keeps what the controller saw
}

func ExampleNeverFewerThan() {
	rollouttest.Simulate(reporter{}, threeZones(rollouttest.MaxSurge("2")), rollouttest.NeverFewerThan(2, rollouttest.Serving().In("zone")))
	// Output:
}

func ExampleUnavailable() {
	fmt.Println(rollouttest.NeverMoreThan(3, rollouttest.Unavailable()).Says)
	// Output: never more than 3 unavailable nodes
}

func ExampleUnavailableIn() {
	fmt.Println(rollouttest.NeverMoreThan(1, rollouttest.UnavailableIn("rack")).Says)
	// Output: never more than 1 unavailable node in any one rack
}

func ExampleBroken() {
	fmt.Println(rollouttest.NeverMoreThan(2, rollouttest.Broken()).Says)
	// Output: never more than 2 broken nodes
}

func ExampleServing() {
	fmt.Println(rollouttest.NeverFewerThan(10, rollouttest.Serving()).Says)
	// Output: never fewer than 10 serving nodes
}

func ExampleUpdated() {
	fmt.Println(rollouttest.NeverMoreThan(3, rollouttest.Updated().In("pool")).Says)
	// Output: never more than 3 updated nodes in any one pool
}

func ExampleCountStates() {
	pulling := rollouttest.CountStates("pulling", simulate.NodePulling)
	fmt.Println(rollouttest.NeverMoreThan(20, pulling).Says)
	// Output: never more than 20 pulling nodes
}

func ExampleCount_In() {
	fmt.Println(rollouttest.NeverMoreThan(1, rollouttest.Unavailable().In("example.com/cell")).Says)
	// Output: never more than 1 unavailable node in any one example.com/cell
}

func ExampleDoneWithin() {
	rollouttest.Simulate(reporter{}, threeZones(rollouttest.MaxUnavailable("2")), rollouttest.DoneWithin(36*time.Second))
	// Output:
}

func ExampleEndsAtUpdateRevision() {
	rollouttest.Simulate(reporter{}, threeZones(rollouttest.Partition("5")), rollouttest.EndsAtUpdateRevision())
	// Output:
	// promised: every node ends at the update revision
	//   broken at step 5, 12s after the beginning (2026-01-01T12:00:12Z): the run ended done after 12s, with 1 of 6 nodes updated; the set is Running (RolloutHeld); what nodes waited for longest: NotReady: 10s summed over nodes
	//   node-00000 is old
	//     plan of step 5 (12s): outdated; is held: its pod agent-node-00000 is outdated, but partition 5: 5 of 5 places taken
	//   node-00001 is old
	//     plan of step 5 (12s): outdated; is held: its pod agent-node-00001 is outdated, but partition 5: 5 of 5 places taken
	//   node-00002 is old
	//     plan of step 5 (12s): outdated; is held: its pod agent-node-00002 is outdated, but partition 5: 5 of 5 places taken
	//   node-00003 is old
	//     plan of step 5 (12s): outdated; is held: its pod agent-node-00003 is outdated, but partition 5: 5 of 5 places taken
	//   node-00004 is old
	//     plan of step 5 (12s): outdated; is held: its pod agent-node-00004 is outdated, but partition 5: 5 of 5 places taken
	//   to see it again (seed 0): simulate.New(scenario), then Step 5 times; KeepCases keeps what the controller saw
}

func ExampleNoPodRecreatedTwice() {
	rollouttest.Simulate(reporter{}, threeZones(), rollouttest.NoPodRecreatedTwice())
	// Output:
}

func ExampleNoPodDeletedOn() {
	rollouttest.Simulate(reporter{}, threeZones(rollouttest.Partition("2")), rollouttest.NoPodDeletedOn("node-00000", "node-00001"))
	// Output:
}

// A promise that never saw what it is about fails.
func ExampleCanaryBeforeAll() {
	scenario := threeZones(rollouttest.Canary("1"), rollouttest.CanaryFor(5*time.Minute, 0))
	rollouttest.Simulate(reporter{}, scenario, rollouttest.CanaryBeforeAll())
	rollouttest.Simulate(reporter{}, threeZones(), rollouttest.CanaryBeforeAll())
	// Output:
	// promised: no node beyond the canary's gets a revision before it is promoted
	//   broken at step 25, 1m12s after the beginning (2026-01-01T12:01:12Z): no revision was on trial in this run; the set is Running (RolloutComplete)
	//   to see it again (seed 0): simulate.New(scenario), then Step 25 times; KeepCases keeps what the controller saw
}

func ExampleEveryStep() {
	small := rollouttest.EveryStep("no plan deletes more than one pod", func(_ *simulate.Simulation, step *simulate.Step) error {
		if n := len(step.Plan.Deletes); n > 1 {
			return fmt.Errorf("%d are deleted", n)
		}
		return nil
	})
	rollouttest.Simulate(reporter{}, threeZones(rollouttest.MaxUnavailable("2")), small)
	// Output:
	// promised: no plan deletes more than one pod
	//   broken at step 1, 0s after the beginning (2026-01-01T12:00:00Z): 2 are deleted
	//   to see it again (seed 0): simulate.New(scenario), then Step once; KeepCases keeps what the controller saw
}

func ExampleEventually() {
	half := rollouttest.Eventually("half of the fleet is done at some time", func(s *simulate.Simulation, _ *simulate.Step) bool {
		return s.Count(simulate.NodeNew) == 3
	})
	rollouttest.Simulate(reporter{}, threeZones(), half)
	// Output:
}

func ExampleKeepCases() {
	keep := rollouttest.KeepCases(func(name string, data []byte) error {
		c, err := simulate.ReadCase(data)
		fmt.Println(name, len(c.Snapshot.Nodes), err) // a test would write the file
		return err
	})
	rollouttest.Simulate(reporter{}, threeZones(), keep, rollouttest.DoneWithin(time.Second))
	// Output:
	// done-within-1s-step-25.json 6 <nil>
	// promised: done within 1s
	//   broken at step 25, 1m12s after the beginning (2026-01-01T12:01:12Z): done after 1m12s; the set is Running (RolloutComplete); what nodes waited for longest: Budget (maxUnavailable): 3m0s summed over nodes
	//   to see it again (seed 0): simulate.New(scenario), then Step 25 times
	//   what the controller saw is kept as done-within-1s-step-25.json, for: kubectl daemonplan plan --case done-within-1s-step-25.json
}

// A model for many specs: none of these pods has the image that is slow.
func ExampleAllowUnused() {
	scenario := threeZones()
	scenario.Model.Kubelets = append(scenario.Model.Kubelets, simulate.Kubelet{
		Image: "agent:v3", Ready: simulate.Fixed(time.Minute),
	})
	rollouttest.Simulate(reporter{}, scenario, rollouttest.EndsAtUpdateRevision(), rollouttest.AllowUnused())
	rollouttest.Simulate(reporter{}, scenario, rollouttest.EndsAtUpdateRevision())
	// Output:
	// model.kubelets[1] was about no pod in this run, so what it says was not put to the test; AllowUnused accepts that
}

// A promise of one's own: nobody pulls from the registry while it is night.
func ExamplePromise() {
	quiet := rollouttest.Promise{
		Says: "no image comes in the first minute",
		Begin: func(simulate.Scenario, *simulate.Simulation) rollouttest.Guard {
			pulls, early := 0, []string(nil)
			return rollouttest.Guard{
				Record: func(r simulate.Record) {
					if r.Kind == simulate.ImagePulled {
						pulls++
						if r.At < time.Minute {
							early = append(early, r.Node)
						}
					}
				},
				Instant: func(time.Duration) error {
					if len(early) > 0 {
						return &rollouttest.BreachError{What: "an image came", Nodes: early}
					}
					return nil
				},
				End: func(*simulate.Simulation, simulate.Report) error {
					if pulls == 0 {
						return errors.New("no image came at all")
					}
					return nil
				},
			}
		},
	}
	rollouttest.Simulate(reporter{}, threeZones(), quiet)
	// Output:
	// promised: no image comes in the first minute
	//   broken at step 4, 2s after the beginning (2026-01-01T12:00:02Z): an image came
	//   node-00005 is starting
	//     plan of step 3 (2s): missing; create a pod: the node is eligible and has no pod; counts against maxUnavailable
	//     plan of step 4 (2s): starting; waits: pod agent-00007 of the update revision is not ready yet; counts against maxUnavailable
	//   to see it again (seed 0): simulate.New(scenario), then Step 4 times; KeepCases keeps what the controller saw
}

func ExampleBreachError_Error() {
	err := error(&rollouttest.BreachError{What: "3 are too many", Nodes: []string{"node-00001"}})
	fmt.Println(err)
	// Output: 3 are too many
}

func ExampleCheckInvariants() {
	s := upgrade()
	fmt.Println(rollouttest.CheckInvariants(s.Spec, planner(s.Spec), s.Snapshot))
	// Output: <nil>
}

func ExampleFleet() {
	fleet := rollouttest.Fleet(3, rollouttest.InZones("a", "b"), rollouttest.Running(rollouttest.Spec("agent")))
	snapshot, err := fleet.Build()
	for _, n := range snapshot.Nodes {
		fmt.Println(n.Name, n.Labels[corev1.LabelTopologyZone])
	}
	fmt.Println(len(snapshot.Pods), err)
	// Output:
	// node-00000 a
	// node-00001 b
	// node-00002 a
	// 3 <nil>
}

func ExampleRunning() {
	running := rollouttest.Spec("agent", rollouttest.TemplateNodeSelector("gpu", "yes"))
	snapshot, err := rollouttest.Fleet(3, rollouttest.And(2, "gpu"), rollouttest.Labelled("gpu", "yes"), rollouttest.Running(running)).Build()
	fmt.Println(len(snapshot.Nodes), len(snapshot.Pods), err)
	// Output: 5 2 <nil>
}

func ExampleAnd() {
	fleet := rollouttest.Fleet(100, rollouttest.InPool("web"), rollouttest.And(3, "edge"), rollouttest.Labelled("example.com/edge", "yes"))
	for _, p := range fleet.Pools {
		fmt.Println(p.Name, p.Nodes, p.Labels)
	}
	// Output:
	// web 100 map[]
	// edge 3 map[example.com/edge:yes]
}

func ExampleInPool() {
	fmt.Println(rollouttest.Fleet(2, rollouttest.InPool("web")).Pools[0].Name)
	// Output: web
}

func ExampleInZones() {
	fmt.Println(rollouttest.Fleet(2, rollouttest.InZones("a", "b")).Pools[0].Zones)
	// Output: [a b]
}

func ExampleInRacks() {
	fmt.Println(rollouttest.Fleet(12, rollouttest.InZones("a", "b"), rollouttest.InRacks(3)).Pools[0].Racks)
	// Output: 3
}

func ExampleLabelled() {
	fmt.Println(rollouttest.Fleet(2, rollouttest.Labelled("disk", "ssd")).Pools[0].Labels)
	// Output: map[disk:ssd]
}

func ExampleTainted() {
	fmt.Println(rollouttest.Fleet(2, rollouttest.Tainted("gpu", "yes", corev1.TaintEffectNoSchedule)).Pools[0].Taints[0].ToString())
	// Output: gpu=yes:NoSchedule
}

func ExampleChanged() {
	old := rollouttest.Spec("agent")
	spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"), rollouttest.MaxSurge("10%"))
	fmt.Println(old.Template.Spec.Containers[0].Image, spec.Template.Spec.Containers[0].Image)
	// Output: agent:v1 agent:v2
}
