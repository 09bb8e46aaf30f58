package command

import (
	"time"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// Row is a set in one line, as "kubectl get" shows an ExtendedDaemonSet.
type Row struct {
	// Namespace and Name of the set.
	Namespace, Name string
	// Desired, Current, Ready and Available are nodes, counted as in [status.Counts].
	Desired, Current, Ready, Available int32
	// UpToDate are the nodes that are where they are to be now: while a revision is on trial, or after it failed, those of
	// the canary at that revision and the others at the active one. Otherwise it equals Updated.
	UpToDate int32
	// Updated are the nodes at the update revision, on trial or not (S1).
	Updated int32
	// State is the one word (S2), Reason why it is that one.
	State  status.SetState
	Reason string
	// Active is the name of the revision that all nodes but those of a canary are to be at, Canary that of the one on trial
	// or failed; empty if there is none.
	Active, Canary string
	// Created is when the set was created, Now the time at which its age is shown. Zero: not known.
	Created, Now time.Time
}

// Get returns the line of the set.
func Get(v View) Row {
	counts := v.Plan.Status.Counts
	row := Row{
		Namespace: v.Spec.Namespace, Name: v.Spec.Name,
		Desired: counts.Desired, Current: counts.Current, Ready: counts.Ready, Available: counts.Available,
		UpToDate: counts.Updated, Updated: counts.Updated,
		State: v.Plan.Status.State, Reason: v.Plan.Status.Reason.String(),
		Active: v.name(v.active()), Canary: v.name(v.tried()),
		Created: v.Created, Now: v.Snapshot.Now,
	}
	if v.onTrial() {
		row.UpToDate = v.settled()
	}
	return row
}

// settled counts the desired nodes that are at the revision where they are to be while another is on trial (T6).
func (v *View) settled() int32 {
	stable := make(map[string]bool)
	for _, pod := range v.livePods() {
		if node, ok := placement.TargetNode(pod); ok && revisionOf(pod) == v.active() {
			stable[node] = true
		}
	}
	var n int32
	for i := range v.Plan.Decisions {
		d := &v.Plan.Decisions[i]
		there := stable[d.Node]
		if d.Target == rollout.TargetUpdate {
			there = d.Facts.Has(status.Updated)
		}
		if there && aboutNode(d) && d.Facts.Has(status.Desired|status.Present) {
			n++
		}
	}
	return n
}

// Header names the columns of an ExtendedDaemonSet.
func (r Row) Header() []string {
	return []string{
		"NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "STATUS", "ACTIVE", "CANARY", "AGE",
	}
}

// Cells returns the values of the columns; UP-TO-DATE is UpToDate.
func (r Row) Cells() []string {
	return []string{
		r.Name, number(r.Desired), number(r.Current), number(r.Ready), number(r.UpToDate), number(r.Available),
		r.State.String(), r.Active, r.Canary, age(r.Created, r.Now),
	}
}
