package rollout

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// join is step 2. It attributes the pods to the nodes (P7): it reads them into facts, and makes of each a record of how it stands
// now, given the time and the requests in flight. The objects are touched by reading only, and only those that are new.
func (r *run) join() error {
	facts, err := r.readPods()
	if err != nil {
		return err
	}
	r.plan.Reading = r.snapshot.Reading.with(r.fleet, facts, r.claims)
	r.hashes = make([]hash, len(facts.Hashes))
	for i, value := range facts.Hashes {
		r.hashes[i].value = value
	}
	requested := newPodsInFlight(r.snapshot.InFlight, facts)
	r.pods = make([]pod, 0, len(facts.List))
	for i := range r.nodes {
		n := &r.nodes[i]
		n.first = int32(len(r.pods))
		for j, end := facts.On(int32(i)); j < end; j++ {
			r.carry(&facts.List[j])
			p, availableAt := r.pod(&facts.List[j], requested.traits(j))
			if p.traits.has(marked) && p.traits.has(finished) {
				// M1 ignores a finished pod that is marked for deletion. Only its revision still counts, as one that a pod
				// carries (R4) and as what the node ran (T1), and on a canary node that it failed (C2).
				if r.remembersIgnored() {
					r.ignored = append(r.ignored, p)
				}
				continue
			}
			r.awaitAvailable(p.node, availableAt)
			r.pods = append(r.pods, p)
		}
		n.end = int32(len(r.pods))
	}
	for j, end := facts.Strays(); j < end; j++ {
		r.carry(&facts.List[j])
		if p, _ := r.pod(&facts.List[j], requested.traits(j)); !p.traits.has(marked) || !p.traits.has(finished) {
			r.strays = append(r.strays, p)
		}
	}
	return nil
}

func (r *run) readPods() (*fleet.Pods, error) {
	earlier := r.snapshot.Reading.podFacts()
	if r.claims != nil {
		return fleet.ReadClaimed(earlier, r.rules, r.fleet, r.claims)
	}
	return fleet.ReadPods(earlier, r.rules, r.fleet, r.snapshot.Pods)
}

// carry records that a live pod carries its revision (hash.live), also if the deletion of the pod is in flight, because that may
// fail. C6 goes back only to a revision that a live pod carries.
func (r *run) carry(facts *fleet.Pod) {
	if !facts.Traits.Has(fleet.Marked | fleet.Failed | fleet.Succeeded) {
		r.hashes[facts.Hash].live = true
	}
}

// pod makes the record of one pod, which has these traits by the requests in flight. availableAt is when it becomes available by
// the clock alone; zero: it does not.
func (r *run) pod(facts *fleet.Pod, requested traits) (record pod, availableAt time.Time) {
	record = pod{Pod: facts, node: facts.Node, hash: facts.Hash, traits: traits(facts.Traits) | requested}
	if facts.Traits.Has(fleet.Unhashed) && r.atGeneration(facts) {
		record.traits |= byGeneration
	}
	if !r.usesCanaryLabel {
		record.traits &^= labelled
	}
	switch {
	case record.traits.has(marked):
		record.traits &^= ready | preparingDelete | preparingUpdate | inTransition | outOfService
	case record.traits.has(ready):
		readiness := lifecycle.EvaluateSince(facts.ReadySince, r.spec.MinReadySeconds, r.snapshot.Now)
		if readiness.Available {
			record.traits |= available
		}
		availableAt = readiness.AvailableAt
	}
	return record, availableAt
}

// awaitAvailable sets a wake for when a pod becomes available by the clock alone. On a leave node that matters only while the pod
// stays there (M4), or if step 4 finds that the node is no leave node for the revision of its goal.
func (r *run) awaitAvailable(node int32, at time.Time) {
	switch {
	case at.IsZero():
	case r.outcome(node) != placement.Leave || r.lingers(node):
		r.wake(at)
	default:
		r.ripening = append(r.ripening, ripening{node: node, at: at})
	}
}

func (r *run) remembersIgnored() bool {
	return r.spec.Strategy.HoldRevision || r.spec.Strategy.Canary != nil
}

// byAge compares two pods: the older one comes first, then name and UID decide. The order is total.
func byAge(a, b *pod) int { return fleet.ByAge(a.Pod, b.Pod) }

// atGeneration reports whether a pod without a revision hash is at the update revision by its template generation label (R5).
func (r *run) atGeneration(facts *fleet.Pod) bool {
	return r.spec.TemplateGeneration != nil &&
		facts.Object.Labels[TemplateGenerationLabel] == strconv.FormatInt(*r.spec.TemplateGeneration, 10)
}

// podsInFlight has the traits that pods get from requests in flight, by their places in the facts; nil: no pod gets any.
type podsInFlight []traits

func newPodsInFlight(requests InFlight, facts *fleet.Pods) podsInFlight {
	if len(requests.Deletes)+len(requests.Patches) == 0 {
		return nil
	}
	f := make(podsInFlight, len(facts.List))
	f.add(facts, requests.Deletes, marked)
	f.add(facts, requests.Patches, patchInFlight)
	return f
}

func (f podsInFlight) add(facts *fleet.Pods, uids []types.UID, t traits) {
	for _, uid := range uids {
		if j := facts.Find(uid); j != none {
			f[j] |= t
		}
	}
}

func (f podsInFlight) traits(j int32) traits {
	if f == nil {
		return 0
	}
	return f[j]
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
