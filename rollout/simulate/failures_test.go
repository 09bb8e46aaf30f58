package simulate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/failure"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/status"
)

// good is the share of nodes on which a version is broken that works everywhere.
const good = 1e-9

// failing is a fleet of 200 nodes on some of which version 2 is never ready.
func failing(t *testing.T, share float64, options *failure.Options, budget string, events ...simulate.Event) *simulate.Simulation {
	t.Helper()
	spec, old := kit.Spec("agent", kit.Image("agent:v2"), kit.MaxUnavailable(budget)), kit.Spec("agent", kit.Image("agent:v1"))
	spec.Strategy.Policy.Failures = options
	ten := simulate.Fixed(10 * time.Second)
	s, err := simulate.New(simulate.Scenario{
		Spec: spec, Events: events, Limit: 6 * time.Hour,
		Fleet: simulate.Fleet{Running: &old, Pools: []simulate.Pool{{Name: "n", Nodes: 200}}},
		Model: simulate.Model{Kubelets: []simulate.Kubelet{
			{Start: ten, Stop: ten}, {Image: "agent:v2", NodeShare: share, NeverReady: new(true)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNodeShare: which nodes a rule is about depends on their names alone, not on the pods that come and go there.
func TestNodeShare(t *testing.T) {
	down := func(budget string, events ...simulate.Event) []string {
		s := failing(t, 0.05, nil, budget, events...)
		var names []string
		for _, n := range s.Nodes() {
			if !s.NodeState(n.Name).Serving() {
				names = append(names, n.Name)
			}
		}
		return names
	}
	once := down("100")
	if len(once) < 2 || len(once) > 30 {
		t.Errorf("%d of 200 nodes are down, want about 10: %v", len(once), once)
	}
	again := simulate.Event{At: time.Hour, What: simulate.DeletePod, Share: 1}
	if other := down("50%", again); !slices.Equal(once, other) {
		t.Errorf("with another budget, and new pods after an hour, %v are down, before %v", other, once)
	}
	if all := down("200", simulate.Event{At: time.Hour, What: simulate.RemoveNode, Node: once[0]}); !slices.Equal(all, once[1:]) {
		t.Errorf("when %s is gone, %v are down, before %v", once[0], all, once)
	}
}

// TestReportHasFailures: a revision that is given up, on how many nodes it had failed, and why.
func TestReportHasFailures(t *testing.T) {
	options := &failure.Options{MaxFailed: new(intstr.FromString("1%")), Action: failure.Rollback, Deadline: 5 * time.Minute}
	report := failing(t, 0.05, options, "20").Report()
	f := report.Failures
	if f == nil || f.Peak <= 2 || f.MaxFailed != 2 || f.GaveUp == "" || f.GaveUpAt < f.PeakAt || f.PeakAt < 5*time.Minute {
		t.Fatalf("failures are %v", f)
	}
	if report.End != simulate.EndDone || report.State != status.RolledBack || report.Succeeded() || report.Updated != 0 {
		t.Errorf("it is no rollback: %s", report)
	}
	if text := report.String(); !strings.Contains(text, "; given up after ") || !strings.Contains(text, "had failed at once, 2 might") {
		t.Errorf("the report does not tell it:\n%s", text)
	}
	if r := failing(t, good, options, "20").Report(); r.Failures != nil || !r.Succeeded() {
		t.Errorf("of a good version it says %v", r.Failures)
	}
}

// TestRetryRevision: a retry rolls the revision out once more, and each is a new one.
func TestRetryRevision(t *testing.T) {
	options := &failure.Options{MaxFailed: new(intstr.FromInt32(1)), Action: failure.Rollback, Deadline: 5 * time.Minute}
	first := failing(t, 1, options, "5").Report()
	retries := failing(t, 1, options, "5", simulate.Event{At: time.Hour, What: simulate.RetryRevision},
		simulate.Event{At: 2 * time.Hour, What: simulate.RetryRevision},
		simulate.Event{At: 3 * time.Hour, What: simulate.RetryRevision, Revision: "*"}).Report()
	if first.Created != 10 || retries.Created != 40 || retries.Failures.GaveUpAt < 3*time.Hour || retries.State != status.RolledBack {
		t.Errorf("without retries %s\n\nwith three %s", first, retries)
	}
	none := failing(t, 1, nil, "5", simulate.Event{At: time.Minute, What: simulate.RetryRevision}).Report()
	if want := []string{"events[0]"}; !slices.Equal(none.Unused, want) {
		t.Errorf("without failures unused is %v, want %v", none.Unused, want)
	}
	if last := failing(t, good, options, "5", simulate.Event{At: time.Minute, What: simulate.RetryRevision}).Report(); !last.Succeeded() {
		t.Errorf("a retry of what has not failed: %s", last)
	}
}
