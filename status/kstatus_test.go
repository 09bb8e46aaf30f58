package status_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/status"
)

// In every state one of the three conditions is True: tools wait, give up, or are content.
func TestKstatus(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	counts := status.Counts{Desired: 4, Current: 4, Ready: 4, Available: 4, Updated: 2}
	half := status.Input{
		Now: now, Generation: 3, Counts: counts, UpdateRevision: "7d9f", Settled: 2, Outdated: 2, Acting: true, MaxUnavailable: 1,
	}
	of := func(change func(in *status.Input)) status.Status {
		in := half
		change(&in)
		return status.Summarize(in)
	}
	for _, tt := range []struct {
		name   string
		status status.Status
		want   string
	}{
		{"no plan", status.Status{}, status.ConditionReconciling},
		{"updating", of(func(*status.Input) {}), status.ConditionReconciling},
		{"soaking", of(func(in *status.Input) { in.Gated, in.Gate = 2, status.GateSoak }), status.ConditionReconciling},
		{"approval", of(func(in *status.Input) { in.Gated, in.Gate = 2, status.GateApproval }), status.ConditionReconciling},
		{"on trial", of(func(in *status.Input) { in.Trial.State = status.Canary }), status.ConditionReconciling},
		{"trial paused", of(func(in *status.Input) { in.Trial.State = status.CanaryPaused }), status.ConditionReconciling},
		{"paused", of(func(in *status.Input) { in.Paused = true }), status.ConditionReconciling},
		{"frozen", of(func(in *status.Input) { in.Frozen = true }), status.ConditionReconciling},
		{"stuck", of(func(in *status.Input) { in.Acting, in.NotServing = false, 2 }), status.ConditionStalled},
		{"rolled back", of(func(in *status.Input) { in.Trial.State = status.RolledBack }), status.ConditionStalled},
		{"trial failed", of(func(in *status.Input) { in.Trial.State = status.CanaryFailed }), status.ConditionStalled},
		{"held", of(func(in *status.Input) { in.Held, in.Acting = 2, false }), status.ConditionReady},
		{"OnDelete", of(func(in *status.Input) { in.OnDelete, in.Acting = true, false }), status.ConditionReady},
		{"complete", of(func(in *status.Input) { in.Counts.Updated, in.Settled, in.Outdated = 4, 4, 0 }), status.ConditionReady},
		{"complete, but a node is away", of(func(in *status.Input) {
			in.Counts.Updated, in.Counts.Available, in.Settled, in.Outdated, in.CompletedRevision = 4, 3, 3, 0, "7d9f"
		}), status.ConditionReady},
		{"complete and paused", of(func(in *status.Input) {
			in.Counts.Updated, in.Settled, in.Outdated, in.Paused = 4, 4, 0, true
		}), status.ConditionReady},
	} {
		list := status.Kstatus(tt.status, nil, now)
		for i, kind := range []string{status.ConditionReady, status.ConditionReconciling, status.ConditionStalled} {
			c := list[i]
			want := metav1.ConditionFalse
			if kind == tt.want {
				want = metav1.ConditionTrue
			}
			if c.Type != kind || c.Status != want || c.Reason == "" || !c.LastTransitionTime.Time.Equal(now) || len(list) != 3 ||
				c.ObservedGeneration != tt.status.ObservedGeneration {
				t.Errorf("%s: %+v, want %s to be True", tt.name, c, tt.want)
			}
		}
		later := status.Kstatus(tt.status, list, now.Add(time.Hour))
		for i := range later {
			if !later[i].LastTransitionTime.Time.Equal(now) {
				t.Errorf("%s: the time of %s changes although nothing does", tt.name, later[i].Type)
			}
		}
		changed := status.Kstatus(of(func(in *status.Input) { in.Trial.State = status.CanaryFailed }), list, now.Add(time.Hour))
		if moved := !changed[2].LastTransitionTime.Time.Equal(now); moved != (tt.want != status.ConditionStalled) {
			t.Errorf("%s: then Stalled, since %v", tt.name, changed[2].LastTransitionTime)
		}
	}
}

// Why is what Progressing says of the rollout, and of two conditions of one type that were written before the first counts.
func TestKstatusSaysWhy(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	if none := status.Kstatus(status.Status{}, nil, now); none[1].Reason != "NotPlanned" || none[1].Message != "" {
		t.Errorf("without a plan: %+v", none[1])
	}
	s := status.Summarize(status.Input{
		Now: now, Counts: status.Counts{Desired: 2, Current: 2, Ready: 2, Available: 2, Updated: 1},
		UpdateRevision: "7d9f", Settled: 1, Outdated: 1, Acting: true, MaxUnavailable: 1,
		Trial: status.Trial{State: status.Canary, Message: "it is tried"},
	})
	before := []metav1.Condition{
		{Type: status.ConditionReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))},
		{Type: status.ConditionReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))},
	}
	ready := status.Kstatus(s, before, now)[0]
	if ready.Reason != "CanaryOnTrial" || ready.Message != s.Conditions[1].Message || ready.Message == "" {
		t.Errorf("%+v, want what Progressing says: %+v", ready, s.Conditions[1])
	}
	if !ready.LastTransitionTime.Time.Equal(now.Add(-time.Hour)) {
		t.Errorf("since %v", ready.LastTransitionTime)
	}
}

// A tool that waits for a release goes on waiting here.
func ExampleKstatus() {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	s := status.Summarize(status.Input{
		Now: now, Counts: status.Counts{Desired: 2, Current: 2, Ready: 2, Available: 2, Updated: 1},
		UpdateRevision: "7d9f", Settled: 1, Outdated: 1, Acting: true, MaxUnavailable: 1,
	})
	for _, c := range status.Kstatus(s, nil, now) {
		fmt.Println(c.Type, c.Status, c.Reason)
	}
	// Output:
	// Ready False RolloutInProgress
	// Reconciling True RolloutInProgress
	// Stalled False RolloutInProgress
}
