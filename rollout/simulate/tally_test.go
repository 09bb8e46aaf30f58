package simulate

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// tallyOp is one operation on a tally.
type tallyOp struct {
	at     time.Duration
	kind   tallyOpKind
	node   string
	zone   string
	from   NodeState
	to     NodeState
	plan   *rollout.Plan
	action RecordKind
	failed bool // the call failed, or the restart was after a crash, or the bytes came from a peer
	bytes  int64
}

type tallyOpKind uint8

const (
	tallyNode tallyOpKind = iota
	tallyBegun
	tallyPlan
	tallyAction
	tallyCall
	tallyRestart
	tallyCrash
	tallyPulled
	tallyOpKinds
)

func (op tallyOp) tell(t *tally) {
	switch op.kind {
	case tallyNode:
		t.node(op.at, op.node, op.zone, op.from, op.to)
	case tallyBegun:
		t.begun(op.at, op.node)
	case tallyPlan:
		t.plan(op.at, op.plan)
	case tallyAction:
		t.action(op.action)
	case tallyCall:
		t.call(op.failed)
	case tallyRestart:
		t.restarted(op.failed)
	case tallyCrash:
		t.controllerCrashed()
	case tallyPulled:
		t.pulled(op.bytes, op.failed)
	}
}

func tallyPlanOf(at time.Duration, p rollout.Plan) tallyOp {
	return tallyOp{at: at, kind: tallyPlan, plan: &p}
}

