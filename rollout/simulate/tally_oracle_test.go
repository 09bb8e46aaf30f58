package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
)

// tallyOracle computes the report from the list of all operations. For each figure it starts again from the beginning of the
// list.
func tallyOracle(ops []tallyOp, end time.Duration, why End) Report {
	world := tallyWorldAfter(ops)
	r := Report{Name: "agent", Seed: 1, End: why, Elapsed: end, Reached: []Reached{}, Zones: []ZoneReport{}, Waits: []WaitReport{}}
	r.Nodes = len(world)
	for _, n := range world {
		if n.state != NodeOutside {
			r.Desired++
		}
		if n.state == NodeNew {
			r.Updated++
		}
	}
	r.Reached = append(r.Reached, tallyOracleReached(ops, r.Desired)...)
	r.Waves = tallyOracleWaves(ops)
	anywhere := func(string) bool { return true }
	r.Unavailable = tallyOracleUnavailable(ops, end, anywhere, func(string, int) bool { return true })
	r.Taken = tallyOracleUnavailable(ops, end, anywhere, func(node string, i int) bool { return !tallyOracleBefore(ops[:i+1], node) })
	names := map[string]bool{}
	for _, op := range ops {
		if op.kind == tallyNode {
			names[op.zone] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		zone := ZoneReport{Zone: name}
		for _, n := range world {
			if n.zone == name {
				zone.Nodes++
			}
		}
		zone.Unavailable = tallyOracleUnavailable(ops, end, func(z string) bool { return z == name }, func(string, int) bool { return true })
		r.Zones = append(r.Zones, zone)
	}
	until := end
	if why == EndDone {
		for _, op := range ops {
			// A node that joins or leaves without anything to be done on it does not count.
			quiet := op.from == 0 && (op.to == NodeOutside || op.to == NodeNew) || op.to == 0 && (op.from == NodeOutside || op.from == NodeNew)
			if op.kind == tallyNode && op.from != op.to && !quiet {
				r.Finished = op.at
			}
		}
		until = r.Finished
	}
	tallyOraclePlans(&r, ops, until, end)
	return r
}

type tallyNodeNow struct {
	zone  string
	state NodeState
	since time.Duration
}

func tallyWorldAfter(ops []tallyOp) map[string]tallyNodeNow {
	world := map[string]tallyNodeNow{}
	for _, op := range ops {
		if op.kind != tallyNode {
			continue
		}
		since := op.at
		if before, ok := world[op.node]; ok && before.state == op.to {
			since = before.since
		}
		world[op.node] = tallyNodeNow{op.zone, op.to, since}
		if op.to == 0 {
			delete(world, op.node)
		}
	}
	return world
}

func tallyOracleReached(ops []tallyOp, desired int) []Reached {
	var reached []Reached
	world := tallyWorldAfter(ops)
	for _, percent := range []int{50, 90, 99, 100} {
		for _, op := range ops { // the instants are in ascending order
			arrived := 0
			for _, n := range world {
				if n.state == NodeNew && n.since <= op.at {
					arrived++
				}
			}
			if desired > 0 && float64(arrived) >= float64(desired)*float64(percent)/100 {
				reached = append(reached, Reached{percent, op.at})
				break
			}
		}
	}
	return reached
}

// tallyOracleBefore reports whether the node has been down since the first instant, and no plan had begun it when it went down.
func tallyOracleBefore(ops []tallyOp, node string) bool {
	before, begun, state := false, false, NodeState(0)
	for _, op := range ops {
		switch {
		case op.node != node:
		case op.kind == tallyBegun:
			begun = begun || state != 0
		case op.kind == tallyNode:
			state = op.to
			switch op.to {
			case 0, NodeOutside, NodeOld, NodeNew:
				before, begun = false, false // what was begun has come to something, or to nothing
			case NodeSurging:
				before = false
			default:
				before = before || op.at == 0 && !begun
			}
		}
	}
	return before
}

// tallyOracleUnavailable counts after each operation. A count that lasts for no time is no peak, except at the end.
func tallyOracleUnavailable(
	ops []tallyOp, end time.Duration, in func(zone string) bool, counts func(node string, i int) bool,
) Unavailable {
	var u Unavailable
	sum := new(big.Int)
	for i, op := range ops {
		down := 0
		for name, n := range tallyWorldAfter(ops[:i+1]) {
			switch n.state {
			case NodeOutside, NodeOld, NodeSurging, NodeNew:
			default:
				if in(n.zone) && counts(name, i) {
					down++
				}
			}
		}
		next, last := end, i+1 == len(ops)
		if !last {
			next = ops[i+1].at
		}
		if down > u.Peak && (last || next > op.at) {
			u.Peak, u.PeakAt = down, op.at
		}
		u.AtEnd = down
		sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(down)), big.NewInt(int64(next-op.at))))
	}
	u.NodeTime = time.Duration(sum.Int64())
	return u
}

