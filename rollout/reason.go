package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
	// ReasonUnschedulableBesideReady: the scheduler finds no place for the new pod, and the outdated one is Ready there, which
	// may be why. Without maxSurge the new one goes, and comes back when the outdated one is updated (M3).
	ReasonUnschedulableBesideReady
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
	// ReasonBudget: the node could be updated, but the budget named by Decision.Limit is used up (B3, B4, B7, B10).
	ReasonBudget
	// ReasonBurst: an action is due, but this plan has as many creates, deletes or updates in place as it may hold (M6).
	ReasonBurst
	// ReasonSlowStart: the pod is missing, but as many nodes are under way as slow start lets there be (B7).
	ReasonSlowStart
	// ReasonServing: the pod may not run here any more, but serves until there are enough others (M4).
	ReasonServing
	// ReasonHeld: the node is outdated, and the spec holds it; Decision.Limit says what (T2 to T5, C6, C7, I1).
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
	// ReasonRepairFirst: the node could be updated, but this plan repairs others, and a plan of that controller does one or the
	// other. Only planners of package stock say it.
	ReasonRepairFirst
	// ReasonDeparting: a pod would be created or deleted, but the node is on its way out of the cluster (M8).
	ReasonDeparting

	reasons // count
)

// String returns the name of the reason without its prefix, such as "Outdated"; "unknown" for a value that was never declared.
func (r Reason) String() string {
	return name(reasonNames[:], r)
}

var reasonNames = [reasons]string{
	ReasonNone:                     "None",
	ReasonIneligible:               "Ineligible",
	ReasonKept:                     "Kept",
	ReasonUpToDate:                 "UpToDate",
	ReasonStable:                   "Stable",
	ReasonCanaryLabel:              "CanaryLabel",
	ReasonSlowStart:                "SlowStart",
	ReasonMissing:                  "Missing",
	ReasonBesideTerminating:        "BesideTerminating",
	ReasonLeaving:                  "Leaving",
	ReasonFailed:                   "Failed",
	ReasonSucceeded:                "Succeeded",
	ReasonSurplus:                  "Surplus",
	ReasonSuperseded:               "Superseded",
	ReasonNotReadyBesideNew:        "NotReadyBesideNew",
	ReasonUnschedulableBesideReady: "UnschedulableBesideReady",
	ReasonNodeGone:                 "NodeGone",
	ReasonDuplicateRevision:        "DuplicateRevision",
	ReasonReleased:                 "Released",
	ReasonNewPod:                   "NewPod",
	ReasonBegun:                    "Begun",
	ReasonInPlaceUnfinished:        "InPlaceUnfinished",
	ReasonTakenBack:                "TakenBack",
	ReasonOutdatedNotReady:         "OutdatedNotReady",
	ReasonOutdatedFailed:           "OutdatedFailed",
	ReasonOutdated:                 "Outdated",
	ReasonNotReady:                 "NotReady",
	ReasonMinReadySeconds:          "MinReadySeconds",
	ReasonTerminating:              "Terminating",
	ReasonRequested:                "Requested",
	ReasonBackoff:                  "Backoff",
	ReasonBudget:                   "Budget",
	ReasonBurst:                    "Burst",
	ReasonServing:                  "Serving",
	ReasonHeld:                     "Held",
	ReasonPartitionedScaling:       "PartitionedScaling",
	ReasonRevisionUnreadable:       "RevisionUnreadable",
	ReasonPreDelete:                "PreDelete",
	ReasonPreNormal:                "PreNormal",
	ReasonPutBack:                  "PutBack",
	ReasonUpdateHook:               "UpdateHook",
	ReasonPrepared:                 "Prepared",
	ReasonGracePeriod:              "GracePeriod",
	ReasonInPlaceUnreadable:        "InPlaceUnreadable",
	ReasonUpdating:                 "Updating",
	ReasonFrozen:                   "Frozen",
	ReasonVanished:                 "Vanished",
	ReasonUnattributable:           "Unattributable",
	ReasonGated:                    "Gated",
	ReasonRepairFirst:              "RepairFirst",
	ReasonDeparting:                "Departing",
}

// Limit names a bound that kept a plan from doing more for a node.
type Limit uint8

