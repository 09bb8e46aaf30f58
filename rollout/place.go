package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// place is step 1. It reads the nodes into facts, in the order of their names: for the template of the update revision,
// whether each is to run the pod (P2), may keep one (P3), or must not have one, and what overrides give it (P8). Objects that
// earlier facts know are not read again, unless the spec has changed what is said of them. Step 4 evaluates those nodes anew
// that are to end at a stable revision whose pods run on other nodes, and then counts desired.
func (r *run) place() error {
	facts, err := fleet.ReadNodes(r.snapshot.Reading.nodeFacts(), r.rules, r.snapshot.Nodes)
	if err != nil {
		return err
	}
	r.nodeFacts = facts
	r.effects = slices.Clip(facts.Effects)
	return nil
}

// join is step 2. It attributes the pods to the nodes (P7): it reads them into facts. Only objects that are new are
// touched; later steps look at the objects of nodes that are not settled.
func (r *run) join() error {
	claims, facts, err := r.readPods()
	if err != nil {
		return err
	}
	r.podFacts = facts
	r.plan.Reading = r.snapshot.Reading.with(r.nodeFacts, facts, claims)
	r.hashes = make([]hash, len(facts.Hashes))
	for i := range facts.Hashes {
		r.hashes[i].value, r.hashes[i].live = facts.Hashes[i].Value, facts.Hashes[i].Live > 0
	}
	return nil
}

// readPods returns the facts of the set's pods and, if they are still to be claimed, the claims.
func (r *run) readPods() (*fleet.Claims, *fleet.Pods, error) {
	earlier := r.snapshot.Reading
	if r.claims {
		return fleet.ReadClaimed(earlier.claimFacts(), earlier.podFacts(), r.rules, r.nodeFacts, r.claimer, r.snapshot.Pods)
	}
	facts, err := fleet.ReadPods(earlier.podFacts(), r.rules, r.nodeFacts, r.snapshot.Pods)
	return nil, facts, err
}
