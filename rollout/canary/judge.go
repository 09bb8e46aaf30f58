package canary

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// Input is what [Judge] decides on.
type Input struct {
	// Now is the instant of the snapshot.
	Now time.Time
	// Revision is the hash of the revision to judge, Name the name of its ControllerRevision.
	Revision, Name string
	// Annotations are those of the ControllerRevision, on which verdicts stand (C6); nil if it does not exist yet.
	Annotations map[string]string
	// Known says why the revision needs no trial (C6), if it needs none: it is the stable one already, there is no other (a
	// first installation), or it was promoted before. The zero value, NotKnown, means that it must be tried.
	Known Known
	// Record is that of the previous judgement; the zero value if it was lost.
	Record Record
	// Nodes are the canary nodes, each once, in any order.
	Nodes []Node
	// Wanted is how many canary nodes there should be (Choice.Wanted).
	Wanted int32
	// Halted reports whether the spec is paused or frozen. Then the clock does not run and does not promote (C2, C7).
	Halted bool
}

// Known says why a revision needs no trial.
type Known uint8

// The ways in which a revision can be known.
const (
	// NotKnown: the revision must be tried.
	NotKnown Known = iota
	// KnownFirst: there is no other revision.
	KnownFirst
	// KnownStable: the revision is the stable one, or was promoted before (a rollback).
	KnownStable
)

// Node is a canary node.
type Node struct {
	// Name of the node.
	Name string
	// Available reports whether the node holds an available pod of the revision (Ready for minReadySeconds, B5) that is not on
	// its way out.
	Available bool
	// Pods are the pods of the revision on the node, terminating and failed ones too, in any order. Nil pods are passed over.
	Pods []*corev1.Pod
}

// Judgement is the result of [Judge].
type Judgement struct {
	// Finding is the state of the canary and the reason for it.
	Finding
	// Set and Remove are the annotations to set on, and to remove from, the ControllerRevision: the verdict (C6). They come
	// with every judgement until they are seen there. An annotation that is to be removed may be absent already.
	Set    map[string]string
	Remove []string
	// Record is the input of the next judgement.
	Record Record
	// Until is the earliest instant at which the clock can promote the revision (C2): when Duration and NoRestartsDuration are
	// over, if nothing happens until then. Zero: the clock does not promote it.
	Until time.Time
	// Wake is the earliest instant at which the same input would be judged differently, with the record that it has or with
	// the one for the next judgement. Zero: never.
	Wake time.Time
	// Stale lists the commands that name another revision, as in "pause 5d8f7b9c4", in the order of the fields of Commands.
	Stale []string
}

// Judge decides how the trial of a revision stands (C2 to C6). If several facts hold at once, the first of this order
// decides (C5): a promotion or fail that is on record, the command fail, the command validate, too many restarts, the command
// pause, the promotion by the clock, the other reasons for a fail, the reasons for an automatic pause.
//
// A failed revision stays failed until the command retry, even if Known says that it needs no trial; only the mark of a
// promotion on its ControllerRevision counts more. An automatic pause stays until the command unpause, even if AutoPause is
// turned off meanwhile. Commands are obeyed, and revisions fail automatically (C4), while the set is halted, too.
//
// Unset options have their defaults. Options that Validate refuses promote nothing early: with an unknown mode the clock
// promotes nothing, a negative Duration or NoRestartsDuration counts as its default, a negative number of restarts as 0.
func Judge(o Options, in Input) Judgement {
	t := trial{rules: o.rules(), in: in}
	var stale []string
	t.orders, stale = o.Commands.sort(in.Revision, in.Name)
	t.evidence = gather(t.rules, in.Nodes, newBaselines(in.Record, in.Revision))
	j := t.judge(o.Commands.Retry)
	j.Stale = stale
	return j
}

// trial is everything that a judgement rests on, except the record.
type trial struct {
	rules
	orders
	evidence
	in Input
}