// tallyOracleWaves lists where node updates begin and end, and finds the longest chain of them.
func tallyOracleWaves(ops []tallyOp) int {
	type beginning struct{ from, done int } // indexes in ops; done is len(ops) if it never ends
	var list []beginning
	for i, op := range ops {
		if op.kind != tallyBegun {
			continue
		}
		if world := tallyWorldAfter(ops[:i]); world[op.node].state == 0 {
			continue
		}
		b := beginning{i, len(ops)}
		for j := i + 1; j < len(ops); j++ {
			if op2 := ops[j]; op2.kind == tallyNode && op2.node == op.node && op2.from != op2.to {
				if op2.to == NodeNew {
					b.done = j
					break
				}
				if op2.to == 0 || op2.to == NodeOutside || op2.to == NodeOld {
					break
				}
			}
		}
		again := slices.ContainsFunc(list, func(o beginning) bool {
			if ops[o.from].node != op.node {
				return false
			}
			// It is the same beginning if no operation has ended the earlier one since.
			for j := o.from + 1; j < i; j++ {
				if op2 := ops[j]; op2.kind == tallyNode && op2.node == op.node && op2.from != op2.to &&
					(op2.to == NodeNew || op2.to == 0 || op2.to == NodeOutside || op2.to == NodeOld) {
					return false
				}
			}
			return true
		})
		if !again {
			list = append(list, b)
		}
	}
	longest := 0
	chain := make([]int, len(list))
	for i, b := range list { // in the order of their beginnings, so the chains before are known
		chain[i] = 1
		for j := range i {
			if list[j].done < b.from {
				chain[i] = max(chain[i], chain[j]+1)
			}
		}
		longest = max(longest, chain[i])
	}
	return longest
}

func tallyOraclePlans(r *Report, ops []tallyOp, until, end time.Duration) {
	var plans []tallyOp
	for _, op := range ops {
		if op.kind == tallyPlan {
			plans = append(plans, op)
		}
	}
	used := new(big.Int)
	waits := map[[2]int]time.Duration{}
	for i, op := range plans {
		b := op.plan.Budget
		r.Budget.Surge, r.Budget.Limit = b.MaxSurge > 0, int(b.MaxSurge+b.MaxUnavailable)
		use := b.Unavailable
		if r.Budget.Surge {
			use = b.Surging
		}
		if int(use) > r.Budget.Peak {
			r.Budget.Peak, r.Budget.PeakLimit = int(use), r.Budget.Limit
		}
		next := end
		if i+1 < len(plans) {
			next = plans[i+1].at
		}
		if to := min(next, until); to > op.at {
			used.Add(used, new(big.Int).Mul(big.NewInt(int64(use)), big.NewInt(int64(to-op.at))))
		}
		for _, d := range op.plan.Decisions {
			if d.Verb == rollout.VerbWait {
				waits[[2]int{int(d.Reason), int(d.Limit)}] += next - op.at
			}
		}
	}
	if until > 0 {
		sum, _ := new(big.Float).SetInt(used).Float64()
		r.Budget.Mean = sum / float64(until)
	}
	r.Plans = len(plans)
	for _, op := range ops {
		switch {
		case op.kind == tallyAction && op.action == PodCreated:
			r.Created++
		case op.kind == tallyAction && op.action == PodDeleted:
			r.Deleted++
		}
	}
	for k, d := range waits {
		if d > 0 {
			r.Waits = append(r.Waits, WaitReport{rollout.Reason(k[0]), rollout.Limit(k[1]), d})
		}
	}
	slices.SortFunc(r.Waits, func(a, b WaitReport) int {
		return cmp.Or(cmp.Compare(b.NodeTime, a.NodeTime), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Limit, b.Limit))
	})
}

