package history

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// stable returns the revision to fall back to (C6). Another revision with the update revision's hash is passed over, because a
// pod's label does not say which of the two the pod is at. The number says which promotion was the last, because a revision
// becomes the highest when it becomes the update revision again.
func stable(out *Resolution, others []*appsv1.ControllerRevision, in Input) Revision {
	marks := in.Canary && out.Marked
	last := in.LastStable
	if !in.Canary || last == out.Update.Hash && Failed(out.Update.Existing) { // no failed revision is remembered as stable
		last = ""
	}
	if marks && out.Promoted || last != "" && last == out.Update.Hash {
		return out.Update
	}
	for _, revision := range slices.Backward(others) {
		hash := HashOf(revision)
		if hash != out.Update.Hash && (marks && Promoted(revision) || last != "" && hash == last) {
			return reviewed(revision)
		}
	}
	switch {
	case marks:
		return out.Update // only revisions with its hash carry a mark
	case last != "":
		return Revision{Hash: last} // fail closed: no revision is known to be stable any more, Update least of all
	case in.Canary && out.Fallback.Hash == out.Update.Hash:
		return before(out, others, in)
	default:
		return out.Fallback
	}
}

// before returns what the history alone knows of the time before Update: the highest revision with other data that can be read
// and has not failed, whether a pod carries it or not. If there is none, it returns Update. A revision whose hash another one
// has, too, does not count.
func before(out *Resolution, others []*appsv1.ControllerRevision, in Input) Revision {
	named := make(map[string]int, len(in.Revisions))
	for _, revision := range in.Revisions {
		named[HashOf(revision)]++
	}
	for _, revision := range slices.Backward(others) {
		hash := HashOf(revision)
		if hash == out.Update.Hash || named[hash] > 1 || Failed(revision) {
			continue
		}
		if _, err := Template(revision); err == nil {
			return reviewed(revision)
		}
	}
	return out.Update
}

// base returns Resolution.Base. Another revision with the update revision's hash is passed over, as in stable.
func base(out *Resolution, others []*appsv1.ControllerRevision, in Input) Revision {
	var most *appsv1.ControllerRevision
	for _, revision := range slices.Backward(others) {
		hash := HashOf(revision)
		switch {
		case hash == out.Update.Hash || Failed(revision):
		case Completed(revision):
			return reviewed(revision)
		case in.Nodes[hash] > 0 && (most == nil || in.Nodes[hash] > in.Nodes[HashOf(most)]):
			most = revision
		}
	}
	if most != nil {
		return reviewed(most)
	}
	return before(out, others, in)
}

// older returns Resolution.Fallback.
func older(out *Resolution, others []*appsv1.ControllerRevision, in Input, carried carriedHashes) Revision {
	highest := func(is func(hash string) bool, failed bool) *Revision {
		for _, revision := range slices.Backward(others) {
			if hash := HashOf(revision); hash != out.Update.Hash && Failed(revision) == failed && is(hash) {
				return new(reviewed(revision))
			}
		}
		return nil
	}
	revision := highest(carried.byLive, false)
	if revision == nil && in.Canary {
		// A revision that is there without a promotion is safer than to take Update for one that was tried.
		revision = cmp.Or(highest(carried.by, false), highest(carried.byLive, true))
	}
	if revision == nil {
		return out.Update
	}
	return *revision
}

// carriedHashes looks hashes up among those that pods carry. It allocates only for more of them than a usual history has.
type carriedHashes struct {
	few  []Carrier
	many map[string]bool // whether a live pod carries it
}

func newCarried(carriers []Carrier) carriedHashes {
	const few = 24
	if len(carriers) <= few {
		return carriedHashes{few: carriers}
	}
	c := carriedHashes{many: make(map[string]bool, len(carriers))}
	for _, carrier := range carriers {
		c.many[carrier.Hash] = c.many[carrier.Hash] || carrier.Live
	}
	return c
}

// by reports whether a pod carries the hash, byLive whether a live one does.
func (c carriedHashes) by(hash string) bool {
	_, many := c.many[hash]
	return many || slices.ContainsFunc(c.few, func(carrier Carrier) bool { return carrier.Hash == hash })
}

func (c carriedHashes) byLive(hash string) bool {
	return c.many[hash] || slices.Contains(c.few, Carrier{Hash: hash, Live: true})
}
