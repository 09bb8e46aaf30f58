package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/simulation"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

const setHelp = setHelpLive + ` With -f and without -n the sets of all namespaces of the files are looked at.`

const setHelpLive = `
SET is NAME, ds/NAME, daemonset.apps/NAME, daemonset.apps.kruise.io/NAME, eds/NAME or extendeddaemonset.datadoghq.com/NAME. It may
be left out if there is only one set.`

// reading makes a command that reads a set and prints something about it.
func (p *program) reading(use, short, example string, show func(*plan.Result, io.Writer) error) *cobra.Command {
	s := &source{program: p}
	c := newCommand(use+" [SET]", short, setHelp, example, func(ctx context.Context, args []string) error {
		result, err := s.decide(ctx, first(args))
		if err != nil {
			return err
		}
		return show(result, &p.out)
	})
	s.flags(c)
	c.Args = oneSet
	c.PreRunE = func(c *cobra.Command, _ []string) error { return s.check(c) }
	return c
}

// listing makes a command that reads a set and prints a table.
func (p *program) listing(use, short, example string, sheet func(*plan.Result) (plan.Sheet, error)) *cobra.Command {
	var rows bool
	c := p.reading(use, short, example, func(result *plan.Result, out io.Writer) error {
		s, err := sheet(result)
		switch {
		case err != nil:
			return err
		case rows:
			s.PrintRows(out, &p.notes)
		default:
			s.Print(out)
		}
		return nil
	})
	noHeaders(c, &rows)
	return c
}

// noHeaders adds the flag that leaves only the rows of a table.
func noHeaders(c *cobra.Command, rows *bool) {
	c.Flags().BoolVar(rows, "no-headers", false, "print the rows of the table only, without its header; "+
		"the lines around it, such as warnings, go to standard error")
}

// oneSet refuses more than one argument.
func oneSet(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("unexpected argument %q: there is one SET; files are given with -f", args[1])
	case len(args) == 1 && looksLikeFile(args[0]):
		return fmt.Errorf("unexpected argument %q: SET is the name of a set; files are given with -f %s", args[0], args[0])
	}
	return nil
}

// looksLikeFile reports whether an argument is the name of a file that was given without -f.
func looksLikeFile(name string) bool {
	for _, extension := range []string{".yaml", ".yml", ".json"} {
		if strings.HasSuffix(strings.ToLower(name), extension) {
			return true
		}
	}
	return false
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

const planLong = `
It prints the state of the rollout, its budget, the revisions, the actions that a controller would take now, in their order, and
what the other nodes wait for. With --change it prints what the change would restart, where, and in what order.

Of more than 40 nodes it prints groups and numbers where there would be many lines; -o wide prints all of them.

The clock of a canary is in the memory of the plan. To see a canary come to its end, keep what -o json prints, and pass it to
the next call with --memory. Without it the clock starts at --now.

Text from the input that a terminal might obey, control characters above all, is printed with escapes.
`

const planExample = `
  # The only set of the current namespace, from the cluster
  kubectl daemonplan plan

  # A set in another namespace, with a line for every node
  kubectl daemonplan plan ds/node-agent -n kube-system -o wide

  # A set of a dump
  kubectl get nodes,pods,controllerrevisions,ds -A -o json > dump.json
  kubectl daemonplan plan node-agent -f dump.json

  # What would restart if this manifest was applied
  kubectl daemonplan plan node-agent -n kube-system --change new.yaml

  # The same, with how long it would take
  kubectl daemonplan plan node-agent -n kube-system --change new.yaml --forecast

  # An embedded fleet, without a cluster
  kubectl daemonplan plan --example kruise`

func (p *program) planCommand() *cobra.Command {
	s := &source{program: p}
	var output text.Output
	var forecast, rows bool
	c := newCommand("plan [SET]", "Tell what a set would do next on every node, and why", planLong+setHelp, planExample,
		func(ctx context.Context, args []string) error {
			result, err := s.decide(ctx, first(args))
			if err != nil {
				return err
			}
			forPrograms := output.IsData() || rows
			if !forPrograms {
				result.TellWhose(&p.out)
			}
			s.tellChange(forPrograms)
			switch {
			case output.IsData(): // which has a field for the controller
				document, err := result.Document()
				if err != nil {
					return err
				}
				return output.Print(&p.out, document)
			case rows:
				sheet := result.NodeRows()
				sheet.PrintRows(&p.out, &p.notes)
				return nil
			}
			if err := s.report(result, output.Is("wide")); err != nil {
				return err
			}
			if forecast {
				fmt.Fprintln(&p.out)
				return forecasted(simulation.ForecastPlan(&p.out, result.Input, result.Set, result.Snapshot, result.By))
			}
			return nil
		})
	const usage = "`FORMAT`: table, wide (every node), json, yaml or jsonpath=TEMPLATE"
	output.Flag(c, usage, "table", "table", "wide", "json", "yaml")
	noHeaders(c, &rows)
	c.Flags().BoolVar(&forecast, "forecast", false, "simulate the rollout, and print how long it takes, "+
		"with times that are derived from nodes and pods")
	s.changeFlags(c.Flags())
	s.flags(c)
	c.Args = oneSet
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if err := output.Check(); err != nil {
			return err
		}
		switch {
		case forecast && output.IsData():
			return errors.New("--forecast prints text; for JSON there is: kubectl daemonplan forecast -o json")
		case rows && !output.Is("wide"):
			return errors.New("--no-headers leaves nothing but the rows of the nodes, which plan has with -o wide")
		case rows && forecast:
			return errors.New("--forecast and --no-headers exclude each other: a forecast is no row")
		}
		return s.check(c)
	}
	return c
}

