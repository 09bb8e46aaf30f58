package transcript

import (
	"errors"
	"fmt"
	"strings"

	"github.com/daemonplan/daemonplan/rollout"
)

// Option says what the commands of a transcript may refer to.
type Option func(*references)

// references are what is known beside the text of a transcript.
type references struct {
	specs map[string]rollout.Spec
	read  func(name string) ([]byte, error)
	check func(rollout.Spec, rollout.Snapshot, rollout.Plan) error
}

// WithSpec gives a spec a name: "cluster spec=NAME" begins with a set of that spec, and "apply spec=NAME" puts it in force.
func WithSpec(name string, spec rollout.Spec) Option {
	return func(r *references) { r.specs[name] = spec }
}

// WithFiles has "apply FILE" read manifests by this function. [Run] and [RunDir] read them relative to the directory of
// the transcript; [Play] has no files without this option.
func WithFiles(read func(name string) ([]byte, error)) Option {
	return func(r *references) { r.read = read }
}

// WithCheck has each plan that a transcript makes judged, with the spec and the snapshot that it was made from. The command at
// which the plan was made fails with the error.
func WithCheck(check func(rollout.Spec, rollout.Snapshot, rollout.Plan) error) Option {
	return func(r *references) { r.check = check }
}

func refer(options []Option) references {
	r := references{
		specs: map[string]rollout.Spec{},
		read:  func(string) ([]byte, error) { return nil, errors.New("no files are given here") },
		check: func(rollout.Spec, rollout.Snapshot, rollout.Plan) error { return nil },
	}
	for _, option := range options {
		option(&r)
	}
	return r
}

// LineError is an expectation that does not hold, or a command that cannot be played.
type LineError struct {
	// Line of the command, from 1.
	Line int
	// Command is its first line. Empty: the transcript is malformed there.
	Command string
	// Err says what is wrong. That of an expectation has what was and what was expected in its first line, and in those that
	// follow when that was and what the plan has to say about the nodes concerned.
	Err error
}

// Error is "line: command: what is wrong".
func (f *LineError) Error() string {
	if f.Command == "" {
		return f.Err.Error() // which has the line
	}
	return fmt.Sprintf("%d: %s: %v", f.Line, f.Command, f.Err)
}

// Unwrap is Err.
func (f *LineError) Unwrap() error { return f.Err }

// Play plays a transcript and returns it with what its commands print in the place of what was written there, so that a
// text that is returned unchanged is true.
//
// The error joins a [*LineError] for each expectation that does not hold; the transcript is played to its end all the same.
// Any other mistake, of form or of a command, ends it at once, and Play returns the empty text.
func Play(text string, options ...Option) (string, error) {
	played, failures := play(text, options)
	return played, errors.Join(failures...)
}

// play is Play, with the failures one by one: each is a *LineError.
func play(text string, options []Option) (string, []error) {
	parsed, err := parse(text)
	if err != nil {
		return "", []error{&LineError{Err: err}}
	}
	s := &stage{references: refer(options)}
	var failures []error
	for i := range parsed.stanzas {
		st := &parsed.stanzas[i]
		line := st.line + len(st.narration)
		s.beginStanza()
		for _, command := range st.commands {
			if err := s.do(command); err != nil {
				failure := &LineError{Line: line, Command: firstLine(command), Err: err}
				if _, ok := errors.AsType[unmet](err); !ok {
					return "", []error{failure}
				}
				failures = append(failures, failure)
			}
			line += 1 + strings.Count(command, "\n")
		}
		st.output = s.printed()
	}
	return parsed.String(), failures
}
