package rollout

// Reason says why a decision or an action is what it is.
type Reason uint8

// The reasons, grouped by what they explain.
const (
	// ReasonNone is no reason; no decision carries it.
	ReasonNone Reason = iota

	// ReasonIneligible: the node is not to run the pod, and holds none (P2). Decision.Placement says why.
	ReasonIneligible
	// ReasonKept: the node would not get the pod today, but may keep the one it has (P3, M4).
	ReasonKept
	// ReasonUpToDate: the node's pod is at the update revision and available.
	ReasonUpToDate

	// ReasonStable: the node's pod is at the stable revision and available, as it should be while another is tried elsewhere
	// or has failed (T6).
	ReasonStable

	// ReasonMissing: the node should run the pod and has no pod object (M1).
	ReasonMissing
	// ReasonBesideTerminating: the node's pods are on their way out, and surge allows a new one at once (M1).
	ReasonBesideTerminating
	// ReasonLeaving: the node may not run the pod; Decision.Placement says why (M4).
	ReasonLeaving
	// ReasonFailed: the pod has Failed (M2).
	ReasonFailed
	// ReasonSucceeded: the pod has Succeeded; a daemon pod is to run for ever (M2).
	ReasonSucceeded
	// ReasonSurplus: another pod of the same kind was chosen to stay (M3).
	ReasonSurplus
	// ReasonSuperseded: the node's pod of the revision where it is to end is available, so the outdated one goes (M3, B4).
	ReasonSuperseded
	// ReasonNotReadyBesideNew: the outdated pod is not Ready, and a pod of the revision where the node is to end is there (M3).
	ReasonNotReadyBesideNew
	// ReasonNodeGone: the pod is bound to no node, and the node it is pinned to does not exist (M5).
	ReasonNodeGone
	// ReasonDuplicateRevision: the pod's revision equals the update revision and is merged into it (R3).
	ReasonDuplicateRevision

	// ReasonCanaryLabel: the canary label is put on the pod, or taken off.
	ReasonCanaryLabel

	// ReasonReleased: the pod is deleted, as no preDelete hook holds it any more (L2).
	ReasonReleased
	// ReasonNewPod: the readiness gates of a new pod are opened (I3, L4).
	ReasonNewPod
	// ReasonInPlaceUnfinished: an in-place update or one of its hooks goes on (I5, L3, L4).
	ReasonInPlaceUnfinished
	// ReasonTakenBack: the pod was to be deleted or updated, and is no longer (L2). What was begun is undone.
	ReasonTakenBack

	// ReasonOutdatedNotReady: the outdated pod is not Ready; replacing it disturbs nobody (B3, B4).
	ReasonOutdatedNotReady
	// ReasonOutdatedFailed: the outdated pod has Failed. It goes without a back-off, because another revision follows it (M2).
	ReasonOutdatedFailed
	// ReasonOutdated: the outdated pod is replaced within the budget (B3, B4).
	ReasonOutdated
	// ReasonBegun: an update in place that an earlier plan began goes on, after its hook or grace period (I4, L3).
	ReasonBegun

	// ReasonNotReady: the node's new pod is not Ready yet.
	ReasonNotReady
	// ReasonMinReadySeconds: the node's new pod is Ready, but not for long enough to be available (B5).
	ReasonMinReadySeconds
	// ReasonTerminating: the node's pods are marked for deletion and not gone yet (M1).
	ReasonTerminating
	// ReasonRequested: an action on the node was requested and is not observed yet.
	ReasonRequested
	// ReasonBackoff: Failed pods of this node and revision were deleted a short time ago (M2).
	ReasonBackoff
	// ReasonBudget: the node could be updated, but the budget named by Decision.Limit is used up (B3, B4, B7).
	ReasonBudget
	// ReasonBurst: an action is due, but this plan has as many creates, deletes or updates in place as it may hold (M6).
	ReasonBurst
	// ReasonSlowStart: the pod is missing, but as many nodes are under way as slow start lets there be (B7).
	ReasonSlowStart
	// ReasonServing: the pod may not run here any more, but serves until there are enough others (M4).
	ReasonServing
	// ReasonHeld: the node is outdated, and the spec holds it; Decision.Limit says what (T2 to T5, I1).
	ReasonHeld
	// ReasonPartitionedScaling: the node is empty, and a first installation leaves the partition empty (T7).
	ReasonPartitionedScaling
	// ReasonRevisionUnreadable: the node is to have, or to get back, a revision that cannot be read (T1, T6).
	ReasonRevisionUnreadable
	// ReasonPreDelete: the pod leaves as soon as its preDelete hook lets it go (L2).
	ReasonPreDelete
	// ReasonPreNormal: the new pod waits for the handlers of its preNormal hook (L3).
	ReasonPreNormal
	// ReasonPutBack: the pod was updated in place, and waits for the handlers of its inPlaceUpdate hook to be back (L3).
	ReasonPutBack
	// ReasonUpdateHook: the pod is updated as soon as its inPlaceUpdate hook lets it go (L3).
	ReasonUpdateHook
	// ReasonPrepared: the pod is prepared for its update or deletion, and its hook does not hold it, but it is Ready, and the
	// budget has no room for it at this instant (B3). Decision.Limit names the budget.
	ReasonPrepared
	// ReasonGracePeriod: the pod was made unready, and is updated in place after the grace period (I4).
	ReasonGracePeriod
	// ReasonInPlaceUnreadable: the record of the pod's last in-place update cannot be read, so the pod is left alone (I4, I5).
	ReasonInPlaceUnreadable
	// ReasonUpdating: the pod's in-place update is not complete (I5).
	ReasonUpdating
	// ReasonFrozen: something would be created or deleted, but the set is frozen (T4).
	ReasonFrozen

	// ReasonVanished: the pod is bound to a node that does not exist. It is left to the pod garbage collector (M5).
	ReasonVanished
	// ReasonUnattributable: no node can be read off the pod, so it is left alone (P7).
	ReasonUnattributable

	// ReasonGated: the node could be updated, but a policy lets it not be begun now; Decision.Limit says which (M8, T8, F3).
	ReasonGated
	// ReasonDeparting: a pod would be created or deleted, but the node is on its way out of the cluster (M8).
	ReasonDeparting

	reasons // count
)

