package harness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// failingAt is the planner until its nth call, which fails.
func failingAt(plan harness.PlanFunc, n int, calls *int) harness.PlanFunc {
	*calls = 0
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		if *calls++; *calls == n {
			return rollout.Plan{}, errPlan
		}
		return plan(s)
	}
}

// A planner that fails is reported whenever it does: each check plans many times.
func TestChecksReportErrorsWheneverTheyCome(t *testing.T) {
	s := upgrade(rollouttest.MinReadySeconds(30))
	s.Snapshot.Nodes = append(s.Snapshot.Nodes, rollouttest.Node("z"))
	for i, n := range s.Snapshot.Nodes {
		if pod := s.Snapshot.Pods; i < len(pod) && n.Name == pod[i].Spec.NodeName {
			rollouttest.Of(s.Spec)(pod[i])
			rollouttest.Ready(s.Snapshot.Now.Add(-time.Second))(pod[i])
		}
	}
	for name, check := range map[string]func(harness.PlanFunc) error{
		"CheckPure":       func(p harness.PlanFunc) error { return harness.CheckPure(p, s.Snapshot) },
		"CheckIdempotent": func(p harness.PlanFunc) error { return harness.CheckIdempotent(s.Spec, p, s.Snapshot) },
		"CheckNextWake":   func(p harness.PlanFunc) error { return harness.CheckNextWake(p, s.Snapshot) },
	} {
		calls := 0
		if err := check(failingAt(planner(s), 0, &calls)); err != nil || calls < 3 {
			t.Fatalf("%s: %d calls, %v", name, calls, err)
		}
		for n, all := 1, calls; n <= all; n++ {
			if err := check(failingAt(planner(s), n, &calls)); err == nil || !strings.Contains(err.Error(), "no plan") || calls != n {
				t.Errorf("%s: call %d of %d failed, then there were %d more, and the error is %v", name, n, all, calls-n, err)
			}
		}
	}
}

// Everything of a snapshot is reordered, and whatever a plan keeps of it is seen.
func TestCheckPureLooksAtEveryPart(t *testing.T) {
	s := fleet().Snapshot
	s.Revisions = append(s.Revisions, rollouttest.Revision(rollouttest.Spec("agent", rollouttest.Image("agent:v2")), 2))
	s.InFlight = rollout.InFlight{
		Creates: []rollout.InFlightCreate{{Node: "x"}, {Node: "y"}}, Patches: []types.UID{"x", "y"}, Revisions: []string{"x", "y"},
	}
	named := func(name func(rollout.Snapshot) string) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) { return rollout.Plan{NodeSelector: name(s)}, nil }
	}
	kept := rollout.Plan{Decisions: []rollout.Decision{{Node: "a"}}}
	const order, shared = "the opposite order gives another plan", "shares memory with the snapshot"
	tests := []struct {
		name, why string
		plan      harness.PlanFunc
		want      string
	}{
		{"first revision", "order means nothing", named(func(s rollout.Snapshot) string { return s.Revisions[0].Name }), order},
		{"first create", "order means nothing", named(func(s rollout.Snapshot) string { return s.InFlight.Creates[0].Node }), order},
		{"first patch", "order means nothing", named(func(s rollout.Snapshot) string { return string(s.InFlight.Patches[0]) }), order},
		{"first write of a revision", "order means nothing", named(func(s rollout.Snapshot) string { return s.InFlight.Revisions[0] }), order},
		{"keeps a map", "the caller goes on writing to it", func(s rollout.Snapshot) (rollout.Plan, error) {
			i := slices.IndexFunc(s.Nodes, func(n *corev1.Node) bool { return n.Name == "a" })
			if i < 0 {
				return rollout.Plan{}, nil
			}
			return rollout.Plan{Revisions: []rollout.RevisionAction{{Annotations: s.Nodes[i].Labels}}}, nil
		}, shared},
		{"keeps a pointer", "the caller goes on writing to it", func(s rollout.Snapshot) (rollout.Plan, error) {
			return rollout.Plan{Memory: rollout.Memory{CollisionCount: s.Memory.CollisionCount}}, nil
		}, shared},
		{"keeps its plan", "it is the caller's by then", func(rollout.Snapshot) (rollout.Plan, error) { return kept, nil }, "planning again gives another plan"},
		{"empties a list", "it is the caller's", func(s rollout.Snapshot) (rollout.Plan, error) {
			s.Nodes[1].Spec.Taints = nil
			return rollout.Plan{}, nil
		}, ".Spec.Taints (length)"},
		{"cuts a list", "it is the caller's, and has no room any more", func(s rollout.Snapshot) (rollout.Plan, error) {
			s.Nodes[1].Spec.Taints = slices.Clip(s.Nodes[1].Spec.Taints)
			return rollout.Plan{}, nil
		}, ".Spec.Taints (capacity)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := harness.CheckPure(tt.plan, s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", tt.why, err, tt.want)
			}
		})
	}
}

