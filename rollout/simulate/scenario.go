package simulate

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// Scenario is everything a run depends on: two runs of equal scenarios are equal to the byte.
type Scenario struct {
	// Seed of all that is drawn. What is drawn for one pod or node depends on nothing that happens to others, so that two
	// specs on one fleet with one seed meet the same kubelets.
	Seed uint64 `json:"seed,omitempty"`
	// Spec to roll out.
	Spec rollout.Spec `json:"spec,omitzero"`
	// Fleet at the beginning.
	Fleet Fleet `json:"fleet,omitzero"`
	// Model says how long things take in the cluster, and what goes wrong by itself.
	Model Model `json:"model,omitzero"`
	// Controller that plans and executes.
	Controller Controller `json:"controller,omitzero"`
	// Events are what the world and its users do, in any order.
	Events []Event `json:"events,omitempty"`
	// Limit ends a run that does not end by itself. Default 7 days of virtual time.
	Limit time.Duration `json:"limit,omitempty"`
	// Planner makes the plans. Nil: [rollout.New]; another one for tests that plant a bug. The plans are verified against
	// the spec all the same.
	Planner func(rollout.Spec) (PlanFunc, error) `json:"-"`
	// History receives a record of every change of a node and every action, in order, while the run goes on. Nil: nobody
	// does, and nothing is kept.
	History func(Record) `json:"-"`
}

// PlanFunc plans as [rollout.Planner.Plan] does.
type PlanFunc func(rollout.Snapshot) (rollout.Plan, error)

// Controller models the program around the planner: a loop that plans when something has changed or the plan said so,
// and carries the plan out call by call. The zero value is an ideal one.
type Controller struct {
	// Interval is the least time between two plans. Default: none; a plan is made at each instant at which something
	// changed.
	Interval time.Duration `json:"interval,omitempty"`
	// CallsPerSecond is how many API calls it sends, one after the other. Default: no limit, all at one instant.
	CallsPerSecond float64 `json:"callsPerSecond,omitempty"`
	// Lag of its watches: how long after a change it sees it. What was asked for and is not seen is in flight. Default:
	// none. For one object changes are seen in order.
	Lag Distribution `json:"lag,omitzero"`
	// FailedCalls is the share of API calls that are refused, LostAnswers that of calls that take effect although the
	// controller is told that they failed; it takes them for done until its watch shows all that has happened by then.
	// Between 0 and 1, together too.
	FailedCalls float64 `json:"failedCalls,omitempty"`
	LostAnswers float64 `json:"lostAnswers,omitempty"`
	// Crash is the time from a start of the controller to its next crash, which may hit it between any two calls. Unset:
	// it never crashes by itself.
	Crash Distribution `json:"crash,omitzero"`
	// Restart is how long it is away then. It lists all objects anew, so it comes back without lag and with nothing in
	// flight. Default: none.
	Restart Distribution `json:"restart,omitzero"`
	// LosesMemory: it keeps the memory of the last plan in its process only, so that a crash loses it. Otherwise it is
	// written with the status, in the last call of each plan.
	LosesMemory bool `json:"losesMemory,omitempty"`
}
