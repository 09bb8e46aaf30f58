package status_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/status"
)

func TestConditionsInFull(t *testing.T) {
	now := noon.Add(time.Hour)
	since := metav1.NewTime(now)
	in := underWay()
	in.Now = now.Add(999_999_999).In(time.FixedZone("elsewhere", 3600))
	got := status.Summarize(in).Conditions
	want := []metav1.Condition{
		{
			Type: "Available", Status: "True", ObservedGeneration: 7, LastTransitionTime: since,
			Reason: "EnoughNodesAvailable", Message: "9 of 10 nodes available, at most 2 may be unavailable",
		},
		{
			Type: "Progressing", Status: "True", ObservedGeneration: 7, LastTransitionTime: since,
			Reason: "RolloutInProgress", Message: "5 of 10 nodes updated and available, 2 waiting for the budget",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if zone := got[0].LastTransitionTime.Location(); zone != time.UTC {
		t.Errorf("the time is in %v, want UTC whatever the caller's zone", zone)
	}
}

func TestConditionAvailable(t *testing.T) {
	const enough, few = "True EnoughNodesAvailable", "False TooFewNodesAvailable"
	tests := []struct {
		name                      string
		why                       string
		desired, available, limit int32
		want, message             string
	}{
		{"all", "none unavailable", 10, 10, 1, enough, "10 of 10 nodes available, at most 1 may be unavailable"},
		{"at the limit", "the budget allows it", 10, 9, 1, enough, "9 of 10 nodes available, at most 1 may be unavailable"},
		{"beyond", "one more than the budget allows", 10, 8, 1, few,
			"8 of 10 nodes available, at most 1 may be unavailable"},
		{"surge", "maxUnavailable 0 wants them all", 10, 9, 0, few,
			"9 of 10 nodes available, at most 0 may be unavailable"},
		{"no nodes", "nothing is missing", 0, 0, 0, enough, "no node is to run the pod"},
		{"no nodes, negative limit", "nor with a limit that makes no sense", 0, 0, -1, enough, "no node is to run the pod"},
		{"one node", "it counts", 1, 0, 0, few, "0 of 1 nodes available, at most 0 may be unavailable"},
		{"negative limit", "it counts as 0", 2, 1, -1, few, "1 of 2 nodes available, at most 0 may be unavailable"},
		{"extremes", "no overflow", math.MaxInt32, math.MinInt32, math.MaxInt32, enough,
			"-2147483648 of 2147483647 nodes available, at most 2147483647 may be unavailable"},
	}
	table := rows{}
	for _, tt := range tests {
		table.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			in := underWay()
			in.Counts = status.Counts{Desired: tt.desired, Available: tt.available}
			in.MaxUnavailable = tt.limit
			in.Unavailable = 99 // the budget's number is not the counters' and must not matter
			c := status.Summarize(in).Conditions[0]
			if got := string(c.Status) + " " + c.Reason; got != tt.want || c.Message != tt.message {
				t.Errorf("got %s (%s), want %s (%s): %s", got, c.Message, tt.want, tt.message, tt.why)
			}
		})
	}
}

func TestProgressingMessage(t *testing.T) {
	tests := []struct {
		name string
		why  string
		from func() status.Input
		edit func(*status.Input)
		want string
	}{
		{"complete", "only what there is to say", done, func(*status.Input) {}, "10 of 10 nodes updated and available"},
		{"no nodes", "zeros would say less", done, func(in *status.Input) { in.Counts = status.Counts{} },
			"no node is to run the pod"},
		{"stuck", "who blocks whom, in numbers", stuck, func(*status.Input) {},
			"5 of 10 nodes updated and available, 2 held back, 2 waiting for the budget, 2 unavailable while held back"},
		{"ones", "one is a number worth telling", stuck,
			func(in *status.Input) { in.Held, in.Waiting, in.HeldUnavailable = 1, 1, 1 },
			"5 of 10 nodes updated and available, 1 held back, 1 waiting for the budget, 1 unavailable while held back"},
		{"gated", "why the rest waits", stuck,
			func(in *status.Input) {
				in.Held, in.Waiting, in.HeldUnavailable, in.Gated, in.Obstacle = 0, 0, 0, 3, "ring-0 is not done: a"
			},
			"5 of 10 nodes updated and available, 3 kept waiting by the policy; ring-0 is not done: a"},
		{"drained", "a drain or a maintenance may be why the rest is not done", stuck,
			func(in *status.Input) {
				in.Held, in.Waiting, in.HeldUnavailable, in.Obstacle = 0, 0, 0, "x"
				in.Lifecycle = []status.LifecycleCount{{"DrainInProgress", 1}, {"MaintenanceInProgress", 2}}
			},
			"5 of 10 nodes updated and available; of those left 1 with DrainInProgress, 2 with MaintenanceInProgress; x"},
		{"one node", "the least number of nodes", done, func(in *status.Input) {
			in.Counts = status.Counts{Desired: 1, Current: 1, Ready: 1, Available: 1, Updated: 1}
			in.Settled = 1
		}, "1 of 1 nodes updated and available"},
	}
	table := rows{}
	for _, tt := range tests {
		table.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			in := tt.from()
			tt.edit(&in)
			if got := status.Summarize(in).Conditions[1].Message; got != tt.want {
				t.Errorf("got  %q\nwant %q: %s", got, tt.want, tt.why)
			}
		})
	}
}

