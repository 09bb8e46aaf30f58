// Package watch shows a rollout while it goes on: as a screen on a terminal, and as lines elsewhere. It plans again when the
// cluster has changed, and when the plan asks for it; what it shows are the texts of package plan.
package watch

import (
	"context"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

// Source is the set that is watched. *cluster.Watch is one.
type Source interface {
	Changed() <-chan struct{}
	Err() error
	Missing() []string
	Input() (*objects.Input, *objects.Set, error)
	Broken() []cluster.Broken
	Expired() cluster.Expired
	Unanswered() []cluster.Unanswered
	Ref() objects.Ref
}

// Frame is what there is to show at one time. It is not changed any more.
type Frame struct {
	// Ref is the set that is watched.
	Ref objects.Ref
	// Result is the last plan; nil: there was none yet.
	Result *plan.Result
	// Problem is why there is no newer plan; nil: there is none.
	Problem error
	// Deleted reports whether the set has been deleted.
	Deleted bool
	// Missing are the objects that have not been read yet, Broken the connections that are broken, and Expired is the last watch
	// that had expired. Unanswered is what the API server has not answered for too long.
	Missing    []string
	Broken     []cluster.Broken
	Expired    cluster.Expired
	Unanswered []cluster.Unanswered

	history history
}

// leastTime is the time between two plans. Changes that come faster are planned together. While objects are read for the first
// time, nothing is planned, and the first plan is to come soon.
const (
	leastTime        = time.Second
	leastTimeReading = 50 * time.Millisecond
)

// Follow sends a frame at once, and whenever something has changed. Settings are those of the set. It ends with the context,
// without an error, or with the error that the cluster can no longer be watched.
func Follow(ctx context.Context, source Source, settings plan.Settings, frames chan<- Frame) error {
	frame := Frame{Ref: source.Ref()}
	for {
		begun := time.Now()
		if err := source.Err(); err != nil {
			return err
		}
		frame.look(source, settings, begun)
		select {
		case frames <- frame:
		case <-ctx.Done():
			return nil
		}
		least := leastTime
		if len(frame.Missing) > 0 {
			least = leastTimeReading
		}
		if !sleep(ctx, least-time.Since(begun), nil) || !sleep(ctx, frame.rest(time.Now()), source.Changed()) {
			return nil
		}
	}
}

// sleep waits for a time, or until something has changed. It returns false if the context has ended.
func sleep(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
		return false
	}
	return true
}

// longest is how long no plan is made if nothing asks for one. Then it is seen whether a rollout has stalled.
const longest = time.Minute

// rest is how long the frame is good for if nothing changes.
func (f *Frame) rest(now time.Time) time.Duration {
	if f.Result == nil || f.Result.Plan.NextWake.IsZero() || f.Deleted {
		return longest
	}
	return min(longest, f.Result.Plan.NextWake.Sub(now))
}

// look makes the frame of this time out of the one before.
func (f *Frame) look(source Source, settings plan.Settings, now time.Time) {
	f.Missing, f.Broken, f.Expired, f.Unanswered = source.Missing(), source.Broken(), source.Expired(), source.Unanswered()
	if len(f.Missing) > 0 {
		return
	}
	in, set, problem := source.Input()
	if in == nil && problem == nil { // other pods have to be read
		f.Missing = source.Missing()
		return
	}
	f.Problem, f.Deleted = problem, problem == nil && set == nil
	if f.Problem != nil || f.Deleted {
		return
	}
	in.Surround(set)
	if f.Problem = settings.Apply(in, set); f.Problem != nil {
		return
	}
	var result *plan.Result
	var err error
	if f.Result != nil && f.Result.Set.Spec.UID == set.Spec.UID {
		result, err = f.Result.Next(in, set, now)
	} else {
		result, err = plan.Decide(in, set, now, settings.Controller)
	}
	if f.Problem = err; err != nil {
		return
	}
	if f.Result != nil && f.Result.Set.Spec.UID != set.Spec.UID {
		f.history = history{} // a set of the same name
	}
	f.Result = result
	overview := result.Overview(now)
	f.history.note(result, &overview)
}
