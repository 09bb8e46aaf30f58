package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/simulation"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/watch"
)

const watchLong = `
On a terminal it is one screen: how far the rollout is, how much of the budget is taken, the states of the nodes by zone, which
nodes are not available and why, what nodes wait for, how much time is left at the pace that was seen, and when a plan looks
again. It plans again when the cluster changes, at most once a second. The arrow keys scroll; q, Esc or Ctrl-C end it, with exit
code 0, and --timeout with exit code 1.

If standard input or output is no terminal, it prints a line when something that matters has changed, and ends by itself: with
exit code 0 when the rollout is complete, or as complete as partition and nodeSelector let it be; with 1 when it goes on only when
somebody acts (it is stuck, paused or frozen, its canary has failed or is paused, or the strategy is OnDelete), when no further
node was updated and available for 10 minutes beside minReadySeconds and the grace period of the pods, when the cluster cannot be
reached for 10 minutes, when the set is deleted, or after --timeout, when it also says what is not done yet. Lines that repeat the
last one or two are counted instead.

An API server that accepts connections but does not answer is waited for; within 10 seconds it is said which server that is, what
it was asked for, and since when.

It only reads: it lists and watches the set, nodes, and in the namespace of the set pods and controllerrevisions (and
extendeddaemonsetreplicasets and extendeddaemonsetsettings, if the set is an ExtendedDaemonSet), for which both verbs must be
allowed. The clock of a canary starts with the watch.
`

const watchExample = `
  # The screen
  kubectl daemonplan watch ds/node-agent -n kube-system

  # In a script: wait until the rollout is complete, and fail if it stops
  kubectl daemonplan watch ds/node-agent -n kube-system > rollout.log && ./smoke-test

  # Learn from a rollout how long pods take to start and to stop, for the forecast of the next one
  kubectl daemonplan watch ds/node-agent -n kube-system --learn world.yaml

  # In a script, for at most half an hour
  kubectl daemonplan watch ds/node-agent -n kube-system --timeout 30m > rollout.log`

func (p *program) watchCommand() *cobra.Command {
	s := &source{program: p}
	c := newCommand("watch [SET]", "Watch a rollout while it goes on", watchLong+setHelpLive, watchExample,
		func(ctx context.Context, args []string) error { return s.watch(ctx, first(args)) })
	f := c.Flags()
	s.inputFlags(f)
	_ = f.MarkHidden("filename") // both are there for the error that says why they are no use
	_ = f.MarkHidden("example")
	s.settingFlags(f)
	s.controllerFlag(f)
	s.clusterFlags(f)
	f.StringVar(&s.learn, "learn", "",
		"at the end, write a world `FILE` for forecasts: how long pods took to start and to stop")
	f.DurationVar(&s.timeout, "timeout", 0,
		"end with exit code 1 after this `DURATION` if the rollout is not complete by then; 0 waits forever")
	c.ValidArgsFunction = s.complete
	c.Args = oneSet
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("filename") || c.Flags().Changed("example") {
			return errors.New("watch follows a cluster: what --filename and --example read does not change; " +
				"plan prints what is in it, and simulate plays a rollout")
		}
		if s.timeout < 0 {
			return fmt.Errorf("--timeout %s: must not be negative; 0 waits forever", s.timeout)
		}
		return s.check(c)
	}
	return c
}

// watch shows the rollout of the set.
func (s *source) watch(ctx context.Context, set string) error {
	ref, err := s.ref(set)
	if err != nil {
		return err
	}
	onScreen := isTerminal(s.streams.In) && isTerminal(s.streams.Out) && s.getenv("TERM") != "dumb"
	if onScreen { // which is not there yet
		err = s.connect()
	} else {
		err = s.connectAnd(func(silence string) { fmt.Fprintln(&s.direct, watch.LogLine(time.Now(), silence)) })
	}
	if err != nil {
		return err
	}
	ctx, stop := s.limited(ctx)
	defer stop()
	watched, err := s.cluster.Watch(ctx, ref)
	if err != nil {
		if timeout, ok := errors.AsType[watch.TimeoutError](context.Cause(ctx)); ok {
			return timeout.Stopped(err.Error())
		}
		return err
	}
	var from watch.Source = watched
	var learner simulation.Learner
	if s.learn != "" {
		from = learning{watched, &learner}
	}
	if onScreen {
		err = watch.Screen(ctx, from, s.settings, s.streams.In, s.streams.Out)
	} else {
		err = watch.Lines(ctx, from, s.settings, &s.direct)
	}
	return errors.Join(err, s.write(&learner))
}

// learning is a source from which somebody learns at each look.
type learning struct {
	watch.Source
	learner *simulation.Learner
}

// Input is that of the source.
func (l learning) Input() (*objects.Input, *objects.Set, error) {
	in, set, err := l.Source.Input()
	if in != nil && set != nil && err == nil {
		l.learner.See(in, set, time.Now())
	}
	return in, set, err
}

// write writes what was learnt, if that was asked for.
func (s *source) write(learner *simulation.Learner) error {
	if s.learn == "" {
		return nil
	}
	world, err := learner.World()
	if err == nil {
		err = os.WriteFile(s.learn, []byte(world), 0o644) //nolint:gosec // it is for others to read, as manifests are
	}
	if err != nil {
		return fmt.Errorf("--learn %s: %w", s.learn, err)
	}
	fmt.Fprintf(s.streams.ErrOut, "wrote %s: forecast and simulate take it with --world\n", s.learn)
	return nil
}

// limited is a context that ends with the timeout.
func (s *source) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, s.timeout, watch.TimeoutError(s.timeout))
}
