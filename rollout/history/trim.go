package history

import (
	appsv1 "k8s.io/api/apps/v1"
)

// trim plans the deletion of the oldest revisions beyond the limit (R4). Revisions that are needed count towards
// the limit, but in their place no others go that are within it: the history is then longer than the limit.
// A revision is needed while any pod carries it, a terminating or terminal one too, or while it is the stable one.
// others is sorted, oldest first, and without the update revision.
func trim(out *Resolution, others []*appsv1.ControllerRevision, carriers []Carrier, limit int32) {
	excess := len(others) - max(int(limit), 0)
	for _, revision := range others {
		if excess <= 0 {
			return
		}
		if revision == out.Stable.Existing || isCarried(HashOf(revision), carriers) {
			continue
		}
		out.Delete = append(out.Delete, revision)
		excess--
	}
}
