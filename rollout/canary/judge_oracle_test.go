package canary_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// oracle judges a story without a record: it looks up what has happened in all moments of the story.
type oracle struct {
	// since is the first moment of the trial, in moments.
	moments []moment
	since   int
	// verdict of the trial so far: Idle or Failed if given, else Running.
	verdict canary.Phase
	reason  canary.PhaseReason
	// pauses and runs, by moment: an automatic pause stands, and the clock runs, after it.
	pauses, runs []bool
	pauseReason  canary.PhaseReason
}

// judge returns what is to be found at the next moment of the story, "" for what a lost memory leaves open.
func (o *oracle) judge(m moment) (canary.Phase, canary.PhaseReason) {
	i := len(o.moments)
	o.moments, o.pauses, o.runs = append(o.moments, m), append(o.pauses, false), append(o.runs, false)
	if i == 0 || m.lost || m.in.Revision != o.moments[i-1].in.Revision {
		o.begin(i)
	}
	_, marked := m.in.Annotations[history.PromotedAnnotation]
	text, failed := m.in.Annotations[history.FailedAnnotation]
	failed = failed || o.verdict == canary.Failed
	switch retry := m.o.Commands.Retry; {
	case marked:
		o.verdict, o.reason = canary.Idle, canary.Stable
		return canary.Idle, canary.Stable
	case o.verdict == canary.Idle:
		return o.verdict, o.reason
	case failed && retry != "" && m.named(strings.Split(retry, "/")[0]) && m.in.Annotations[history.RetriedAnnotation] != retry:
		o.begin(i)
	case o.verdict == canary.Failed:
		return o.verdict, o.reason
	case failed:
		for r := canary.ByCommand; r <= canary.TimedOut; r++ {
			if r.String() == text {
				o.verdict, o.reason = canary.Failed, r
			}
		}
		return o.verdict, o.reason
	}
	phase, reason := o.find(m, i)
	if phase == canary.Idle || phase == canary.Failed {
		o.verdict, o.reason = phase, reason
	}
	o.runs[i] = phase == canary.Running && !m.in.Halted
	return phase, reason
}

func (o *oracle) begin(i int) { o.since, o.verdict, o.pauses[i] = i, canary.Running, false }

// named reports whether a command names the revision.
func (m moment) named(command string) bool {
	return command == "*" || command == m.in.Revision || command == m.in.Name
}

func (o *oracle) find(m moment, i int) (canary.Phase, canary.PhaseReason) {
	c, now := m.o.Commands, m.in.Now
	unpaused := m.named(c.Unpause)
	paused := i > o.since && o.pauses[i-1] && !unpaused
	o.pauses[i] = paused
	live := make(map[string][]canary.Report)
	var starts []time.Time
	for _, n := range m.in.Nodes {
		for _, pod := range n.Pods {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				live[n.Name] = append(live[n.Name], canary.Examine(pod))
				starts = append(starts, pod.Status.StartTime.Time)
			}
		}
	}
	tooMany := func(limit int32) bool {
		for _, reports := range live {
			if reports[0].Restarts > limit {
				return true
			}
		}
		return false
	}
	auto := m.o.Mode != canary.Manual
	fails := !m.o.AutoFail.Disabled
	elapsed := o.elapsed(i)
	settled := auto && now.Sub(o.disturbed(i)) >= *m.o.NoRestartsDuration
	begins, ends := o.restarts(i)
	switch limits := m.o.AutoFail; {
	case m.named(c.Fail):
		return canary.Failed, canary.ByCommand
	case m.named(c.Validate):
		return canary.Idle, canary.Validated
	case fails && tooMany(*limits.MaxRestarts):
		return canary.Failed, canary.TooManyRestarts
	case m.named(c.Pause):
		return canary.Paused, canary.ByCommand
	case auto && !paused && !m.in.Halted && m.allAvailable() && elapsed >= *m.o.Duration && settled:
		return canary.Idle, canary.Promoted
	case fails && limits.MaxRestartsDuration != nil && !begins.IsZero() && ends.Sub(begins) > *limits.MaxRestartsDuration:
		return canary.Failed, canary.RestartsGoOn
	case fails && limits.CanaryTimeout != nil && now.Sub(o.moments[o.since].in.Now) > *limits.CanaryTimeout:
		return canary.Failed, canary.TimedOut
	case paused:
		return canary.Paused, o.pauseReason
	}
	if !m.o.AutoPause.Disabled && !unpaused {
		k := 0
		for _, name := range slices.Sorted(slices.Values(m.names())) {
			for _, r := range live[name] {
				slow := m.o.AutoPause.MaxSlowStartDuration
				late := slow != nil && now.Sub(starts[k]) > *slow
				k++
				reason := canary.ReasonNone
				switch {
				case r.Waiting == "ErrImagePull" && (slow == nil || late):
					reason = canary.CannotStart
				case r.Waiting == "ContainerCreating" && late:
					reason = canary.SlowStart
				case r.Restarts > *m.o.AutoPause.MaxRestarts:
					reason = canary.TooManyRestarts
				}
				if reason != canary.ReasonNone {
					o.pauses[i], o.pauseReason = true, reason
					return canary.Paused, reason
				}
			}
		}
	}
	switch {
	case len(m.in.Nodes) == 0:
		return canary.Running, canary.NoNodes
	case m.in.Halted:
		return canary.Running, canary.Halted
	case !m.allAvailable():
		return canary.Running, canary.Starting
	case !auto:
		return canary.Running, canary.AwaitingValidation
	case elapsed < *m.o.Duration:
		return canary.Running, canary.Observing
	default:
		return canary.Running, canary.Settling
	}
}

