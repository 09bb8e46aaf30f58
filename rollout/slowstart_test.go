package rollout_test

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// rolling returns the memory of a rollout of the update revision that began that long ago.
func rolling(d time.Duration) func(*lab) {
	return func(l *lab) {
		l.snapshot.Memory.Version = rollout.MemoryVersion
		l.snapshot.Memory.Rollout = rollout.Record{Revision: l.update, Began: ago(d)}
	}
}

// fresh returns a new pod of that age that is not ready yet.
func fresh(age time.Duration) podOf { return newPod(kit.Created(ago(age)), kit.Unready()) }

func TestSlowStartB7(t *testing.T) { playScenes(t, slowStartScenes()) }

func slowStartScenes() []scene {
	slow := func(increase, highest string) []kit.SpecOption {
		return []kit.SpecOption{kit.MaxUnavailable("100%"), kit.SlowStart(time.Minute, increase, highest)}
	}
	one := slow("1", "250")
	waits := func(node string) string { return node + ": missing>update wait SlowStart slowStart U" }
	creates := func(node string) string { return node + ": missing>update create Missing U" }
	return []scene{
		{
			name: "begins with one", why: "B7: (1 + 0) times 1", spec: one, set: rolling(0),
			fleet: []spot{on("a"), on("b"), on("c")}, acts: "create a Missing",
			want: []string{creates("a"), waits("b"), waits("c")},
		},
		{
			name: "just before the next step", why: "B7: whole intervals count", spec: one, set: rolling(time.Minute - 1),
			fleet: []spot{on("a"), on("b")}, acts: "create a Missing",
			want: []string{creates("a"), waits("b")},
		},
		{
			name: "the next step", why: "B7: at that very instant", spec: one, set: rolling(time.Minute),
			fleet: []spot{on("a"), on("b"), on("c")}, acts: "create a Missing, create b Missing",
			want: []string{creates("a"), creates("b"), waits("c")},
		},
		{
			name: "percentages round up", why: "B7: 34% of 3 is 2", spec: slow("34%", "250"), set: rolling(0),
			fleet: []spot{on("a"), on("b"), on("c")}, acts: "create a Missing, create b Missing",
			want: []string{creates("a"), creates("b"), waits("c")},
		},
		{
			name: "maxParallel", why: "B7: the highest limit", spec: slow("1", "2"), set: rolling(time.Hour),
			fleet: []spot{on("a"), on("b"), on("c")}, acts: "create a Missing, create b Missing",
			want: []string{creates("a"), creates("b"), waits("c")},
		},
		{
			name: "what is under way counts", why: "B7: not as ExtendedDaemonSet, which counts each call by itself", spec: one, set: rolling(time.Minute),
			fleet: []spot{on("a", fresh(30*time.Second)), on("b"), on("c")}, acts: "create b Missing",
			want: []string{"a: starting>update wait NotReady a0 U", creates("b"), waits("c")},
		},
		{
			name: "but for one interval only", why: "B7: at the end of it no more; what does not come up is left to the budget", spec: one, set: rolling(time.Minute),
			fleet: []spot{on("a", fresh(time.Minute)), on("b"), on("c")}, acts: "create b Missing, create c Missing",
			want: []string{"a: starting>update wait NotReady a0 U", creates("b"), creates("c")},
		},
		{
			name: "what terminates counts", why: "B7: its node is under way", spec: one, set: rolling(time.Minute),
			fleet: []spot{on("a", oldPod(terminating())), on("b"), on("c")}, acts: "create b Missing",
			want: []string{"a: terminating>update wait Terminating U", creates("b"), waits("c")},
		},
		{
			name: "what waits to be updated in place counts", why: "B7, I4: its pod is on its way out, though it has its grace period yet",
			spec: append(slow("1", "250"), kit.InPlaceIfPossible(), grace), set: rolling(0),
			fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(inGrace(ago(10*time.Second))))},
			want:  []string{"a: outdated>update wait Budget a0 slowStart", "b: outdated>update wait GracePeriod b0 gracePeriodSeconds until=+20s U"},
		},
		{
			name: "what may be about to counts", why: "B7, V14: the patch that prepares it is not seen yet",
			spec: append(slow("1", "250"), kit.InPlaceIfPossible(), grace), set: rolling(0), patching: []string{"b0"},
			fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable))},
			want:  []string{"a: outdated>update wait Budget a0 slowStart", "b: outdated>update wait Requested b0 U"},
		},
		{
			name: "what is requested counts", why: "B7", spec: one, set: rolling(0), requested: []string{"a"},
			fleet: []spot{on("a"), on("b")},
			want:  []string{"a: starting>update wait Requested U", waits("b")},
		},
		{
			name: "replacements", why: "B7: as the limit lets them", spec: one, set: rolling(0),
			fleet: []spot{on("a", oldPod()), on("b", oldPod())}, acts: "delete b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 slowStart", "b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "broken ones too", why: "B7: deletes never outrun creates", spec: one, set: rolling(0),
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod(kit.Unready()))}, acts: "delete b0 OutdatedNotReady",
			want: []string{"a: outdated>update wait Budget a0 slowStart U", "b: outdated>update replace OutdatedNotReady b0 U"},
		},
		{
			name: "failed ones too", why: "B7", spec: one, set: rolling(0),
			fleet: []spot{on("a", oldPod(kit.Failed())), on("b", oldPod(kit.Failed()))}, acts: "delete a0 OutdatedFailed",
			want: []string{"a: broken>update replace OutdatedFailed a0 U", "b: broken>update wait SlowStart b0 slowStart U"},
		},
		{
			name: "two failed pods of a node", why: "B7 counts nodes", spec: one, set: rolling(0),
			fleet: []spot{on("a", oldPod(kit.Failed()), oldPod(kit.Failed()))}, acts: "delete a0 OutdatedFailed, delete a1 OutdatedFailed",
			want: []string{"a: broken>update replace OutdatedFailed a0 U"},
		},
		{
			name: "a node's second failed pod takes nothing", why: "B7 counts nodes: one place is left for b", spec: slow("2", "250"), set: rolling(0),
			fleet: []spot{on("a", oldPod(kit.Failed()), oldPod(kit.Failed())), on("b", oldPod(kit.Failed()))},
			acts:  "delete a0 OutdatedFailed, delete a1 OutdatedFailed, delete b0 OutdatedFailed",
			want:  []string{"a: broken>update replace OutdatedFailed a0 U", "b: broken>update replace OutdatedFailed b0 U"},
		},
		{
			name: "what could not be deleted takes nothing", why: "B7, L2: what the hook is asked about is in flight, so b and c have both places",
			spec: append(slow("2", "250"), draining), set: rolling(0), patching: []string{"a0"},
			fleet: []spot{on("a", oldPod(kit.Failed(), hooked)), on("b", oldPod(kit.Failed())), on("c", oldPod(kit.Failed()))},
			acts:  "delete b0 OutdatedFailed, delete c0 OutdatedFailed",
			want: []string{
				"a: broken>update wait Requested a0 U", "b: broken>update replace OutdatedFailed b0 U", "c: broken>update replace OutdatedFailed c0 U",
			},
		},
		{
			name: "what missing pods leave", why: "B7: a has its pod then, and the second place is b's", spec: slow("2", "250"), set: rolling(0),
			fleet: []spot{on("a"), on("b", oldPod())}, acts: "delete b0 Outdated, create a Missing",
			want: []string{creates("a"), "b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "nodes that stay empty", why: "B7, T7: what gets no pod leaves its place to the failed one",
			spec:  append(slow("1", "250"), partitionedScaling, partition("2")),
			set:   all(rolling(0), noHistory),
			fleet: []spot{on("a", newPod()), on("b"), on("c", podAt("lost", kit.Failed()))}, acts: "delete c0 OutdatedFailed",
			want: []string{
				"a: updated>update none UpToDate", "b: missing>update hold PartitionedScaling partition U",
				"c: broken>update replace OutdatedFailed c0 U",
			},
		},
		{
			name: "a lost pod beside nodes that stay empty", why: "B7, T7: its node keeps the place that it has, so the failed pod waits for it", set: all(rolling(0), noHistory),
			spec:  []kit.SpecOption{kit.MaxSurge("100%"), kit.SlowStart(time.Minute, "1", "250"), partitionedScaling, partition("2")},
			fleet: []spot{on("a", podAt("lost", kit.Failed())), on("b", newPod(terminating())), on("c")}, acts: "create b BesideTerminating",
			want: []string{
				"a: broken>update wait SlowStart a0 slowStart U", "b: terminating>update create BesideTerminating U S",
				"c: missing>update hold PartitionedScaling partition U",
			},
		},
		{
			name: "a missing pod of a first installation goes first", why: "B7, T7: it is one of those that are created", set: all(rolling(0), noHistory),
			spec:  append(slow("1", "250"), partitionedScaling, partition("2")),
			fleet: []spot{on("a", podAt("lost", kit.Failed())), on("b"), on("c")}, acts: "create b Missing",
			want: []string{
				"a: broken>update wait SlowStart a0 slowStart U", creates("b"), "c: missing>update hold PartitionedScaling partition U",
			},
		},
		{
			name: "nodes that stay empty take no place", why: "B7, T7: nothing is created there", set: all(rolling(0), noHistory),
			spec:  append(slow("2", "250"), partitionedScaling, partition("2")),
			fleet: []spot{on("a", podAt("lost", kit.Failed())), on("b"), on("c")}, acts: "delete a0 OutdatedFailed, create b Missing",
			want: []string{
				"a: broken>update replace OutdatedFailed a0 U", creates("b"), "c: missing>update hold PartitionedScaling partition U",
			},
		},
		{
			name: "what came back on a held node counts", why: "B7, T1: its new pod is one of the old revision", spec: append(slow("1", "250"), partition("1")),
			set: rolling(0), fleet: []spot{on("a", oldPod(kit.Created(ago(30*time.Second)), kit.Unready())), on("b")},
			want: []string{"a: outdated>held hold Held a0 partition U", waits("b")},
		},
		{
			name: "what was updated in place counts", why: "B7: its interval began with the update, not with the pod", spec: append(slow("1", "250"), kit.InPlaceIfPossible()),
			set: rolling(0), fleet: []spot{on("a", newPod(updatingSince(ago(30*time.Second)))), on("b", oldPod(updatable))},
			want: []string{"a: starting>update wait Updating a0 U", "b: outdated>update wait Budget b0 slowStart"},
		},
		{
			name: "what is under way already", why: "B7: a pod of a leaves already, so that its other one needs no second place",
			spec: one, set: rolling(0),
			fleet: []spot{on("a", oldPod(), oldPod(terminating())), on("b", oldPod())}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U", "b: outdated>update wait Budget b0 slowStart"},
		},
		{
			name: "what is under way already takes no second place", why: "B7: one place is left for c, and none for b",
			spec: slow("2", "250"), set: rolling(0),
			fleet: []spot{on("a", oldPod(), oldPod(terminating())), on("b", oldPod()), on("c", oldPod())},
			acts:  "delete c0 Outdated, delete a0 Outdated",
			want: []string{
				"a: outdated>update replace Outdated a0 U", "b: outdated>update wait Budget b0 slowStart", "c: outdated>update replace Outdated c0 U",
			},
		},
		{
			name: "a failed pod where another is on its way out", why: "B7: its node is under way, and needs no second place",
			spec: one, set: rolling(0),
			fleet: []spot{on("a", oldPod(kit.Failed()), oldPod(terminating())), on("b", oldPod(kit.Failed()))}, acts: "delete a0 OutdatedFailed",
			want: []string{"a: broken>update replace OutdatedFailed a0 U", "b: broken>update wait SlowStart b0 slowStart U"},
		},
		{
			name: "a new pod beside the old one where another is on its way out", why: "B7: its node is under way, and needs no second place",
			spec: []kit.SpecOption{kit.MaxSurge("100%"), kit.SlowStart(time.Minute, "1", "250")}, set: rolling(0),
			fleet: []spot{on("a", oldPod(), oldPod(terminating())), on("b", oldPod())}, acts: "create a Outdated",
			want: []string{"a: outdated>update surge Outdated S", "b: outdated>update wait Budget b0 slowStart"},
		},
		{
			name: "missing pods first", why: "B7: replacements get what those leave", spec: one, set: rolling(time.Minute),
			fleet: []spot{on("a", oldPod(kit.Failed())), on("b"), on("c"), on("d", oldPod())}, acts: "create b Missing, create c Missing",
			want: []string{
				"a: broken>update wait SlowStart a0 slowStart U", creates("b"), creates("c"), "d: outdated>update wait Budget d0 slowStart",
			},
		},
		{
			name: "surge", why: "B7: a new pod beside the old one is a create", set: rolling(0),
			spec:  []kit.SpecOption{kit.MaxSurge("100%"), kit.SlowStart(time.Minute, "1", "250")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod())}, acts: "create b Outdated",
			want: []string{"a: outdated>update wait Budget a0 slowStart", "b: outdated>update surge Outdated S"},
		},
		{
			name: "superfluous pods", why: "B7: what goes beside an available pod of where its node is to end (M3) is replaced by nothing",
			spec: []kit.SpecOption{kit.MaxSurge("100%"), kit.SlowStart(time.Minute, "1", "250")}, set: rolling(0),
			fleet: []spot{on("a", newPod(), oldPod()), on("b", newPod(), oldPod())}, acts: "delete a1 Superseded, delete b1 Superseded",
			want: []string{"a: surging>update delete Superseded a1", "b: surging>update delete Superseded b1"},
		},
		{
			name: "superfluous pods of a failed canary", why: "B7, T6: its nodes are to end at the stable revision, which is there", set: failedRevision,
			spec:  []kit.SpecOption{kit.Canary("2"), kit.MaxSurge("100%"), kit.SlowStart(time.Minute, "1", "250")},
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready())), on("b", oldPod(), newPod(kit.Unready()))},
			acts:  "delete a1 Superseded, delete b1 Superseded",
			want:  []string{"a: surging>stable delete Superseded a1", "b: surging>stable delete Superseded b1"},
		},
		{
			name: "superfluous pods hold a place", why: "B7: while one is on its way out nothing else begins", set: rolling(0),
			spec:  []kit.SpecOption{kit.MaxSurge("100%"), kit.SlowStart(time.Minute, "1", "250")},
			fleet: []spot{on("a", newPod(), oldPod(terminating())), on("b", oldPod())},
			want:  []string{"a: updated>update none UpToDate", "b: outdated>update wait Budget b0 slowStart"},
		},
		{
			name: "unreachable nodes hold no place", why: "B7, B8: whatever maxUnschedulable is", spec: one, set: rolling(0),
			fleet: []spot{on("a", oldPod(terminating())).with(func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
			}), on("b")}, acts: "create b Missing",
			want: []string{"a: terminating>update wait Terminating U", creates("b")},
		},
		{
			name: "no rollout", why: "B7: a rollout that was complete is over", spec: one, fleet: []spot{on("a"), on("b")},
			set: func(l *lab) {
				rolling(0)(l)
				l.snapshot.Memory.Rollout.Completed = true
			},
			acts: "create a Missing, create b Missing",
			want: []string{creates("a"), creates("b")},
		},
		{
			name: "overrides after the rollout", why: "B7, P8: a changed override is rolled out under the same budgets", spec: slow("1", "1"),
			fleet: []spot{on("a", newPod(withTwoCPUs())), on("b", newPod(withTwoCPUs()))},
			set: func(l *lab) {
				rolling(time.Hour)(l)
				l.snapshot.Memory.Rollout.Completed = true
			},
			acts: "delete b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 slowStart", "b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "paused time does not count", why: "B7: it was paused for all of the hour but a minute", spec: one, fleet: []spot{on("a"), on("b"), on("c")},
			set: func(l *lab) {
				rolling(time.Hour)(l)
				l.snapshot.Memory.Rollout.Paused = 59 * time.Minute
			},
			acts: "create a Missing, create b Missing",
			want: []string{creates("a"), creates("b"), waits("c")},
		},
		{
			name: "while paused", why: "B7: the limit stays what it was, not the first place", spec: append(slow("1", "250"), kit.Paused()),
			fleet: []spot{on("a"), on("b"), on("c")},
			set: func(l *lab) {
				rolling(time.Hour)(l)
				l.snapshot.Memory.Rollout.PausedSince = ago(59 * time.Minute)
			},
			acts: "create a Missing, create b Missing",
			want: []string{creates("a"), creates("b"), waits("c")},
		},
		{
			name: "a clock set back", why: "B7: not below 0", spec: one, set: rolling(-time.Hour),
			fleet: []spot{on("a"), on("b")}, acts: "create a Missing",
			want: []string{creates("a"), waits("b")},
		},
	}
}

