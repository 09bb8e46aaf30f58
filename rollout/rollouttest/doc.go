// Package rollouttest is for tests of rollouts: of a spec, of a controller, of whatever stands between a planner and a cluster.
// It makes specs, fleets, nodes and pods in a line each, runs whole rollouts in virtual time, and holds them to promises.
//
// Which tool is for which question:
//
//   - What happens next, on a few nodes, and why? Make a snapshot of [Node], [Pod] and [Revision], plan once, and look at the
//     plan.
//   - Does a rollout keep a promise on a whole fleet, with slow registries, versions that crash and a controller that restarts?
//     [Simulate] a scenario with a [Fleet] and say what is promised, as a [Promise].
//   - What is the exact course of a rollout, to be read and reviewed? Package transcript beside this one plays it as text.
//   - Is my planner still right, with something around it? [CheckInvariants] plans again and again from one snapshot;
//     [AssertValid] looks at one plan.
//   - Does it hold for every spec and every state of a fleet? Package generate beside this one draws them.
//
// # One plan
//
// What a test says nothing about has ordinary values: a [Spec] is valid, a [Node] is Ready, a [Pod] is healthy, everything is
// an hour old at [Noon]. Options change one thing each:
//
//	old := rollouttest.Spec("agent", rollouttest.MaxUnavailable("10%"))
//	spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
//	snapshot := rollout.Snapshot{
//		Now:   rollouttest.Noon(),
//		Nodes: rollouttest.Nodes("a", "b"),
//		Pods: []*corev1.Pod{
//			rollouttest.Pod("agent-a", rollouttest.Of(old), rollouttest.OnNode("a")),
//			rollouttest.Pod("agent-b", rollouttest.Of(old), rollouttest.OnNode("b"), rollouttest.Failed()),
//		},
//		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)},
//	}
//	planner, err := rollout.New(spec)
//	…
//	plan, err := planner.Plan(snapshot)
//
// What no option does a function does: options are functions of a spec, a node or a pod, and any function of that type is one.
//
//	rollouttest.Spec("agent", func(s *rollout.Spec) { s.Template.Spec.HostNetwork = true })
//
// # A whole rollout
//
//	rollouttest.Simulate(t, simulate.Scenario{
//		Spec:  spec,
//		Fleet: rollouttest.Fleet(60, rollouttest.InZones("a", "b", "c"), rollouttest.Running(old)),
//		Model: simulate.Model{Kubelets: []simulate.Kubelet{{Ready: simulate.Fixed(20 * time.Second)}}},
//	},
//		rollouttest.NeverMoreThan(2, rollouttest.UnavailableIn("zone")),
//		rollouttest.DoneWithin(30*time.Minute),
//		rollouttest.NoPodRecreatedTwice(),
//	)
//
// A [Promise] is one of these: [NeverMoreThan] and [NeverFewerThan] of what a [Count] counts, [DoneWithin],
// [EndsAtUpdateRevision], [NoPodRecreatedTwice], [NoPodDeletedOn], [CanaryBeforeAll], [EveryStep], [Eventually], and those that
// you write. One that never saw what it is about fails. [KeepCases] keeps the step at which a promise broke, for kubectl
// daemonplan plan --case.
//
// # Names
//
//   - Specs: [Spec], [Changed] and options ([SpecOption]) for the template ([Image], [Requests], [Env], [PodTemplateLabel], …),
//     placement ([TemplateNodeSelector], [Affinity], [Tolerating]), budgets ([MaxUnavailable], [MaxSurge], [Burst],
//     [SlowStart], …), what holds nodes ([Paused], [OnDelete], [Partition], [StrategyNodeSelector], …), updates in place
//     ([InPlaceIfPossible], [Resize], …), hooks ([PreDeleteHook], [InPlaceUpdateHook], [PreNormalHook]), pulls ahead
//     ([PreDownload]) and canaries ([Canary], [CanaryFor], …).
//   - Revisions: [Revision], [Promoted], [Rejected], and the [Hash] that pods carry.
//   - Nodes: [Node], [Nodes] and options ([NodeOption]): [Label], [Taint], [Cordoned], [NotReady], ….
//   - Pods: [Pod] and options ([PodOption]): whose ([Of]), where ([OnNode], [PinnedTo]), and how it is ([Unready], [Failed],
//     [Terminating], [WaitingFor], …).
//   - Fleets for simulations: [Fleet] and options ([FleetOption]): [InZones], [And], [Running], ….
//   - Promises: [Simulate] and what it holds runs to.
//
// Quantities are text, as in manifests: "2", or a percentage such as "10%".
//
// # Contract
//
// Nothing here reads a clock, draws random numbers or keeps state between calls: equal arguments give equal results, and a test
// that fails once fails again. Builders allocate what they return; options write to the object under construction only. They
// are applied in order, so that a later one overrides an earlier. A call may do without options, but an option must not be nil,
// and neither must another argument unless its function says so. A quantity that cannot be read is kept as it is, for
// [rollout.New] to refuse; those of [Requests] and [Limits], which have no such form, panic.
package rollouttest
