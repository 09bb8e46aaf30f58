package integration_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// Two replicas elect a leader, which alone acts. When it is cut off, without a word, the other goes on from what is there.
func TestTwoReplicas(t *testing.T) {
	w := newWorld(t, 12)
	w.set(maxUnavailable("2"))
	first := &replica{until: 1 + 12 + 18} // a revision, the installation, and more than four rounds of the update
	second := &replica{instead: first}
	w.runAs(manner{replica: "first"}, first.through())
	w.settled(12)
	w.runAs(manner{replica: "second"}, second.through())
	w.audit.Begin()
	w.change(image("v2"))
	w.settled(12)
	w.endedSoundly(12, 2)
	if first.actions.Load() != first.until || second.actions.Load() == 0 {
		t.Errorf("the first replica acted %d times, the second %d times; want %d, and the rest", first.actions.Load(), second.actions.Load(), first.until)
	}
	if early := second.early.Load(); early > 0 {
		t.Errorf("the second replica acted %d times while the first was there", early)
	}
}

// replica counts what it does to pods and revisions.
type replica struct {
	actions atomic.Int64
	// until is how many actions it does before its connection is cut for good. 0: it never is.
	until int64
	// instead of whom it is to act, and how often it did so while that one was there.
	instead *replica
	early   atomic.Int64
}

func (r *replica) isCut() bool { return r.until > 0 && r.actions.Load() >= r.until }

func (r *replica) through() func(*rest.Config) {
	return through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.isCut() {
			return nil, errCut
		}
		if isAction(request) {
			if n := r.actions.Add(1); r.until > 0 && n > r.until { // several are sent at a time
				r.actions.Add(-1)
				return nil, errCut
			}
			if r.instead != nil && !r.instead.isCut() {
				r.early.Add(1)
			}
		}
		return next.RoundTrip(request)
	})
}
