package plan

import (
	"fmt"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// failures says on how many nodes the update revision has failed (F1 to F4).
type failures struct {
	// Action is Pause or Rollback: what is done when more nodes have failed than may.
	Action string `json:"action"`
	// Failed is the number of nodes that the update revision has failed on, and MaxFailed how many may. They are judged until the
	// revision is marked as rolled out everywhere.
	Failed    int32 `json:"failed"`
	MaxFailed int32 `json:"maxFailed"`
	// Quarantined is the number of failed nodes that are left out of the budget, and MaxQuarantined how many may be.
	Quarantined    int32 `json:"quarantined"`
	MaxQuarantined int32 `json:"maxQuarantined"`
	// GaveUp says why the update revision is given up, by this plan or an earlier one; absent: it is not.
	GaveUp string `json:"gaveUp,omitempty"`
}

// failures is what the plan counts; nil: the policy does not watch failures.
func (r *Result) failures() *failures {
	options := r.Spec.Default().Strategy.Policy.Failures
	if options == nil {
		return nil
	}
	b := &r.Plan.Budget
	return &failures{
		Action: string(options.Action), Failed: b.Failed, MaxFailed: b.MaxFailed,
		Quarantined: b.Quarantined, MaxQuarantined: b.MaxQuarantined, GaveUp: r.Plan.GaveUp,
	}
}

// failureLines say on which nodes the update revision has failed, and what follows; none if the policy does not watch failures.
func (r *Result) failureLines() []string {
	f := r.failures()
	if f == nil {
		return nil
	}
	revision := r.revisionName(r.Plan.Status.UpdateRevision)
	if f.GaveUp != "" {
		return []string{fmt.Sprintf("Failures: revision %s is given up: %s; all nodes go back to the last one that was "+
			"completed. Only a retry in the policy, or another template, rolls out again", revision, f.GaveUp)}
	}
	var names []string
	for i := range r.Plan.Decisions {
		if d := &r.Plan.Decisions[i]; d.Failed {
			names = append(names, d.Node)
		}
	}
	line := fmt.Sprintf("Failures: revision %s has failed on %s, at most %d may", revision,
		text.Counted(int(f.Failed), "node"), f.MaxFailed)
	switch {
	case f.Failed > f.MaxFailed:
		line += ", so that nothing is begun"
	case f.Action == string(failure.Rollback):
		line += ", else all nodes go back"
	}
	if len(names) > 0 {
		line += ": " + text.Some(names)
	}
	return []string{line}
}