func TestTransitionTimeS3(t *testing.T) {
	earlier := metav1.NewTime(noon.Add(-time.Hour))
	progressing := func(s metav1.ConditionStatus, at metav1.Time) metav1.Condition {
		return metav1.Condition{Type: "Progressing", Status: s, LastTransitionTime: at, Reason: "Whatever"}
	}
	tests := []struct {
		name     string
		why      string
		previous []metav1.Condition
		want     time.Time
	}{
		{"none", "the first time it is seen", nil, noon},
		{"unchanged", "the status is the same, though the reason is not",
			[]metav1.Condition{progressing("True", earlier)}, earlier.Time},
		{"from False", "the status changed", []metav1.Condition{progressing("False", earlier)}, noon},
		{"from Unknown", "the status changed", []metav1.Condition{progressing("Unknown", earlier)}, noon},
		{"no time", "a condition without a time is not valid, so it gets one",
			[]metav1.Condition{progressing("True", metav1.Time{})}, noon},
		{"future", "a clock that went back does not move what happened",
			[]metav1.Condition{progressing("True", metav1.NewTime(noon.Add(time.Hour)))}, noon.Add(time.Hour)},
		{"other type", "conditions of others are not looked at",
			[]metav1.Condition{{Type: "Available", Status: "True", LastTransitionTime: earlier}}, noon},
		{"after another", "it need not come first",
			[]metav1.Condition{{Type: "Available", Status: "False"}, progressing("True", earlier)}, earlier.Time},
		{"twice", "of two the first counts",
			[]metav1.Condition{progressing("False", earlier), progressing("True", earlier)}, noon},
	}
	table := rows{}
	for _, tt := range tests {
		table.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			in := underWay()
			in.Previous = tt.previous
			c := status.Summarize(in).Conditions[1]
			if got := c.LastTransitionTime.Time; !got.Equal(tt.want) {
				t.Errorf("since %v, want %v: %s", got, tt.want, tt.why)
			}
		})
	}
}

