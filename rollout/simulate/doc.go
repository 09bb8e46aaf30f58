// Package simulate runs whole rollouts in virtual time, around the real planner. It answers questions such as these: how long
// does this spec take on this fleet, how many nodes are down at once and where, and what happens when the registry is slow or
// the new version crashes on one kind of node?
//
//	old, spec := rollout.Spec{…}, rollout.Spec{…}
//	report, err := simulate.Run(simulate.Scenario{
//		Seed:  1,
//		Spec:  spec,
//		Fleet: simulate.Fleet{
//			Pools:   []simulate.Pool{{Name: "web", Nodes: 1000, Zones: []string{"a", "b", "c"}}},
//			Running: &old,
//		},
//		Model: simulate.Model{
//			Kubelets: []simulate.Kubelet{
//				{Ready: simulate.LogNormal(8*time.Second, 30*time.Second), Stop: simulate.Uniform(time.Second, 10*time.Second)},
//				{
//					Image: "agent:v2", Nodes: map[string]string{corev1.LabelArchStable: "arm64"},
//					Crash: simulate.Fixed(2 * time.Second),
//				},
//			},
//			Registry: simulate.Registry{Size: 300 << 20, Bandwidth: 1 << 30, NodeBandwidth: 100 << 20},
//		},
//		Controller: simulate.Controller{Interval: time.Second, Lag: simulate.Exponential(200 * time.Millisecond)},
//	})
//	fmt.Println(report)
//
// # The world
//
// A [Scenario] is data: a [Fleet] that is generated or taken from a dump, a [Model] of how long things take and what goes wrong
// by itself, a [Controller], and [Event]s, which the world and its users cause. A [Simulation] goes through it from instant to
// instant. At each of them nodes, kubelets, the scheduler, the registry and the controllers of hooks do what is due. Watches
// show the changes to the controller, after their lag. The controller plans with [rollout.Planner] and carries the plan out,
// call by call. Patches are merged as an API server merges them. Instants in objects are whole seconds, as in a cluster; the
// clock of the simulation is exact.
//
// Every plan is checked with [verify.Plan] unless the scenario is Unverified, against what the controller saw. A plan that breaks
// an invariant ends the run with a [*StepError], whose [Case] the command kubectl daemonplan reads and explains.
//
// A run is done when every node is where it is to end and nothing is under way. It is stuck when nothing will happen any more
// but some node is not where it is to end. Things that recur for ever do not keep a run from its end: events without
// [Event.Until], crashes of the controller, whatever ends pods that were ready, and containers that have crashed more than a
// dozen times without being ready.
//
// # Results
//
// A [Report] counts the cluster as it is, not as the controller sees it. [Scenario.History] receives every change and action as
// a [Record]. A [Recorder] turns records into series and heat maps; [NewCSVWriter] and [NewJSONLinesWriter] turn them into
// files. A function given to [Simulation.Watch] and an [Observer] are called while the run goes on. [Forecast] repeats a run
// under many seeds, and [Suggest] finds the least budget that meets a deadline. Package rollouttest has assertions over whole
// runs, for tests.
//
// # Contract
//
// Two runs of equal scenarios are equal to the byte, on all machines of one architecture. (Between architectures the last bit
// of an exponential function may differ.) Nothing here reads a clock, all chance comes from [Scenario.Seed], and what is drawn
// for one pod depends on nothing that happens to others. Arguments are not written to. An invalid scenario is refused with every
// mistake, by field path; nothing panics. A [Simulation] is not for concurrent use, but several of them can run concurrently.
//
// # What it leaves out
//
// The simulation leaves out:
//   - other sets and their pods, except for the room that they take ([Pool.Used]; nodes of a snapshot have room for all
//     of them, and for a second pod of the set as far as both fit there);
//   - layers of images, and the removal of images;
//   - the API server's admission and quotas (a share of the calls can fail instead);
//   - evictions by kubelets themselves (an [Event] can evict);
//   - nodes that come back under their old name.
package simulate
