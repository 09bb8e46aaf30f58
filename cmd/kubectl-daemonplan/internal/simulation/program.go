package simulation

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// program is the commands with their connections to the outside: standard input and output, and the engine.
type program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal reports whether Stderr is a terminal. Only then is there a progress bar.
	Terminal bool
	// Workers is how many runs are made at a time. The output does not depend on it.
	Workers int
	// Engine makes one run; nil: package simulate makes it.
	Engine engine
	// Getenv is the environment; nil: one without variables.
	Getenv func(string) string
	// Live makes what reads a cluster, for each command its own; nil: there are none.
	Live func() Live
}

// Live reads a cluster.
type Live interface {
	// Flags adds the flags of a connection.
	Flags(*pflag.FlagSet)
	// Words are those flags that say where the set is, as they were given.
	Words() []string
	// Read reads the set that is meant, and what belongs to it.
	Read(ctx context.Context, set string) (*objects.Input, *objects.Set, error)
}

// command is what all these commands are under: it is part of the command lines that reports and errors show.
const command = "kubectl daemonplan"

// Commands returns the commands simulate, forecast, suggest and study, to be added to a root command. They read files that
// arguments call "-" from stdin. On a terminal, which is stderr, a bar shows how far they are. Workers is how many runs are made
// at a time. Getenv is the environment; nil: one without variables. Live makes what reads a cluster, for each command its own.
// [exit.Code] turns their errors into exit codes.
func Commands(
	stdin io.Reader, stdout, stderr io.Writer, terminal bool, workers int, getenv func(string) string, live func() Live,
) []*cobra.Command {
	p := &program{
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Terminal: terminal, Workers: workers, Engine: simulation, Getenv: getenv,
		Live: live,
	}
	return p.commands()
}

// variable is the value of a variable of the environment.
func (p *program) variable(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

func (p *program) commands() []*cobra.Command {
	list := []*cobra.Command{p.simulateCommand(), p.forecastCommand(), p.suggestCommand(), p.mergeCommand(), p.studyCommand()}
	for _, c := range list {
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetFlagErrorFunc(text.FlagError)
	}
	return list
}

// Main runs a root command that has only these commands, and returns the exit code.
func (p *program) Main(args []string) int {
	if p.Engine == nil {
		p.Engine = simulation
	}
	root := &cobra.Command{
		Use:           "kubectl-daemonplan",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: command},
		Short:         "Simulate rollouts of daemon pods, and compare policies",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q; there are: simulate, forecast, suggest, merge, study", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(p.commands()...)
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(context.Background())
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(p.Stderr, "error: %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return exit.Code(err)
}

// noFiles refuses arguments that are files, which are given with flags, and more than one argument.
func noFiles(c *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg == "-" || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg)) {
			return fmt.Errorf("unexpected argument %q: files are given with flags, such as --spec %s; see %s --help",
				arg, arg, c.CommandPath())
		}
	}
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q: there is one SET", args[1])
	}
	return nil
}

// from says where the question gets its nodes from beside the flags: the argument names a set of a cluster, or of a dump.
func (p *program) from(c *cobra.Command, q *question) {
	c.Use += " [SET]"
	c.Args = func(c *cobra.Command, args []string) error {
		if err := noFiles(c, args); err != nil || len(args) == 0 {
			return err
		}
		q.Set = args[0]
		return nil
	}
	if p.Live == nil {
		return
	}
	q.live = p.Live()
	q.live.Flags(c.Flags())
}