// The limits.
const (
	// LimitNone: no limit kept anything from being done.
	LimitNone Limit = iota
	// LimitMaxUnavailable: the nodes that count as unavailable use maxUnavailable up (B3).
	LimitMaxUnavailable
	// LimitMaxSurge: all places of maxSurge are taken, or under surge a prepared pod waits for the new one (B3, B4).
	LimitMaxSurge
	// LimitBurst: the plan has as many creates, deletes or new updates in place as it may hold (M6).
	LimitBurst
	// LimitBackoff: the back-off of failed pods lasts (M2).
	LimitBackoff
	// LimitMinReadySeconds: the new pod has not been Ready for long enough to be available (B5).
	LimitMinReadySeconds
	// LimitDesired: available pods must outnumber desired before this one may go (M4).
	LimitDesired
	// LimitPaused: the set is paused, so that no node is begun (T4).
	LimitPaused
	// LimitFrozen: the set is frozen, so that nothing is created or deleted (T4).
	LimitFrozen
	// LimitOnDelete: the strategy is OnDelete, which holds all nodes (T5).
	LimitOnDelete
	// LimitPartition: the partition holds the node, or in a first installation leaves it empty (T2, T7).
	LimitPartition
	// LimitNodeSelector: the strategy's nodeSelector does not match the node (T3).
	LimitNodeSelector
	// LimitUndeclared: the new pod needs a feature that its node does not declare, so that the scheduler would not bind it (T9).
	LimitUndeclared
	// LimitInPlaceOnly: the method is InPlaceOnly, and the pod cannot be updated in place (I1).
	LimitInPlaceOnly
	// LimitHook: a hook is waited for (L2, L3).
	LimitHook
	// LimitGracePeriod: the grace period between making a pod unready and updating it in place lasts (I4).
	LimitGracePeriod
	// LimitCanary: the canary is paused (C7), or has failed with nothing to go back to.
	LimitCanary
	// LimitSlowStart: as many nodes are under way as slow start allows now (B7).
	LimitSlowStart
	// LimitDeparting: the node is on its way out of the cluster, and is left alone (M8).
	LimitDeparting
	// LimitDraining: the node is being drained, or has been, and nothing is begun there by choice (M8).
	LimitDraining
	// LimitStage: a part of a stage that comes before the node's is not done (T8), or the stable revision that the node is to
	// get had not come to it in its stages when another was tried.
	LimitStage
	// LimitSoak: the part before the node's is done, and its time to soak is not over (T8).
	LimitSoak
	// LimitApproval: the node's part of a stage needs an approval (T8).
	LimitApproval
	// LimitFailures: the update revision has failed on too many nodes, and no further node is begun (F3).
	LimitFailures
	// LimitDomain: as many nodes of a domain, or in as many places, are disturbed as may be; Decision.Domain says of which (B10).
	LimitDomain

	limits // count
)

// String returns the limit as the spec calls it; "unknown" for a value that was never declared.
func (l Limit) String() string {
	if int(l) < len(limitRows) && limitRows[l].name != "" {
		return limitRows[l].name
	}
	return "unknown"
}

// limitRow is what is said of a limit.
type limitRow struct {
	// name is what the spec calls it.
	name string
	// node is what it means for one node that it holds or keeps waiting, where the same is said in every plan; nodes is what it
	// means for several. Where one is empty, the other does for both, or the text has figures of the plan.
	node, nodes string
}

// ofNode and ofNodes return the texts of a limit. A limit without any reads "code" and its number.
func (l Limit) ofNode() string {
	return l.text(func(row limitRow) string { return cmp.Or(row.node, row.nodes) })
}
func (l Limit) ofNodes() string {
	return l.text(func(row limitRow) string { return cmp.Or(row.nodes, row.node) })
}

func (l Limit) text(of func(limitRow) string) string {
	if int(l) < len(limitRows) {
		if text := of(limitRows[l]); text != "" {
			return text
		}
	}
	return fmt.Sprintf("code %d", l)
}