// Every prefix is tried, and more than one plan while nothing is seen.
func TestCheckIdempotentGoesOn(t *testing.T) {
	s := fleet()
	s.Snapshot.InFlight, s.Snapshot.Memory = rollout.InFlight{Creates: []rollout.InFlightCreate{{Node: "e"}}}, rollout.Memory{}
	s.Snapshot.Nodes = append(s.Snapshot.Nodes, rollouttest.Nodes("c", "d", "e")...)
	again := func(wrong func(rollout.Snapshot) bool) harness.PlanFunc {
		return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
			p, err := planner(s)(snapshot)
			if wrong(snapshot) {
				p.Creates = append(p.Creates, rollout.Create{Node: "c", Revision: rollouttest.Hash(s.Spec)})
			}
			p.Memory.Backoffs = append(slices.Clone(snapshot.Memory.Backoffs), rollout.Backoff{Node: "z"})
			return p, err
		}
	}
	tests := []struct {
		name, why string
		plan      harness.PlanFunc
		want      string
	}{
		{"right", "what was in flight before stays so", planner(s), ""},
		{"wrong after half", "each of the two creates may be the last", again(func(s rollout.Snapshot) bool { return len(s.InFlight.Creates) == 2 }),
			"with 1 of 2 actions in flight: create on node c again"},
		{"wrong in the end", "nothing may be seen for long", again(func(s rollout.Snapshot) bool { return len(s.Memory.Backoffs) == 3 }),
			"of 2 actions in flight: create on node c again"},
		{"forgets what was in flight", "it is not seen yet", func(snapshot rollout.Snapshot) (rollout.Plan, error) {
			if !slices.Contains(snapshot.InFlight.Creates, rollout.InFlightCreate{Node: "e"}) {
				return rollout.Plan{}, errPlan
			}
			return planner(s)(snapshot)
		}, ""},
		{"what no server takes", "it cannot be carried out", func(rollout.Snapshot) (rollout.Plan, error) {
			return rollout.Plan{Creates: []rollout.Create{{Revision: "x"}}}, nil
		}, "V14: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mustContain(t, harness.CheckIdempotent(s.Spec, tt.plan, s.Snapshot), tt.want)
		})
	}
}

// Who obeys the command retry begins anew at each plan, and is left out; nobody else is.
func TestCheckNextWakeLeavesOutRetries(t *testing.T) {
	const hash = "7f8746bb65"
	mark := map[string]string{history.RetriedAnnotation: "x"}
	failed := rollouttest.Rejected(rollouttest.Spec("agent"), 1, canary.ByCommand)
	failed.Name, failed.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "agent-x", hash
	tried := rollouttest.Revision(rollouttest.Spec("agent"), 1)
	tried.Name, tried.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "agent-x", hash
	tests := []struct {
		name, why string
		plan      rollout.Plan
		revision  *appsv1.ControllerRevision
		inFlight  string
		leftOut   bool
	}{
		{"marks the revision", "it says so", rollout.Plan{Revisions: []rollout.RevisionAction{{Annotations: mark}}}, failed, "", true},
		{"creates the revision with the mark", "it says so", rollout.Plan{Revisions: []rollout.RevisionAction{
			{Object: objects.Marked(tried, mark)}, {Name: "other"},
		}}, failed, "", true},
		{"creates a revision without", "it says nothing of that", rollout.Plan{Revisions: []rollout.RevisionAction{{Object: tried}}}, failed, "", false},
		{"would mark it", "another write of the revision is in flight", rollout.Plan{Canary: rollout.Canary{Finding: canary.Finding{Phase: canary.Running}, Revision: hash}}, failed, "agent-x", true},
		{"need not mark it", "the revision has not failed", rollout.Plan{Canary: rollout.Canary{Finding: canary.Finding{Phase: canary.Running}, Revision: hash}}, tried, "agent-x", false},
		{"could mark it", "no other write is in flight", rollout.Plan{Canary: rollout.Canary{Finding: canary.Finding{Phase: canary.Running}, Revision: hash}}, failed, "agent-y", false},
		{"would not mark it", "another revision is on trial", rollout.Plan{Canary: rollout.Canary{Finding: canary.Finding{Phase: canary.Running}, Revision: "other"}}, failed, "agent-x", false},
		{"lets it fail", "it is not on trial", rollout.Plan{Canary: rollout.Canary{Finding: canary.Finding{Phase: canary.Failed}, Revision: hash}}, failed, "agent-x", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := rollout.Snapshot{Now: rollouttest.Noon(), Revisions: []*appsv1.ControllerRevision{tt.revision}}
			s.InFlight.Revisions = []string{tt.inFlight}
			err := harness.CheckNextWake(func(s rollout.Snapshot) (rollout.Plan, error) {
				p := tt.plan
				p.Budget.Waiting = int32(s.Now.Sub(rollouttest.Noon()) / time.Second)
				return p, nil
			}, s)
			if (err == nil) != tt.leftOut {
				t.Errorf("%s: %v", tt.why, err)
			}
		})
	}
}

