package rollout

import (
	"cmp"
	"iter"
	"slices"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
)

// pull is part of step 8. It pulls images on the nodes that wait for their update, in the order in which they will be admitted
// (D1, D2). If no node waits, everything updates in one batch, and nothing is pulled ahead.
func (r *run) pull() {
	r.plan.FailedPulls = slices.SortedFunc(slices.Values(r.snapshot.FailedPulls), func(a, b predownload.Failure) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Image, b.Image),
			cmp.Compare(a.Count, b.Count), a.At.Compare(b.At))
	})
	if r.spec.PreDownload == nil || r.plan.Budget.Waiting == 0 || r.stops(none, pullImages).by != nil {
		return
	}
	selection := predownload.Select(predownload.Input{
		Now:          r.snapshot.Now,
		Options:      *r.spec.PreDownload,
		Images:       r.images,
		Secrets:      r.secrets,
		Candidates:   r.pullCandidates(),
		Desired:      r.plan.Budget.Desired,
		UpdatedReady: r.updatedReady(),
		InFlight:     r.snapshot.InFlight.Pulls,
		Failures:     r.snapshot.FailedPulls,
	})
	for _, pull := range selection.Pulls {
		i := r.nodeNamed(pull.Node)
		r.decision(i).Pulls++
		r.plan.Pulls = append(r.plan.Pulls, Pull{Pull: pull, Revision: r.revision.Update.Hash})
	}
	r.plan.FailedPulls, r.plan.PullWaits = selection.Failures, selection.Waits
	r.wake(selection.Wake)
}

// pullCandidates yields the nodes whose update to the update revision waits (node.waiting), in the order of B6.
func (r *run) pullCandidates() iter.Seq[predownload.Candidate] {
	return func(yield func(predownload.Candidate) bool) {
		var uses []string
		for _, wantReady := range [...]bool{false, true} {
			for i := int32(len(r.nodes)) - 1; i >= 0; i-- {
				n := &r.nodes[i]
				if !n.waiting || n.goal != toUpdate || r.pods[n.outdatedPod].traits.hasAny(ready) != wantReady ||
					r.stopsUpdate(i, pullImages).by != nil {
					continue
				}
				uses = predownload.PodImages(uses[:0], &r.pods[n.outdatedPod].Object.Spec)
				if !yield(predownload.Candidate{Node: n.Name, Present: n.Object.Status.Images, Uses: uses}) {
					return
				}
			}
		}
	}
}

// updatedReady counts the nodes that are to run the pod and have a ready one of the update revision.
func (r *run) updatedReady() int32 {
	count := r.settledAside
	for i := range r.nodes {
		n := &r.nodes[i]
		if r.outcome(int32(i)) != placement.Run || n.goal != toUpdate {
			continue
		}
		if n.goalPod != none && r.pods[n.goalPod].traits.hasAny(ready) {
			count++
		}
	}
	return count
}
