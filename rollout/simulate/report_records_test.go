package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// reportTrouble is a small fleet with an event of every kind that a report counts.
func reportTrouble(seed uint64) simulate.Scenario {
	scenario := reportFleet(rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("20%")))
	switch seed % 3 {
	case 1:
		scenario.Spec = rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxSurge("3"))
	case 2:
		scenario.Spec = rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("3"), rollouttest.InPlaceIfPossible())
		running := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), rollouttest.InPlaceIfPossible())
		scenario.Fleet.Running = &running
	}
	scenario.Seed = seed
	scenario.Fleet.Pools[0].Nodes = 12
	scenario.Fleet.Pools = append(scenario.Fleet.Pools, simulate.Pool{Name: "db", Nodes: 3})
	scenario.Model.Registry = simulate.Registry{Bandwidth: 1000, Size: 5000, PeerToPeer: true, FailedPulls: 0.1}
	scenario.Model.Kubelets = append(scenario.Model.Kubelets, simulate.Kubelet{
		Share: 0.2, Crash: simulate.Fixed(3 * time.Second), Crashes: 2,
	})
	scenario.Controller = simulate.Controller{
		CallsPerSecond: 2, CallBurst: 3, FailedCalls: 0.1, LostAnswers: 0.05, Lag: simulate.Uniform(0, time.Second), Crash: simulate.Exponential(time.Minute),
	}
	scenario.Events = []simulate.Event{
		{At: 5 * time.Second, Every: simulate.Exponential(20 * time.Second), Until: 5 * time.Minute, What: simulate.NodeNotReady,
			For: simulate.Uniform(time.Second, 40*time.Second)},
		{At: 30 * time.Second, What: simulate.RemoveNode, Count: 2},
		{At: 40 * time.Second, What: simulate.AddNodes, Join: simulate.Pool{Name: "new", Nodes: 3, Zones: []string{"c"}}},
		{At: 50 * time.Second, What: simulate.DeletePod, Count: 2},
	}
	scenario.Limit = 2 * time.Hour
	return scenario
}

// The figures of a report can be computed from the records, too. This test does so in a naive way.
func TestReportsAgreeWithRecords(t *testing.T) {
	var sum simulate.Report
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			var records []simulate.Record
			var recorder simulate.Recorder
			scenario := reportTrouble(seed)
			scenario.History = func(r simulate.Record) {
				records = append(records, r)
				recorder.Record(r)
			}
			report, err := simulate.Run(scenario)
			if err != nil {
				t.Fatal(err)
			}
			if report.End != simulate.EndDone {
				t.Errorf("ended with %v", report.End)
			}
			want := report
			reportCountRecords(&want, records)
			// The record of a pull that failed may not show where its bytes came from.
			var unsaid int64
			for _, r := range records {
				if r.Detail == "failed" {
					unsaid += r.Bytes
				}
			}
			registry, peers := report.PulledBytes-want.PulledBytes, report.PeerBytes-want.PeerBytes
			if registry >= 0 && peers >= 0 && registry+peers == unsaid {
				want.PulledBytes, want.PeerBytes = report.PulledBytes, report.PeerBytes
			}
			if diff := cmp.Diff(want, report); diff != "" {
				t.Errorf("-records +report\n%s", diff)
			}
			points := recorder.Series().Points
			last := points[len(points)-1]
			if last.Desired() != report.Desired || last.Count(simulate.NodeNew) != report.Updated {
				t.Errorf("the last point has %d desired and %d updated nodes", last.Desired(), last.Count(simulate.NodeNew))
			}
			for _, p := range points {
				if p.Unavailable() > report.Unavailable.Peak {
					t.Errorf("%d nodes are unavailable after %v, more than %d", p.Unavailable(), p.At, report.Unavailable.Peak)
				}
			}
			sum.Crashes += report.Crashes
			sum.FailedCalls += report.FailedCalls
			sum.PeerBytes += report.PeerBytes
			sum.ControllerCrashes += report.ControllerCrashes
			sum.Patched += report.Patched
		})
	}
	if sum.Crashes == 0 || sum.FailedCalls == 0 || sum.PeerBytes == 0 || sum.ControllerCrashes == 0 || sum.Patched == 0 {
		t.Errorf("there was too little trouble: %+v", sum)
	}
}

