package rollouttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// A controller that claims and plans in one call is checked likewise. Here it takes a label off a pod in place, so that the pod is
// not the set's any more.
func ExampleCheckClaimReading() {
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
	claimed, err := planner.ClaimAndPlan(snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot.Reading = claimed.Plan.Reading
	fmt.Println(rollouttest.CheckClaimReading(planner, snapshot))

	delete(snapshot.Pods[0].Labels, "app")
	problem, _, _ := strings.Cut(rollouttest.CheckClaimReading(planner, snapshot).Error(), ";")
	fmt.Println(problem)
	// Output:
	// <nil>
	// a pod was changed in place since it was claimed
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

// TestCheckClaimReading: a change in place that only claims see is found: which pods are the set's, and what happens to them.
func TestCheckClaimReading(t *testing.T) {
	spec := rollouttest.Spec("agent")
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
		{"a label of a pod", func(s *rollout.Snapshot) { s.Pods[1].Labels["app"] = "debug" }, "the pods of the set differ"},
		{"the controller of a pod", func(s *rollout.Snapshot) { s.Pods[1].OwnerReferences = nil }, "the pods to adopt differ"},
		{"a copy of the pod", func(s *rollout.Snapshot) {
			s.Pods[1] = s.Pods[1].DeepCopy()
			s.Pods[1].Labels["app"] = "debug"
		}, ""},
		{"the phase of a pod", func(s *rollout.Snapshot) { s.Pods[1].Status.Phase = corev1.PodFailed }, "node-00001 or one of its pods"},
		{"a pod of another set", func(s *rollout.Snapshot) {
			s.Pods = append(s.Pods, rollouttest.Pod("other", rollouttest.PodLabel("app", "other")))
		}, ""},
		{"no time", func(s *rollout.Snapshot) { s.Now = time.Time{} }, "snapshot.Now: must be set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := rollouttest.Fleet(3, rollouttest.Running(spec)).Build()
			if err != nil {
				t.Fatal(err)
			}
			s.Now = rollouttest.Noon()
			for _, pod := range s.Pods {
				pod.OwnerReferences = []metav1.OwnerReference{{UID: spec.UID, Controller: new(true)}}
			}
			claimed, err := planner.ClaimAndPlan(s)
			if err != nil {
				t.Fatal(err)
			}
			s.Reading = claimed.Plan.Reading
			tt.change(&s)
			err = rollouttest.CheckClaimReading(planner, s)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
