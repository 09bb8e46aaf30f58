package canary_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// reporter takes the errors of assertions.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// assertJudgement checks our judgement without the model. For each entry it asserts how the judgement differs from the
// controller's.
func assertJudgement(t reporter, name string, o canary.Options, in canary.Input, j canary.Judgement) {
	t.Helper()
	wrong := func(id rule, format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s (%s): "+format, append([]any{name, entries[id].id, entries[id].rule}, args...)...)
	}
	_, failedBefore := in.Annotations[history.FailedAnnotation]
	_, promotes := j.Set[history.PromotedAnnotation]
	if failedBefore {
		if j.Phase != canary.Failed || promotes {
			wrong(failedIsNotPromoted, "a failed canary is %v", j.Phase)
		}
		if j.Recorded != in.Annotations[history.FailedMessageAnnotation] {
			wrong(failKeepsReason, "it failed by %q, and now by %q", in.Annotations[history.FailedMessageAnnotation], j.Recorded)
		}
		if len(j.Set)+len(j.Remove) > 0 {
			wrong(validateDoesNotRevive, "its verdict is written again: %v, %v", j.Set, j.Remove)
		}
		return
	}
	validated := in.Name != "" && o.Commands.Validate == in.Name
	if in.Halted && in.Known == canary.NotKnown && !validated && promotes {
		wrong(haltedPromotesNothing, "promoted by %v", j.Reason)
	}
	if j.Phase == canary.Failed && in.Known != canary.NotKnown {
		wrong(stableCannotFail, "a revision that needs no canary has failed by %v", j.Reason)
	}
	if limit := o.Default(); limit.Mode == canary.Auto && j.Until.Sub(in.Now) > max(*limit.Duration, *limit.NoRestartsDuration) {
		wrong(futureIsNow, "waits until %v at %v", j.Until, in.Now)
	}
	if j.Phase == canary.Running && !j.Until.IsZero() && !j.Until.After(in.Now) {
		wrong(exactlyLongEnough, "waits until %v at %v", j.Until, in.Now)
	}
	if in.Known != canary.NotKnown || validated {
		return
	}
	if j.Phase == canary.Running && passed(o, in) {
		wrong(exactlyLongEnough, "it waits on by %v", j.Reason)
	}
	assertTimeouts(t, name, o, in, j)
	paused := o.Commands.Pause != ""
	if paused && j.Phase != canary.Failed && (j.Phase != canary.Paused || j.Reason != canary.ByCommand) {
		wrong(unpauseLiftsAutomaticPauses, "%v by %v, although somebody paused it", j.Phase, j.Reason)
		wrong(pauseCommandComesFirst, "%v by %v, although somebody paused it", j.Phase, j.Reason)
	}
	if p := in.Record.Pause; p != nil && j.Phase == canary.Paused && !paused && (j.Reason != p.Reason || j.Detail != p.Detail) {
		wrong(pauseKeepsReason, "paused by %v %s, and now by %v %s", p.Reason, p.Detail, j.Reason, j.Detail)
	}
	if o.Commands.Unpause != "" && !paused && j.Phase == canary.Paused {
		t.Errorf("%s: paused by %v, although somebody unpaused it (C3)", name, j.Reason)
	}
	assertPods(t, name, o, in, j)
}

// passed reports whether the conditions of a promotion by the clock hold, for pods that never restarted.
func passed(o canary.Options, in canary.Input) bool {
	return o.Mode == canary.Auto && !in.Halted && in.Record.Pause == nil && !in.Record.Since.IsZero() &&
		!slices.ContainsFunc(in.Nodes, func(n canary.Node) bool { return !n.Available }) &&
		in.Record.Elapsed+in.Now.Sub(in.Record.Since) >= *o.Duration && in.Now.Sub(in.Record.Disturbed) >= *o.NoRestartsDuration
}

// assertTimeouts asserts that a timeout fails a canary whatever the state of its pods, unless a command has paused the canary.
func assertTimeouts(t reporter, name string, o canary.Options, in canary.Input, j canary.Judgement) {
	t.Helper()
	limit, paused := o.AutoFail.CanaryTimeout, o.Commands.Pause != ""
	if paused && (j.Reason == canary.TimedOut || j.Reason == canary.RestartsGoOn) {
		t.Errorf("%s: %s: failed by %v", name, entries[timeoutsWaitForPauseCommand].id, j.Reason)
	}
	if o.AutoFail.Disabled || limit == nil || in.Record.Began.IsZero() {
		return
	}
	over := in.Now.Sub(in.Record.Began) > *limit
	if over && !paused && j.Phase != canary.Failed {
		t.Errorf("%s: %s: %v after %v, although it may take %v", name, entries[timeoutsNeedNoPod].id, j.Phase, in.Now.Sub(in.Record.Began), *limit)
	}
	if !over && j.Reason == canary.TimedOut {
		t.Errorf("%s: timed out after %v, although it may take %v (C4)", name, in.Now.Sub(in.Record.Began), *limit)
	}
}

