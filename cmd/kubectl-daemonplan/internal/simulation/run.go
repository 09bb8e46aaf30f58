package simulation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// output is where run writes to, in addition to the table.
type output struct {
	Out, History string
}

const runLong = `Roll out one spec or several on one fleet, each by itself, and compare how that goes.

Specs are manifests: DaemonSet of apps/v1, Advanced DaemonSet of OpenKruise, ExtendedDaemonSet of Datadog. The fleet is
generated (--nodes, or --fleet with a file of node pools) or a dump of a cluster (--dump). What runs on generated nodes
before says --from; how the cluster behaves says --world.`

const runExample = `
  simulate run --nodes 300 --zones a,b,c --from v1.yaml --spec careful.yaml --spec bold.yaml --world world.yaml
  simulate run --dump dump.json --spec new.yaml --seeds 50 --out report
  simulate run --fleet fleet.yaml --spec today=v2.yaml --spec better=v2-surge.yaml --history history.csv`

func (p *program) runCommand() *cobra.Command {
	q := question{defaultSeeds: 1}
	var out output
	c := &cobra.Command{
		Use: "run", Short: "Compare specs on one fleet", Long: runLong,
		Example: strings.TrimPrefix(runExample, "\n"), Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return p.run(&q, &files{Stdin: p.Stdin}, out, q.command("run"))
		},
	}
	c.Flags().SortFlags = false
	q.flags(c.Flags())
	out.flags(c)
	return c
}

func (o *output) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.Out, "out", "", "write report.html, pictures and histories into this `DIR`")
	c.Flags().StringVar(&o.History, "history", "", "write what happened under the first seed to a `FILE` .jsonl or .csv; "+
		"with several specs, one each")
}

func (o *output) check() error {
	switch strings.ToLower(filepath.Ext(o.History)) {
	case "", ".jsonl", ".csv":
	default:
		return fmt.Errorf("--history %s: it is a file whose name ends in .jsonl or .csv", o.History)
	}
	if o.History != "" && filepath.Ext(o.History) == "" {
		return fmt.Errorf("--history %s: its name must end in .jsonl or .csv, which says what is written", o.History)
	}
	return nil
}

// run answers the question.
func (p *program) run(q *question, f *files, out output, command string) (err error) {
	if err := errors.Join(q.check(), out.check()); err != nil {
		return err
	}
	e, err := q.load(f)
	if err != nil {
		return err
	}
	p.warn(e)
	var kept histories
	defer func() { err = errors.Join(err, kept.close()) }()
	if out.Out != "" {
		if err := os.MkdirAll(out.Out, 0o755); err != nil {
			return reading(out.Out, err)
		}
		for _, extension := range []string{".jsonl", ".csv"} {
			name := historyNames(filepath.Join(out.Out, "history"+extension), e.Candidates)
			if err := kept.open(len(e.Candidates), name); err != nil {
				return err
			}
		}
	}
	if out.History != "" {
		if err := kept.open(len(e.Candidates), historyNames(out.History, e.Candidates)); err != nil {
			return err
		}
	}
	outcomes, err := p.compare(e, kept.record)
	if err != nil {
		return p.broken(err, out.Out)
	}
	p.warnUnused(e, outcomes)
	printTable(p.Stdout, outcomes)
	if out.Out == "" {
		return nil
	}
	if err := writeReport(out.Out, command+" --out DIR", e, outcomes); err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "wrote %s\n", filepath.Join(out.Out, "report.html"))
	return nil
}

// warn prints which fields of the manifests have no effect.
func (p *program) warn(e *experiment) {
	for _, c := range e.Candidates {
		if len(c.Set.Unknown) > 0 {
			fmt.Fprintf(p.Stderr, "%s: ignored, as its controller would: %s\n", c.File, strings.Join(c.Set.Unknown, ", "))
		}
	}
}

// broken writes a file with the snapshot of the step that broke an invariant, for examples/plan to explain.
func (p *program) broken(err error, dir string) error {
	failed, ok := errors.AsType[*runError](err)
	if !ok || dir == "" {
		return err
	}
	data, encodeErr := failed.Step.Case().Encode()
	if encodeErr != nil {
		return errors.Join(err, encodeErr)
	}
	file := filepath.Join(dir, "case.json")
	if writeErr := os.WriteFile(file, data, 0o644); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	return fmt.Errorf("%w\nthe step is in %s", err, file)
}
