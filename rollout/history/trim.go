package history

import (
	appsv1 "k8s.io/api/apps/v1"
)

// trim plans the deletion of the oldest revisions beyond the limit (R4). A revision beyond the limit stays if it is needed,
// and no other is deleted in its place, so that the history can be longer than the limit. A revision is needed while any pod
// carries it, also a terminating or terminal one, while it is the stable one or the base of stages, and while it has the last
// mark of a promotion, because until the next mark is seen nothing else shows what was stable. others is sorted, oldest
// first, and without the update revision.
func trim(out *Resolution, others []*appsv1.ControllerRevision, in Input, carried carriedHashes) {
	excess := len(others) - max(int(in.Limit), 0)
	verdict := lastVerdict(out, others, in)
	for _, revision := range others {
		if excess <= 0 {
			return
		}
		if revision == out.Stable.Existing || revision == verdict || carried.by(HashOf(revision)) ||
			revision == out.Base.Existing {
			continue
		}
		out.Delete = append(out.Delete, revision)
		excess--
	}
}

// lastVerdict returns the highest revision with other data that carries the mark of a promotion, while Update carries none; nil:
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
