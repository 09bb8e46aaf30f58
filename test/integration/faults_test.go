package integration_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// Whatever the API server answers, and whether it answers at all: the rollout ends, within its bounds, and nothing is done twice.
func TestStorms(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, 12)
			w.set(maxUnavailable("3"))
			w.runController(through(storm(seed, 60)))
			w.settled(12)
			w.audit.Begin()
			w.change(image("v2"))
			w.settled(12)
			w.endedSoundly(12, 3)
		})
	}
}

// A request whose answer was lost may have been executed, also if the watch is late to say so: it is not sent again before it is
// clear that it was not.
func TestLostAnswers(t *testing.T) {
	w := newWorld(t, 6)
	w.set(maxUnavailable("2"))
	watch := lagging(time.Second)
	var posts atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := watch(request, next)
		if err == nil && request.Method == http.MethodPost && isAction(request) && posts.Add(1)%2 == 0 {
			_ = response.Body.Close()
			return nil, errCut
		}
		return response, err
	}))
	w.settled(6)
	w.audit.Begin()
	w.change(image("v2"))
	w.settled(6)
	w.endedSoundly(6, 2)
}

// With a cache that is half a second late the controller knows what it has asked for.
func TestWatchLag(t *testing.T) {
	w := newWorld(t, 12)
	w.set(maxUnavailable("3"))
	w.runController(through(lagging(500 * time.Millisecond)))
	w.settled(12)
	w.audit.Begin()
	w.change(image("v2"))
	w.settled(12)
	w.endedSoundly(12, 3)
}

// A controller that dies between any two calls, with or without an answer, is followed by one that knows what the API server
// shows, and no more.
func TestKilledAnywhere(t *testing.T) {
	w := newWorld(t, 6)
	w.set(maxUnavailable("2"))
	stop := w.runController()
	w.settled(6)
	stop()
	w.audit.Begin()
	w.change(image("v2"))
	for n, done := 1, false; !done; n++ {
		m := newMortal(1+n%4, n%2 == 0)
		stop := w.runController(through(m.transport))
		for dead := false; !dead && !done; {
			select {
			case <-m.dead:
				dead = true
			case <-time.After(100 * time.Millisecond):
				set := w.current()
				done = set.Status.ObservedGeneration == set.Generation && set.Status.State == "Running" && set.Status.NumberAvailable == 6
			}
		}
		stop()
		if n > 60 {
			t.Fatalf("no end after %d controllers\n%s", n, w.describe())
		}
	}
	w.endedSoundly(6, 2)
}

// endedSoundly checks what was seen since the rollout began: each node's pod was replaced once, within the budget.
func (w *world) endedSoundly(nodes, budget int) {
	w.Helper()
	if created, deleted, peak := w.counts(); created != nodes || deleted != nodes || peak > budget {
		w.Errorf("%d pods created, %d deleted, %d nodes without a serving pod at a time; want %d, %d and at most %d", created, deleted, peak,
			nodes, nodes, budget)
	}
	if err := w.audit.Sound(); err != nil {
		w.Error(err)
	}
}
