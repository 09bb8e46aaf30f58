// Package stage opens the nodes of a fleet to a new revision in stages, one after the other: ring by ring, zone by zone, with
// time to soak and with approvals (T8).
//
// A node is in the first [Stage] that selects it. A stage with a key is made of parts, one for each value of that label. The
// nodes that no stage selects are a last part. [Judge] says which parts are open, from how the nodes of each part stand and from
// what an earlier judgement said, the [Frontier]:
//
//	stages, err := stage.Compile([]stage.Stage{
//		{Name: "canary-ring", Selector: ring0, Soak: time.Hour},
//		{Name: "zones", Key: "topology.kubernetes.io/zone", Soak: 30 * time.Minute, Approval: true},
//	})
//	parts := stages.NewParts()
//	part := parts.Of(node.Labels) // for each node; counts has one Count for each part
//
//	judgement := stage.Judge(parts, stage.Input{Now: now, Revision: hash, Counts: counts, Frontier: before})
//
// A planner of package rollout does all this by itself.
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state. Labels are read and not kept, except
// that strings are. Compile refuses what Validate reports. [Parts] may be read from several goroutines while nobody calls
// [Parts.Of].
//
// # How the rules are read
//
//   - Parts of one stage come in the order of their values: integers by number, then texts by their bytes, and nodes without the
//     label at the end. The number of nodes plays no role, because nodes that join would change the order.
//   - A part is done when at least one of its nodes is settled, none is behind, and no more are unavailable than the tolerance.
//     It is done for good: what happens to its nodes later closes no other part.
//   - A part of which no node can be updated is skipped, with its soak and its approval. One of which all nodes are left out is
//     not skipped: nothing shows that the revision works there.
//   - The time to soak begins when a judgement first finds the part done, and nothing stops it.
//   - The frontier says which stages led up to it. If these are others by now, the parts before it need not be those that
//
// were done,
//
//	  and it counts as lost.
//	- If the frontier is lost, the parts before the first one that is not done count as done now, so that one soak is repeated.
//	  That a part was open is never inferred from updated nodes, because a canary leaves some behind.
package stage
