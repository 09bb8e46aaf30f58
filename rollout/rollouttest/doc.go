// Package rollouttest is the test kit of package rollout: builders for specs, nodes, pods and revisions; generators
// of whole scenarios for pgregory.net/rapid; a fair cluster in virtual time that carries out plans; one check for each
// invariant that takes more than one plan to see; and promises that whole simulated rollouts are held to.
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
// One that asks how it ends puts the snapshot into a [Cluster] and calls [Run], which verifies every plan on the way. The same
// as text, a story with commands and answers, is what package transcript beside this one plays.
//
// One that asks whether a rollout keeps a promise on a whole fleet, with slow registries, crashing versions and restarts
// of the controller, makes a [simulate.Scenario] and says what is promised:
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
// The promises are a [Policy] each: [NeverMoreThan] and [NeverFewerThan] of what a [Count] counts, [DoneWithin],
// [EndsAtUpdateRevision], [NoPodRecreatedTwice], [NoPodDeletedOn], [CanaryBeforeAll], [EveryStep], [Eventually], and those that
// you write. One that never saw what it is about fails.
//
// Which of these one wants: a [Cluster] with [Run] for a few nodes, step by step, with objects that the test itself makes and
// changes; [Simulate] for whole rollouts on a whole fleet, where it matters how long things take; and package transcript for
// stories whose exact course is to be read, as text.
//
// One that asks whether it always ends well draws an [AnyScenario] and calls the checks, which take the planner as a
// [PlanFunc], so that a planner with a planted bug can be shown to be rejected:
//
//	V1 to V12   [CheckSafe], [CheckSafeAlong], [AssertValid]
//	V13         [CheckPure]
//	V14         [CheckIdempotent]
//	V15         [CheckNextWake]
//	V16, V18    [CheckLive], with users who change the spec [CheckChanges]
//	V17         [CheckNoThrash], with users who change the spec [CheckChanges]
//	C1 to C7    [CheckCanary], [CheckCanaryEnds]; plan by plan [CanaryWatch]
//
// [CheckInvariants] runs all of V1 to V18 that apply to one spec and snapshot.
//
// Scenarios with what the Datadog ExtendedDaemonSet adds come from [AnyCanaryScenario]; [AnyScenario] has none of it. An
// [AnyCanaryWorld] is a fleet at rest whose set has just got a template to try.
//
// # The cluster
//
// What a [Cluster] does about a pod:
//   - a pinned pod is bound where it fits, and becomes Ready if all its readiness gates are True;
//   - a container whose image, or whose metadata in the environment, is another one by now is restarted, one whose cpu or
//     memory is another is resized; its status shows that then and not before. Only pods with the readiness gate
//     InPlaceUpdateReady are watched that closely;
//   - who closes a readiness gate makes the pod not Ready, who opens it again makes it Ready at once;
//   - the controllers of hooks take handlers off pods that are PreparingDelete or PreparingUpdate, and put them on pods that
//     are Updated or PreparingNormal; others take back their messages in KruisePodReady, and finalizers on a pod that is
//     marked for deletion, which stays until then;
//   - a pod of a node that is gone is collected.
//
// A node pulls the images it is asked to, and reports them. [Behavior] says how long all that takes, and what goes wrong:
// revisions that never become Ready, fail, crash or cannot be pulled, kubelets that never restart a container or give it
// another image under the same ID, or say nothing at all, nodes without room, hooks that nobody sees to, pulls that fail.
//
// Patches are merged, and refused, as an API server does it: strategic ones by the tags of the API's types, for each
// subresource only what belongs to it, with the UID and the resource version as preconditions.
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
// Nodes do not change by themselves and taints evict nobody, other sets do not exist, and of what an API
// server refuses only some: changes of a pod's spec beyond images and resources, and other names. Patches with directives
// are not merged. A test of an unkind world is unkind itself between two plans: [Cluster.ChangeNode], [Cluster.Drain],
// [Cluster.RemoveNode], [Cluster.Evict], [Cluster.Crash] and [Cluster.SetPod] change objects, [Cluster.SetBehavior] their
// surroundings, [Cluster.ApplyPrefix] loses requests, and [Cluster.LoseMemory] the planner's memory. A [Mishap] is any of
// that in data.
package rollouttest
