// Package history finds a pod template among the ControllerRevisions of a set. It decides which revision is the update
// revision and which the stable one, and which revisions to create, renumber and delete. It also compares templates field
// by field and plans rollbacks.
//
//	resolver, err := history.Compile(history.Set{Name: "agent", Namespace: "monitoring", UID: uid}, template)
//	…
//	resolution, err := resolver.Resolve(history.Input{Revisions: revisions, Carriers: carriers, Limit: 10})
//	// create resolution.Create, renumber resolution.Renumber, relabel pods, delete resolution.Delete
//
// # Functions
//
//   - Data, Hash, HashOf and Template: what a revision stores, how it is named, and back (R1).
//   - SameData: whether two revisions are the same (R2).
//   - Compile and Resolver.Resolve: the history of a set (R3, R4) and the stable revision (C6).
//   - Rollback: the way back to a revision, with what would restart.
//   - Changes and DiffData: the changes between two templates by path, each with whether it restarts pods.
//
// # Contract
//
// All functions are pure: no clock, no I/O, no shared state. Arguments are neither written nor retained; the
// revisions in results are the pointers that were given, everything else is the caller's own. Order in the arguments
// changes nothing. Nil arguments and unreadable data give errors or plain results, never a panic, and quantities
// whose reading could take time without bound are refused.
//
// # Guarantees
//
//   - A revision that exists is never named by a recomputed hash. Hashes depend on the version of k8s.io/api, so that
//     a recomputed one would differ after an upgrade of this library and restart every pod.
//   - A field that another API version merely adds and leaves empty restarts nothing; a field that this version
//     does not know and that is not empty is a difference.
//   - Carrying out a Resolution leads to the same update revision and, once relabelled pods are observed, to nothing
//     more to do.
//   - No revision is deleted that a pod carries, a terminating or terminal one included, nor the update or the
//     stable one.
//   - In steady state Resolve decodes nothing, and its allocations do not grow with the usual history.
//
// # Differences from the controllers
//
// The Kubernetes DaemonSet controller v1.37.2 writes the same data, hashes and names. It differs in this:
//   - It compares data by bytes alone; here spelling and empty fields make no new revision (R2).
//   - When it finds duplicates it relabels every pod that is not at the kept revision, those of really older
//     revisions too, which then pass for updated, and deletes duplicates in the same sync. Here only the duplicates'
//     pods are relabelled, and a duplicate goes when no pod is seen to carry it (R3).
//   - It checks only whether a name is taken. Here a hash is taken, too, if a revision with other data is labelled with it.
//   - It copies the set's annotations to a new revision; Set has none.
//   - Trimming, it does not spare a stable revision that no pod carries. Here the stable one stays, and the last one that
//     was promoted until another is.
//   - It knows no canaries. Verdicts on them are annotations: Promoted, Failed, PromotedAnnotation and its like.
//
// OpenKruise's Advanced DaemonSet (as of v1.8) does the same as Kubernetes with libraries of v0.32, whose data has a
// creationTimestamp of null, equal here. It cannot resolve a name collision, because it counts it on an
// apps/v1 DaemonSet that does not exist.
//
// Datadog's ExtendedDaemonSet keeps ExtendedDaemonSetReplicaSets instead of ControllerRevisions.
package history
