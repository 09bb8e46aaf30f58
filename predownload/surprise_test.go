package predownload_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/predownload"
)

// Each test here has the number of a surprise that was recorded of OpenKruise, and shows what the library does instead.

func TestSurprise11OnDeleteIsNoPanic(t *testing.T) {
	in := rollout()
	in.OnDelete, in.MaxUnavailable = true, nil
	if decision, err := predownload.Decide(in); err != nil || decision != predownload.DecisionOnDelete {
		t.Errorf("%v, %v", decision, err)
	}
}

func TestSurprise12JobsLeaveUpdatedPodsOut(t *testing.T) {
	jobs, err := predownload.Jobs(rollout())
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(jobs[0].PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	for hash, want := range map[string]bool{"new": false, "old": true, "": true} {
		if got := selector.Matches(labels.Set{"app": "agent", "controller-revision-hash": hash}); got != want {
			t.Errorf("a pod of revision %q: found %t, want %t", hash, got, want)
		}
	}
	if selector.Matches(labels.Set{"app": "other", "controller-revision-hash": "old"}) {
		t.Error("a pod of another set is found")
	}
	if got := jobs[0].Labels["controller-revision-hash"]; got != "new" {
		t.Errorf("the job has the hash %q", got)
	}
}

// The node of an old pod decides, not that there is some old revision that differs.
func TestSurprise13OldPodsThatUseTheImage(t *testing.T) {
	got := predownload.Select(predownload.Input{
		Options: parallel(9), Images: []string{"i:2"},
		Candidates: slices.Values([]predownload.Candidate{{Node: "has it", Uses: []string{"i:2"}}, {Node: "lacks it", Uses: []string{"i:1"}}}),
	})
	if len(got.Pulls) != 1 || got.Pulls[0].Node != "lacks it" {
		t.Errorf("pulls %v", got.Pulls)
	}
	in := rollout()
	in.Update = revision("new", podTemplate(nil, "i:2"))
	in.Old = []*appsv1.ControllerRevision{revision("has", podTemplate(nil, "i:2")), revision("lacks", podTemplate(nil, "i:1"))}
	jobs, err := predownload.Jobs(in)
	if want := "agent-new-c0 i:2 not agent-new,new,has"; err != nil || summary(jobs) != want {
		t.Errorf("jobs %q, %v, want %q", summary(jobs), err, want)
	}
}

func TestSurprise13WithoutOldRevisionNothingIsPulled(t *testing.T) {
	in := rollout()
	in.Old = nil
	if decision, err := predownload.Decide(in); err != nil || decision != predownload.DecisionNotNeeded {
		t.Errorf("%v, %v", decision, err)
	}
}

func TestSurprise13OneUnreadableRevisionStopsNothing(t *testing.T) {
	in := rollout()
	in.Old = append(in.Old, unreadable("odd"))
	jobs, err := predownload.Jobs(in)
	// Of the odd revision's pods nothing is known, so that all images are pulled beside them.
	want := "agent-new-i0 setup:1 not agent-new,new,old; agent-new-c0 app:2 not agent-new,new; agent-new-c1 side:1 not agent-new,new,old"
	if err != nil || summary(jobs) != want {
		t.Errorf("jobs %q, %v, want %q", summary(jobs), err, want)
	}
}

// OpenKruise pulls ahead of updates that recreate pods too, and so does the library: neither JobInput nor Input asks
// how pods are updated, and a recreated pod starts sooner as well.
func TestSurprise14RecreateUpdatesPullToo(t *testing.T) {
	in := rollout()
	in.Old = []*appsv1.ControllerRevision{revision("old", podTemplate(nil, "app:1", "side:1", "setup:1", "gone:1"))} // cannot be taken in place
	if decision, err := predownload.Decide(in); err != nil || decision != predownload.DecisionCreate {
		t.Errorf("%v, %v", decision, err)
	}
}

func TestSurprise15AllInOneBatch(t *testing.T) {
	tests := []struct {
		name, why string
		change    func(*predownload.JobInput)
		want      predownload.JobDecision
		fails     bool
	}{
		{name: "partition rounded down", why: "T2 rounds down too: 1% of 47 holds nobody, so it is one batch", want: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) {
				in.Desired, in.Partition, in.MaxUnavailable = 47, text("1%"), text("100%")
			}},
		{name: "invalid maxUnavailable", why: "it is an error, not 0", fails: true,
			change: func(in *predownload.JobInput) { in.MaxUnavailable = text("abc") }},
		{name: "maxSurge", why: "a surge of all is one batch", want: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.MaxSurge = number(10) }},
		{name: "desired 0", why: "not decided for good: asked again when desired is known", want: predownload.DecisionNotYet,
			change: func(in *predownload.JobInput) { in.Desired, in.MaxUnavailable = 0, text("10%") }},
		{name: "desired known", why: "the same rollout a moment later", want: predownload.DecisionCreate,
			change: func(in *predownload.JobInput) { in.MaxUnavailable = text("10%") }},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			in := rollout()
			test.change(&in)
			if got, err := predownload.Decide(in); got != test.want || (err != nil) != test.fails {
				t.Errorf("%v, %v, want %v: %s", got, err, test.want, test.why)
			}
		})
	}
}
