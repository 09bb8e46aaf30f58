package rollout_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// M2: 1 s, doubling to 15 min. The pod fails again at once each time, and is deleted as soon as that is due.
func TestBackoffM2Doubles(t *testing.T) {
	l := newLab().add(on("a", newPod(kit.Failed())))
	seconds := []int{
		1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 15 * 60, 15 * 60, 15 * 60,
	}
	for i, n := range seconds {
		delay := time.Duration(n) * time.Second
		plan := l.plan(t)
		if got := acts(plan); got != "delete a0 Failed" {
			t.Fatalf("deletion %d: got %q", i, got)
		}
		want := []rollout.Backoff{{Node: "a", Revision: l.update, Delay: delay, Since: l.snapshot.Now}}
		if diff := cmp.Diff(want, plan.Memory.Backoffs); diff != "" {
			t.Fatalf("deletion %d, -want +got:\n%s", i, diff)
		}
		l.snapshot.Memory = plan.Memory

		due := l.snapshot.Now.Add(delay)
		for _, early := range []time.Time{l.snapshot.Now, due.Add(-1)} {
			l.snapshot.Now = early
			plan = l.plan(t)
			if d := plan.Decisions[0]; !plan.Empty() || d.Reason != rollout.ReasonBackoff || !d.Until.Equal(due) {
				t.Fatalf("deletion %d, %v before it is due again: %s, want a back-off until %v", i, due.Sub(early), line(d), due)
			}
			if !plan.NextWake.Equal(due) {
				t.Fatalf("deletion %d: NextWake is %v, want %v", i, plan.NextWake, due)
			}
			if diff := cmp.Diff(want, plan.Memory.Backoffs); diff != "" {
				t.Fatalf("deletion %d: waiting changed the memory, -want +got:\n%s", i, diff)
			}
		}
		l.snapshot.Now = due
	}
}

