package predownload

import (
	"cmp"
	"slices"
	"time"
)

// The back-off after a failed pull: 10 s, doubled with every further failure, at most 5 min. That is how a kubelet
// spaces its own pulls.
const (
	firstBackoff   = 10 * time.Second
	longestBackoff = 5 * time.Minute
	mostDoublings  = 5 // after which 10 s is beyond the longest back-off; more could overflow
)

// Failure is the record of the failed pulls of one image on one node. The caller keeps it.
type Failure struct {
	Node, Image string
	// Count is how many pulls have failed. Less than 1 counts as 1.
	Count int32
	// At is when the last one failed.
	At time.Time
}

// Until returns when the image may be pulled on the node again: 10 s after At, doubled with every failure beyond the
// first, at most 5 min. A failure that lies in the future, as after a clock was set back, is taken to have happened
// now: obeying it could block the node for years, and forgetting it would retry at once.
func (f Failure) Until(now time.Time) time.Time {
	f = f.settle(now)
	return f.At.Add(min(firstBackoff<<min(f.Count-1, mostDoublings), longestBackoff))
}

// settle corrects a count below 1 and a time in the future.
func (f Failure) settle(now time.Time) Failure {
	f.Count = max(f.Count, 1)
	if f.At.After(now) {
		f.At = now
	}
	return f
}

// settle returns the corrected failures, one per node and image, sorted. Of several records of one node and image the more
// cautious parts count, so that their order does not matter.
func settle(failures []Failure, now time.Time) []Failure {
	var settled []Failure
	for _, f := range failures {
		settled = append(settled, f.settle(now))
	}
	slices.SortFunc(settled, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), parse(a.Image).compare(parse(b.Image)), cmp.Compare(a.Image, b.Image))
	})
	merged := settled[:0]
	for _, f := range settled {
		if last := len(merged) - 1; last >= 0 && merged[last].Node == f.Node && parse(merged[last].Image) == parse(f.Image) {
			merged[last].Count = max(merged[last].Count, f.Count)
			if f.At.After(merged[last].At) {
				merged[last].At = f.At
			}
			continue
		}
		merged = append(merged, f)
	}
	return merged
}
