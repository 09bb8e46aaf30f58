// Package judge watches whole runs and says what no run may show. It is written from the rules of docs/rules.md alone, and shares
// nothing with the planner, with the verifier or with the test kit: it sees no plan and no decision, only what an audit log and
// the watches of a cluster show. Command soak has it watch random runs.
//
// # What it sees
//
// The cluster as it is ([Judge.See]); what the controller saw when it looked, with the spec in force ([Judge.Look]); each
// request of the controller that took effect ([Judge.Created], [Judge.Deleted], [Judge.Patched]); restarts of containers; and
// the cluster when nothing happens any more ([Judge.Rest]). What the controller does between two looks is one turn.
//
// A controller cannot know what its watches do not show yet. So a request is judged by what was seen at the look before it,
// with what the controller had asked for and was not shown yet, and with the other requests of the turn. Where watches do not
// lag that is the cluster as it is.
//
// # The rules
//
// Where a rule leaves open what a node is to end at, as while a revision is on trial, the judge gives the controller the
// benefit of the doubt: it finds too little rather than too much. A node whose possible templates disagree on whether it runs
// the pod is not judged at all. "Down" is a run node (P2) without a pod that serves (B2).
//
//   - budget (B2, B3, V1): a turn that takes the last serving pod from a run node leaves no more run nodes down than
//     maxUnavailable. Nodes that went down by themselves count, but up to maxUnschedulable of those that B8 names do not,
//     nor up to maxExempt of those that are out and of which the controller saw evidence that their update has not caused it
//     (B9, V24). With maxSurge none may.
//   - let go (B3): the same for pods that were prepared to be deleted or updated in place and are Ready when they go. Here
//     only nodes without any Ready pod count as down: those that wait prepared disturb nobody yet.
//   - surge (B4, V2): a new pod beside one that serves leaves no more run nodes with an unavailable pod of the update
//     revision, or one that was asked for, than maxSurge. Not judged of what was there before where resources may be
//     overridden (P8), nor of Failed pods in a turn of which a request was refused, as that may have been the one to delete
//     them.
//   - twins (V3): no request leaves two live pods of one revision, and the same overridden resources, on a node as it is.
//   - stays (M2 to M5): at rest no pod is left on a node that it is to leave, none that has ended, none that waits for a
//     node that does not exist, no second one of a revision, and no outdated one beside an available one. Handlers of
//     preDelete excuse it, and so does frozen, and surge for available pods where they may not run (M4).
//   - empty (M1): at rest each run node has a pod, unless the set is frozen, or partitioned scaling leaves some empty (T7).
//   - thrash (V17): a healthy only pod of a run node is taken away at most once for each change of the spec or of the node,
//     with a canary once more, and with failures once more; and no pod is patched thirty times, but for two times for each
//     restart
//     of another pod on its node.
//   - stuck (V15, V16): at rest nothing is due. The template of the spec has a revision; no pod is prepared for what nobody
//     holds up; no pod is kept unready whose containers are what it says; no outdated pod that nothing holds (T2 to T5, a
//     trial, a pod that is prepared, InPlaceOnly, a part that is not open for certain, failures) waits
//     although it is not Ready or the budget has room; and no revision
//     waits for its promotion although all canary nodes hold available pods that never were in trouble (not judged with a
//     partition, which may hold the chosen one). All of this as if a month had passed: if the clock was to bring it,
//     somebody has to look.
//   - trial (C1, C6, V6): until its promotion no node gets a revision beside as many canary nodes as are wanted, at most,
//     and none that a selector of the strategy or the canary does not match; once it has failed none does that has not had
//     it. Nodes that had it and could not be canary nodes for a while do not count. Revisions that were there from the
//     beginning, the first one, and those for which the spec once wanted no canary are not judged.
//   - downgrade (T1, M7): run nodes get the revision of the spec, and pods of it are not taken to another one in place,
//     unless a canary has not promoted it or it has failed. With holdRevision lost pods may come back as they were. Where stages
//     or failures may keep nodes waiting, they may come back as the node ever was, or at a completed revision if there is one.
//   - hands off (V4): the only pod of a run node, available and of the revision of the spec, is not deleted, unless
//     resources may be overridden (P8), or a canary lets nodes go back.
//   - in place (I2, V9): patches change no more of a pod's spec than images, to those of the revision that the pod names
//     then, and resources where the spec allows that; of its labels and annotations only those that a template, a hook or
//     the library names.
//   - restart (I2): a container that is the same in all revisions that its pod has been at, and reads no metadata, is not
//     started again, unless it has ended.
//   - preDelete (L2, V8): no pod is deleted that was seen with a handler of that hook.
//   - inPlaceUpdate (L3): none is updated in place that was seen with a handler of this one, unless it was Updating.
//   - frozen (T4, V7): nothing is created or deleted.
//   - paused (T4): no node is begun: no outdated pod that is alone on its node, has not ended and was not prepared before is
//     deleted, prepared, changed, or given another one beside it.
//   - held (T2, T3, T5, V5): none such is where the strategy's selector does not match or the type is OnDelete, and as many
//     nodes with an outdated pod are left as partition holds. Not judged after a fail (C7), and the partition not where
//     resources may be overridden.
//   - slow start (B7): the nodes that were begun since the update revision became what it is, and are under way, are no more
//     than the limit is by then, at most. What B8 names does not count.
//   - burst (M6): creates, deletes, and new updates in place of a turn, each.
//   - back-off (M2): Failed pods of the update revision of a node are deleted no earlier than the back-off has it. A
//     controller that crashed may have forgotten. Not judged where resources may be overridden (P8).
//   - departing (M8, V26): where the controller saw a node departing, no pod is created or deleted, none is prepared to be
//     deleted or updated in place, and none is brought to another revision, unless the policy lets such nodes be touched.
//     What must be so at rest is not asked of such nodes.
//   - domain (B10, V19): a run node that stops serving, is let go, or with maxSurge gets a pod beside one that serves, leaves
//     no more nodes of its value down, or holding a place, than max, and no more values with such nodes than atOnce, unless
//     others of its value were down, or held one, already. Left out is who is left out of the budget. At rest a node that a
//     domain has no room for is not stuck.
//   - stage (T8, V20): a node is begun, or gets the update revision for the first time, only in a part that was open by what the
//     controller saw: each part before it was done once, since the revision became what it is, and it is approved if it has to
//     be. A part may be done if one of its nodes has an available pod of the revision, none is without a pod of it, and no more
//     are unavailable than the tolerance, keep nodes with such a pod among them, after all have been left out that may be. A
//     revision gets the mark of a completed one only if all parts may have been done. Not judged during a trial.
//   - soak (T8, V21): nor before the part before has been done for its time to soak. After a crash the controller may go by what
//     is done then.
//   - failures (F1 to F3, V25): no node is begun, or gets the update revision for the first time, while it has failed for certain
//     on more nodes than may be, of all that may be in open parts. A pod of a series counts from the first one that the judge saw
//     deleted. Once the controller saw that the revision was given up, no node gets it that never had it, until a retry that was
//     not obeyed yet. Where it may have been given up, nodes may go back, and what must be so at rest is not asked of them.
//     Failed nodes may be left out of the budgets as quarantine has it (F4).
//   - blame (P-B, V29): a revision is given up only after a look by which it may have failed on more nodes than may: those that
//     had it and did not serve for the deadline since they did last, and those with more restarts and pods than maxRestarts.
//
// Each has a planted bug that it was seen to find (command soak).
package judge
