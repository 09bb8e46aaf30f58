// Package predownload decides which images to pull on which nodes ahead of an update, so that the new containers find
// their images on the node (rules D1 and D2 of docs/rules.md).
//
// There are two ways to use it. [Select] picks the pulls to start now. It needs something on the nodes that pulls images,
// such as a runtime client or the NodeImage objects of OpenKruise:
//
//	selection := predownload.Select(predownload.Input{
//		Now:        now,
//		Options:    predownload.Options{Parallelism: &ten},
//		Images:     predownload.Images(&template),
//		Candidates: outdatedNodes, // in the order in which they will be updated
//		InFlight:   underWay,
//		Failures:   failures,
//	})
//	for _, pull := range selection.Pulls {
//		start(pull)
//	}
//	wakeAt(selection.Wake)
//
// On a cluster without such a thing, [PullPod] makes a pod that pulls and runs nothing, and [PullJob] an ImagePullJob for one
// node. [AttemptOf] reads the outcome from the object, and [Track] sums up what the outcomes mean for the next plan.
//
// [Jobs] describes the ImagePullJobs for those who leave all that to OpenKruise: one per image when the rollout begins.
// A [Job] marshals to the JSON of the object to create.
//
// # Contract
//
// Every function is a function of its arguments: no clock is read, inputs are neither written nor retained, nothing
// panics. The order of Input.InFlight and Input.Failures, and repetitions in them, change nothing. Input.Candidates is
// called at most once, and is the caller's code: what it does is the caller's matter.
//
// A failed pull backs off on its node, for its image: 10 s, doubling to 5 min ([Failure.Until]). It is tried again
// Options.BackoffLimit times, then the node is given up for that image.
//
// # Guarantees
//
// For any input, and held by tests:
//   - per image, the pulls in flight and the new ones stay within the limit, or there are no new ones (V10);
//   - with the pulls put into InFlight, the same input selects no others (V14);
//   - before Selection.Wake nothing changes, and at Wake something does (V15);
//   - if pulls end, every candidate ends up with every image, or given up for it;
//   - options that cannot be understood pull nothing, and say so;
//   - with an integer parallelism no candidate is read after the last place is taken, so that the cost is that of the
//     pulls and of the candidates passed over; a percentage takes one pass over all.
//
// Nothing here delays an update: an image that is not there when its node is updated is pulled then, as ever.
//
// # Differences from the three controllers
//
// The Kubernetes DaemonSet controller and ExtendedDaemonSet pull nothing ahead. OpenKruise creates ImagePullJobs as
// [Jobs] describes them, compared with commit 07169cf of July 2026; what it does otherwise:
//   - It reads the hash of the update revision from a label that the revisions of daemon sets lack, so that its jobs
//     also pull on the nodes of updated pods.
//   - It pulls an image if any old revision differs, container by container. Here the nodes whose pods use it, in
//     whichever container, are left out; without an old revision nothing is pulled; init containers count too.
//   - One old revision that cannot be read makes it create no jobs, for good. Here nothing is known of that revision's
//     pods, so that all images are pulled beside them.
//   - It panics for OnDelete, pulls if partition holds every node, and gives up for good if it is asked while desired is
//     still 0. Here these are a [JobDecision] each, and the last two may change.
//   - It takes a maxUnavailable that cannot be read for 0, a percentage as parallelism for 1, hands a negative one on,
//     and ignores maxSurge. Here percentages work, a surge of all nodes is one batch, and the rest are errors.
//   - It reads minUpdatedReadyPods and does not use it. Here it works, in Select and in Jobs.
//   - For its own sets it takes a timeout of 300 s and one retry where nothing is said. The defaults of [Options] are
//     those of an ImagePullJob: 600 s and three retries.
//   - Its jobs pull in no particular order, on nodes that the partition holds too, and count parallelism by job: jobs of
//     two revisions add up. [Select] has none of this.
package predownload
