package rollout

import "fmt"

// Violation is one broken invariant.
type Violation struct {
	// Invariant is its number, 1 to 18.
	Invariant int
	// Node concerned; empty if it is about the whole plan.
	Node string
	// Message says what was found and what would have been right.
	Message string
}

// String is the violation in one line.
func (v Violation) String() string {
	if v.Node == "" {
		return fmt.Sprintf("V%d: %s", v.Invariant, v.Message)
	}
	return fmt.Sprintf("V%d: node %s: %s", v.Invariant, v.Node, v.Message)
}

// Verify checks a plan.
func Verify(spec Spec, snapshot Snapshot, plan Plan) []Violation { return nil }