// assertPods asserts what a judgement must conclude from the pods.
func assertPods(t reporter, name string, o canary.Options, in canary.Input, j canary.Judgement) {
	t.Helper()
	automatic := in.Record.Pause == nil && o.Commands.Pause == "" && o.Commands.Unpause == "" && !o.AutoPause.Disabled
	for _, n := range in.Nodes {
		for _, pod := range n.Pods {
			at := earlierOf(ours().latest(pod), in.Now)
			if j.Phase != canary.Failed && at.After(j.Record.Disturbed) {
				t.Errorf("%s: %s, %s: a pod restarted at %v, but the record says %v", name, entries[leavingPodsDisturb].id,
					entries[restartsAreDatedAnyhow].id, at, j.Record.Disturbed)
			}
			if most, _ := ours().mostRestarts(pod); automatic && j.Phase == canary.Running && most > *o.Default().AutoPause.MaxRestarts &&
				pod.DeletionTimestamp == nil && !ours().ended(pod) {
				t.Errorf("%s: %s, %s: the canary runs on, although pod %s restarted %d times", name, entries[lastStateIsAny].id,
					entries[unsetIsDefault].id, pod.Name, most)
			}
			if j.Phase != canary.Failed && !at.Before(in.Record.Began) && !in.Record.Began.IsZero() &&
				(at.Before(j.Record.Restarting) || at.After(j.Record.Restarted)) {
				t.Errorf("%s: %s: a pod restarted at %v, but the record says %v to %v", name, entries[restartsAreDatedAsSeen].id,
					at, j.Record.Restarting, j.Record.Restarted)
			}
			if automatic && j.Phase == canary.Running && slow(o, pod, in.Now) {
				t.Errorf("%s: %s, %s: the canary runs on, although pod %s does not come up", name,
					entries[initializingIsCreating].id, entries[startTimeElseCreation].id, pod.Name)
			}
		}
	}
	if !automatic || j.Phase != canary.Paused {
		return
	}
	for _, n := range in.Nodes {
		for _, pod := range n.Pods {
			most, _ := ours().mostRestarts(pod)
			if pod.Name == j.Pod && (ours().ended(pod) || j.Reason == canary.TooManyRestarts && j.Restarts > most ||
				j.Reason != canary.TooManyRestarts && ours().waiting(pod, []string{j.Detail}) == "") {
				t.Errorf("%s: %s, %s: paused by %v of pod %s", name, entries[ephemeralsDoNotCount].id,
					entries[endedPodsArePassedOver].id, j.Reason, j.Pod)
			}
		}
	}
	// The nodes before the one with the reason have no reason.
	before := in
	before.Nodes = slices.DeleteFunc(slices.Clone(in.Nodes), func(n canary.Node) bool { return n.Name >= j.Node })
	if then := canary.Judge(o, before); then.Phase == canary.Paused {
		t.Errorf("%s: %s: %s gives the reason %v, but %s comes before it", name, entries[firstReasonCounts].id, j.Node, j.Reason, then.Node)
	}
}

// ours reads pods by the rules of docs/rules.md.
func ours() peer { return peer{rules: allRules} }

// latest is the last time at which a container of the pod ended and was to be started again.
func (p peer) latest(pod *corev1.Pod) (at time.Time) {
	for _, end := range p.ends(pod) {
		if end.at.After(at) {
			at = end.at
		}
	}
	return at
}

// slow reports whether a live pod has taken longer than allowed to be created, or cannot start.
func slow(o canary.Options, pod *corev1.Pod, now time.Time) bool {
	limit := o.AutoPause.MaxSlowStartDuration
	began, known := startOf(pod)
	if !known {
		began = pod.CreationTimestamp.Time
	}
	switch {
	case pod.DeletionTimestamp != nil, ours().ended(pod):
		return false
	case limit == nil:
		return ours().waiting(pod, cannotStart) != ""
	default:
		return now.After(began.Add(*limit)) && ours().waiting(pod, append([]string{"ContainerCreating", "PodInitializing"}, cannotStart...)) != ""
	}
}

// assertWake asserts that the judgement does not change before Wake, and changes at Wake, if nothing but the time changes. That
// must hold with the old record and with the new one.
func assertWake(t reporter, name string, o canary.Options, in canary.Input, j canary.Judgement) {
	t.Helper()
	changed := func(record canary.Record, now time.Time) (canary.Finding, bool) {
		next := in
		next.Now, next.Record = now, record
		then, was := canary.Judge(o, next).Finding, j.Finding
		then.At, was.At = time.Time{}, time.Time{}
		return then, then != was
	}
	before := in.Now.Add(1000 * time.Hour)
	if !j.Wake.IsZero() {
		before = j.Wake.Add(-1)
		_, remembered := changed(j.Record, j.Wake)
		if _, forgotten := changed(in.Record, j.Wake); !remembered && !forgotten {
			t.Errorf("%s: still %v by %v at %v", name, j.Phase, j.Reason, j.Wake)
		}
	}
	for _, record := range []canary.Record{in.Record, j.Record} {
		if then, ok := changed(record, before); ok {
			t.Errorf("%s: %v by %v, and %v by %v at %v", name, j.Phase, j.Reason, then.Phase, then.Reason, before)
		}
	}
}