// The later plans know what the first one remembers of clocks that run, and nothing that is not so yet.
func TestCheckNextWakeRemembers(t *testing.T) {
	noon := rollouttest.Noon()
	past, future := noon.Add(-time.Hour), noon.Add(time.Hour)
	run := func(before, after rollout.Memory, wrong func(rollout.Memory) bool) error {
		return harness.CheckNextWake(func(s rollout.Snapshot) (rollout.Plan, error) {
			if s.Now.After(noon) && wrong(s.Memory) {
				return rollout.Plan{}, fmt.Errorf("remembers %+v", s.Memory)
			}
			return rollout.Plan{Memory: after}, nil
		}, rollout.Snapshot{Now: noon, Memory: before})
	}
	memory := func(change func(*rollout.Memory)) rollout.Memory {
		m := rollout.Memory{Version: rollout.MemoryVersion}
		change(&m)
		return m
	}
	of := func(revision string, completed bool) rollout.Memory {
		return memory(func(m *rollout.Memory) { m.Rollout.Revision, m.Rollout.Completed = revision, completed })
	}
	tried := func(verdict *canary.Finding) rollout.Memory {
		return memory(func(m *rollout.Memory) { m.Canary = canary.Record{Revision: "x", Verdict: verdict} })
	}
	backoffs := memory(func(m *rollout.Memory) {
		m.Backoffs = []rollout.Backoff{{Node: "a", Since: past}, {Node: "b", Since: noon}, {Node: "c", Since: future}}
	})
	old := backoffs
	old.Version++
	tests := []struct {
		name, why     string
		before, after rollout.Memory
		wrong         func(rollout.Memory) bool
	}{
		{"rollout", "its clock runs", rollout.Memory{}, of("x", false), func(m rollout.Memory) bool { return m.Rollout.Revision != "x" }},
		{"completed since", "that is seen by whoever looks again", of("x", false), of("x", true), func(m rollout.Memory) bool { return m.Rollout.Completed }},
		{"completed before", "it stays so", of("x", true), of("x", true), func(m rollout.Memory) bool { return !m.Rollout.Completed }},
		{"another completed before", "this one is not", of("y", true), of("x", true), func(m rollout.Memory) bool { return m.Rollout.Completed }},
		{"canary", "its clock runs", rollout.Memory{}, tried(nil), func(m rollout.Memory) bool { return m.Canary.Revision != "x" }},
		{"promoted canary", "its clock ran", rollout.Memory{}, tried(&canary.Finding{Phase: canary.Idle}), func(m rollout.Memory) bool { return m.Canary.Revision != "x" }},
		{"failed canary", "a command may revive it", rollout.Memory{}, tried(&canary.Finding{Phase: canary.Failed}), func(m rollout.Memory) bool { return m.Canary.Revision != "" }},
		{"back-offs", "those that began by now", backoffs, rollout.Memory{}, func(m rollout.Memory) bool {
			return len(m.Backoffs) != 2 || m.Backoffs[0].Node != "a" || m.Backoffs[1].Node != "b"
		}},
		{"memory of another version", "nobody can read it", old, rollout.Memory{}, func(m rollout.Memory) bool {
			return len(m.Backoffs) != 0 || m.Version != rollout.MemoryVersion
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := run(tt.before, tt.after, tt.wrong); err != nil {
				t.Errorf("%s: %v", tt.why, err)
			}
		})
	}
}

// Each object and each back-off can wake twice, a canary ten times, and the next one is too many.
func TestCheckNextWakeCountsWakes(t *testing.T) {
	noon := rollouttest.Noon()
	s := rollout.Snapshot{
		Now: noon, Nodes: rollouttest.Nodes("a", "b", "c"), FailedPulls: []predownload.Failure{{Node: "a", At: noon}},
		Pods:   []*corev1.Pod{rollouttest.Pod("p", rollouttest.OnNode("a")), rollouttest.Pod("q", rollouttest.OnNode("b"))},
		Memory: rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{{Node: "a", Since: noon}}},
	}
	waking := func(times int) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			if n := int(s.Now.Sub(noon) / time.Minute); n < times {
				return rollout.Plan{NextWake: noon.Add(time.Duration(n+1) * time.Minute)}, nil
			}
			return rollout.Plan{}, nil
		}
	}
	const most = 2*(3+2+1+1) + 10 + 1 // the first is why it is looked at
	mustContain(t, harness.CheckNextWake(waking(most), s), "")
	mustContain(t, harness.CheckNextWake(waking(most+1), s), "still waking up")
}