// report prints the plan as text; with a change, what it restarts comes first.
func (s *source) report(result *plan.Result, wide bool) error {
	if s.change != "" {
		if err := result.Impact(&s.out); err != nil {
			return err
		}
	}
	result.Report(&s.out, wide)
	return nil
}

// forecasted is the error of a forecast, as one of the flag.
func forecasted(err error) error {
	if err != nil {
		return fmt.Errorf("--forecast: %w", err)
	}
	return nil
}

const explainLong = `
It prints what the plan does to the node, the reason, and what is wrong with the node and its pods: why a container waits, how
often it has restarted, its last exit code, why a pod is not scheduled, since when the node is not ready. A node may be named by
its host name, if only one node has it: node-17 for node-17.eu.example.
`

const explainExample = `
  kubectl daemonplan explain node-17 -n kube-system
  kubectl daemonplan explain ds/node-agent node-17 node-18 -n kube-system
  kubectl daemonplan explain gpu-1c-02 --example kubernetes`

func (p *program) explainCommand() *cobra.Command {
	s := &source{program: p}
	c := newCommand("explain [SET] NODE...", "Tell why nodes are where they are, and what is wrong with them",
		explainLong+setHelp, explainExample, func(ctx context.Context, args []string) error {
			set, nodes := splitNodes(args)
			result, err := s.decide(ctx, set)
			if missing, ok := errors.AsType[*objects.NoSetError](err); ok && !strings.Contains(set, "/") && set != "" {
				// The first of several names is no set, so that all of them are nodes, of the only set that there is.
				if result, err = s.decide(ctx, ""); err != nil {
					return missing
				}
				nodes = args
			}
			if err != nil {
				return err
			}
			result.TellWhose(&p.out)
			s.tellChange(false)
			for _, node := range nodes {
				if err := result.Explain(&p.out, node); err != nil {
					return err
				}
			}
			result.Warn(&p.out)
			return nil
		})
	s.changeFlags(c.Flags())
	s.flags(c)
	c.Args = func(_ *cobra.Command, args []string) error {
		if set, nodes := splitNodes(args); len(nodes) == 0 {
			return fmt.Errorf("there is no node to explain; it comes after the set: %s",
				strings.Join(strings.Fields("kubectl daemonplan explain "+set+" NODE"), " "))
		}
		if slices.Contains(args, "") {
			return errors.New("the name of a node or a set must not be empty")
		}
		return nil
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error { return s.check(c) }
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		names := s.nodes(c.Context())
		if len(args) == 0 {
			names = append(s.sets(c.Context()), names...)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

// splitNodes splits the set off the nodes. A first argument with a slash is a set, because no node has one in its name; and so is
// the first of several.
func splitNodes(args []string) (set string, nodes []string) {
	if len(args) > 0 && (strings.Contains(args[0], "/") || len(args) > 1) {
		return args[0], args[1:]
	}
	return "", args
}

// tellChange says which spec is planned, if it is not the one that is there. Beside JSON or YAML it is said on standard error.
func (s *source) tellChange(isData bool) {
	switch {
	case s.changeNote == "":
	case isData:
		fmt.Fprintf(&s.notes, "With the spec of %s.\n", s.changeNote)
	default:
		fmt.Fprintf(&s.out, "With the spec of %s.\n\n", s.changeNote)
	}
}

const diffLong = `
For every revision that pods are at, but the newest, it prints the fields that change, and whether pods restart for it or can be
updated in place. With --change it compares with the spec of the file.
`

const diffExample = `
  kubectl daemonplan diff ds/node-agent -n kube-system
  helm template agent ./chart | kubectl daemonplan diff ds/node-agent -n kube-system --change -
  kubectl daemonplan diff --example kruise`

func (p *program) diffCommand() *cobra.Command {
	s := &source{program: p}
	c := newCommand("diff [SET]", "Show what the update changes in the pods, and whether it restarts them",
		diffLong+setHelp, diffExample, func(ctx context.Context, args []string) error {
			result, err := s.decide(ctx, first(args))
			if err != nil {
				return err
			}
			s.tellChange(false)
			if err := result.Diff(&p.out); err != nil || !result.Differs() {
				return err
			}
			return &exit.NegativeError{} // as kubectl diff has it
		})
	s.changeFlags(c.Flags())
	s.flags(c)
	c.Args = oneSet
	c.PreRunE = func(c *cobra.Command, _ []string) error { return s.check(c) }
	return c
}

func (p *program) getCommand() *cobra.Command {
	return p.listing("get", "Show a set in one line, with its active revision and its canary", `
  kubectl daemonplan get ds/node-agent -n kube-system
  kubectl daemonplan get --example eds`, (*plan.Result).Get)
}

func (p *program) revisionsCommand() *cobra.Command {
	c := p.listing("revisions", "Show the revisions of a set, one to a line", `
  kubectl daemonplan revisions ds/node-agent -n kube-system
  kubectl daemonplan revisions --example eds`, (*plan.Result).ListRevisions)
	c.Aliases = []string{"get-ers"}
	return c
}

func (p *program) podsCommand() *cobra.Command {
	return p.listing("pods", "Show the pods of a set that are not ready, with reasons", `
  kubectl daemonplan pods ds/node-agent -n kube-system
  kubectl daemonplan pods --example kubernetes`, (*plan.Result).NotReadyPods)
}
