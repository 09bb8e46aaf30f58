package status_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/status"
)

// Two plans of one rollout: what the first remembers is passed to the second by hand.
func Example() {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	const healthy = status.Desired | status.Present | status.Ready | status.Available

	var counts status.Counts
	counts.Add(healthy | status.Updated)
	counts.Add(healthy)
	s := status.Summarize(status.Input{
		Now: now, Counts: counts, UpdateRevision: "7d9f", Settled: 1, Outdated: 1, Acting: true, MaxUnavailable: 1,
	})
	fmt.Println(s.State, s.Reason, s.Conditions[1].Message)

	counts = status.Counts{}
	counts.Add(healthy | status.Updated)
	counts.Add(healthy | status.Updated)
	s = status.Summarize(status.Input{
		Now: now.Add(time.Minute), Counts: counts, UpdateRevision: "7d9f", Settled: 2, MaxUnavailable: 1,
		Previous: s.Conditions, CompletedRevision: s.CompletedRevision,
	})
	fmt.Println(s.State, s.Reason, s.Conditions[1].Message)
	for _, c := range s.Conditions {
		fmt.Println(c.Type, c.Status, c.LastTransitionTime.Format(time.TimeOnly))
	}
	// Output:
	// Updating RolloutInProgress 1 of 2 nodes updated and available
	// Running RolloutComplete 2 of 2 nodes updated and available
	// Available True 12:00:00
	// Progressing False 12:01:00
}

// Two held nodes with broken pods use up the budget, and nothing will change that but a person.
func ExampleSummarize() {
	s := status.Summarize(status.Input{
		Now:            time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC),
		Counts:         status.Counts{Desired: 10, Current: 10, Ready: 8, Available: 8, Updated: 3},
		UpdateRevision: "7d9f", Settled: 3, Outdated: 7, Held: 2, Waiting: 5,
		MaxUnavailable: 2, Unavailable: 2, HeldUnavailable: 2,
	})
	fmt.Println(s.State, s.Reason, s.DisruptionsAllowed)
	for _, c := range s.Conditions {
		fmt.Printf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	// Output:
	// Stuck HeldPodsUseUpBudget 0
	// Available=True EnoughNodesAvailable: 8 of 10 nodes available, at most 2 may be unavailable
	// Progressing=Unknown HeldPodsUseUpBudget: 3 of 10 nodes updated and available, 2 held back, 5 waiting for the budget, 2 unavailable while held back
}

// Two canary nodes have the revision, eight are to wait for its promotion.
func ExampleSummarize_canary() {
	s := status.Summarize(status.Input{
		Now:            time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC),
		Counts:         status.Counts{Desired: 10, Current: 10, Ready: 10, Available: 10, Updated: 2},
		UpdateRevision: "7d9f", StableRevision: "5c66", Settled: 2, MaxUnavailable: 1,
		Trial: status.Trial{State: status.CanaryPaused, Reason: "CannotStart", Message: "ErrImagePull of main on node a"},
	})
	fmt.Println(s.State, s.Reason)
	for _, c := range s.Conditions[1:] {
		fmt.Printf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	// Output:
	// CanaryPaused CanaryOnHold
	// Progressing=Unknown CanaryOnHold: 2 of 10 nodes updated and available
	// Canary=True CannotStart: ErrImagePull of main on node a
}

func ExampleStatus_DaemonSetStatus() {
	s := status.Status{Counts: status.Counts{Desired: 3, Current: 3, Ready: 2, Available: 2, Unavailable: 1, Updated: 3}}
	ds := s.DaemonSetStatus()
	fmt.Println(ds.DesiredNumberScheduled, ds.NumberAvailable, ds.NumberUnavailable, ds.UpdatedNumberScheduled)
	// Output: 3 2 1 3
}

func ExampleCounts_Add() {
	var c status.Counts
	c.Add(status.Desired | status.Present | status.Ready)
	c.Add(status.Desired)
	c.Add(status.Present)
	fmt.Printf("%+v\n", c)
	// Output: {Desired:2 Current:1 Misscheduled:1 Ready:1 Available:0 Unavailable:2 Updated:0}
}

func ExampleFacts_Has() {
	f := status.Desired | status.Present
	fmt.Println(f.Has(status.Present), f.Has(status.Present|status.Ready))
	// Output: true false
}

func ExampleFacts_String() {
	fmt.Println(status.Desired | status.Present | status.Ready)
	// Output: desired|present|ready
}

func ExampleSetState_String() {
	fmt.Println(status.CanaryPaused)
	// Output: CanaryPaused
}

func ExampleSetState_MarshalText() {
	data, err := json.Marshal(map[string]status.SetState{"state": status.Stuck})
	fmt.Println(string(data), err)
	// Output: {"state":"Stuck"} <nil>
}

func ExampleSetState_UnmarshalText() {
	var s status.SetState
	fmt.Println(s.UnmarshalText([]byte("Frozen")), s)
	fmt.Println(s.UnmarshalText([]byte("Happy")), s)
	// Output:
	// <nil> Frozen
	// status: "Happy" is no SetState Frozen
}

func ExampleConditionReason_String() {
	fmt.Println(status.HeldPodsUseUpBudget)
	// Output: HeldPodsUseUpBudget
}

func ExampleConditionReason_MarshalText() {
	_, err := status.ConditionReason(200).MarshalText()
	fmt.Println(err)
	// Output: status: ConditionReason(200) has no name
}

func ExampleConditionReason_UnmarshalText() {
	var r status.ConditionReason
	fmt.Println(r.UnmarshalText([]byte("OnDelete")), r)
	// Output: <nil> OnDelete
}
