package simulate

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

// Report sums up a run. All durations are virtual and counted from the beginning. It counts the cluster as it is, not as
// the controller sees it.
type Report struct {
	// Seed is that of the scenario, Name that of the set.
	Seed uint64 `json:"seed"`
	Name string `json:"name"`
	// End says why the run ended, and Elapsed when. Finished is when the state of a node changed for the last time; nodes that
	// joined or left in state New or Outside do not count. It is less than Elapsed if something else went on, and 0 unless End
	// is EndDone.
	End      End           `json:"end"`
	Elapsed  time.Duration `json:"elapsed"`
	Finished time.Duration `json:"finished"`
	// Nodes is the number of nodes in the end. Desired of them are to run the pod, nodes that are lost included; a status
	// leaves those out, because their taints keep new pods away (P3). Updated of them have an available pod of the update
	// revision.
	Nodes   int `json:"nodes"`
	Desired int `json:"desired"`
	Updated int `json:"updated"`
	// Plans is the number of plans made.
	Plans int `json:"plans"`
	// Reached says when 50, 90, 99 and 100 % of the nodes that are to run the pod were updated. A node counts from the last time
	// at which it came to have an available pod of the update revision. Shares that were not reached are left out.
	Reached []Reached `json:"reached"`
	// Waves is the length of the longest chain of nodes of which each began only when the one before was done. If all nodes
	// take the same time, it is the number of waves.
	Waves int `json:"waves"`
	// Unavailable measures the nodes that are to run the pod and have none that serves (B2).
	Unavailable Unavailable `json:"unavailable"`
	// Taken measures them without the nodes that were so when the run began, as long as they have not served since: what the
	// rollout, and what happened meanwhile, took down.
	Taken Unavailable `json:"taken"`
	// Zones has the same measure for each zone, sorted by name. Nodes without the zone label are in zone "".
	Zones []ZoneReport `json:"zones"`
	// Budget says how much of maxUnavailable, or with surge of maxSurge, was used.
	Budget BudgetReport `json:"budget"`
	// Created, Deleted and Patched count the actions on pods that took effect, and Pulls the pulls of images before a pod needs
	// them (pre-download).
	Created int `json:"created"`
	Deleted int `json:"deleted"`
	Patched int `json:"patched"`
	Pulls   int `json:"pulls"`
	// Calls is the number of API calls, failed ones included. FailedCalls is the number of those that failed, or whose answer
	// was lost.
	Calls       int `json:"calls"`
	FailedCalls int `json:"failedCalls"`
	// RateLimited is for how long actions of a plan waited for the controller's rate of calls (Controller.CallsPerSecond and
	// CallBurst). Where that is most of the time, the rate sets the pace of the rollout.
	RateLimited time.Duration `json:"rateLimited"`
	// PulledBytes is the number of bytes that came from the registry, PeerBytes of those that came from peers.
	PulledBytes int64 `json:"pulledBytes"`
	PeerBytes   int64 `json:"peerBytes"`
	// Restarts is how often containers were started again, Crashes of these times after a crash. ControllerCrashes is how often
	// the controller crashed.
	Restarts          int `json:"restarts"`
	Crashes           int `json:"crashes"`
	ControllerCrashes int `json:"controllerCrashes"`
	// Canary says how the trial of the last revision ended, or how far it has come.
	Canary CanaryReport `json:"canary"`
	// Stages says how each part of the stages of the last revision went, in the order in which they are opened (T8). Nil: no part
	// was judged.
	Stages []StageReport `json:"stages,omitempty"`
	// Failures says on how many nodes a revision failed, and whether it was given up (F1 to F4). Nil: none failed on any node,
	// or the policy does not watch failures.
	Failures *FailureReport `json:"failures,omitempty"`
	// Waits says what nodes waited for, by the reason and limit of their decisions, and for how long; the longest comes first.
	Waits []WaitReport `json:"waits"`
	// State is that of the set in the last plan's status, and Reason the reason for it.
	State  status.SetState        `json:"state"`
	Reason status.ConditionReason `json:"reason"`
	// Unused has the field paths of the parts of the scenario that had no effect: rules that were about no pod, and events that
	// happened to no node.
	Unused []string `json:"unused,omitempty"`
	// Violations are the broken invariants that ended the run; nil: none.
	Violations []verify.Violation `json:"violations,omitempty"`
}

