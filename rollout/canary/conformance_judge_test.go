package canary_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// judged is the state of a canary, in terms that both controllers have.
type judged struct {
	phase  string
	reason canary.PhaseReason
	word   string // the controller's word for the reason
	until  time.Time
	// restarting is when restarts began, and restarted when the last one was.
	restarting, restarted time.Time
}

func (j judged) String() string {
	clock := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.Format(time.TimeOnly)
	}
	return fmt.Sprintf("%s %v %q until %s, restarts from %s to %s",
		j.phase, j.reason, j.word, clock(j.until), clock(j.restarting), clock(j.restarted))
}

// judge is the state of the canary after one sync of each of the two controllers.
func (p peer) judge(t *setting) judged {
	out, because, problem := p.watch(t)
	if problem != "" {
		return judged{phase: "panic: " + problem}
	}
	next := *t
	next.tried.Status.Conditions = out.Conditions
	promoted, left := p.promote(&next, out, t.failed())
	switch {
	case out.Failed && promoted && p.is(validateDoesNotRevive) && !t.failed():
		// A command has precedence over what this sync finds out (C5).
		return judged{phase: "promoted"}
	case out.Failed && promoted:
		return judged{phase: "failed, but promoted"}
	case out.Failed:
		return judged{phase: "failed", reason: because.failed, word: wordOf(because.failed, out.FailedReason)}
	case promoted:
		return judged{phase: "promoted"}
	}
	j := judged{phase: "running"}
	if out.Paused {
		j = judged{phase: "paused", reason: because.paused, word: wordOf(because.paused, out.PausedReason)}
	} else if t.spec.Duration != nil && left >= 0 && t.pods == nil {
		j.until = t.now.Add(left).UTC()
	}
	if c := conditionOf(out.Conditions, restartingCondition); c != nil {
		j.restarting, j.restarted = c.LastTransitionTime.UTC(), c.LastUpdateTime.UTC()
	}
	return j
}

// wordOf is the controller's word for the reason, if it has one. The controller's commands can have a reason, ours cannot.
func wordOf(reason canary.PhaseReason, word string) string {
	switch reason {
	case canary.ByCommand:
		return ""
	case canary.TooManyRestarts:
		return cmp.Or(word, "Unknown")
	default:
		return word
	}
}

// failReason is the reason for which the controller writes this word.
func failReason(word string) canary.PhaseReason {
	switch word {
	case "":
		return canary.ByCommand
	case "TimeoutExceeded":
		return canary.TimedOut
	case "RestartsTimeoutExceeded":
		return canary.RestartsGoOn
	default:
		return canary.TooManyRestarts
	}
}

func pauseReason(word string) canary.PhaseReason {
	switch {
	case word == "SlowStartTimeoutExceeded":
		return canary.SlowStart
	case slices.Contains(cannotStart, word):
		return canary.CannotStart
	default:
		return canary.TooManyRestarts
	}
}

// judgedBy is our judgement in the same terms.
func judgedBy(j canary.Judgement) judged {
	out := judged{
		phase: map[canary.Phase]string{
			canary.Idle: "promoted", canary.Running: "running", canary.Paused: "paused", canary.Failed: "failed",
		}[j.Phase],
	}
	switch j.Phase {
	case canary.Idle:
		return out
	case canary.Running:
		out.until = j.Until.UTC()
	case canary.Paused, canary.Failed:
		out.reason = j.Reason
		out.word = wordOf(j.Reason, map[canary.PhaseReason]string{
			canary.SlowStart: "SlowStartTimeoutExceeded", canary.RestartsGoOn: "RestartsTimeoutExceeded",
			canary.TimedOut:    "TimeoutExceeded",
			canary.CannotStart: j.Detail, canary.TooManyRestarts: cmp.Or(j.Detail, j.Recorded),
		}[j.Reason])
	}
	if j.Phase != canary.Failed {
		out.restarting, out.restarted = j.Record.Restarting.UTC(), j.Record.Disturbed.UTC()
	}
	return out
}

