package peer

// Rule is one deliberate difference from a controller: a switch of the model.
type Rule uint8

// The rules, in the order of the table [Entries], which says what each means.
const (
	GenerationLabel Rule = iota
	TerminatingIsNotLive
	AnyPodCounts
	FailedGoTogether
	FinishedPodGoesFirst
	DeletedOnce
	KeepReplacesNothing
	ServesWhileLeaving
	BestPodStays
	ReadyPodServes
	VanishedNodeStopsNothing
	UnavailableNewPodHoldsPlace
	BudgetCountsRunNodes
	OneServingPodWillDo
	MissingPodsComeFirst
	BurstIsPerPlan
	EndedPodIsNotReady
	TerminatingPodHoldsItsNode

	ExactlyLongEnough
	InPlaceConditionCounts
	SucceededPodGoes
	EndedPodIsIgnored
	BrokenNodesCount
	HeldNodesCount
	LeavingIsGone
	SurgesWhereItMayRun
	BurstOfDesired
	PartitionOfDesired
	PartitionOfRunNodes
	ScalingInstalls
	DeletionIsTakenBack
	IdlePodIsRecreated
	PreparedPodNeedsRoom

	Rules // how many there are
)

// RuleSet holds the rules that are switched on, one bit each.
type RuleSet uint64

// AllRules has all rules. With them the model decides as our planner does.
const AllRules RuleSet = 1<<Rules - 1

// Has reports whether the rule is switched on.
func (s RuleSet) Has(r Rule) bool { return s>>r&1 != 0 }

// Entry is one row of the table of deliberate differences.
type Entry struct {
	// ID is its name in reports; it is unique.
	ID string
	// Rule is the number of the rule in docs/rules.md; several are separated by ", ".
	Rule string
	// Why is what the controllers do.
	Why string
	// Of are the controllers that act otherwise than we do.
	Of Controllers
	// Unrecorded reports whether no recording shows it, but only the comparison with the controller itself.
	Unrecorded bool
}

// Controllers is a set of controllers, one bit each.
type Controllers uint8

const (
	ofKubernetes Controllers = 1 << Kubernetes
	ofKruise     Controllers = 1 << Kruise
	ofBoth                   = ofKubernetes | ofKruise
)

// Has reports whether the controller is among them.
func (s Controllers) Has(c Controller) bool { return s>>c&1 != 0 }

