package simulation

import (
	"math"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// trace is what the pictures need of one run.
type trace struct {
	Series simulate.Series
	// Nodes are the histories of the nodes, for the heat map. Only the trace of the first seed has them.
	Nodes []simulate.NodeHistory
	// Sent is what the registry sent between each two samples. It includes the bytes of pulls that have not ended.
	Sent []sent
	// Limits are the values of maxUnavailable in nodes, each with the instant of the first plan that had it.
	Limits []limitFrom
	// Version is what happened to the new version, and Left are the nodes that are not where they are to be at the end of a run
	// that is not done.
	Version newVersion
	Left    []leftNodes
	// Releases are the versions that the run worked towards.
	Releases releases
	// Happened is what explains the curves, in order of time. Only the trace of the first seed has it.
	Happened []happening
	// Explanations are what the plans said of each node. Only the trace of the first seed has them.
	Explanations *explanations
	// Places are what the run did in the domains of the policies.
	Places []*places

	changed  []string // nodes that changed since Places looked, and whether labels may have
	events   bool
	sampled  time.Duration // when the last sample was taken; pulled is what the registry had sent by then
	pulled   int64
	recorder simulate.Recorder
	desired  int
	reached  time.Duration // when a node last came to the version in force
	// back is when, after failures gave the new version up, no node had it any more and every one had a serving pod, in
	// nanoseconds; infinite: never. serves is since when every node has one.
	back, serves float64
}

// sent is how many bytes came from the registry in a span of time.
type sent struct {
	From, To time.Duration
	Bytes    int64
}

// limitFrom is a value of maxUnavailable that applied from an instant on.
type limitFrom struct {
	At    time.Duration
	Limit int
	Surge bool // the budget is maxSurge, and Limit is 0
}

// newTrace begins a trace that looks at the domains. If it is detailed, it has the history of each node, with explanations.
func newTrace(detailed bool, domains ...bounded) *trace {
	t := &trace{recorder: simulate.Recorder{WithoutNodes: !detailed}, Places: newPlaces(domains), events: true}
	if detailed {
		t.Explanations = newExplanations()
	}
	return t
}

// add adds the next record.
func (t *trace) add(r simulate.Record) {
	t.Version.record(r)
	t.Releases.record(r)
	t.recorder.Record(t.Version.seen(r))
	if h, ok := happened(&r); ok && t.Explanations != nil {
		t.Happened = append(t.Happened, h)
		if h.Node != "" {
			t.Explanations.event(h)
		}
	}
	t.events = t.events || r.Kind == simulate.EventHappened // nodes join, and labels change, in events only
	if r.Kind == simulate.NodeChanged {
		if r.To == simulate.NodeNew {
			t.reached = r.At
		}
		t.desired += one(r.To > simulate.NodeOutside) - one(r.From > simulate.NodeOutside)
		if len(t.Places) > 0 {
			t.changed = append(t.changed, r.Node)
		}
	}
}

// look is called after each instant at which nodes changed, and after each step.
func (t *trace) look(s *simulate.Simulation) {
	t.sample(s.Elapsed(), s.Pulled)
	for _, p := range t.Places {
		p.look(s, t.changed, t.events)
	}
	t.changed, t.events = t.changed[:0], false
}

// sampling is how many samples there are at least, if there are enough events, in each span from the beginning on. That is more
// than the columns of a picture. There is not a sample for each event, because a sample looks at every pull that is under way.
const sampling = 1000

// sample records what the registry has sent, unless the last sample was shortly before.
func (t *trace) sample(at time.Duration, pulled func() (registry, peers int64)) {
	if at-t.sampled > at/sampling {
		t.ended(at, pulled)
	}
}

// ended takes the last sample.
func (t *trace) ended(at time.Duration, pulled func() (registry, peers int64)) {
	registry, _ := pulled()
	if at > t.sampled && registry > t.pulled {
		t.Sent = append(t.Sent, sent{From: t.sampled, To: at, Bytes: registry - t.pulled})
		t.pulled = registry
	}
	t.sampled = at
}

// plan records the budget of a plan, which version it works towards, and what it says of each node.
func (t *trace) plan(at time.Duration, plan *rollout.Plan) {
	t.Version.plan(at, plan.Status.UpdateRevision)
	if t.Explanations != nil {
		t.Explanations.plan(at, plan)
	}
	b := &plan.Budget
	now := limitFrom{At: at, Limit: int(b.MaxUnavailable), Surge: b.MaxSurge > 0}
	n := len(t.Limits)
	if n > 0 && t.Limits[n-1].Limit == now.Limit && t.Limits[n-1].Surge == now.Surge {
		return
	}
	if n > 0 && t.Limits[n-1].At == at { // of several plans at one instant the last one counts
		t.Limits[n-1] = now
		return
	}
	t.Limits = append(t.Limits, now)
}

// finish takes the result from the recorder, and drops the recorder.
func (t *trace) finish(r *simulate.Report) {
	t.Series = t.recorder.Series()
	t.Releases.until(r.Elapsed)
	t.back, t.serves = t.cameBack(r.Failures), t.servesFrom()
	t.Nodes = t.recorder.Nodes()
	t.recorder = simulate.Recorder{}
	t.Version.nodes = nil
}

// cameBack is the value of back.
func (t *trace) cameBack(failures *simulate.FailureReport) float64 {
	if failures == nil || failures.GaveUp == "" {
		return math.Inf(1)
	}
	for _, p := range t.Series.Points {
		if p.At > failures.GaveUpAt && p.Unavailable() == 0 && t.Version.at(p.At) == 0 {
			return float64(p.At)
		}
	}
	return math.Inf(1)
}

// servesFrom is the value of serves.
func (t *trace) servesFrom() float64 {
	from, down := time.Duration(0), 0
	for _, p := range t.Series.Points {
		if down > 0 {
			from = p.At
		}
		down = p.Unavailable()
	}
	if down > 0 {
		return math.Inf(1)
	}
	return float64(from)
}

// end is the last instant at which a node changed.
func (t *trace) end() time.Duration {
	if points := t.Series.Points; len(points) > 0 {
		return points[len(points)-1].At
	}
	return 0
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
