// Peersuite lets the unit tests of the Kubernetes DaemonSet controller judge this library: tests that nobody here wrote.
//
//	go run ./internal/peersuite          # the table of all those tests; fails if a row is unexplained
//	go run ./internal/peersuite -write   # writes the table into docs/what-is-proved.md, too
//	go run ./internal/peersuite -bugs    # plants bugs in the library, and sees a test fail for each
//	go run ./internal/peersuite -kubelet 20000 # asks the kubelet which containers updates in place restart; nothing else
//
// The published module k8s.io/kubernetes has the controller's tests. In a temporary module (build/peersuite, removed at the end)
// the program copies package pkg/controller/daemon from the module cache: its tests byte for byte, its source with what decides
// renamed by syntax tree ([edits]). An adapter (testdata/adapter) declares that anew: it claims pods and revisions with
// rollout.Claim, plans, has the verifier look at the plan, and hands creates and deletes to the controller's own syncNodes;
// events, status, revisions and the next look are the plan's, too. The helpers of its package util call ours in the same way.
// What the fixtures lack and the API server would not let in without (names and images of containers, UIDs of pods) the adapter
// fills in. Nothing of that source is kept here.
//
// With -kubelet it copies package pkg/kubelet/kuberuntime in the same way, with a test of ours (testdata/kubelet) in the place
// of its own. The test asks the kubelet's computePodActions what it would do after the patches of an update in place, and holds
// package inplace to that.
//
// A test passes, differs as one entry of the table of deliberate differences says (package peer in internal/conformance), with
// the assertion that then fails, or is not about decisions, with the reason: see [expected]. Whatever the library is asked for
// is noted in the output of the test that runs, so that a test that asks nothing cannot pass for one that judges.
package main