// input is what the controller was given, as options and input of Judge.
func (t *setting) input() (canary.Options, canary.Input) {
	o := t.spec.options()
	if t.said(pausedAnnotation) {
		o.Commands.Pause = canary.Any
	}
	if t.said(unpausedAnnotation) {
		o.Commands.Unpause = canary.Any
	}
	if t.said(failedAnnotation) && !isTrue(t.tried.Status.Conditions, failedCondition) {
		o.Commands.Fail = canary.Any
	}
	o.Commands.Validate = t.annotations[validAnnotation]
	in := canary.Input{
		Now: t.now, Revision: t.tried.Spec.TemplateGeneration, Name: t.tried.Metadata.Name,
		Record: canary.Record{Revision: t.tried.Spec.TemplateGeneration},
		Halted: t.said(haltedAnnotation) || t.said(frozenAnnotation),
	}
	for _, c := range t.tried.Status.Conditions {
		switch {
		case c.Type == restartingCondition:
			in.Record.Restarting, in.Record.Restarted = c.LastTransitionTime.Time, c.LastUpdateTime.Time
			in.Record.Disturbed = c.LastUpdateTime.Time
		case c.Type == beganCondition:
			in.Record.Began = c.LastTransitionTime.Time
		case c.Status != "True":
		case c.Type == failedCondition:
			in.Annotations = map[string]string{history.FailedAnnotation: "", history.FailedMessageAnnotation: c.Reason}
			if reason := failReason(c.Reason); reason != canary.ByCommand {
				in.Annotations[history.FailedAnnotation] = reason.String()
			}
		case c.Type == pausedCondition:
			in.Record.Pause = &canary.Finding{
				Phase: canary.Paused, Reason: pauseReason(c.Reason), Detail: c.Reason, At: c.LastTransitionTime.Time,
			}
		}
	}
	return o, in
}

// trial is the setting of a canary whose clock has only just begun.
func (c *statusCase) trial() *setting {
	s := c.setting()
	s.tried.Metadata.CreationTimestamp.Time, s.active = s.now, new(replicaSet)
	return s
}

// input is the input for a recorded look at the pods. The clock has only just begun, because the recordings do not have the time
// that has passed.
func (c *statusCase) input() (canary.Options, canary.Input) {
	t := c.setting()
	o, in := t.input()
	in.Wanted = int32(len(t.nodes))
	for _, name := range t.nodes {
		// A node that is gone, or that may not run the pod, is no canary node (C1).
		pod, fits := t.pods[name]
		if !fits {
			continue
		}
		n := canary.Node{Name: name}
		if pod != nil && t.upToDate(pod) {
			n.Pods, n.Available = []*corev1.Pod{pod}, isReady(pod) && pod.DeletionTimestamp == nil
		}
		in.Nodes = append(in.Nodes, n)
		in.Record.Nodes = append(in.Record.Nodes, name)
	}
	slices.Sort(in.Record.Nodes)
	return o, in
}

// input is the input for a recorded look at the clock. It has one healthy canary node, because the recordings have no pods. The
// clock has run since the replica set was created.
func (c *promotionCase) input() (canary.Options, canary.Input) {
	t := c.setting()
	o, in := t.input()
	if o.Mode == canary.Auto && o.NoRestartsDuration == nil {
		o.NoRestartsDuration = new(time.Duration) // for the controller, unset means none
	}
	switch {
	case t.active == nil:
		in.Known = canary.KnownFirst
	case t.active.Metadata.Name == t.tried.Metadata.Name:
		in.Known = canary.KnownStable
	}
	in.Wanted = 1
	in.Nodes = []canary.Node{{Name: "node", Available: true, Pods: []*corev1.Pod{{}}}}
	in.Record.Nodes = []string{"node"}
	in.Record.Began, in.Record.Since = t.created(), t.created()
	return o, in
}

