package rollouttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A controller that changes an object of its cache is found. Here it puts a taint on a node in place.
func ExampleCheckReading() {
	spec := rollouttest.Spec("agent")
	planner, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot, err := rollouttest.Fleet(3, rollouttest.Running(spec)).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot.Now = rollouttest.Noon()
	plan, err := planner.Plan(snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot.Reading = plan.Reading
	fmt.Println(rollouttest.CheckReading(planner, snapshot))

	snapshot.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	problem, _, _ := strings.Cut(rollouttest.CheckReading(planner, snapshot).Error(), ";")
	fmt.Println(problem)
	// Output:
	// <nil>
	// node node-00000 or one of its pods was changed in place since it was read
}

// TestCheckReading: a change in place is found whatever it is of and wherever the plan shows it. A change of a copy is none.
func TestCheckReading(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.MinReadySeconds(30))
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*rollout.Snapshot)
		want   string
	}{
		{"nothing", func(*rollout.Snapshot) {}, ""},
		{"the time", func(s *rollout.Snapshot) { s.Now = s.Now.Add(time.Hour) }, ""},
		{"a pod in place", func(s *rollout.Snapshot) { s.Pods[1].Status.Phase = corev1.PodFailed }, "changed in place"},
		{"a copy of the pod", func(s *rollout.Snapshot) {
			s.Pods[1] = s.Pods[1].DeepCopy()
			s.Pods[1].Status.Phase = corev1.PodFailed
		}, ""},
		{"a revision that nobody knows", func(s *rollout.Snapshot) { s.Pods[0].Labels["controller-revision-hash"] = "other" }, "changed in place"},
		{"no time", func(s *rollout.Snapshot) { s.Now = time.Time{} }, "snapshot.Now: must be set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := rollouttest.Fleet(3, rollouttest.Running(spec)).Build()
			if err != nil {
				t.Fatal(err)
			}
			s.Now = rollouttest.Noon()
			plan, err := planner.Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			s.Reading = plan.Reading
			tt.change(&s)
			if err := rollouttest.CheckReading(planner, s); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
