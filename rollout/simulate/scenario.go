package simulate

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// Scenario is everything that a run depends on: two runs of equal scenarios are equal to the byte.
type Scenario struct {
	// Seed determines everything that is drawn. What is drawn for one pod or node depends on nothing that happens to others,
	// so that two specs on one fleet with one seed meet the same kubelets.
	Seed uint64 `json:"seed,omitempty"`
	// Spec is what is rolled out.
	Spec rollout.Spec `json:"spec,omitzero"`
	// Fleet is the cluster at the beginning.
	Fleet Fleet `json:"fleet,omitzero"`
	// Model says how long things take in the cluster, and what goes wrong by itself.
	Model Model `json:"model,omitzero"`
	// Controller is the program that plans and executes.
	Controller Controller `json:"controller,omitzero"`
	// Events are what the world and its users do, in any order.
	Events []Event `json:"events,omitempty"`
	// Limit is the virtual time after which a run ends that has not ended by itself. Default (0): 7 days.
	Limit time.Duration `json:"limit,omitempty"`
	// Planner returns the function that makes the plans for a spec. Nil: the planner of [rollout.New]. Tests set another one to
	// plant a bug, and package rollout/stock has those of other controllers.
	Planner func(rollout.Spec) (PlanFunc, error) `json:"-"`
	// Unverified makes a run go on whatever its plans break: other controllers keep other promises. Default: plans are verified
	// against the spec, whoever makes them.
	Unverified bool `json:"-"`
	// History is called with a record of every change of a node and every action, in order, while the run goes on. Nil: no
	// records are made.
	History func(Record) `json:"-"`
}

// PlanFunc plans as [rollout.Planner.Plan] does.
type PlanFunc func(rollout.Snapshot) (rollout.Plan, error)

// Controller models the program around the planner: a loop that plans when something has changed or the last plan asked for
// it, and carries the plan out call by call. The zero value is an ideal controller: no delays, no failures.
type Controller struct {
	// Interval is the least time between two plans. Default: none; a plan is made at each instant at which something
	// changed.
	Interval time.Duration `json:"interval,omitempty"`
	// CallsPerSecond is how many API calls it sends per second, one after the other. Default (0): no limit; all are sent at one
	// instant.
	CallsPerSecond float64 `json:"callsPerSecond,omitempty"`
	// CallBurst is how many calls it may send at one instant after it has sent none for a while; in the long run CallsPerSecond
	// holds. Clients of Kubernetes have both limits. Not used without CallsPerSecond. Default (0): 1.
	CallBurst int `json:"callBurst,omitempty"`
	// Lag is the delay of its watches: how long after a change the controller sees the change. What it asked for and does not
	// see yet is in flight. The changes of one object are seen in order. Default (unset): none.
	Lag Distribution `json:"lag,omitzero"`
	// FailedCalls is the share of API calls that are refused. LostAnswers is the share of calls that take effect although the
	// controller is told that they failed; it counts them as done until its watch shows all that has happened by then. Each
	// is between 0 and 1, and so is their sum.
	FailedCalls float64 `json:"failedCalls,omitempty"`
	LostAnswers float64 `json:"lostAnswers,omitempty"`
	// Crash is the time from a start of the controller to its next crash, which may hit it between any two calls. Unset:
	// it never crashes by itself.
	Crash Distribution `json:"crash,omitzero"`
	// Restart is the time from a crash to the next start. The controller then lists all objects anew, so it comes back without
	// lag and with nothing in flight. Default (unset): none.
	Restart Distribution `json:"restart,omitzero"`
	// LosesMemory makes the controller keep the memory of the last plan in its process only, so that a crash loses it.
	// Default (false): the memory is written with the status, in the last call of each plan.
	LosesMemory bool `json:"losesMemory,omitempty"`
}
