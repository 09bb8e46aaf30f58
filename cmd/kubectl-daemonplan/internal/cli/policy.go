package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/policy"
)

const policyHelp = `
FILE is a manifest with sets that have the annotation daemonplan.io/policy, or a policy itself, without an object around it; - is
standard input. No cluster is read.`

// policyCommand holds the commands about policies in files.
func (p *program) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Check the policies of manifests, or tell in words what they do",
		Long: "Check the policies of manifests, or tell in words what they do. No cluster is read.",
	}
	files := func(args []string) error {
		if len(args) == 0 {
			return errors.New("it is followed by FILE: a manifest, a policy, or - for standard input")
		}
		return nil
	}
	lint := newCommand("lint FILE...", "Check the policies of manifests", policyHelp, `
  # In CI
  kubectl daemonplan policy lint agent.yaml`, func(_ context.Context, args []string) error {
		return policy.Lint(&objects.Files{Stdin: p.streams.In}, args, &p.out)
	})
	lint.Args = func(_ *cobra.Command, args []string) error { return files(args) }
	explain := newCommand("explain FILE", "Tell in words what the policies of a manifest do to a rollout", policyHelp, `
  # What will this do?
  kubectl daemonplan policy explain agent.yaml`, func(_ context.Context, args []string) error {
		return policy.Explain(&objects.Files{Stdin: p.streams.In}, args[0], &p.out)
	})
	explain.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return errors.New("there is one FILE")
		}
		return files(args)
	}
	c.AddCommand(lint, explain)
	return c
}
