//go:build teeth

package canary_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// TestJudgePropertiesReject shows that each property can fail: every planted bug is found by the property that is there
// to find it.
func TestJudgePropertiesReject(t *testing.T) {
	reading := func(change func(*canary.Options, *canary.Input)) judger {
		return func(o canary.Options, in canary.Input) canary.Judgement {
			o, in = o.DeepCopy(), copyInput(in)
			change(&o, &in)
			return canary.Judge(o, in)
		}
	}
	spoiling := func(change func(canary.Input, *canary.Judgement)) judger {
		return func(o canary.Options, in canary.Input) canary.Judgement {
			j := canary.Judge(o, in)
			change(in, &j)
			return j
		}
	}
	calls := 0
	mutants := []struct {
		name, why, property string
		judge               judger
	}{
		{"availability forgotten", "C2: promotion needs an available pod on every node", "safe",
			reading(func(_ *canary.Options, in *canary.Input) {
				for i := range in.Nodes {
					in.Nodes[i].Available = true
				}
			})},
		{"one node is enough", "C2: every node", "safe", reading(func(_ *canary.Options, in *canary.Input) {
			if i := slices.IndexFunc(in.Nodes, func(n canary.Node) bool { return n.Available }); i >= 0 {
				in.Nodes = in.Nodes[i : i+1]
			}
		})},
		{"halt forgotten", "C7: paused and frozen stop a canary", "safe", reading(func(_ *canary.Options, in *canary.Input) { in.Halted = false })},
		{"pause forgotten", "C3: a pause stays", "safe", reading(func(_ *canary.Options, in *canary.Input) { in.Record.Pause = nil })},
		{"command forgotten", "C5: not promoted while paused", "safe", reading(func(o *canary.Options, _ *canary.Input) { o.Commands.Pause = "" })},
		{"manual forgotten", "C2: never by the clock", "safe", reading(func(o *canary.Options, _ *canary.Input) {
			if o.Mode == canary.Manual {
				o.Mode, o.Duration = canary.Auto, minutes(0)
			}
		})},
		{"fail forgotten", "C6: the verdict on the revision", "final", reading(func(_ *canary.Options, in *canary.Input) {
			delete(in.Annotations, history.FailedAnnotation)
			in.Record.Verdict = nil
		})},
		{"validate revives", "C5: it does not", "final", reading(func(o *canary.Options, in *canary.Input) {
			if o.Commands.Validate != "" {
				delete(in.Annotations, history.FailedAnnotation)
				in.Record.Verdict = nil
			}
		})},
		{"verdict forgotten", "C6: a promotion that is not seen yet is one", "final",
			reading(func(_ *canary.Options, in *canary.Input) { in.Record.Verdict = nil })},
		{"promoted again and again", "C6: once", "final", reading(func(_ *canary.Options, in *canary.Input) {
			if _, ok := in.Annotations[history.PromotedAnnotation]; ok {
				delete(in.Annotations, history.PromotedAnnotation)
				in.Known = canary.KnownStable
			}
		})},
		{"two verdicts", "C6: a revision has one", "final", spoiling(func(_ canary.Input, j *canary.Judgement) {
			if j.Phase == canary.Idle {
				j.Remove = nil
			}
		})},
		{"record trusted", "C6: losing it starts the clock again", "lost", reading(func(_ *canary.Options, in *canary.Input) {
			if in.Record.Revision == "" {
				in.Record = canary.Record{Revision: in.Revision, Began: in.Now, Elapsed: time.Hour}
				for _, n := range in.Nodes {
					in.Record.Nodes = append(in.Record.Nodes, n.Name)
				}
			}
		})},
		{"disturbances forgotten", "C6: with the record lost they may have been a moment ago", "lost",
			spoiling(func(in canary.Input, j *canary.Judgement) {
				if in.Record.Revision == "" {
					j.Record.Disturbed = time.Time{}
				}
			})},
		{"no wake", "somebody must come back", "wake", spoiling(func(_ canary.Input, j *canary.Judgement) { j.Wake = time.Time{} })},
		{"early wake", "one that is early makes callers spin", "wake", spoiling(func(_ canary.Input, j *canary.Judgement) {
			if !j.Wake.IsZero() {
				j.Wake = j.Wake.Add(-1)
			}
		})},
		{"late wake", "one that is late delays", "wake", spoiling(func(_ canary.Input, j *canary.Judgement) {
			if !j.Wake.IsZero() {
				j.Wake = j.Wake.Add(1)
			}
		})},
		{"until the first of both", "C2: the later of both decides", "until", func(o canary.Options, in canary.Input) canary.Judgement {
			j := canary.Judge(o, in)
			if r := j.Record; j.Reason == canary.Observing && !j.Until.IsZero() {
				j.Until = r.Since.Add(*o.Duration - r.Elapsed)
			}
			return j
		}},
		{"until a moment later", "C2: at that very instant", "until", spoiling(func(_ canary.Input, j *canary.Judgement) {
			if !j.Until.IsZero() {
				j.Until = j.Until.Add(1)
			}
		})},
		{"no until", "C2: the clock promotes", "until", spoiling(func(_ canary.Input, j *canary.Judgement) { j.Until = time.Time{} })},
		{"timeout asleep", "C4: it comes by the clock", "wake", func(o canary.Options, in canary.Input) canary.Judgement {
			j := canary.Judge(o, in)
			o.AutoFail.CanaryTimeout = nil
			j.Wake = canary.Judge(o, in).Wake
			return j
		}},
		{"slow start asleep", "C3: it comes by the clock", "wake", func(o canary.Options, in canary.Input) canary.Judgement {
			j := canary.Judge(o, in)
			o.AutoPause.MaxSlowStartDuration = nil
			j.Wake = canary.Judge(o, in).Wake
			return j
		}},
		{"never satisfied", "a healthy canary is promoted", "live", reading(func(_ *canary.Options, in *canary.Input) { in.Record.Disturbed = in.Now })},
		{"too easily satisfied", "one that is not healthy is not", "live", reading(func(_ *canary.Options, in *canary.Input) {
			for i := range in.Nodes {
				in.Nodes[i].Available = true
			}
		})},
		{"restless clock", "judging again changes nothing", "idempotent", spoiling(func(_ canary.Input, j *canary.Judgement) { j.Record.Elapsed++ })},
		{"memory", "equal inputs give equal outputs", "pure", spoiling(func(_ canary.Input, j *canary.Judgement) {
			if calls++; calls%2 == 0 {
				j.Record.Elapsed++
			}
		})},
		{"first node as it comes", "the order of nodes does not matter", "pure", spoiling(func(in canary.Input, j *canary.Judgement) {
			if len(in.Nodes) > 0 {
				j.Node = in.Nodes[0].Name
			}
		})},
		{"input sorted", "inputs are left alone", "pure", spoiling(func(in canary.Input, _ *canary.Judgement) {
			slices.Reverse(in.Nodes)
		})},
		{"nothing forgotten", "a record is garbage-collected", "record", spoiling(func(in canary.Input, j *canary.Judgement) {
			j.Record.Revision = in.Revision
		})},
		{"clock that never rests", "C2: paused time does not count", "record", spoiling(func(in canary.Input, j *canary.Judgement) {
			if j.Phase == canary.Paused {
				j.Record.Since = in.Now
			}
		})},
		{"longer is enough", "C3, C4: exactly that long is not longer", "oracle", reading(func(o *canary.Options, _ *canary.Input) {
			for _, limit := range []*time.Duration{o.AutoPause.MaxSlowStartDuration, o.AutoFail.CanaryTimeout, o.AutoFail.MaxRestartsDuration} {
				if limit != nil {
					*limit--
				}
			}
		})},
		{"one more restart", "C3, C4: more than maxRestarts", "oracle", reading(func(o *canary.Options, _ *canary.Input) {
			*o.AutoPause.MaxRestarts++
			*o.AutoFail.MaxRestarts++
		})},
		{"a moment more", "C2: at that very instant", "oracle", reading(func(o *canary.Options, _ *canary.Input) {
			if o.Duration != nil {
				*o.Duration++
			}
		})},
		{"no reset", "C2: the clock starts again when a node is added", "oracle", reading(func(_ *canary.Options, in *canary.Input) {
			in.Record.Nodes = []string{"a", "b", "c"}
		})},
		{"pods of the past", "a terminating pod gives no reason", "oracle", reading(func(_ *canary.Options, in *canary.Input) {
			for _, n := range in.Nodes {
				for _, pod := range n.Pods {
					pod.DeletionTimestamp = nil
				}
			}
		})},
		{"evictions forgotten", "C2: they disturb", "oracle", reading(func(_ *canary.Options, in *canary.Input) {
			for i := range in.Nodes {
				in.Nodes[i].Pods = slices.DeleteFunc(in.Nodes[i].Pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
			}
		})},
		{"unpause once", "C3: it keeps automatic pauses off", "oracle", reading(func(o *canary.Options, in *canary.Input) {
			if in.Record.Pause == nil {
				o.Commands.Unpause = ""
			}
		})},
	}
	properties := judgeProperties()
	found := make(map[string]bool)
	unique := make(uniqueRows)
	for _, m := range mutants {
		unique.check(t, m.name, m.why)
		t.Run(m.name, func(t *testing.T) {
			for seed := range 5000 {
				if properties[m.property](m.judge, anyStory().Example(seed)) != "" {
					found[m.property] = true
					return
				}
			}
			t.Errorf("property %s accepts the bug: %s", m.property, m.why)
		})
	}
	for name := range properties {
		if !found[name] {
			t.Errorf("no planted bug shows that property %s can fail", name)
		}
	}
}
