package simulate

import (
	"math"
	"math/bits"
	"time"
)

// defaultPoints and leastPoints bound Recorder.Points.
const (
	defaultPoints = 4096
	leastPoints   = 8
)

// bucket has the points that are kept of a span of time: the first with the most unavailable nodes, and the last. The bucket of
// two joined spans follows from their two buckets, so what is kept of a run does not depend on when it was thinned.
type bucket struct{ peak, last Point }

func (b *bucket) merge(next bucket) {
	if next.peak.Unavailable() > b.peak.Unavailable() {
		b.peak = next.peak
	}
	b.last = next.last
}

// keep puts a point, later than all before, into its bucket. When there are too many, buckets become twice as wide.
func (r *Recorder) keep(p Point) {
	r.buckets = r.join(r.buckets, bucket{p, p})
	for len(r.buckets) > r.most() {
		r.shift++
		joined := r.buckets[:0]
		for _, b := range r.buckets {
			joined = r.join(joined, b)
		}
		r.buckets = joined
	}
}

// most is how many buckets there may be. Each gives two points, and the beginning is one more point.
func (r *Recorder) most() int {
	points := r.Points
	if points == 0 {
		points = defaultPoints
	}
	return (max(points, leastPoints) - 1) / 2
}

func (r *Recorder) join(buckets []bucket, b bucket) []bucket {
	last := len(buckets) - 1
	if last >= 0 && buckets[last].last.At>>r.shift == b.last.At>>r.shift {
		buckets[last].merge(b)
		return buckets
	}
	return append(buckets, b)
}

// traffic is bytes in spans of equal width from instant 0 on.
type traffic struct {
	width time.Duration // 0: no bytes came yet
	spans []int64
}

const (
	mostSpans  = 1024
	leastWidth = time.Millisecond
)

// add adds bytes that came between two instants at an even rate, or at one instant if the two are equal.
func (t *traffic) add(from, to time.Duration, size int64) {
	from, to = max(from, 0), max(to, 0)
	if size <= 0 {
		return
	}
	if t.width == 0 {
		t.width = leastWidth
	}
	for to/t.width >= mostSpans {
		t.widen()
	}
	for int64(len(t.spans)) <= int64(to/t.width) {
		t.spans = append(t.spans, 0)
	}
	if from >= to {
		t.spans[to/t.width] += size
		return
	}
	var before int64
	for at := from; at < to; {
		i := int64(at / t.width)
		at = min(time.Duration(i+1)*t.width, to)
		by := share(size, at-from, to-from)
		t.spans[i] += by - before
		before = by
	}
}

// widen makes spans twice as wide.
func (t *traffic) widen() {
	t.width *= 2
	half := t.spans[:0]
	for i, size := range t.spans {
		if i%2 == 0 {
			half = append(half, size)
		} else {
			half[i/2] += size
		}
	}
	t.spans = half
}

// share is size * part / whole, rounded down. 0 <= part <= whole.
func share(size int64, part, whole time.Duration) int64 {
	hi, lo := bits.Mul64(uint64(size), uint64(part))
	quotient, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(min(quotient, math.MaxInt64))
}

// joinTraffic puts both side by side, in the wider of their spans.
func joinTraffic(registry, peers traffic) []Traffic {
	both := [...]*traffic{&registry, &peers}
	width := max(registry.width, peers.width)
	for _, t := range both {
		t.spans = append([]int64(nil), t.spans...)
		for t.width > 0 && t.width < width {
			t.widen()
		}
	}
	joined := make([]Traffic, max(len(registry.spans), len(peers.spans)))
	if len(joined) == 0 {
		return nil
	}
	for i := range joined {
		joined[i].From, joined[i].To = time.Duration(i)*width, time.Duration(i+1)*width
		if i < len(registry.spans) {
			joined[i].Registry = registry.spans[i]
		}
		if i < len(peers.spans) {
			joined[i].Peers = peers.spans[i]
		}
	}
	return joined
}
