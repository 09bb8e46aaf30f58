package canary

import (
	"fmt"
	"slices"
	"strconv"
)

// Phase is where a canary stands.
type Phase uint8

// The phases.
const (
	// Idle: nothing is on trial. The update revision is the stable one.
	Idle Phase = iota
	// Running: the revision is tried on the canary nodes.
	Running
	// Paused: the trial rests, by command or by its checks (C3).
	Paused
	// Failed: the revision is given up, and all nodes go back to the stable one (C4).
	Failed

	phases // count
)

// PhaseReason says why a canary is in its phase.
type PhaseReason uint8

// The reasons, grouped by phase.
const (
	ReasonNone PhaseReason = iota

	// Idle.

	// FirstInstallation: there is no other revision to go back to (C6).
	FirstInstallation
	// Stable: the revision is the stable one, or was promoted before (C6).
	Stable
	// Promoted: the clock promoted the revision (C2), in this judgement or in one whose mark is not seen on the
	// ControllerRevision yet.
	Promoted
	// Validated: the revision was promoted by the command validate (C5).
	Validated

	// Running.

	// NoNodes: there is no canary node, so nothing can be promoted (C1).
	NoNodes
	// Starting: not every canary node holds an available pod of the revision.
	Starting
	// Observing: the clock of Duration runs.
	Observing
	// Settling: Duration has passed, but not NoRestartsDuration since the last restart, failure or eviction.
	Settling
	// AwaitingValidation: mode Manual waits for the command.
	AwaitingValidation
	// Halted: the set is paused or frozen.
	Halted

	// Paused or Failed.

	// ByCommand: somebody asked for it (C5).
	ByCommand
	// TooManyRestarts: a container of one pod restarted more often than MaxRestarts allows (C3, C4).
	TooManyRestarts
	// CannotStart: a container cannot start; Finding.Detail says why (C3).
	CannotStart
	// SlowStart: a pod is still being created after MaxSlowStartDuration (C3).
	SlowStart
	// RestartsGoOn: restarts went on for longer than MaxRestartsDuration (C4).
	RestartsGoOn
	// TimedOut: the canary took longer than CanaryTimeout (C4).
	TimedOut

	canaryReasons // count
)

// String returns the phase as one word, or "code " and its number if there is no such phase.
func (p Phase) String() string { return text(phaseNames[:], uint8(p)) }

// MarshalText returns the word of String, so that a stored [Record] does not depend on the numbers of the codes.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote. Any other text is an error, and gives Idle.
func (p *Phase) UnmarshalText(name []byte) error {
	code, err := parse(phaseNames[:], name)
	*p = Phase(code)
	return err
}

// String returns the reason as one word, which is also the value of [history.FailedAnnotation]. It returns "code " and the
// number if there is no such reason.
func (r PhaseReason) String() string { return text(reasonNames[:], uint8(r)) }

// MarshalText returns the word of String, so that a stored [Record] does not depend on the numbers of the codes.
func (r PhaseReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote. Any other text is an error, and gives ReasonNone.
func (r *PhaseReason) UnmarshalText(name []byte) error {
	code, err := parse(reasonNames[:], name)
	*r = PhaseReason(code)
	return err
}

var phaseNames = [phases]string{Idle: "Idle", Running: "Running", Paused: "Paused", Failed: "Failed"}

var reasonNames = [canaryReasons]string{
	ReasonNone:         "None",
	FirstInstallation:  "FirstInstallation",
	Stable:             "Stable",
	Promoted:           "Promoted",
	Validated:          "Validated",
	NoNodes:            "NoNodes",
	Starting:           "Starting",
	Observing:          "Observing",
	Settling:           "Settling",
	AwaitingValidation: "AwaitingValidation",
	Halted:             "Halted",
	ByCommand:          "ByCommand",
	TooManyRestarts:    "TooManyRestarts",
	CannotStart:        "CannotStart",
	SlowStart:          "SlowStart",
	RestartsGoOn:       "RestartsGoOn",
	TimedOut:           "TimedOut",
}

// text is the name of a code, or its number if it has none.
func text(names []string, code uint8) string {
	if int(code) < len(names) {
		return names[code]
	}
	return "code " + strconv.Itoa(int(code))
}

// parse is the code of a name.
func parse(names []string, name []byte) (uint8, error) {
	code := slices.Index(names, string(name))
	if code < 0 {
		return 0, fmt.Errorf("%q is no code of a canary", name)
	}
	return uint8(code), nil
}
