package watch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// Lines prints the rollout as lines, one for each change of what matters, until the rollout is complete. It returns an
// *exit.NegativeError if the rollout goes on only when somebody acts, has not got any further for too long, or if the set is
// deleted or the context ends before, and another error if the cluster can no longer be watched.
func Lines(ctx context.Context, source Source, settings plan.Settings, out io.Writer) error {
	follow, stop := context.WithCancel(ctx)
	defer stop()
	frames := make(chan Frame)
	followed := make(chan error, 1)
	go func() { followed <- Follow(follow, source, settings, frames) }()
	var log log
	for {
		select {
		case err := <-followed:
			if err == nil {
				ref := source.Ref()
				err = stopped("the watch of %s/%s was interrupted before the rollout was complete",
					objects.ResourceOf(ref.Group), ref.Name)
			}
			return err
		case frame := <-frames:
			lines, end, err := log.add(&frame, time.Now())
			for _, line := range lines {
				if _, err := fmt.Fprintln(out, line); err != nil {
					return err
				}
			}
			if end {
				return err
			}
		}
	}
}

// stopped is the answer that a rollout did not become complete.
func stopped(format string, args ...any) error {
	return &exit.NegativeError{Reason: fmt.Sprintf(format, args...)}
}

// log makes lines of frames. Its values are what was printed last.
type log struct {
	broken  bool
	problem string
	expired time.Time
	plan    string
}

// add returns the lines that the frame adds, and whether it is the last one.
func (l *log) add(f *Frame, now time.Time) (lines []string, end bool, err error) {
	say := func(words string) { lines = append(lines, now.UTC().Format(time.RFC3339)+" "+words) }
	switch broken := len(f.Broken) > 0; {
	case broken && !l.broken:
		say(f.brokenLine(now))
		l.broken = true
	case !broken && l.broken:
		say("Connected again.")
		l.broken = false
	}
	if at := f.Expired.At; !at.Equal(l.expired) {
		say(text.Printable(f.expiredLine()))
		l.expired = at
	}
	name := text.Printable(fmt.Sprintf("%s/%s in namespace %s", objects.ResourceOf(f.Ref.Group), f.Ref.Name, f.Ref.Namespace))
	switch {
	case f.Deleted:
		say("The set has been deleted.")
		return lines, true, stopped("%s has been deleted", name)
	case f.Problem != nil:
		if problem := f.Problem.Error(); problem != l.problem {
			l.problem = problem
			say("No plan: " + text.Printable(strings.ReplaceAll(problem, "\n", "; ")))
		}
		return lines, false, nil
	case f.Result == nil:
		return lines, false, nil
	}
	l.problem = ""
	if l.broken {
		// A plan of what was seen before is no news: time alone would make nodes available in it, and the rollout complete.
		if lost := now.Sub(f.Broken[0].Since); lost >= patience {
			say(fmt.Sprintf("Given up: the connection was lost %s ago.", text.Duration(lost)))
			return lines, true, stopped("the connection to the cluster was lost before the rollout of %s was complete", name)
		}
		return lines, false, nil
	}
	o := f.Result.Overview(now)
	if key := f.key(&o); key != l.plan {
		l.plan = key
		say(f.planLine(&o))
	}
	switch stuck := f.stuck(&o, now); {
	case o.Progress == plan.Complete:
		return lines, true, nil
	case o.Progress == plan.Stopped:
		return lines, true, o.Stopped()
	case stuck != "":
		say(stuck)
		return lines, true, stopped("the rollout of %s is stuck: %s", name, o.State)
	}
	return lines, false, nil
}

// key is what of a plan makes a line of its own: how far the rollout is, and what nodes wait for, but not which nodes.
func (f *Frame) key(o *plan.Overview) string {
	var words strings.Builder
	fmt.Fprint(&words, o.Revision, o.State, o.Settled, o.Updated, o.Desired, o.Available)
	for _, wait := range f.Result.Plan.Waits() {
		fmt.Fprint(&words, ";", wait.Reason, wait.Limit)
	}
	return words.String()
}

// planLine is how far the rollout is, and what it waits for.
func (f *Frame) planLine(o *plan.Overview) string {
	words := []string{o.State, fmt.Sprintf("%d unavailable", o.Desired-o.Available)}
	for _, wait := range f.Result.Plan.Waits() {
		if wait.Cause != "" {
			continue // it is among the troubles
		}
		what := wait.Limit.String()
		if wait.Limit == rollout.LimitNone {
			what = wait.Reason.String()
		}
		words = append(words, text.Agree(len(wait.Nodes), "node waits", "nodes wait")+" for "+what)
	}
	for i, trouble := range o.Troubles {
		if i == 2 {
			words = append(words, fmt.Sprintf("and %d more that are not available", len(o.Troubles)-i))
			break
		}
		words = append(words, trouble.Node+": "+trouble.What)
	}
	return strings.Join(words, "; ")
}
