// Package rollout decides what happens next to the daemon pods of one set: one pod per eligible node.
//
// A [Spec] says what is to run and how changes reach the nodes. [New] validates, defaults and compiles it into a [Planner]. A
// [Snapshot] holds the nodes, pods and revisions as they are, and the time. [Planner.Plan] turns it into a [Plan]: revisions to
// write, pods to patch, delete and create, images to pull, a [Decision] for every node, the status, a [Memory] for the next
// call, and when to look again.
//
//	planner, err := rollout.New(spec)
//	if err != nil {
//		return err // every mistake at once; FieldErrors lists them
//	}
//	claimed, err := planner.ClaimAndPlan(rollout.Snapshot{
//		Now: time.Now(), Nodes: nodes, Pods: pods, Revisions: revisions, InFlight: inFlight,
//	}.After(carry))
//	if err != nil {
//		return err
//	}
//	plan := &claimed.Plan
//	// Execute plan.Revisions, plan.Patches, plan.Pulls, plan.Deletes and plan.Batches(), in this order; build pods
//	// with planner.Pod. Come back at plan.NextWake, or when something changes.
//	carry = plan.Carry()
//	fmt.Println(plan.Explain("node-7"))
//
// # What goes from plan to plan
//
// A [Carry] is what one plan hands to the next. Its [Memory] is what no object shows, and may be stored; its [Reading] saves
// the time to read objects again that have not changed. What was asked for and is not seen yet is [InFlight], which package
// rollout/inflight keeps. A [Workspace] lends memory to plans that follow each other. All of it may be lost at any time: a plan
// without it is slower or more cautious, and breaks nothing, if the caches show what was asked for.
//
// # The way through a plan
//
// An update of a node takes several plans: one deletes the outdated pod, and when that is gone, the next one creates the new
// pod as a repair. A plan is made in nine steps. Each is a method of run, in the first of the files after the colon; planner.go
// calls them in this order:
//
//   - place has the nodes read and evaluated: place.go
//   - join has the pods read and attributed to the nodes: place.go
//   - resolve finds which revision is which and which nodes need no further step: resolve.go, records.go
//   - goal says at which revision each node is to end, and what holds it back: goal.go, canary.go
//   - classify gives each node one state, and opens parts of stages: classify.go, stages.go, failures.go
//   - repair does what is due: repair.go
//   - admit spends the budgets: admit.go
//   - act adds the actions that belong to no single node, and those that can wait: act.go, pull.go, marks.go
//   - report completes the decisions and derives status and memory: report.go, report_policy.go, report_causes.go
//
// A step uses nothing of the files of another step, apart from what that step has written down. What several steps use is in
// these files. Read them before the steps, in this order: each uses only those above it, but for run.go, whose Planner holds
// the tables of two files below it.
//
//   - run.go: the records that the steps share, and which step writes which part of them
//   - templates.go: the templates of the revisions
//   - backoff.go: back-offs of failed pods (M2)
//   - queries.go: when a pod serves, which revision it is of, which pod is missing
//   - queries_inplace.go: whether a pod can be updated in place
//   - gates.go: the table of gates: what may stop a node, however much room there is
//   - queries_rollout.go: how far the rollout as a whole may go, and whether something is in motion on a node by itself
//   - queries_lost.go: at which revision a lost pod comes back, and which is the base
//   - queries_exempt.go: whether a node is left out of the budgets
//   - note.go: writes down what is done about a node, and why
//   - slowstart.go: how many nodes may be under way (B7)
//   - ledgers.go: the table of ledgers: how much may be going on at once
//   - hook.go: takes pods through their hooks (L)
//   - pod_actions.go: creates and deletes pods
//
// Steps repair and admit turn what they decide into actions at once, because what they decide next depends on it: actions spend
// the limits of the plan. What may hold a node back is a row in the table of gates, and what bounds how much is going on is a
// row in the table of ledgers: the steps ask the tables.
//
// Two words are close to each other. The goal of a node is the revision where it ends if nothing holds it; step goal finds it.
// What a plan shows is [Decision.Target]: the goal, or that the node is held where it is. Step classify writes it, once it
// knows whether the node has a pod that can be held, and step admit corrects it where a pod turns out not to be updatable in
// place, and nothing else is allowed.
//
// Package rollout/internal/fleet is what steps place and join read with (nodes.go, pods.go, pod.go, change.go): facts that say
// nothing of the time or the plan, so that plans share them. The other files of this package are vocabulary. What goes in is in
// spec.go, validation.go, planner.go, snapshot.go, memory.go, claim.go and reading.go (whose half about settled nodes belongs
// to step resolve). What comes out is in plan.go, decision.go, reason.go, explain.go, explain_policy.go, waiting.go and
// execute.go.
//
// Comments cite the rules of docs/rules.md by number: P placement, R revisions, M repair, T targets, B budgets, I in-place
// update, L lifecycle, D pre-download, C canary, F failures, S status.
//
// # Contract
//
// Every function is a function of its arguments. There is no clock, I/O, randomness or state; inputs are not written, nothing
// but a [Reading] keeps them, and their order changes nothing. A [Workspace] is memory that a caller lends to plans. Nothing
// panics. A wrong spec fails [New]; a snapshot that breaks its contract fails [Planner.Plan] with a [*SnapshotError]; an object
// that cannot be understood gets a decision that says so, and everything else proceeds. What cannot be read never means
// "unlimited".
//
// # Guarantees
//
// Budgets, surge, partition and burst hold for every input, a plan never deletes a node's only healthy pod of the update
// revision, and never a pod that a hook holds. Package rollout/verify checks a plan against these invariants (V1 to V12 and
// what of V14 and V15 one plan shows), independently of the planner; rollouttest.CheckInvariants checks also those that span
// several plans: purity, idempotence with requests in flight, wake-ups, liveness, recovery from any state.
//
// # Differences from the controllers
//
// Against the Kubernetes DaemonSet controller v1.37.2: repair and update are planned together, the update's budget counted
// after the repairs (M7); of several pods on a node the best stays, not the oldest (M3); nodes that may not run the pod neither
// use up the budget nor lose a pod that may stay (B2, M4); an outdated pod that is Ready serves, even inside minReadySeconds
// (B2); ready, available and updated are counted by any live pod of a node, and by no terminating one (S1); candidates are
// taken in a fixed order, not in map order (B6). OpenKruise Advanced DaemonSet shares most of what differs there; besides, it
// counts only selected nodes against maxUnavailable, and broken outdated pods not at all (B2), takes percentages of the stored
// status (T2, M6), lets pods on ineligible nodes use up partition and scaling (T2, T7), waits for terminating Failed pods and
// keeps Succeeded ones (M1, M2), and never takes back a pod that is to be deleted (L2). The Datadog ExtendedDaemonSet picks
// victims past its budget (B3), deletes pods on nodes that are merely not schedulable (P3), promotes a failed canary when its
// time is over (C4), counts its slow start by calls (B7) and overlooks removed settings (P8). docs/differences.md lists every
// difference with its rule; the conformance tests find no other.
package rollout
