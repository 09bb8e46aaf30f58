package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// reportContrast prints, for a set with a policy that its controller does not obey, to how many nodes that controller does what,
// and to how many one would do it that plans with daemonplan.
func (r *Result) reportContrast(out io.Writer) {
	if r.By.Disobeyed(r.Set) == "" {
		return
	}
	other, err := r.byDaemonplan()
	if err != nil {
		fmt.Fprintf(out, "\nWith daemonplan there would be no plan: %s\n", text.Printable(err.Error()))
		return
	}
	runs, would := countDeeds(&r.Plan), countDeeds(&other)
	all := maps.Clone(runs)
	maps.Copy(all, would)
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "Nodes now\t%s\twith daemonplan it would be\n", r.By)
	for _, deed := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(table, "  %s\t%d\t%d\n", deed, runs[deed], would[deed])
	}
	_ = table.Flush()
}

// byDaemonplan is the plan that daemonplan makes of the same objects.
func (r *Result) byDaemonplan() (rollout.Plan, error) {
	planner, err := controllers.Daemonplan.Planner(r.Set.Spec, r.Set, chance)
	if err != nil {
		return rollout.Plan{}, err
	}
	snapshot := r.Snapshot
	snapshot.Reading = nil
	return planner(snapshot)
}

// countDeeds counts the nodes by what is done to them, or by what they wait for.
func countDeeds(plan *rollout.Plan) map[string]int {
	deeds := make(map[string]int)
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		deed := d.Verb.String()
		switch {
		case d.Verb == rollout.VerbNone:
			continue
		case d.Verb == rollout.VerbWait && d.Limit == rollout.LimitNone:
			deed += " for what is under way"
		case d.Limit != rollout.LimitNone:
			deed += " for " + d.Limit.String()
		}
		deeds[deed]++
	}
	return deeds
}
