// Package canary tries a new revision on a few nodes first: it chooses the nodes, judges their pods, and decides when the
// trial is paused, has failed or ends with a promotion.
//
// [Choose] picks the nodes, and keeps those that were chosen before. [Judge] looks at their pods and finds one [Phase] with
// one [PhaseReason]:
//
//	choice := canary.Choose(options, canary.Choosing{Desired: desired, Chosen: record.Nodes, Find: find, All: all})
//	j := canary.Judge(options, canary.Input{
//		Now: now, Revision: hash, Name: name, Annotations: annotations, // of the ControllerRevision on trial
//		Record: record, Nodes: nodes, Wanted: choice.Wanted,
//	})
//	record = j.Record // for the next judgement; losing it starts the clock again
//	// j.Set and j.Remove are the verdict, to be put on the ControllerRevision.
//	// j.Message() says it in words; come back at j.Wake, if nothing else happens before.
//
// [Options] have defaults and a Validate method. [Commands] are what people order. [Examine] returns what Judge reads off
// one pod, for programs that show it. A planner of package rollout does all this by itself.
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state, and nothing depends on map
// iteration or on the order of nodes and pods. Inputs are neither written nor retained, except that strings are kept. Nil
// pods are passed over, nil sources of candidates (Find, All) are empty, and unset options have their defaults. Options that
// Validate refuses are read strictly: they promote nothing early and choose no node too many. Choose is O(n log n) in the
// candidates, and does not ask for them if enough nodes are chosen. Judge is O(n log n) in the canary's pods.
//
// # Guarantees
//
// They are rules C1 to C7 of docs/rules.md:
//   - Chosen nodes stay chosen while they can be, also for the next template, and a percentage below 100% leaves out at
//     least one node of several (C1).
//   - The clock promotes a revision at the very instant at which its duration has passed, if every canary node has an
//     available pod then, and nothing is paused (C2).
//   - A verdict is given once. A promoted revision stays promoted. A failed one stays failed until the command retry;
//     validate does not revive it (C5, C6).
//   - A lost record starts the clock again. Verdicts survive, because they stand on the ControllerRevision, and so do
//     commands, because they are in the options. Lost are the time on the clock, an automatic pause whose cause is gone, and
//     disturbances that no pod shows any more (C6).
//   - A clock that was set back, and kubelets whose clocks are ahead, delay but never hasten a promotion.
//   - Until Wake, Judge gives the same judgement on the same input.
//
// # How the rules are read
//
//   - The restarts of a pod are those of its container that restarted most, as in ExtendedDaemonSet. Init containers
//     count, ephemeral ones do not. Of a pod that was updated in place, only the restarts since it was first seen at the
//     revision count.
//   - Restarts "go on" from the first to the last restart of any container of a canary pod since the canary began (C4).
//     The restart that an in-place update itself takes does not count there.
//   - Pods that are terminating, failed or succeeded give no reason for a pause or a fail. Their restarts, failures and
//     evictions still count as disturbances, which NoRestartsDuration waits for (C2).
//   - A failed pod, and an evicted one that terminates, disturb as long as they are there.
//   - If the kubelet gives no time for a restart, the start that followed counts instead. If that is unknown, too, the
//     restart does not count: there is no record of counts, so that it would otherwise disturb for ever.
//   - The maxSlowStartDuration of a pod that has neither start nor creation time is over.
//   - An automatic pause on record stays when AutoPause is turned off. Only unpause lifts it.
//   - While the command pause stands, only three things change the phase: the command fail, the command validate, and too
//     many restarts. The other fails come after it in the order of C5. A timeout that passed meanwhile fails the revision as
//     soon as the pause is taken back.
//   - A retry that was given before the revision failed is obeyed once it has failed: one value works once.
//
// # Differences from the three controllers
//
// The Kubernetes DaemonSet controller (v1.37.2) and OpenKruise have no canaries; their partition is a rule of package
// rollout (T2).
//
// The Datadog ExtendedDaemonSet (recorded cases in internal/conformance; each difference has an entry in the tests):
//   - It looks at canaryTimeout and maxRestartsDuration only where a canary pod exists, and at the restarts of the sync
//     before. Here neither needs a pod (C4).
//   - It forgets after one sync why a revision failed. It forgets why a pod cannot start if the last node is healthy. Here
//     the reason stays on record, and the first node by name gives it (C3, C6).
//   - Its unpause does nothing while no canary pod exists, and does not lift a condition from before. Here it lifts every
//     automatic pause of its revision (C3).
//   - It panics for a pod that cannot start and has no start time, and for a container that terminated in no way. Here the
//     time runs from the creation, and the reason is empty.
//   - It takes only ContainerCreating for a slow start, which pods with init containers never show; here PodInitializing
//     counts too (C3).
//   - It promotes a failed canary once its duration is over, counts the duration from the creation of the revision whether
//     or not a pod runs, and asks to be called again in the past. Here the clock runs while the pods are watched, ends at
//     the very instant, and Wake is ahead or absent (C2, C5).
//   - Its commands name no revision, so that a stale one hits the next. Here it is reported (C5).
//   - It deletes all outdated pods of canary nodes at once, also when it has failed; here they take their places in the
//     budgets (C7), which is the planner's business.
//   - It lets nodes that cannot run the pod use up the quota of their label value, ignores an invalid selector, keeps
//     nodes that are gone, unselects none when fewer are wanted, fails if there are too few, and breaks ties at random.
//     Here candidates can run the pod, an invalid selector is an error, and the rule for the choice of nodes (C1) decides
//     the rest.
//   - It does not count restarts of init containers when it chooses nodes; a caller of Choose does.
//   - It skips the canary where a percentage comes to no node. Here it comes to one (C1).
package canary
