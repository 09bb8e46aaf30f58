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
