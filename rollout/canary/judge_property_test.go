package canary_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// judgeProperties are the properties of every story. Each returns what is wrong.
func judgeProperties() map[string]func(judger, story) string {
	return map[string]func(judger, story) string{
		"oracle":     checkOracle,
		"safe":       checkSafe,
		"final":      checkFinal,
		"lost":       checkLost,
		"wake":       checkWake,
		"until":      checkUntil,
		"live":       checkLive,
		"idempotent": checkIdempotent,
		"pure":       checkPure,
		"record":     checkRecord,
	}
}

// promotes reports whether the judgement promotes the revision by the clock.
func (m moment) promotes() bool {
	return m.j.Phase == canary.Idle && m.j.Reason == canary.Promoted && m.j.At.Equal(m.in.Now)
}

// checkSafe holds that the clock promotes nothing that is not available everywhere, or rests (C2, C5).
func checkSafe(judge judger, s story) string {
	for i, m := range tell(judge, s) {
		pause := m.in.Record.Pause != nil && m.in.Record.Revision == m.in.Revision && !m.named(m.o.Commands.Unpause)
		if v := m.in.Record.Verdict; !m.promotes() || v != nil && v.Phase == canary.Idle && m.in.Record.Revision == m.in.Revision {
			continue
		}
		_, failed := m.in.Annotations[history.FailedAnnotation]
		if !m.allAvailable() || pause || m.in.Halted || m.named(m.o.Commands.Pause) || m.named(m.o.Commands.Fail) ||
			m.o.Mode == canary.Manual || failed && !m.obeysRetry() {
			return fmt.Sprintf("moment %d at %s: judged %s", i, sayTime(m.in.Now), say(m.j))
		}
	}
	return ""
}

// checkFinal holds that a revision is promoted once and stays promoted, that a failed one stays failed until a retry, and that none
// gets the mark of a promotion beside that of a fail (C5, C6).
func checkFinal(judge judger, s story) string {
	var last *moment
	for i, m := range tell(judge, s) {
		if last == nil || last.in.Revision != m.in.Revision {
			last = &m
			continue
		}
		_, wasMarked := m.in.Annotations[history.PromotedAnnotation]
		_, wasFailed := m.in.Annotations[history.FailedAnnotation]
		switch {
		case last.j.Phase == canary.Idle && m.lost && !wasMarked: // nobody knows any more
		case last.j.Phase == canary.Idle && (m.j.Phase != canary.Idle || len(m.j.Remove) > 0 && !wasFailed || !wasMarked && !m.j.At.Equal(last.j.At)):
			return fmt.Sprintf("moment %d: promoted, then judged %s", i, say(m.j))
		case m.j.Phase == canary.Idle && wasFailed && len(m.j.Set) > 0 && len(m.j.Remove) == 0:
			return fmt.Sprintf("moment %d: promoted beside the mark of a fail: %s", i, say(m.j))
		case wasMarked && len(m.j.Set) > 0:
			return fmt.Sprintf("moment %d: promoted again: %s", i, say(m.j))
		case last.j.Phase == canary.Failed && m.lost && !wasFailed: // the same
		case last.j.Phase == canary.Failed && m.j.Phase != canary.Failed && !m.obeysRetry() && !wasMarked:
			return fmt.Sprintf("moment %d: failed, then judged %s", i, say(m.j))
		case wasFailed && m.j.Phase != canary.Failed && !m.obeysRetry() && !wasMarked:
			return fmt.Sprintf("moment %d: marked as failed, judged %s", i, say(m.j))
		}
		last = &m
	}
	return ""
}

// checkLost holds that losing the record at most delays the promotion (C6): a revision that had no pause or fail is then not
// promoted before it would have been, and never before the clock has run through again. A verdict that was not seen yet is lost.
func checkLost(judge judger, s story) string {
	with := slices.DeleteFunc(slices.Clone(s.Happenings), func(h happening) bool { return h.Event == recordLost })
	story := s
	story.Happenings = with
	original := tell(judge, story)
	for at := range with {
		story.Happenings = slices.Clone(with)
		m := original[at]
		if m.o.Mode == canary.Manual || !slices.ContainsFunc(m.in.Nodes, func(n canary.Node) bool { return len(n.Pods) > 0 }) {
			continue // without a pod nobody can see that something was lost
		}
		lost := tellLosing(judge, story, at)
		for i := at; i < len(lost) && lost[i].in.Revision == m.in.Revision; i++ {
			ran := lost[i].in.Now.Sub(m.in.Now)
			marked, forgotten := len(lost[i].in.Annotations) > 0, original[i].j.Record.Pause != nil && lost[i].j.Record.Pause == nil
			if marked || forgotten || original[i].j.Phase == canary.Failed {
				break
			}
			if lost[i].promotes() && (ran < *m.o.Duration || ran < *m.o.NoRestartsDuration) {
				return fmt.Sprintf("lost at moment %d, %s after %v", at, say(lost[i].j), ran)
			}
			if lost[i].promotes() && original[i].j.Phase == canary.Running {
				return fmt.Sprintf("lost at moment %d, at moment %d judged %s instead of %s", at, i, say(lost[i].j), say(original[i].j))
			}
			if lost[i].j.Phase != canary.Running && lost[i].j.Phase != canary.Paused {
				break
			}
		}
	}
	return ""
}