// What may change while nobody wakes up, and what may not.
func TestCheckNextWakeComparesWhatMatters(t *testing.T) {
	at := func(change func(p *rollout.Plan, now time.Time)) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			var p rollout.Plan
			change(&p, s.Now)
			return p, nil
		}
	}
	since := func(now time.Time) int32 { return int32(now.Sub(rollouttest.Noon()) / time.Second) }
	tests := []struct {
		name, why string
		plan      harness.PlanFunc
		want      string
	}{
		{"slow start", "it allows more with time", at(func(p *rollout.Plan, now time.Time) { p.Budget.SlowStart, p.Budget.UnderWay = since(now), since(now) }), ""},
		{"a finding of now", "it is found anew at each plan", at(func(p *rollout.Plan, now time.Time) { p.Canary.At = now }), ""},
		{"a finding of some other time", "it changed, and nobody woke up", at(func(p *rollout.Plan, now time.Time) { p.Canary.At = now.Add(time.Hour) }), "the plan differs"},
		{"what is used", "somebody could be turned down", at(func(p *rollout.Plan, now time.Time) { p.Budget.Surging = since(now) }), "the plan differs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mustContain(t, harness.CheckNextWake(tt.plan, rollout.Snapshot{Now: rollouttest.Noon()}), tt.want)
		})
	}
}

// Steps grow with what a spec takes and with what goes wrong: a rollout that is given too few is called unsettled.
func TestStepsOfAClusterGrow(t *testing.T) {
	hook := rollouttest.HookLabel("x", "y")
	broken := harness.Behavior{Failing: []string{"x"}}
	tests := []struct {
		name, why string
		options   []rollouttest.SpecOption
		behavior  harness.Behavior
		want      int
	}{
		{"plain", "20, and 10 for each of four objects", nil, harness.Behavior{}, 60},
		{"lagging", "as many more for each tick that the watch is behind", nil, harness.Behavior{Lag: 2}, 180},
		{"a lag that is none", "it is not behind", nil, harness.Behavior{Lag: -1}, 60},
		{"in place", "a pod takes three times the steps", []rollouttest.SpecOption{rollouttest.InPlaceIfPossible()}, harness.Behavior{}, 140},
		{"pulls ahead", "a node takes more", []rollouttest.SpecOption{rollouttest.PreDownload("1")}, harness.Behavior{}, 140},
		{"hook before deletes", "a pod takes more", []rollouttest.SpecOption{rollouttest.PreDeleteHook(hook)}, harness.Behavior{}, 140},
		{"hook before updates", "a pod takes more", []rollouttest.SpecOption{rollouttest.InPlaceUpdateHook(hook)}, harness.Behavior{}, 140},
		{"hook before use", "a pod takes more", []rollouttest.SpecOption{rollouttest.PreNormalHook(hook)}, harness.Behavior{}, 140},
		{"canary", "two rollouts, and one back", []rollouttest.SpecOption{rollouttest.Canary("1")}, harness.Behavior{}, 140},
		{"failing", "without a canary it comes to no end anyway", nil, broken, 60},
		{"failing canary", "its pods come back until it has taken too long", []rollouttest.SpecOption{rollouttest.Canary("1")}, broken, 260},
	}
	for _, tt := range tests {
		spec := rollouttest.Spec("agent", tt.options...)
		c, err := harness.NewCluster(spec, rollout.Snapshot{
			Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a", "b"), Pods: []*corev1.Pod{rollouttest.Pod("p", rollouttest.OnNode("a"))},
			Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(spec, 1)},
		}, tt.behavior)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Steps(); got != tt.want {
			t.Errorf("%s: %d steps, want %d: %s", tt.name, got, tt.want, tt.why)
		}
	}
}

// A spec that is refused is reported by whichever check meets it first.
func TestChecksReportInvalidSpecs(t *testing.T) {
	s := fleet()
	always := func(rollout.Spec) (harness.PlanFunc, error) { return planner(s), nil }
	s.Snapshot.InFlight, s.Snapshot.Memory = rollout.InFlight{}, rollout.Memory{}
	mustContain(t, harness.CheckNoThrash(rollout.Spec{}, idle, s.Snapshot, harness.Behavior{}), "spec.name")
	mustContain(t, harness.CheckChanges(always, s.Snapshot, harness.Behavior{},
		harness.Change{Spec: s.Spec}, harness.Change{Spec: rollout.Spec{}}), "spec.name")
	mustContain(t, harness.CheckCanary(harness.Planner, tryOut(rollouttest.OnDelete())), "spec.strategy.canary")
}
