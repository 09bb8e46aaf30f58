package simulate

import (
	"math"
	"testing"
	"time"
)

// The sums of 100,000 nodes over weeks exceed a Duration.
func TestNodeTimeBeyondDurations(t *testing.T) {
	const week = 7 * 24 * time.Hour
	var one, two nodeTime
	one.add(100_000, week)
	two.add(100_000, week)
	two.add(1, 1)
	if one.duration() != math.MaxInt64 || one.compare(two) >= 0 || two.compare(one) <= 0 || one.compare(one) != 0 {
		t.Errorf("%v is %v, against %v", one, one.duration(), two)
	}
	if got := one.per(week); got != 100_000 {
		t.Errorf("%v nodes on average", got)
	}
	for range 100 { // the sum needs more than 64 bits
		one.add(100_000, week)
	}
	if got := one.per(week); got != 101*100_000 {
		t.Errorf("%v nodes on average", got)
	}
	var just nodeTime
	just.add(2, math.MaxInt64)
	just.add(2, 1)
	if just != (nodeTime{1, 0}) || just.duration() != math.MaxInt64 {
		t.Errorf("2⁶⁴ ns are %v, as a duration %v", just, just.duration())
	}
	var moment nodeTime
	moment.add(3, 1)
	if got := moment.per(1); got != 3 {
		t.Errorf("%v nodes on average over a nanosecond, want 3", got)
	}
	var most nodeTime
	most.add(1, math.MaxInt64)
	if most.duration() != math.MaxInt64 {
		t.Errorf("the longest duration is %v", most.duration())
	}
	most.add(-1, 1)
	most.add(1, -1)
	if most != (nodeTime{0, math.MaxInt64}) || most.per(0) != 0 || most.per(-1) != 0 {
		t.Errorf("negative numbers count: %v", most)
	}
}
