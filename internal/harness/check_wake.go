package harness

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// CheckNextWake checks V15. With nothing but the clock changed, a plan made before NextWake must hold the same
// actions, decisions and status; without a NextWake, a plan at any later instant. Whoever plans again at each
// NextWake must come to an end: each object and each back-off can wake a few times only. The durations are further
// instants to try, counted from the snapshot's Now; those at which the plan may differ are left out.
//
// The later plans know what the first one remembers of the rollout and of its canary, whose clocks begin with it if they did
// not run yet. A plan that obeys the command retry begins a canary whenever it is made, and is left out.
//
// The same actions are patches of the same effect, with the instants of that plan in them. Pulls that failed after Now, and
// back-offs that began then, by a clock that was set back since, are left out: they count from whatever is now until somebody
// says from when. Restarts of the canary that are on record for then stay on record for then: the first plan says from when,
// and a plan that knows has another NextWake.
func CheckNextWake(plan PlanFunc, snapshot rollout.Snapshot, after ...time.Duration) error {
	snapshot.FailedPulls = slices.DeleteFunc(slices.Clone(snapshot.FailedPulls), func(f predownload.Failure) bool {
		return f.At.After(snapshot.Now)
	})
	snapshot.Memory.Backoffs = slices.DeleteFunc(slices.Clone(snapshot.Memory.Backoffs), func(b rollout.Backoff) bool {
		return b.Since.After(snapshot.Now)
	})
	p, err := plan(snapshot)
	if err != nil {
		return fmt.Errorf("V15: %w", err)
	}
	if retries(snapshot, p) || givesUp(snapshot, p) {
		return nil
	}
	wake := p.NextWake
	for _, now := range quiet(snapshot.Now, wake, after) {
		later := remembering(snapshot, p)
		given, kept := &snapshot.Memory.Canary, &later.Memory.Canary
		if given.Restarting.After(snapshot.Now) || given.Restarted.After(snapshot.Now) {
			kept.Restarting, kept.Restarted = given.Restarting, given.Restarted
		}
		later.Now = now
		again, err := plan(later)
		if err != nil {
			return fmt.Errorf("V15: %w", err)
		}
		first, then := timeless(p, snapshot.Now, now), timeless(again, snapshot.Now, now)
		if promotesFirst(snapshot, p) {
			first.Revisions, then.Revisions = undeleted(first.Revisions), undeleted(then.Revisions)
		}
		if diff := planDiff(first, then); diff != "" {
			return fmt.Errorf("V15: NextWake is %v, but after %v the plan differs (-now, +then):\n%s",
				wake, now.Sub(snapshot.Now), diff)
		}
		if !again.NextWake.Equal(wake) {
			return fmt.Errorf("V15: NextWake is %v, but after %v it is %v", wake, now.Sub(snapshot.Now), again.NextWake)
		}
	}
	return checkWakesEnd(plan, remembering(snapshot, p), wake)
}

// promotesFirst reports whether the plan is the first to promote the update revision. It writes that down, and whoever looks
// again does not need the revision any more that the canary would have gone back to (R4).
func promotesFirst(snapshot rollout.Snapshot, p rollout.Plan) bool {
	return p.Memory.Canary.Verdict != nil && p.Memory.Canary.Verdict.Phase == canary.Idle && snapshot.Memory.Canary.Verdict == nil
}

// undeleted are the actions on revisions without those that delete.
func undeleted(actions []rollout.RevisionAction) []rollout.RevisionAction {
	return slices.DeleteFunc(slices.Clone(actions), func(a rollout.RevisionAction) bool {
		return a.Verb == rollout.DeleteRevision
	})
}

// givesUp reports whether the plan gives the update revision up: it writes that down, and the next plan goes back (F3).
func givesUp(snapshot rollout.Snapshot, p rollout.Plan) bool {
	return p.GaveUp != "" && snapshot.Memory.Rollout.GaveUp == ""
}

