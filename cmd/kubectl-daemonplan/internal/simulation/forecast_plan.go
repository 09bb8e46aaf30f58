package simulation

import (
	"fmt"
	"io"
	"runtime"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// ForecastPlan prints how long the rollout of a set takes from a snapshot on, as the command forecast does, and what the times
// are derived from: see [Derive]. On a large cluster it makes fewer runs, see planRuns. The error says that the objects do not
// tell any times.
func ForecastPlan(
	out io.Writer, in *objects.Input, set *objects.Set, snapshot rollout.Snapshot, by controllers.Name,
) error {
	derived, err := Derive(snapshot.Nodes, snapshot.Pods, in.Events, set.Spec, snapshot.Now)
	if err != nil {
		return fmt.Errorf("%w; %s takes times from a file", err, otherForecast)
	}
	c := &candidate{
		Label: text.Printable(set.Spec.Name), Set: set, Derived: &derived,
		Fleet: simulate.Fleet{Snapshot: &snapshot, Claims: in.Claims},
	}
	if err := c.by(by); err != nil {
		return err
	}
	e := &experiment{
		question:   question{Seed: 1, Seeds: planRuns(len(snapshot.Nodes))},
		Candidates: []*candidate{c},
	}
	p := &program{Stdout: out, Stderr: io.Discard, Workers: runtime.GOMAXPROCS(0), Engine: simulation}
	outcomes, err := p.outcomes(e, nil)
	if err != nil {
		return err
	}
	printForecast(out, outcomes[0])
	fmt.Fprintln(out, "\nTaken for it:")
	for _, sentence := range append(derived.Sentences, e.World.controllerNote(size(c.Fleet))) {
		fmt.Fprintf(out, "  %s\n", sentence)
	}
	fmt.Fprintf(out, "  %s takes times from a file\n", otherForecast)
	return nil
}

// otherForecast is the command that is not bound to what can be derived.
const otherForecast = command + " forecast --dump DUMP --world FILE"

// planRuns is how many runs are made for so many nodes: the more nodes, the longer each run takes here, and the less the runs
// differ, because chance evens out over the nodes.
func planRuns(nodes int) int {
	const fewest, nodesInAll = 4, 4000
	return min(max(nodesInAll/max(nodes, 1), fewest), simulate.DefaultSeeds)
}