// M2: what the memory of back-offs becomes in one plan, on a fleet of node a, whose pod has failed, and node b, which is
// healthy.
func TestBackoffM2Memory(t *testing.T) {
	const second, minute = time.Second, time.Minute
	entry := func(node, revision string, delay, since time.Duration) rollout.Backoff {
		return rollout.Backoff{Node: node, Revision: revision, Delay: delay, Since: ago(since)}
	}
	afterFirst := entry("a", "update", second, 0)
	tests := []struct {
		name, why string
		before    []rollout.Backoff
		acts      string
		after     []rollout.Backoff
	}{
		{"first failure", "M2: the first at once, and 1 s from now on", nil,
			"delete a0 Failed", []rollout.Backoff{afterFirst}},
		{"kept for 30 min", "M2: at twice the maximum it is not forgotten yet", []rollout.Backoff{entry("a", "update", 8*second, 30*minute)},
			"delete a0 Failed", []rollout.Backoff{entry("a", "update", 16*second, 0)}},
		{"forgotten after 30 min", "M2: forgotten after twice the maximum without a failure",
			[]rollout.Backoff{entry("a", "update", 8*second, 30*minute+1)},
			"delete a0 Failed", []rollout.Backoff{afterFirst}},
		{"healthy node kept", "M2: a node that runs again may fail again", []rollout.Backoff{entry("b", "update", 8*second, 30*minute)},
			"delete a0 Failed", []rollout.Backoff{afterFirst, entry("b", "update", 8*second, 30*minute)}},
		{"healthy node forgotten", "nothing in the memory outlives its use",
			[]rollout.Backoff{entry("b", "update", 8*second, 30*minute+1)},
			"delete a0 Failed", []rollout.Backoff{afterFirst}},
		{"node gone", "nothing in the memory outlives its use", []rollout.Backoff{entry("c", "update", 8*second, minute)},
			"delete a0 Failed", []rollout.Backoff{afterFirst}},
		{"other revision", "M2: per revision; both are remembered, in order of node, then revision",
			[]rollout.Backoff{entry("b", "zz", second, minute), entry("b", "", second, minute), entry("a", "", second, minute), entry("a", "zz", second, minute)},
			"delete a0 Failed", []rollout.Backoff{
				entry("a", "", second, minute), afterFirst, entry("a", "zz", second, minute),
				entry("b", "", second, minute), entry("b", "zz", second, minute),
			}},
		{"since in the future", "a clock was set back: the delay runs from now, which neither blocks for years nor loops",
			[]rollout.Backoff{entry("a", "update", 8*second, -time.Hour)},
			"", []rollout.Backoff{entry("a", "update", 8*second, 0)}},
		{"since now", "the present is not the future", []rollout.Backoff{entry("a", "update", 8*second, 0)},
			"", []rollout.Backoff{entry("a", "update", 8*second, 0)}},
		{"twice, the first longer", "of two entries the one that waits longer counts",
			[]rollout.Backoff{entry("a", "update", 8*second, second), entry("a", "update", second, 0)},
			"", []rollout.Backoff{entry("a", "update", 8*second, second)}},
		{"twice, the second longer", "of two entries the one that waits longer counts",
			[]rollout.Backoff{entry("a", "update", second, 0), entry("a", "update", 8*second, second)},
			"", []rollout.Backoff{entry("a", "update", 8*second, second)}},
		{"twice, equally long", "of equals the one with the longer delay, so that order does not matter",
			[]rollout.Backoff{entry("a", "update", 8*second, 0), entry("a", "update", 10*second, 2*second)},
			"", []rollout.Backoff{entry("a", "update", 10*second, 2*second)}},
		{"twice, one forgotten", "an entry that is forgotten is no rival",
			[]rollout.Backoff{entry("a", "update", 15*minute, 30*minute+1), entry("a", "update", second, 0)},
			"", []rollout.Backoff{entry("a", "update", second, 0)}},
		{"delay beyond the maximum", "M2: after 15 min it is due, and 15 min it stays",
			[]rollout.Backoff{entry("a", "update", time.Duration(1<<62), 15*minute)},
			"delete a0 Failed", []rollout.Backoff{entry("a", "update", 15*minute, 0)}},
		{"half of the maximum", "M2: exactly doubled to the maximum", []rollout.Backoff{entry("a", "update", 15*minute/2, 15*minute)},
			"delete a0 Failed", []rollout.Backoff{entry("a", "update", 15*minute, 0)}},
		{"shortest delay", "M2: it doubles, whatever it is", []rollout.Backoff{entry("a", "update", 1, second)},
			"delete a0 Failed", []rollout.Backoff{entry("a", "update", 2, 0)}},
		{"no delay", "M2: a damaged entry begins anew", []rollout.Backoff{entry("a", "update", 0, 0)},
			"delete a0 Failed", []rollout.Backoff{afterFirst}},
		{"negative delay", "M2: a damaged entry begins anew", []rollout.Backoff{entry("a", "update", -time.Hour, 0)},
			"delete a0 Failed", []rollout.Backoff{afterFirst}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab().add(on("a", newPod(kit.Failed())), on("b", newPod()))
			entries := func(list []rollout.Backoff) []rollout.Backoff {
				list = slices.Clone(list)
				for i := range list {
					list[i].Revision = l.hash(list[i].Revision)
				}
				return list
			}
			l.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: entries(tt.before)}
			want := entries(tt.after)
			for range 2 {
				plan := l.plan(t)
				if got := acts(plan); got != tt.acts {
					t.Errorf("got %q, want %q: %s", got, tt.acts, tt.why)
				}
				if diff := cmp.Diff(want, plan.Memory.Backoffs); diff != "" {
					t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
				}
				l.reverse()
			}
		})
	}
}

