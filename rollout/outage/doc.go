// Package outage tells nodes that were down anyway from nodes that a rollout may have broken (B9), and finds nodes that are on
// their way out of the cluster (M8).
//
// A few nodes of a large fleet are always down. If they count against the budget of a rollout, it stands still; if no node
// that is down counts, a revision that breaks its nodes is rolled out everywhere. So a node may be left out only if there is
// evidence that the update has not caused the outage:
//
//	out := options.Of(node)
//	var update outage.Update
//	for each pod of the set on the node {
//		update.NewPod(pod)      // of the revision that is rolled out
//		update.OutdatedPod(pod) // of any other
//	}
//	if options.Excuses(out, &update) {
//		// the node need not count
//	}
//
// How many such nodes are left out is Options.MaxExempt, which the caller counts. A planner of package rollout does all this by
// itself.
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state, and nothing depends on the order of
// pods. Inputs are neither written nor retained. Nil nodes and pods are passed over. What cannot be read is no evidence: the
// node then counts.
//
// # How the rules are read
//
//   - Instants are compared in whole seconds, as objects have them, and a tie is no evidence.
//   - A pod that was updated in place to the revision that is rolled out began to be updated at the time in its state
//     annotation, not when it was created. It was started at the new revision if one of its containers has started since then,
//     or if its update is complete.
//   - An outdated pod in a hook, or prepared for its update in place, began to be updated when the hook was asked, by the time in
//     its annotation, or of its condition. What the hook's handlers do may take the node down. A new pod in a hook, such as one
//     that waits for its first, began to be updated when it was created.
//   - A node that shows several signs is out since the earliest that has a time.
package outage
