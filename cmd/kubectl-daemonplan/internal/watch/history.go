package watch

import (
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// history is what a watch has seen of the rollout of one revision.
type history struct {
	began    time.Time
	revision string
	states   map[string]rollout.NodeState

	// most is the highest number of settled nodes so far. A pod that fails and comes back is no progress. Gains are when it grew
	// last.
	most  int
	gains []gain

	changed time.Time // when a node was last seen in another state; zero: never
	change  string
}

// gain is a new highest number of settled nodes.
type gain struct {
	at      time.Time
	settled int
}

// gainsKept is how many gains the pace is observed from. Older ones say little about the pace now.
const gainsKept = 32

// patience is how long no further node may be settled until the rollout counts as stuck. It is what a Deployment has as
// progressDeadlineSeconds by default.
const patience = 10 * time.Minute

// note adds a plan to the history.
func (h *history) note(r *plan.Result, o *plan.Overview) {
	now := r.Snapshot.Now
	if h.began.IsZero() || h.revision != r.Plan.Status.UpdateRevision {
		states, changed, change := h.states, h.changed, h.change
		if !h.began.IsZero() {
			changed, change = now, "another revision is rolled out: "+o.Revision
		}
		*h = history{
			began: now, revision: r.Plan.Status.UpdateRevision, most: o.Settled,
			states: states, changed: changed, change: change,
		}
	}
	if o.Settled > h.most {
		h.most = o.Settled
		h.gains = append(h.gains, gain{now, o.Settled})
		h.gains = h.gains[max(0, len(h.gains)-gainsKept):]
	}
	h.noteStates(r)
}

// noteStates finds the nodes that are in another state than in the plan before.
func (h *history) noteStates(r *plan.Result) {
	states := make(map[string]rollout.NodeState, len(r.Plan.Decisions))
	changes, first := 0, ""
	note := func(format string, args ...any) {
		if changes++; changes == 1 {
			first = fmt.Sprintf(format, text.Cells(args...)...)
		}
	}
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		if d.Node == "" {
			continue
		}
		states[d.Node] = d.State
		switch before, known := h.states[d.Node]; {
		case h.states == nil:
		case !known:
			note("%s joined", d.Node)
		case before != d.State:
			note("%s was %s, is %s", d.Node, before, d.State)
		}
	}
	for node := range h.states {
		if _, there := states[node]; !there {
			note("%s is gone", node)
		}
	}
	h.states = states
	if changes > 0 {
		h.changed, h.change = r.Snapshot.Now, first
		if changes > 1 {
			h.change += fmt.Sprintf(", and %s more", text.Counted(changes-1, "node"))
		}
	}
}

// lastGain is when a node was last settled; without one, when the watch of the revision began.
func (h *history) lastGain() time.Time {
	if len(h.gains) == 0 {
		return h.began
	}
	return h.gains[len(h.gains)-1].at
}

// stalled reports whether a rollout that goes on by itself has not got any further for too long. A pod may take minReadySeconds
// and its grace period besides. While the clock of a canary or of slow start is waited for, nothing is wrong.
func (h *history) stalled(r *plan.Result, o *plan.Overview, now time.Time) bool {
	spec := r.Spec
	allowed := patience + time.Duration(spec.MinReadySeconds)*time.Second
	if grace := spec.Template.Spec.TerminationGracePeriodSeconds; grace != nil {
		allowed += time.Duration(*grace) * time.Second
	}
	waits := o.OnTrial || r.Plan.Budget.SlowStart > 0 && !r.Plan.NextWake.IsZero()
	return o.Progress == plan.GoesOn && !waits && now.Sub(h.lastGain()) >= allowed
}

// estimate says when the rollout will be complete, and from what that is estimated.
func (h *history) estimate(o *plan.Overview, now time.Time) string {
	switch {
	case o.Progress == plan.Complete:
		return "none, the rollout is complete"
	case o.Progress == plan.Stopped:
		return "never by itself: it goes on when somebody acts"
	case o.OnTrial:
		return "unknown: a canary is on trial"
	case len(h.gains) == 0:
		return fmt.Sprintf("unknown: no node was updated since this watch began (%s)", text.Duration(now.Sub(h.began)))
	case len(h.gains) == 1:
		return "unknown: the pace shows when the next nodes are updated"
	}
	first, last := h.gains[0], h.gains[len(h.gains)-1]
	var longest time.Duration
	for i := 1; i < len(h.gains); i++ {
		longest = max(longest, h.gains[i].at.Sub(h.gains[i-1].at))
	}
	idle := now.Sub(last.at)
	if idle > max(2*longest, leastIdle) {
		return fmt.Sprintf("unknown: no node was updated for %s", text.Duration(idle))
	}
	// The nodes of the first gain were under way before the time that is measured here.
	took, settled := last.at.Sub(first.at), last.settled-first.settled
	left := max(0, time.Duration(float64(took)/float64(settled)*float64(o.Left))-idle)
	return fmt.Sprintf("about %s, at the pace of this watch: %s updated in %s, %d to go",
		text.Duration(left.Round(time.Second)), text.Counted(settled, "node"), text.Duration(took), o.Left)
}

// leastIdle is how long without progress says nothing about the pace.
const leastIdle = 30 * time.Second
