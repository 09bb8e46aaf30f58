package simulation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// output is where simulate writes to, in addition to the table.
type output struct {
	Out, History string
}

const runLong = `Roll out one spec or several on one fleet, each by itself, and compare how that goes.

Specs are manifests: DaemonSet of apps/v1, Advanced DaemonSet of OpenKruise, ExtendedDaemonSet of Datadog. The fleet is
generated (--nodes, or --fleet with a file of node pools), a dump of a cluster (--dump or -f), or with SET the cluster itself,
which is only read. What runs on generated nodes before says --from. How long things take says --world; without it, times are
derived from the pods of the cluster.

SET is what it is for the command plan: NAME, ds/NAME or eds/NAME, say. With --dump it is the set of the dump that is meant.`

const runExample = `
  kubectl daemonplan simulate --nodes 300 --zones a,b,c --from v1.yaml --spec careful.yaml --spec bold.yaml --world world.yaml
  kubectl daemonplan simulate --dump dump.json --spec new.yaml --seeds 50 --out report
  kubectl daemonplan simulate ds/node-agent -n kube-system --spec new.yaml --controller kubernetes --controller daemonplan
  kubectl daemonplan simulate --fleet fleet.yaml --spec today=v2.yaml --spec better=v2-surge.yaml --history history.csv`

func (p *program) simulateCommand() *cobra.Command {
	q := question{defaultSeeds: 1}
	var out output
	var form format
	c := &cobra.Command{
		Use: "simulate", Short: "Compare specs on one fleet", Long: runLong,
		Example: strings.TrimPrefix(runExample, "\n"),
		RunE: func(c *cobra.Command, _ []string) error {
			q.ctx = c.Context()
			return p.simulate(&q, &objects.Files{Stdin: p.Stdin}, out, &form, q.command("simulate"))
		},
	}
	c.Flags().SortFlags = false
	q.flags(c.Flags())
	out.flags(c)
	form.flags(c, true)
	p.from(c, &q)
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

// format says how an answer is printed, and when it is negative.
type format struct {
	Output text.Output
	FailIf []string
	// JUnit is the file to write what passed and what failed into; empty: none.
	JUnit string
}

// flags adds the flags to a command, with or without those about gates, and with more formats than all have.
func (f *format) flags(c *cobra.Command, gates bool, more ...string) {
	formats := append([]string{"json"}, more...)
	usage := "`FORMAT` of the answer: " + strings.Join(formats, ", ") + " or jsonpath=TEMPLATE; without it, a table"
	f.Output.Flag(c, usage, "", formats...)
	if gates {
		c.Flags().StringArrayVar(&f.FailIf, "fail-if", nil, "end with exit code 1 if this `CONDITION` holds, "+
			"such as 'peak>5%' or 'p90>30m'; repeat it for several")
		const usage = "write a JUnit `FILE` with a test case for each spec, and for each condition of it"
		c.Flags().Func("junit", usage, func(name string) error {
			if f.JUnit = name; name == "" {
				return errors.New("must be the name of a file")
			}
			return nil
		})
	}
}

// simulate compares the specs, and judges the result.
func (p *program) simulate(q *question, f *objects.Files, out output, form *format, line string) error {
	gates, err := parseGates(form.FailIf)
	if err := errors.Join(q.check(), out.check(), form.Output.Check(), err); err != nil {
		return err
	}
	e, outcomes, err := p.run(q, f, out, line)
	if err != nil {
		return p.failed(form, "simulate", err)
	}
	checks := checksOf(outcomes, gates)
	failures := refusals(checks)
	if form.Output.IsData() {
		if err := form.Output.Print(p.Stdout, answerOf("simulate", e, outcomes, failures)); err != nil {
			return err
		}
	} else {
		p.tellWhose(e)
		printTable(p.Stdout, outcomes)
		failures = shortRefusals(checks) // the table says the rest
	}
	p.tellDerived(e)
	if err := p.tellCI(form, "simulate", checks); err != nil {
		return err
	}
	return asError(failures)
}

// failed is the error of a simulation, of which a pipeline is told, too, if a run broke an invariant.
func (p *program) failed(form *format, command string, err error) error {
	if checks := brokenChecks(err); checks != nil {
		return errors.Join(err, p.tellCI(form, command, checks))
	}
	return err
}

// run makes the runs that the question asks for, and writes what out names.
func (p *program) run(q *question, f *objects.Files, out output, line string) (e *experiment, outcomes []*outcome, err error) {
	if err := errors.Join(q.check(), out.check()); err != nil {
		return nil, nil, err
	}
	e, err = q.load(f)
	if err != nil {
		return nil, nil, err
	}
	e.Notes = append(e.Notes, e.timeless()...)
	p.warn(e)
	var kept histories
	defer func() { err = errors.Join(err, kept.close()) }()
	if e.Page = out.Out != ""; e.Page {
		if err := os.MkdirAll(out.Out, 0o755); err != nil {
			return nil, nil, objects.Reading(out.Out, err)
		}
		for _, extension := range []string{".jsonl", ".csv"} {
			name := historyNames(filepath.Join(out.Out, "history"+extension), e.Candidates)
			if err := kept.open(len(e.Candidates), name); err != nil {
				return nil, nil, err
			}
		}
	}
	if out.History != "" {
		if err := kept.open(len(e.Candidates), historyNames(out.History, e.Candidates)); err != nil {
			return nil, nil, err
		}
	}
	outcomes, err = p.outcomes(e, kept.record)
	if err != nil {
		return nil, nil, p.broken(err, out.Out)
	}
	p.warnUnused(e, outcomes)
	if out.Out == "" {
		return e, outcomes, nil
	}
	if err := writeReport(out.Out, line+" --out DIR", e, outcomes); err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(p.Stderr, "wrote %s\n", filepath.Join(out.Out, "report.html"))
	return e, outcomes, nil
}

// warn prints the notes so far, and which fields of the manifests have no effect.
func (p *program) warn(e *experiment) {
	for _, note := range e.Notes {
		fmt.Fprintln(p.Stderr, note)
	}
	for _, line := range slices.Concat(e.restartless(), e.excluded(), e.ignored()) {
		p.tell(e, line)
	}
}

// tellDerived prints what was derived from the dump. It comes after the result, because it is long.
func (p *program) tellDerived(e *experiment) {
	for _, note := range e.Derived {
		fmt.Fprintln(p.Stderr, note)
	}
}

// tell prints a note, and keeps it for the answer.
func (p *program) tell(e *experiment, note string) {
	fmt.Fprintln(p.Stderr, note)
	e.Notes = append(e.Notes, note)
}

// broken writes a file with the snapshot of the step that broke an invariant, to be explained.
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
