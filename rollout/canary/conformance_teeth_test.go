//go:build teeth

package canary_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// wrongJudge is a Judge with a planted bug. It is the right Judge with a change of the input or of the result.
type wrongJudge struct {
	name string
	read func(o *canary.Options, in *canary.Input)
	say  func(j *canary.Judgement)
	// whole replaces both changes.
	whole func(o canary.Options, in canary.Input) canary.Judgement
	// asserts are the entries whose assertions fail, without the model.
	asserts []rule
}

var wrongJudges = []wrongJudge{
	{name: "forgets the fail", asserts: []rule{failedIsNotPromoted}, read: func(_ *canary.Options, in *canary.Input) { in.Annotations = nil }},
	{name: "forgets why it failed", asserts: []rule{failKeepsReason}, read: func(_ *canary.Options, in *canary.Input) {
		if in.Annotations != nil {
			in.Annotations = map[string]string{history.FailedAnnotation: ""}
		}
	}},
	{name: "lets validate revive", asserts: []rule{validateDoesNotRevive}, read: func(o *canary.Options, in *canary.Input) {
		if o.Commands.Validate == in.Name {
			in.Annotations = nil
		}
	}},
	{name: "promotes a halted set", asserts: []rule{haltedPromotesNothing}, read: func(_ *canary.Options, in *canary.Input) { in.Halted = false }},
	{name: "wants more than the duration", asserts: []rule{exactlyLongEnough}, read: func(o *canary.Options, _ *canary.Input) { add(&o.Duration, 1) }},
	{name: "wants less than the duration", read: func(o *canary.Options, _ *canary.Input) { add(&o.Duration, -time.Second) }},
	{name: "wants more than noRestartsDuration", read: func(o *canary.Options, _ *canary.Input) { add(&o.NoRestartsDuration, 1) }},
	{name: "does not wait after restarts", read: func(o *canary.Options, _ *canary.Input) {
		if o.Mode == canary.Auto {
			o.NoRestartsDuration = new(time.Duration)
		}
	}},
	{name: "promotes by the clock in manual mode", read: func(o *canary.Options, _ *canary.Input) { o.Mode = canary.Auto }},
	{name: "promotes with no pod available", read: func(_ *canary.Options, in *canary.Input) {
		in.Record.Elapsed = 24 * time.Hour
		in.Nodes = slices.Clone(in.Nodes)
		for i := range in.Nodes {
			in.Nodes[i].Available = true
		}
	}},
	{name: "ignores pause", asserts: []rule{pauseCommandComesFirst, unpauseLiftsAutomaticPauses}, read: func(o *canary.Options, _ *canary.Input) { o.Commands.Pause = "" }},
	{name: "lets unpause lift a pause by command", asserts: []rule{unpauseLiftsAutomaticPauses}, read: func(o *canary.Options, _ *canary.Input) {
		if o.Commands.Unpause != "" {
			o.Commands.Pause = ""
		}
	}},
	{name: "ignores unpause", read: func(o *canary.Options, _ *canary.Input) { o.Commands.Unpause = "" }},
	{name: "ignores validate", read: func(o *canary.Options, _ *canary.Input) { o.Commands.Validate = "" }},
	{name: "takes a stale validate", read: func(o *canary.Options, _ *canary.Input) {
		if o.Commands.Validate != "" {
			o.Commands.Validate = canary.Any
		}
	}},
	{name: "forgets the pause", read: func(_ *canary.Options, in *canary.Input) { in.Record.Pause = nil }},
	{name: "gives a pause a new reason", asserts: []rule{pauseKeepsReason}, read: func(o *canary.Options, in *canary.Input) {
		then := *in
		then.Record.Pause = nil
		if j := canary.Judge(*o, then); in.Record.Pause != nil && j.Phase == canary.Paused {
			*in = then
		}
	}},
	{name: "never times out", asserts: []rule{timeoutsNeedNoPod}, read: func(o *canary.Options, _ *canary.Input) { o.AutoFail.CanaryTimeout = nil }},
	{name: "times out at the very instant", read: func(o *canary.Options, _ *canary.Input) { add(&o.AutoFail.CanaryTimeout, -1) }},
	{name: "times out only with a pod", asserts: []rule{timeoutsNeedNoPod}, read: func(o *canary.Options, in *canary.Input) {
		if !slices.ContainsFunc(in.Nodes, func(n canary.Node) bool { return len(n.Pods) > 0 }) {
			o.AutoFail.CanaryTimeout = nil
		}
	}},
	{name: "lets restarts go on", read: func(o *canary.Options, _ *canary.Input) { o.AutoFail.MaxRestartsDuration = nil }},
	{name: "does not let restarts go on so long", read: func(o *canary.Options, _ *canary.Input) { add(&o.AutoFail.MaxRestartsDuration, -time.Second) }},
	{name: "never fails by itself", read: func(o *canary.Options, _ *canary.Input) { o.AutoFail.Disabled = true }},
	{name: "fails although it must not", read: func(o *canary.Options, _ *canary.Input) { o.AutoFail.Disabled = false }},
	{name: "fails one restart late", read: func(o *canary.Options, _ *canary.Input) {
		o.AutoFail.MaxRestarts = new(*o.Default().AutoFail.MaxRestarts + 1)
	}},
	{name: "fails one restart early", read: func(o *canary.Options, _ *canary.Input) {
		o.AutoFail.MaxRestarts = new(*o.Default().AutoFail.MaxRestarts - 1)
	}},
	{name: "never pauses by itself", read: func(o *canary.Options, _ *canary.Input) { o.AutoPause.Disabled = true }},
	{name: "pauses although it must not", read: func(o *canary.Options, _ *canary.Input) { o.AutoPause.Disabled = false }},
	{name: "pauses one restart late", read: func(o *canary.Options, _ *canary.Input) {
		o.AutoPause.MaxRestarts = new(*o.Default().AutoPause.MaxRestarts + 1)
	}},
	{name: "pauses one restart early", read: func(o *canary.Options, _ *canary.Input) {
		o.AutoPause.MaxRestarts = new(*o.Default().AutoPause.MaxRestarts - 1)
	}},
	{name: "gives no time to start", read: func(o *canary.Options, _ *canary.Input) { o.AutoPause.MaxSlowStartDuration = nil }},
	{name: "gives more time to start", asserts: []rule{initializingIsCreating}, read: func(o *canary.Options, _ *canary.Input) { add(&o.AutoPause.MaxSlowStartDuration, time.Second) }},
	{name: "gives less time to start", read: func(o *canary.Options, _ *canary.Input) { add(&o.AutoPause.MaxSlowStartDuration, -1) }},
	{name: "goes by the last node", asserts: []rule{firstReasonCounts}, whole: func(o canary.Options, in canary.Input) canary.Judgement {
		// The names of the nodes are replaced by names in reverse order, and the result gets the right name back.
		names := make(map[string]string)
		in.Nodes = slices.Clone(in.Nodes)
		for i := range in.Nodes {
			name := string(rune('z' - i))
			names[name], in.Nodes[i].Name = in.Nodes[i].Name, name
		}
		in.Record.Nodes = slices.Sorted(maps.Keys(names))
		j := canary.Judge(o, in)
		j.Node = names[j.Node]
		return j
	}},
	{name: "times out despite a pause", asserts: []rule{timeoutsWaitForPauseCommand}, whole: func(o canary.Options, in canary.Input) canary.Judgement {
		running := o
		running.Commands.Pause = ""
		if j := canary.Judge(running, in); j.Phase == canary.Failed {
			return j
		}
		return canary.Judge(o, in)
	}},
	{name: "waits for ever for init containers", asserts: []rule{initializingIsCreating}, read: spoilPods(func(pod *corev1.Pod) bool {
		for i := range pod.Status.ContainerStatuses {
			if w := pod.Status.ContainerStatuses[i].State.Waiting; w != nil && w.Reason == "PodInitializing" {
				w.Reason = "SomethingElse"
			}
		}
		return true
	})},
	{name: "gives up on pods without a start time", asserts: []rule{startTimeElseCreation}, whole: func(o canary.Options, in canary.Input) canary.Judgement {
		j := canary.Judge(o, in)
		for _, n := range in.Nodes {
			if o.AutoPause.MaxSlowStartDuration != nil && slices.ContainsFunc(n.Pods, func(pod *corev1.Pod) bool { return pod.Status.StartTime == nil }) {
				j.Finding = canary.Finding{Phase: canary.Running}
			}
		}
		return j
	}},
	{name: "does not see leaving pods", asserts: []rule{leavingPodsDisturb}, read: spoilPods(func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil })},
	{name: "takes leaving pods for live ones", read: spoilPods(func(pod *corev1.Pod) bool { pod.DeletionTimestamp = nil; return true })},
	{name: "does not see init containers", read: spoilPods(func(pod *corev1.Pod) bool {
		pod.Status.InitContainerStatuses = nil
		return true
	})},
	{name: "does not see when containers ended", asserts: []rule{restartsAreDatedAsSeen}, read: spoilPods(func(pod *corev1.Pod) bool {
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].LastTerminationState = corev1.ContainerState{}
		}
		return true
	})},

	{name: "does not count restarts after a last state without an end", asserts: []rule{lastStateIsAny}, read: spoilContainers(func(s *corev1.ContainerStatus) {
		if endsUnknown(*s) {
			s.RestartCount = 0
		}
	})},
	{name: "dates restarts by their end only", asserts: []rule{restartsAreDatedAnyhow}, read: spoilContainers(func(s *corev1.ContainerStatus) {
		s.State.Running = nil
	})},
	{name: "pauses only where that is set", asserts: []rule{unsetIsDefault}, read: func(o *canary.Options, _ *canary.Input) {
		o.AutoPause.Disabled = o.AutoPause.Disabled || o.AutoPause.MaxRestarts == nil
	}},
	{name: "counts ephemeral containers", asserts: []rule{ephemeralsDoNotCount}, read: spoilPods(func(pod *corev1.Pod) bool {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses...)
		return true
	})},
	{name: "fails what needs no canary", asserts: []rule{stableCannotFail}, read: func(o *canary.Options, in *canary.Input) {
		if o.Commands.Fail != "" {
			in.Known = canary.NotKnown
		}
	}},
	{name: "lets the clock run from what is to come", asserts: []rule{futureIsNow}, whole: func(o canary.Options, in canary.Input) canary.Judgement {
		j := canary.Judge(o, in)
		if ahead := in.Record.Since.Sub(in.Now); ahead > 0 && !j.Until.IsZero() {
			j.Until = j.Until.Add(ahead)
		}
		return j
	}},
	{name: "judges pods that have ended", asserts: []rule{endedPodsArePassedOver}, read: spoilPods(func(pod *corev1.Pod) bool {
		pod.Status.Phase = corev1.PodRunning
		return true
	})},

	{name: "runs instead of pausing", say: to(canary.Paused, canary.Running)},
	{name: "fails instead of pausing", say: to(canary.Paused, canary.Failed)},
	{name: "pauses instead of running", say: to(canary.Running, canary.Paused)},
	{name: "promotes instead of running", say: to(canary.Running, canary.Idle)},
	{name: "pauses instead of failing", say: to(canary.Failed, canary.Paused)},
	{name: "runs instead of promoting", say: to(canary.Idle, canary.Running)},
	{name: "says another detail", say: func(j *canary.Judgement) {
		if j.Detail != "" {
			j.Detail += "?"
		}
	}},
	{name: "waits a second more", say: func(j *canary.Judgement) {
		if !j.Until.IsZero() {
			j.Until = j.Until.Add(time.Second)
		}
	}},
}

