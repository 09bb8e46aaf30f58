package harness_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestRereadFinds: in one rollout each planner whose Readings hold what they must not is found, and the real one is not.
func TestRereadFinds(t *testing.T) {
	for name, spoil := range map[string]func(rollout.Snapshot, rollout.Snapshot) rollout.Snapshot{
		"nothing": func(_, now rollout.Snapshot) rollout.Snapshot { return now },
		"a fact that depends on the time": func(before, now rollout.Snapshot) rollout.Snapshot {
			now.Now = before.Now
			return now
		},
		"a pod that is gone": func(before, now rollout.Snapshot) rollout.Snapshot {
			for _, p := range before.Pods {
				if !slices.ContainsFunc(now.Pods, func(q *corev1.Pod) bool { return p.UID == q.UID }) {
					now.Pods = append(slices.Clone(now.Pods), p)
				}
			}
			return now
		},
		"a pod before it changed": func(before, now rollout.Snapshot) rollout.Snapshot {
			now.Pods = slices.Clone(now.Pods)
			for i, p := range now.Pods {
				if k := slices.IndexFunc(before.Pods, func(q *corev1.Pod) bool { return p.UID == q.UID }); k >= 0 {
					now.Pods[i] = before.Pods[k]
				}
			}
			return now
		},
		"two pods, each as the other": func(_, now rollout.Snapshot) rollout.Snapshot {
			now.Pods = slices.Clone(now.Pods)
			if n := len(now.Pods); n > 1 {
				a, b := now.Pods[0].DeepCopy(), now.Pods[n-1].DeepCopy()
				a.Spec.NodeName, b.Spec.NodeName = b.Spec.NodeName, a.Spec.NodeName
				now.Pods[0], now.Pods[n-1] = a, b
			}
			return now
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := rollouttest.Spec("agent", rollouttest.MinReadySeconds(10))
			spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
			snapshot, err := rollouttest.Fleet(4, rollouttest.Running(old)).Build()
			if err != nil {
				t.Fatal(err)
			}
			snapshot.Now = rollouttest.Noon()
			cluster, err := harness.NewCluster(spec, snapshot, harness.Behavior{Start: 5 * time.Second, Stop: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			var before, now rollout.Snapshot
			_, err = cluster.Run(harness.RereadWith(func(s rollout.Snapshot) (rollout.Plan, error) {
				before, now = now, s
				return cluster.Plan(s)
			}, func(s rollout.Snapshot) (rollout.Plan, error) {
				return cluster.Plan(spoil(before, s))
			}), 200, nil)
			if found := err != nil && strings.Contains(err.Error(), "Reading"); found != (name != "nothing") {
				t.Errorf("found: %t, error: %v", found, err)
			}
		})
	}
}

// TestRereadUsesReadings: each plan is made again with the Readings that were given, with that of the plan before, which a plan
// with a Reading has made, and with that of ten plans before; and all but the one before see the lists in another order.
func TestRereadUsesReadings(t *testing.T) {
	spec := rollouttest.Spec("agent")
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := rollouttest.Fleet(4, rollouttest.Running(spec)).Build()
	if err != nil {
		t.Fatal(err)
	}
	start, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	type call struct {
		reading *rollout.Reading
		inOrder bool
	}
	var calls []call
	var latest []*rollout.Reading // of each plan
	var made *rollout.Reading
	anew := func(s rollout.Snapshot) (rollout.Plan, error) {
		if s.Reading != nil {
			t.Error("the plan that is made anew has a Reading")
		}
		plan, err := planner.Plan(s)
		made = plan.Reading
		return plan, err
	}
	again := func(s rollout.Snapshot) (rollout.Plan, error) {
		calls = append(calls, call{s.Reading, slices.Equal(s.Nodes, snapshot.Nodes) && slices.Equal(s.Pods, snapshot.Pods)})
		plan, err := planner.Plan(s)
		if len(latest) > 0 && s.Reading == latest[len(latest)-1] {
			made = plan.Reading
		}
		return plan, err
	}
	reread := harness.RereadWith(anew, again, start.Reading)
	for k := range 14 {
		calls = nil
		snapshot.Now = rollouttest.Noon().Add(time.Duration(k) * time.Second)
		if _, err := reread(snapshot); err != nil {
			t.Fatal(err)
		}
		want := []call{{start.Reading, false}}
		if k > 0 {
			before, tenBefore := latest[k-1], latest[max(0, k-10)] // where nothing changes, a plan hands on the Reading that it got
			want = append(want, call{before, true}, call{tenBefore, tenBefore == before})
		}
		if !slices.Equal(calls, want) {
			t.Errorf("plan %d was made again with %v, right is %v", k, calls, want)
		}
		latest = append(latest, made)
	}
}
