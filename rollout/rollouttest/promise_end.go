package rollouttest

import (
	"fmt"
	"strings"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// standing says how the set and its canary stood in the last plan, so that nobody has to ask why a run is stuck or late.
func standing(report simulate.Report) string {
	if report.Plans == 0 {
		return ""
	}
	text := fmt.Sprintf("; the set is %s (%s)", report.State, report.Reason)
	// A canary that was promoted is Idle, as none is.
	if c := &report.Canary; c.Phase != canary.Idle || c.Promoted > 0 {
		text += fmt.Sprintf(", the canary is %s (%s)", c.Phase, c.Reason)
	}
	return text
}

// howItEnded is about a run in which not every node is updated.
func howItEnded(report simulate.Report) string {
	return fmt.Sprintf("the run ended %s after %v, with %d of %s updated%s%s", report.End, report.Elapsed, report.Updated,
		nodesOf(report.Desired), standing(report), waitedFor(report))
}

// waitedFor is what a run waited for longest.
func waitedFor(report simulate.Report) string {
	if len(report.Waits) == 0 {
		return ""
	}
	return fmt.Sprintf("; what nodes waited for longest: %s", report.Waits[0])
}

// effort is whether anything was done in a run: a promise of what never happens is worth nothing where nothing does.
type effort struct{ made bool }

func (e *effort) record(r simulate.Record) {
	switch r.Kind {
	case simulate.PodCreated, simulate.PodDeleted:
		e.made = true
	case simulate.NodeChanged:
		e.made = e.made || r.To == simulate.NodeNew && r.From != 0
	default: // what happens to a node whose revision stays is not the rollout's doing
	}
}

// step looks for updates in place, of which there is no record of their own.
func (e *effort) step(_ *simulate.Simulation, step *simulate.Step) error {
	for i := 0; i < len(step.Plan.Decisions) && !e.made; i++ {
		e.made = step.Plan.Decisions[i].Verb == rollout.VerbUpdate
	}
	return nil
}

func (e *effort) toTheTest(report simulate.Report) error {
	if e.made {
		return nil
	}
	return breach(nil, "nothing was put to the test: no node was begun, or came to have another revision, in this run%s",
		standing(report))
}

// cutOff says that a run did not come to its end by itself; empty if it did.
func cutOff(report simulate.Report) string {
	if report.End != simulate.EndLimit {
		return ""
	}
	return fmt.Sprintf("the run was cut off after %v by Scenario.Limit, so that nobody knows what would have come%s",
		report.Elapsed, standing(report))
}

// unused says for each part of the scenario that was for nothing what it was.
func unused(report simulate.Report) []string {
	var failures []string
	for _, path := range report.Unused {
		what := "was about no pod in this run, so what it says"
		if strings.HasPrefix(path, "events[") {
			what = "happened to no node in this run, so what it does"
		}
		failures = append(failures, fmt.Sprintf("%s %s was not put to the test; AllowUnused accepts that", path, what))
	}
	return failures
}
