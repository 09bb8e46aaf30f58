// Package inflight remembers what a controller has asked the API server for, until its caches show it.
//
// A controller reads from caches that watches fill, so it sees the effect of its own requests late. Without a record of them it
// would create the same pod twice, or delete more pods than the budget allows. The Kubernetes controllers keep such a record as
// "expectations". Here the record is a [Tracker], which gives [rollout.Snapshot] its InFlight:
//
//	snapshot.InFlight, giveUp = tracker.Observe(now, pods, revisions) // all that the caches have in the namespace
//	plan, err := planner.Plan(snapshot)
//	…
//	request := tracker.Create(now, create) // before it is sent: the watch may be faster than the answer
//	err := client.Create(ctx, pod)
//	tracker.Answer(now, request, pod, err)
//	…
//	wake := tracker.GiveUp() // or plan.NextWake, whichever is first
//
// # Contract
//
// Pulls are no requests to the API server. The controller that starts them adds those that have not ended to what Observe
// returns.
//
// The methods of a Tracker change it. Nothing else is written or kept, and the only clock are the instants that are passed in. A
// Tracker is not safe for concurrent use: a controller that sends several requests at a time holds a lock around each call. What
// the caches show of one pod may be old. But the list of all pods must be complete: a watch that has to list anew must replace
// the old list by the new one in one step, as client-go does from v0.36 on.
//
// Losing a Tracker is safe if the caches are newer than every request of it. They are newer in a process that has just started,
// if they were listed after the process before it had stopped sending.
//
// # Differences from the controllers
//
// kube-controller-manager counts the creates and deletes that are outstanding for a set, and does nothing at all for the set
// until all are seen or five minutes have passed. Here each request counts for itself, and the other nodes go on.
// kube-controller-manager forgets the record of a request that ended in an error. Here a request that may have been executed in
// spite of the error stays for a minute.
package inflight
