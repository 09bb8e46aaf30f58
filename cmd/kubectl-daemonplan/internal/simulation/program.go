package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// program is the command with its connections to the outside: standard input and output, and the engine.
type program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal reports whether Stderr is a terminal. Only then is there a progress bar.
	Terminal bool
	// Workers is how many runs are made at a time. The output does not depend on it.
	Workers int
	// Engine makes one run; nil: package simulate makes it.
	Engine engine
}

// These are the exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a run broke an invariant, or no value meets the deadline
	exitUsage  = 2 // the arguments or the files are wrong
)

// errNegative ends the command when the answer is negative, without a mistake of the caller. The answer is on standard output
// already.
var errNegative = errors.New("the answer is no")

// Main runs the command with these arguments, and returns the exit code.
func (p *program) Main(args []string) int {
	if p.Engine == nil {
		p.Engine = simulation
	}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errNegative) {
		return exitFailed
	}
	fmt.Fprintln(p.Stderr, "simulate: "+err.Error())
	if _, failed := errors.AsType[*runError](err); failed {
		return exitFailed
	}
	return exitUsage
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "simulate",
		Short:         "Simulate rollouts of daemon pods, and compare policies",
		Long:          "Simulate whole rollouts of daemon pods in virtual time, with the real planner, and compare policies.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q; there are: run, forecast, suggest, study", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(p.runCommand(), p.forecastCommand(), p.suggestCommand(), p.studyCommand())
	return root
}

// noArgs refuses arguments that are not flags.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: files are given with flags, such as --spec %s; see simulate %s --help",
			args[0], args[0], c.Name())
	}
	return nil
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
