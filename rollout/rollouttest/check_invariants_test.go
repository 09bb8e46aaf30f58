package rollouttest_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestCheckInvariantsHold: whatever the spec and the state, the planner passes all checks at once, stopped sets and canaries
// included.
func TestCheckInvariantsHold(t *testing.T) {
	options := []rollouttest.SpecOption{
		rollouttest.Paused(), rollouttest.Frozen(), rollouttest.OnDelete(), rollouttest.Canary("1"), rollouttest.MaxSurge("1"),
	}
	for i := range len(options) + 1 {
		s := upgrade(options[:min(i, 1)]...)
		if i > 0 {
			s = upgrade(options[i-1])
		}
		if err := rollouttest.CheckInvariants(s.Spec, planner(s.Spec), s.Snapshot); err != nil {
			t.Errorf("option %d: %v", i, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := draw.AnyCase().Draw(t, "scenario")
		if err := rollouttest.CheckInvariants(s.Spec, planner(s.Spec), s.Snapshot); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCheckInvariantsReject: a planner with a bug is rejected by the check that is there for it.
func TestCheckInvariantsReject(t *testing.T) {
	tests := []struct {
		name, why string
		options   []rollouttest.SpecOption
		bug       func(rollout.Plan, rollout.Snapshot) rollout.Plan
		want      string
	}{
		{"safe", "all pods at once", nil, func(p rollout.Plan, s rollout.Snapshot) rollout.Plan {
			p.Deletes = nil
			for _, pod := range s.Pods {
				p.Deletes = append(p.Deletes, rollout.Delete{Node: pod.Spec.NodeName, Pod: pod.Name, UID: pod.UID})
			}
			return p
		}, "V1"},
		{"safe though paused", "the same, where nothing may be done", []rollouttest.SpecOption{rollouttest.Paused()}, func(p rollout.Plan, s rollout.Snapshot) rollout.Plan {
			p.Deletes = append(p.Deletes, rollout.Delete{Node: s.Pods[0].Spec.NodeName, Pod: s.Pods[0].Name, UID: s.Pods[0].UID})
			return p
		}, "V"},
		{"pure", "it writes to its input", nil, func(p rollout.Plan, s rollout.Snapshot) rollout.Plan {
			s.Nodes[0].Labels["seen"] += "x"
			return p
		}, "V13"},
		{"next wake", "it would come back for nothing, for ever", nil, func(p rollout.Plan, s rollout.Snapshot) rollout.Plan {
			p.NextWake = s.Now.Add(1)
			return p
		}, "V15"},
		{"live", "it does nothing at all", nil, func(p rollout.Plan, _ rollout.Snapshot) rollout.Plan {
			return harness.Prefix(p, 0)
		}, "V16"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := upgrade(tt.options...)
			right := planner(s.Spec)
			err := rollouttest.CheckInvariants(s.Spec, func(snapshot rollout.Snapshot) (rollout.Plan, error) {
				p, err := right(snapshot)
				return tt.bug(p, snapshot), err
			}, s.Snapshot)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestAssertValidFailsTheTest(t *testing.T) {
	s := upgrade()
	p, err := planner(s.Spec)(s.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	var r policyTB
	rollouttest.AssertValid(&r, s.Spec, s.Snapshot, p)
	if len(r.errors)+len(r.fatals) > 0 {
		t.Errorf("a right plan: %+v", r)
	}
	p.Status.Desired++
	rollouttest.AssertValid(&r, s.Spec, s.Snapshot, p)
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "V12") || !strings.Contains(r.errors[0], "\nnode b\n") {
		t.Errorf("a wrong plan is reported as %q; want the invariant and what was planned for", r.errors)
	}
	p.Status.Desired--
	p.Deletes[0].Node = "a"
	rollouttest.AssertValid(&r, s.Spec, s.Snapshot, p)
	if len(r.errors) != 2 || !strings.Contains(r.errors[1], "(the plan: a: ") {
		t.Errorf("a delete on the wrong node is reported as %q; want what the plan says of the node", r.errors)
	}
}
