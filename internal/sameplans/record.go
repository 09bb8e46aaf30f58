// Package sameplans holds plans to what they were: a change that is to move code, or to make it faster, must not change a plan.
// The test of this package plans a few thousand inputs, writes down all that each plan says and keeps a hash of it. It does so
// without the names of fields, so that a renamed one changes no hash.
package sameplans

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Recorder takes down the plans of one run.
type Recorder struct {
	sum   hash.Hash
	text  io.Writer
	plans int
	err   error
}

// NewRecorder returns a recorder of no plans. What it takes down is written to text, too, if that is not nil.
func NewRecorder(text io.Writer) *Recorder {
	r := &Recorder{sum: sha256.New()}
	r.text = r.sum
	if text != nil {
		r.text = io.MultiWriter(r.sum, text)
	}
	return r
}

// Sum is the number of plans and a hash of all that they say.
func (r *Recorder) Sum() (string, error) {
	return fmt.Sprintf("%d %s", r.plans, hex.EncodeToString(r.sum.Sum(nil)[:8])), r.err
}

// Refused takes down that there is no plan.
func (r *Recorder) Refused(err error) {
	r.plans++
	r.line("refused", err.Error())
}

// Plan takes down a plan.
func (r *Recorder) Plan(plan *rollout.Plan) {
	r.plans++
	r.line("revisions", plan.Revisions)
	for i := range plan.Patches {
		a := &plan.Patches[i]
		r.line("patch", a.Node, a.Pod, a.UID, a.Type, a.Subresource, string(a.Data), a.Revision, a.Reason)
	}
	r.line("pulls", plan.Pulls)
	r.line("deletes", plan.Deletes)
	r.line("creates", plan.Creates)
	for i := range plan.Decisions {
		r.decision(plan, &plan.Decisions[i])
	}
	b := &plan.Budget
	r.line("budget", struct {
		Desired, MaxUnavailable, Unavailable, MaxSurge, Surging, Burst, Partition, Partitioned, SlowStart, UnderWay,
		MaxUnschedulable, Exempt, Waiting int32
	}{
		b.Desired, b.MaxUnavailable, b.Unavailable, b.MaxSurge, b.Surging, b.Burst, b.Partition, b.Partitioned, b.SlowStart,
		b.UnderWay, b.MaxUnschedulable, b.Exempt, b.Waiting,
	})
	if b.MaxExempt > 0 { // what policies add is taken down where there is one, so that plans without say what they said before
		r.line("outages", b.MaxExempt, b.ExemptOut)
	}
	if b.MaxFailed+b.MaxQuarantined+b.Failed > 0 || plan.GaveUp != "" {
		r.line("failures", b.Failed, b.MaxFailed, b.Quarantined, b.MaxQuarantined, plan.GaveUp)
	}
	if len(plan.Domains) > 0 {
		r.line("domains", plan.Domains)
	}
	if len(plan.Parts)+len(plan.StaleApprovals) > 0 {
		r.line("parts", plan.Parts, plan.StaleApprovals)
	}
	if len(plan.Causes)+len(plan.Blockers) > 0 {
		r.line("causes", plan.Causes, plan.Blockers)
	}
	r.line("users", plan.BudgetUsers, plan.NodeSelector)
	r.diffs(plan)
	if len(plan.Obstructions)+len(plan.Features) > 0 {
		r.line("obstructions", plan.Obstructions, plan.Features)
	}
	r.line("canary", plan.Canary)
	r.line("overrides", plan.OverrideConflicts, plan.MalformedOverrides)
	r.line("status", plan.Status)
	r.memory(&plan.Memory)
	r.line("failed pulls", plan.FailedPulls, plan.PullWaits)
	r.waits(plan)
	r.line("wake", plan.NextWake)
}

