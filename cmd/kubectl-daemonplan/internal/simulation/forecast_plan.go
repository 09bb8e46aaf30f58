package simulation

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// ForecastPlan prints how long the rollout of a set takes from a snapshot on, as the command forecast does, and what the times
// are derived from: see [Derive]. The controller plans once a second at most, as real ones do about, because on a large cluster
// each plan takes its time here. The error says that the objects do not tell any.
func ForecastPlan(out io.Writer, set *objects.Set, snapshot rollout.Snapshot) error {
	derived, err := Derive(snapshot.Nodes, snapshot.Pods, set.Spec)
	if err != nil {
		return err
	}
	c := &candidate{
		Label: text.Printable(set.Spec.Name), Set: set, Derived: &derived, Fleet: simulate.Fleet{Snapshot: &snapshot},
	}
	p := &program{Stdout: out, Stderr: io.Discard, Workers: runtime.GOMAXPROCS(0), Engine: simulation}
	outcomes, err := p.compare(&experiment{
		question:   question{Seed: 1, Seeds: simulate.DefaultSeeds},
		Candidates: []*candidate{c},
		World:      world{Controller: simulate.Controller{Interval: time.Second}},
	}, nil)
	if err != nil {
		return err
	}
	printForecast(out, outcomes[0])
	fmt.Fprintln(out, "\nTaken for it:")
	for _, sentence := range derived.Sentences {
		fmt.Fprintf(out, "  %s\n", sentence)
	}
	fmt.Fprintln(out, "  the controller plans once a second at most")
	return nil
}
