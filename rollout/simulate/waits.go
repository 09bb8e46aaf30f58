package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// waits sums up what nodes waited for, and how long. What a plan says holds until the next plan.
type waits struct {
	since time.Duration
	list  []wait
	// places has the place in list, counted from 1, by reason and limit. It is no map, because it is read for every node of
	// every plan.
	places [1 << 16]uint16
}

type wait struct {
	reason rollout.Reason
	limit  rollout.Limit
	nodes  int // now
	sum    nodeTime
}

func (w *waits) plan(at time.Duration, decisions []rollout.Decision) {
	w.pass(at)
	for i := range w.list {
		w.list[i].nodes = 0
	}
	for i := range decisions {
		if d := &decisions[i]; d.Verb == rollout.VerbWait {
			w.find(d.Reason, d.Limit).nodes++
		}
	}
}

// pass adds the time since the last call to the sums.
func (w *waits) pass(at time.Duration) {
	for i := range w.list {
		w.list[i].sum.add(w.list[i].nodes, at-w.since)
	}
	w.since = max(at, w.since)
}

func (w *waits) find(reason rollout.Reason, limit rollout.Limit) *wait {
	place := &w.places[int(reason)<<8|int(limit)]
	if *place == 0 {
		w.list = append(w.list, wait{reason: reason, limit: limit})
		*place = uint16(len(w.list))
	}
	return &w.list[*place-1]
}

// report lists what nodes waited for, for more than no time, the longest first.
func (w *waits) report(at time.Duration) []WaitReport {
	list := slices.Clone(w.list)
	for i := range list {
		list[i].sum.add(list[i].nodes, at-w.since)
	}
	slices.SortFunc(list, func(a, b wait) int {
		return cmp.Or(b.sum.compare(a.sum), cmp.Compare(a.reason, b.reason), cmp.Compare(a.limit, b.limit))
	})
	reports := []WaitReport{}
	for i := range list {
		if list[i].sum != (nodeTime{}) {
			reports = append(reports, WaitReport{list[i].reason, list[i].limit, list[i].sum.duration()})
		}
	}
	return reports
}