// reportCountRecords replaces the figures that can be computed from records.
func reportCountRecords(r *simulate.Report, records []simulate.Record) {
	r.Created, r.Deleted, r.Patched, r.Pulls, r.FailedCalls, r.Plans = 0, 0, 0, 0, 0, 0
	r.Restarts, r.ControllerCrashes, r.PulledBytes, r.PeerBytes = 0, 0, 0, 0
	countPlans(r, records)
	r.Calls, r.RateLimited, r.Crashes, r.End = 0, 0, 0, 0
	count := map[simulate.RecordKind]*int{
		simulate.PodCreated: &r.Created, simulate.PodDeleted: &r.Deleted, simulate.PodPatched: &r.Patched,
		simulate.PullStarted: &r.Pulls, simulate.CallFailed: &r.FailedCalls, simulate.Planned: &r.Plans,
		simulate.ContainerRestarted: &r.Restarts, simulate.ControllerCrashed: &r.ControllerCrashes,
	}
	type state struct {
		zone  string
		state simulate.NodeState
		since time.Duration
	}
	nodes := map[string]state{}
	zones := map[string]*simulate.ZoneReport{}
	r.Unavailable = simulate.Unavailable{}
	var before time.Duration
	pass := func(to time.Duration) {
		down := map[string]int{}
		all := 0
		for _, n := range nodes {
			if n.state != simulate.NodeOutside && !n.state.Serving() {
				down[n.zone]++
				all++
			}
		}
		note := func(u *simulate.Unavailable, n int) {
			if n > u.Peak {
				u.Peak, u.PeakAt = n, before
			}
			u.NodeTime += time.Duration(n) * (to - before)
			u.AtEnd = n
		}
		note(&r.Unavailable, all)
		for name, zone := range zones {
			note(&zone.Unavailable, down[name])
		}
		before = to
	}
	for _, record := range records {
		if n := count[record.Kind]; n != nil {
			*n++
		}
		switch record.Kind {
		case simulate.CallsSent:
			r.Calls += record.Count
			r.RateLimited += record.Took
		case simulate.ContainerRestarted:
			r.Crashes += record.Count
		case simulate.RunEnded:
			if err := r.End.UnmarshalText([]byte(record.Detail)); err != nil {
				panic(err)
			}
		default:
		}
		if record.Kind == simulate.ImagePulled && strings.HasPrefix(record.Detail, "registry") {
			r.PulledBytes += record.Bytes
		}
		if record.Kind == simulate.ImagePulled && strings.HasPrefix(record.Detail, "peer") {
			r.PeerBytes += record.Bytes
		}
		if record.Kind != simulate.NodeChanged {
			continue
		}
		pass(record.At)
		if zones[record.Zone] == nil {
			zones[record.Zone] = &simulate.ZoneReport{Zone: record.Zone}
		}
		if nodes[record.Node] = (state{record.Zone, record.To, record.At}); record.To == 0 {
			delete(nodes, record.Node)
		}
	}
	pass(r.Elapsed)

	r.Nodes, r.Desired, r.Updated, r.Reached, r.Zones = len(nodes), 0, 0, []simulate.Reached{}, nil
	var arrivals []time.Duration
	for _, n := range nodes {
		zones[n.zone].Nodes++
		if n.state != simulate.NodeOutside {
			r.Desired++
		}
		if n.state == simulate.NodeNew {
			arrivals = append(arrivals, n.since)
		}
	}
	slices.Sort(arrivals)
	r.Updated = len(arrivals)
	for _, percent := range []int{50, 90, 99, 100} {
		for i, at := range arrivals {
			if 100*(i+1) >= percent*r.Desired {
				r.Reached = append(r.Reached, simulate.Reached{Percent: percent, After: at})
				break
			}
		}
	}
	for _, name := range []string{"", "a", "b", "c"} {
		if zones[name] != nil {
			r.Zones = append(r.Zones, *zones[name])
		}
	}
}

// countPlans replaces the figures that records of plans tell: the budget, and what nodes waited for.
func countPlans(r *simulate.Report, records []simulate.Record) {
	finished := r.Finished
	if r.End != simulate.EndDone {
		finished = r.Elapsed
	}
	r.Budget = simulate.BudgetReport{}
	waits := map[string]time.Duration{}
	counts := map[string]int{}
	var used, limit int
	var sum, before, counted time.Duration
	for _, record := range append(slices.Clone(records), simulate.Record{At: r.Elapsed}) {
		for what, n := range counts {
			waits[what] += time.Duration(n) * (record.At - before)
		}
		sum += time.Duration(used) * (min(record.At, finished) - counted)
		before, counted = record.At, min(record.At, finished)
		switch record.Kind {
		case simulate.NodesWait:
			counts[record.Detail] = record.Count
		case simulate.BudgetUsed:
			used, limit = record.Count, record.Limit
			r.Budget.Surge = record.Detail == "maxSurge"
			if used > r.Budget.Peak {
				r.Budget.Peak, r.Budget.PeakLimit = used, limit
			}
		default:
		}
	}
	r.Budget.Limit = limit
	if finished > 0 {
		r.Budget.Mean = float64(sum) / float64(finished)
	}
	for i := range r.Waits {
		w := &r.Waits[i]
		w.NodeTime = waits[w.Reason.String()+" "+w.Limit.String()]
		delete(waits, w.Reason.String()+" "+w.Limit.String())
	}
	for what, took := range waits {
		if took > 0 {
			panic("the report lacks that nodes waited: " + what)
		}
	}
}