// Entries is the table of deliberate differences. It is never written to. A difference is put down to the entries without whose
// rules the model of the controller would not become our plan.
var Entries = [Rules]Entry{
	GenerationLabel: {"generation-label", "R5",
		"the controller takes an outdated pod for updated if its template-generation label matches", ofBoth, false},
	TerminatingIsNotLive: {"terminating-is-not-live", "S1",
		"the controller counts a terminating pod as ready, available and updated", ofBoth, false},
	AnyPodCounts: {"any-pod-counts", "S1",
		"the controller's status looks at the oldest scheduled pod of a node only", ofBoth, false},
	FailedGoTogether: {"failed-go-together", "M2",
		"two failed pods of a node share the controller's back-off, so that one of them stays", ofBoth, false},
	FinishedPodGoesFirst: {"finished-pod-goes-first", "M1",
		"under surge the controller creates a pod beside a finished one that it deletes in the same sync", ofBoth, false},
	DeletedOnce: {"deleted-once", "M5",
		"the controller deletes an unbound pod of a vanished node again although it is marked for deletion", ofBoth, false},
	KeepReplacesNothing: {"keep-replaces-nothing", "M4",
		"the controller replaces an outdated pod where no new one may start", ofBoth, false},
	ServesWhileLeaving: {"serves-while-leaving", "M4",
		"under surge the controller deletes available pods of deselected nodes before others are available", ofBoth, false},
	BestPodStays: {"best-pod-stays", "M3",
		"of several pods of a node the controller keeps the oldest, even against the only available one", ofBoth, false},
	ReadyPodServes: {"ready-pod-serves", "B3, B4",
		"the controller treats an outdated Ready pod inside minReadySeconds as broken, and replaces it past the budget",
		ofBoth, false},
	VanishedNodeStopsNothing: {"vanished-node-stops-nothing", "B4",
		"a pod bound to a node that does not exist stops the controller's surge rollout", ofKubernetes, false},
	UnavailableNewPodHoldsPlace: {"unavailable-new-pod-holds-place", "B4",
		"the controller takes no surge place for a new pod without an old one beside it, or created beside a broken one",
		ofBoth, false},
	BudgetCountsRunNodes: {"budget-counts-run-nodes", "B2",
		"pods on nodes that are not to run one and on vanished nodes use up the controller's budget", ofBoth, false},
	OneServingPodWillDo: {"one-serving-pod-will-do", "B2, B4",
		"a node with several live pods uses up the controller's budget, even if one of them serves", ofBoth, false},
	MissingPodsComeFirst: {"missing-pods-come-first", "M7",
		"what repair creates and deletes counts in the budget of the same plan; the controller counts phase by phase",
		ofBoth, false},
	BurstIsPerPlan: {"burst-is-per-plan", "M6",
		"repairs and updates of one plan share burst; each phase of the controller has its own", ofBoth, false},
	EndedPodIsNotReady: {"ended-pod-is-not-ready", "B5",
		"the controller takes a pod that has Failed or Succeeded for ready while its condition says so", ofKubernetes, true},
	TerminatingPodHoldsItsNode: {"terminating-pod-holds-its-node", "M1",
		"the controller releases a terminating pod that its selector no longer matches, and fills the node beside it",
		ofKubernetes, true},

	ExactlyLongEnough: {"exactly-long-enough", "B5",
		"the controller wants a pod to have been Ready for more than minReadySeconds", ofKruise, false},
	InPlaceConditionCounts: {"in-place-condition-counts", "B5, T4",
		"a pod made not ready for an update serves for the controller's budget while it is Ready, and is left so by a pause",
		ofKruise, false},
	SucceededPodGoes: {"succeeded-pod-goes", "M2",
		"the controller keeps a pod that has Succeeded", ofKruise, false},
	EndedPodIsIgnored: {"ended-pod-is-ignored", "M1",
		"the controller waits for a finished pod that is marked for deletion", ofKruise, false},
	BrokenNodesCount: {"broken-nodes-count", "B2, B3",
		"an outdated pod that is not available does not count against the controller's maxUnavailable", ofKruise, false},
	HeldNodesCount: {"held-nodes-count", "B2",
		"the controller counts only the nodes that it may update against maxUnavailable and maxSurge", ofKruise, false},
	LeavingIsGone: {"leaving-is-gone", "B2, M3",
		"the controller counts a node with a new pod in PreparingDelete twice, and takes an old one there for surplus",
		ofKruise, false},
	SurgesWhereItMayRun: {"surges-where-it-may-run", "B4",
		"the controller creates surge pods on nodes where they may not run", ofKruise, false},
	BurstOfDesired: {"burst-of-desired", "M6",
		"the controller takes a percentage of burst of the stored status, down to nothing", ofKruise, false},
	PartitionOfDesired: {"partition-of-desired", "T2",
		"the controller takes a percentage of partition of the stored status", ofKruise, false},
	PartitionOfRunNodes: {"partition-of-run-nodes", "T2",
		"the controller charges pods on ineligible nodes, and nodes without any, to the partition", ofKruise, false},
	ScalingInstalls: {"scaling-installs", "T7",
		"the controller applies partitioned scaling after the first installation too, and charges pods on ineligible nodes to it",
		ofKruise, false},
	DeletionIsTakenBack: {"deletion-is-taken-back", "L2",
		"the controller deletes a pod in PreparingDelete although there is no reason any more", ofKruise, false},
	IdlePodIsRecreated: {"idle-pod-is-recreated", "I3, M2",
		"the controller updates in place a pod in which nothing runs: one that is bound to no node, or has failed",
		ofKruise, false},
	PreparedPodNeedsRoom: {"prepared-pod-needs-room", "B3, L2",
		"the controller deletes an outdated pod that is Ready when its hook lets it go, however many nodes are down then",
		ofKruise, false},
}

// others returns the set of rules in which the controller does as we do.
func (c Controller) others() (native RuleSet) {
	for r, e := range Entries[:] {
		if !e.Of.Has(c) {
			native |= 1 << r
		}
	}
	return native
}
