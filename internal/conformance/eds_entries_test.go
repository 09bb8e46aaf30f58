package conformance_test

// edsRule is one deliberate difference from the ExtendedDaemonSet controller. It is a switch of the model.
type edsRule uint8

const (
	edsDefaultTolerations edsRule = iota
	edsKeepStays
	edsUnknownIsPod
	edsEndedIsIgnored
	edsObjectHolds
	edsSucceededGoes
	edsFailedBackOff
	edsBestPodStays
	edsStraysStay
	edsMarkedIsGone
	edsAnyPodCounts
	edsStuckIsOutdated
	edsStuckAtOnce
	edsBrokenInFull
	edsUnderWay
	edsFrozenRests
	edsOverrides
	edsNoDelay
	edsWholeSet
	edsCanaryReplaced
	edsCanaryInTurn
	edsCanaryRests

	edsRuleCount // count
)

// edsRuleSet holds the rules that are switched on, one bit each.
type edsRuleSet uint64

const edsAllRules edsRuleSet = 1<<edsRuleCount - 1

// edsEntry is one row of the table of deliberate differences.
type edsEntry struct{ id, rule, why string }

// edsEntries is the table. A difference is explained by those entries whose rules the model of the controller needs to become our
// plan.
var edsEntries = [edsRuleCount]edsEntry{
	edsDefaultTolerations: {"default-tolerations", "P1",
		"the controller tolerates network-unavailable without host network, and not pid-pressure"},
	edsKeepStays: {"keep-stays", "P3, M4",
		"the controller deletes running pods when their node gets a taint NoSchedule"},
	edsUnknownIsPod: {"unknown-is-a-pod", "M1, M4",
		"a pod in phase Unknown makes the controller take its node for empty, and is never deleted"},
	edsEndedIsIgnored: {"ended-is-ignored", "M1",
		"the controller waits for a finished pod that is marked for deletion"},
	edsObjectHolds: {"object-holds-its-node", "M1, V3",
		"the controller creates a pod while a Failed one that it has just deleted is still there"},
	edsSucceededGoes: {"succeeded-goes", "M2",
		"the controller keeps a pod that has Succeeded for ever"},
	edsFailedBackOff: {"failed-back-off", "M2",
		"the controller's back-off begins with ten seconds, is the same for all revisions, and lets one of two Failed pods stay"},
	edsBestPodStays: {"best-pod-stays", "M3",
		"of several pods of a node the controller keeps the oldest bound one, even one that has Failed or is on its way out"},
	edsStraysStay: {"strays-stay", "M5",
		"the controller deletes pods that are bound to a node that does not exist"},
	edsMarkedIsGone: {"marked-is-gone", "B2, S1",
		"the controller counts a terminating pod of the new revision as current, ready and available"},
	edsAnyPodCounts: {"any-pod-counts", "S1",
		"the controller's status looks at the one pod of a node that it keeps"},
	edsStuckIsOutdated: {"stuck-is-outdated", "B3, S1",
		"the controller passes over an outdated pod that is not bound for ten minutes, so that nothing ever replaces it"},
	edsStuckAtOnce: {"stuck-at-once", "B8",
		"the controller goes by ten minutes without a node and by twice the grace period instead of what the scheduler reports"},
	edsBrokenInFull: {"broken-in-full", "B3",
		"the controller adds broken outdated pods to the budget and then takes any victims, so that healthy pods go beyond it"},
	edsUnderWay: {"under-way", "B7",
		"the controller's slow start bounds the creates of one call, not the nodes under way, and deletes not at all"},
	edsFrozenRests: {"frozen-rests", "T4",
		"the controller goes on deleting what the filter finds while it is frozen"},
	edsOverrides: {"override-whole", "P8",
		"the controller overlooks a removed setting, mixes annotation and setting, and recreates for a malformed annotation"},
	edsNoDelay: {"no-delay", "V14",
		"the controller acts once in reconcileFrequency; what was requested and is not seen is in InFlight"},
	edsWholeSet: {"whole-set", "T6, S1",
		"a call of the controller is for one replica set: the canary's nodes, or all others, or none; a plan is for all nodes"},
	edsCanaryReplaced: {"canary-node-replaced", "C1",
		"a canary node that does not run the pod stays the controller's canary node, and no other takes its place"},
	edsCanaryInTurn: {"canary-in-turn", "C7",
		"the controller replaces all pods of canary nodes at once, past every budget"},
	edsCanaryRests: {"canary-rests", "C7",
		"the controller deletes the outdated pods of canary nodes although the canary, or the whole set, is paused or frozen"},
}
