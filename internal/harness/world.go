package harness

import (
	"fmt"

	"github.com/daemonplan/daemonplan/rollout"
)

// World is a case with all that a cluster needs to live through it.
type World struct {
	// Case with the spec that is in force now.
	Case
	// Stable is the spec that was in force before.
	Stable rollout.Spec
	// Behavior of the cluster.
	Behavior Behavior
	// Mishaps befall it on the way, in this order.
	Mishaps []Mishap
}

// GoString keeps what failing properties print readable.
func (w World) GoString() string {
	return fmt.Sprintf("%s%+v\nmishaps %v", w.Case, w.Behavior, w.Mishaps)
}
