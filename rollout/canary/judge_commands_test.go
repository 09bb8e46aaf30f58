package canary_test

import (
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// marks puts an annotation on the ControllerRevision.
func (s *situation) marks(key, value string) {
	if s.in.Annotations == nil {
		s.in.Annotations = make(map[string]string)
	}
	s.in.Annotations[key] = value
}

// autoPaused is a pause that was found a minute ago.
func autoPaused() *canary.Finding {
	return &canary.Finding{Phase: canary.Paused, Reason: canary.SlowStart, Node: "a", Pod: "a-1", At: ago(time.Minute)}
}

func TestJudgeCommands(t *testing.T) {
	runJudge(t, []judgeRow{
		{"pause", "C5: by hash; the clock rests", func(s *situation) { s.o.Commands.Pause = onTrial }, `Paused ByCommand; clock 4m0s`},
		{"pause by name", "C5: or by the name of the ControllerRevision", func(s *situation) { s.o.Commands.Pause = onTrialName }, `Paused ByCommand; clock 4m0s`},
		{"pause any", "C5: or whatever is on trial", func(s *situation) { s.o.Commands.Pause = canary.Any }, `Paused ByCommand; clock 4m0s`},
		{"pause another", "C5: ignored and reported", func(s *situation) { s.o.Commands.Pause = "6c8d7f9b5" }, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s; stale pause 6c8d7f9b5`},
		{"pause at the end", "C5: not promoted while paused", func(s *situation) {
			ran(s, time.Hour)
			s.o.Commands.Pause = onTrial
		}, `Paused ByCommand; clock 1h0m0s`},
		{"pause on top of a pause", "C5: the command is named, the record keeps the other", func(s *situation) {
			s.o.Commands.Pause, s.in.Record.Pause = onTrial, autoPaused()
		}, `Paused ByCommand; clock 4m0s; records Paused SlowStart a a-1 at -1m0s`},
		{"pause what cannot start", "C3: somebody has taken over; nothing is put on record", func(s *situation) {
			s.o.Commands.Pause = onTrial
			onNode(s, waits("agent", "ErrImagePull"))
		}, `Paused ByCommand; clock 4m0s`},
		{"pause and unpause", "C5: paused; what was on record is lifted", func(s *situation) {
			s.o.Commands.Pause, s.o.Commands.Unpause, s.in.Record.Pause = onTrial, onTrial, autoPaused()
		}, `Paused ByCommand; clock 4m0s`},
		{"unpause", "C3: lifts the pause on record, and the clock goes on", func(s *situation) {
			s.o.Commands.Unpause, s.in.Record.Pause, s.in.Record.Since = onTrial, autoPaused(), time.Time{}
		}, `Running Observing; clock 1m0s running since now; until 9m0s; wake 9m0s`},
		{"unpause what cannot start", "C3: automatic pauses are off as long as the command stands", func(s *situation) {
			s.o.Commands.Unpause = onTrial
			onNode(s, waits("agent", "ErrImagePull"))
		}, `Running Starting; clock 1m0s running since -3m0s`},
		{"unpause without a pod", "C3: unlike ExtendedDaemonSet, it does not take a pod", func(s *situation) {
			s.o.Commands.Unpause, s.in.Record.Pause = onTrial, autoPaused()
			s.in.Nodes[0].Pods, s.in.Nodes[0].Available = nil, false
		}, `Running Starting; clock 1m0s running since -3m0s`},
		{"unpause another", "C3: lifts automatic pauses of that revision only", func(s *situation) {
			s.o.Commands.Unpause, s.in.Record.Pause = "6c8d7f9b5", autoPaused()
		}, `Paused SlowStart a a-1 at -1m0s; clock 4m0s; records Paused SlowStart a a-1 at -1m0s; stale unpause 6c8d7f9b5`},
		{"unpause does not validate", "C5: too many restarts fail all the same", func(s *situation) {
			s.o.Commands.Unpause = onTrial
			onNode(s, times(6))
		}, `Failed TooManyRestarts a a-1 agent OOMKilled x6 at now; set failed=TooManyRestarts; set failed-message=too many restarts: container agent of pod a-1 on node a restarted 6 times, last after OOMKilled`},
		{"validate", "C5: at once, whatever its pods do", func(s *situation) {
			s.o.Commands.Validate = onTrial
			onNode(s, times(9), waits("agent", "ErrImagePull"))
		}, `Idle Validated at now; set promoted=2026-01-15T12:00:00Z`},
		{"validate manually", "C2: the only way in this mode", func(s *situation) {
			s.o.Mode, s.o.Commands.Validate = canary.Manual, onTrialName
		}, `Idle Validated at now; set promoted=2026-01-15T12:00:00Z`},
		{"validate without nodes", "C5: what is said of nodes is for the clock", func(s *situation) {
			s.o.Commands.Validate, s.in.Nodes = onTrial, nil
		}, `Idle Validated at now; set promoted=2026-01-15T12:00:00Z`},
		{"validate what is paused", "C5: comes before pause", func(s *situation) {
			s.o.Commands.Validate, s.o.Commands.Pause, s.in.Record.Pause = onTrial, onTrial, autoPaused()
		}, `Idle Validated at now; set promoted=2026-01-15T12:00:00Z`},
		{"validate while halted", "C5: somebody wants it; paused and frozen hold the nodes all the same", func(s *situation) {
			s.o.Commands.Validate, s.in.Halted = onTrial, true
		}, `Idle Validated at now; set promoted=2026-01-15T12:00:00Z`},
		{"validate another", "C5: ignored and reported", func(s *situation) { s.o.Commands.Validate = "6c8d7f9b5" }, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s; stale validate 6c8d7f9b5`},
		{"fail", "C5: comes before validate", func(s *situation) {
			s.o.Commands.Validate, s.o.Commands.Fail = onTrial, onTrial
		}, `Failed ByCommand at now; set failed=ByCommand; set failed-message=the revision is given up by command`},
		{"fail another", "C5: ignored and reported", func(s *situation) { s.o.Commands.Fail = "6c8d7f9b5" }, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s; stale fail 6c8d7f9b5`},
		{"retry", "nothing has failed, so it waits", func(s *situation) { s.o.Commands.Retry = onTrial }, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"retry another", "C5: ignored and reported, as it was given", func(s *situation) { s.o.Commands.Retry = "6c8d7f9b5/2" }, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s; stale retry 6c8d7f9b5/2`},
		{"all stale", "C5: in the order of the fields", func(s *situation) {
			s.o.Commands = canary.Commands{Pause: "e", Unpause: "d", Validate: "c", Fail: "b", Retry: "a"}
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s; stale pause e; stale unpause d; stale validate c; stale fail b; stale retry a`},
		{"a slash", "only retry takes a text after it", func(s *situation) {
			s.o.Commands = canary.Commands{Pause: onTrial + "/2", Retry: onTrial + "/2"}
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s; stale pause 5d8f7b9c4/2`},
		{"a slash only", "it names nothing", func(s *situation) {
			s.in.Revision, s.in.Name, s.in.Record.Revision = "", "", ""
			s.o.Commands.Retry = "/2"
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s; stale retry /2`},
		{"any, with a slash", "retry takes a text after it", func(s *situation) {
			s.o.Commands.Retry = canary.Any + "/2"
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Running Observing; clock 0s running since now; began now; disturbed now; until 10m0s; wake 10m0s; set retried=*/2; remove failed; remove failed-message`},
	})
}

func TestJudgeVerdicts(t *testing.T) {
	runJudge(t, []judgeRow{
		{"first installation", "C6: it has no canary, and is stable at once", func(s *situation) { s.in.Known = canary.KnownFirst }, `Idle FirstInstallation at now; set promoted=2026-01-15T12:00:00Z`},
		{"first installation, marked", "C6: nothing is left to do or to remember", func(s *situation) {
			s.in.Known = canary.KnownFirst
			s.marks(history.PromotedAnnotation, "")
		}, `Idle FirstInstallation`},
		{"stable", "C6: it needs no canary, and is marked so that it never will", func(s *situation) {
			s.in.Known, s.o.Commands.Fail, s.o.Commands.Pause = canary.KnownStable, onTrial, "6c8d7f9b5"
		}, `Idle Stable at now; set promoted=2026-01-15T12:00:00Z; stale pause 6c8d7f9b5`},
		{"marked", "C6: it was promoted before; any value counts", func(s *situation) {
			s.marks(history.PromotedAnnotation, "yes")
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Promoted, At: ago(time.Minute)}
		}, `Idle Stable`},
		{"marked and failed", "whoever put the mark there wants it, and there may be nothing to go back to", func(s *situation) {
			s.marks(history.PromotedAnnotation, "yes")
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Idle Stable`},
		{"promoted, not seen yet", "C6: it stays promoted, since the same time, whatever its pods do", func(s *situation) {
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Promoted, At: ago(time.Minute)}
			onNode(s, times(9))
		}, `Idle Promoted at -1m0s; set promoted=2026-01-15T11:59:00Z`},
		{"promoted at no time", "a record that was tampered with", func(s *situation) {
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Validated}
		}, `Idle Validated at now; set promoted=2026-01-15T12:00:00Z`},
		{"promoted, now stable", "C6: why it was promoted is told until the mark is seen", func(s *situation) {
			s.in.Known = canary.KnownStable
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Validated, At: ago(time.Minute)}
		}, `Idle Validated at -1m0s; set promoted=2026-01-15T11:59:00Z`},
		{"promoted another", "a verdict is on one revision", func(s *situation) {
			s.in.Record.Revision = "6c8d7f9b5"
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Promoted, At: ago(time.Minute)}
		}, `Running Observing; clock 0s running since now; began now; disturbed now; until 10m0s; wake 10m0s`},
		{"verdict of another phase", "a record that was tampered with has no verdict", func(s *situation) {
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Paused, Reason: canary.ByCommand}
		}, `Running Observing; clock 1m0s running since -3m0s; until 6m0s; wake 6m0s`},
		{"failed, not seen yet", "C6: it stays failed, and is said again", func(s *situation) {
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: ago(time.Minute)}
		}, `Failed TimedOut at -1m0s; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"failed", "C6: with the details as long as they are remembered", func(s *situation) {
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: ago(time.Minute)}
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Failed TimedOut at -1m0s`},
		{"failed, record lost", "C6: the annotations are enough", func(s *situation) {
			s.in.Record = canary.Record{}
			s.marks(history.FailedAnnotation, "RestartsGoOn")
			s.marks(history.FailedMessageAnnotation, "it did not stop")
		}, `Failed RestartsGoOn "it did not stop"`},
		{"failed for the first reason there is", "C6: each reason is read", func(s *situation) {
			s.marks(history.FailedAnnotation, "ByCommand")
		}, `Failed ByCommand`},
		{"failed for no reason of ours", "somebody put it there, which is to say by command", func(s *situation) {
			s.marks(history.FailedAnnotation, "Observing")
		}, `Failed ByCommand Observing`},
		{"failed as stable", "C5: what is on record comes first, also where nothing else is left", func(s *situation) {
			s.in.Known = canary.KnownStable
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Failed TimedOut`},
		{"failed on record as first", "C5: the same with a verdict that is not seen yet", func(s *situation) {
			s.in.Known = canary.KnownFirst
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: ago(time.Minute)}
		}, `Failed TimedOut at -1m0s; set failed=TimedOut; set failed-message=the canary has taken too long`},
		{"failed at the end", "C5: it is not promoted once its duration is over, as in ExtendedDaemonSet", func(s *situation) {
			ran(s, time.Hour)
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Failed TimedOut`},
		{"validate what has failed", "C5: it does not revive it", func(s *situation) {
			s.o.Commands.Validate, s.o.Commands.Unpause = onTrial, onTrial
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Failed TimedOut`},
		{"retry", "C5: the canary begins again, on the nodes that it has", func(s *situation) {
			s.o.Commands.Retry = onTrial
			s.marks(history.FailedAnnotation, "TimedOut")
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: ago(time.Minute)}
		}, `Running Observing; clock 0s running since now; began now; disturbed now; until 10m0s; wake 10m0s; set retried=5d8f7b9c4; remove failed; remove failed-message`},
		{"retry, not seen yet", "C5: what may be on its way is removed, too", func(s *situation) {
			s.o.Commands.Retry = onTrialName + "/again"
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: ago(time.Minute)}
		}, `Running Observing; clock 0s running since now; began now; disturbed now; until 10m0s; wake 10m0s; set retried=agent-5d8f7b9c4/again; remove failed; remove failed-message`},
		{"retry a second time", "C5: one value works once", func(s *situation) {
			s.o.Commands.Retry = onTrial
			s.marks(history.FailedAnnotation, "TimedOut")
			s.marks(history.RetriedAnnotation, onTrial)
		}, `Failed TimedOut`},
		{"retry with a new value", "C5: another value is another command", func(s *situation) {
			s.o.Commands.Retry = onTrial + "/2"
			s.marks(history.FailedAnnotation, "TimedOut")
			s.marks(history.RetriedAnnotation, onTrial)
		}, `Running Observing; clock 0s running since now; began now; disturbed now; until 10m0s; wake 10m0s; set retried=5d8f7b9c4/2; remove failed; remove failed-message`},
		{"retry another", "C5: ignored and reported", func(s *situation) {
			s.o.Commands.Retry = "6c8d7f9b5"
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Failed TimedOut; stale retry 6c8d7f9b5`},
		{"retry while fail stands", "C5: it fails again, by what stands; the retry is used up", func(s *situation) {
			s.o.Commands.Retry, s.o.Commands.Fail = onTrial, onTrial
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Failed ByCommand at now; began now; set failed=ByCommand; set failed-message=the revision is given up by command; set retried=5d8f7b9c4`},
		{"retry and validate", "C5: revived, it can be promoted", func(s *situation) {
			s.o.Commands.Retry, s.o.Commands.Validate = onTrial, onTrial
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Idle Validated at now; set promoted=2026-01-15T12:00:00Z; set retried=5d8f7b9c4; remove failed; remove failed-message`},
		{"retry and validate, and the fail is seen only now", "C5: the retry that was obeyed is on record", func(s *situation) {
			s.o.Commands.Retry, s.o.Commands.Validate = onTrial, onTrial
			s.marks(history.FailedAnnotation, "TimedOut")
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Validated, At: ago(time.Minute)}
		}, `Idle Validated at -1m0s; set promoted=2026-01-15T11:59:00Z; set retried=5d8f7b9c4; remove failed; remove failed-message`},
		{"promoted, and a fail is seen only now", "C6: what was decided last counts", func(s *situation) {
			s.marks(history.FailedAnnotation, "TimedOut")
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Idle, Reason: canary.Validated, At: ago(time.Minute)}
		}, `Idle Validated at -1m0s; set promoted=2026-01-15T11:59:00Z; remove failed; remove failed-message`},
		{"retry what is stable by now", "C5, C6: revived, it needs no trial", func(s *situation) {
			s.o.Commands.Retry, s.in.Known = onTrial, canary.KnownStable
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Idle Stable at now; set promoted=2026-01-15T12:00:00Z; set retried=5d8f7b9c4; remove failed; remove failed-message`},
		{"retry what is promoted", "there is nothing to retry", func(s *situation) {
			s.o.Commands.Retry = onTrial
			s.marks(history.PromotedAnnotation, "yes")
			s.marks(history.FailedAnnotation, "TimedOut")
		}, `Idle Stable`},
	})
}

// TestJudgeRemembers holds what a judgement leaves in the record besides the clock.
func TestJudgeRemembers(t *testing.T) {
	rows := []struct {
		name, why string
		change    func(*situation)
		revision  string
		nodes     int
	}{
		{"running", "C1: the nodes as they are now", func(s *situation) { s.in.Record.Nodes = []string{"x"} }, onTrial, 2},
		{"named twice", "each node once", func(s *situation) { s.in.Nodes = append(s.in.Nodes, s.in.Nodes[0]) }, onTrial, 2},
		{"promoted, not seen", "C1: a promotion clears the nodes", func(s *situation) { s.o.Commands.Validate = onTrial }, onTrial, 0},
		{"promoted", "nothing is left to remember", func(s *situation) { s.marks(history.PromotedAnnotation, "") }, "", 0},
		{"failed", "C1: the nodes stay for the next template", func(s *situation) { s.o.Commands.Fail = onTrial }, onTrial, 2},
		{"failed before", "C1: they are the present ones", func(s *situation) {
			s.marks(history.FailedAnnotation, "ByCommand")
			s.in.Nodes = s.in.Nodes[:1]
		}, onTrial, 1},
		{"failed before, no nodes given", "C1: they are not forgotten", func(s *situation) {
			s.marks(history.FailedAnnotation, "ByCommand")
			s.in.Nodes = nil
		}, onTrial, 2},
		{"failed before, record lost", "C1: what is given is remembered", func(s *situation) {
			s.marks(history.FailedAnnotation, "ByCommand")
			s.in.Record = canary.Record{}
		}, onTrial, 2},
		{"verdict of another phase", "a record that was tampered with has no verdict", func(s *situation) {
			s.in.Record.Verdict = &canary.Finding{Phase: canary.Paused, Reason: canary.ByCommand}
		}, onTrial, 2},
		{"pods without UIDs", "nobody could tell whose restarts these are", func(s *situation) {
			s.in.Record.Began = ago(10 * time.Minute)
			s.in.Nodes[0].Pods[0].UID, s.in.Nodes[1].Pods[0].UID = "", ""
		}, onTrial, 2},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			s := observing()
			row.change(&s)
			j := s.judge()
			r := j.Record
			if r.Revision != row.revision || len(r.Nodes) != row.nodes {
				t.Errorf("%s: revision %q, nodes %v", row.why, r.Revision, r.Nodes)
			}
			if v := r.Verdict; v != nil && v.Phase != j.Phase {
				t.Errorf("%s: the verdict %s is none of this judgement, %s", row.why, sayFinding(*v), say(j))
			}
			if len(r.Before) > 0 {
				t.Errorf("%s: baselines %v, and no pod is known to have been there before the canary", row.why, r.Before)
			}
		})
	}
}

// TestJudgeSharesNothing holds that a record does not share memory with the input.
func TestJudgeSharesNothing(t *testing.T) {
	s := observing()
	s.in.Record.Pause = autoPaused()
	if j := s.judge(); j.Record.Pause == s.in.Record.Pause || &j.Record.Nodes[0] == &s.in.Record.Nodes[0] {
		t.Error("the pause or the nodes are those of the input")
	}
	s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut}
	s.in.Nodes = nil
	if j := s.judge(); j.Record.Verdict == s.in.Record.Verdict || &j.Record.Nodes[0] == &s.in.Record.Nodes[0] {
		t.Error("the verdict or the nodes are those of the input")
	}
	s = observing()
	s.in.Record.Began = ago(time.Minute)
	s.in.Record.Before = []canary.Baseline{{UID: "uid-a-1", Restarts: map[string]int32{"agent": 3}}}
	j := s.judge()
	if len(j.Record.Before) != 2 || j.Record.Before[0].Restarts["agent"] != 3 {
		t.Fatalf("the baselines are %v", j.Record.Before)
	}
	j.Record.Before[0].Restarts["agent"] = 4
	if s.in.Record.Before[0].Restarts["agent"] != 3 {
		t.Error("the baselines are those of the input")
	}
}

