// Package simulate runs whole rollouts in virtual time, around the real planner: how long does this spec take on this
// fleet, how many nodes are down at once and where, and what happens when the registry is slow or the new version crashes on
// one kind of node?
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
// A [Scenario] is data: a fleet that is generated or taken from a dump, a [Model] of what takes how long and what goes wrong by
// itself, a [Controller], and [Event]s, what the world and its users do. [Simulation] goes through it from instant to instant:
// nodes, kubelets, the scheduler, the registry and the controllers of hooks do what is due; watches show it to the controller,
// after their lag; the controller plans with [rollout.Planner] and carries the plan out, call by call. Patches are merged as an
// API server does it. Objects have instants in whole seconds, as in a cluster; the clock is exact.
//
// Every plan is checked with [verify.Plan], against what the controller saw. One that breaks an invariant ends the run with a
// [*StepError], whose [Case] the program in examples/plan reads and explains.
//
// A run is done when every node is where it is to end and nothing is under way. It is stuck when nothing will happen any more
// and that is not so. What recurs for ever keeps no run from its end: events without [Event.Until], crashes of the controller,
// what ends pods that were ready, and containers that have crashed more than a dozen times without being ready.
//
// # Results
//
// A [Report] counts the cluster as it is, not as the controller sees it. [Scenario.History] receives every change and action as a
// [Record]; a [Recorder] makes series and heat maps of them, [NewCSVWriter] and [NewJSONLinesWriter] files. [Simulation.Watch]
// and [Observer] look on. [Forecast] repeats a run under many seeds, [Suggest] finds the least budget that meets a deadline.
// Package rollouttest has assertions over whole runs, for tests.
//
// # Contract
//
// Two runs of equal scenarios are equal to the byte, on all machines of one architecture (of two the last bit of an exponential
// function may differ): nothing here reads a clock, all chance comes from [Scenario.Seed], and what is drawn for one pod depends
// on nothing that happens to others. Arguments are not written to. A scenario that makes no sense is refused with every mistake,
// by field path; nothing panics. A [Simulation] is not for concurrent use; several run beside each other.
//
// # What it leaves out
//
// Other sets and their pods, but for the room they take ([Pool.Used]; nodes of a snapshot have room for all); layers of images,
// and their removal; the API server's admission and quotas (calls fail by share); kubelets' own eviction (evict by an
// [Event]). A node that is gone does not come back under its name.
package simulate
