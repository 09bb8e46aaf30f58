package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/simulation"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// versionText is the version of the module, which the go command writes into programs.
func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return versionOf(info)
	}
	return "devel"
}

// versionOf is the version, and the commit where the go command knows it.
func versionOf(info *debug.BuildInfo) string {
	version := cmp.Or(strings.Trim(info.Main.Version, "()"), "devel")
	commit, changed := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = ", with changes"
		}
	}
	if commit == "" {
		return version
	}
	return fmt.Sprintf("%s (commit %s%s)", version, commit, changed)
}

const rootLong = `
It reads a DaemonSet of Kubernetes, an Advanced DaemonSet of OpenKruise or an ExtendedDaemonSet of Datadog, with nodes, pods and
revisions: from the cluster of your kubeconfig, or with -f from what kubectl printed:

  kubectl get nodes,pods,controllerrevisions,ds -A -o json > dump.json

It only reads. The commands of "canary" and "rollout" that change a set show the patch that they send, and ask first; with -f
they print it.`

const rootExample = `
  # Plan a fleet in the middle of a rollout, without a cluster
  kubectl daemonplan plan --example kubernetes

  # What the DaemonSet would do next, on every node
  kubectl daemonplan plan ds/node-agent -n kube-system -o wide

  # What a change would restart
  helm template agent ./chart | kubectl daemonplan plan ds/node-agent -n kube-system --change -

  # A rollout while it goes on
  kubectl daemonplan watch ds/node-agent -n kube-system

  # Why a node is where it is
  kubectl daemonplan explain node-17 -n kube-system`

// Root is the command with all its commands, for documentation that is made from it.
func Root() *cobra.Command { return (&program{}).root() }

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-daemonplan",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl daemonplan"},
		Short:         "Tell what a DaemonSet would do next on every node, and why, and how a rollout would go",
		Long:          "Tell what a DaemonSet would do next on every node, and why, and how a rollout would go.\n" + rootLong,
		Example:       strings.Trim(rootExample, "\n"),
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(text.FlagError)
	root.SetVersionTemplate("kubectl-daemonplan {{.Version}}\n")
	root.AddCommand(p.planCommand(), p.explainCommand(), p.diffCommand(), p.getCommand(), p.revisionsCommand(), p.podsCommand(),
		p.watchCommand(), p.canaryCommand(), p.rolloutCommand(), p.policyCommand())
	in, notes := p.streams.In, p.streams.ErrOut
	root.AddCommand(simulation.Commands(in, &p.direct, notes, isTerminal(notes), runtime.GOMAXPROCS(0), p.getenv, p.simulated)...)
	forGroups(root)
	tellExitCodes(root)
	return root
}

// tellExitCodes puts the exit codes into the help: of the program those of all commands, and of each command its own.
func tellExitCodes(c *cobra.Command) {
	section := exit.Help(strings.TrimPrefix(c.CommandPath(), name))
	if !c.HasParent() {
		section = exit.HelpAll()
	}
	if section != "" {
		c.Long = strings.TrimSpace(c.Long) + "\n\n" + section
	}
	for _, child := range c.Commands() {
		tellExitCodes(child)
	}
}

// name is what the command is called, before the words of a command below it.
const name = "kubectl daemonplan "

// forGroups gives commands that only hold others an error for words that are none of those. Cobra has it for the root only, and
// prints help for the others as if nothing was wrong.
func forGroups(c *cobra.Command) {
	var known []string
	for _, child := range c.Commands() {
		known = append(known, child.Name())
		forGroups(child)
	}
	if len(known) == 0 || c.Runnable() {
		return
	}
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := ""
		if strings.ContainsAny(args[0], "./\\") {
			hint = "; files are given with -f"
		}
		return fmt.Errorf("there is no command %q; there are: %s%s", strings.TrimPrefix(c.CommandPath()+" ", name)+args[0],
			strings.Join(known, ", "), hint)
	}
	half := func() error {
		return fmt.Errorf("%s is followed by one of: %s", strings.TrimPrefix(c.CommandPath(), name), strings.Join(known, ", "))
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if c.HasParent() {
			return half()
		}
		return c.Help()
	}
	if c.HasParent() { // whoever gives it flags of the commands below, or a set, has left the command out
		c.SetFlagErrorFunc(func(of *cobra.Command, err error) error {
			if of == c {
				return half()
			}
			return text.FlagError(of, err)
		})
	}
}
