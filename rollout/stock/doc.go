// Package stock plans as a controller does that runs in clusters today: the DaemonSet controller of Kubernetes 1.37. With it a
// simulation shows what that controller would do to a fleet, beside what package rollout would do:
//
//	planner, err := stock.NewKubernetes(spec, 1)
//	plan, err := planner.Plan(snapshot)
//
// A plan of a stock planner is what one sync of the controller asks for: first it creates and deletes pods whatever the rollout
// ([Kubernetes.Plan] calls that repair), and only a sync that finds nothing to repair updates pods. While requests are in flight
// it asks for nothing. What the rules of this project do otherwise (docs/differences.md) does not hold here: pods on nodes that
// are lost use up the budget, of several pods the oldest stays, and so on.
//
// The controller goes over nodes in the order of a map. Which of many nodes come first is therefore chance; the seed draws it.
// All else is equal for equal inputs.
//
// Contract:
//
//   - nothing is written but the results, there is no clock and no other chance than the seed, and nothing panics;
//   - a snapshot that breaks the contract of package rollout is the same error here;
//   - revisions and the pods that are made of them come from package rollout, which does what the controller does;
//   - settings that DaemonSets do not have, such as policies, canaries, hooks, partitions and updates in place, are not looked
//     at.
//
// Recorded decisions of the controller and the controller's own code judge this package (internal/conformance,
// internal/differential).
package stock
