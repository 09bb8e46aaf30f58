// Package cli is the command line of kubectl daemonplan: its commands, flags, messages and exit codes.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// Main runs the command with these arguments, without the name of the program, and returns the exit code: see [exit.Table]. For
// bad usage or input standard error has one mistake to a line, while nothing is printed on standard output.
func Main(args []string, streams genericiooptions.IOStreams) int {
	p := newProgram(streams, time.Now)
	p.getenv = os.Getenv
	return p.run(args)
}

// program is the command with its connections to the outside. Commands write to memory first, so that bad input does not leave a
// part of a plan on standard output.
type program struct {
	streams genericiooptions.IOStreams
	clock   func() time.Time
	// terminal reports whether somebody can be asked.
	terminal func() bool
	// getenv is the environment. Nothing else looks at it but the libraries, which read what says where the kubeconfig is.
	getenv func(string) string
	// silence is how long a request may be without an answer before it is said; zero: cluster.LongestSilence.
	silence time.Duration
	out     bytes.Buffer
	notes   bytes.Buffer // for standard error
	direct  direct
}

// newProgram is the command in an environment without variables.
func newProgram(streams genericiooptions.IOStreams, clock func() time.Time) *program {
	return &program{
		streams: streams, clock: clock,
		terminal: func() bool { return isTerminal(streams.In) },
		getenv:   func(string) string { return "" },
	}
}

// isTerminal reports whether the stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (p *program) run(args []string) int {
	p.direct.Writer = p.streams.Out
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.streams.In)
	root.SetOut(&p.out)
	root.SetErr(&p.notes)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := root.ExecuteContext(ctx)
	if exit.Code(err) != exit.Failed {
		if failed := p.flush(); failed != nil {
			err = failed
		}
	}
	if p.direct.failed != nil {
		err = p.direct.failed
	}
	if err == nil {
		return exit.OK
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(p.streams.ErrOut, "error: %s\n", text.Printable(strings.TrimSuffix(line, "\n")))
	}
	return exit.Code(err)
}

// direct is standard output for commands that print as they go. It keeps the first error, because many do not look at it.
type direct struct {
	io.Writer
	failed error
}

func (d *direct) Write(data []byte) (int, error) {
	n, err := d.Writer.Write(data)
	if d.failed == nil {
		d.failed = err
	}
	return n, err
}

// flush writes what was collected.
func (p *program) flush() error {
	_, errNotes := p.streams.ErrOut.Write(p.notes.Bytes())
	_, errOut := p.streams.Out.Write(p.out.Bytes())
	p.notes.Reset()
	p.out.Reset()
	return errors.Join(errNotes, errOut)
}

// newCommand makes a command with its usage, and what it does.
func newCommand(use, short, long, example string, do func(context.Context, []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: short + ".", Example: strings.Trim(example, "\n")}
	if long != "" {
		c.Long += "\n\n" + strings.TrimSpace(long)
	}
	c.Flags().SortFlags = false
	c.RunE = func(c *cobra.Command, args []string) error { return do(c.Context(), args) }
	return c
}
