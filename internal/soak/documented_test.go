package main

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/diagnosis"
	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/status"
)

// TestDocumentedPolicies has each policy of docs/policies-for-fleets.md meet trouble: it comes to its end or says what helps, and no
// version that works is given up. One seed of each is a sample; make soak DOCUMENTED=1 runs as many as there is time for, and with
// SOAK_WORLDS=2000 200 of each.
func TestDocumentedPolicies(t *testing.T) {
	const seeds = 1
	for i := range uint64(seeds * len(worlds.Documented)) {
		w := documentedFrom(1, i)
		if out := check(w.scenario(), w.options(checkOptions{every: 100})); out.failure != nil {
			t.Errorf("seed %s: %s: %s", w, out.failure.kind, out.failure.text)
		}
	}
}

// TestEnded: a set that goes on by itself for ever, and one that is stuck and does not say what would help, have no end.
func TestEnded(t *testing.T) {
	blockers := []rollout.Blocker{{Why: "nobody does it", Helps: []string{"do it"}}}
	const long, day = 5 * 24 * time.Hour, 24 * time.Hour
	for _, tt := range []struct {
		name     string
		state    status.SetState
		blockers []rollout.Blocker
		end      simulate.End
		said     time.Duration // when a plan said last what would help; 0: none did; below: so many restarts are told
		wrong    bool
	}{
		{"done, and more", status.Updating, nil, simulate.EndDone, 0, false},
		{"goes on for ever", status.Updating, nil, simulate.EndLimit, 0, true},
		{"stands still", status.Updating, nil, simulate.EndStuck, 0, true},
		{"tries for ever", status.Canary, nil, simulate.EndStuck, 0, true},
		{"stuck with help", status.Stuck, blockers, simulate.EndStuck, 0, false},
		{"stuck without help", status.Stuck, nil, simulate.EndStuck, 0, true},
		{"somebody stopped it", status.Paused, nil, simulate.EndStuck, 0, false},
		{"crashes for ever, and says so now and then", status.Updating, nil, simulate.EndLimit, long - day + 1, false},
		{"crashes for ever, and a plan says so", status.Updating, nil, simulate.EndLimit, -6, false},
		{"said so long ago", status.Updating, nil, simulate.EndLimit, long - day, true},
		{"said so, and stands still", status.Updating, nil, simulate.EndStuck, long - 1, true},
	} {
		plan := rollout.Plan{Status: status.Status{State: tt.state}, Blockers: tt.blockers}
		if tt.said < 0 {
			plan.Causes = []rollout.NodeCause{{Cause: diagnosis.Cause{Restarts: -int32(tt.said)}}}
		}
		c := &checker{step: &simulate.Step{Plan: plan}, said: tt.said}
		if err := c.ended(&simulate.Report{End: tt.end, Elapsed: long}); err != nil != tt.wrong {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestBlamed: a version that works and was given up is found.
func TestBlamed(t *testing.T) {
	spec := rollouttest.Spec("agent")
	givenUp := rollouttest.Revision(spec, 1)
	givenUp.Annotations = map[string]string{history.FailedAnnotation: "TooManyFailures"}
	for _, tt := range []struct {
		name     string
		revision *appsv1.ControllerRevision
		good     []string
		wrong    bool
	}{
		{"given up", givenUp, []string{rollouttest.Hash(spec)}, true},
		{"it may be bad", givenUp, []string{"another"}, false},
		{"not given up", rollouttest.Revision(spec, 1), []string{rollouttest.Hash(spec)}, false},
	} {
		c := &checker{options: checkOptions{good: tt.good}}
		err := c.blamed(&simulate.Step{Snapshot: rollout.Snapshot{Revisions: []*appsv1.ControllerRevision{tt.revision}}})
		if err != nil != tt.wrong || err != nil && !strings.Contains(err.Error(), "TooManyFailures") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
