// Package rollout decides what happens next to the daemon pods of one set: one pod per eligible node.
//
// A [Spec] says what is to run and how changes reach the nodes. [New] validates, defaults and compiles it into a
// [Planner]. A [Snapshot] holds the nodes, pods and revisions as they are, and the time. [Planner.Plan] turns it into a
// [Plan]: revisions to write, pods to patch, delete and create, images to pull, a [Decision] for every node, the status, a
// [Memory] for the next call, and when to look again.
//
//	planner, err := rollout.New(spec)
//	if err != nil {
//		return err // every mistake at once; FieldErrors lists them
//	}
//	claims, err := rollout.Claim(spec, pods)
//	if err != nil {
//		return err
//	}
//	history, err := rollout.ClaimRevisions(spec, revisions)
//	if err != nil {
//		return err
//	}
//	plan, err := planner.Plan(rollout.Snapshot{
//		Now: time.Now(), Nodes: nodes, Pods: claims.Pods, Revisions: history.Revisions,
//		InFlight: inFlight, Memory: memory,
//	})
//	if err != nil {
//		return err
//	}
//	// Execute plan.Revisions, plan.Patches, plan.Pulls, plan.Deletes and plan.Batches(), in this order; build pods
//	// with planner.Pod. Remember plan.Memory. Come back at plan.NextWake, or when something changes.
//	fmt.Println(plan.Explain("node-7"))
//
// # The way through a plan
//
// An update of a node takes several plans: one deletes the outdated pod, and when that is gone, the next one creates the new
// pod as a repair. A plan is made in nine steps. Each is a method of run, in the first of the files after the colon; run.go
// calls them in this order. A file stands beside the first step that calls what is in it:
//
//   - place has the nodes read and evaluated (rollout/internal/fleet/nodes.go): place.go
//   - join has the pods read and attributed to the nodes (rollout/internal/fleet/pods.go, pod.go, change.go): join.go
//   - resolve finds which revision is which and which nodes need no further step: resolve.go, records.go
//   - target says at which revision each node is to end, and what holds it back: target.go, canary.go, rollout_record.go
//   - classify gives each node one state, and opens parts of stages: classify.go, stages.go, failures.go, inplace.go, backoff.go
//   - repair does what is due: repair.go, note.go, actions.go, hook.go, slowstart.go, room.go, stray.go
//   - admit spends the budgets: admit.go, update.go
//   - act adds the actions that belong to no single node, and those that can wait: act.go, pull.go, marks.go
//   - report completes the decisions and derives status and memory: report.go, report_policy.go, remember.go
//
// What repair and admit decide they turn into actions at once, with create, delete and patch of actions.go, because what they
// decide next depends on it. With note.go they write down the verb and the reason. Both also ask room.go whether what they take
// away has room.
//
// Step target gives each node a goal, the revision where it is to end, and records what holds the node there. What a plan shows
// of both is [Decision.Target], which needs the node's state, so that step classify writes it, and admit corrects it where an
// update is held back.
//
// Package rollout/internal/fleet is what steps place and join read with: facts that say nothing of the time or the plan, so
// that plans share them. The other files of this package are vocabulary. What goes in is in spec.go, validation.go,
// planner.go, snapshot.go, memory.go, claim.go, workspace.go and reading.go (whose half about settled nodes belongs to step
// resolve). What comes out is in plan.go, decision.go, reason.go, enum.go, explain.go, explain_policy.go, waiting.go,
// execute.go and pod.go. The records that the steps share, and their order, are in run.go: read it first, and then queries.go,
// which has what several steps ask: when a pod serves, which revision it is of, what holds a node. In queries_exempt.go they
// ask whether a node is left out of the budgets, and in queries_rollout.go how far the rollout as a whole may go.
//
// Comments cite the rules of DESIGN.md by number: P placement, R revisions, M repair, T targets, B budgets, I in-place
// update, L lifecycle, D pre-download, C canary, F failures, S status.
//
// # Contract
//
// Every function is a function of its arguments. There is no clock, I/O, randomness or state; inputs are not written, nothing
// but a [Reading] keeps them, and their order changes nothing. A [Workspace] is memory that a caller lends to plans. Nothing
// panics. A wrong spec fails [New]; a snapshot that breaks its contract fails [Planner.Plan] with a [*SnapshotError]; an
// object that cannot be understood gets a decision that says so, and everything else proceeds. What cannot be read never means
// "unlimited".
//
// # Guarantees
//
// Budgets, surge, partition and burst hold for every input, a plan never deletes a node's only healthy pod of the update
// revision, and never a pod that a hook holds. Package rollout/verify checks a plan against these invariants (V1 to V12
// and what of V14 and V15 one plan shows), independently of the planner; rollouttest.CheckInvariants checks also those that span
// several plans: purity, idempotence with requests in flight, wake-ups, liveness, recovery from any state.
//
// # Differences from the controllers
//
// Against the Kubernetes DaemonSet controller v1.36.3: repair and update are planned together, the update's budget counted after
// the repairs (M7); of several pods on a node the best stays, not the oldest (M3); nodes that may not run the pod neither use up
// the budget nor lose a pod that may stay (B2, M4); an outdated pod that is Ready serves, even inside minReadySeconds (B2);
// ready, available and updated are counted by any live pod of a node, and by no terminating one (S1); candidates are taken in a
// fixed order, not in map order (B6). OpenKruise Advanced DaemonSet shares most of what differs there; besides, it counts only
// selected nodes against maxUnavailable, and broken outdated pods not at all (B2), takes percentages of the stored status (T2,
// M6), lets pods on ineligible nodes use up partition and scaling (T2, T7), waits for terminating Failed pods and keeps Succeeded
// ones (M1, M2), and never takes back a pod that is to be deleted (L2). The Datadog ExtendedDaemonSet picks victims past its
// budget (B3), deletes pods on nodes that are merely not schedulable (P3), promotes a failed canary when its time is over (C4),
// counts its slow start by calls (B7) and overlooks removed settings (P8). DESIGN.md lists every difference with its rule; the
// conformance tests find no other.
package rollout
