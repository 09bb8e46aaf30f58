// Package inplace updates running pods instead of replacing them. It finds what changed between two revisions, whether a running
// pod can take the change, with which patches, and whether the update is complete.
//
// The change is compared once for each pair of revisions and then applied to any number of pods:
//
//	update := inplace.Compare(oldTemplate, newTemplate, options)
//	if !update.InPlace() {
//		// update.Obstacles are all the reasons; recreate the pods.
//	}
//	for _, pod := range pods {
//		step, err := update.Begin(pod, inplace.Target{Revision: hash}, inplace.Metadata{}, now)
//		// send step.Patches in order; come back at step.Until if a grace period runs
//	}
//
// After that each pod is looked at until nothing is left to do:
//
//	if inplace.Unfinished(pod) {
//		step, err := inplace.Continue(pod, now) // next batch, readiness
//	}
//	inplace.Completed(pod) // done, or what it waits for
//
// [Compare] and [DiffRevisions] make an [Update]. [Obstruct] returns why a pod cannot be updated in place at all, [Update.Lacks]
// what its node lacks. [Update.Begin], [Continue] and [Cancel] return a [Step], [Completed] a [Completion]. [StateOf] reads the
// annotation in which a pod carries its progress.
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state, and nothing depends on map
// iteration. Inputs are neither written nor retained, except that strings are kept. Nil arguments are answered, not refused.
// What cannot be read is an error or a wait, never a go-ahead. [Obstruct] and [Unfinished] do not allocate.
//
// # Guarantees
//
// They are rules I2 to I5 of docs/rules.md:
//   - The patches change what I2 allows and nothing else, name only keys that one of the templates names, and carry the UID of
//     the pod. The code of the API server takes them: internal/differential/podupdates has it judge 60,000 drawn updates.
//   - As far as the patches decide it, no container restarts in a pod that is ready, nor before the grace period is over, nor
//     before the containers of a higher launch priority are up to date and ready. Those without which the pod serves on
//     ([Options].ServeOn) may restart in a pod that is ready, and at once.
//   - The patches of a step may be lost, from any point on: the same call then returns those that are still needed. The revision
//     label is written last, so that it never claims what the spec, or the state beside it, does not contain.
//   - A second update, or a rollback, may begin at any time before the first is complete. What the first has not changed yet is
//     taken over or overruled, and nothing is waited for that will not come: a container that goes back to what it still runs
//     need not restart.
//   - The state is kept in the annotation of Kruise, in its form, so that either can go on where the other stopped. Older keys
//     and the grace period of Kruise are read.
//
// The grace period runs from the transition time of the pod's InPlaceUpdateReady condition, which has whole seconds. A resize
// that was sent while the patch of the pod after it was not shows nowhere; it takes the same update to put that right.
//
// # Differences from the three controllers
//
// The Kubernetes DaemonSet controller (v1.37.2) and the Datadog ExtendedDaemonSet recreate pods; they know nothing of this.
//
// OpenKruise (recorded cases in internal/conformance; each difference has an entry in the tests):
//   - It drops all labels or annotations of a pod with the last one of the template. Here only the template's own (I2).
//   - It lets environment variables go stale: where a label or annotation is dropped, where it is the first one, in init
//     containers, those named SIDECARSET_VERSION and SIDECARSET_VERSION_ALT, those that read a resource that is resized, and
//     with its feature gate off all. Here each is an obstacle, or the containers restart (I2).
//   - It sends resizes that change the QoS class where requests are not given, adds finalizers of the template to running pods,
//     and panics for a launch priority that is no reference to a config map. The first two are obstacles here, the third is no
//     priority.
//   - It writes the revision label before the grace period, at the end of which the pod changes. Here it comes with the change,
//     and a pod in its grace period can be let off by [Cancel]. A pod in the grace period of Kruise is finished.
//   - It never runs later batches of resources only, and keeps what an earlier update recorded of a container. Here they run,
//     and it is recorded anew (I5).
//   - It waits for ever for an image of the same ID whose name is spelled otherwise, for the resources of containers that were
//     not resized, and for those that a kubelet does not report; it takes a container without a status for done, and so one that
//     reports no image. Here names are spelled out, a start since then counts too, and only resized containers are waited for
//     (I5).
//   - It finds from hashes of its daemon that an environment is up to date. Here the container has to start (I5).
//   - It changes the annotation of "kubectl rollout restart" in place, which restarts nothing. Here that asks for a restart,
//     which takes a new pod, and so do the keys that [Options].RestartKeys names (I2).
//   - It makes new pods for another image of a native sidecar, for one more toleration, and for requests and limits that are
//     added. Here these change in place (I2). What is known of sidecars is in Records, which Kruise ignores: in its own fields
//     it would wait for them for ever. So it can take such a pod over, and takes the sidecar for updated.
//   - It goes to the tag latest in place, where the pod keeps the pull policy of the tag before, and resizes what the API server
//     refuses to resize. Here these are obstacles (I2).
//   - It makes a pod not ready for a change that restarts nothing, unless it is a resize only, and for a restart of any
//     container. Here it stays ready, and with [Options].ServeOn through a restart of what it serves on without, too (I4).
//   - For states that it wrote, and which do not say why a container is in a batch, [Completed] guesses: with changed
//     environments the containers that read any metadata, with resources all of the batch.
package inplace
