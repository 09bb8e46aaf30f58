package main

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// trace is what the pictures need of one run.
type trace struct {
	Series simulate.Series
	// Nodes and what they went through: of the first seed only, for the heat map.
	Nodes []simulate.NodeHistory
	// Sent is what the registry sent from one sample to the next, the bytes of pulls under way included.
	Sent []sent
	// Limits are maxUnavailable in nodes, each from when a plan went by it.
	Limits []limitFrom

	sampled          time.Duration // when the last sample was taken, and what had come by then
	pulled           int64
	recorder         simulate.Recorder
	updated, desired int
	reached          time.Duration // when a node got the new version last
}

// sent is how many bytes came from the registry in a span of time.
type sent struct {
	From, To time.Duration
	Bytes    int64
}

// limitFrom is a maxUnavailable that was in force from an instant on.
type limitFrom struct {
	At    time.Duration
	Limit int
	Surge bool // the budget is maxSurge, and the limit 0
}

// newTrace begins a trace, with the history of each node if it is detailed.
func newTrace(detailed bool) *trace {
	return &trace{recorder: simulate.Recorder{WithoutNodes: !detailed}}
}

// add takes in the next record.
func (t *trace) add(r simulate.Record) {
	t.recorder.Record(r)
	if r.Kind == simulate.NodeChanged {
		if r.To == simulate.NodeNew {
			t.reached = r.At
		}
		t.updated += one(r.To == simulate.NodeNew) - one(r.From == simulate.NodeNew)
		t.desired += one(r.To > simulate.NodeOutside) - one(r.From > simulate.NodeOutside)
	}
}

// sampling is how many samples there are at least in the time from the beginning on, where so much happens: more than a
// picture has columns. A sample looks at every pull under way, so not each instant can have one.
const sampling = 1000

// sample takes in what has come from the registry, unless the last sample was just before.
func (t *trace) sample(at time.Duration, pulled func() (registry, peers int64)) {
	if at-t.sampled > at/sampling {
		t.ended(at, pulled)
	}
}

// ended is the last sample.
func (t *trace) ended(at time.Duration, pulled func() (registry, peers int64)) {
	registry, _ := pulled()
	if at > t.sampled && registry > t.pulled {
		t.Sent = append(t.Sent, sent{From: t.sampled, To: at, Bytes: registry - t.pulled})
		t.pulled = registry
	}
	t.sampled = at
}

// plan takes in the budget that a plan goes by.
func (t *trace) plan(at time.Duration, b *rollout.Budget) {
	now := limitFrom{At: at, Limit: int(b.MaxUnavailable), Surge: b.MaxSurge > 0}
	n := len(t.Limits)
	if n > 0 && t.Limits[n-1].Limit == now.Limit && t.Limits[n-1].Surge == now.Surge {
		return
	}
	if n > 0 && t.Limits[n-1].At == at { // within one instant the last one counts
		t.Limits[n-1] = now
		return
	}
	t.Limits = append(t.Limits, now)
}

// finish keeps what is needed.
func (t *trace) finish() {
	t.Series = t.recorder.Series()
	t.Nodes = t.recorder.Nodes()
	t.recorder = simulate.Recorder{}
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
