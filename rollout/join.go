package rollout

import "github.com/daemonplan/daemonplan/rollout/internal/fleet"

// join is step 2. It attributes the pods to the nodes (P7): it reads them into facts. Only objects that are new are
// touched; later steps look at the objects of nodes that are not settled.
func (r *run) join() error {
	facts, err := r.readPods()
	if err != nil {
		return err
	}
	r.podFacts = facts
	r.plan.Reading = r.snapshot.Reading.with(r.nodeFacts, facts, r.claims)
	r.hashes = make([]hash, len(facts.Hashes))
	for i := range facts.Hashes {
		r.hashes[i].value, r.hashes[i].live = facts.Hashes[i].Value, facts.Hashes[i].Live > 0
	}
	return nil
}

func (r *run) readPods() (*fleet.Pods, error) {
	earlier := r.snapshot.Reading.podFacts()
	if r.claims != nil {
		return fleet.ReadClaimed(earlier, r.rules, r.nodeFacts, r.claims)
	}
	return fleet.ReadPods(earlier, r.rules, r.nodeFacts, r.snapshot.Pods)
}