var limitRows = [limits]limitRow{
	LimitNone:            {name: "none"},
	LimitMaxUnavailable:  {name: "maxUnavailable"},
	LimitMaxSurge:        {name: "maxSurge"},
	LimitBurst:           {name: "burst"},
	LimitBackoff:         {name: "backoff", nodes: "failed pods were deleted there a short time ago"},
	LimitMinReadySeconds: {name: "minReadySeconds", nodes: "new pods have not been ready for minReadySeconds"},
	LimitDesired:         {name: "desired", nodes: "pods there serve until available pods outnumber desired"},
	LimitPaused:          {name: "paused", node: "the rollout is paused"},
	LimitFrozen:          {name: "frozen", node: "the set is frozen", nodes: "repair is due, but the set is frozen"},
	LimitOnDelete:        {name: "onDelete", node: "the strategy is OnDelete: a pod is replaced when somebody deletes it"},
	LimitPartition:       {name: "partition", nodes: "a first installation leaves the partition empty"},
	LimitNodeSelector:    {name: "nodeSelector"},
	LimitUndeclared:      {name: "declaredFeatures", node: "the new pod needs a feature that the node does not declare"},
	LimitInPlaceOnly:     {name: "inPlaceOnly", node: "the method is InPlaceOnly"},
	LimitHook:            {name: "hook", nodes: "a hook is waited for"},
	LimitGracePeriod: {
		name:  "gracePeriodSeconds",
		nodes: "pods were made unready, and are updated in place after the grace period",
	},
	LimitCanary:    {name: "canary", node: "the canary is paused, and replaces nothing"},
	LimitSlowStart: {name: "slowStart"},
	LimitDeparting: {
		name:  "departing",
		node:  "the node is leaving the cluster or under maintenance: nothing is begun there until that ends",
		nodes: "nodes that are leaving the cluster or under maintenance are left alone until that ends",
	},
	LimitDraining: {
		name:  "draining",
		node:  "the node is being drained, or has been: no update is begun there until that ends",
		nodes: "no update is begun on nodes that are being drained, or have been, until that ends",
	},
	LimitStage: {
		name:  "stage",
		nodes: "the stable revision had not come to them in its stages when the update revision was tried",
	},
	LimitSoak:     {name: "soak"},
	LimitApproval: {name: "approval"},
	LimitFailures: {name: "failures"},
	LimitDomain:   {name: "domain"},
}

// The enumerations have a text form, their String, so that a plan encoded as JSON has words and not numbers. The numbers may
// change between versions, the words do not.

// MarshalText is String, but fails for a value that was never declared.
func (s NodeState) MarshalText() ([]byte, error) { return marshal(states, s) }

// MarshalText is String, but fails for a value that was never declared.
func (t Target) MarshalText() ([]byte, error) { return marshal(targets, t) }

// MarshalText is String, but fails for a value that was never declared.
func (v Verb) MarshalText() ([]byte, error) { return marshal(verbs, v) }

// MarshalText is String, but fails for a value that was never declared.
func (e Exemption) MarshalText() ([]byte, error) { return marshal(exemptions, e) }

// MarshalText is String, but fails for a value that was never declared.
func (l Limit) MarshalText() ([]byte, error) { return marshal(limits, l) }

// MarshalText is String, but fails for a value that was never declared.
func (r Reason) MarshalText() ([]byte, error) { return marshal(reasons, r) }

// UnmarshalText reads what MarshalText wrote, for snapshots that were stored. Any other text is an error, and gives ReasonNone.
func (r *Reason) UnmarshalText(text []byte) error {
	*r = Reason(max(slices.Index(reasonNames[:], string(text)), 0))
	if r.String() != string(text) {
		return fmt.Errorf("%q is no reason", text)
	}
	return nil
}

// MarshalText is String, but fails for a value that was never declared.
func (v RevisionVerb) MarshalText() ([]byte, error) { return marshal(revisionVerbs, v) }

// marshal returns the text of a value. There are so many as count says.
func marshal[T interface {
	~uint8
	fmt.Stringer
}](count, v T) ([]byte, error) {
	if v >= count {
		return nil, fmt.Errorf("%T: %d was never declared", v, uint8(v))
	}
	return []byte(v.String()), nil
}

// name looks an enumeration value up in its table. A value that was never declared reads "unknown".
func name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}

// counted returns a number with its noun.
func counted(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list joins the first names, at most usersShown, and says how many more of all there are.
func list(names []string, all int) string {
	shown := names[:min(len(names), usersShown)]
	if rest := all - len(shown); rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), rest)
	}
	return strings.Join(shown, ", ")
}

// usersShown is how many of the nodes that use a budget up are named.
const usersShown = 5

func appendUser(users []string, node string) []string {
	if len(users) == usersShown {
		return users
	}
	return append(users, node)
}