// elapsed adds up the spans in which the clock ran, since the canary began or a node was added.
func (o *oracle) elapsed(i int) (sum time.Duration) {
	from := o.since
	for k := o.since + 1; k <= i; k++ {
		before := o.moments[k-1].names()
		if slices.ContainsFunc(o.moments[k].names(), func(n string) bool { return !slices.Contains(before, n) }) ||
			len(o.moments[k].in.Nodes) == 0 {
			from = k
		}
	}
	started := false
	for k := from; k < i; k++ {
		started = sum > 0 || o.runs[k] && (started || o.moments[k].allAvailable())
		if started && o.runs[k] {
			sum += o.moments[k+1].in.Now.Sub(o.moments[k].in.Now)
		}
	}
	return sum
}

// disturbed is when something last restarted, failed or was evicted, as far as that was seen.
func (o *oracle) disturbed(i int) (last time.Time) {
	for k := o.since; k <= i; k++ {
		m := o.moments[k]
		for _, n := range m.in.Nodes {
			for _, pod := range n.Pods {
				at := canary.Examine(pod).LastRestart
				if at.After(m.in.Now) || k == o.since || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil {
					at = m.in.Now
				}
				if at.After(last) {
					last = at
				}
			}
		}
	}
	return last
}

// restarts are when the restarts of this trial began, and when the last was.
func (o *oracle) restarts(i int) (begin, end time.Time) {
	for k := o.since; k <= i; k++ {
		m := o.moments[k]
		for _, n := range m.in.Nodes {
			for _, pod := range n.Pods {
				at := canary.Examine(pod).LastRestart
				if at.After(m.in.Now) {
					at = m.in.Now
				}
				if at.IsZero() || at.Before(o.moments[o.since].in.Now) {
					continue
				}
				if begin.IsZero() || at.Before(begin) {
					begin = at
				}
				if at.After(end) {
					end = at
				}
			}
		}
	}
	return begin, end
}

// checkOracle compares every judgement of a story with what the oracle finds.
func checkOracle(judge judger, s story) string {
	var o oracle
	for i, m := range tell(judge, s) {
		phase, reason := o.judge(m)
		if m.j.Phase != phase || m.j.Reason != reason {
			return fmt.Sprintf("moment %d at %s: judged %s, right is %v %v", i, sayTime(m.in.Now), say(m.j), phase, reason)
		}
		r := m.j.Record
		if running := !r.Since.IsZero(); phase == canary.Running || phase == canary.Paused {
			elapsed := r.Elapsed
			if running {
				elapsed += m.in.Now.Sub(r.Since)
			}
			if want := o.elapsed(i); elapsed != want {
				return fmt.Sprintf("moment %d at %s: the clock shows %v, right is %v: %s", i, sayTime(m.in.Now), elapsed, want, say(m.j))
			}
		}
	}
	return ""
}