// Two Failed pods of one revision on a node are judged alike and cost one doubling.
func TestBackoffM2OncePerPlan(t *testing.T) {
	l := newLab().add(on("a", newPod(kit.Failed()), newPod(kit.Failed())))
	want := []rollout.Backoff{{Node: "a", Revision: l.update, Delay: time.Second, Since: kit.Noon()}}
	if diff := cmp.Diff(want, l.plan(t).Memory.Backoffs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Outdated Failed pods of a node that is not held go at once and leave no back-off behind.
func TestBackoffM2NotForOutdated(t *testing.T) {
	if got := newLab().add(on("a", oldPod(kit.Failed()))).plan(t).Memory.Backoffs; got != nil {
		t.Errorf("got %+v, want none (M2)", got)
	}
}

// A Failed pod that is not deleted in this plan costs no doubling, though it waits for no back-off.
func TestBackoffM2NotForWaiting(t *testing.T) {
	tests := []struct {
		name, why string
		scene     scene
	}{
		{"hooked, a patch in flight", "L2: nothing is sent", scene{spec: []kit.SpecOption{draining}, patching: []string{"a0"}}},
		{"hooked, frozen", "T4: it is not asked to leave", scene{spec: []kit.SpecOption{draining, kit.Frozen()}}},
		{"frozen", "T4: it is not deleted", scene{spec: []kit.SpecOption{kit.Frozen()}}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			tt.scene.fleet = []spot{on("a", newPod(hooked, kit.Failed()))}
			plan := tt.scene.lab().plan(t)
			if !plan.Empty() || plan.Memory.Backoffs != nil {
				t.Errorf("got %s and %v, want nothing: %s", acts(plan), plan.Memory.Backoffs, tt.why)
			}
		})
	}
}

// What is remembered of a rollout: since when it lasts, for how long it rested (B7), and what the stable revision is (C6).
func TestMemoryRollout(t *testing.T) {
	const minute = time.Minute
	lasting := rollout.Record{Revision: "update", Began: ago(time.Hour)}
	with := func(change func(*rollout.Record)) rollout.Record {
		record := lasting
		change(&record)
		return record
	}
	stable := func(revision string) rollout.Record { return with(func(r *rollout.Record) { r.Stable = revision }) }
	rested := func(d time.Duration) rollout.Record { return with(func(r *rollout.Record) { r.Paused = d }) }
	one := []kit.SpecOption{kit.Canary("1")}
	promoted := func(l *lab) {
		tryingOn("a")(l)
		l.snapshot.Memory.Canary.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Promoted, At: ago(minute)}
	}
	tests := []struct {
		name, why     string
		spec          []kit.SpecOption
		set           func(*lab)
		before, after rollout.Record
	}{
		{"another revision", "it begins", nil, nil, with(func(r *rollout.Record) { r.Revision = "old" }),
			rollout.Record{Revision: "update", Began: kit.Noon()}},
		{"the same revision", "it goes on", nil, nil, lasting, lasting},
		{"on trial", "it goes on", one, tryingOn("a"), stable("old"), stable("old")},
		{"promoted", "the rollout to all begins", one, sinceThen(time.Hour, "a"), stable("old"),
			rollout.Record{Revision: "update", Began: kit.Noon(), Stable: "update"}},
		{"promoted by an earlier plan", "once", one, promoted, stable("update"), stable("update")},
		{"failed", "a fail begins nothing", append(one, kit.Command(canary.Commands{Fail: canary.Any})), tryingOn("a"), stable("old"), stable("old")},
		{"no canary any more", "C6: without one there is no stable revision to remember", nil, nil, stable("old"), lasting},
		{"paused", "from now on it rests", []kit.SpecOption{kit.Paused()}, nil, rested(minute),
			with(func(r *rollout.Record) { r.Paused, r.PausedSince = minute, kit.Noon() })},
		{"no longer paused", "it has rested for longer", nil, nil,
			with(func(r *rollout.Record) { r.Paused, r.PausedSince = minute, ago(2*minute) }), rested(3 * minute)},
		{"no longer paused, and the clock was set back", "no rest is less than none", nil, nil,
			with(func(r *rollout.Record) { r.Paused, r.PausedSince = minute, ago(-time.Hour) }), rested(minute)},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(tt.spec...).add(on("a", trialPod()), on("b", oldPod()))
			if tt.set != nil {
				tt.set(l)
			}
			record := func(r rollout.Record) rollout.Record {
				r.Revision, r.Stable = l.hash(r.Revision), l.hash(r.Stable)
				return r
			}
			l.snapshot.Memory.Version, l.snapshot.Memory.Rollout = rollout.MemoryVersion, record(tt.before)
			if diff := cmp.Diff(record(tt.after), l.plan(t).Memory.Rollout); diff != "" {
				t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
}

// A memory that went through JSON is the same memory, and its field names are part of the API.
func TestMemoryJSON(t *testing.T) {
	l := newLab().add(on("a", newPod(kit.Failed())))
	l.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(2))}
	before := l.plan(t).Memory
	data, err := json.MarshalIndent(before, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "version": 1,
  "backoffs": [
    {
      "node": "a",
      "revision": "` + l.update + `",
      "delay": 1000000000,
      "since": "2026-01-01T12:00:00Z"
    }
  ],
  "rollout": {
    "revision": "` + l.update + `",
    "began": "2026-01-01T12:00:00Z"
  },
  "conditions": [
    {
      "type": "Available",
      "status": "True",
      "lastTransitionTime": "2026-01-01T12:00:00Z",
      "reason": "EnoughNodesAvailable",
      "message": "0 of 1 nodes available, at most 1 may be unavailable"
    },
    {
      "type": "Progressing",
      "status": "True",
      "lastTransitionTime": "2026-01-01T12:00:00Z",
      "reason": "RolloutInProgress",
      "message": "0 of 1 nodes updated and available"
    }
  ],
  "collisionCount": 2
}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var after rollout.Memory
	if err := json.Unmarshal(data, &after); err != nil {
		t.Fatal(err)
	}
	l.snapshot.Now = kit.Noon().Add(time.Second)
	l.snapshot.Memory = before
	plan := l.plan(t)
	l.snapshot.Memory = after
	if diff := cmp.Diff(plan, l.plan(t)); diff != "" {
		t.Errorf("the memory that went through JSON plans differently, -before +after:\n%s", diff)
	}
	if data, err := json.Marshal(rollout.Memory{}); err != nil || string(data) != "{}" {
		t.Errorf("the empty memory is %s (error %v), want {}", data, err)
	}
}

