package simulation

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
)

const mergeLong = `Merge the shards of a forecast, which many machines have made, into the forecast that one would have made: the
same bytes. A shard is what kubectl daemonplan forecast --shard I/N prints, each with the same flags and files but for
I. The files may be logs with other lines among them, and several shards in one; - is standard input.

Shards that are missing, or there twice, or of different forecasts, are an error.`

const mergeExample = `  kubectl daemonplan forecast --dump dump.json --spec new.yaml --seeds 1000 --shard 1/2 > 1.json
  kubectl daemonplan forecast --dump dump.json --spec new.yaml --seeds 1000 --shard 2/2 > 2.json
  kubectl daemonplan merge 1.json 2.json
  kubectl logs -l job-name=forecast --tail=-1 | kubectl daemonplan merge - --fail-if 'p90>30m'`

func (p *program) mergeCommand() *cobra.Command {
	var form format
	c := &cobra.Command{
		Use: "merge FILE...", Short: "Merge the shards of a forecast", Long: mergeLong, Example: mergeExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("there is no shard: give the files that kubectl daemonplan forecast --shard printed, or -")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return p.merge(args, &objects.Files{Stdin: p.Stdin}, &form)
		},
	}
	c.Flags().SortFlags = false
	form.flags(c, true, formatPrometheus)
	return c
}

func (p *program) merge(names []string, f *objects.Files, form *format) error {
	gates, err := parseGates(form.FailIf)
	if err := errors.Join(form.Output.Check(), err); err != nil {
		return err
	}
	var shards []*shard
	for _, name := range names {
		file, err := f.Read(name)
		if err != nil {
			return err
		}
		list, err := readShards(file.Name, file.Text)
		if err != nil {
			return err
		}
		shards = append(shards, list...)
	}
	e, outcomes, err := merge(shards)
	if err != nil {
		return err
	}
	for _, note := range e.Notes {
		fmt.Fprintln(p.Stderr, note)
	}
	return p.answer(e, outcomes, form, gates)
}

// printShard prints what merge takes.
func (p *program) printShard(e *experiment, outcomes []*outcome) error {
	s, err := e.shardOf(outcomes)
	if err != nil {
		return err
	}
	return json.NewEncoder(p.Stdout).Encode(s)
}

// check refuses flags that a shard has no use for: the answer is printed, and judged, when the shards are merged.
func (s shardNumber) check(q *question, form *format) error {
	switch {
	case s.Of == 0:
		return nil
	case len(form.FailIf) > 0 || form.JUnit != "" || form.Output.IsData() || form.Output.Is(formatPrometheus):
		return errors.New("--output, --fail-if and --junit are for kubectl daemonplan merge: a shard has no answer yet")
	case s.Of > q.Seeds:
		return errors.New("--shard has more shards than --seeds has runs")
	default:
		return nil
	}
}
