package simulate

import (
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// tally adds up what a run's Report is made from. Instants are counted from the beginning of the run and do not decrease.
// The cost of what it is told does not depend on the size of the fleet, except for a plan, of which each decision is looked
// at once.
type tally struct {
	counted Report // what is only counted
	index   map[string]int32
	nodes   []tallied
	states  [1 << 8]int // how many nodes are in each
	zones   zones
	down    gauge
	taken   gauge // down without the nodes that were so before
	waves   waves
	budget  budgetUse
	waits   waits
	trial   trial
	parts   parts
	fails   fails
	// finished is when a node last came to its place, finishedUse how much of the budget had been used by then.
	finished    time.Duration
	finishedUse nodeTime
}

// tallied is what is known of a node. A node that left has state 0.
type tallied struct {
	since time.Duration // of the state
	zone  int32
	wave  int32
	state NodeState
	begun bool
	// before: it has been unavailable since the run began, and no plan has taken it down.
	before bool
}

func newTally(name string, seed uint64) *tally {
	return &tally{counted: Report{Name: name, Seed: seed}, index: map[string]int32{}, zones: zones{index: map[string]int32{}}}
}

// node is told that the state of a node, or its zone, changed. A node that joined changes from state 0, and one that left to
// state 0. Changes at one instant count in the order in which they are told, each as if it had lasted.
func (t *tally) node(at time.Duration, name, zone string, _, to NodeState) {
	i, known := t.index[name]
	if !known {
		if to == 0 {
			return
		}
		i = int32(len(t.nodes))
		t.index[name] = i
		t.nodes = append(t.nodes, tallied{})
	}
	n := &t.nodes[i]
	from := n.state
	t.leave(at, n)
	n.zone, n.state = t.zones.find(zone), to
	n.before = unavailable(to) && (n.before || at == 0 && !n.begun)
	t.enter(at, n)
	if from == to {
		return
	}
	n.since = at
	t.waves.changed(n)
	if arrived(from, to) {
		t.finished = at
		t.finishedUse = t.budget.until(at).sum
	}
}

// arrived reports whether a node came nearer to its place. A node that joins or leaves in a state in which nothing is to be
// done (any more), New or Outside, did not.
func arrived(from, to NodeState) bool {
	settled := func(s NodeState) bool { return s == NodeOutside || s == NodeNew }
	return (from != 0 || !settled(to)) && (to != 0 || !settled(from))
}

// leave takes a node out of the counts, and enter puts it in again.
func (t *tally) leave(at time.Duration, n *tallied) {
	if n.state != 0 {
		t.count(at, n, -1)
	}
}

func (t *tally) enter(at time.Duration, n *tallied) {
	if n.state != 0 {
		t.count(at, n, +1)
	}
}

func (t *tally) count(at time.Duration, n *tallied, one int) {
	zone := &t.zones.list[n.zone]
	t.states[n.state] += one
	zone.nodes += one
	if unavailable(n.state) {
		t.down.set(at, t.down.now+one)
		if !n.before {
			t.taken.set(at, t.taken.now+one)
		}
		zone.down.set(at, zone.down.now+one)
	}
}

// unavailable reports whether a node in the state is to run the pod and has none that serves (B2).
func unavailable(s NodeState) bool { return s != 0 && s != NodeOutside && !s.Serving() }

// begun is told that the rollout begins a node.
func (t *tally) begun(_ time.Duration, name string) {
	if i, ok := t.index[name]; ok && t.nodes[i].state != 0 {
		t.waves.begin(&t.nodes[i])
	}
}

// plan is told of each plan when it is made.
func (t *tally) plan(at time.Duration, p *rollout.Plan) {
	t.counted.Plans++
	t.budget.plan(at, p.Budget)
	t.waits.plan(at, p.Decisions)
	t.trial.plan(at, p)
	t.parts.plan(at, p)
	t.fails.plan(at, p)
}

// action is told of each action of a plan that took effect.
func (t *tally) action(kind RecordKind) {
	switch kind {
	case PodCreated:
		t.counted.Created++
	case PodDeleted:
		t.counted.Deleted++
	case PodPatched:
		t.counted.Patched++
	case PullStarted:
		t.counted.Pulls++
	default: // revisions show in the calls only
	}
}

// call is told of each API call.
func (t *tally) call(failed bool) {
	t.counted.Calls++
	if failed {
		t.counted.FailedCalls++
	}
}

// pulled is told of bytes that came to a node, from its peers or the registry.
func (t *tally) pulled(bytes int64, peer bool) {
	if peer {
		t.counted.PeerBytes += bytes
	} else {
		t.counted.PulledBytes += bytes
	}
}

// restarted is told of each restart of a container, after a crash or for an update in place.
func (t *tally) restarted(crash bool) {
	t.counted.Restarts++
	if crash {
		t.counted.Crashes++
	}
}

func (t *tally) controllerCrashed() { t.counted.ControllerCrashes++ }

// report sums up the run until an instant. It does not change the tally.
func (t *tally) report(at time.Duration, end End, violations []verify.Violation) Report {
	r := t.counted
	r.End, r.Elapsed = end, at
	r.Desired = -t.states[NodeOutside]
	for _, n := range &t.states {
		r.Nodes += n
		r.Desired += n
	}
	r.Updated = t.states[NodeNew]
	r.Reached = t.reached(r.Desired)
	r.Waves = t.waves.begun
	r.Unavailable, r.Taken = t.down.unavailable(at), t.taken.unavailable(at)
	r.Zones = t.zones.report(at)
	use, until := t.budget.until(at).sum, at
	if end == EndDone {
		use, until = t.finishedUse, t.finished
		r.Finished = t.finished
	}
	r.Budget = t.budget.report(use, until)
	r.Canary = t.trial.report
	r.Stages = slices.Clone(t.parts.list)
	r.Failures = t.fails.result()
	r.Waits = t.waits.report(at)
	r.Violations = slices.Clone(violations)
	return r
}

// reached finds the shares of the desired nodes that are updated.
func (t *tally) reached(desired int) []Reached {
	var arrivals []time.Duration
	for i := range t.nodes {
		if t.nodes[i].state == NodeNew {
			arrivals = append(arrivals, t.nodes[i].since)
		}
	}
	slices.Sort(arrivals)
	reached := []Reached{}
	for _, percent := range [...]int{50, 90, 99, 100} {
		if n := rank(desired, percent); n > 0 && n <= len(arrivals) {
			reached = append(reached, Reached{percent, arrivals[n-1]})
		}
	}
	return reached
}

// zones counts nodes by zone, in the order in which zones were first seen.
type zones struct {
	index map[string]int32
	list  []zone
}

type zone struct {
	name  string
	nodes int
	down  gauge
}

func (z *zones) find(name string) int32 {
	i, ok := z.index[name]
	if !ok {
		i = int32(len(z.list))
		z.index[name] = i
		z.list = append(z.list, zone{name: name})
	}
	return i
}

func (z *zones) report(at time.Duration) []ZoneReport {
	reports := make([]ZoneReport, len(z.list))
	for i := range z.list {
		reports[i] = ZoneReport{Zone: z.list[i].name, Nodes: z.list[i].nodes, Unavailable: z.list[i].down.unavailable(at)}
	}
	slices.SortFunc(reports, func(a, b ZoneReport) int { return strings.Compare(a.Zone, b.Zone) })
	return reports
}

// budgetUse is how much of the budget the plans used.
type budgetUse struct {
	gauge
	limit int
	surge bool
	// atPeak is the limit that was in force at the peak.
	atPeak int
}

// plan reads the budget in use: only one of the two is not 0 (B1).
func (u *budgetUse) plan(at time.Duration, b rollout.Budget) {
	u.surge = b.MaxSurge > 0
	u.limit = int(b.MaxUnavailable)
	used := int(b.Unavailable)
	if u.surge {
		u.limit, used = int(b.MaxSurge), int(b.Surging)
	}
	u.set(at, used)
	if used > u.peak {
		u.atPeak = u.limit
	}
	u.top() // each plan counts, for however short a time
}

func (u *budgetUse) until(at time.Duration) gauge {
	g := u.gauge
	g.set(at, g.now)
	return g
}

func (u *budgetUse) report(use nodeTime, until time.Duration) BudgetReport {
	return BudgetReport{Limit: u.limit, Surge: u.surge, Peak: u.peak, PeakLimit: u.atPeak, Mean: use.per(until)}
}