// TestConformanceStatus compares Judge with the recorded looks at the pods of canaries.
func TestConformanceStatus(t *testing.T) {
	count := tally{file: "eds/canary-status.jsonl", of: judgeRules, own: recordedOnly(watchRules)}
	for _, c := range recordings[statusCase](t, count.file) {
		count.cases++
		s := c.trial()
		o, in := c.input()
		if fields := s.spec.refused(); len(fields) > 0 {
			count.refused++
			assertRefused(t, c.Name, o, fields)
		}
		j := canary.Judge(o, in)
		ours := judgedBy(j)
		ours.until = time.Time{}
		assertJudgement(t, c.Name, o, in, j)
		assertWake(t, c.Name, o, in, j)
		if len(s.spec.refused()) > 0 {
			// Judge does not check the options. Its judgement by refused ones must be explained, too.
			if _, ok := explain(judgeRules, func(p peer) bool { return p.judge(s) == ours }); !ok {
				t.Errorf("%s: unexplained, if not refused: %v", c.Name, ours)
			}
			continue
		}
		if !count.add(func(p peer) bool { return p.judge(s) == ours }) {
			t.Errorf("%s: unexplained:\n%v; model of the rules:\n%v", c.Name, ours, peer{rules: allRules}.judge(s))
		}
	}
	count.report(t)
}

// refused lists the fields for which the options are refused.
func (s *canarySpec) refused() (fields []string) {
	if s.ValidationMode == canary.Manual && s.Duration != nil {
		fields = append(fields, "canary.duration")
	}
	if s.ValidationMode == canary.Manual && s.NoRestartsDuration != nil {
		fields = append(fields, "canary.noRestartsDuration")
	}
	negative := func(of string, limit *time.Duration) {
		if limit != nil && *limit < 0 {
			fields = append(fields, "canary."+of)
		}
	}
	l := s.limits()
	if s.ValidationMode != canary.Manual {
		negative("duration", durationOf(s.Duration))
		negative("noRestartsDuration", durationOf(s.NoRestartsDuration))
	}
	negative("autoPause.maxSlowStartDuration", l.slow)
	negative("autoFail.maxRestartsDuration", l.goOn)
	if l.pauseRestarts < 0 {
		fields = append(fields, "canary.autoPause.maxRestarts")
	}
	if l.failRestart < 0 {
		fields = append(fields, "canary.autoFail.maxRestarts")
	}
	if l.fails && l.pauses && l.failRestart < l.pauseRestarts && l.failRestart >= 0 {
		fields = append(fields, "canary.autoFail.maxRestarts")
	}
	if o := s.options().Default(); l.timeout != nil && (*l.timeout <= 0 || o.Duration != nil && *l.timeout <= *o.Duration) {
		fields = append(fields, "canary.autoFail.canaryTimeout")
	}
	return fields
}

// TestConformancePromotion compares Judge with the recorded promotions.
func TestConformancePromotion(t *testing.T) {
	count := tally{file: "eds/canary-promotion.jsonl", of: judgeRules, own: recordedOnly(clockRules)}
	for _, c := range recordings[promotionCase](t, count.file) {
		count.comparePromotion(t, c.Name, c)
	}
	count.report(t)
}

// comparePromotion compares Judge with the controller: whether the canary is promoted.
func (c *tally) comparePromotion(t *testing.T, name string, of *promotionCase) {
	t.Helper()
	c.cases++
	s := of.setting()
	if s.spec == nil {
		c.aside++ // there is no canary to judge
		return
	}
	o, in := of.input()
	if fields := s.spec.refused(); len(fields) > 0 {
		c.refused++
		assertRefused(t, name, o, fields)
		return
	}
	j := canary.Judge(o, in)
	ours := judgedBy(j)
	assertJudgement(t, name, o, in, j)
	assertWake(t, name, o, in, j)
	if !c.add(func(p peer) bool { return p.judge(s) == ours }) {
		t.Errorf("%s: unexplained:\n%v; model of the rules:\n%v", name, ours, peer{rules: allRules}.judge(s))
	}
}
