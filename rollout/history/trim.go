package history

import (
	appsv1 "k8s.io/api/apps/v1"
)

// trim plans the deletion of the oldest revisions beyond the limit (R4). Revisions that are needed count towards
// the limit, but in their place no others go that are within it: the history is then longer than the limit.
// A revision is needed while any pod carries it, a terminating or terminal one too, or while it is the stable one or has the
// last mark of a promotion: until the next mark is seen, nothing else tells what was stable.
// others is sorted, oldest first, and without the update revision.
func trim(out *Resolution, others []*appsv1.ControllerRevision, in Input, carried carriedHashes) {
	excess := len(others) - max(int(in.Limit), 0)
	verdict := lastVerdict(out, others, in)
	for _, revision := range others {
		if excess <= 0 {
			return
		}
		if revision == out.Stable.Existing || revision == verdict || carried.by(HashOf(revision)) {
			continue
		}
		out.Delete = append(out.Delete, revision)
		excess--
	}
}

// lastVerdict is the highest revision with other data that carries the mark of a promotion, while Update carries none; nil:
// there is none, or it does not matter.
func lastVerdict(out *Resolution, others []*appsv1.ControllerRevision, in Input) *appsv1.ControllerRevision {
	if !in.Canary || out.Promoted {
		return nil
	}
	var last *appsv1.ControllerRevision
	for _, revision := range others {
		if Promoted(revision) {
			last = revision
		}
	}
	return last
}
