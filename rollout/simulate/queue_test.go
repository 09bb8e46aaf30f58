package simulate

import (
	"slices"
	"testing"
	"time"
)

// queueOwner records when it is fired.
type queueOwner struct {
	name  string
	timer timer
}

func (*queueOwner) fire(*Simulation) {}

// Timers are fired at their instants, and those of one instant in a fixed order.
func TestQueue(t *testing.T) {
	a, b, c := &queueOwner{name: "a"}, &queueOwner{name: "b"}, &queueOwner{name: "c"}
	for _, o := range []*queueOwner{a, b, c} {
		o.timer.owner = o
	}
	for _, row := range []struct {
		name, why string
		do        func(*queue)
		want      []string
	}{
		{"nothing", "is set", func(*queue) {}, nil},
		{"by time", "however they are set", func(q *queue) {
			q.put(&c.timer, 3)
			q.put(&a.timer, 1)
			q.put(&b.timer, 2)
		}, []string{"a", "b", "c"}},
		{"at one instant", "in the order in which they were set", func(q *queue) {
			q.put(&c.timer, 1)
			q.put(&a.timer, 1)
			q.put(&b.timer, 1)
		}, []string{"c", "a", "b"}},
		{"put off", "it goes behind those that were there", func(q *queue) {
			q.put(&a.timer, 1)
			q.put(&b.timer, 2)
			q.put(&c.timer, 3)
			q.put(&a.timer, 3)
		}, []string{"b", "c", "a"}},
		{"brought forward", "it goes first", func(q *queue) {
			q.put(&a.timer, 2)
			q.put(&b.timer, 3)
			q.put(&c.timer, 4)
			q.put(&c.timer, 1)
		}, []string{"c", "a", "b"}},
		{"set to the same instant again", "nothing has changed, so it keeps its place", func(q *queue) {
			q.put(&a.timer, 1)
			q.put(&b.timer, 1)
			q.put(&a.timer, 1)
		}, []string{"a", "b"}},
		{"moved there and back", "it was set anew", func(q *queue) {
			q.put(&a.timer, 1)
			q.put(&b.timer, 1)
			q.put(&a.timer, 2)
			q.put(&a.timer, 1)
		}, []string{"b", "a"}},
		{"stopped", "it does not come, and the others do", func(q *queue) {
			q.put(&a.timer, 1)
			q.put(&b.timer, 2)
			q.put(&c.timer, 3)
			q.stop(&a.timer)
			q.stop(&a.timer)
			q.stop(&b.timer)
		}, []string{"c"}},
		{"stopped and set again", "behind others of its instant", func(q *queue) {
			q.put(&a.timer, 1)
			q.put(&b.timer, 1)
			q.stop(&a.timer)
			q.put(&a.timer, 1)
		}, []string{"b", "a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var q queue
			row.do(&q)
			if q.foreground != len(row.want) {
				t.Errorf("%d in the foreground, %d are set", q.foreground, len(row.want))
			}
			var got []string
			last := time.Duration(0)
			for next := q.next(); next != nil; next = q.next() {
				if next.at < last || !next.isSet() {
					t.Errorf("%v after %v", next.at, last)
				}
				last = next.at
				q.stop(next)
				owner, _ := next.owner.(*queueOwner)
				got = append(got, owner.name)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%s: %v, right is %v", row.why, got, row.want)
			}
			if q.foreground != 0 || a.timer.isSet() || b.timer.isSet() || c.timer.isSet() {
				t.Error("something is left")
			}
		})
	}
}

// Timers of the background are fired like others, but do not prevent the end of a run.
func TestQueueBackground(t *testing.T) {
	var q queue
	a := &queueOwner{timer: timer{background: true}}
	b := &queueOwner{}
	q.put(&a.timer, 1)
	q.put(&b.timer, 2)
	q.put(&a.timer, 3)
	if q.foreground != 1 || q.next() != &b.timer {
		t.Errorf("%d in the foreground", q.foreground)
	}
	q.stop(&b.timer)
	if q.foreground != 0 || q.next() != &a.timer {
		t.Errorf("%d in the foreground", q.foreground)
	}
	q.stop(&a.timer)
	if q.foreground != 0 || q.next() != nil {
		t.Errorf("%d in the foreground", q.foreground)
	}
}
