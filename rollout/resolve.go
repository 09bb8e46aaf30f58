package rollout

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fmt"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// resolve is step 3. It finds which revision is the update revision and which the stable one (R rules), and which of the hashes
// that pods carry are the update revision's (R5). Then it makes records of the nodes that the next steps have to look at.
func (r *run) resolve() error {
	err := checkRevisions(r.snapshot.Revisions, r.spec.UID)
	if err != nil {
		return err
	}
	in := history.Input{
		Revisions:      r.snapshot.Revisions,
		Carriers:       r.carriers(),
		Limit:          *r.spec.RevisionHistoryLimit,
		CollisionCount: r.remembered.CollisionCount,
		Canary:         r.spec.Strategy.Canary != nil,
		LastStable:     r.lastStable(),
		Stages:         r.rules.Stages.Len() > 0 || r.failures != nil,
	}
	if len(r.snapshot.InFlight.Patches) > 0 {
		in.Limit = math.MaxInt32 // a patch that is not seen yet may bring a pod to any of them (R4)
	}
	isBase := func(r *appsv1.ControllerRevision) bool { return history.Completed(r) && !history.Failed(r) }
	if in.Stages && !slices.ContainsFunc(in.Revisions, isBase) {
		in.Nodes = r.nodesByRevision()
	}
	r.revision, err = r.resolver.Resolve(in)
	if err == nil && in.LastStable == "" && r.isRolledOut() {
		in.LastStable = r.revision.Update.Hash
		r.revision, err = r.resolver.Resolve(in)
	}
	if err != nil {
		return &SnapshotError{Field: "Revisions", Problem: err.Error()}
	}
	r.baseEverywhere = in.Nodes[r.revision.Base.Hash] == r.nodeFacts.Runs && r.nodeFacts.Runs > 0
	if r.isGivenUp() {
		r.revision.Stable = r.revision.Base // all nodes go back there (F3)
	}
	matches := setOf(r.revision.Matches)
	relabel := setOf(r.revision.Relabel)
	for i := range r.hashes {
		h := &r.hashes[i]
		h.update = matches[h.value]
		h.stable = h.value == r.revision.Stable.Hash
		h.base = r.revision.Base.Existing != nil && h.value == r.revision.Base.Hash
		h.relabel = relabel[h.value]
	}
	r.makeRecords(matches)
	return nil
}

// lastStable returns the revision that the memory has as the stable one: the one whose promotion it remembers, else the one of
// the rollout. A revision that is remembered as failed, too, as only a damaged memory has it, does not count.
func (r *run) lastStable() string {
	trial, stable := r.remembered.Canary, r.remembered.Rollout.Stable
	switch {
	case trial.Verdict != nil && trial.Verdict.Phase == canary.Idle:
		return trial.Revision
	case trial.Verdict != nil && stable == trial.Revision:
		return ""
	default:
		return stable
	}
}

// nodesByRevision counts, by revision, the nodes that are to run the pod and have a live one of it.
func (r *run) nodesByRevision() map[string]int32 {
	going, nodes := setOf(r.snapshot.InFlight.Deletes), make(map[string]int32)
	seen := make([]int32, len(r.podFacts.Hashes)) // by hash, the last node that was counted for it, from 1
	for i, first := range r.podFacts.First {
		if r.nodeFacts.List.At(int32(i)).Verdict.Outcome != placement.Run {
			continue
		}
		for j := first; j != none; j = r.podFacts.List.At(j).Next {
			p := r.podFacts.List.At(j)
			if p.Traits.HasAny(fleet.Marked|fleet.Failed|fleet.Succeeded) || going[p.Object.UID] || seen[p.Hash] == int32(i)+1 {
				continue
			}
			seen[p.Hash] = int32(i) + 1
			nodes[r.podFacts.Hashes[p.Hash].Value]++
		}
	}
	return nodes
}

// isRolledOut reports whether only the history knows a revision to fall back to, and more nodes have the update revision than
// a canary would. Then the update revision was rolled out before revisions were tried, and is the stable one (C6).
func (r *run) isRolledOut() bool {
	options, revision := r.spec.Strategy.Canary, &r.revision
	if options == nil || revision.Marked || revision.Fallback.Hash != revision.Update.Hash ||
		revision.Stable.Hash == revision.Update.Hash {
		return false
	}
	matches := setOf(revision.Matches)
	updated := int32(0)
	for _, first := range r.podFacts.First {
		for j := first; j != none; j = r.podFacts.List.At(j).Next {
			p := r.podFacts.List.At(j)
			if p.Traits.HasAny(fleet.Marked | fleet.Failed | fleet.Succeeded) {
				continue
			}
			if matches[r.podFacts.Hashes[p.Hash].Value] || p.Traits.HasAny(fleet.Unhashed) && r.atGeneration(p) {
				updated++
				break
			}
		}
	}
	return updated > canary.Size(*options, r.nodeFacts.Runs)
}

// carriers lists the revisions that pods carry, also pods that are requested and not seen yet. A create in flight for the update
// revision may have an empty hash. That matches no revision and does no harm, because the update revision is never deleted.
func (r *run) carriers() []history.Carrier {
	creates := r.snapshot.InFlight.Creates
	carriers := make([]history.Carrier, 0, len(r.hashes)+len(creates))
	for i, h := range r.hashes {
		if r.podFacts.Hashes[i].Pods == 0 {
			continue
		}
		carriers = append(carriers, history.Carrier{Hash: h.value, Live: h.live})
	}
	for _, create := range creates {
		carriers = append(carriers, history.Carrier{Hash: create.Revision, Live: true})
	}
	return carriers
}

func setOf[T comparable](list []T) map[T]bool {
	if len(list) == 0 {
		return nil
	}
	set := make(map[T]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return set
}

// checkRevisions checks what the contract of Snapshot says of revisions. Revisions of another controller are refused, because the
// set would trim them as its own.
func checkRevisions(revisions []*appsv1.ControllerRevision, owner types.UID) error {
	seen := make(map[string]bool, len(revisions))
	for i, revision := range revisions {
		if revision == nil {
			return wrong("Revisions", i, "must not be nil")
		}
		if of := metav1.GetControllerOfNoCopy(revision); of != nil && owner != "" && of.UID != owner {
			return wrong("Revisions", i, fmt.Sprintf("must not belong to another controller, as %s does: "+
				"ClaimRevisions picks the set's", revision.Name))
		}
		if seen[revision.Name] {
			return wrong("Revisions", i, "must have a name of its own: there is another "+revision.Name)
		}
		seen[revision.Name] = true
	}
	return nil
}
