// Package harness checks planners over more than one plan, for this project's own tests: a small fair cluster in virtual time
// that carries out plans, and one check for each invariant that takes several plans to see. Users meet it through
// rollouttest.CheckInvariants and package transcript.
//
// A test that asks how it ends puts a snapshot into a [Cluster] and calls [Run], which verifies every plan on the way. One that
// asks whether it always ends well draws a [Case] or a [World] (package draw beside this one) and calls the checks, which take
// the planner as a [PlanFunc], so that a planner with a planted bug can be shown to be rejected:
//
//	V1 to V12   [CheckPlan], [CheckSafe], [CheckSafeAlong]; that a Verifier finds the same [Recheck]
//	V13         [CheckPure]
//	V14         [CheckIdempotent]
//	V15         [CheckNextWake]
//	V16, V18    [CheckLive], with users who change the spec [CheckChanges]
//	V17         [CheckNoThrash], with users who change the spec [CheckChanges]
//	C1 to C7    [CheckCanary], [CheckCanaryEnds]; plan by plan [CanaryWatch]
//
// Checks report the first thing that is wrong, with the rule's number; a plan that fails is wrong too. Arguments must not be nil.
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
// What happens to objects is defined in packages apiserver and kubelet, which the simulator uses too; this cluster looks for what
// is due among all its pods, which is plain, and lets a test hold the world still between two plans.
//
// # What the cluster leaves out
//
// Nodes do not change by themselves and taints evict nobody, other sets do not exist, and of what an API
// server refuses only some: changes of a pod's spec beyond images and resources, and other names. Patches with directives
// are not merged. A test of an unkind world is unkind itself between two plans: [Cluster.ChangeNode], [Cluster.Drain],
// [Cluster.RemoveNode], [Cluster.Evict], [Cluster.Crash] and [Cluster.SetPod] change objects, [Cluster.SetBehavior] their
// surroundings, [Cluster.ApplyPrefix] loses requests, and [Cluster.LoseMemory] the planner's memory. A [Mishap] is any of
// that in data.
//
// # Layers
//
// The harness does not import package rollouttest, which imports it. Nodes and specs that mishaps change it takes from package
// objects, which the builders of rollouttest are made of.
package harness