// TestSlowStartKeepsWhatWasFound: a node that waits for a place still says what keeps its pod from being updated in place.
func TestSlowStartKeepsWhatWasFound(t *testing.T) {
	l := newLab(kit.InPlaceIfPossible(), kit.MaxUnavailable("2"), kit.SlowStart(time.Minute, "1", "250"))
	plan := l.add(on("a", oldPod()), on("b", oldPod())).plan(t)
	d := plan.Decisions[0]
	if d.Limit != rollout.LimitSlowStart || d.Obstruction != inplace.NoReadinessGate {
		t.Errorf("a waits for %s, and what is in the way of an update in place is %q", d.Limit, d.Obstruction)
	}
}

// The plan comes back when the limit rises, or when a node is no longer under way (B7).
func TestSlowStartWake(t *testing.T) {
	tests := []struct {
		name, why string
		set       func(*lab)
		fleet     []spot
		spec      []kit.SpecOption
		want      time.Duration // 0: never
	}{
		{"next step", "at the end of the interval", rolling(90 * time.Second), []spot{on("a"), on("b"), on("c")}, nil, 30 * time.Second},
		{"highest reached", "it rises no more, although d waits", rolling(time.Hour), []spot{on("a"), on("b"), on("c"), on("d")}, nil, 0},
		{"a pod under way", "its interval ends first", rolling(80 * time.Second),
			[]spot{on("a", fresh(50*time.Second)), on("b"), on("c")}, nil, 10 * time.Second},
		{"two under way, the first by name first", "the earliest counts", rolling(80 * time.Second),
			[]spot{on("a", fresh(50*time.Second)), on("b", fresh(10*time.Second)), on("c")}, nil, 10 * time.Second},
		{"two under way, the last by name first", "the earliest counts", rolling(80 * time.Second),
			[]spot{on("a", fresh(10*time.Second)), on("b", fresh(50*time.Second)), on("c")}, nil, 10 * time.Second},
		{"under way, and one on its way out", "its interval ends, but its old pod is there for half a minute", rolling(80 * time.Second),
			[]spot{on("a", fresh(50*time.Second), oldPod(terminating())), on("b"), on("c")}, nil, 30 * time.Second},
		{"under way, and one that leaves", "its interval ends, but its old pod is there until the hook lets it go", rolling(80 * time.Second),
			[]spot{on("a", fresh(50*time.Second), oldPod(hooked, asked)), on("b"), on("c")}, []kit.SpecOption{draining}, 40 * time.Second},
		{"nobody waits", "it rises for nobody, and the pod has ten minutes", rolling(90 * time.Second), []spot{on("a", newPod(kit.Created(ago(0)), kit.Unready()))}, nil, 10 * time.Minute},
		{"paused", "the clock stands", rolling(0), []spot{on("a"), on("b")}, []kit.SpecOption{kit.Paused()}, 0},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append(tt.spec, kit.MaxUnavailable("100%"), kit.SlowStart(time.Minute, "1", "3"))...).add(tt.fleet...)
			tt.set(l)
			var want time.Time
			if tt.want > 0 {
				want = kit.Noon().Add(tt.want)
			}
			if got := l.plan(t).NextWake; !got.Equal(want) {
				t.Errorf("wakes at %v, want %v: %s", got, want, tt.why)
			}
		})
	}
}

