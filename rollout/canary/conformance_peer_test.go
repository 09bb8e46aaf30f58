package canary_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// peer is a naive model of the recorded controller. Without rules it does what the controller did. Each rule makes it do in one
// respect what docs/rules.md requires.
type peer struct {
	rules ruleSet
	// byName reports whether the model goes by name where the controller follows the order of an unordered list. It is no rule,
	// because the result is one of the choices that the controller can make.
	byName bool
}

func (p peer) is(r rule) bool { return p.rules>>r&1 == 1 }

// setting is what the controller knows when it judges a canary.
type setting struct {
	now         time.Time
	annotations map[string]string
	spec        *canarySpec // nil: there are no canaries
	tried       replicaSet
	active      *replicaSet // nil: there is none
	same        bool        // active is tried, by identity
	nodes       []string
	pods        map[string]*corev1.Pod
	surplus     []corev1.Pod // they are to be deleted, whatever the result of the trial
	began       time.Time    // the canary began; zero: not known
}

func (t *setting) said(annotation string) bool { return t.annotations[annotation] == "true" }

func (t *setting) failed() bool {
	return isTrue(t.tried.Status.Conditions, failedCondition) || t.said(failedAnnotation)
}

// upToDate reports whether the pod is of the replica set on trial.
func (t *setting) upToDate(pod *corev1.Pod) bool {
	return pod.Annotations[hashAnnotation] == t.tried.Spec.TemplateGeneration
}

// paused reports whether the canary is paused already, and returns why.
func (t *setting) paused() (paused bool, reason string) {
	if c := conditionOf(t.tried.Status.Conditions, pausedCondition); c != nil && c.Status == "True" {
		return true, c.Reason
	}
	if !t.said(pausedAnnotation) {
		return false, ""
	}
	if reason, ok := t.annotations[reasonAnnotation]; ok {
		return true, reason
	}
	return true, "Unknown"
}

// watch is what the controller finds out from the pods of a canary. A problem makes it panic.
func (p peer) watch(t *setting) (out statusOutcome, because reasons, problem string) {
	out.Creates, out.Deletes, out.CanaryLabelAddedTo, out.CleanedUpPods = []string{}, []string{}, []string{}, []string{}
	out.Status.Status = "canary"
	var watched, leaving []*corev1.Pod
	var missing []string
	again := false
	nodes := t.nodes
	if p.is(firstReasonCounts) {
		nodes = inOrder(nodes)
	}
	for _, node := range nodes {
		out.Status.Desired++
		pod, fits := t.pods[node]
		switch {
		case !fits:
		case pod == nil:
			missing = append(missing, node)
		case pod.DeletionTimestamp != nil:
			again = true
			if t.upToDate(pod) {
				leaving = append(leaving, pod)
			}
		case !t.upToDate(pod):
			out.Deletes = append(out.Deletes, pod.Name)
		default:
			out.Status.Current++
			if isReady(pod) {
				out.Status.Ready++
				out.Status.Available++
			}
			watched = append(watched, pod)
		}
	}
	out.Conditions = append([]condition{}, t.tried.Status.Conditions...)
	p.recall(t, &out, &because)
	if problem := p.judgePods(t, watched, leaving, &out, &because); problem != "" {
		return out, because, problem
	}
	if len(missing) > 0 && !out.Paused && !out.Failed {
		out.Creates = missing
		again = true
	}
	if again || !out.Failed && !out.Paused && out.Status.Desired != out.Status.Ready {
		out.RequeueAfterSeconds = 1
	}
	if out.Failed {
		out.Status.Status = "canary-failed"
	}
	for _, node := range t.nodes {
		if pod := t.pods[node]; pod != nil && pod.Labels[ownerLabel] == t.tried.Metadata.Name && pod.Labels[canaryLabel] != "true" {
			out.CanaryLabelAddedTo = append(out.CanaryLabelAddedTo, pod.Name)
		}
	}
	slices.Sort(out.CanaryLabelAddedTo)
	for _, pod := range t.surplus {
		if pod.DeletionTimestamp == nil {
			out.CleanedUpPods = append(out.CleanedUpPods, pod.Name)
		}
	}
	return out, because, ""
}

const (
	ownerLabel  = "extendeddaemonsetreplicaset.datadoghq.com/name"
	canaryLabel = "extendeddaemonsetreplicaset.datadoghq.com/canary"
)

