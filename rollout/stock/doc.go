// Package stock plans as the controllers do that run in clusters today: the DaemonSet controller of Kubernetes 1.37, the
// controller of OpenKruise 1.8 for its Advanced DaemonSets, and that of Datadog's ExtendedDaemonSets. With it a simulation shows
// what they would do to a fleet, beside what package rollout would do:
//
//	planner, err := stock.NewKubernetes(spec, 1)
//	plan, err := planner.Plan(snapshot)
//
// A plan of a stock planner is what one sync of the controller asks for: first it repairs, which creates and deletes pods
// whatever the rollout, and only a sync that has repaired nothing updates pods. While requests are in flight it asks for nothing.
// What the rules of this project do otherwise (docs/differences.md) does not hold here: pods on nodes that are lost use up the
// budget, of several pods the oldest stays, and so on. [ObeyedByKubernetes], [ObeyedByKruise] and [ObeyedByExtendedDaemonSet] say
// which settings count.
//
// A plan says what a sync does, and not when there is one. The controller of Kubernetes makes none because a node gets a taint
// with the effect NoSchedule, as long as its pod may stay. Its status then follows with the next sync.
//
// The controllers go over nodes in the order of a map. Which of many nodes come first is therefore chance; the seed draws it. All
// else is equal for equal inputs.
//
// OpenKruise's controller grew out of that of Kubernetes, and so does its planner: repair.go has what both do, update.go how
// Kubernetes updates and kruise_update.go how OpenKruise does, removal.go hooks and updates in place.
//
// The ExtendedDaemonSet controller has another origin. It handles the set (extended_election.go: which replica set is active, and
// which is on trial), and then each replica set by itself, once in reconcileFrequency: it chooses the pod that stays on each node
// (extended_nodes.go), judges the canary (extended_judge.go), and updates its nodes (extended_roll.go). A replica set is a
// ControllerRevision here.
//
// Contract:
//
//   - nothing is written but the results, there is no clock and no other chance than the seed, and nothing panics;
//   - a snapshot that breaks the contract of package rollout is the same error here;
//   - revisions and the pods that are made of them come from package rollout, which does what the controllers do; the steps of an
//     update in place come from package inplace.
//
// Recorded decisions of the controllers and the DaemonSet controller's own code judge this package (internal/conformance,
// internal/differential).
package stock
