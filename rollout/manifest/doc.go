// Package manifest reads manifests: the YAML or JSON of a daemon controller's object becomes a [rollout.Spec].
//
//	set, err := manifest.Decode(data)
//	if err != nil {
//		return err // names every field of the wrong type
//	}
//	planner, err := rollout.New(set.Spec)
//	if err != nil {
//		return manifest.FieldErrors(set.Spec, err).ToAggregate() // names every field of the manifest that is invalid
//	}
//	snapshot.Memory = set.Memory
//
// [Decode] reads one manifest, [FromDaemonSet] translates the typed object that a client hands out, and [Objects] finds
// the objects in a dump of a cluster, manifests among them.
//
// # Contract
//
// All functions are functions of their arguments: nothing is read but the bytes passed in, and nothing is written.
// Results of Decode and FromDaemonSet share no memory with the arguments; an [Object] may share it with its data. Any
// bytes may be passed, however deeply nested or broken: there is an error and no panic, and no result beside an error.
//
// Spelling counts as it does for the API server: field names are case-sensitive, a number is no string. Fields that
// this API version does not know are ignored as the API server does by default, and listed in Set.Unknown.
//
// # What a manifest lacks
//
// A stored object has the defaults of the API server filled in, also in its pod template, and so have the revisions made
// from it. A manifest from a file has not, so it would seem to differ from every stored revision (R1, R2) and to restart
// every pod. Read manifests as the API server stores them: "kubectl get -o yaml", or "kubectl apply --dry-run=server
// -o yaml" for one that is to be applied.
//
// # Differences from the controllers
//
// apps/v1 DaemonSet (Kubernetes v1.36.3) is read so far; see [FromDaemonSet] for the places where a Spec says more or
// less. OpenKruise Advanced DaemonSet and Datadog ExtendedDaemonSet are refused with an error that says what can be
// read.
package manifest