func TestConditionCanary(t *testing.T) {
	const long = "x"
	tests := []struct {
		name  string
		why   string
		trial status.Trial
		want  string // status, reason and message; empty: no such condition
	}{
		{"none", "a set without a canary has nothing to say about one", status.Trial{}, ""},
		{"none, with words", "words alone put nothing on trial", status.Trial{Reason: "Because", Message: "m"}, ""},
		{"no state of a trial", "Running is no state of one", status.Trial{State: status.Running}, ""},
		{"runs", "it is on trial", status.Trial{State: status.Canary}, "True CanaryOnTrial "},
		{"runs, with words", "the trial knows more", status.Trial{State: status.Canary, Reason: "Observing", Message: "4m0s left"},
			"True Observing 4m0s left"},
		{"paused", "it is on trial still", status.Trial{State: status.CanaryPaused}, "True CanaryOnHold "},
		{"without nodes", "it is on trial still", status.Trial{State: status.Stuck}, "True CanaryWithoutNodes "},
		{"failed", "it was on trial", status.Trial{State: status.CanaryFailed}, "False CanaryRejected "},
		{"promoted", "it was on trial", status.Trial{Promoted: true}, "False CanaryPromoted "},
		{"promoted, with words", "how is worth telling", status.Trial{Promoted: true, Reason: "Validated", Message: "by command"},
			"False Validated by command"},
		{"promoted and on trial", "what goes on counts", status.Trial{State: status.Canary, Promoted: true}, "True CanaryOnTrial "},
		{"promoted and failed", "what it stands at counts", status.Trial{State: status.CanaryFailed, Promoted: true},
			"False CanaryRejected "},

		{"one letter", "the shortest reason", status.Trial{State: status.Canary, Reason: "z"}, "True z "},
		{"edges of the alphabet", "all letters are letters", status.Trial{State: status.Canary, Reason: "aAzZ"}, "True aAzZ "},
		{"digits", "a reason may hold and end with digits", status.Trial{State: status.Canary, Reason: "A09"}, "True A09 "},
		{"underscore at the end", "it may end with one", status.Trial{State: status.Canary, Reason: "A_"}, "True A_ "},
		{"marks inside", "commas and colons may stand inside", status.Trial{State: status.Canary, Reason: "A,B:C"}, "True A,B:C "},
		{"digit first", "a reason begins with a letter", status.Trial{State: status.Canary, Reason: "0A"}, "True CanaryOnTrial "},
		{"underscore first", "a reason begins with a letter", status.Trial{State: status.Canary, Reason: "_A"}, "True CanaryOnTrial "},
		{"comma first", "a reason begins with a letter", status.Trial{State: status.Canary, Reason: ",A"}, "True CanaryOnTrial "},
		{"comma last", "a reason does not end with one", status.Trial{State: status.Canary, Reason: "A,"}, "True CanaryOnTrial "},
		{"colon last", "a reason does not end with one", status.Trial{State: status.Canary, Reason: "A:"}, "True CanaryOnTrial "},
		{"space", "a reason is one word", status.Trial{State: status.Canary, Reason: "A B"}, "True CanaryOnTrial "},
		{"beyond ASCII", "a reason is ASCII", status.Trial{State: status.Canary, Reason: "Ä"}, "True CanaryOnTrial "},
		{"longest reason", "1024 bytes are allowed", status.Trial{State: status.Canary, Reason: strings.Repeat(long, 1024)},
			"True " + strings.Repeat(long, 1024) + " "},
		{"too long a reason", "1025 bytes are not", status.Trial{State: status.Canary, Reason: strings.Repeat(long, 1025)},
			"True CanaryOnTrial "},
		{"longest message", "32768 bytes are allowed", status.Trial{State: status.Canary, Message: strings.Repeat(long, 32768)},
			"True CanaryOnTrial " + strings.Repeat(long, 32768)},
		{"too long a message", "it is cut", status.Trial{State: status.Canary, Message: strings.Repeat(long, 32769)},
			"True CanaryOnTrial " + strings.Repeat(long, 32768)},
		{"too long by half a character", "it is cut between characters",
			status.Trial{State: status.Canary, Message: strings.Repeat(long, 32767) + "é"},
			"True CanaryOnTrial " + strings.Repeat(long, 32767)},
		{"no character at all", "nothing is left to cut", status.Trial{State: status.Canary, Message: strings.Repeat("\x80", 40000)},
			"True CanaryOnTrial "},
	}
	table := rows{}
	for _, tt := range tests {
		table.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			for _, set := range []string{"rolling", "paused", "frozen"} {
				in := done()
				in.Trial, in.Paused, in.Frozen = tt.trial, set == "paused", set == "frozen"
				got, list := "", status.Summarize(in).Conditions
				if len(list) > 2 {
					got = string(list[2].Status) + " " + list[2].Reason + " " + list[2].Message
				}
				if got != tt.want {
					t.Errorf("%s: got %.80q, want %.80q: %s", set, got, tt.want, tt.why)
				}
			}
		})
	}
}

