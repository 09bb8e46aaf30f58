package simulate

import (
	"container/heap"
	"time"
)

// timer is one thing that is to happen to its owner. Whoever owns it embeds it, so that setting it allocates nothing.
type timer struct {
	at    time.Duration
	order uint64 // among timers of one instant: in which they were set
	place int32  // in the queue, counted from 1; 0: not set
	// background timers do not keep a run from being done.
	background bool
	owner      fires
}

// fires is what a timer belongs to.
type fires interface{ fire(s *Simulation) }

func (t *timer) isSet() bool { return t.place > 0 }

// queue holds the timers that are set, the earliest first.
type queue struct {
	timers     []*timer
	set        uint64 // how often any was
	foreground int
}

// put sets the timer to an instant, whatever it was set to.
func (q *queue) put(t *timer, at time.Duration) {
	if t.isSet() && t.at == at {
		return
	}
	q.set++
	t.at, t.order = at, q.set
	if t.isSet() {
		heap.Fix(q, int(t.place-1))
		return
	}
	if !t.background {
		q.foreground++
	}
	heap.Push(q, t)
}

// stop takes the timer out of the queue. A timer that is not set stays so.
func (q *queue) stop(t *timer) {
	if !t.isSet() {
		return
	}
	heap.Remove(q, int(t.place-1))
	if !t.background {
		q.foreground--
	}
}

// next is the timer that is due first; nil: none is set.
func (q *queue) next() *timer {
	if len(q.timers) == 0 {
		return nil
	}
	return q.timers[0]
}

// Len, Less, Swap, Push and Pop are for package heap.
func (q *queue) Len() int { return len(q.timers) }

func (q *queue) Less(i, j int) bool {
	a, b := q.timers[i], q.timers[j]
	if a.at != b.at {
		return a.at < b.at
	}
	return a.order < b.order
}

func (q *queue) Swap(i, j int) {
	q.timers[i], q.timers[j] = q.timers[j], q.timers[i]
	q.timers[i].place, q.timers[j].place = int32(i+1), int32(j+1)
}

func (q *queue) Push(x any) {
	t, _ := x.(*timer)
	q.timers = append(q.timers, t)
	t.place = int32(len(q.timers))
}

func (q *queue) Pop() any {
	last := len(q.timers) - 1
	t := q.timers[last]
	q.timers[last] = nil
	q.timers = q.timers[:last]
	t.place = 0
	return t
}
