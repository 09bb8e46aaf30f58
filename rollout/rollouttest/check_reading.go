package rollouttest

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// CheckReading finds a caller who breaks the contract of [rollout.Snapshot.Reading]. It plans with the Reading of the snapshot
// and without, and returns an error that shows how the two plans differ, or nil if they do not. A difference means that a node
// or a pod was changed in place since the plan that the Reading is from, by the caller or by whoever else has the objects of its
// cache. A test of a controller calls it before each plan. The error is that of [rollout.Planner.Plan] if there is no plan.
//
// A controller that calls [rollout.Planner.ClaimAndPlan] is checked by [CheckClaimReading].
func CheckReading(planner *rollout.Planner, snapshot rollout.Snapshot) error {
	got, err := planner.Plan(snapshot)
	if err != nil {
		return err
	}
	snapshot.Reading = nil
	want, err := planner.Plan(snapshot)
	if err != nil {
		return err
	}
	return comparePlans(&want, &got)
}

// CheckClaimReading is [CheckReading] for callers of [rollout.Planner.ClaimAndPlan]: it also finds changes in place that matter
// to claims only, such as a label that the selector reads or a controller reference. Pods and Revisions of the snapshot are all
// those of the set's namespace.
func CheckClaimReading(planner *rollout.Planner, snapshot rollout.Snapshot) error {
	got, err := planner.ClaimAndPlan(snapshot)
	if err != nil {
		return err
	}
	snapshot.Reading = nil
	want, err := planner.ClaimAndPlan(snapshot)
	if err != nil {
		return err
	}
	for _, list := range []struct {
		name      string
		want, got []*corev1.Pod
	}{
		{"of the set", want.Pods.Pods, got.Pods.Pods}, {"to adopt", want.Pods.Adopt, got.Pods.Adopt},
		{"of the predecessor", want.Pods.Old, got.Pods.Old}, {"to release", want.Pods.Release, got.Pods.Release},
	} {
		if diff := cmp.Diff(podNames(list.want), podNames(list.got)); diff != "" {
			return fmt.Errorf("a pod was changed in place since it was claimed; the pods %s differ with the Reading "+
				"(-anew +read before):\n%s", list.name, diff)
		}
	}
	return comparePlans(&want.Plan, &got.Plan)
}

func podNames(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// comparePlans returns an error that shows how the plan with a Reading differs from the one without.
func comparePlans(want, got *rollout.Plan) error {
	for i := range min(len(got.Decisions), len(want.Decisions)) {
		if a, b := &want.Decisions[i], &got.Decisions[i]; a.Node != b.Node || !cmp.Equal(a, b) {
			return fmt.Errorf("node %s or one of its pods was changed in place since it was read; its decision differs with the "+
				"Reading (-anew +read before):\n%s", a.Node, cmp.Diff(a, b))
		}
	}
	if diff := cmp.Diff(*want, *got, cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("an object was changed in place since it was read; the plan differs with the Reading (-anew +read "+
			"before):\n%s", diff)
	}
	return nil
}
