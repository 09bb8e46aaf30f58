package simulate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// recorderPoint is a point in a form that tests can compare.
type recorderPoint struct {
	At     time.Duration
	States map[simulate.NodeState]int
	Down   int
}

func recorderPoints(points []simulate.Point) []recorderPoint {
	var list []recorderPoint
	for _, p := range points {
		point := recorderPoint{At: p.At, States: map[simulate.NodeState]int{}, Down: p.Unavailable()}
		for s := range simulate.NodeState(255) {
			if n := p.Count(s); n != 0 {
				point.States[s] = n
			}
		}
		list = append(list, point)
	}
	return list
}

// recorderExact counts the nodes anew after all that happened at each instant.
func recorderExact(records []simulate.Record) []recorderPoint {
	var list []recorderPoint
	for i, r := range records {
		if i+1 < len(records) && records[i+1].At == r.At {
			continue
		}
		last := map[string]simulate.NodeState{}
		for _, r := range records[:i+1] {
			last[r.Node] = r.To
		}
		point := recorderPoint{At: r.At, States: map[simulate.NodeState]int{}}
		for _, s := range last {
			if s != 0 {
				point.States[s]++
			}
			if s > simulate.NodeOutside && !s.Serving() {
				point.Down++
			}
		}
		list = append(list, point)
	}
	return list
}

// recorderThin keeps two points of each span: the first one with the most unavailable nodes, and the last one.
func recorderThin(exact []recorderPoint, span time.Duration) (kept []recorderPoint, spans int) {
	if len(exact) == 0 {
		return nil, 0
	}
	kept = exact[:1:1]
	for i := 0; i < len(exact); spans++ {
		j, peak := i, i
		for ; j < len(exact) && exact[j].At/span == exact[i].At/span; j++ {
			if exact[j].Down > exact[peak].Down {
				peak = j
			}
		}
		for _, k := range []int{peak, j - 1} {
			if exact[k].At > kept[len(kept)-1].At {
				kept = append(kept, exact[k])
			}
		}
		i = j
	}
	return kept, spans
}

func recorderRuns(t *rapid.T) []simulate.Record {
	var records []simulate.Record
	states := map[string]simulate.NodeState{}
	var at time.Duration
	for range rapid.IntRange(0, 60).Draw(t, "length") {
		at += rapid.SampledFrom([]time.Duration{0, 1, 3, time.Second, time.Minute}).Draw(t, "later")
		r := simulate.Record{
			At: at, Kind: simulate.NodeChanged, Node: rapid.SampledFrom([]string{"m", "n", "o"}).Draw(t, "node"),
			Zone: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"),
			To:   simulate.NodeState(rapid.IntRange(0, int(simulate.NodeNew)).Draw(t, "to")),
		}
		r.From = states[r.Node]
		states[r.Node] = r.To
		records = append(records, r)
	}
	return records
}

func TestSeriesIsThatOfAllRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := recorderRuns(t)
		recorder := simulate.Recorder{Points: rapid.SampledFrom([]int{0, 1, 8, 11, 20}).Draw(t, "points")}
		most := recorder.Points
		switch {
		case most == 0:
			most = 4096
		case most < 8:
			most = 8
		}
		for i, r := range records {
			recorder.Record(r)
			if i%5 != 0 && i != len(records)-1 {
				continue
			}
			got := recorder.Series()
			exact := recorderExact(records[:i+1])
			want, _ := recorderThin(exact, got.Resolution)
			if diff := cmp.Diff(want, recorderPoints(got.Points)); diff != "" {
				t.Fatalf("after %d records, at %v\n-want +got\n%s", i+1, got.Resolution, diff)
			}
			if len(got.Points) > most {
				t.Fatalf("%d points", len(got.Points))
			}
			if got.Resolution > 1 {
				if _, spans := recorderThin(exact, got.Resolution/2); 2*spans+1 <= most {
					t.Fatalf("%d spans of half of %v would do", spans, got.Resolution)
				}
			}
		}
	})
}

