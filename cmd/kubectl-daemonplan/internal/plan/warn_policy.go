package plan

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// idlePolicy lists what of the policy applies to nothing: stages that select no node, and an unknown revision that is expedited.
func (r *Result) idlePolicy() []string {
	policy := r.Spec.Strategy.Policy
	var lines []string
	taken := make(map[string]bool, len(r.Snapshot.Nodes))
	for _, stage := range policy.Stages {
		selector := labels.Everything()
		if stage.Selector != nil {
			var err error
			if selector, err = metav1.LabelSelectorAsSelector(stage.Selector); err != nil {
				continue // there is no plan either
			}
		}
		matched, left := 0, 0
		for _, node := range r.Snapshot.Nodes {
			if !selector.Matches(labels.Set(node.Labels)) {
				continue
			}
			if matched++; !taken[node.Name] {
				left, taken[node.Name] = left+1, true
			}
		}
		switch {
		case matched == 0:
			lines = append(lines, fmt.Sprintf("Stage %s selects no node.", stage.Name))
		case left == 0:
			lines = append(lines, fmt.Sprintf("Stage %s selects no node that no stage before it selects.", stage.Name))
		}
	}
	order := policy.Expedite
	if order != "" && order != canary.Any && order != r.Plan.Status.UpdateRevision && !r.isRevision(order) {
		lines = append(lines, fmt.Sprintf(
			"There is no revision %s, which the policy is to expedite: nothing passes the stages.", order))
	}
	return lines
}

// isRevision reports whether a revision has that hash or name, also one that the plan creates.
func (r *Result) isRevision(order string) bool {
	return slices.ContainsFunc(r.revisionObjects(), func(revision *appsv1.ControllerRevision) bool {
		return revision.Name == order || history.HashOf(revision) == order
	})
}
