// Package verify gives a second opinion on a plan: [Plan] checks one plan against the invariants that a plan alone can break, and
// returns each [Violation]. Tests, simulations and fuzzers ask it about every plan; a controller can ask it as a guard before it
// acts, with a [Verifier] for each set:
//
//	plan, err := planner.Plan(snapshot)
//	if err != nil {
//		return err
//	}
//	if violations := verifier.Plan(spec, snapshot, &plan); len(violations) > 0 {
//		return fmt.Errorf("refusing to act: %v", violations)
//	}
//
// # Independence
//
// The package is written from the rules of docs/rules.md. It shares the vocabulary of package rollout with the planner, but none
// of its code: it reads nodes, pods and revisions by itself, and prefers obvious loops to fast ones. What both take from the
// packages below is what a template means for revisions and tolerations, when a pod is ready or its update in place complete,
// what a hook says, how images are spelled, and which annotations of overrides can be read (packages history, tolerations,
// lifecycle, inplace, predownload and placement). Patches are applied to copies of their pods, overrides evaluated, and
// canaries judged by code of its own. It therefore judges plans of any planner.
//
// # Invariants
//
//	 0  Input         the spec is valid; the snapshot keeps its contract
//	 1  Budget        deletes of serving pods, also by way of their hook, and updates in place stay within maxUnavailable
//	                  (B2, B3), also those of pods that were prepared before; no more nodes are left out than
//	                  maxUnschedulable, and only such that B8 speaks of
//	 2  Surge         creates beside outdated pods stay within maxSurge (B4), and are none without it (M1); B8 as in 1
//	 3  One per node  no create on a node that is not to run the pod, or that has a live pod of that revision
//	                  or a Failed one (M1) or several (M3); no two on one node; none but of the update revision
//	                  (T1), which exists, is created or requested (R3); with the resources that the node gives (P8)
//	 4  Hands off     no delete that M2 to M5, B3 or B4 do not allow; no patch but for R3, I4, I5, L2 to L4, and the label of
//	                  canary pods (C1); no revision deleted that is in use, the stable one, within the history limit or
//	                  newer than another that could go, the base of stages (R4), or the only one that says that its template
//	                  was promoted (C6) or rolled out everywhere (T8); none renumbered but the update revision, to max+1 (R3);
//	                  none annotated but with the verdict on it (C6, F3) or that its rollout came to its end (T8)
//	 5  Partition     nothing begins a node that takes a place of partition, and its target is held (T2); with
//	                  holdRevision what it lost comes back as it was (T1); a first installation leaves as many
//	                  nodes empty as partitionedScaling says (T7)
//	 6  Held          nodeSelector, paused, frozen, OnDelete, InPlaceOnly, a canary that rests: no create, delete or patch
//	                  that begins a node (T3 to T5, I1, C7); nothing is created at a revision on trial outside its canary,
//	                  or after it has failed (T6); the canary is of as many nodes as it may, those that are fit, and those
//	                  chosen before (C1); it is promoted only by the command or when its clock has run (C2, C5), and rests or
//	                  has failed where commands, records and pods say so (C3 to C5)
//	 7  Frozen        no create or delete at all, of revisions neither, and no deletion prepared or brought forward (T4, L2)
//	 8  Hooks         no delete of a pod that the preDelete hook holds (L2)
//	 9  In place      patches demand the pod's UID, and change of it only what I2, L3 and L4 allow, each by its own
//	                  subresource; after each, the pod contains what its revision label says, or its state
//	                  annotation says that it is to come; unready first, and the grace period (I4); ready again when
//	                  complete (I5); only pods and changes that can be updated in place (I1 to I3)
//	10  Pulls         per image within parallelism, those in flight included; of images that are needed, on nodes that
//	                  wait for an update, in their order, after minUpdatedReadyPods and back-offs (D1, D2)
//	11  Burst         creates, deletes and new updates in place, each, within burst (M6); creates, and replacements after
//	                  them, within slow start (B7); Failed pods wait for their back-off (M2)
//	12  Accounting    exactly one Decision per node and stray pod, in order, each with a reason and known
//	                  codes; each action belongs to one; states, targets, what holds and what is spent, the counters
//	                  of Decisions, Status and Budget agree with the snapshot; the update revision and its object
//	                  are the template's (R1, R3), and the stable one is C6's; what is wrong with overrides is said (P8);
//	                  the memory keeps the back-offs (M2), the canary's clock and its verdict, which is written down (C2, C6),
//	                  how far the stages are (T8), and that the revision was given up (F3); domains and parts of stages are
//	                  as the plan lists them (B10, T8), and so are failed nodes (F1, F2)
//	14  Idempotent    no action on what is marked, requested or not there; no object acted on twice
//	15  NextWake      after Now, and not after the instant at which a pod becomes available (B5), a back-off (M2, D1) or
//	                  a grace period (I4) ends, the canary's time is over (C2, C4), slow start lets go who waits for it (B7), or
//	                  a part has soaked (T8), a node's deadline passes (F1), or the plan itself says that a wait ends
//	19  Domains       of each value of each domain no more nodes are disturbed than max, or none by choice; likewise values
//	                  and atOnce (B10)
//	20  Stages        nothing begins a node of a part that is not open, but for what was begun in place; what is lost there
//	                  comes back at the revision that the node ran, or at the base (T8); after a trial has begun, nothing
//	                  gives nodes the stable revision that had not come to them in its stages
//	21  Soak          nor does anything begin a node of a part that waits for the one before to soak (T8)
//	24  Outages       left out because they are out are only nodes with B9's evidence, and at most maxExempt
//	25  Failures      while more nodes have failed than may, nothing begins a node, and what is lost comes back as it was or at
//	                  the base (F1 to F3); the revision is given up then, if the action is Rollback, by one verdict, which is
//	                  written down, and which only a retry takes back, once; in quarantine are failed nodes only, and at most
//	                  so many (F4)
//	26  Departing     no create, no delete and no begin on a node that departs, and no begin on one that is drained (M8)
//
// What is requested ([rollout.Snapshot.InFlight]) counts as done. Where a node is to end is the update revision, or while
// that is tried elsewhere or has failed, the stable one (T6). Which nodes the canary has, and how it stands, is read off the
// plan and judged by itself (C1 to C6); what follows from it for every node is found here. Which parts of stages are open is
// found here, too, from the nodes and from what is remembered. So is which nodes have failed (F1). A pod with other resources
// than its node gives it counts as one of another revision (P8).
//
// # Limits
//
// Whether all that is due was planned is not checked: an empty plan with right decisions passes. Invariants 13 and 16 to 18 and
// the rest of 14 and 15 speak of several plans; rollouttest.CheckInvariants checks those.
//
// # Contract
//
// Plan is a function of its arguments. It has no clock, I/O, randomness or state; its arguments are neither written nor kept,
// and the order of nodes, pods and revisions changes nothing. Nothing panics: a spec or a snapshot that breaks its contract is a
// violation of invariant 0. A [Verifier] finds the same, and keeps what it has read from one plan to the next.
//
// # Cost
//
// Its time grows with the number of objects, not its square. It takes about twice as long as making the plan, and three times
// as long where pods are updated in place. A Verifier that has seen the objects before takes about a hundredth of that: it
// reads what has changed, and judges one of the nodes that are alike (BenchmarkVerify of package rollout). Each node is judged
// by itself, at about a tenth, where anything is wrong, and for specs with a canary, a partition or pre-download.
package verify