// judge obeys the verdict on record, if there is one. Otherwise it decides (C6).
func (t *trial) judge(retry string) Judgement {
	record := t.in.Record
	start := func(time.Time) Record { return record }
	if record.Revision != t.in.Revision {
		record, start = Record{Revision: t.in.Revision}, t.begin
	}
	_, marked := t.in.Annotations[history.PromotedAnnotation]
	_, failed := t.in.Annotations[history.FailedAnnotation]
	promoted := false
	if v := record.Verdict; v != nil {
		promoted = v.Phase == Idle
		failed = failed || v.Phase == Failed
	}
	retries := failed && t.retry && t.in.Annotations[history.RetriedAnnotation] != retry
	switch {
	case marked, promoted, t.in.Known != NotKnown && (!failed || retries):
		j := t.idle(record.Verdict, marked, promoted)
		if retries && !marked {
			j.retried(retry)
		}
		return j
	case retries:
		j := t.tried(t.begin)
		j.retried(retry)
		return j
	case failed:
		return t.failed(record)
	default:
		return t.tried(start)
	}
}

// idle is the judgement on a revision that needs no trial. Until the mark of its promotion is seen on the ControllerRevision,
// the record says that it was promoted.
func (t *trial) idle(verdict *Finding, marked, promoted bool) Judgement {
	f := Finding{Phase: Idle, Reason: Stable}
	if t.in.Known == KnownFirst {
		f.Reason = FirstInstallation
	}
	if marked {
		return Judgement{Finding: f}
	}
	if promoted {
		f = *verdict
	}
	if f.At.IsZero() {
		f.At = t.in.Now
	}
	return t.promote(f)
}

// promote is the judgement that the revision is promoted, with f as the finding. The mark of a fail goes: a retry may have been
// obeyed before that mark was seen.
func (t *trial) promote(f Finding) Judgement {
	j := Judgement{
		Finding: f,
		Set:     map[string]string{history.PromotedAnnotation: f.At.UTC().Format(time.RFC3339)},
		Record:  Record{Revision: t.in.Revision, Verdict: &f},
	}
	if _, failed := t.in.Annotations[history.FailedAnnotation]; failed {
		j.Remove = failMarks()
	}
	return j
}

// failMarks are the annotations that record a fail.
func failMarks() []string { return []string{history.FailedAnnotation, history.FailedMessageAnnotation} }

// failed is the judgement on a revision whose fail is on record. The canary nodes are kept for the next template (C1).
func (t *trial) failed(record Record) Judgement {
	f := failedBefore(t.in.Annotations)
	if v := record.Verdict; v != nil && v.Phase == Failed {
		f = *v
	}
	if len(t.names) > 0 {
		record.Nodes = t.names
	}
	record.Before = t.baselines(record.Began)
	return t.fail(f, record)
}

// fail is the judgement that the revision has failed, with f as the finding.
func (t *trial) fail(f Finding, record Record) Judgement {
	j := Judgement{Finding: f, Record: Record{
		Revision: record.Revision, Began: record.Began, Nodes: slices.Clone(record.Nodes), Before: record.Before, Verdict: &f,
	}}
	if _, seen := t.in.Annotations[history.FailedAnnotation]; !seen {
		j.Set = f.annotations()
	}
	return j
}

// begin is the record of a canary that begins at an instant.
func (t *trial) begin(at time.Time) Record { return begin(t.in.Revision, &t.evidence, at) }

// tried is the judgement on a revision that is on trial. The record that start gives is that of a canary that goes on or
// begins.
func (t *trial) tried(start func(time.Time) Record) Judgement {
	f, record := t.decide(start(t.in.Now), t.in.Now)
	if f.Phase == Idle {
		return t.promote(f)
	}
	if f.Phase == Failed {
		j := t.fail(f, record)
		j.Wake = t.wake(f, start) // by the record that has no verdict yet, a promotion would come first
		return j
	}
	next := func(time.Time) Record { return record }
	return Judgement{Finding: f, Record: record, Until: t.until(f, record), Wake: t.wake(f, next, start)}
}

// retried adds to the judgement on a revision that had failed that the command retry was obeyed. If the revision fails again,
// the new verdict takes the place of the old one.
func (j *Judgement) retried(value string) {
	if j.Set == nil {
		j.Set = make(map[string]string)
	}
	if j.Phase == Failed {
		maps.Copy(j.Set, j.annotations())
	} else {
		j.Remove = failMarks()
	}
	j.Set[history.RetriedAnnotation] = value
}
