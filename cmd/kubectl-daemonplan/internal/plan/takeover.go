package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// succeeds reports whether the set takes over the pods of that controller.
func (r *Result) succeeds(uid types.UID) bool {
	predecessor := r.Spec.Predecessor
	return predecessor != nil && slices.Contains(predecessor.UIDs, uid)
}

// takeoverLine shows whose pods are taken over; empty if none are.
func (r *Result) takeoverLine() string {
	old := len(r.claims.Old)
	if old == 0 {
		return ""
	}
	return text.Agree(old, "pod is", "pods are") +
		" of another controller, which this set takes over from: outdated, whatever it runs there."
}

// takeoverWarnings list what would undo a takeover. A DaemonSet that still exists creates new pods in place of those that are
// replaced. A canary that another controller has begun is not continued: this set takes the template for promoted.
func (r *Result) takeoverWarnings() []string {
	var lines []string
	set := r.Spec
	for _, old := range r.Input.Sets {
		name := old.Spec.Name
		if name == r.Set.OldDaemonSet && name != "" && old.Group == objects.GroupApps && old.Spec.Namespace == set.Namespace {
			lines = append(lines, fmt.Sprintf("DaemonSet %s, which this set takes over from, is still there and would make "+
				"new pods; delete it first, and leave its pods behind: kubectl delete ds %s -n %s --cascade=orphan",
				name, name, set.Namespace))
		}
	}
	if len(r.claims.Old) > 0 && len(r.Set.Memory.Canary.Nodes) > 0 && len(r.Input.Revisions) == 0 {
		lines = append(lines, "A canary of another controller is under way, and none of its revisions is a ControllerRevision: "+
			"this plan takes the template for a first installation. Let the canary end before the set is taken over")
	}
	return lines
}
