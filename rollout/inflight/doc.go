// Package inflight remembers what a controller has asked the API server for, until its caches show it.
//
// A controller reads from caches that watches fill, and so sees its own requests late. Without a record of them it would create
// the same pod twice, or delete more pods than the budget allows. The Kubernetes controllers keep such a record as
// "expectations"; here it is a [Tracker], which gives [rollout.Snapshot] its InFlight:
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
// Pulls are no requests to the API server: whoever starts them adds those that have not ended to what Observe returns.
//
// A Tracker is a value that its methods change; nothing else is written or kept, and there is no clock but the instants that are
// passed in. It is not safe for concurrent use: a controller that sends several requests at a time holds a lock around each call.
// What the caches show of a pod may be old, but not what they show of all: a watch that has to list anew must put the new list in
// the place of the old one in one step, as client-go does from v0.36 on.
//
// Losing a Tracker is safe if the caches are newer than every request of it, as those of a process that has just started are
// when they were listed after the one before it had stopped sending.
//
// # Differences from the controllers
//
// kube-controller-manager counts creates and deletes that are outstanding for a set, and does nothing at all for the set until
// all are seen or five minutes have passed. Here each request stands for itself: other nodes go on. It forgets the record of a
// request that ended in an error; here one that may have been executed all the same stays for a minute.
package inflight
