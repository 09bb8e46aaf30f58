// Package peer is a naive model of the DaemonSet controllers of Kubernetes and of OpenKruise. It says what they do with a
// snapshot, and what they would do with some of our rules in place of their own. Each row of the table of deliberate
// differences ([Entries]) is a switch of the model. With no rule the model does what the real controller does; with all of
// them it is a second, naive planner.
//
// A test that knows what the real controller did, because it was recorded or because the controller runs beside it, compares
// in four steps:
//
//	c, err := peer.Decode(line)           // or a Case of objects, and c.DecodeSet()
//	spec, err := c.Spec()                 // what it says, as a rollout.Spec
//	s, err := peer.NewSituation(c, spec)  // what the snapshot says, read naively
//	plan, err := planner.Plan(c.Snapshot())
//
//	s.Outcome(0, peer.Decided{})          // the model alone: must equal what the controller did
//	peer.Compare(c.Expected(), plan)      // where the plan differs from what the controller did
//	s.Explain(peer.DecidedBy(plan))       // which entries of the table account for that, if any do
//
// An [Outcome] holds the phases of a sync, each with what it does for sure and what it picks freely: the real controllers go
// over maps. [Outcome.Permits] reports whether a plan is one of the possible ones.
//
// Contract:
//
//   - nothing is written but by the methods of a [Case] that say so, and equal inputs give equal results;
//   - what cannot be read is an error that names the case; nothing panics on what the API server lets in;
//   - a spec for which [Case.Refused] names a field is not one that a plan can be compared for;
//   - the model shares placement, readiness of pods and the reading of manifests with the library. Those have recordings of
//     their own. Everything else is written anew here, without regard to speed.
//
// The model of the ExtendedDaemonSet controller is another one, with a table of its own, in the tests of package rollout:
// its decision is spread over several calls for several replica sets.
//
// This package is test support: only tests import it.
package peer
