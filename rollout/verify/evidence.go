package verify

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// notPassed says why the clock cannot have promoted the revision (C2); empty: it can.
func (c *judgedCanary) notPassed() string {
	options, now := c.options, c.snapshot.Now
	elapsed := c.elapsed()
	available, waits, canaries := 0, false, make(map[*node]bool)
	for _, node := range c.canaries {
		canaries[node] = true
		waits = waits || !c.holdsAvailable(node) // whichever nodes join, this one stays (C1)
	}
	for _, node := range c.candidates {
		if c.holdsAvailable(node) && (!c.certain || canaries[node]) {
			available++
		}
	}
	switch {
	case options.Mode != canary.Auto:
		return "validation is manual, and nobody has validated it"
	case c.halted():
		return "the set is paused or frozen"
	case c.pause:
		return "it is paused by command"
	case c.record.Pause != nil && !c.unpause:
		return "it has been paused, and nobody has unpaused it"
	case len(c.candidates) == 0:
		return "there is no canary node"
	case waits, available < min(c.wanted, len(c.candidates)):
		return "not every canary node holds an available pod"
	case elapsed < *options.Duration:
		return "the clock stands at " + elapsed.String() + " of " + options.Duration.String()
	case c.fresh && *options.NoRestartsDuration > 0, // whatever they went through before
		now.Sub(c.disturbed()) < *options.NoRestartsDuration:
		return "a pod restarted, failed or was evicted less than " + options.NoRestartsDuration.String() + " ago"
	default:
		return ""
	}
}

// elapsed is how far the clock has run by now. It begins anew with a node that joins.
func (c *judgedCanary) elapsed() time.Duration {
	if c.beginsAnew() {
		return 0
	}
	return runFor(c.record, c.snapshot.Now)
}

func (c *judgedCanary) beginsAnew() bool {
	before := setOfNames(c.record.Nodes)
	joined := func(node *node) bool { return !before[node.name] }
	return c.fresh || !c.certain || len(c.canaries) == 0 || slices.ContainsFunc(c.canaries, joined)
}

// runFor is how far the clock of a record has run by now.
func runFor(record canary.Record, now time.Time) time.Duration {
	elapsed := max(0, record.Elapsed)
	if !record.Since.IsZero() {
		elapsed += max(0, now.Sub(record.Since))
	}
	if elapsed < 0 { // too long to count
		return 1<<63 - 1
	}
	return elapsed
}

// holdsAvailable reports whether the node holds an available pod of the update revision that is not on its way out.
func (c *judgedCanary) holdsAvailable(node *node) bool {
	return node.any(func(p *pod) bool { return p.atUpdate && p.live() && !p.leaving && p.settled() })
}

// allAvailable reports whether every canary node does.
func (c *judgedCanary) allAvailable() bool {
	return !slices.ContainsFunc(c.canaries, func(node *node) bool { return !c.holdsAvailable(node) })
}

