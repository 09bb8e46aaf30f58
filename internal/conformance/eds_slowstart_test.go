package conformance_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// edsSlowStart is a recording of how many pods the controller may have created by some time.
type edsSlowStart struct {
	Name  string `json:"name"`
	Input struct {
		Nodes          int             `json:"nodes"`
		ElapsedSeconds float64         `json:"elapsedSeconds"`
		RollingUpdate  json.RawMessage `json:"rollingUpdate"`
	} `json:"input"`
	Expect struct {
		MaxCreation *int   `json:"maxCreation"`
		Error       string `json:"error"`
		Panic       string `json:"panic"`
	} `json:"expect"`

	rolling edsRolling
}

// set returns a set with the recorded strategy.
func (c *edsSlowStart) set() (set edsSet) {
	set.APIVersion, set.Kind, set.Name, set.Namespace = "datadoghq.com/v1alpha1", "ExtendedDaemonSet", "agent", "ns"
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "repo/agent:1"}}
	set.Spec.Strategy.RollingUpdate = c.rolling
	return set
}

// limit returns how many pods may be created. By B7 a time before the rollout counts as 0.
func (c *edsSlowStart) limit(notNegative bool) int {
	elapsed := edsSeconds(c.Input.ElapsedSeconds)
	if notNegative {
		elapsed = max(0, elapsed)
	}
	return edsMaxCreation(c.rolling, int32(c.Input.Nodes), elapsed)
}

// impossible returns why no cluster can have these numbers; empty if one can.
func (c *edsSlowStart) impossible() string {
	const century = 100 * 365 * 24 * 60 * 60
	switch interval := c.rolling.SlowStartIntervalDuration; {
	case c.Input.Nodes < 0:
		return "a negative number of nodes"
	case c.Input.Nodes > conformance.MostNodes:
		return "more objects than any cluster has"
	case math.Abs(c.Input.ElapsedSeconds) > century:
		return "a rollout of more than a century"
	case interval != nil && interval.Duration > 0 && edsSeconds(c.Input.ElapsedSeconds)/interval.Duration > math.MaxInt32:
		return "more steps than 32 bits count"
	default:
		return ""
	}
}

// unreadable reports whether the controller ends with an error or panics, because it divides by the interval or reads a field
// that is unset.
func (c *edsSlowStart) unreadable() bool {
	if c.rolling.SlowStartAdditiveIncrease == nil || c.rolling.MaxParallelPodCreation == nil ||
		c.rolling.SlowStartIntervalDuration.Duration == 0 {
		return true
	}
	_, err := intstr.GetScaledValueFromIntOrPercent(c.rolling.SlowStartAdditiveIncrease, 1, true)
	return err != nil
}

// TestConformanceEDSSlowStart begins a rollout on empty nodes, and compares how many pods are created after some time.
func TestConformanceEDSSlowStart(t *testing.T) {
	var agree, defaulted, future, total int
	refused, impossible := make(map[string]int), make(map[string]int)
	elapsedNotNegative := edsEntry{"elapsed-not-negative", "B7",
		"with a start in the future, by a clock that was set back, the controller creates nothing; here the rollout begins now"}
	for _, c := range edsLines[edsSlowStart](t, "slowstart") {
		total++
		if err := json.Unmarshal(c.Input.RollingUpdate, &c.rolling); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if why := c.impossible(); why != "" {
			impossible[why]++
			continue
		}
		switch {
		case c.unreadable() != (c.Expect.MaxCreation == nil):
			t.Errorf("%s: the model takes it for unreadable: %v", c.Name, c.unreadable())
		case !c.unreadable() && c.limit(false) != *c.Expect.MaxCreation:
			t.Errorf("%s: the model may create %d pods, the controller %d", c.Name, c.limit(false), *c.Expect.MaxCreation)
		}
		set := c.set()
		spec, err := edsSpec(set, nil)
		if path := edsRefused(&set); path != "" {
			refused[path]++
			assertEDSRefused(t, c.Name, err, path)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		// In our spec a field that is unset has a default.
		if c.unreadable() {
			defaulted++
		}
		if c.rolling.SlowStartAdditiveIncrease == nil {
			c.rolling.SlowStartAdditiveIncrease = new(intstr.FromInt32(1))
		}
		if c.rolling.MaxParallelPodCreation == nil {
			c.rolling.MaxParallelPodCreation = new(int32(250))
		}
		if c.rolling.SlowStartIntervalDuration == nil {
			c.rolling.SlowStartIntervalDuration = &metav1.Duration{Duration: time.Minute}
		}
		plan := c.plan(t, spec)
		creates, limit := len(plan.Creates), int(plan.Budget.SlowStart)
		switch theirs, ours := c.limit(false), c.limit(true); {
		case limit != ours || creates != min(ours, c.Input.Nodes):
			t.Errorf("%s: limit %d and %d creates, want %d: %s", c.Name, limit, creates, ours, c.Input.RollingUpdate)
		case ours == theirs || min(ours, c.Input.Nodes) == max(0, theirs):
			agree++
		default:
			future++
			if c.Input.ElapsedSeconds >= 0 {
				t.Errorf("%s: unexplained: the controller may create %d pods, we %d", c.Name, theirs, ours)
			}
		}
	}
	t.Logf("%d cases: %d agree (%d with defaults where the controller panics), %v refused, %v that no cluster shows, %d explained by "+
		"%s (%s): %s", total, agree, defaulted, refused, impossible, future, elapsedNotNegative.id, elapsedNotNegative.rule, elapsedNotNegative.why)
	if future == 0 && !edsElsewhere() {
		t.Errorf("no case needs %s", elapsedNotNegative.id)
	}
}

// plan returns the plan of a first installation on that many nodes, so long after it began.
func (c *edsSlowStart) plan(t *testing.T, spec rollout.Spec) rollout.Plan {
	t.Helper()
	spec.Burst = new(intstr.FromInt32(100_000))
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatalf("%s: New: %v", c.Name, err)
	}
	snapshot := rollout.Snapshot{
		Now: edsNow, Revisions: []*appsv1.ControllerRevision{kit.Revision(spec, 1)},
		Memory: rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{
			Revision: kit.Hash(spec), Began: edsNow.Add(-edsSeconds(c.Input.ElapsedSeconds)),
		}},
	}
	for i := range c.Input.Nodes {
		snapshot.Nodes = append(snapshot.Nodes, kit.Node(fmt.Sprintf("n%05d", i)))
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatalf("%s: Plan: %v", c.Name, err)
	}
	if c.Input.Nodes <= 300 {
		verifyEDS(t, c.Name, spec, snapshot, plan)
	}
	return plan
}