// String returns the name of the reason without its prefix, such as "Outdated"; "unknown" for a value that was never declared.
func (r Reason) String() string {
	return name(reasonNames[:], r)
}

var reasonNames = [reasons]string{
	ReasonNone:               "None",
	ReasonIneligible:         "Ineligible",
	ReasonKept:               "Kept",
	ReasonUpToDate:           "UpToDate",
	ReasonStable:             "Stable",
	ReasonCanaryLabel:        "CanaryLabel",
	ReasonSlowStart:          "SlowStart",
	ReasonMissing:            "Missing",
	ReasonBesideTerminating:  "BesideTerminating",
	ReasonLeaving:            "Leaving",
	ReasonFailed:             "Failed",
	ReasonSucceeded:          "Succeeded",
	ReasonSurplus:            "Surplus",
	ReasonSuperseded:         "Superseded",
	ReasonNotReadyBesideNew:  "NotReadyBesideNew",
	ReasonNodeGone:           "NodeGone",
	ReasonDuplicateRevision:  "DuplicateRevision",
	ReasonReleased:           "Released",
	ReasonNewPod:             "NewPod",
	ReasonBegun:              "Begun",
	ReasonInPlaceUnfinished:  "InPlaceUnfinished",
	ReasonTakenBack:          "TakenBack",
	ReasonOutdatedNotReady:   "OutdatedNotReady",
	ReasonOutdatedFailed:     "OutdatedFailed",
	ReasonOutdated:           "Outdated",
	ReasonNotReady:           "NotReady",
	ReasonMinReadySeconds:    "MinReadySeconds",
	ReasonTerminating:        "Terminating",
	ReasonRequested:          "Requested",
	ReasonBackoff:            "Backoff",
	ReasonBudget:             "Budget",
	ReasonBurst:              "Burst",
	ReasonServing:            "Serving",
	ReasonHeld:               "Held",
	ReasonPartitionedScaling: "PartitionedScaling",
	ReasonRevisionUnreadable: "RevisionUnreadable",
	ReasonPreDelete:          "PreDelete",
	ReasonPreNormal:          "PreNormal",
	ReasonPutBack:            "PutBack",
	ReasonUpdateHook:         "UpdateHook",
	ReasonPrepared:           "Prepared",
	ReasonGracePeriod:        "GracePeriod",
	ReasonInPlaceUnreadable:  "InPlaceUnreadable",
	ReasonUpdating:           "Updating",
	ReasonFrozen:             "Frozen",
	ReasonVanished:           "Vanished",
	ReasonUnattributable:     "Unattributable",
	ReasonGated:              "Gated",
	ReasonDeparting:          "Departing",
}