// The rollout's clock begins again when the canary is promoted (B7), and pauses are kept out of it.
func TestRolloutRecord(t *testing.T) {
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		want      func(*lab) rollout.Record
	}{
		{"first seen", "it begins now", nil, func(*lab) {},
			func(l *lab) rollout.Record { return rollout.Record{Revision: l.update, Began: kit.Noon()} }},
		{"goes on", "it began when it began", nil, rolling(time.Hour),
			func(l *lab) rollout.Record { return rollout.Record{Revision: l.update, Began: ago(time.Hour)} }},
		{"paused", "since when is remembered", []kit.SpecOption{kit.Paused()}, rolling(time.Hour),
			func(l *lab) rollout.Record {
				return rollout.Record{Revision: l.update, Began: ago(time.Hour), PausedSince: kit.Noon()}
			}},
		{"still frozen", "since when it was", []kit.SpecOption{kit.Frozen()}, func(l *lab) {
			rolling(time.Hour)(l)
			l.snapshot.Memory.Rollout.PausedSince = ago(time.Minute)
		}, func(l *lab) rollout.Record {
			return rollout.Record{Revision: l.update, Began: ago(time.Hour), PausedSince: ago(time.Minute)}
		}},
		{"goes on after a pause", "the pause is added up", nil, func(l *lab) {
			rolling(time.Hour)(l)
			l.snapshot.Memory.Rollout.Paused, l.snapshot.Memory.Rollout.PausedSince = time.Minute, ago(time.Minute)
		}, func(l *lab) rollout.Record {
			return rollout.Record{Revision: l.update, Began: ago(time.Hour), Paused: 2 * time.Minute}
		}},
		{"promoted", "C2, B7: it begins anew", []kit.SpecOption{kit.Canary("1")}, func(l *lab) {
			rolling(time.Hour)(l)
			l.snapshot.Memory.Canary = sinceThenRecord(l, 20*time.Minute, "a")
		}, func(l *lab) rollout.Record {
			return rollout.Record{Revision: l.update, Began: kit.Noon(), Stable: l.update}
		}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(tt.spec...).add(on("a", newPod()), on("b", oldPod()))
			tt.set(l)
			if got, want := l.plan(t).Memory.Rollout, tt.want(l); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v: %s", got, want, tt.why)
			}
		})
	}
}