// Succeeded reports whether the rollout came to its end: every node is where it is to end, and neither the canary nor failures
// gave the last revision up, which would leave all nodes where they were.
func (r *Report) Succeeded() bool {
	return r.End == EndDone && r.State != status.CanaryFailed && r.State != status.RolledBack
}

// End says why a run ended.
type End uint8

const (
	// EndDone: every node is where it is to end, and nothing is under way.
	EndDone End = iota + 1
	// EndStuck: nothing will happen any more, and some node is not where it is to end.
	EndStuck
	// EndLimit: the virtual time of Scenario.Limit was over.
	EndLimit
	// EndCondition: the condition given to [Simulation.Run] held, or the run ended with an error that is no violation.
	EndCondition
	// EndViolation: a plan broke an invariant.
	EndViolation
	ends
)

// Reached says when a share of the nodes was updated.
type Reached struct {
	Percent int           `json:"percent"`
	After   time.Duration `json:"after"`
}

// Unavailable measures nodes without a serving pod.
type Unavailable struct {
	// Peak is the greatest number at one time, PeakAt when it was reached first. A number that comes and goes within one
	// instant does not count.
	Peak   int           `json:"peak"`
	PeakAt time.Duration `json:"peakAt"`
	// NodeTime is the time for which nodes were unavailable, summed over nodes. It is at most 292 years, the longest Duration.
	NodeTime time.Duration `json:"nodeTime"`
	// AtEnd is how many nodes are unavailable at the end, so that NodeTime is the least that it may come to.
	AtEnd int `json:"atEnd"`
}

// ZoneReport measures the nodes of one zone: how many there are in the end, and how many were unavailable.
type ZoneReport struct {
	Zone        string      `json:"zone"`
	Nodes       int         `json:"nodes"`
	Unavailable Unavailable `json:"unavailable"`
}

// BudgetReport says how much of the budget was used.
type BudgetReport struct {
	// Limit is the budget of the last plan, in nodes. Surge reports whether it is maxSurge, not maxUnavailable.
	Limit int  `json:"limit"`
	Surge bool `json:"surge"`
	// PeakLimit is the limit that was in force at the peak. The peak is above it if nodes became unavailable that no plan
	// chose. Plans then choose no more.
	PeakLimit int `json:"peakLimit"`
	// Peak is the most nodes that any plan counted against the limit, Mean the mean number over the time until the run
	// finished.
	Peak int     `json:"peak"`
	Mean float64 `json:"mean"`
}

// CanaryReport says how a canary ended, or how far it has come. Plans without a canary, and a rollback to a stable revision,
// leave the report on the last canary as it was.
type CanaryReport struct {
	// Phase is the last one that the canary was in. It is Idle if the revision was promoted, or if there was no canary; Reason
	// tells the two apart.
	Phase canary.Phase `json:"phase"`
	// Reason is the reason for the phase.
	Reason canary.PhaseReason `json:"reason"`
	// Nodes is the greatest number of nodes that ran the revision before it was promoted or failed, as the plans saw them.
	Nodes int `json:"nodes"`
	// Promoted and Failed are when the revision was promoted or failed, from the beginning of the run; 0: never.
	Promoted time.Duration `json:"promoted"`
	Failed   time.Duration `json:"failed"`
}

// WaitReport says how long nodes waited for one thing.
type WaitReport struct {
	Reason rollout.Reason `json:"reason"`
	Limit  rollout.Limit  `json:"limit"`
	// NodeTime is the time, summed over nodes.
	NodeTime time.Duration `json:"nodeTime"`
}