func TestSeriesOfNothing(t *testing.T) {
	var recorder simulate.Recorder
	recorder.Record(simulate.Record{Kind: simulate.Planned})
	got := recorder.Series()
	if got.Points != nil || got.Resolution != 1 || got.Traffic != nil || recorder.Nodes() != nil {
		t.Errorf("%+v, %v", got, recorder.Nodes())
	}
	recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: "x", To: 200})
	recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: "x", To: simulate.NodeStates})
	if got := recorder.Series(); got.Points != nil {
		t.Errorf("a state that was never declared counts: %+v", got)
	}
}

// Results that were returned do not change with later records, and changing them does not change the recorder.
func TestRecorderHandsOutCopies(t *testing.T) {
	var recorder simulate.Recorder
	change := func(at time.Duration, from, to simulate.NodeState) {
		recorder.Record(simulate.Record{At: at, Kind: simulate.NodeChanged, Node: "x", From: from, To: to})
		recorder.Record(simulate.Record{At: at, Kind: simulate.ImagePulled, Detail: "registry", Bytes: 5})
	}
	change(0, 0, simulate.NodeOld)
	change(1, simulate.NodeOld, simulate.NodeEmpty)
	series, nodes := recorder.Series(), recorder.Nodes()
	series.Points[0].At, series.Traffic[0].Registry, nodes[0].Changes[0].At = 77, 77, 77
	nodes[0].Changes = append(nodes[0].Changes[:1], simulate.Change{At: 78})
	change(2, simulate.NodeEmpty, simulate.NodeNew)
	if got := recorder.Series(); got.Points[0].At != 0 || got.Traffic[0].Registry != 15 || len(got.Points) != 3 {
		t.Errorf("%+v", got)
	}
	want := []simulate.Change{{0, simulate.NodeOld}, {1, simulate.NodeEmpty}, {2, simulate.NodeNew}}
	if got := recorder.Nodes(); !slices.Equal(got[0].Changes, want) {
		t.Errorf("%v", got)
	}
}

func TestPointCounts(t *testing.T) {
	var recorder simulate.Recorder
	for s := simulate.NodeOutside; s <= simulate.NodeNew; s++ {
		recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: s.String(), To: s})
	}
	p := recorder.Series().Points[0]
	if p.Desired() != 10 || p.Unavailable() != 7 {
		t.Errorf("%d desired, %d unavailable; one node is in each of 11 states, 1 of them outside, 3 serving", p.Desired(), p.Unavailable())
	}
	for s := range simulate.NodeState(255) {
		if want := s >= simulate.NodeOutside && s <= simulate.NodeNew; (p.Count(s) == 1) != want || p.Count(s) > 1 {
			t.Errorf("%d nodes are %v", p.Count(s), s)
		}
	}
}

func TestNodeHistories(t *testing.T) {
	const old, down, fresh = simulate.NodeOld, simulate.NodeEmpty, simulate.NodeNew
	records := []simulate.Record{
		{At: 0, Node: "y", Zone: "b", To: old}, {At: 0, Node: "x", Zone: "b", To: old}, {At: 0, Node: "z", Zone: "a", To: fresh},
		{At: 5, Node: "x", Zone: "b", From: old, To: down}, {At: 5, Node: "x", Zone: "b", From: down, To: old}, // undone at once
		{At: 6, Node: "x", Zone: "b", From: old, To: down}, {At: 6, Node: "x", Zone: "b", From: down, To: fresh},
		{At: 7, Node: "y", Zone: "c", From: old, To: old}, // the node has moved to another zone
		{At: 8, Node: "z", Zone: "a", From: fresh, To: 0},
	}
	var recorder, without simulate.Recorder
	without.WithoutNodes = true
	for _, r := range records {
		r.Kind = simulate.NodeChanged
		recorder.Record(r)
		without.Record(r)
	}
	want := []simulate.NodeHistory{
		{Node: "z", Zone: "a", Changes: []simulate.Change{{0, fresh}, {8, 0}}},
		{Node: "x", Zone: "b", Changes: []simulate.Change{{0, old}, {6, fresh}}},
		{Node: "y", Zone: "c", Changes: []simulate.Change{{0, old}}},
	}
	if diff := cmp.Diff(want, recorder.Nodes()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if without.Nodes() != nil {
		t.Errorf("kept %v all the same", without.Nodes())
	}
	if diff := cmp.Diff(recorderPoints(recorder.Series().Points), recorderPoints(without.Series().Points)); diff != "" {
		t.Errorf("the series differ without nodes\n%s", diff)
	}
}