func TestTally(t *testing.T) {
	const s = time.Second
	base := Report{
		Name: "agent", Seed: 7, End: EndDone, Elapsed: 20 * s,
		Reached: []Reached{}, Zones: []ZoneReport{}, Waits: []WaitReport{},
	}
	change := func(at time.Duration, node string, from, to NodeState) tallyOp {
		return tallyOp{at: at, node: node, zone: "a", from: from, to: to}
	}
	begun := func(at time.Duration, node string) tallyOp { return tallyOp{at: at, kind: tallyBegun, node: node} }
	tests := []struct {
		name, why string
		end       End
		ops       []tallyOp
		want      func(*Report)
		before    bool // what is down was so before: Taken is not Unavailable
	}{
		{
			name: "nothing", why: "a run in which nothing happens adds up to nothing, in lists that are empty and not null",
			want: func(*Report) {},
		},
		{
			name: "gone before it came", why: "a node that nobody has heard of is no node of its zone",
			ops:  []tallyOp{change(0, "x", 0, 0)},
			want: func(*Report) {},
		},
		{
			name: "a surge of one", why: "one is a surge",
			ops:  []tallyOp{tallyPlanOf(0, rollout.Plan{Budget: rollout.Budget{MaxSurge: 1, Surging: 1}})},
			want: func(r *Report) { r.Plans, r.Budget = 1, BudgetReport{Limit: 1, Surge: true, PeakLimit: 1, Peak: 1} },
		},
		{
			name: "recreate one", why: "old until 2, down until 6, new from there; only that is unavailable",
			ops: []tallyOp{
				change(0, "x", 0, NodeOld), begun(2*s, "x"), change(2*s, "x", NodeOld, NodeTerminating),
				change(3*s, "x", NodeTerminating, NodeEmpty), change(4*s, "x", NodeEmpty, NodeStarting),
				change(6*s, "x", NodeStarting, NodeNew),
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Waves, r.Finished = 1, 1, 1, 1, 6*s
				r.Reached = []Reached{{50, 6 * s}, {90, 6 * s}, {99, 6 * s}, {100, 6 * s}}
				r.Unavailable = Unavailable{Peak: 1, PeakAt: 2 * s, NodeTime: 4 * s}
				r.Zones = []ZoneReport{{"a", 1, r.Unavailable}}
			},
		},
		{
			name: "still down at the end", why: "what is unavailable when the report is made counts until then; it is not done",
			end: EndLimit,
			ops: []tallyOp{change(0, "x", 0, NodeOld), change(5*s, "x", NodeOld, NodeLost)},
			want: func(r *Report) {
				r.End, r.Nodes, r.Desired = EndLimit, 1, 1
				r.Unavailable = Unavailable{Peak: 1, PeakAt: 5 * s, NodeTime: 15 * s, AtEnd: 1}
				r.Zones = []ZoneReport{{"a", 1, r.Unavailable}}
			},
		},
		{
			name: "shares of three", why: "half of three is two, 90 % are all; arrivals are sorted, and the last one counts",
			ops: []tallyOp{
				change(0, "x", 0, NodeNew), change(0, "y", 0, NodeOld), change(0, "z", 0, NodeOld),
				change(3*s, "y", NodeOld, NodeNew), change(5*s, "z", NodeOld, NodeNew),
				change(7*s, "x", NodeNew, NodeLost), change(9*s, "x", NodeLost, NodeNew),
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Finished = 3, 3, 3, 9*s
				r.Reached = []Reached{{50, 5 * s}, {90, 9 * s}, {99, 9 * s}, {100, 9 * s}}
				r.Unavailable = Unavailable{Peak: 1, PeakAt: 7 * s, NodeTime: 2 * s}
				r.Zones = []ZoneReport{{"a", 3, r.Unavailable}}
			},
		},
		{
			name: "held nodes", why: "half of the nodes are reached, more are not, and left out",
			ops: []tallyOp{
				change(0, "x", 0, NodeOld), change(0, "y", 0, NodeOld), change(4*s, "x", NodeOld, NodeNew),
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Finished = 2, 2, 1, 4*s
				r.Reached = []Reached{{50, 4 * s}}
				r.Zones = []ZoneReport{{Zone: "a", Nodes: 2}}
			},
		},
		{
			name: "outside", why: "a node that is not to run the pod is not unavailable, nor desired, nor waited for",
			ops: []tallyOp{change(0, "x", 0, NodeOutside), change(0, "y", 0, NodeNew)},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated = 2, 1, 1
				r.Reached = []Reached{{50, 0}, {90, 0}, {99, 0}, {100, 0}}
				r.Zones = []ZoneReport{{Zone: "a", Nodes: 2}}
			},
		},
		{
			name: "zones", why: "each has its own peak, at its own time; the fleet's is that of both at once; sorted by name",
			ops: []tallyOp{
				{at: 0, node: "x", zone: "b", to: NodeOld}, {at: 0, node: "y", zone: "a", to: NodeOld}, {at: 0, node: "z", to: NodeOld},
				{at: 1 * s, node: "x", zone: "b", from: NodeOld, to: NodeEmpty},
				{at: 2 * s, node: "y", zone: "a", from: NodeOld, to: NodeEmpty},
				{at: 3 * s, node: "x", zone: "b", from: NodeEmpty, to: NodeNew},
				{at: 3 * s, node: "y", zone: "a", from: NodeEmpty, to: NodeNew},
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Finished = 3, 3, 2, 3*s
				r.Reached = []Reached{{50, 3 * s}}
				r.Unavailable = Unavailable{Peak: 2, PeakAt: 2 * s, NodeTime: 3 * s}
				r.Zones = []ZoneReport{
					{Zone: "", Nodes: 1}, {"a", 1, Unavailable{1, 2 * s, 1 * s, 0}}, {"b", 1, Unavailable{1, 1 * s, 2 * s, 0}},
				}
			},
		},
		{
			name: "moves to another zone", why: "what it is counts in the new zone from then on, and no peak comes of the move",
			before: true,
			ops: []tallyOp{
				{at: 0, node: "x", zone: "a", to: NodeEmpty},
				{at: 4 * s, node: "x", zone: "b", from: NodeEmpty, to: NodeEmpty},
				{at: 5 * s, node: "x", zone: "b", from: NodeEmpty, to: NodeNew},
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Finished = 1, 1, 1, 5*s
				r.Reached = []Reached{{50, 5 * s}, {90, 5 * s}, {99, 5 * s}, {100, 5 * s}}
				r.Unavailable = Unavailable{1, 0, 5 * s, 0}
				r.Zones = []ZoneReport{{"a", 0, Unavailable{1, 0, 4 * s, 0}}, {"b", 1, Unavailable{1, 4 * s, 1 * s, 0}}}
			},
		},
		{
			name: "leaves when done", why: "a node that is gone is neither desired nor updated, and the run was finished before",
			ops: []tallyOp{
				change(0, "x", 0, NodeOld), change(0, "y", 0, NodeNew), change(3*s, "x", NodeOld, NodeNew),
				change(9*s, "y", NodeNew, 0), change(9*s, "nobody", 0, 0),
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Finished = 1, 1, 1, 3*s
				r.Reached = []Reached{{50, 3 * s}, {90, 3 * s}, {99, 3 * s}, {100, 3 * s}}
				r.Zones = []ZoneReport{{Zone: "a", Nodes: 1}}
			},
		},
		{
			name: "leaves when not done", why: "until it left it was waited for",
			ops: []tallyOp{
				change(0, "x", 0, NodeOld), change(0, "y", 0, NodeOld), change(3*s, "x", NodeOld, NodeNew),
				change(9*s, "y", NodeOld, 0), change(10*s, "z", 0, NodeOutside),
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Finished = 2, 1, 1, 9*s
				r.Reached = []Reached{{50, 3 * s}, {90, 3 * s}, {99, 3 * s}, {100, 3 * s}}
				r.Zones = []ZoneReport{{Zone: "a", Nodes: 2}}
			},
		},
		{
			name: "budget", why: "2 of 3 for 4 s, 1 for 4 s, 0 for 2 s until it is finished at 10; what is used later counts for nothing",
			ops: []tallyOp{
				change(0, "x", 0, NodeOld),
				tallyPlanOf(0, rollout.Plan{Budget: rollout.Budget{MaxUnavailable: 3, Unavailable: 2, Surging: 9}}),
				tallyPlanOf(4*s, rollout.Plan{Budget: rollout.Budget{MaxUnavailable: 3, Unavailable: 1}}),
				tallyPlanOf(8*s, rollout.Plan{Budget: rollout.Budget{MaxUnavailable: 3}}),
				change(10*s, "x", NodeOld, NodeNew),
				tallyPlanOf(10*s, rollout.Plan{Budget: rollout.Budget{MaxUnavailable: 4, Unavailable: 1}}),
			},
			want: func(r *Report) {
				r.Nodes, r.Desired, r.Updated, r.Finished, r.Plans = 1, 1, 1, 10*s, 4
				r.Reached = []Reached{{50, 10 * s}, {90, 10 * s}, {99, 10 * s}, {100, 10 * s}}
				r.Zones = []ZoneReport{{Zone: "a", Nodes: 1}}
				r.Budget = BudgetReport{Limit: 4, Peak: 2, PeakLimit: 3, Mean: 1.2}
			},
		},
		{
			name: "surge", why: "with maxSurge its places count; a run that is not done is measured to its end",
			end: EndStuck,
			ops: []tallyOp{
				tallyPlanOf(0, rollout.Plan{Budget: rollout.Budget{MaxSurge: 5, Surging: 4, Unavailable: 9}}),
				tallyPlanOf(10*s, rollout.Plan{Budget: rollout.Budget{MaxSurge: 5, Surging: 1}}),
			},
			want: func(r *Report) {
				r.End, r.Plans = EndStuck, 2
				r.Budget = BudgetReport{Limit: 5, Surge: true, Peak: 4, PeakLimit: 5, Mean: 2.5}
			},
		},
		{
			name: "waits", why: "nodes that wait count from one plan to the next, the longest first; what is held waits for nothing",
			ops: []tallyOp{
				tallyPlanOf(5*s, rollout.Plan{Decisions: []rollout.Decision{
					{Verb: rollout.VerbWait, Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxUnavailable},
					{Verb: rollout.VerbWait, Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxUnavailable},
					{Verb: rollout.VerbWait, Reason: rollout.ReasonNotReady},
					{Verb: rollout.VerbHold, Reason: rollout.ReasonHeld},
				}}),
				tallyPlanOf(8*s, rollout.Plan{Decisions: []rollout.Decision{
					{Verb: rollout.VerbWait, Reason: rollout.ReasonBudget, Limit: rollout.LimitBurst},
					{Verb: rollout.VerbWait, Reason: rollout.ReasonNotReady},
				}}),
				tallyPlanOf(20*s, rollout.Plan{Decisions: []rollout.Decision{
					{Verb: rollout.VerbWait, Reason: rollout.ReasonTerminating},
				}}),
			},
			want: func(r *Report) {
				r.Plans = 3
				r.Waits = []WaitReport{
					{rollout.ReasonNotReady, rollout.LimitNone, 15 * s}, {rollout.ReasonBudget, rollout.LimitBurst, 12 * s},
					{rollout.ReasonBudget, rollout.LimitMaxUnavailable, 6 * s},
				}
			},
		},
		{
			name: "still waiting", why: "the last plan holds until the end; equal waits are in the order of reasons, then limits",
			ops: []tallyOp{
				tallyPlanOf(5*s, rollout.Plan{Decisions: []rollout.Decision{
					{Verb: rollout.VerbWait, Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxSurge},
					{Verb: rollout.VerbWait, Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxUnavailable},
					{Verb: rollout.VerbWait, Reason: rollout.ReasonNotReady},
				}}),
			},
			want: func(r *Report) {
				r.Plans = 1
				r.Waits = []WaitReport{
					{rollout.ReasonNotReady, rollout.LimitNone, 15 * s}, {rollout.ReasonBudget, rollout.LimitMaxUnavailable, 15 * s},
					{rollout.ReasonBudget, rollout.LimitMaxSurge, 15 * s},
				}
			},
		},
		{
			name: "counters", why: "each thing is counted where it belongs; a revision is a call and no action on a pod",
			ops: []tallyOp{
				{kind: tallyAction, action: PodCreated}, {kind: tallyAction, action: PodCreated}, {kind: tallyAction, action: PodCreated},
				{kind: tallyAction, action: PodDeleted}, {kind: tallyAction, action: PodDeleted}, {kind: tallyAction, action: PodPatched},
				{kind: tallyAction, action: PullStarted}, {kind: tallyAction, action: PullStarted}, {kind: tallyAction, action: PullStarted},
				{kind: tallyAction, action: PullStarted}, {kind: tallyAction, action: RevisionChanged},
				{kind: tallyCall}, {kind: tallyCall}, {kind: tallyCall, failed: true},
				{kind: tallyRestart}, {kind: tallyRestart, failed: true}, {kind: tallyRestart, failed: true}, {kind: tallyCrash},
				{kind: tallyPulled, bytes: 100}, {kind: tallyPulled, bytes: 11, failed: true}, {kind: tallyPulled, bytes: 7},
			},
			want: func(r *Report) {
				r.Created, r.Deleted, r.Patched, r.Pulls, r.Calls, r.FailedCalls = 3, 2, 1, 4, 3, 1
				r.Restarts, r.Crashes, r.ControllerCrashes, r.PulledBytes, r.PeerBytes = 3, 2, 1, 107, 11
			},
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" || seen[test.name] {
				t.Fatal("a row needs a name of its own and a why")
			}
			seen[test.name] = true
			want, end := base, test.end
			if end == 0 {
				end = EndDone
			}
			if test.want(&want); !test.before {
				want.Taken = want.Unavailable
			}
			tally := newTally("agent", 7)
			for _, op := range test.ops {
				op.tell(tally)
			}
			got := tally.report(20*s, end, nil)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.why, diff)
			}
			if again := tally.report(20*s, end, nil); !reflect.DeepEqual(got, again) {
				t.Errorf("asked again it reports\n%+v", again)
			}
		})
	}
}

