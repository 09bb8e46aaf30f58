package canary_test

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// ran has the clock run for so long at noon.
func ran(s *situation, d time.Duration) { s.in.Record.Elapsed, s.in.Record.Since = 0, ago(d) }

func TestJudgeClock(t *testing.T) {
	runJudge(t, []judgeRow{
		{"observed", "C2: six of ten minutes are left; a clock that goes on leaves the record as it is", func(*situation) {}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"first judgement", "C2: without pods there is nothing to observe yet", func(s *situation) {
			s.in.Record, s.in.Nodes = canary.Record{}, []canary.Node{{Name: "a"}, {Name: "b"}}
		}, `Running Starting; began now`},
		{"all available", "C2: the clock starts when every node has an available pod", func(s *situation) {
			s.in.Record.Elapsed, s.in.Record.Since = 0, time.Time{}
		}, `Running Observing; clock 0s running since now; until 10m0s; wake 10m0s`},
		{"one is not", "C2: every node must have one for the clock to start", func(s *situation) {
			s.in.Record.Elapsed, s.in.Record.Since = 0, time.Time{}
			s.in.Nodes[1].Available = false
		}, `Running Starting`},
		{"one is not any more", "C2: once started the clock goes on", func(s *situation) {
			s.in.Nodes[0].Available = false
		}, `Running Starting; clock 1m0s running since -3m0s`},
		{"goes on after a rest", "C2: time on the clock is kept over a pause, also while a pod is unavailable", func(s *situation) {
			s.in.Record.Since = time.Time{}
			s.in.Nodes[0].Available = false
		}, `Running Starting; clock 1m0s running since now`},
		{"a moment before the end", "C2: ten minutes are not over", func(s *situation) { ran(s, 10*time.Minute-1) }, `Running Observing; clock 0s running since -9m59.999999999s; until 1ns; wake 1ns`},
		{"the end", "C2: promoted at that very instant", func(s *situation) { ran(s, 10*time.Minute) }, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"the end, counted with a rest", "C2: what ran before the rest counts", func(s *situation) {
			s.in.Record.Elapsed, s.in.Record.Since = 9*time.Minute, ago(time.Minute)
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"the end, one is not available", "C2: it must still be so when it is promoted, which no clock tells", func(s *situation) {
			ran(s, time.Hour)
			s.in.Nodes[1].Available = false
		}, `Running Starting; clock 0s running since -1h0m0s`},
		{"no duration", "C2: zero is a duration, too", func(s *situation) {
			s.o.Duration = minutes(0)
			s.in.Record.Elapsed, s.in.Record.Since = 0, time.Time{}
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"other duration", "C2: as the options say", func(s *situation) { s.o.Duration = minutes(5) }, `Running Observing; clock 1m0s running since -3m0s; until 1m0s; wake 1m0s`},
		{"negative duration", "it would promote early, so it counts as the default", func(s *situation) { s.o.Duration = minutes(-5) }, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"node added", "C2: the clock starts again", func(s *situation) {
			ran(s, time.Hour)
			s.in.Record.Nodes = []string{"b"}
		}, `Running Observing; clock 0s running since now; until 10m0s; wake 10m0s`},
		{"node replaced by one that is not available", "C2: the clock is back at zero, and does not run", func(s *situation) {
			ran(s, time.Hour)
			s.in.Nodes[0] = bad("c")
		}, `Running Starting`},
		{"node gone", "C2: the others have been observed all the time; fewer than wanted are enough", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Nodes = s.in.Nodes[:1]
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"record in another order", "the nodes of a record that was tampered with are none the newer", func(s *situation) {
			s.in.Record.Nodes = []string{"b", "a"}
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"no nodes", "C1: nothing is promoted; whatever node comes starts the clock anew", func(s *situation) {
			ran(s, time.Hour)
			s.in.Nodes = nil
		}, `Running NoNodes`},
		{"halted", "C2: the clock rests, with what it has", func(s *situation) { s.in.Halted = true }, `Running Halted; clock 4m0s`},
		{"halted at the end", "C7: paused and frozen stop a canary", func(s *situation) {
			ran(s, time.Hour)
			s.in.Halted = true
		}, `Running Halted; clock 1h0m0s`},
		{"halted without nodes", "C1: that the nodes are missing stays so after the rest", func(s *situation) {
			s.in.Halted, s.in.Nodes = true, nil
		}, `Running NoNodes`},
		{"clock set back", "the future of a record is the past: nothing is subtracted", func(s *situation) {
			later := noon().Add(time.Hour)
			s.in.Record.Began, s.in.Record.Since, s.in.Record.Disturbed = later, later, later
			s.in.Record.Restarting, s.in.Record.Restarted = later, later
			s.o.AutoFail.CanaryTimeout = minutes(30)
		}, `Running Observing; clock 1m0s running since now; began now; disturbed now; restarting now; restarted now; until 9m0s; wake 9m0s`},
		{"record without a beginning", "it has to begin at some time, and now is the latest", func(s *situation) {
			s.in.Record.Began = time.Time{}
			s.o.AutoFail.CanaryTimeout = minutes(30)
		}, `Running Observing; clock 1m0s running since -3m0s; began now; until 6m0s; wake 6m0s`},
		{"negative record", "a record that was tampered with does not make the clock run backwards", func(s *situation) {
			s.in.Record.Elapsed = -time.Hour
		}, `Running Observing; clock 0s running since -3m0s; until 7m0s; wake 7m0s`},
		{"excessive record", "nor does it overflow", func(s *situation) { s.in.Record.Elapsed = math.MaxInt64 }, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"lost record", "C6: losing it starts the clock again; what happened before is not known, so it may have been a moment ago",
			func(s *situation) { s.in.Record = canary.Record{} }, `Running Observing; clock 0s running since now; began now; disturbed now; until 10m0s; wake 10m0s`},
		{"other revision", "C7: a new template begins a canary of its own; no pod has it yet, so there was no disturbance", func(s *situation) {
			s.in.Revision = "6c8d7f9b5"
			s.in.Nodes = []canary.Node{{Name: "a"}, {Name: "b"}}
			s.in.Record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.CannotStart}
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TooManyRestarts}
		}, `Running Starting; began now`},
		{"manual", "C2: never by the clock, however long it ran", func(s *situation) {
			ran(s, time.Hour)
			s.o.Mode = canary.Manual
		}, `Running AwaitingValidation; clock 0s running since -1h0m0s`},
		{"auto", "C2: the name of the default", func(s *situation) {
			ran(s, time.Hour)
			s.o.Mode = canary.Auto
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"unknown mode", "it promotes nothing by itself, as nobody knows what it means", func(s *situation) {
			ran(s, time.Hour)
			s.o.Mode = "Auto"
		}, `Running AwaitingValidation; clock 0s running since -1h0m0s`},
	})
}

func TestJudgeDisturbances(t *testing.T) {
	runJudge(t, []judgeRow{
		{"restarted", "C2: five minutes must pass since, which ends before the ten", func(s *situation) {
			s.in.Nodes[0] = good("a", restarted("agent", 1, ago(time.Minute), "Error"))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -1m0s; restarting -1m0s; restarted -1m0s; until 6m0s; wake 6m0s`},
		{"settling", "C2: ten minutes are over, but not five since the restart", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 1, ago(time.Minute), "Error"))
		}, `Running Settling; clock 0s running since -10m0s; disturbed -1m0s; restarting -1m0s; restarted -1m0s; until 4m0s; wake 4m0s`},
		{"a moment too early", "C2: five minutes are not over", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Record.Disturbed = ago(5*time.Minute - 1)
		}, `Running Settling; clock 0s running since -10m0s; disturbed -4m59.999999999s; until 1ns; wake 1ns`},
		{"settled", "C2: at that very instant", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Record.Disturbed = ago(5 * time.Minute)
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"no such duration", "C2: zero asks for nothing", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Record.Disturbed = noon()
			s.o.NoRestartsDuration = minutes(0)
		}, `Idle Promoted at now; set promoted=2026-01-15T12:00:00Z`},
		{"negative duration", "it would promote early, so it counts as the default", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Record.Disturbed = ago(time.Minute)
			s.o.NoRestartsDuration = minutes(-1)
		}, `Running Settling; clock 0s running since -10m0s; disturbed -1m0s; until 4m0s; wake 4m0s`},
		{"longer than the duration", "C2: both must have passed", func(s *situation) {
			s.o.NoRestartsDuration = minutes(30)
			s.in.Record.Disturbed = ago(2 * time.Minute)
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -2m0s; until 28m0s; wake 6m0s`},
		{"restarted ahead of now, longer than the duration", "C2: both must have passed, by then", func(s *situation) {
			s.o.NoRestartsDuration = minutes(6)
			s.in.Nodes[0] = good("a", restarted("agent", 1, noon().Add(time.Minute), ""))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed now; restarting now; restarted now; until 7m0s; wake 6m0s`},
		{"record is later", "the pod that restarted may be gone", func(s *situation) {
			s.in.Record.Disturbed = ago(time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 1, ago(3*time.Minute), ""))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -1m0s; restarting -3m0s; restarted -3m0s; until 6m0s; wake 6m0s`},
		{"pods are later", "C2: the last one counts, of whatever pod", func(s *situation) {
			s.in.Record.Disturbed = ago(8 * time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 1, ago(2*time.Minute), ""))
			s.in.Nodes[1] = good("b", restarted("agent", 1, ago(7*time.Minute), ""))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -2m0s; restarting -7m0s; restarted -2m0s; until 6m0s; wake 6m0s`},
		{"restart ahead of now", "a kubelet whose clock is ahead: now it counts as now, later as what it is", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Nodes[0] = good("a", restarted("agent", 1, noon().Add(time.Minute), ""))
		}, `Running Settling; clock 0s running since -10m0s; disturbed now; restarting now; restarted now; until 6m0s; wake 6m0s`},
		{"terminating pod restarted", "C2: it was a canary pod", func(s *situation) {
			s.in.Nodes[0] = good("a", restarted("agent", 9, ago(time.Minute), ""), terminating)
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed -1m0s; restarting -1m0s; restarted -1m0s; until 6m0s; wake 6m0s`},
		{"failed pod", "C2: as long as it is there it may have failed just now, so that nothing ends by the clock", func(s *situation) {
			ran(s, 10*time.Minute)
			s.in.Nodes[0].Pods = append(s.in.Nodes[0].Pods, podOf("a-2", phase(corev1.PodFailed)))
		}, `Running Settling; clock 0s running since -10m0s; disturbed now`},
		{"failed pod while observed", "C2: that the ten minutes are over comes by the clock, but promotes nothing", func(s *situation) {
			s.in.Nodes[0].Pods = append(s.in.Nodes[0].Pods, podOf("a-2", phase(corev1.PodFailed)))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed now; wake 6m0s`},
		{"succeeded pod", "C2 does not name it", func(s *situation) {
			s.in.Nodes[0].Pods = append(s.in.Nodes[0].Pods, podOf("a-2", phase(corev1.PodSucceeded)))
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"evicted", "C2: eviction marks the pod before it terminates it", func(s *situation) {
			s.in.Nodes[0].Pods = append(s.in.Nodes[0].Pods, podOf("a-2", terminating, disrupted(corev1.ConditionTrue)))
		}, `Running Observing; clock 1m0s running since -3m0s; disturbed now; wake 6m0s`},
		{"terminating", "C2: to be deleted by a rollout is no disturbance", func(s *situation) {
			s.in.Nodes[0].Pods = append(s.in.Nodes[0].Pods, podOf("a-2", terminating, disrupted(corev1.ConditionFalse)))
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"to be evicted", "C2: not evicted before it terminates", func(s *situation) {
			s.in.Nodes[0].Pods = append(s.in.Nodes[0].Pods, podOf("a-2", disrupted(corev1.ConditionTrue)))
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"nil pods", "a nil pod is none", func(s *situation) {
			s.in.Record = canary.Record{}
			s.in.Nodes = []canary.Node{{Name: "a", Available: true, Pods: []*corev1.Pod{nil, nil}}}
		}, `Running Observing; clock 0s running since now; began now; until 10m0s; wake 10m0s`},
	})
}