// TestJudgeKeepsBaselines holds that restarts do not count as long as the pod is there, and are forgotten with it.
func TestJudgeKeepsBaselines(t *testing.T) {
	s := observing()
	s.in.Record.Began = ago(10 * time.Minute)
	s.in.Nodes[0] = good("a", times(9))
	for range 3 {
		j := s.judge()
		if j.Phase != canary.Running || len(j.Record.Before) != 2 || j.Record.Before[0].Restarts["agent"] != 9 {
			t.Fatalf("judged %s with baselines %v", say(j), j.Record.Before)
		}
		if j.Record.Before[1].Restarts != nil || !j.Record.Before[1].InPlace {
			t.Fatalf("what did not restart has the baseline %v", j.Record.Before[1])
		}
		s.in.Record = j.Record
	}
	s.in.Nodes[0] = good("a", times(12))
	if j := s.judge(); j.Reason != canary.TooManyRestarts || j.Restarts != 3 {
		t.Errorf("judged %s after three more", say(j))
	}
	s.in.Nodes = s.in.Nodes[1:]
	if j := s.judge(); len(j.Record.Before) != 1 {
		t.Errorf("baselines %v remain", j.Record.Before)
	}
	s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut}
	if j := s.judge(); j.Phase != canary.Failed || len(j.Record.Before) != 1 {
		t.Errorf("baselines %v remain after a fail", j.Record.Before)
	}
}
