package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/command"
)

func (p *program) canaryCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "canary", Short: "Show the pods of a canary, or give it a command",
		Long: "Show the pods of a canary, or give it a command: promote the revision on trial, pause it, or give it up.",
	}
	c.AddCommand(
		p.listing("pods", "Show the pods of the canary, with nodes, restarts and reasons", `
  kubectl daemonplan canary pods eds/foo -n default
  kubectl daemonplan canary pods --example eds`, (*plan.Result).CanaryPods),
		p.giving(command.CanaryValidate, "validate", "Promote the revision on trial"),
		p.giving(command.CanaryPause, "pause", "Pause the canary"),
		p.giving(command.CanaryUnpause, "unpause", "Let a paused canary go on"),
		p.giving(command.CanaryFail, "fail", "Give the revision on trial up: all nodes go back to the stable one"),
		p.giving(command.CanaryRetry, "retry", "Try a revision again that failed", "reset"),
	)
	return c
}

func (p *program) rolloutCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rollout", Short: "Show how far the rollout of a set is, or give it a command",
		Long: "Show how far the rollout of a set is, or give it a command: pause it, or freeze the set.",
	}
	c.AddCommand(
		p.reading("status", "Show how far the rollout is, and what nodes wait for", `
  kubectl daemonplan rollout status ds/node-agent -n kube-system
  kubectl daemonplan rollout status --example kubernetes`, (*plan.Result).Status),
		p.giving(command.Pause, "pause", "Begin no further node; lost pods are replaced", "pause-rolling-update"),
		p.giving(command.Unpause, "unpause", "Let a paused rollout go on", "unpause-rolling-update"),
		p.giving(command.Freeze, "freeze", "Create and delete no pod at all", "freeze-rollout"),
		p.giving(command.Unfreeze, "unfreeze", "Let a frozen set go on", "unfreeze-rollout"),
	)
	return c
}

const giveLong = `
It prints the patch that gives the command, which controllers obey it, and what the next plan would do then. With -f that is all.
With a cluster it asks whether to send the patch; --yes sends it without a question.
`

// giving makes a command that gives a command to a set.
func (p *program) giving(give command.Command, name, short string, aliases ...string) *cobra.Command {
	s := &source{program: p}
	var yes bool
	path := give.String()
	if give >= command.Pause {
		path = "rollout " + path
	}
	c := newCommand(name+" [SET]", short, giveLong+setHelp, fmt.Sprintf(`
  kubectl daemonplan %s eds/foo -n default
  kubectl daemonplan %s eds/foo -f dump.json`, path, path), func(ctx context.Context, args []string) error {
		result, err := s.decide(ctx, first(args))
		if err != nil {
			return err
		}
		return s.give(ctx, result, give, yes)
	})
	s.flags(c)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "send the patch without asking; for a cluster")
	c.Aliases = aliases
	c.Args = oneSet
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if yes && !s.live() {
			return errors.New("--yes is for a cluster; with --filename and --example nothing is sent")
		}
		return s.check(c)
	}
	return c
}

// give prints the patch and its effect, and sends it to a cluster if that is wanted.
func (s *source) give(ctx context.Context, result *plan.Result, give command.Command, yes bool) error {
	set := result.Set
	var patch command.Patch
	var err error
	if plan.RunByDatadog(set) {
		if patch, err = plan.NativePatch(give, set); err != nil {
			return fmt.Errorf("%s: %w", result.Input.SetPlace(set), err)
		}
		fmt.Fprintf(&s.out, "%s\n\nDatadog's own controller runs this set, and obeys this patch. "+
			"What it does then is not planned here.\n", text.Printable(patch.Kubectl(set.Spec)))
	} else {
		var next *plan.Result
		if patch, next, err = result.Give(give, s.settings); err != nil {
			return err
		}
		fmt.Fprintf(&s.out, "%s\n\n", text.Printable(patch.Kubectl(set.Spec)))
		for line := range strings.Lines(plan.ObeyedBy(give, set) + "\n") {
			fmt.Fprintln(&s.out, text.Printable(strings.TrimSuffix(line, "\n")))
		}
		fmt.Fprintln(&s.out)
		result.Compare(&s.out, next)
	}
	if !s.live() {
		return nil
	}
	if s.live() && !yes && !s.terminal() {
		return errors.New("the patch is not sent: standard input is no terminal, where it could be asked for; " +
			"--yes sends it without a question, and with -f it is only printed")
	}
	if err := s.flush(); err != nil {
		return err
	}
	name := text.Printable(objects.ResourceOf(set.Group) + "/" + set.Spec.Name + " in namespace " + set.Spec.Namespace)
	if !yes && !s.ask(ctx, "\nSend this patch to "+name+"?") {
		if ctx.Err() != nil {
			return errors.New("interrupted: nothing was sent")
		}
		fmt.Fprintln(&s.out, "Nothing was sent.")
		return nil
	}
	if err := s.cluster.Patch(ctx, set, patch.Type, patch.Data); err != nil {
		return err
	}
	fmt.Fprintf(&s.out, "%s patched\n", name)
	return nil
}

// ask asks for a yes. An interrupt is none.
func (p *program) ask(ctx context.Context, question string) bool {
	fmt.Fprintf(p.streams.ErrOut, "%s [y/N] ", question)
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(p.streams.In).ReadString('\n') // without an answer it is a no
		lines <- line
	}()
	select {
	case line := <-lines:
		answer := strings.ToLower(strings.TrimSpace(line))
		return answer == "y" || answer == "yes"
	case <-ctx.Done():
		fmt.Fprintln(p.streams.ErrOut)
		return false
	}
}
