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
	// Seed and Name of the set.
	Seed uint64 `json:"seed"`
	Name string `json:"name"`
	// End says why the run ended, Elapsed when. Finished is when the state of a node changed last, but for nodes that
	// joined or left New or Outside: less than Elapsed if something else went on. It is 0 unless End is EndDone.
	End      End           `json:"end"`
	Elapsed  time.Duration `json:"elapsed"`
	Finished time.Duration `json:"finished"`
	// Nodes in the end; Desired of them are to run the pod, those included that do not because they are lost (which a status
	// leaves out, P3); Updated have an available pod of the update revision.
	Nodes   int `json:"nodes"`
	Desired int `json:"desired"`
	Updated int `json:"updated"`
	// Plans made.
	Plans int `json:"plans"`
	// Reached says when 50, 90, 99 and 100 % of the nodes that are to run the pod had an available pod of the update revision
	// for the last time that they came to have it. What was not reached is left out.
	Reached []Reached `json:"reached"`
	// Waves is the length of the longest chain of nodes of which each began only when the one before was done: with fixed
	// times the number of waves.
	Waves int `json:"waves"`
	// Unavailable nodes: to run the pod, and without one that serves (B2).
	Unavailable Unavailable `json:"unavailable"`
	// Zones is the same for each zone, by name. Nodes without the zone label are in zone "".
	Zones []ZoneReport `json:"zones"`
	// Budget says how much of maxUnavailable (with surge of maxSurge) was used.
	Budget BudgetReport `json:"budget"`
	// Created, Deleted and Patched count actions on pods that took effect, Pulls those of images ahead.
	Created int `json:"created"`
	Deleted int `json:"deleted"`
	Patched int `json:"patched"`
	Pulls   int `json:"pulls"`
	// Calls is the number of API calls, failed ones too; FailedCalls those.
	Calls       int `json:"calls"`
	FailedCalls int `json:"failedCalls"`
	// PulledBytes came from the registry, PeerBytes from peers.
	PulledBytes int64 `json:"pulledBytes"`
	PeerBytes   int64 `json:"peerBytes"`
	// Restarts of containers, Crashes of them after a crash. ControllerCrashes of the controller.
	Restarts          int `json:"restarts"`
	Crashes           int `json:"crashes"`
	ControllerCrashes int `json:"controllerCrashes"`
	// Canary is how the trial of the last revision came out.
	Canary CanaryReport `json:"canary"`
	// Waits are what nodes waited for, by the reason and limit of their decisions, the longest first.
	Waits []WaitReport `json:"waits"`
	// State of the set in the last plan's status, and the reason for it.
	State  status.SetState        `json:"state"`
	Reason status.ConditionReason `json:"reason"`
	// Unused are the field paths of what the scenario has for nothing: rules that were about no pod, events that happened to
	// no node.
	Unused []string `json:"unused,omitempty"`
	// Violations of the invariants that stopped the run; nil: none.
	Violations []verify.Violation `json:"violations,omitempty"`
}

// Succeeded reports whether the rollout came to its end: every node is where it is to end, and the last revision was not given up
// by its canary, which leaves all nodes where they were.
func (r *Report) Succeeded() bool {
	return r.End == EndDone && r.State != status.CanaryFailed
}

// End says why a run ended.
type End uint8

const (
	// EndDone: every node is where it is to end, and nothing is under way.
	EndDone End = iota + 1
	// EndStuck: nothing will happen any more, and not every node is there.
	EndStuck
	// EndLimit: the time was up.
	EndLimit
	// EndCondition: the caller's condition held.
	EndCondition
	// EndViolation: a plan broke an invariant.
	EndViolation
	ends
)

// Reached is when a share of the nodes was updated.
type Reached struct {
	Percent int           `json:"percent"`
	After   time.Duration `json:"after"`
}

// Unavailable measures nodes without a serving pod.
type Unavailable struct {
	// Peak is the most at one time, PeakAt when that was first. What comes and goes within one instant is no time.
	Peak   int           `json:"peak"`
	PeakAt time.Duration `json:"peakAt"`
	// NodeTime is the time that nodes were unavailable, summed over nodes: at most 292 years, the longest Duration.
	NodeTime time.Duration `json:"nodeTime"`
}

// ZoneReport is about the nodes of one zone.
type ZoneReport struct {
	Zone        string      `json:"zone"`
	Nodes       int         `json:"nodes"`
	Unavailable Unavailable `json:"unavailable"`
}

// BudgetReport says how much of the budget was used.
type BudgetReport struct {
	// Limit is the number of nodes in the last plan; Surge: it is that of maxSurge.
	Limit int  `json:"limit"`
	Surge bool `json:"surge"`
	// PeakLimit is the limit that was in force at the peak. The peak is above it where nodes became unavailable that nobody
	// chose: a plan then takes no more.
	PeakLimit int `json:"peakLimit"`
	// Peak is the most that any plan used, Mean the mean over the time until the run finished, in nodes.
	Peak int     `json:"peak"`
	Mean float64 `json:"mean"`
}

// CanaryReport is how a canary came out. Plans without a canary, and a rollback to a stable revision, leave the report of
// the last one as it was.
type CanaryReport struct {
	// Phase that it was in at last. Idle: there was none.
	Phase canary.Phase `json:"phase"`
	// Reason of it.
	Reason canary.PhaseReason `json:"reason"`
	// Nodes that ran the revision before it was promoted or failed, at most, as the plans saw them.
	Nodes int `json:"nodes"`
	// Promoted and Failed are when; 0: never.
	Promoted time.Duration `json:"promoted"`
	Failed   time.Duration `json:"failed"`
}

// WaitReport is how long nodes waited for one thing.
type WaitReport struct {
	Reason rollout.Reason `json:"reason"`
	Limit  rollout.Limit  `json:"limit"`
	// NodeTime is summed over nodes.
	NodeTime time.Duration `json:"nodeTime"`
}