// tallyRuns draws the operations of a run: a few nodes join, change, move and leave, begin and are planned for, often at one
// instant.
func tallyRuns() *rapid.Generator[[]tallyOp] {
	return rapid.Custom(func(t *rapid.T) []tallyOp {
		states := map[string]NodeState{}
		zones := map[string]string{}
		var at time.Duration
		var ops []tallyOp
		for range rapid.IntRange(0, 40).Draw(t, "length") {
			at += rapid.SampledFrom([]time.Duration{0, 0, 1, 7, time.Second}).Draw(t, "later")
			op := tallyOp{at: at, node: rapid.SampledFrom([]string{"m", "n", "o", "p"}).Draw(t, "node")}
			op.kind = rapid.SampledFrom([]tallyOpKind{tallyNode, tallyNode, tallyNode, tallyBegun, tallyBegun, tallyPlan, tallyAction}).Draw(t, "kind")
			switch op.kind {
			case tallyNode:
				op.from, op.zone = states[op.node], zones[op.node]
				op.to = rapid.SampledFrom([]NodeState{0, NodeOutside, NodeEmpty, NodeTerminating, NodeLost, NodeOld, NodeSurging, NodeNew, NodeNew}).Draw(t, "to")
				if op.from == 0 && op.to == 0 {
					continue
				}
				if op.from == 0 || rapid.IntRange(0, 9).Draw(t, "moves") == 0 {
					op.zone = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone")
				}
				states[op.node], zones[op.node] = op.to, op.zone
			case tallyPlan:
				op.plan = tallyAnyPlan(t)
			case tallyAction:
				op.action = rapid.SampledFrom([]RecordKind{PodCreated, PodDeleted}).Draw(t, "action")
			default:
			}
			ops = append(ops, op)
		}
		return ops
	})
}

func tallyAnyPlan(t *rapid.T) *rollout.Plan {
	count := rapid.Int32Range(0, 5)
	p := &rollout.Plan{Budget: rollout.Budget{Unavailable: count.Draw(t, "unavailable"), Surging: count.Draw(t, "surging")}}
	if rapid.Bool().Draw(t, "surge") {
		p.Budget.MaxSurge = 2
	} else {
		p.Budget.MaxUnavailable = 3
	}
	for range rapid.IntRange(0, 4).Draw(t, "decisions") {
		p.Decisions = append(p.Decisions, rollout.Decision{
			Verb:   rapid.SampledFrom([]rollout.Verb{rollout.VerbWait, rollout.VerbWait, rollout.VerbHold}).Draw(t, "verb"),
			Reason: rapid.SampledFrom([]rollout.Reason{rollout.ReasonBudget, rollout.ReasonNotReady}).Draw(t, "reason"),
			Limit:  rapid.SampledFrom([]rollout.Limit{rollout.LimitNone, rollout.LimitMaxUnavailable}).Draw(t, "limit"),
		})
	}
	return p
}

// tallyDiffers compares a tally with the oracle, at the end and before it.
func tallyDiffers(ops []tallyOp, why End, tell func(*tally, tallyOp)) string {
	tally := newTally("agent", 1)
	var last time.Duration
	for i, op := range ops {
		tell(tally, op)
		last = op.at
		if i%8 != 7 {
			continue
		}
		if diff := tallyDiff(tallyOracle(ops[:i+1], last, why), tally.report(last, why, nil)); diff != "" {
			return fmt.Sprintf("after %d: %s", i+1, diff)
		}
	}
	last += 5
	return tallyDiff(tallyOracle(ops, last, why), tally.report(last, why, nil))
}

// tallyDiff accepts means that differ by rounding, because the sums of both are exact.
func tallyDiff(want, got Report) string {
	if want.Budget.Mean != 0 && got.Budget.Mean/want.Budget.Mean-1 < 1e-12 && got.Budget.Mean/want.Budget.Mean-1 > -1e-12 {
		got.Budget.Mean = want.Budget.Mean
	}
	return gocmp.Diff(want, got)
}

func TestTallyAgreesWithTheListOfAllThatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := tallyRuns().Draw(t, "ops")
		why := rapid.SampledFrom([]End{EndDone, EndLimit}).Draw(t, "end")
		if diff := tallyDiffers(ops, why, func(tally *tally, op tallyOp) { op.tell(tally) }); diff != "" {
			t.Fatal(diff)
		}
	})
}
