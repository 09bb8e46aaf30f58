package command

import "fmt"

// Refusal says why a command is not given.
type Refusal uint8

// The refusals.
const (
	// NotSupported: sets of this kind have no such command.
	NotSupported Refusal = iota
	// NoCanary: the strategy of the set has no canary.
	NoCanary
	// NothingOnTrial: no revision is on trial.
	NothingOnTrial
	// HasFailed: the revision has failed, and only a retry, or another template, helps (C5).
	HasFailed
	// HasNotFailed: there is nothing to retry.
	HasNotFailed
	// Already: the command would change nothing, because the set is as the command wants it.
	Already

	refusals // count
)

var refusalNames = [refusals]string{
	"not supported", "no canary strategy", "nothing on trial", "has failed", "has not failed", "already so",
}

// String returns the refusal in a few words, or Refusal(n) for a value without a name.
func (r Refusal) String() string {
	if r >= refusals {
		return fmt.Sprintf("Refusal(%d)", uint8(r))
	}
	return refusalNames[r]
}

// Error is the error for a command that is not given.
type Error struct {
	// Command that was asked for.
	Command Command
	// Refusal is the reason, Text says it in words.
	Refusal Refusal
	Text    string
}

// Error returns command and text, and "no error" for nil.
func (e *Error) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("%s: %s", e.Command, e.Text)
}

func refuse(c Command, why Refusal, format string, args ...any) error {
	return &Error{Command: c, Refusal: why, Text: fmt.Sprintf(format, args...)}
}
