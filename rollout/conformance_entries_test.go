package rollout_test

// rule is one deliberate difference from a recorded controller: a switch of the model.
type rule uint8

const (
	generationLabel rule = iota
	terminatingIsNotLive
	anyPodCounts
	failedGoTogether
	finishedPodGoesFirst
	deletedOnce
	keepReplacesNothing
	servesWhileLeaving
	bestPodStays
	readyPodServes
	vanishedNodeStopsNothing
	unavailableNewPodHoldsPlace
	budgetCountsRunNodes
	oneServingPodWillDo
	missingPodsComeFirst
	burstIsPerPlan

	exactlyLongEnough
	inPlaceConditionCounts
	succeededPodGoes
	endedPodIsIgnored
	brokenNodesCount
	heldNodesCount
	leavingIsGone
	surgesWhereItMayRun
	burstOfDesired
	partitionOfDesired
	partitionOfRunNodes
	scalingInstalls
	deletionIsTakenBack
	idlePodIsRecreated

	rules // count
)

// ruleSet holds the rules that are switched on, one bit each.
type ruleSet uint64

const allRules ruleSet = 1<<rules - 1

// entry is one row of the table of deliberate differences.
type entry struct {
	id, rule, why string
	of            peers // who does otherwise
}

// peers are controllers that share a behaviour.
type peers uint8

const (
	ofKubernetes peers = 1 << kubernetes
	ofKruise     peers = 1 << kruise
	ofBoth             = ofKubernetes | ofKruise
)

// entries is the table of deliberate differences. A difference is put down to the entries without whose rules the
// model of the controller would not become our plan.
var entries = [rules]entry{
	generationLabel: {"generation-label", "R5",
		"the controller takes an outdated pod for updated if its template-generation label matches", ofBoth},
	terminatingIsNotLive: {"terminating-is-not-live", "S1",
		"the controller counts a terminating pod as ready, available and updated", ofBoth},
	anyPodCounts: {"any-pod-counts", "S1",
		"the controller's status looks at the oldest scheduled pod of a node only", ofBoth},
	failedGoTogether: {"failed-go-together", "M2",
		"two failed pods of a node share the controller's back-off, so that one of them stays", ofBoth},
	finishedPodGoesFirst: {"finished-pod-goes-first", "M1",
		"under surge the controller creates a pod beside a finished one that it deletes in the same sync", ofBoth},
	deletedOnce: {"deleted-once", "M5",
		"the controller deletes an unbound pod of a vanished node again although it is marked for deletion", ofBoth},
	keepReplacesNothing: {"keep-replaces-nothing", "M4",
		"the controller replaces an outdated pod where no new one may start", ofBoth},
	servesWhileLeaving: {"serves-while-leaving", "M4",
		"under surge the controller deletes available pods of deselected nodes before others are available", ofBoth},
	bestPodStays: {"best-pod-stays", "M3",
		"of several pods of a node the controller keeps the oldest, even against the only available one", ofBoth},
	readyPodServes: {"ready-pod-serves", "B3, B4",
		"the controller treats an outdated Ready pod inside minReadySeconds as broken, and replaces it past the budget", ofBoth},
	vanishedNodeStopsNothing: {"vanished-node-stops-nothing", "B4",
		"a pod bound to a node that does not exist stops the controller's surge rollout", ofKubernetes},
	unavailableNewPodHoldsPlace: {"unavailable-new-pod-holds-place", "B4",
		"the controller takes no surge place for a new pod without an old one beside it, or created beside a broken one", ofBoth},
	budgetCountsRunNodes: {"budget-counts-run-nodes", "B2",
		"pods on nodes that are not to run one and on vanished nodes use up the controller's budget", ofBoth},
	oneServingPodWillDo: {"one-serving-pod-will-do", "B2, B4",
		"a node with several live pods uses up the controller's budget, even if one of them serves", ofBoth},
	missingPodsComeFirst: {"missing-pods-come-first", "M7",
		"what repair creates and deletes counts in the budget of the same plan; the controller counts phase by phase", ofBoth},
	burstIsPerPlan: {"burst-is-per-plan", "M6",
		"repairs and updates of one plan share burst; each phase of the controller has its own", ofBoth},

	exactlyLongEnough: {"exactly-long-enough", "B5",
		"the controller wants a pod to have been Ready for more than minReadySeconds", ofKruise},
	inPlaceConditionCounts: {"in-place-condition-counts", "B5, T4",
		"a pod made not ready for an update serves for the controller's budget while it is Ready, and is left so by a pause", ofKruise},
	succeededPodGoes: {"succeeded-pod-goes", "M2",
		"the controller keeps a pod that has Succeeded", ofKruise},
	endedPodIsIgnored: {"ended-pod-is-ignored", "M1",
		"the controller waits for a finished pod that is marked for deletion", ofKruise},
	brokenNodesCount: {"broken-nodes-count", "B2, B3",
		"an outdated pod that is not available does not count against the controller's maxUnavailable", ofKruise},
	heldNodesCount: {"held-nodes-count", "B2",
		"the controller counts only the nodes that it may update against maxUnavailable and maxSurge", ofKruise},
	leavingIsGone: {"leaving-is-gone", "B2, M3",
		"the controller counts a node with a new pod in PreparingDelete twice, and takes an old one there for surplus", ofKruise},
	surgesWhereItMayRun: {"surges-where-it-may-run", "B4",
		"the controller creates surge pods on nodes where they may not run", ofKruise},
	burstOfDesired: {"burst-of-desired", "M6",
		"the controller takes a percentage of burst of the stored status, down to nothing", ofKruise},
	partitionOfDesired: {"partition-of-desired", "T2",
		"the controller takes a percentage of partition of the stored status", ofKruise},
	partitionOfRunNodes: {"partition-of-run-nodes", "T2",
		"the controller charges pods on ineligible nodes, and nodes without any, to the partition", ofKruise},
	scalingInstalls: {"scaling-installs", "T7",
		"the controller applies partitioned scaling after the first installation too, and charges pods on ineligible nodes to it", ofKruise},
	deletionIsTakenBack: {"deletion-is-taken-back", "L2",
		"the controller deletes a pod in PreparingDelete although there is no reason any more", ofKruise},
	idlePodIsRecreated: {"idle-pod-is-recreated", "I3, M2",
		"the controller updates in place a pod in which nothing runs: one that is bound to no node, or has failed", ofKruise},
}

// others is the set of rules in which the peer does as we do.
func (p peer) others() (native ruleSet) {
	for r, e := range entries[:] {
		if e.of&(1<<p) == 0 {
			native |= 1 << r
		}
	}
	return native
}