// reasons are the reasons of a verdict as our codes.
type reasons struct{ failed, paused canary.PhaseReason }

// recall reads what was found before and which commands there are.
func (p peer) recall(t *setting, out *statusOutcome, because *reasons) {
	out.Failed, because.failed = t.failed(), canary.ByCommand
	if p.is(stableCannotFail) && t.untried() {
		out.Failed = isTrue(out.Conditions, failedCondition)
	}
	if c := conditionOf(out.Conditions, failedCondition); isTrue(out.Conditions, failedCondition) && p.is(failKeepsReason) {
		out.FailedReason, because.failed = c.Reason, failReason(c.Reason)
	}
	out.Paused, out.PausedReason = t.paused()
	because.paused = pauseReason(out.PausedReason)
	if t.said(pausedAnnotation) && (p.is(pauseCommandComesFirst) || !isTrue(out.Conditions, pausedCondition)) {
		because.paused = canary.ByCommand
	}
	out.Unpaused = t.said(unpausedAnnotation)
	if out.Unpaused && p.is(unpauseLiftsAutomaticPauses) {
		p.lift(t, out)
	}
}

// lift has the effect of the command to unpause.
func (p peer) lift(t *setting, out *statusOutcome) {
	if !t.said(pausedAnnotation) || !p.is(unpauseLiftsAutomaticPauses) {
		out.Paused, out.PausedReason = false, ""
	}
}

// verdicts collects the reasons for a fail or a pause that the pods give.
type verdicts struct {
	peer
	t       *setting
	out     *statusOutcome
	because *reasons
	// before reports whether the canary was paused automatically before. now reports whether there is a reason to pause it now.
	before, now bool
}

func (v *verdicts) fail(reason canary.PhaseReason, word string) {
	if !v.out.Failed {
		v.out.Failed, v.out.FailedReason, v.because.failed = true, word, reason
	}
}

func (v *verdicts) pause(reason canary.PhaseReason, word string) {
	switch {
	case v.before && v.is(pauseKeepsReason):
	case v.t.said(pausedAnnotation) && v.is(pauseCommandComesFirst):
	case v.now && v.is(firstReasonCounts):
	default:
		v.out.Paused, v.out.PausedReason, v.because.paused = true, word, reason
	}
	v.now = true
}

// judgePods fails or pauses the canary by its pods, and writes the conditions.
func (p peer) judgePods(t *setting, pods, leaving []*corev1.Pod, out *statusOutcome, because *reasons) (problem string) {
	if t.spec == nil {
		return ""
	}
	if t.spec.limits().unset && !p.is(unsetIsDefault) {
		return "autoPause or autoFail is not set"
	}
	if !p.is(leavingPodsDisturb) {
		leaving = nil
	}
	seen := p.restarts(t, slices.Concat(pods, leaving))
	v := &verdicts{peer: p, t: t, out: out, because: because, before: out.Paused && because.paused != canary.ByCommand}
	var last trouble // of the last pod
	var stuckReason, stuckMessage string
	for _, pod := range pods {
		if last, problem = p.troubleOf(t, pod); problem != "" {
			return problem
		}
		if last.stuck != "" {
			stuckReason, stuckMessage = last.stuck, fmt.Sprintf("Pod %s cannot start with reason: %s", pod.Name, last.stuck)
		}
		v.add(last, seen)
	}
	if p.is(timeoutsNeedNoPod) {
		v.timeOut(seen)
	}
	out.set(t.now, failedCondition, out.Failed, out.FailedReason, "")
	out.set(t.now, pausedCondition, out.Paused, out.PausedReason, "")
	if c := conditionOf(out.Conditions, restartingCondition); seen.last.After(lastUpdate(c)) {
		out.set(seen.last, restartingCondition, true, stuckReason, seen.message)
	}
	if c := conditionOf(out.Conditions, restartingCondition); c != nil && p.is(restartsAreDatedAsSeen) {
		c.LastTransitionTime = metav1.NewTime(seen.from)
		c.LastUpdateTime = metav1.NewTime(earlierOf(c.LastUpdateTime.Time, t.now))
	}
	out.set(t.now, cannotStartCondition, last.stuck != "", stuckReason, stuckMessage)
	return ""
}

