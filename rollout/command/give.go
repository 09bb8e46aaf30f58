package command

import (
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// isTrue is the only value that switches an annotation of an ExtendedDaemonSet on.
const isTrue = "true"

// Patch returns the patch of the set's object that gives the command to the set. The error is an [*Error]. A command that would
// change nothing is an error, too, because whoever gives it expects an effect.
//
// An ExtendedDaemonSet takes every command. The patch writes the annotations that its own kubectl plugin writes, and
// companions that name the revision (C5); CanaryFail and CanaryRetry have companions only. An Advanced DaemonSet of
// OpenKruise can be paused and unpaused, unless it updates OnDelete. A DaemonSet of apps/v1, and an object of any other
// kind, take no command.
func (c Command) Patch(v View) (Patch, error) {
	group, _, _ := strings.Cut(v.Spec.APIVersion, "/")
	switch {
	case c >= commands:
		return Patch{}, refuse(c, NotSupported, "there is no such command")
	case group == edsAPIGroup && v.Spec.Kind == edsKind:
		return c.extended(&v)
	case group == kruiseAPIGroup && v.Spec.Kind == daemonSetKind:
		return c.advanced(&v)
	default:
		return Patch{}, refuse(c, NotSupported, "%s takes no commands; %s takes all of them, %s takes pause and unpause",
			resourceOf(v.Spec), edsResource, kruiseResource)
	}
}

// advanced gives a command to an Advanced DaemonSet.
func (c Command) advanced(v *View) (Patch, error) {
	switch {
	case c != Pause && c != Unpause:
		return Patch{}, refuse(c, NotSupported, "%s takes pause and unpause only", kruiseResource)
	case v.Spec.Strategy.Type == rollout.OnDelete:
		return Patch{}, refuse(c, NotSupported, "with the update strategy OnDelete there is no rollout to pause")
	}
	if err := c.switched(v); err != nil {
		return Patch{}, err
	}
	return merge(object{"spec": object{"updateStrategy": object{"rollingUpdate": object{"paused": c == Pause}}}}), nil
}

// extended gives a command to an ExtendedDaemonSet.
func (c Command) extended(v *View) (Patch, error) {
	switch c {
	case Pause, Unpause:
		return c.toggle(v, manifest.EDSRollingUpdatePausedAnnotation, c == Pause)
	case Freeze, Unfreeze:
		return c.toggle(v, manifest.EDSRolloutFrozenAnnotation, c == Freeze)
	default:
		if err := c.admissible(v); err != nil {
			return Patch{}, err
		}
		return annotate(c.annotations(v)), nil
	}
}

// toggle sets an annotation that is "true" or not there.
func (c Command) toggle(v *View, key string, on bool) (Patch, error) {
	if err := c.switched(v); err != nil {
		return Patch{}, err
	}
	if on {
		return annotate(object{key: isTrue}), nil
	}
	return annotate(object{key: nil}), nil
}

// switched returns an error for a command that would switch on what is on already, or off what is off.
func (c Command) switched(v *View) error {
	strategy := &v.Spec.Strategy
	switch {
	case c == Pause && strategy.Paused:
		return refuse(c, Already, "the rollout is paused already")
	case c == Unpause && !strategy.Paused:
		return refuse(c, Already, "the rollout is not paused")
	case c == Freeze && strategy.Frozen:
		return refuse(c, Already, "the rollout is frozen already")
	case c == Unfreeze && !strategy.Frozen:
		return refuse(c, Already, "the rollout is not frozen")
	default:
		return nil
	}
}

// admissible returns an error for a command of the canary that would have no effect.
func (c Command) admissible(v *View) error {
	options, trial := v.Spec.Strategy.Canary, &v.Plan.Canary
	name := v.name(v.tried())
	switch {
	case options == nil:
		return refuse(c, NoCanary, "the strategy of the set has no canary")
	case trial.Phase == canary.Idle:
		return refuse(c, NothingOnTrial, "no revision is on trial: %s is the active one", v.name(v.active()))
	case c == CanaryRetry && trial.Phase != canary.Failed:
		return refuse(c, HasNotFailed, "revision %s has not failed", name)
	case c == CanaryFail && trial.Phase == canary.Failed:
		return refuse(c, Already, "revision %s has failed already", name)
	case c != CanaryRetry && trial.Phase == canary.Failed:
		return refuse(c, HasFailed, "revision %s has failed; retry revives it, and so does another template", name)
	case c == CanaryPause && v.names(options.Commands.Pause, v.tried()):
		return refuse(c, Already, "the canary of revision %s is paused already", name)
	case c == CanaryUnpause && v.names(options.Commands.Unpause, v.tried()) && !v.names(options.Commands.Pause, v.tried()):
		return refuse(c, Already, "the canary of revision %s is unpaused already", name)
	default:
		return nil
	}
}

// annotations returns the annotations that a command of the canary sets (a text) and removes (nil).
func (c Command) annotations(v *View) object {
	name := v.name(v.tried())
	switch c {
	case CanaryValidate:
		return object{
			manifest.EDSCanaryValidAnnotation: name, manifest.CanaryValidateAnnotation: name,
			manifest.EDSCanaryPausedAnnotation: nil, manifest.EDSCanaryPausedReasonAnnotation: nil,
			manifest.CanaryPauseAnnotation:       nil,
			manifest.EDSCanaryUnpausedAnnotation: nil, manifest.CanaryUnpauseAnnotation: nil,
		}
	case CanaryPause:
		return object{
			manifest.EDSCanaryPausedAnnotation: isTrue, manifest.CanaryPauseAnnotation: name,
			manifest.EDSCanaryUnpausedAnnotation: nil, manifest.CanaryUnpauseAnnotation: nil,
		}
	case CanaryUnpause:
		return object{
			manifest.EDSCanaryUnpausedAnnotation: isTrue, manifest.CanaryUnpauseAnnotation: name,
			manifest.EDSCanaryPausedAnnotation: nil, manifest.EDSCanaryPausedReasonAnnotation: nil,
			manifest.CanaryPauseAnnotation: nil,
		}
	case CanaryFail:
		return object{manifest.CanaryFailAnnotation: name}
	default: // CanaryRetry: what validated or unpaused the revision before would promote it, or watch it no more, now
		return object{
			manifest.CanaryRetryAnnotation:    name + "/" + v.Snapshot.Now.UTC().Format(time.RFC3339Nano),
			manifest.CanaryFailAnnotation:     nil,
			manifest.EDSCanaryValidAnnotation: nil, manifest.CanaryValidateAnnotation: nil,
			manifest.EDSCanaryUnpausedAnnotation: nil, manifest.CanaryUnpauseAnnotation: nil,
		}
	}
}