// add adds to a duration that is set. The result is at least 0.
func add(d **time.Duration, by time.Duration) {
	if *d != nil {
		*d = new(max(0, **d+by))
	}
}

func to(from, phase canary.Phase) func(*canary.Judgement) {
	return func(j *canary.Judgement) {
		if j.Phase == from {
			j.Phase = phase
		}
	}
}

// spoilPods gives Judge changed copies of the pods. A pod for which the function returns false is left out.
func spoilPods(spoil func(*corev1.Pod) bool) func(*canary.Options, *canary.Input) {
	return func(_ *canary.Options, in *canary.Input) {
		in.Nodes = slices.Clone(in.Nodes)
		for i := range in.Nodes {
			var pods []*corev1.Pod
			for _, pod := range in.Nodes[i].Pods {
				if pod = pod.DeepCopy(); spoil(pod) {
					pods = append(pods, pod)
				}
			}
			in.Nodes[i].Pods = pods
		}
	}
}

// spoilContainers gives Judge changed containers.
func spoilContainers(spoil func(*corev1.ContainerStatus)) func(*canary.Options, *canary.Input) {
	return spoilPods(func(pod *corev1.Pod) bool {
		for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
			for i := range list {
				spoil(&list[i])
			}
		}
		return true
	})
}

func (w *wrongJudge) judge(o canary.Options, in canary.Input) canary.Judgement {
	if w.whole != nil {
		return w.whole(o, in)
	}
	in.Annotations = maps.Clone(in.Annotations)
	if w.read != nil {
		w.read(&o, &in)
	}
	j := canary.Judge(o, in)
	if w.say != nil {
		w.say(&j)
	}
	return j
}

