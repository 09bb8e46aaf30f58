// Package rollouttest is the test kit of package rollout: builders for specs, nodes, pods and revisions; generators
// of whole scenarios for pgregory.net/rapid; a fair cluster in virtual time that carries out plans; and one check for
// each invariant that takes more than one plan to see.
//
// A test that asks what happens next needs the builders and a planner:
//
//	old, spec := rollouttest.Spec("agent"), rollouttest.Spec("agent", rollouttest.Image("agent:v2"))
//	snapshot := rollout.Snapshot{
//		Now:       rollouttest.Noon(),
//		Nodes:     rollouttest.Nodes("a", "b"),
//		Pods: []*corev1.Pod{
//			rollouttest.Pod("agent-a", rollouttest.Of(old), rollouttest.OnNode("a")),
//			rollouttest.Pod("agent-b", rollouttest.Of(old), rollouttest.OnNode("b"), rollouttest.Failed()),
//		},
//		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)},
//	}
//
// One that asks how it ends puts the snapshot into a [Cluster] and calls [Run], which verifies every plan on the way.
// One that asks whether it always ends well draws an [AnyScenario] and calls the checks, which take the planner as a
// [PlanFunc], so that a planner with a planted bug can be shown to be rejected:
//
//	V1 to V12   [CheckSafe], [CheckSafeAlong], [AssertValid]
//	V13         [CheckPure]
//	V14         [CheckIdempotent]
//	V15         [CheckNextWake]
//	V16, V18    [CheckLive]
//	V17         [CheckNoThrash]
//
// # Contract
//
// Nothing here reads a clock, draws random numbers of its own or keeps state between calls: equal arguments give
// equal results, in the cluster too, and a test that fails once fails again. Builders allocate what they return;
// options write to the object under construction only. Checks report the first thing that is wrong, with the rule's
// number; a plan that fails is wrong too. Arguments must not be nil.
//
// # What the cluster leaves out
//
// Nodes do not change by themselves and taints evict nobody, resources and other sets do not exist, the API server
// admits everything, and patches are merged only as far as the planner of today writes them. A test of an unkind
// world is unkind itself between two plans: [Cluster.SetNode], [Cluster.RemoveNode] and [Cluster.SetPod] change
// objects, [Cluster.ApplyPrefix] loses requests, and [Cluster.LoseMemory] the planner's memory.
package rollouttest
