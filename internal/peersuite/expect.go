package main

// expectation is why a test need not pass, or may pass without having asked the library for anything.
type expectation struct {
	test string
	// entry of the table of deliberate differences: the test fails because of it.
	entry string
	// refused says why the spec of the test is no valid one: the test fails because of that.
	refused string
	// aside says why the test is not about decisions: it passes without them.
	aside string
	// fails lists what the test says where it fails. "…" stands for what is different each time. Empty: it passes.
	fails []string
}

const (
	handlers = "event handlers and queues"
	early    = "the sync ends before anything is decided"
	storing  = "how often storing the status is tried"
)

// expected are all tests that do not simply pass.
var expected = []expectation{
	{
		test: "TestSurgeDeletesUnreadyOldPods", entry: "best-pod-stays",
		fails: []string{
			"Unexpected number of deletes.  Expected 2, got [node-1-old-unready-…]", `pod "node-1-old-unready-…" does not exist`,
		},
	},
	{
		test: "TestDaemonSetUpdatesPodsNotMatchTainstWithMaxSurge", entry: "keep-replaces-nothing",
		fails: []string{"Unexpected number of deletes.  Expected 1, got []"},
	},
	{
		test: "TestIsPodUpdated", entry: "generation-label",
		fails: []string{
			"templateGeneration matches, hash doesn't: IsPodUpdated returned wrong value. Expected true, got false",
			"templateGeneration matches, has hash label, no hash: IsPodUpdated returned wrong value. Expected true, got false",
		},
	},
	{
		test: "TestGetUnavailableNumbers/No_nodes", refused: "both budgets are 0 (B1), which the API server refuses, too",
		fails: []string{
			"Wrong values. maxSurge: 0, expected 0, maxUnavailable: 1, expected: 0, desiredNumberScheduled: 0, expected: 0",
		},
	},

	{test: "TestDeleteFinalStateUnknown", aside: handlers},
	{test: "TestAddNode", aside: handlers},
	{test: "TestAddPod", aside: handlers},
	{test: "TestAddPodOrphan", aside: handlers},
	{test: "TestUpdatePod", aside: handlers},
	{test: "TestUpdatePodOrphanSameLabels", aside: handlers},
	{test: "TestUpdatePodOrphanWithNewLabels", aside: handlers},
	{test: "TestUpdatePodChangeControllerRef", aside: handlers},
	{test: "TestUpdatePodControllerRefRemoved", aside: handlers},
	{test: "TestDeletePod", aside: handlers},
	{test: "TestDeletePodOrphan", aside: handlers},
	{test: "TestShouldIgnoreNodeUpdate", aside: handlers},
	{test: "TestDontDoAnythingIfBeingDeleted", aside: early},
	{test: "TestPodIsNotDeletedByDaemonsetWithEmptyLabelSelector", aside: early},
	{test: "TestStoreDaemonSetStatus/succeed_immediately", aside: storing},
	{test: "TestStoreDaemonSetStatus/succeed_after_one_update_failure", aside: storing},
	{test: "TestStoreDaemonSetStatus/fail_after_two_update_failures", aside: storing},
	{test: "TestStoreDaemonSetStatus/fail_after_one_update_failure_and_one_get_failure", aside: storing},
	{test: "TestGetTargetNodeName", aside: "as published it runs its cases for no feature gate, so none of them"},
}
