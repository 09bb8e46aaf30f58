package simulate

import (
	"cmp"
	"math"
	"math/bits"
	"time"
)

// nodeTime is time summed over nodes, in nanoseconds, with 128 bits: 100,000 nodes that wait for a week make more than the
// 292 years that a [time.Duration] can hold.
type nodeTime struct{ hi, lo uint64 }

// add adds n nodes for a time d. It adds nothing if n or d is not positive.
func (s *nodeTime) add(n int, d time.Duration) {
	if n <= 0 || d <= 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(n), uint64(d))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// duration is the sum, or the longest Duration if it is more.
func (s nodeTime) duration() time.Duration {
	if s.hi > 0 || s.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(s.lo)
}

func (s nodeTime) compare(other nodeTime) int {
	return cmp.Or(cmp.Compare(s.hi, other.hi), cmp.Compare(s.lo, other.lo))
}

// per is the mean number of nodes over d; 0 without any time.
func (s nodeTime) per(d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	// The conversion keeps compilers from fusing product and sum, which would round otherwise on other machines.
	return (float64(float64(s.hi)*0x1p64) + float64(s.lo)) / float64(d)
}

// gauge is a number of nodes over time: its peak and its integral.
type gauge struct {
	now, peak     int
	since, peakAt time.Duration
	sum           nodeTime
}

// set sets the number from that instant on. A number that it had for no time, within one instant, is no peak, because the order
// of changes within an instant means nothing.
func (g *gauge) set(at time.Duration, now int) {
	if at > g.since {
		g.top()
	}
	g.sum.add(g.now, at-g.since)
	g.since, g.now = max(at, g.since), now
}

// top makes the present number the peak if it is the highest so far.
func (g *gauge) top() {
	if g.now > g.peak {
		g.peak, g.peakAt = g.now, g.since
	}
}

// unavailable is the gauge's reading at an instant.
func (g gauge) unavailable(at time.Duration) Unavailable {
	g.set(at, g.now)
	g.top()
	return Unavailable{Peak: g.peak, PeakAt: g.peakAt, NodeTime: g.sum.duration(), AtEnd: g.now}
}
