package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/failure"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// recorded runs a scenario of a ring of two nodes and others, as it is changed, and returns its records of these kinds.
func recorded(t *testing.T, change func(*simulate.Scenario), kinds ...simulate.RecordKind) (simulate.Report, []simulate.Record) {
	t.Helper()
	old, ten := kit.Spec("agent", kit.Image("agent:v1")), simulate.Fixed(10*time.Second)
	scenario := simulate.Scenario{
		Limit: 6 * time.Hour,
		Fleet: simulate.Fleet{Running: &old, Pools: []simulate.Pool{
			{Name: "ring", Nodes: 2, Labels: map[string]string{"ring": "0"}}, {Name: "n", Nodes: 20},
		}},
		Model: simulate.Model{Kubelets: []simulate.Kubelet{{Start: ten, Stop: ten}}},
	}
	change(&scenario)
	var records []simulate.Record
	scenario.History = func(r simulate.Record) {
		if slices.Contains(kinds, r.Kind) {
			records = append(records, r)
		}
	}
	report, err := simulate.Run(scenario)
	if err != nil {
		t.Fatal(err)
	}
	return report, records
}

// The records of failures say on how many nodes a revision had failed, and when it was given up.
func TestRecordsOfFailures(t *testing.T) {
	report, records := recorded(t, func(s *simulate.Scenario) {
		s.Spec = kit.Spec("agent", kit.Image("agent:v2"), kit.MaxUnavailable("5"))
		s.Spec.Strategy.Policy.Failures = &failure.Options{
			MaxFailed: new(intstr.FromInt32(2)), Action: failure.Rollback, Deadline: 5 * time.Minute,
		}
		s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", Pool: "n", NeverReady: new(true)})
	}, simulate.NodesFailed, simulate.RevisionGivenUp)
	peak, might, gaveUp := 0, 0, ""
	var at time.Duration
	for _, r := range records {
		if r.Kind == simulate.RevisionGivenUp {
			gaveUp, at = r.Detail, r.At
		} else if r.Count > peak {
			peak, might = r.Count, r.Limit
		}
	}
	f := report.Failures
	if f == nil || f.GaveUp == "" || peak != f.Peak || might != f.MaxFailed || gaveUp != f.GaveUp || at != f.GaveUpAt {
		t.Errorf("the records say that %d failed, %d might, and given up after %s for %q; the report: %v", peak, might, at, gaveUp, f)
	}
}

// The records of stages say when each part came into its phases, and labels are recorded when a node is seen first and when an
// event changes them.
func TestRecordsOfStagesAndLabels(t *testing.T) {
	report, records := recorded(t, func(s *simulate.Scenario) {
		s.Spec = kit.Spec("agent", kit.Image("agent:v2"), kit.MaxUnavailable("5"), kit.Stages(stage.Stage{
			Name: "ring", Key: "ring", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}, Soak: time.Minute,
		}))
		s.Fleet.Pools[1].Nodes = 1
		s.Events = []simulate.Event{{
			At: time.Second, What: simulate.LabelNode, Node: "n-00000", Labels: map[string]string{"more": "yes"},
		}}
	}, simulate.StageChanged, simulate.NodeLabelled, simulate.RunEnded)
	var got []string
	for _, r := range records {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%v %v %s %s %d of %d", r.At, r.Kind, r.Node, r.Detail, r.Count, r.Limit)))
	}
	want := []string{
		"0s NodeLabelled n-00000 daemonplan.io/pool=n,kubernetes.io/hostname=n-00000 0 of 0",
		"0s NodeLabelled ring-00000 daemonplan.io/pool=ring,kubernetes.io/hostname=ring-00000,ring=0 0 of 0",
		"0s NodeLabelled ring-00001 daemonplan.io/pool=ring,kubernetes.io/hostname=ring-00001,ring=0 0 of 0",
		"0s StageChanged  Open ring/ring=0 0 of 2",
		"0s StageChanged  Waiting /= 0 of 1",
		"1s NodeLabelled n-00000 daemonplan.io/pool=n,kubernetes.io/hostname=n-00000,more=yes 0 of 0",
		"10s StageChanged  Open ring/ring=0 2 of 2",
		"20s StageChanged  Soaking ring/ring=0 0 of 2",
		"1m20s StageChanged  Done ring/ring=0 0 of 2",
		"1m20s StageChanged  Open /= 0 of 1",
		"1m30s StageChanged  Open /= 1 of 1",
		"1m40s StageChanged  Done /= 0 of 1",
		"1m40s RunEnded  done 0 of 0",
	}
	if diff := cmp.Diff(want, got); diff != "" || report.End != simulate.EndDone {
		t.Errorf("%v; -want +got:\n%s", report.End, diff)
	}
}

// Actions wait for the rate of calls from the call that uses the rate up until the last of them is sent.
func TestRateLimited(t *testing.T) {
	for _, tt := range []struct {
		name, why  string
		controller simulate.Controller
		want       time.Duration
	}{
		{"no rate", "all calls go at once", simulate.Controller{}, 0},
		{"one call in ten seconds", "a revision and 22 deletes, then as many creates, which come one by one as pods end",
			simulate.Controller{CallsPerSecond: 0.1}, 220 * time.Second},
		{"a burst that is enough", "no call waits", simulate.Controller{CallsPerSecond: 0.1, CallBurst: 1000}, 0},
	} {
		report, _ := recorded(t, func(s *simulate.Scenario) {
			s.Spec, s.Controller = kit.Spec("agent", kit.Image("agent:v2"), kit.MaxUnavailable("100%")), tt.controller
		})
		if report.End != simulate.EndDone || report.RateLimited < tt.want || tt.want == 0 && report.RateLimited > 0 {
			t.Errorf("%s: actions waited for the rate for %v, want at least %v: %s", tt.name, report.RateLimited, tt.want, tt.why)
		}
	}
}
