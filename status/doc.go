// Package status sums up a set of daemon pods: the counters that kubectl shows, the conditions, and one word that
// says how the set is doing.
//
//	var counts status.Counts
//	for _, node := range nodes {
//		counts.Add(factsOf(node)) // status.Desired | status.Present | …
//	}
//	s := status.Summarize(status.Input{
//		Now: now, Counts: counts, UpdateRevision: hash, Settled: settled, MaxUnavailable: 1,
//		Previous: last.Conditions, CompletedRevision: last.CompletedRevision,
//	})
//	fmt.Println(s.State, s.Reason)
//
// # Contract
//
// Every function is a function of its arguments: no clock is read, inputs are not written, nothing of them is kept but
// strings, and nothing panics. The caller passes on what has to be remembered: Conditions and CompletedRevision of one
// Status are Previous and CompletedRevision of the next Input. Losing them resets transition times, and may report a
// finished rollout as under way until all its nodes are seen available again. It does no other harm.
//
// # Guarantees
//
//   - S1: Available <= Ready <= Current <= Desired, Updated <= Current and Unavailable = Desired - Available,
//     for any facts and in any order of nodes.
//   - S2: the state is one of eight words; what a person decided (Frozen, Paused) outranks what is observed.
//   - S3: a condition's transition time changes when its status does, and only then. Progressing is about the
//     revision: once its rollout was seen complete, no reboot and no joining node reopens it. Canary is about the
//     revision too: a canary node that is away changes nothing.
//   - Progressing is False exactly when nobody needs to wait for the rollout any more: it is complete, or the spec lets
//     it go no further. It is True while the rollout goes on by itself or is on trial, and Unknown while somebody has to
//     act first.
//   - Kstatus has one condition True of three, by which tools wait that know no set of this kind.
//   - A revision on trial, or one that failed it, is never complete, even if it has reached every node (C1, C4).
//
// # Differences from the three controllers
//
//   - The Kubernetes DaemonSet controller (v1.37.2) and OpenKruise set no conditions and have no state word.
//     They count a node by its oldest pod, a terminating one too; here any live pod of a node counts (S1).
//   - As kubectl rollout status does, the counters alone take a rollout under surge for complete when each
//     node holds an available old pod beside a new one that never started. Completion here needs
//     Input.Settled.
//   - ExtendedDaemonSet has conditions and a state word, but no word for a rollout that is stuck, and it
//     leaves canary nodes out of its desired count. It has four conditions for what is one here: Canary says that
//     a revision is on trial, paused, failed or promoted, and keeps the reason for as long as that is so.
package status
