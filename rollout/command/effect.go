package command

import (
	"cmp"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// Effect is a difference between two plans in what is decided about one node, or about one pod without a node.
type Effect struct {
	// Node and Pod as in [rollout.Decision].
	Node, Pod string
	// Before and After are the decisions of the two plans. Nil: that plan has no such decision.
	Before, After *rollout.Decision
}

// Effects compares two plans for one snapshot, one before and one after a command, and returns the decisions that differ in
// what is done or why, ordered by node and pod. The instants until which nodes wait do not count. The results point to the
// decisions of the plans and must not be written to.
func Effects(before, after rollout.Plan) []Effect {
	var list []Effect
	old, new := ordered(before.Decisions), ordered(after.Decisions)
	for len(old) > 0 || len(new) > 0 {
		switch order := compareHeads(old, new); {
		case order < 0:
			list = append(list, Effect{old[0].Node, old[0].Pod, old[0], nil})
			old = old[1:]
		case order > 0:
			list = append(list, Effect{new[0].Node, new[0].Pod, nil, new[0]})
			new = new[1:]
		default:
			if differs(*old[0], *new[0]) {
				list = append(list, Effect{new[0].Node, new[0].Pod, old[0], new[0]})
			}
			old, new = old[1:], new[1:]
		}
	}
	return list
}

// ordered are decisions by node; those about pods without a node by pod.
func ordered(decisions []rollout.Decision) []*rollout.Decision {
	list := make([]*rollout.Decision, len(decisions))
	for i := range decisions {
		list[i] = &decisions[i]
	}
	slices.SortStableFunc(list, compareDecisions)
	return list
}

func compareDecisions(a, b *rollout.Decision) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(podOf(a), podOf(b)))
}

// podOf returns the pod that a decision is about, empty for one about a node: the pod it speaks of may differ between plans.
func podOf(d *rollout.Decision) string {
	if aboutNode(d) {
		return ""
	}
	return d.Pod
}

// compareHeads orders the first elements; a list that is used up comes last.
func compareHeads(a, b []*rollout.Decision) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	default:
		return compareDecisions(a[0], b[0])
	}
}

// differs reports whether two decisions about the same node differ in anything but Until and the pointers into their plans.
func differs(a, b rollout.Decision) bool {
	a.Until, b.Until = time.Time{}, time.Time{}
	a.Diff, b.Diff = nil, nil
	return a != b
}
