package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// StepError says at which step a run ended because of an error, and how to see that step again.
type StepError struct {
	// Seed and Step identify the step; a run of the same scenario comes to it again.
	Seed uint64
	Step Step
	// Violations are the invariants that the plan breaks. If it is empty, Err is what ended the run: the error of an
	// observer, of a watcher, or of the simulation itself.
	Violations []verify.Violation
	Err        error
}

// mostViolations is how many violations a message lists. One mistake in a planner can break invariants on thousands of nodes.
const mostViolations = 10

// Error says where the run ended and why, what the plan says about the nodes concerned, and how to see the step again.
func (e *StepError) Error() string {
	if e == nil {
		return "simulate: no error"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "simulate: seed %d, step %d, %v after the beginning (%s): ", e.Seed, e.Step.Number, e.Step.At,
		e.Step.Snapshot.Now.UTC().Format(time.RFC3339Nano))
	switch {
	case len(e.Violations) == 1:
		b.WriteString("the plan breaks an invariant")
	case len(e.Violations) > 1:
		fmt.Fprintf(&b, "the plan breaks %d invariants", len(e.Violations))
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString("the run was ended")
	}
	explained := map[string]bool{"": true}
	for i, violation := range e.Violations {
		if i == mostViolations {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Violations)-i)
			break
		}
		b.WriteString("\n  " + violation.String())
		if !explained[violation.Node] {
			explained[violation.Node] = true
			for line := range strings.Lines(e.Step.Plan.Explain(violation.Node)) {
				b.WriteString("\n    plan: " + strings.TrimSuffix(line, "\n"))
			}
		}
	}
	fmt.Fprintf(&b, "\nto see it again: run the scenario with seed %d up to step %d, or write what Case of this error returns "+
		"to a file with Encode, and plan it with: kubectl daemonplan plan --case FILE",
		e.Seed, e.Step.Number)
	return b.String()
}

// Unwrap returns Err.
func (e *StepError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Case returns the spec in force at the step and what the controller saw. The case of a nil error is the zero value.
func (e *StepError) Case() Case {
	if e == nil {
		return Case{}
	}
	return e.Step.Case()
}

// Case returns the spec in force at the step and what the controller saw. The case of a nil step is the zero value.
func (s *Step) Case() Case {
	if s == nil {
		return Case{}
	}
	return Case{Spec: s.Spec, Snapshot: s.Snapshot}
}

// Case is a spec and what its controller saw, for `kubectl daemonplan plan --case` to read. JSON has the instants in objects in
// whole seconds, as API servers do; nothing else is lost.
type Case struct {
	Spec     rollout.Spec     `json:"spec"`
	Snapshot rollout.Snapshot `json:"snapshot"`
}

// encodedCase is a case as text.
type encodedCase struct {
	Spec     *rollout.Spec     `json:"spec"`
	Snapshot *rollout.Snapshot `json:"snapshot"`
	// RevisionData has, by index, the data of revisions that JSON would not keep to the byte. No API server has such revisions,
	// but a case must show again what the planner makes of them.
	RevisionData map[int][]byte `json:"revisionData,omitempty"`
}

// Encode returns the case as JSON that [ReadCase] reads. It fails only for values that have no JSON, such as a year beyond
// 9999.
func (c Case) Encode() ([]byte, error) {
	encoded := encodedCase{Spec: &c.Spec, Snapshot: &c.Snapshot}
	c.Snapshot.Revisions = slices.Clone(c.Snapshot.Revisions)
	for i, revision := range c.Snapshot.Revisions {
		if revision == nil || revision.Data.Raw == nil || keeps(revision.Data.Raw) {
			continue
		}
		if encoded.RevisionData == nil {
			encoded.RevisionData = map[int][]byte{}
		}
		encoded.RevisionData[i] = revision.Data.Raw
		without := *revision
		without.Data.Raw = nil
		c.Snapshot.Revisions[i] = &without
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // nor indented: the data of revisions is compared byte by byte (R2)
	if err := encoder.Encode(encoded); err != nil {
		return nil, fmt.Errorf("case: %w", err)
	}
	return out.Bytes(), nil
}

// keeps reports whether the data stays the same to the byte when it is written as JSON and read again.
func keeps(data []byte) bool {
	var compact bytes.Buffer
	return bytes.HasPrefix(data, []byte("{")) && json.Compact(&compact, data) == nil && bytes.Equal(compact.Bytes(), data)
}

// ReadCase reads what [Case.Encode] wrote. An unknown field is an error, because a field that is not understood might have
// led to another plan. So is a quantity that would take for ever to read.
func ReadCase(data []byte) (Case, error) {
	var c encodedCase
	if err := strictly(data, &c); err != nil {
		return Case{}, fmt.Errorf("case: %w", placed(data, err))
	}
	switch {
	case c.Spec == nil && c.Snapshot == nil:
		return Case{}, errNoCase
	case c.Spec == nil:
		return Case{}, errors.New("case: spec: must be there, as Case.Encode writes it")
	case c.Snapshot == nil:
		return Case{}, errors.New("case: snapshot: must be there, as Case.Encode writes it")
	}
	for _, i := range slices.Sorted(maps.Keys(c.RevisionData)) {
		if i < 0 || i >= len(c.Snapshot.Revisions) || c.Snapshot.Revisions[i] == nil {
			return Case{}, fmt.Errorf("case: revisionData[%d]: there is no such revision in the snapshot", i)
		}
		c.Snapshot.Revisions[i].Data.Raw = c.RevisionData[i]
	}
	return Case{Spec: *c.Spec, Snapshot: *c.Snapshot}, nil
}

var errNoCase = errors.New(`case: must be a JSON object with "spec" and "snapshot", as Case.Encode writes it`)

// placed puts the line number before the message about a mistake in the syntax.
func placed(data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := data[:min(max(syntax.Offset-1, 0), int64(len(data)))]
		return fmt.Errorf("line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
	}
	return err
}
