package rollout_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestNodesAsideChangeNothing: whatever the fleet, the spec and the way of a rollout, a plan that sets nodes aside is the plan that
// takes every node through all steps.
func TestNodesAsideChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := comparePlans(drawAside(t), func(p *rollout.Planner) *rollout.Planner { return p }); err != nil {
			t.Fatal(err)
		}
	})
}

// drawAside draws fleets of which many nodes are to be set aside.
func drawAside(t *rapid.T) harness.Case {
	c := rapid.OneOf(draw.AnyCase(), draw.AnyCase(rollouttest.MinReadySeconds(30)), draw.AnyCanaryCase()).Draw(t, "case")
	if rapid.Bool().Draw(t, "mostly healthy") {
		for i, p := range c.Snapshot.Pods {
			if rapid.IntRange(0, 3).Draw(t, "as it is") > 0 {
				c.Snapshot.Pods[i] = healthy(p)
			}
		}
	}
	if rapid.Bool().Draw(t, "no more requests") {
		return c
	}
	for _, p := range c.Snapshot.Pods {
		switch f := &c.Snapshot.InFlight; rapid.SampledFrom([]string{"nothing", "nothing", "delete", "patch", "create"}).Draw(t, "in flight") {
		case "delete":
			f.Deletes = append(f.Deletes, p.UID)
		case "patch":
			f.Patches = append(f.Patches, p.UID)
		case "create":
			f.Creates = append(f.Creates, rollout.InFlightCreate{Node: p.Spec.NodeName})
		}
	}
	return c
}

// healthy returns the pod without what may be going on with it, ready for a year.
func healthy(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.DeletionTimestamp = nil
	p.Status.Phase = corev1.PodRunning
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		c.Status, c.LastTransitionTime.Time = corev1.ConditionTrue, rollouttest.Noon().AddDate(-1, 0, 0)
	}
	return p
}

// comparePlans compares the plans of a rollout with those that set no node aside.
func comparePlans(c harness.Case, adjust func(*rollout.Planner) *rollout.Planner) error {
	planner, err := rollout.New(c.Spec)
	if err != nil {
		return err
	}
	naive, planner := rollout.SetNoneAside(planner), adjust(planner)
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, harness.Behavior{Start: 5 * time.Second, Stop: 3 * time.Second})
	if err != nil {
		return err
	}
	var reading *rollout.Reading // of the plan before
	compare := func(s rollout.Snapshot) (rollout.Plan, error) {
		want, wantErr := naive.Plan(s)
		s.Reading = reading
		got, err := planner.Plan(s)
		reading = got.Reading
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			return want, fmt.Errorf("the error is %w, and without nodes aside %w", err, wantErr)
		}
		want.Reading, got.Reading = nil, nil
		if !reflect.DeepEqual(want, got) {
			return want, fmt.Errorf("the plan differs from that without nodes aside:\n%s", cmp.Diff(want, got, cmpopts.EquateEmpty()))
		}
		return want, nil
	}
	if _, err := compare(c.Snapshot); err != nil {
		return err
	}
	_, err = cluster.Run(compare, 6, nil)
	return err
}

// TestPlansShareDecisions: while all nodes are where they are to be, plans that follow each other share their decisions, also when
// objects are replaced. As soon as one node needs a step they do not, nor if a caller has written to them.
func TestPlansShareDecisions(t *testing.T) {
	spec := rollouttest.Spec("agent")
	snapshot, err := rollouttest.Fleet(5, rollouttest.Running(spec)).Build()
	if err != nil {
		t.Fatal(err)
	}
	snapshot.Now = rollouttest.Noon()
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*rollout.Snapshot, *rollout.Plan)
		shared bool
	}{
		{"nothing changes", func(*rollout.Snapshot, *rollout.Plan) {}, true},
		{"heartbeats", func(s *rollout.Snapshot, _ *rollout.Plan) {
			s.Nodes = slices.Clone(s.Nodes)
			s.Nodes[2], s.Nodes[3] = s.Nodes[2].DeepCopy(), s.Nodes[3].DeepCopy()
		}, true},
		{"a pod is not ready", func(s *rollout.Snapshot, _ *rollout.Plan) {
			s.Pods = slices.Clone(s.Pods)
			s.Pods[1] = s.Pods[1].DeepCopy()
			s.Pods[1].Status.Conditions = nil
		}, false},
		{"a node is drained", func(s *rollout.Snapshot, _ *rollout.Plan) {
			s.Nodes = slices.Clone(s.Nodes)
			s.Nodes[2] = s.Nodes[2].DeepCopy()
			s.Nodes[2].Spec.Taints = []corev1.Taint{{Key: "drain", Effect: corev1.TaintEffectNoExecute}}
		}, false},
		{"a node comes", func(s *rollout.Snapshot, _ *rollout.Plan) {
			node := s.Nodes[0].DeepCopy()
			node.Name = "another"
			s.Nodes = append(slices.Clone(s.Nodes), node)
		}, false},
		{"a pod of no node comes", func(s *rollout.Snapshot, _ *rollout.Plan) {
			stray := s.Pods[0].DeepCopy()
			stray.UID, stray.Spec.NodeName = "stray", "nowhere"
			s.Pods = append(slices.Clone(s.Pods), stray)
		}, false},
		{"the caller writes", func(_ *rollout.Snapshot, plan *rollout.Plan) { plan.Decisions[3].Until = rollouttest.Noon() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := planner.Plan(snapshot)
			if err != nil {
				t.Fatal(err)
			}
			s := snapshot
			tt.change(&s, &before)
			want, err := planner.Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			s.Reading = before.Reading
			got, err := planner.Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			if shared := &got.Decisions[0] == &before.Decisions[0]; shared != tt.shared {
				t.Errorf("the decisions are shared: %t, want %t", shared, tt.shared)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the plan differs from that without a Reading:\n%s", diff)
			}
		})
	}
}