// complaints are the errors of assertions.
type complaints []string

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

// of reports whether there is a complaint that names the entry.
func (c complaints) of(r rule) bool {
	return slices.ContainsFunc(c, func(s string) bool { return strings.Contains(s, entries[r].id) })
}

// check compares how a planted bug was found with how it must be found.
func (c complaints) check(t *testing.T, name string, changed, passed int, asserts []rule) {
	t.Helper()
	t.Logf("%-44s %3d cases changed, %d explained all the same, %d complaints", name, changed, passed, len(c))
	if changed == 0 || passed > 0 {
		t.Errorf("one that %s: %d cases changed, %d explained all the same", name, changed, passed)
	}
	for _, r := range asserts {
		if !c.of(r) {
			t.Errorf("one that %s is not caught by the assertion of %s, but by %v", name, entries[r].id, c)
		}
	}
}

// TestConformanceJudgeTeeth shows that the table of deliberate differences does not explain everything: it does not explain wrong
// judgements, and the assertions of the entries fail for the bugs that they are made for.
func TestConformanceJudgeTeeth(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	type input struct {
		setting *setting
		o       canary.Options
		in      canary.Input
		clock   bool
	}
	var inputs []input
	more, _ := varied(t, 1)
	for i, c := range slices.Concat(recordings[statusCase](t, "eds/canary-status.jsonl"), more) {
		if s := c.trial(); i < 300 || len(s.spec.refused()) == 0 {
			o, in := c.input()
			inputs = append(inputs, input{s, o, in, false})
		}
	}
	promotions, _ := variedPromotions(t, 3)
	for _, c := range slices.Concat(recordings[promotionCase](t, "eds/canary-promotion.jsonl"), promotions) {
		if s := c.setting(); s.spec != nil && len(s.spec.refused()) == 0 {
			o, in := c.input()
			inputs = append(inputs, input{s, o, in, true})
		}
	}
	say := func(j canary.Judgement, clock bool) judged {
		out := judgedBy(j)
		if !clock {
			out.until = time.Time{}
		}
		return out
	}
	for _, w := range wrongJudges {
		changed, passed, seen := 0, 0, complaints(nil)
		for _, in := range inputs {
			wrong := w.judge(in.o, in.in)
			if say(wrong, in.clock) == say(canary.Judge(in.o, in.in), in.clock) {
				continue
			}
			changed++
			if _, ok := explain(judgeRules, func(p peer) bool { return p.judge(in.setting) == say(wrong, in.clock) }); ok {
				passed++
			}
			assertJudgement(&seen, w.name, in.o, in.in, wrong)
		}
		seen.check(t, w.name, changed, passed, w.asserts)
	}
}

// TestConformanceWakeTeeth shows that assertWake fails for a wake that is too early, too late or missing.
func TestConformanceWakeTeeth(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	wakes := 0
	for _, c := range recordings[promotionCase](t, "eds/canary-promotion.jsonl") {
		if s := c.setting(); s.spec == nil || len(s.spec.refused()) > 0 {
			continue
		}
		o, in := c.input()
		right := canary.Judge(o, in)
		if right.Wake.IsZero() {
			continue
		}
		wakes++
		for _, wake := range []time.Time{right.Wake.Add(-1), right.Wake.Add(1), {}} {
			var seen complaints
			wrong := right
			wrong.Wake = wake
			if assertWake(&seen, c.Name, o, in, wrong); len(seen) == 0 {
				t.Errorf("%s: %v instead of %v is not seen", c.Name, wake, right.Wake)
			}
		}
	}
	if wakes == 0 {
		t.Error("no judgement with a wake")
	}
}
