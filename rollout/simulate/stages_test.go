package simulate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// ringed is a fleet of a ring, two zones behind an approval, and a rest, that starts pods within ten seconds.
func ringed(t *testing.T, events ...simulate.Event) simulate.Report {
	t.Helper()
	spec := kit.Spec("agent", kit.Image("agent:v2"), kit.MaxUnavailable("5"), kit.Stages(
		stage.Stage{Name: "ring", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}, Soak: 10 * time.Minute},
		stage.Stage{Name: "none", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "9"}}, Soak: time.Hour, Approval: true},
		stage.Stage{
			Name: "zones", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "1"}},
			Key: "topology.kubernetes.io/zone", Soak: time.Minute, Approval: true,
		},
	))
	old := kit.Spec("agent", kit.Image("agent:v1"))
	ten := simulate.Fixed(10 * time.Second)
	report, err := simulate.Run(simulate.Scenario{
		Spec: spec, Events: events, Limit: 6 * time.Hour,
		Fleet: simulate.Fleet{Running: &old, Pools: []simulate.Pool{
			{Name: "ring", Nodes: 2, Labels: map[string]string{"ring": "0"}},
			{Name: "prod", Nodes: 6, Labels: map[string]string{"ring": "1"}, Zones: []string{"a", "b"}}, {Name: "rest", Nodes: 3},
		}},
		Model: simulate.Model{Kubelets: []simulate.Kubelet{{Start: ten, Stop: ten}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestReportHasStages: when each part was opened and done, in the order of the stages.
func TestReportHasStages(t *testing.T) {
	approve := simulate.Event{At: time.Hour, What: simulate.ApproveStage, Approval: stage.Approval{Stage: "zones", Value: "a"}}
	both := simulate.Event{At: 2 * time.Hour, What: simulate.ApproveStage, Approval: stage.Approval{Stage: "zones"}}
	report := ringed(t, approve, both)
	if report.End != simulate.EndDone || report.Updated != 11 {
		t.Fatalf("%s", report)
	}
	var got []string
	for _, s := range report.Stages {
		got = append(got, s.String())
	}
	want := []string{
		"ring: Done, opened after 0s, done after 20s; 2 nodes, 2 settled",
		"none: Skipped; 0 nodes, 0 settled",
		"zones (a): Done, opened after 1h0m0s, done after 1h0m20s; 3 nodes, 3 settled",
		"zones (b): Done, opened after 2h0m0s, done after 2h0m20s; 3 nodes, 3 settled",
		"the rest: Done, opened after 2h1m20s, done after 2h1m40s; 3 nodes, 3 settled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if text := report.String(); !strings.Contains(text, "  stages       ring: Done") {
		t.Errorf("the report does not name the stages:\n%s", text)
	}
}

// TestWithoutApprovalARunStands: a part that nobody approves keeps the run from its end, and the report says which.
func TestWithoutApprovalARunStands(t *testing.T) {
	report := ringed(t)
	if report.End != simulate.EndStuck || report.Reason != status.ApprovalNeeded || report.Updated != 2 {
		t.Errorf("end %s, reason %s, updated %d; want stuck, ApprovalNeeded, 2", report.End, report.Reason, report.Updated)
	}
	if got := report.Stages[2]; got.Phase != stage.Approving || got.WasOpened {
		t.Errorf("zone a is %s", got)
	}
}

// TestExpediteRevision: nothing soaks, and nothing waits for an approval.
func TestExpediteRevision(t *testing.T) {
	for _, revision := range []string{"", canary.Any} {
		report := ringed(t, simulate.Event{At: time.Minute, What: simulate.ExpediteRevision, Revision: revision})
		if report.End != simulate.EndDone || report.Finished > 5*time.Minute {
			t.Errorf("revision %q: %s", revision, report)
		}
	}
}

// TestApprovalOfAnotherRevision: an approval that names another revision opens nothing.
func TestApprovalOfAnotherRevision(t *testing.T) {
	report := ringed(t, simulate.Event{What: simulate.ApproveStage, Approval: stage.Approval{Stage: "zones", Revision: "other"}})
	if report.End != simulate.EndStuck || report.Updated != 2 {
		t.Errorf("%s", report)
	}
}

// TestStagesEvents: which orders make sense.
func TestStagesEvents(t *testing.T) {
	approve := func(a stage.Approval) simulate.Event { return simulate.Event{What: simulate.ApproveStage, Approval: a} }
	tests := []struct {
		name  string
		event simulate.Event
		want  string
	}{
		{"no stage", approve(stage.Approval{Value: "a"}), "events[0].approval.stage: Required value"},
		{"no such stage", approve(stage.Approval{Stage: "other"}), ""},
		{"any revision", approve(stage.Approval{Stage: "ring", Revision: "*"}), "events[0].approval.revision: Invalid value"},
		{"on a node", simulate.Event{What: simulate.ApproveStage, Approval: stage.Approval{Stage: "ring"}, Node: "x"}, "events[0].node: Forbidden"},
		{"an approval for another kind", simulate.Event{What: simulate.CrashController, Approval: stage.Approval{Stage: "ring"}}, "events[0].approval: Forbidden"},
		{"a revision for another kind", simulate.Event{What: simulate.CrashController, Revision: "r"}, "events[0].revision: Forbidden"},
		{"expedite on a node", simulate.Event{What: simulate.ExpediteRevision, Node: "x"}, "events[0].node: Forbidden"},
		{"approve", approve(stage.Approval{Stage: "ring"}), ""},
		{"expedite", simulate.Event{What: simulate.ExpediteRevision}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scenario := simulate.Scenario{
				Spec:  kit.Spec("agent", kit.Stages(stage.Stage{Name: "ring"})),
				Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "x", Nodes: 1}}}, Events: []simulate.Event{tt.event},
			}
			err := scenario.Validate()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestApprovalsWithoutAStage: a spec without the stage stays as it is, and the report says that the event had no effect.
func TestApprovalsWithoutAStage(t *testing.T) {
	report := ringed(t, simulate.Event{What: simulate.ApproveStage, Approval: stage.Approval{Stage: "other"}})
	if diff := cmp.Diff([]string{"events[0]"}, report.Unused); diff != "" {
		t.Errorf("unused, -want +got:\n%s", diff)
	}
}
