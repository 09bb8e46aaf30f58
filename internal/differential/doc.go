// Package differential compares the planner with the Kubernetes DaemonSet controller itself: not with recordings of it,
// but with its published code (k8s.io/kubernetes), driven in process.
//
// A [Controller] is the real controller over informer stores that a [World] fills. Its phases run one by one on an
// unchanged world, or as the one sync that it makes of them, and what it asks of the API server is returned as
// [Requests] instead of being sent:
//
//	controller, err := differential.NewController()
//	if err != nil {
//		return err
//	}
//	if err := controller.Load(world); err != nil {
//		return err
//	}
//	requests, err := controller.Sync() // what it creates, deletes, relabels and reports
//
// The tests of this package do that on generated worlds. TestOneStep compares what a phase does with a plan on the same
// snapshot; TestWholeRollouts lets both bring the same fleet from one template to the next, with the same kubelets;
// TestHistory compares what is done to the revisions, TestHelper… the exported helpers one by one. What differs is put down
// to an entry of the table of deliberate differences (package peer in internal/conformance), or fails, shrunk and printed
// as objects that kubectl daemonplan reads. The benchmarks run both in one process: make compare.
//
// The package is a module of its own, because it requires all of k8s.io/kubernetes. It reaches what that package does
// not export by name (linkname.go), which is why it is pinned to one version, and for tests only.
package differential