// A report during a run does not change the one at its end.
func TestTallyReportsAtAnyTime(t *testing.T) {
	ops := []tallyOp{
		{at: 0, node: "x", to: NodeOld},
		tallyPlanOf(0, rollout.Plan{
			Budget:    rollout.Budget{MaxUnavailable: 1, Unavailable: 1},
			Decisions: []rollout.Decision{{Verb: rollout.VerbWait, Reason: rollout.ReasonNotReady}},
		}),
		{at: 1, node: "x", from: NodeOld, to: NodeEmpty},
		{at: 9, node: "x", from: NodeEmpty, to: NodeNew},
	}
	quiet, asked := newTally("agent", 1), newTally("agent", 1)
	for _, op := range ops {
		op.tell(quiet)
		op.tell(asked)
		asked.report(op.at, 0, nil)
		asked.report(op.at+1, EndLimit, nil)
	}
	if diff := cmp.Diff(quiet.report(12, EndDone, nil), asked.report(12, EndDone, nil)); diff != "" {
		t.Errorf("-never asked +asked after each\n%s", diff)
	}
}

func TestTallyHandsOutViolations(t *testing.T) {
	violations := []verify.Violation{{Invariant: 1, Node: "x"}}
	got := newTally("agent", 1).report(0, EndViolation, violations)
	violations[0].Node = "y"
	if len(got.Violations) != 1 || got.Violations[0].Node != "x" {
		t.Errorf("the report has %v", got.Violations)
	}
}

// The cost of a change does not depend on the size of the fleet, and a change allocates no memory.
func TestTallyAllocatesNothingPerChange(t *testing.T) {
	tally := newTally("agent", 1)
	for i := range 100 {
		tally.node(0, fmt.Sprint(i), "a", 0, NodeOld)
	}
	plan := &rollout.Plan{Decisions: []rollout.Decision{{Verb: rollout.VerbWait, Reason: rollout.ReasonBudget}}}
	tally.plan(0, plan)
	states := [...]NodeState{NodeTerminating, NodeStarting, NodeNew, NodeOld}
	at := time.Duration(0)
	allocations := testing.AllocsPerRun(100, func() {
		for _, to := range states {
			at++
			tally.begun(at, "7")
			tally.node(at, "7", "a", NodeOld, to)
			tally.plan(at, plan)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}