// A memory in a layout that is not known counts as lost, whatever it seems to say.
func TestMemoryVersion(t *testing.T) {
	full := rollout.Memory{
		Rollout:        rollout.Record{Began: ago(time.Hour), Completed: true},
		Conditions:     []metav1.Condition{{Type: "Available", Status: "True", LastTransitionTime: metav1.NewTime(ago(time.Hour))}},
		CollisionCount: new(int32(7)),
	}
	l := newLab().add(on("a", newPod(kit.Failed())))
	lost := l.plan(t)
	full.Rollout.Revision = l.update
	full.Backoffs = []rollout.Backoff{{Node: "a", Revision: l.update, Delay: time.Minute, Since: ago(0)}}
	tests := []struct {
		name, why string
		version   int
		lost      bool
	}{
		{"this version", "what this library wrote", rollout.MemoryVersion, false},
		{"no version", "the empty memory has none, so one with content was never written", 0, true},
		{"next version", "a later library wrote it", rollout.MemoryVersion + 1, true},
		{"negative version", "nobody wrote it", -1, true},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l.snapshot.Memory = full
			l.snapshot.Memory.Version = tt.version
			if got := cmp.Equal(lost, l.plan(t)); got != tt.lost {
				t.Errorf("planned as if it were lost: %v, want %v: %s", got, tt.lost, tt.why)
			}
		})
	}
}

