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
//   - A part is skipped, with its soak and its approval, if it has no nodes, or a node selector keeps the rollout off all of them
//     (T3). Taints, departures, nodes that are left out and obstacles of InPlaceOnly are no reason to skip it: nothing shows that
//     the revision works there. Only the last part is skipped when its turn has come, and taints keep all its nodes without pods.
//   - Parts are passed one after the other, each with its soak and its approval. Nodes of a later part that have the revision
//     already, from a canary or an earlier attempt, open nothing.
//   - The time to soak begins when a judgement first finds the part done while it is open, and nothing stops it.
//   - The frontier says which stages led up to it. If these are others by now, the parts before it need not be those that were
//     done, and it counts as lost. If it is lost, all parts pass anew. [Frontier.Annotation] is its form on a ControllerRevision,
//     where it outlives a lost memory.
package stage