// tellLosing is tell where the record is lost before one judgement.
func tellLosing(judge judger, s story, at int) []moment {
	calls := 0
	return tell(func(o canary.Options, in canary.Input) canary.Judgement {
		if calls == at {
			in.Record = canary.Record{}
		}
		calls++
		return judge(o, in)
	}, s)
}

// sameFinding compares what judgements are compared for: the finding, and which annotations change.
func sameFinding(a, b canary.Judgement) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Node == b.Node && slices.Equal(a.Remove, b.Remove) &&
		slices.Equal(slices.Sorted(maps.Keys(a.Set)), slices.Sorted(maps.Keys(b.Set)))
}

// checkWake holds that nothing changes before Wake, with the record of before or with that for the next judgement, and
// that something does then (V15).
func checkWake(judge judger, s story) string {
	for i, m := range tell(judge, s) {
		if m.awaitsRetry() {
			continue
		}
		wake := m.j.Wake
		var probes []time.Time
		for _, d := range []time.Duration{1, 20 * time.Second, time.Minute, 3 * time.Minute, time.Hour, 1000 * time.Hour} {
			probes = append(probes, m.in.Now.Add(d))
		}
		if !wake.IsZero() {
			if !wake.After(m.in.Now) {
				return fmt.Sprintf("moment %d: the wake is not ahead: %s", i, say(m.j))
			}
			probes = append(probes, wake.Add(-1))
		}
		for _, at := range probes {
			if !wake.IsZero() && !at.Before(wake) {
				continue
			}
			for _, record := range []canary.Record{m.in.Record, m.j.Record} {
				if m.obeysRetry() && reflect.DeepEqual(record, m.j.Record) {
					continue // whether the fail is seen by then, and the retry obeyed again, is not for the clock to say
				}
				in := m.in
				in.Now, in.Record = at, record
				if then := judge(m.o, in); !sameFinding(then, m.j) {
					return fmt.Sprintf("moment %d: %s, but at %s %s", i, say(m.j), sayTime(at), say(then))
				}
			}
		}
		if wake.IsZero() || m.obeysRetry() {
			continue
		}
		in, next := m.in, m.in
		in.Now, next.Now, next.Record = wake, wake, m.j.Record
		if sameFinding(judge(m.o, in), m.j) && sameFinding(judge(m.o, next), m.j) {
			return fmt.Sprintf("moment %d: %s, but nothing changes then", i, say(m.j))
		}
	}
	return ""
}

// checkUntil holds that the clock promotes nothing before Until, and that the canary does not go on running from then on (C2).
func checkUntil(judge judger, s story) string {
	for i, m := range tell(judge, s) {
		if m.obeysRetry() || m.awaitsRetry() {
			continue // whether that is seen by then, and the retry obeyed again, is not for the clock to say
		}
		until := m.j.Until
		in := m.in
		in.Record = m.j.Record
		probes := []time.Time{m.in.Now.Add(time.Second), m.in.Now.Add(time.Minute), m.in.Now.Add(1000 * time.Hour)}
		if !until.IsZero() {
			probes = append(probes, until.Add(-1), until)
		}
		for _, at := range probes {
			if at.Before(m.in.Now) {
				continue
			}
			in.Now = at
			then := judge(m.o, in)
			promoted := then.Phase == canary.Idle && then.Reason == canary.Promoted
			switch {
			case promoted && m.j.Phase == canary.Running && (until.IsZero() || at.Before(until)):
				return fmt.Sprintf("moment %d: %s, but at %s it is promoted", i, say(m.j), sayTime(at))
			case !until.IsZero() && at.Equal(until) && then.Phase == canary.Running:
				return fmt.Sprintf("moment %d: %s, but then %s", i, say(m.j), say(then))
			}
		}
	}
	return ""
}

