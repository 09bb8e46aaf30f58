package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// stopped is the answer that a rollout did not become complete.
func stopped(format string, args ...any) *exit.NegativeError {
	return &exit.NegativeError{Reason: fmt.Sprintf(format, args...)}
}

// TimeoutError is why a context has ended: a rollout was to be complete after that time. It is the cause of [context.Cause].
type TimeoutError time.Duration

// Error says how long it was waited.
func (t TimeoutError) Error() string { return "timed out after " + text.Duration(time.Duration(t)) }

// Stopped is the answer that a rollout was not complete after that time, with what is not done yet.
func (t TimeoutError) Stopped(reason string) *exit.NegativeError {
	return stopped("the rollout is not complete after %s: %s", text.Duration(time.Duration(t)), reason)
}

// Lines prints the rollout as lines, one for each change of what matters, until the rollout is complete. It returns a
// *exit.NegativeError if the rollout goes on only when somebody acts, has not got any further for too long, or if the set is
// deleted or the context ends before, and another error if the cluster can no longer be watched. If a [TimeoutError] ends the
// context, the last line says what is not done.
func Lines(ctx context.Context, source Source, settings plan.Settings, out io.Writer) error {
	follow, stop := context.WithCancel(ctx)
	defer stop()
	frames := make(chan Frame)
	followed := make(chan error, 1)
	go func() { followed <- Follow(follow, source, settings, frames) }()
	var log log
	last := Frame{Ref: source.Ref()}
	for {
		var lines []string
		end, answer := false, error(nil)
		select {
		case err := <-followed:
			end, answer = true, err
			if err == nil {
				lines, answer = log.interrupted(ctx, &last, time.Now())
			}
		case last = <-frames:
			lines, end, answer = log.add(&last, time.Now())
		case <-after(log.repeats.due()):
			lines = log.repeats.flush()
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
		if end {
			return answer
		}
	}
}

// after is sent to at a time; nil: never, which is what a zero time asks for.
func after(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// LogLine is a line of the log, without its end.
func LogLine(at time.Time, words string) string { return at.UTC().Format(time.RFC3339) + " " + words }

// log makes lines of frames. Its values are what was printed last.
type log struct {
	broken  bool
	silent  bool
	problem string
	expired time.Time
	plan    string
	repeats repeats
}

// interrupted returns the last lines if the context has ended, and the answer. The frame is the last one.
func (l *log) interrupted(ctx context.Context, f *Frame, now time.Time) ([]string, error) {
	if timeout, ok := errors.AsType[TimeoutError](context.Cause(ctx)); ok {
		left := f.unfinished(now)
		return l.repeats.add("Timed out: "+left, now), timeout.Stopped(left)
	}
	return l.repeats.flush(), stopped("the watch of %s/%s was interrupted before the rollout was complete",
		objects.ResourceOf(f.Ref.Group), f.Ref.Name)
}

// add returns the lines that the frame adds, and whether it is the last one.
func (l *log) add(f *Frame, now time.Time) (lines []string, end bool, err error) {
	lines, end, err = l.frame(f, now)
	if end {
		lines = append(lines, l.repeats.flush()...)
	}
	return lines, end, err
}

func (l *log) frame(f *Frame, now time.Time) (lines []string, end bool, err error) {
	say := func(words string) { lines = append(lines, l.repeats.add(words, now)...) }
	switch broken := len(f.Broken) > 0; {
	case broken && !l.broken:
		say(f.brokenLine(now))
		l.broken = true
	case !broken && l.broken:
		say("Connected again.")
		l.broken = false
	}
	switch silent := len(f.Unanswered) > 0; {
	case silent && !l.silent:
		say(cluster.Silence(f.Unanswered, now))
		l.silent = true
	case !silent && l.silent:
		if !l.broken {
			say("The API server has answered.")
		}
		l.silent = false
	}
	if at := f.Expired.At; !at.Equal(l.expired) {
		say(text.Printable(f.expiredLine()))
		l.expired = at
	}
	name := text.Printable(fmt.Sprintf("%s/%s in namespace %s", objects.ResourceOf(f.Ref.Group), f.Ref.Name, f.Ref.Namespace))
	if lost := f.lost(now); lost >= patience {
		say(fmt.Sprintf("Given up: nothing was read for %s.", text.Duration(lost)))
		return lines, true, stopped("the connection to the cluster was lost before the rollout of %s was complete", name)
	}
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
	if l.broken || l.silent {
		// A plan of what was seen before is no news: time alone would make nodes available in it, and the rollout complete.
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

// lost is for how long the connection has been broken, or the API server has not answered; zero: it is not, and it has.
func (f *Frame) lost(now time.Time) time.Duration {
	var lost time.Duration
	if len(f.Broken) > 0 {
		lost = now.Sub(f.Broken[0].Since)
	}
	if len(f.Unanswered) > 0 {
		lost = max(lost, now.Sub(f.Unanswered[0].Since))
	}
	return lost
}

// unfinished is what is not done yet: how far the rollout is, and which nodes are not updated and available, or why that is not
// known.
func (f *Frame) unfinished(now time.Time) string {
	var words []string
	for _, problem := range f.problems(now) {
		words = append(words, strings.TrimSuffix(problem, "."))
	}
	if f.Result == nil && len(f.Missing) > 0 {
		words = append(words, "Not read yet: "+text.Printable(strings.Join(f.Missing, ", ")))
	}
	if f.Result != nil && !f.Deleted {
		o := f.Result.Overview(now)
		words = append(words, f.planLine(&o))
		if nodes := f.Result.Left(); len(nodes) > 0 {
			words = append(words, "not updated and available: "+text.Printable(text.Some(nodes)))
		}
	}
	return cmp.Or(strings.Join(words, "; "), "nothing was read yet")
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