// retries reports whether the plan obeys the command retry: it says so on the revision, or would if another write of the revision
// were not in flight; then a revision that has failed is on trial all the same.
func retries(snapshot rollout.Snapshot, p rollout.Plan) bool {
	for _, a := range p.Revisions {
		_, annotated := a.Annotations[history.RetriedAnnotation]
		if a.Object != nil {
			_, created := a.Object.Annotations[history.RetriedAnnotation]
			annotated = annotated || created
		}
		if annotated {
			return true
		}
	}
	return p.Canary.Phase != canary.Failed && slices.ContainsFunc(snapshot.Revisions, func(r *appsv1.ControllerRevision) bool {
		return history.HashOf(r) == p.Canary.Revision && history.Failed(r) && slices.Contains(snapshot.InFlight.Revisions, r.Name)
	})
}

func checkWakesEnd(plan PlanFunc, snapshot rollout.Snapshot, wake time.Time) error {
	const perObject, aCanary = 2, 10
	most := perObject * (len(snapshot.Nodes) + len(snapshot.Pods) + len(snapshot.Memory.Backoffs) + len(snapshot.FailedPulls))
	if wake.IsZero() {
		return nil
	}
	most += aCanary
	for n := 0; !wake.IsZero(); n++ {
		if n > most {
			return fmt.Errorf("V15: still waking up at %v, after %d times", wake, n)
		}
		if !wake.After(snapshot.Now) {
			return fmt.Errorf("V15: NextWake %v is not after now, %v", wake, snapshot.Now)
		}
		snapshot.Now = wake
		p, err := plan(snapshot)
		if err != nil {
			return fmt.Errorf("V15: %w", err)
		}
		wake, snapshot = p.NextWake, remembering(snapshot, p)
	}
	return nil
}

// remembering is the snapshot with what the plan remembers of clocks that run: without it they would begin anew at each plan.
func remembering(snapshot rollout.Snapshot, p rollout.Plan) rollout.Snapshot {
	if snapshot.Memory.Version != rollout.MemoryVersion {
		snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion}
	}
	before := snapshot.Memory.Rollout
	snapshot.Memory.Rollout = p.Memory.Rollout
	// That it is complete is seen by whoever looks again.
	snapshot.Memory.Rollout.Completed = before.Completed && before.Revision == p.Memory.Rollout.Revision
	if v := p.Memory.Canary.Verdict; v == nil || v.Phase != canary.Failed { // which a command may revive at once
		snapshot.Memory.Canary = p.Memory.Canary
	}
	return snapshot
}

// quiet are instants at which the plan must be the same: those given, and some close to the edges.
func quiet(now, wake time.Time, after []time.Duration) []time.Time {
	const year = 365 * 24 * time.Hour
	after = append(slices.Clone(after), 1, time.Second, time.Minute, time.Hour, year)
	if !wake.IsZero() {
		after = append(after, wake.Sub(now)/2, wake.Sub(now)-1)
	}
	var list []time.Time
	for _, d := range after {
		if at := now.Add(d); d > 0 && (wake.IsZero() || at.Before(wake)) {
			list = append(list, at)
		}
	}
	return list
}

// timeless is the plan without what may change while nobody wakes up: memory, transition times of conditions that
// change now, in patches too, marks that say when they were made, facts about single nodes that no counter of the status
// shows, and what slow start allows and counts as long as nobody is turned down for it (B7).
func timeless(p rollout.Plan, instants ...time.Time) rollout.Plan {
	p.Memory, p.NextWake = rollout.Memory{}, time.Time{}
	p.Patches = dateless(p.Patches, instants...)
	p.Revisions = unmarked(p.Revisions, instants...)
	p.Budget.SlowStart, p.Budget.UnderWay = 0, 0
	if slices.ContainsFunc(instants, p.Canary.At.Equal) {
		p.Canary.At = time.Time{}
	}
	p.Decisions = slices.Clone(p.Decisions)
	for i := range p.Decisions {
		p.Decisions[i].Facts = 0
	}
	p.Status.Conditions = slices.Clone(p.Status.Conditions)
	for i := range p.Status.Conditions {
		p.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return p
}