// checkLive holds that a canary with healthy pods is promoted by the clock alone, going from one wake to the next, and that a
// canary whose pods are not available never is.
func checkLive(judge judger, s story) string {
	moments := tell(judge, s)
	last := moments[len(moments)-1]
	if last.o.Mode == canary.Manual || len(last.in.Nodes) == 0 || last.o.AutoFail.CanaryTimeout != nil {
		return ""
	}
	for _, healthy := range []bool{true, false} {
		o, in := last.o, last.in
		o.Commands = canary.Commands{Unpause: canary.Any, Retry: canary.Any + "/at last"}
		in.Halted, in.Record, in.Annotations = false, last.j.Record, maps.Clone(in.Annotations)
		in.Nodes = slices.Clone(in.Nodes)
		for i := range in.Nodes {
			in.Nodes[i] = canary.Node{Name: in.Nodes[i].Name, Available: healthy, Pods: []*corev1.Pod{podOf("new-"+in.Nodes[i].Name, created(in.Now))}}
		}
		promoted := false
		for range 10 {
			j := judge(o, in)
			if in.Annotations == nil {
				in.Annotations = make(map[string]string)
			}
			maps.Copy(in.Annotations, j.Set)
			for _, key := range j.Remove {
				delete(in.Annotations, key)
			}
			in.Record = j.Record
			if promoted = j.Phase == canary.Idle; promoted {
				break
			}
			if j.Wake.IsZero() && j.Phase == canary.Running && healthy {
				return "nothing is waited for: " + say(j)
			}
			if !j.Wake.IsZero() {
				in.Now = j.Wake
			}
		}
		_, marked := last.in.Annotations[history.PromotedAnnotation]
		if v := last.j.Record.Verdict; v != nil && v.Phase == canary.Idle {
			marked = true
		}
		if promoted != (healthy || marked) {
			return fmt.Sprintf("healthy %v, promoted %v", healthy, promoted)
		}
	}
	return ""
}

// checkIdempotent holds that judging again at once finds the same, and leaves the record as it is.
func checkIdempotent(judge judger, s story) string {
	for i, m := range tell(judge, s) {
		in := m.in
		in.Record = m.j.Record
		again := judge(m.o, in)
		again.Wake = m.j.Wake // what would change with the record of before does not any more
		if !m.obeysRetry() && !m.awaitsRetry() && !reflect.DeepEqual(again, m.j) {
			return fmt.Sprintf("moment %d: %s, then %s", i, say(m.j), say(again))
		}
	}
	return ""
}

// checkPure holds that inputs are left alone, and that their order does not matter.
func checkPure(judge judger, s story) string {
	for i, m := range tell(canary.Judge, s) {
		before := copyInput(m.in)
		first := judge(m.o, m.in)
		if !reflect.DeepEqual(m.in, before) {
			return fmt.Sprintf("moment %d: the input was changed", i)
		}
		other := copyInput(m.in)
		slices.Reverse(other.Nodes)
		for _, n := range other.Nodes {
			slices.Reverse(n.Pods)
		}
		if second := judge(m.o.DeepCopy(), other); !reflect.DeepEqual(first, second) {
			return fmt.Sprintf("moment %d: %s, in another order %s", i, say(first), say(second))
		}
	}
	return ""
}

func copyInput(in canary.Input) canary.Input {
	in.Annotations = maps.Clone(in.Annotations)
	in.Record = copyRecord(in.Record)
	in.Nodes = slices.Clone(in.Nodes)
	for i := range in.Nodes {
		pods := slices.Clone(in.Nodes[i].Pods)
		for k := range pods {
			pods[k] = pods[k].DeepCopy()
		}
		in.Nodes[i].Pods = pods
	}
	return in
}

func copyRecord(r canary.Record) canary.Record {
	var c canary.Record
	data, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		panic(err)
	}
	return c
}

// checkRecord holds that the fields of a record fit together, and that the record forgets pods that are gone.
func checkRecord(judge judger, s story) string {
	for i, m := range tell(judge, s) {
		r := m.j.Record
		if _, marked := m.in.Annotations[history.PromotedAnnotation]; marked && !reflect.DeepEqual(r, canary.Record{}) {
			return fmt.Sprintf("moment %d: %+v remains", i, r)
		}
		late := slices.ContainsFunc([]time.Time{r.Began, r.Since, r.Disturbed, r.Restarting, r.Restarted}, m.in.Now.Before)
		if late || r.Elapsed < 0 || r.Restarted.Before(r.Restarting) || !slices.IsSorted(r.Nodes) ||
			!r.Since.IsZero() && (m.j.Phase != canary.Running || m.in.Halted || len(r.Nodes) == 0) ||
			m.j.Phase == canary.Paused && m.j.Reason != canary.ByCommand && r.Pause == nil ||
			(m.j.Phase == canary.Failed) != (r.Verdict != nil && r.Verdict.Phase == canary.Failed) {
			return fmt.Sprintf("moment %d: %s with the record %+v", i, say(m.j), r)
		}
	}
	return ""
}

func TestJudgeProperties(t *testing.T) {
	for name, property := range judgeProperties() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if wrong := property(canary.Judge, anyStory().Draw(t, "story")); wrong != "" {
					t.Fatal(wrong)
				}
			})
		})
	}
}
