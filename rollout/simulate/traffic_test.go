package simulate_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func TestTrafficByHand(t *testing.T) {
	const ms = time.Millisecond
	pull := func(at, took time.Duration, bytes int64, detail string) simulate.Record {
		return simulate.Record{At: at, Kind: simulate.ImagePulled, Took: took, Bytes: bytes, Detail: detail}
	}
	tests := []struct {
		name, why string
		records   []simulate.Record
		want      []simulate.Traffic
	}{
		{"nothing", "no bytes came, or nobody says from where", []simulate.Record{pull(ms, ms, 0, "peer"), pull(ms, ms, 5, "")}, nil},
		{
			"failed", "the bytes of a pull that fails at its end came all the same",
			[]simulate.Record{pull(0, 0, 5, "registry failed"), pull(0, 0, 6, "peer failed")}, []simulate.Traffic{{0, ms, 5, 6}},
		},
		{
			"at once", "bytes that took no time came in the span of the instant",
			[]simulate.Record{pull(0, 0, 5, "registry"), pull(ms, 0, 6, "registry"), pull(ms, 0, 7, "peer")},
			[]simulate.Traffic{{0, ms, 5, 0}, {ms, 2 * ms, 6, 7}},
		},
		{
			"over three spans", "half a span, a whole one, half a span; the span in which it ends begins even if nothing comes there",
			[]simulate.Record{pull(2*ms+ms/2, 2*ms, 8, "registry"), pull(3*ms, ms, 2, "peer")},
			[]simulate.Traffic{{0, ms, 2, 0}, {ms, 2 * ms, 4, 0}, {2 * ms, 3 * ms, 2, 2}, {3 * ms, 4 * ms, 0, 0}},
		},
		{
			"thirds", "parts are rounded so that the sum is right",
			[]simulate.Record{pull(3*ms-1, 3*ms-1, 10, "registry")},
			[]simulate.Traffic{{0, ms, 3, 0}, {ms, 2 * ms, 3, 0}, {2 * ms, 3 * ms, 4, 0}},
		},
		{
			"before the beginning", "there is no time before instant 0",
			[]simulate.Record{pull(ms/2, ms, 10, "registry"), pull(ms/2, 5*ms, 7, "peer")}, []simulate.Traffic{{0, ms, 10, 7}},
		},
		{
			"from the beginning", "what began with the run came in two equal halves",
			[]simulate.Record{pull(2*ms, 2*ms, 1<<40, "registry")},
			[]simulate.Traffic{{0, ms, 1 << 39, 0}, {ms, 2 * ms, 1 << 39, 0}, {2 * ms, 3 * ms, 0, 0}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			recorder := simulate.Recorder{}
			recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: "x", To: simulate.NodeOld})
			for _, r := range test.records {
				recorder.Record(r)
			}
			if diff := cmp.Diff(test.want, recorder.Series().Traffic); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.why, diff)
			}
		})
	}
}

// When spans are joined no byte is lost, and each span has about the bytes that came within it.
func TestTrafficAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pull struct {
			from, to time.Duration
			bytes    int64
			peer     bool
		}
		recorder := simulate.Recorder{}
		recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: "x", To: simulate.NodeOld})
		var pulls []pull
		var at time.Duration
		var sum [2]int64
		for range rapid.IntRange(1, 10).Draw(t, "pulls") {
			at += rapid.SampledFrom([]time.Duration{1, time.Second, time.Hour}).Draw(t, "later")
			p := pull{to: at, bytes: rapid.Int64Range(1, 1<<40).Draw(t, "bytes"), peer: rapid.Bool().Draw(t, "peer")}
			took := min(at, time.Duration(rapid.Int64Range(0, int64(30*time.Minute)).Draw(t, "took")))
			p.from = at - took
			r := simulate.Record{At: at, Kind: simulate.ImagePulled, Took: took, Bytes: p.bytes, Detail: "registry"}
			if p.peer {
				r.Detail = "peer"
				sum[1] += p.bytes
			} else {
				sum[0] += p.bytes
			}
			recorder.Record(r)
			pulls = append(pulls, p)
		}
		traffic := recorder.Series().Traffic
		if len(traffic) > 1024 {
			t.Fatalf("%d spans", len(traffic))
		}
		var end time.Duration
		for _, span := range traffic {
			want := [2]float64{}
			for _, p := range pulls {
				part := float64(0)
				if p.from == p.to && span.From <= p.to && p.to < span.To {
					part = 1
				} else if overlap := min(p.to, span.To) - max(p.from, span.From); overlap > 0 {
					part = float64(overlap) / float64(p.to-p.from)
				}
				if p.peer {
					want[1] += part * float64(p.bytes)
				} else {
					want[0] += part * float64(p.bytes)
				}
			}
			// Where joined spans had a boundary, rounding moves less than a byte for each pull.
			const tolerance = 2000
			if math.Abs(want[0]-float64(span.Registry)) > tolerance || math.Abs(want[1]-float64(span.Peers)) > tolerance {
				t.Fatalf("%+v, want %v", span, want)
			}
			if span.From != end || span.To <= span.From {
				t.Fatalf("%+v begins not at %v", span, end)
			}
			end = span.To
			sum[0] -= span.Registry
			sum[1] -= span.Peers
		}
		if sum != [2]int64{} || at >= end {
			t.Fatalf("%v bytes are missing, or the end %v is after %v", sum, at, end)
		}
	})
}

// Reading the traffic does not change what was recorded, even if the spans of one source are joined because of the other.
func TestTrafficIsAskedTwice(t *testing.T) {
	var recorder simulate.Recorder
	recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: "x", To: simulate.NodeOld})
	for i := range 4 {
		at := time.Duration(i) * time.Millisecond
		recorder.Record(simulate.Record{At: at, Kind: simulate.ImagePulled, Bytes: 1 + int64(i), Detail: "peer"})
	}
	recorder.Record(simulate.Record{At: 5 * time.Second, Kind: simulate.ImagePulled, Bytes: 7, Detail: "registry"})
	first, again := recorder.Series().Traffic, recorder.Series().Traffic
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("-first +again\n%s", diff)
	}
	if first[0].Peers != 1+2+3+4 {
		t.Errorf("%d bytes came from peers in the first span, want 10", first[0].Peers)
	}
}

// There are at most 1,024 spans. An instant beyond them makes each span twice as long.
func TestTrafficSpansAreFew(t *testing.T) {
	for at, want := range map[time.Duration]struct {
		spans int
		width time.Duration
	}{
		1024*time.Millisecond - 1: {1024, time.Millisecond},
		1024 * time.Millisecond:   {513, 2 * time.Millisecond},
		2048*time.Millisecond - 1: {1024, 2 * time.Millisecond},
		2048 * time.Millisecond:   {513, 4 * time.Millisecond},
	} {
		var recorder simulate.Recorder
		recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: "x", To: simulate.NodeOld})
		recorder.Record(simulate.Record{At: at, Kind: simulate.ImagePulled, Bytes: 7, Detail: "peer"})
		traffic := recorder.Series().Traffic
		last := traffic[len(traffic)-1]
		if len(traffic) != want.spans || last.To-last.From != want.width || last.Peers != 7 {
			t.Errorf("after %v: %d spans, the last is %+v", at, len(traffic), last)
		}
	}
}