// add adds the trouble of a pod.
func (v *verdicts) add(found trouble, seen restartsSeen) {
	limits := v.t.spec.limits()
	if limits.fails && found.restarts > limits.failRestart {
		v.fail(canary.TooManyRestarts, found.why)
	}
	if !v.is(timeoutsNeedNoPod) {
		v.timeOut(seen)
	}
	switch {
	case v.out.Failed:
	case v.out.Unpaused:
		v.lift(v.t, v.out)
	case !limits.pauses:
	case found.stuck == "SlowStartTimeoutExceeded":
		v.pause(canary.SlowStart, found.stuck)
	case found.stuck != "":
		v.pause(canary.CannotStart, found.stuck)
	case found.restarts > limits.pauseRestarts:
		v.pause(canary.TooManyRestarts, found.why)
	}
}

// timeOut fails the canary if something has taken too long.
func (v *verdicts) timeOut(seen restartsSeen) {
	limits, conditions := v.t.spec.limits(), v.t.tried.Status.Conditions
	if !limits.fails || v.t.said(pausedAnnotation) && v.is(timeoutsWaitForPauseCommand) {
		return
	}
	if limits.goOn != nil && v.restartsSpan(conditions, seen) > *limits.goOn {
		v.fail(canary.RestartsGoOn, "RestartsTimeoutExceeded")
	}
	began := conditionOf(conditions, beganCondition)
	if limits.timeout != nil && began != nil && v.t.now.Sub(began.LastTransitionTime.Time) > *limits.timeout {
		v.fail(canary.TimedOut, "TimeoutExceeded")
	}
}

func lastUpdate(c *condition) time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.LastUpdateTime.Time
}

// restartsSeen is what is known of restarts. last is the last that pods show. With the rule, from and until are since when and
// until when they went on.
type restartsSeen struct {
	last        time.Time
	message     string
	from, until time.Time
}

func (p peer) restarts(t *setting, pods []*corev1.Pod) (seen restartsSeen) {
	began := t.now
	if !t.began.IsZero() {
		began = earlierOf(began, t.began)
	}
	happened := func(at time.Time) {
		if at = earlierOf(at, t.now); at.IsZero() || at.Before(began) {
			return
		}
		if seen.from.IsZero() || at.Before(seen.from) {
			seen.from = at
		}
		if at.After(seen.until) {
			seen.until = at
		}
	}
	if c := conditionOf(t.tried.Status.Conditions, restartingCondition); c != nil {
		happened(c.LastTransitionTime.Time)
		happened(c.LastUpdateTime.Time)
	}
	for _, pod := range pods {
		for _, end := range p.ends(pod) {
			happened(end.at)
			if p.is(restartsAreDatedAsSeen) {
				end.at = earlierOf(end.at, t.now)
			}
			if end.at.After(seen.last) {
				seen.last, seen.message = end.at, fmt.Sprintf("Pod %s restarting with reason: %s", pod.Name, end.why)
			}
		}
		if p.ended(pod) && pod.Status.Phase == corev1.PodFailed {
			seen.last = t.now // it may have failed just now
		}
	}
	return seen
}

// restartsSpan is how long restarts went on.
func (p peer) restartsSpan(conditions []condition, seen restartsSeen) time.Duration {
	c := conditionOf(conditions, restartingCondition)
	switch {
	case p.is(restartsAreDatedAsSeen):
		return seen.until.Sub(seen.from)
	case c == nil:
		return 0
	default:
		return c.LastUpdateTime.Sub(c.LastTransitionTime.Time)
	}
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// set writes a condition. A false condition is not added, and one that becomes false keeps its reason.
func (o *statusOutcome) set(at time.Time, kind string, value bool, reason, message string) {
	status := map[bool]string{true: "True", false: "False"}[value]
	c := conditionOf(o.Conditions, kind)
	if c == nil {
		if value {
			at := metav1.NewTime(at)
			o.Conditions = append(o.Conditions, condition{kind, status, reason, message, at, at})
		}
		return
	}
	if c.Status != status {
		c.Status, c.LastTransitionTime = status, metav1.NewTime(at)
	}
	c.LastUpdateTime = metav1.NewTime(at)
	if value {
		c.Reason, c.Message = reason, message
	}
}
