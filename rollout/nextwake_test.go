package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// NextWake is the earliest instant at which the clock alone changes the plan or the report.
func TestNextWakeInstants(t *testing.T) {
	const second, minute = time.Second, time.Minute
	ready := kit.MinReadySeconds(60)
	backoff := func(node string, delay, since time.Duration) rollout.Backoff {
		return rollout.Backoff{Node: node, Revision: "update", Delay: delay, Since: ago(since)}
	}
	tests := []struct {
		scene
		wake time.Duration // from now; 0: never
	}{
		{scene: scene{name: "nothing", why: "an empty cluster changes by itself in no way"}},
		{scene: scene{name: "settled", why: "nothing to wait for", spec: []kit.SpecOption{ready}, fleet: []spot{on("a", newPod())}}},
		{scene: scene{name: "not ready", why: "the clock makes nobody ready", spec: []kit.SpecOption{ready},
			fleet: []spot{on("a", newPod(kit.Unready()))}}},
		{scene: scene{name: "minReadySeconds", why: "B5: NextWake says when it is available", spec: []kit.SpecOption{ready},
			fleet: []spot{on("a", newPod(readyFor(45*second)))}}, wake: 15 * second},
		{scene: scene{name: "ready for just long enough", why: "B5: it is available already", spec: []kit.SpecOption{ready},
			fleet: []spot{on("a", newPod(readyFor(60*second)))}}},
		{scene: scene{name: "one nanosecond short", why: "B5: the least wait there is", spec: []kit.SpecOption{ready},
			fleet: []spot{on("a", newPod(readyFor(60*second-1)))}}, wake: 1},
		{scene: scene{name: "ready in the future", why: "B5: clock skew: later", spec: []kit.SpecOption{ready},
			fleet: []spot{on("a", newPod(readyFor(-10*second)))}}, wake: 70 * second},
		{scene: scene{name: "without minReadySeconds", why: "B5: Ready is available", fleet: []spot{on("a", newPod(readyFor(0)))}}},
		{scene: scene{name: "outdated", why: "S1: the status counts it available from then on", spec: []kit.SpecOption{ready, kit.Paused()},
			fleet: []spot{on("a", oldPod(readyFor(45*second)))}}, wake: 15 * second},
		{scene: scene{name: "terminating", why: "a pod on its way out becomes nothing, and should be gone after its grace period", spec: []kit.SpecOption{ready},
			fleet: []spot{on("a", newPod(readyFor(45*second), terminating()))}}, wake: 30 * second},
		{scene: scene{name: "gone", why: "M5: nobody counts a pod whose node is gone", spec: []kit.SpecOption{ready},
			fleet: []spot{gone("a", newPod(readyFor(45*second)))}}},
		{scene: scene{name: "leave, lingering", why: "M4: from then on it serves, and may linger",
			spec:  []kit.SpecOption{ready, kit.MaxSurge("1"), kit.TemplateNodeSelector("pool", "x")},
			fleet: []spot{on("a", newPod(readyFor(45*second))), on("b").with(kit.Label("pool", "x"))}}, wake: 15 * second},
		{scene: scene{name: "leave", why: "M4: it goes in any case", spec: []kit.SpecOption{ready, kit.MaxSurge("1"), kit.Frozen()},
			fleet: []spot{on("a", newPod(readyFor(45*second))).leave()}}},
		{scene: scene{name: "back-off", why: "M2: when the delay is over", fleet: []spot{on("a", newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{backoff("a", 8*second, 3*second)}}, wake: 5 * second},
		{scene: scene{name: "back-off over", why: "M2: nothing to wait for", fleet: []spot{on("a", newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{backoff("a", 8*second, 8*second)}}},
		{scene: scene{name: "back-off of a healthy node", why: "M2: nothing waits for it", fleet: []spot{on("a", newPod())},
			backoffs: []rollout.Backoff{backoff("a", 8*second, 3*second)}}},
		{scene: scene{name: "several, the last first", why: "the earliest of all counts", spec: []kit.SpecOption{ready},
			fleet: []spot{
				on("a", newPod(readyFor(10*second))), on("b", newPod(readyFor(50*second))), on("c", newPod(readyFor(30*second))),
			}}, wake: 10 * second},
		{scene: scene{name: "back-off before readiness", why: "the earliest of all counts", spec: []kit.SpecOption{ready},
			fleet:    []spot{on("a", newPod(readyFor(10*second))), on("b", newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{backoff("b", minute, 15*second)}}, wake: 45 * second},
		{scene: scene{name: "readiness before back-off", why: "the earliest of all counts", spec: []kit.SpecOption{ready},
			fleet:    []spot{on("a", newPod(readyFor(20*second))), on("b", newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{backoff("b", minute, 15*second)}}, wake: 40 * second},
		{scene: scene{name: "frozen during a back-off", why: "T4: the report changes when it is over", spec: []kit.SpecOption{kit.Frozen()},
			fleet: []spot{on("a", newPod(kit.Failed()))}, backoffs: []rollout.Backoff{backoff("a", 8*second, 3*second)}}, wake: 5 * second},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := tt.lab()
			plan := l.plan(t)
			got := time.Duration(0)
			if !plan.NextWake.IsZero() {
				got = plan.NextWake.Sub(kit.Noon())
			}
			if got != tt.wake {
				t.Fatalf("in %v, want %v: %s", got, tt.wake, tt.why)
			}
			if tt.wake == 0 {
				return
			}
			// V15 on this snapshot: just before nothing has changed, and then something has.
			was := lines(plan)
			l.snapshot.Now = plan.NextWake.Add(-1)
			if before := l.plan(t); acts(before) != acts(plan) || before.Status.Counts != plan.Status.Counts {
				t.Errorf("one nanosecond before: %s, %+v, want no change: %s", acts(before), before.Status.Counts, tt.why)
			}
			l.snapshot.Now = plan.NextWake
			if then := l.plan(t); acts(then) == acts(plan) && then.Status.Counts == plan.Status.Counts &&
				then.Status.State == plan.Status.State && slices.Equal(was, lines(then)) {
				t.Errorf("at that instant nothing is different: %s", tt.why)
			}
		})
	}
}