// tried are the pods of the update revision on the canary nodes, those on their way out included.
func (c *judgedCanary) tried() []*pod {
	var pods []*pod
	for _, node := range c.canaries {
		for _, pod := range slices.Concat(node.pods, node.ignored) {
			if pod.atUpdate {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// disturbed is when a canary pod last restarted, failed or was evicted, as far as that is known for certain.
func (c *judgedCanary) disturbed() time.Time {
	now := c.snapshot.Now
	last := earliest(c.record.Disturbed, now)
	if c.fresh && len(c.tried()) > 0 {
		return now // whatever they went through before
	}
	for _, pod := range c.tried() {
		object := pod.object
		evicted := object.DeletionTimestamp != nil && slices.ContainsFunc(object.Status.Conditions,
			func(condition corev1.PodCondition) bool {
				return condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue
			})
		if pod.failed || evicted {
			return now
		}
		if at := earliest(lastRestartOf(object), now); at.After(last) {
			last = at
		}
	}
	return last
}

// lastRestartOf is when a container of the pod last ended to be started again; zero: none did.
func lastRestartOf(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, at := range restartTimes(pod) {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// restartTimes are when the containers of the pod last ended to be started again, or if that is not known were started again.
func restartTimes(pod *corev1.Pod) []time.Time {
	var times []time.Time
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		ended := status.LastTerminationState.Terminated
		switch {
		case ended != nil && !ended.FinishedAt.IsZero():
			times = append(times, ended.FinishedAt.Time)
		case ended == nil && status.RestartCount <= 0:
		case status.State.Running != nil:
			times = append(times, status.State.Running.StartedAt.Time)
		case status.State.Terminated != nil:
			times = append(times, status.State.Terminated.StartedAt.Time)
		}
	}
	return times
}

// restartsOf is how often the container of the pod that restarted most did.
func restartsOf(pod *corev1.Pod) int32 {
	var most int32
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		most = max(most, status.RestartCount)
	}
	return most
}

// mayFail reports whether anything shows a reason for which the revision has failed (C4). It asks all pods of the revision,
// wherever they are.
func (c *judgedCanary) mayFail() bool {
	fail, now := c.options.AutoFail, c.snapshot.Now
	if fail.Disabled {
		return false
	}
	var from, until time.Time
	restarted := func(at time.Time) { // of those since the canary began
		if at = earliest(at, now); at.IsZero() || at.Before(c.began()) {
			return
		}
		if from.IsZero() || at.Before(from) {
			from = at
		}
		if at.After(until) {
			until = at
		}
	}
	restarted(c.record.Restarting)
	restarted(c.record.Restarted)
	for _, pod := range c.pods {
		if !pod.atUpdate {
			continue
		}
		if pod.seen() && restartsOf(pod.object) > *fail.MaxRestarts {
			return true
		}
		for _, at := range restartTimes(pod.object) {
			restarted(at)
		}
	}
	goesOn := fail.MaxRestartsDuration != nil && until.Sub(from) > *fail.MaxRestartsDuration
	return goesOn || c.timedOut(now)
}

// began is when the canary began: now, if that is not known (any more), or was said to be to come.
func (c *judgedCanary) began() time.Time {
	now := c.snapshot.Now
	if c.fresh || c.record.Began.IsZero() {
		return now
	}
	return earliest(c.record.Began, now)
}

func (c *judgedCanary) timedOut(now time.Time) bool {
	fail := c.options.AutoFail
	return !fail.Disabled && fail.CanaryTimeout != nil && !c.fresh && !c.record.Began.IsZero() &&
		now.Sub(c.record.Began) > *fail.CanaryTimeout
}

// mayPause reports whether anything shows a reason to rest (C3), asking all pods of the revision.
func (c *judgedCanary) mayPause() bool {
	if c.pause || c.record.Pause != nil && !c.unpause {
		return true
	}
	if c.options.AutoPause.Disabled || c.unpause {
		return false
	}
	for _, pod := range c.pods {
		if pod.atUpdate && pod.seen() && c.troubles(pod) {
			return true
		}
	}
	return false
}

// mustRest says why the canary cannot go on running (C3, C4); empty: it can. Of pods that are older than the trial nobody
// knows what they went through before.
func (c *judgedCanary) mustRest() string {
	switch {
	case c.pause:
		return "it is paused by command"
	case c.record.Pause != nil && !c.unpause:
		return "it has been paused, and nobody has unpaused it"
	case c.timedOut(c.snapshot.Now):
		return "it has taken longer than the timeout"
	}
	for _, pod := range c.tried() {
		young := !c.fresh && pod.object.CreationTimestamp.After(c.record.Began)
		if !pod.seen() || !young {
			continue
		}
		if fail := c.options.AutoFail; !fail.Disabled && restartsOf(pod.object) > *fail.MaxRestarts {
			return "pod " + pod.object.Name + " restarted too often"
		}
		if !c.options.AutoPause.Disabled && !c.unpause && c.troubles(pod) {
			return "pod " + pod.object.Name + " does not come up"
		}
	}
	return ""
}

// seen reports whether the pod is seen to live: what is only asked for does not change what the pod tells of its revision.
func (p *pod) seen() bool { return !p.isDeleted && !p.terminal }

// troubles reports whether a live pod restarted too often, cannot start, or takes too long to be created (C3).
func (c *judgedCanary) troubles(pod *pod) bool {
	pause := c.options.AutoPause
	if restartsOf(pod.object) > *pause.MaxRestarts {
		return true
	}
	var slow bool
	if limit := pause.MaxSlowStartDuration; limit != nil {
		from := pod.object.CreationTimestamp.Time
		if start := pod.object.Status.StartTime; start != nil && !start.IsZero() {
			from = start.Time
		}
		slow = c.snapshot.Now.Sub(from) > *limit
	}
	creating := false
	for _, status := range slices.Concat(pod.object.Status.ContainerStatuses, pod.object.Status.InitContainerStatuses) {
		if status.State.Waiting == nil {
			continue
		}
		switch reason := status.State.Waiting.Reason; {
		case slices.Contains(cannotStart(), reason):
			return pause.MaxSlowStartDuration == nil || slow
		case reason == "ContainerCreating" || reason == "PodInitializing":
			creating = true
		}
	}
	return creating && slow
}

// cannotStart are the reasons with which the kubelet reports a container that cannot start (C3).
func cannotStart() []string {
	return []string{
		"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "ErrImageNeverPull", "RegistryUnavailable", "InvalidImageName",
		"CreateContainerConfigError", "CreateContainerError", "PreStartHookError", "PostStartHookError", "PreCreateHookError",
	}
}

// checkRecord holds what is remembered of a trial to what was remembered before: the clock never runs ahead (C2, C6).
func (c *judgedCanary) checkRecord() {
	if !c.onTrial() {
		return
	}
	record, now := c.plan.Memory.Canary, c.snapshot.Now
	wrong := func(format string, args ...any) { c.report(12, "", "C2, C6: memory of the canary "+format, args...) }
	if record.Revision != c.plan.Status.UpdateRevision || !slices.Equal(record.Nodes, c.plan.Canary.Nodes) {
		wrong("is of revision %q and nodes %q, right are %q and %q", record.Revision, record.Nodes,
			c.plan.Status.UpdateRevision, c.plan.Canary.Nodes)
		return
	}
	if record.Verdict != nil {
		wrong("has a verdict while the canary is %s", c.trial.phase)
	}
	if is, right := runFor(record, now), c.elapsed(); is != right {
		wrong("has the clock at %s, right is %s", is, right)
	}
	began := c.began()
	if !record.Began.Equal(began) {
		wrong("says it began at %s, right is %s", record.Began.UTC().Format(time.RFC3339Nano),
			began.UTC().Format(time.RFC3339Nano))
	}
	started := !c.beginsAnew() && (c.record.Elapsed > 0 || !c.record.Since.IsZero())
	switch {
	case record.Since.IsZero():
	case record.Since.After(now):
		wrong("lets the clock run since %s, which is to come", record.Since.UTC().Format(time.RFC3339Nano))
	case c.halted() || c.trial.phase == canary.Paused:
		wrong("lets the clock run while the canary rests")
	case len(c.canaries) == 0 || !started && !c.allAvailable():
		wrong("starts the clock before every canary node holds an available pod")
	}
	if right := c.disturbed(); record.Disturbed.Before(right) {
		wrong("says it was last disturbed at %s, right is not before %s", record.Disturbed.UTC().Format(time.RFC3339Nano),
			right.UTC().Format(time.RFC3339Nano))
	}
	lasting := c.record.Pause != nil && !c.unpause
	found := c.trial.phase == canary.Paused && c.plan.Canary.Reason != canary.ByCommand
	if record.Pause == nil && (lasting || found) {
		wrong("forgets that the canary was paused")
	}
}