// A trial, its reboot, its pause, its promotion; another that fails: what one status says feeds the next.
func TestConditionCanaryFollowsTheRevision(t *testing.T) {
	steps := []struct {
		name     string
		why      string
		revision string
		trial    status.Trial
		settled  int32 // of 10
		word     status.SetState
		canary   string // status, and since which step; empty: none
		rollout  string // the same of Progressing
	}{
		{"installed", "nothing is on trial", "r1", status.Trial{}, 10, status.Running, "", "False 0"},
		{"begun", "a new revision is tried", "r2", status.Trial{State: status.Canary}, 0, status.Canary, "True 1", "True 1"},
		{"observed", "the clock runs", "r2", status.Trial{State: status.Canary}, 2, status.Canary, "True 1", "True 1"},
		{"reboot", "a canary node that is away is no news", "r2", status.Trial{State: status.Canary}, 1, status.Canary, "True 1", "True 1"},
		{"back", "nor is its return", "r2", status.Trial{State: status.Canary}, 2, status.Canary, "True 1", "True 1"},
		{"paused", "it is still on trial, but does not go on", "r2", status.Trial{State: status.CanaryPaused}, 2,
			status.CanaryPaused, "True 1", "Unknown 5"},
		{"reboot while paused", "a node that is away is no news", "r2", status.Trial{State: status.CanaryPaused}, 1,
			status.CanaryPaused, "True 1", "Unknown 5"},
		{"unpaused", "it goes on", "r2", status.Trial{State: status.Canary}, 2, status.Canary, "True 1", "True 7"},
		{"promoted", "the trial is over, the rollout is not", "r2", status.Trial{Promoted: true}, 2, status.Updating, "False 8", "True 7"},
		{"complete", "now it is", "r2", status.Trial{Promoted: true}, 10, status.Running, "False 8", "False 9"},
		{"reboot later", "reopens nothing", "r2", status.Trial{Promoted: true}, 9, status.Running, "False 8", "False 9"},
		{"next", "another revision is tried", "r3", status.Trial{State: status.Canary}, 0, status.Canary, "True 11", "True 11"},
		{"on all nodes", "however many canary nodes there are", "r3", status.Trial{State: status.Canary}, 10, status.Canary, "True 11", "True 11"},
		{"failed", "it goes back", "r3", status.Trial{State: status.CanaryFailed}, 10, status.CanaryFailed, "False 13", "Unknown 13"},
		{"went back", "and the reason stays", "r3", status.Trial{State: status.CanaryFailed}, 0, status.CanaryFailed, "False 13", "Unknown 13"},
		{"rolled back", "r2 needs no trial", "r2", status.Trial{}, 10, status.Running, "", "False 15"},
	}
	var last status.Status
	table := rows{}
	for i, step := range steps {
		table.check(t, step.name, step.why)
		in := status.Input{
			Now:            noon.Add(time.Duration(i) * time.Minute),
			Counts:         status.Counts{Desired: 10, Available: 10, Updated: step.settled},
			UpdateRevision: step.revision, Settled: step.settled, Acting: true, MaxUnavailable: 1, Trial: step.trial,
			Previous: last.Conditions, CompletedRevision: last.CompletedRevision,
		}
		if step.trial.State == status.Unknown && step.settled < 9 {
			in.Outdated = 10 - step.settled
		}
		last = status.Summarize(in)
		since := map[string]string{}
		for _, c := range last.Conditions {
			since[c.Type] = fmt.Sprintf("%s %d", c.Status, int(c.LastTransitionTime.Sub(noon)/time.Minute))
		}
		if last.State != step.word || since["Canary"] != step.canary || since["Progressing"] != step.rollout {
			t.Errorf("%s: %v, Canary %q, Progressing %q; want %v, %q, %q: %s", step.name, last.State, since["Canary"],
				since["Progressing"], step.word, step.canary, step.rollout, step.why)
		}
	}
}

// A rollout, a reboot, a bad rollout, its rollback: one status feeds the next.
func TestConditionsFollowTheRevision(t *testing.T) {
	steps := []struct {
		name        string
		why         string
		revision    string
		settled     int32 // of 10, also updated; the rest is outdated if outdated, else unavailable
		outdated    bool
		progressing string
		changed     int // the step in which Progressing took on its status
	}{
		{"install", "nothing settled yet", "r1", 0, false, "True", 0},
		{"half way", "still the same rollout", "r1", 5, false, "True", 0},
		{"installed", "all nodes settled", "r1", 10, false, "False", 2},
		{"reboot", "a node that is away reopens nothing", "r1", 9, false, "False", 2},
		{"back", "and its return is no news", "r1", 10, false, "False", 2},
		{"update", "a new revision is a new rollout", "r2", 0, true, "True", 5},
		{"trouble", "it does not get far", "r2", 1, true, "True", 5},
		{"rollback", "r1 was complete before, but r2 came between", "r1", 9, true, "True", 5},
		{"rolled back", "all nodes settled again", "r1", 10, false, "False", 8},
		{"drain", "all nodes away at once", "r1", 0, false, "False", 8},
	}
	var last status.Status
	table := rows{}
	for i, step := range steps {
		table.check(t, step.name, step.why)
		rest := 10 - step.settled
		in := status.Input{
			Now:            noon.Add(time.Duration(i) * time.Minute),
			Counts:         status.Counts{Desired: 10, Available: step.settled, Updated: step.settled},
			UpdateRevision: step.revision, Settled: step.settled, Acting: true, MaxUnavailable: 1,
			Previous: last.Conditions, CompletedRevision: last.CompletedRevision,
		}
		if step.outdated {
			in.Outdated, in.Counts.Available = rest, 10
		}
		last = status.Summarize(in)
		c := last.Conditions[1]
		since := int(c.LastTransitionTime.Sub(noon) / time.Minute)
		if string(c.Status) != step.progressing || since != step.changed {
			t.Errorf("%s: Progressing is %s since step %d, want %s since step %d: %s",
				step.name, c.Status, since, step.progressing, step.changed, step.why)
		}
	}
}