func (r *Recorder) decision(plan *rollout.Plan, d *rollout.Decision) {
	r.line("decision", d.Node, d.Pod, d.Placement, uint16(d.Facts), d.State, d.Target, d.Verb, d.Reason, d.Limit, d.Unavailable,
		d.Surging, d.ResourcesDiffer, d.Exempt(), d.Canary, d.Obstruction,
		d.Diff != nil, d.Creates, d.Deletes, d.Patches, d.Pulls, d.Until)
	if d.Exemption > rollout.ExemptionUnschedulable {
		r.line("exemption", d.Exemption)
	}
	if d.Domain > 0 {
		r.line("domain", d.Domain)
	}
	if d.Failed {
		r.line("failed")
	}
	if d.Part > 0 {
		r.line("part", d.Part)
	}
	if d.Node != "" {
		r.line("because", plan.Explain(d.Node))
	}
}

// memory is taken down without what stages add, which has a line of its own.
func (r *Recorder) memory(m *rollout.Memory) {
	type record struct {
		Revision    string
		Began       time.Time
		Paused      time.Duration
		PausedSince time.Time
		Stable      string
		Completed   bool
	}
	type backoff struct {
		Node, Revision string
		Delay          time.Duration
		Since          time.Time
	}
	var backoffs []backoff
	for _, b := range m.Backoffs {
		backoffs = append(backoffs, backoff{b.Node, b.Revision, b.Delay, b.Since})
	}
	o := &m.Rollout
	r.line("memory", struct {
		Version        int
		Backoffs       []backoff
		Rollout        record
		Canary         canary.Record
		Conditions     []metav1.Condition
		CollisionCount *int32
	}{
		m.Version, backoffs, record{o.Revision, o.Began, o.Paused, o.PausedSince, o.Stable, o.Completed}, m.Canary, m.Conditions,
		m.CollisionCount,
	})
	if o.Lost || len(o.Begun) > 0 {
		r.line("begun", o.Lost, o.Begun)
	}
	if o.Frontier != (stage.Frontier{}) || o.GaveUp != "" {
		r.line("stages", o.Frontier, o.GaveUp)
	}
	for _, b := range m.Backoffs {
		if b.Deleted > 0 || len(b.Going) > 0 {
			r.line("series", b.Node, b.First, b.Deleted, b.Going)
		}
	}
}

// waits are taken down without what domains add, which stands elsewhere.
func (r *Recorder) waits(plan *rollout.Plan) {
	type group struct {
		Reason         rollout.Reason
		Limit          rollout.Limit
		Size           int32
		Nodes, Because []string
	}
	var groups []group
	for _, w := range plan.Waits() {
		groups = append(groups, group{w.Reason, w.Limit, w.Size, w.Nodes, w.Because})
	}
	r.line("waits", groups)
}

// diffs are in no order that means anything.
func (r *Recorder) diffs(plan *rollout.Plan) {
	var lines []string
	for i := range plan.Diffs {
		lines = append(lines, r.words(plan.Diffs[i]))
	}
	slices.Sort(lines)
	r.line("diffs", strings.Join(lines, "\n"))
}

// line takes down one part of a plan.
func (r *Recorder) line(what string, values ...any) {
	words := []string{what}
	for _, v := range values {
		words = append(words, r.words(v))
	}
	if _, err := io.WriteString(r.text, strings.Join(words, "\t")+"\n"); err != nil && r.err == nil {
		r.err = err
	}
}

func (r *Recorder) words(v any) string {
	var b strings.Builder
	r.write(&b, reflect.ValueOf(v))
	return b.String()
}

// write takes down a value: the exported fields of a struct in their order and without their names, codes by their words, and
// objects of the Kubernetes API as JSON.
func (r *Recorder) write(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("nothing")
		return
	}
	switch x := v.Interface().(type) {
	case time.Time:
		b.WriteString(instant(x))
		return
	case fmt.Stringer:
		if v.CanInt() || v.CanUint() {
			b.WriteString(x.String())
			return
		}
	}
	if strings.HasPrefix(v.Type().PkgPath(), "k8s.io/") {
		r.writeJSON(b, v.Interface())
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		r.write(b, v.Elem())
	case reflect.Struct:
		b.WriteByte('{')
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				r.write(b, v.Field(i))
				b.WriteByte(' ')
			}
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			r.write(b, v.Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Map:
		r.writeJSON(b, v.Interface()) // sorted
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}

func (r *Recorder) writeJSON(b *strings.Builder, v any) {
	data, err := json.Marshal(v)
	if err != nil && r.err == nil {
		r.err = err
	}
	b.Write(data)
}

func instant(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
