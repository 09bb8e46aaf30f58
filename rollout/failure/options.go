package failure

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
)

// Options say when a node has failed, and what follows. The zero value pauses the rollout as soon as one node has failed for ten
// minutes.
type Options struct {
	// Deadline is how long a node's pod of the update revision may be unavailable until the node has failed (F1). It must be more
	// than minReadySeconds, or no node could be updated in time. Default (0): 10 minutes.
	Deadline time.Duration
	// MaxRestarts is how often a pod may have restarted; one restart more, and its node has failed (F1). Not negative.
	// Default (nil): restarts are not looked at. A pod that crashes, and is ready for some seconds in between, is found by
	// this alone: each time it stops to be ready the deadline begins anew.
	MaxRestarts *int32
	// MaxFailed is how many nodes may have failed (F2): a number, or a percentage up to 100% of the nodes that are to run the
	// pod in the parts of stages that are open, rounded down. Default (nil): 0.
	MaxFailed *intstr.IntOrString
	// Action is what is done while more have failed (F3): Pause or Rollback. Default (""): Pause.
	Action Action
	// Retry names the revision, by its hash or the name of its ControllerRevision, that is rolled out once more after a rollback
	// (F3). canary.Any stands for whatever revision it is. One value works once; to retry again, append a slash and any text that
	// is new: "5d8f7b9c4/2". Default (""): a revision that was given up stays so.
	Retry string
	// Quarantine is how many failed nodes are left out of the budgets (F4): a number, which is not more than MaxFailed if that is
	// one, too, or a percentage as of MaxFailed, rounded down. Default (nil): 0.
	Quarantine *intstr.IntOrString
}

// Action is what is done when too many nodes have failed (F3).
type Action string

// The actions.
const (
	// Pause begins no further node, until fewer have failed.
	Pause Action = "Pause"
	// Rollback gives the revision up, and takes all nodes back to the base: the last revision that was rolled out everywhere. If
	// there is none that can be read, it pauses.
	Rollback Action = "Rollback"
)

// DefaultDeadline is that of Options.
const DefaultDeadline = 10 * time.Minute

// Reason is the value of the annotation history.FailedAnnotation on a revision that was given up because too many nodes failed.
const Reason = "TooManyFailures"

// DeepCopy returns a copy that shares no memory with the options.
func (o Options) DeepCopy() Options {
	o.MaxRestarts, o.MaxFailed, o.Quarantine = clone(o.MaxRestarts), clone(o.MaxFailed), clone(o.Quarantine)
	return o
}

// Default returns a deep copy in which every unset field has its default, but for MaxRestarts. Invalid values stay as they
// are, for Validate to report.
func (o Options) Default() Options {
	o = o.DeepCopy()
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	if o.Action == "" {
		o.Action = Pause
	}
	for _, q := range []**intstr.IntOrString{&o.MaxFailed, &o.Quarantine} {
		if *q == nil {
			*q = new(intstr.FromInt32(0))
		}
	}
	return o
}

// Validate returns every mistake in the options of a set with minReadySeconds, with field paths below path, in the order of the
// fields; nil if there is none. A nil path is allowed. Unset fields count with their defaults.
func (o Options) Validate(minReadySeconds int32, path *field.Path) field.ErrorList {
	o = o.Default()
	var errs field.ErrorList
	if ready := time.Duration(minReadySeconds) * time.Second; o.Deadline <= 0 || o.Deadline <= ready {
		errs = append(errs, field.Invalid(path.Child("deadline"), o.Deadline.String(),
			fmt.Sprintf("must be more than minReadySeconds (%s): no pod could be available in time", max(0, ready))))
	}
	if o.MaxRestarts != nil && *o.MaxRestarts < 0 {
		errs = append(errs, field.Invalid(path.Child("maxRestarts"), *o.MaxRestarts, "must not be negative"))
	}
	failed, err := quantity(*o.MaxFailed, path.Child("maxFailed"))
	if err != nil {
		errs = append(errs, err)
	}
	if o.Action != Pause && o.Action != Rollback {
		errs = append(errs, field.NotSupported(path.Child("action"), o.Action, []Action{Pause, Rollback}))
	}
	at := path.Child("quarantine")
	quarantine, wrong := quantity(*o.Quarantine, at)
	switch {
	case wrong != nil:
		errs = append(errs, wrong)
	case err == nil && quarantine.Percent == failed.Percent && quarantine.Value > failed.Value:
		errs = append(errs, field.Invalid(at, o.Quarantine.String(),
			fmt.Sprintf("must not be more than maxFailed %s: then the rollout stops anyway", o.MaxFailed)))
	}
	return errs
}

func quantity(v intstr.IntOrString, path *field.Path) (count.Quantity, *field.Error) {
	q, err := count.Parse(v)
	switch {
	case err != nil:
		return q, field.Invalid(path, v.String(), err.Error())
	case q.Value < 0:
		return q, field.Invalid(path, q.Value, "must not be negative")
	case q.Percent && q.Value > 100:
		return q, field.Invalid(path, v.String(), "must not be more than 100%")
	}
	return q, nil
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
