package rollouttest

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// CheckNextWake checks V15. With nothing but the clock changed, a plan made before NextWake must hold the same
// actions, decisions and status; without a NextWake, a plan at any later instant. Whoever plans again at each
// NextWake must come to an end: each object and each back-off can wake a few times only. The durations are further
// instants to try, counted from the snapshot's Now; those at which the plan may differ are left out.
//
// The same actions are patches of the same effect, with the instants of that plan in them. Pulls that failed after Now, by
// a clock that was set back since, are left out: they count from whatever is now until somebody says from when.
func CheckNextWake(plan PlanFunc, snapshot rollout.Snapshot, after ...time.Duration) error {
	snapshot.FailedPulls = slices.DeleteFunc(slices.Clone(snapshot.FailedPulls), func(f predownload.Failure) bool {
		return f.At.After(snapshot.Now)
	})
	p, err := plan(snapshot)
	if err != nil {
		return fmt.Errorf("V15: %w", err)
	}
	wake := p.NextWake
	for _, now := range quiet(snapshot.Now, wake, after) {
		later := snapshot
		later.Now = now
		again, err := plan(later)
		if err != nil {
			return fmt.Errorf("V15: %w", err)
		}
		if diff := planDiff(timeless(p, snapshot.Now), timeless(again, snapshot.Now, now)); diff != "" {
			return fmt.Errorf("V15: NextWake is %v, but after %v the plan differs (-now, +then):\n%s",
				wake, now.Sub(snapshot.Now), diff)
		}
		if !again.NextWake.Equal(wake) {
			return fmt.Errorf("V15: NextWake is %v, but after %v it is %v", wake, now.Sub(snapshot.Now), again.NextWake)
		}
	}
	return checkWakesEnd(plan, snapshot, wake)
}

func checkWakesEnd(plan PlanFunc, snapshot rollout.Snapshot, wake time.Time) error {
	const perObject = 2
	most := perObject * (len(snapshot.Nodes) + len(snapshot.Pods) + len(snapshot.Memory.Backoffs) + len(snapshot.FailedPulls))
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
		wake = p.NextWake
	}
	return nil
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
// change now, in patches too, and facts about single nodes that no counter of the status shows.
func timeless(p rollout.Plan, instants ...time.Time) rollout.Plan {
	p.Memory, p.NextWake = rollout.Memory{}, time.Time{}
	p.Patches = dateless(p.Patches, instants...)
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
