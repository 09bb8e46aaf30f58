package status_test

import (
	"math"
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