// R3: the API server found a name taken that no snapshot shows; the next plan takes another one.
func TestMemoryCollided(t *testing.T) {
	record := rollout.Record{Revision: "r", Began: kit.Noon()}
	tests := []struct {
		name, why string
		memory    rollout.Memory
		want      rollout.Memory
	}{
		{"empty", "the first collision", rollout.Memory{}, rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(1))}},
		{"counted", "one more; the rest stays",
			rollout.Memory{Version: rollout.MemoryVersion, Rollout: record, CollisionCount: new(int32(6))},
			rollout.Memory{Version: rollout.MemoryVersion, Rollout: record, CollisionCount: new(int32(7))}},
		{"zero", "0 is a count", rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(0))},
			rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(1))}},
		{"last but one", "the largest count there is",
			rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(math.MaxInt32 - 1))},
			rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(math.MaxInt32))}},
		{"last", "beyond the largest it begins anew", rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(math.MaxInt32))},
			rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(1))}},
		{"unknown layout", "it counts as lost", rollout.Memory{Version: 99, Rollout: record, CollisionCount: new(int32(6))},
			rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(1))}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.memory.Collided()); diff != "" {
				t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
	before := rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(6))}
	before.Collided()
	if *before.CollisionCount != 6 {
		t.Errorf("the receiver was changed to %d", *before.CollisionCount)
	}
	l := newLab()
	l.numbered(t)
	first := l.plan(t)
	l.snapshot.Memory = first.Memory.Collided()
	if second := l.plan(t); second.Revisions[0].Name == first.Revisions[0].Name {
		t.Errorf("after the collision the name is %s again", first.Revisions[0].Name)
	}
}

// The plan's memory belongs to the caller: it shares nothing with the one that was passed in.
func TestMemorySharesNothing(t *testing.T) {
	l := newLab().add(on("a", newPod(kit.Failed())))
	l.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: new(int32(1))}
	plan := l.plan(t)
	l.snapshot.Memory = plan.Memory
	next := l.plan(t)
	want := next.Memory.Conditions[0].Reason
	*plan.Memory.CollisionCount = 5
	plan.Memory.Conditions[0].Reason = "changed"
	plan.Memory.Backoffs[0].Node = "changed"
	if *next.Memory.CollisionCount != 1 || *next.Status.CollisionCount != 1 ||
		next.Memory.Conditions[0].Reason != want || next.Memory.Backoffs[0].Node != "a" {
		t.Errorf("the next plan changed with the memory of the last one: %+v", next.Memory)
	}
}

// TestCarry: what one plan hands to the next is all that the next needs, and comes from nowhere else.
func TestCarry(t *testing.T) {
	l := newLab().add(on("a", newPod(kit.Failed())), on("b", newPod()))
	first := l.plan(t)
	carry := first.Carry()
	if diff := cmp.Diff(rollout.Carry{Memory: first.Memory, FailedPulls: first.FailedPulls, Reading: first.Reading}, carry); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	next := l.snapshot
	next.Memory.CollisionCount = new(int32(7))
	next = next.After(carry)
	if next.Reading != first.Reading || next.Memory.CollisionCount != nil || len(next.Memory.Backoffs) != 1 {
		t.Errorf("the next snapshot has %+v: right is what the plan handed on", next.Memory)
	}
	var none *rollout.Plan
	if diff := cmp.Diff(rollout.Carry{}, none.Carry()); diff != "" {
		t.Errorf("no plan, -want +got:\n%s", diff)
	}
	stored, err := json.Marshal(carry)
	if err != nil {
		t.Fatal(err)
	}
	var read rollout.Carry
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(carry.Memory, read.Memory); diff != "" || read.Reading != nil {
		t.Errorf("as JSON it keeps the memory and no Reading, -want +got:\n%s", diff)
	}
}

// A controller keeps one value from plan to plan. Here the second plan waits before it deletes the pod, which has failed again.
func ExampleCarry() {
	spec := kit.Spec("agent")
	pod := kit.Pod("agent-a", kit.Of(spec), kit.OnNode("a"), kit.Failed())
	planner, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	var carry rollout.Carry
	for range 2 {
		claimed, err := planner.ClaimAndPlan(rollout.Snapshot{
			Now: kit.Noon(), Nodes: kit.Nodes("a"), Pods: []*corev1.Pod{pod}, Revisions: []*appsv1.ControllerRevision{kit.Revision(spec, 1)},
		}.After(carry))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(claimed.Plan.Explain("a"))
		carry = claimed.Plan.Carry()
	}
	// Output:
	// a: broken; delete pod agent-a: the pod has failed; counts against maxUnavailable
	// a: broken; waits: pod agent-a has failed, and failed pods of this node were deleted a short time ago, until 2026-01-01T12:00:01Z; counts against maxUnavailable
}
