package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/simulation"
)

// simulated is what reads the cluster for a command that simulates.
type simulated struct {
	source
	flags *pflag.FlagSet
}

func (p *program) simulated() simulation.Live { return &simulated{source: source{program: p}} }

// Flags adds the flags that kubectl has for connections.
func (s *simulated) Flags(flags *pflag.FlagSet) {
	s.flags = flags
	s.clusterFlags(flags)
}

// Words are the namespace and the context, if they were given.
func (s *simulated) Words() []string {
	var words []string
	for _, name := range []string{"namespace", "context"} {
		if f := s.flags.Lookup(name); f != nil && f.Changed {
			words = append(words, "--"+name, f.Value.String())
		}
	}
	return words
}

// Read reads the set and what a plan for it is made from.
func (s *simulated) Read(ctx context.Context, set string) (*objects.Input, *objects.Set, error) {
	return s.read(ctx, set)
}
