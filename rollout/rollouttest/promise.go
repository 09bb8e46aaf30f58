package rollouttest

import (
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Promise is what a test claims of whole simulated runs, and [Simulate] holds a scenario to. Its value can be used for any number
// of runs.
//
// Besides those of this package ([NeverMoreThan], [DoneWithin] and so on), and those made of one condition ([EveryStep],
// [Eventually]), promises can be written: what one needs to know of a run is kept in variables of Begin, which the
// functions of the [Guard] share.
//
// A promise must be able to fail: one that has not seen what it is about has to say so in [Guard.End]. One of this package whose
// arguments make no sense, such as a nil function, fails the test before the run.
type Promise struct {
	// Says is what is promised, as a sentence without an end: "never more than 2 nodes are unavailable".
	Says string
	// Begin is called before each run, with its scenario and the simulation, which has made no step. It returns what watches
	// that run. Nil promises nothing.
	Begin func(simulate.Scenario, *simulate.Simulation) Guard

	keep         func(name string, data []byte) error
	allowsUnused bool
	wrong        string // argument that makes no sense
}

// Guard watches one run for a promise. Each function may be nil. The first error breaks the promise; the guard is asked
// nothing after that, while the run goes on for others. An error that is a [*BreachError] names the nodes concerned, whose state
// and explanation are then shown.
type Guard struct {
	// Record is called for each record of the run's history, in order.
	Record func(simulate.Record)
	// Instant is called when time goes on after an instant with records, and at the end of the run: what is true for a
	// moment only within one instant is not seen. At is the time from the beginning of the run.
	Instant func(at time.Duration) error
	// Step is called for every plan, before it is carried out.
	Step func(*simulate.Simulation, *simulate.Step) error
	// End is called when the run is over, unless a plan broke an invariant.
	End func(*simulate.Simulation, simulate.Report) error
}

// BreachError is how a promise was broken.
type BreachError struct {
	// What is wrong, with the figures.
	What string
	// Nodes concerned. Nil: none in particular.
	Nodes []string
}

// Error is What.
func (b *BreachError) Error() string {
	if b == nil {
		return "no breach"
	}
	return b.What
}

// breach is a BreachError that concerns the nodes.
func breach(nodes []string, format string, args ...any) error {
	return &BreachError{What: fmt.Sprintf(format, args...), Nodes: nodes}
}

// KeepCases promises nothing: it has the spec and the snapshot of the step at which a promise was broken passed to write, in the
// form that kubectl daemonplan plan --case and [simulate.ReadCase] read, with a name for the file. The failure says the name.
//
//	rollouttest.KeepCases(func(name string, data []byte) error {
//		return os.WriteFile(filepath.Join(t.ArtifactDir(), name), data, 0o644)
//	})
func KeepCases(write func(name string, data []byte) error) Promise {
	if write == nil {
		return Promise{wrong: "KeepCases: write is nil"}
	}
	return Promise{keep: write}
}

// AllowUnused promises nothing: with it [Simulate] accepts rules of the model that are about no pod, and events that happen to
// no node ([simulate.Report.Unused]). It is meant for tests of many specs against one model.
func AllowUnused() Promise { return Promise{allowsUnused: true} }

// EveryStep is a promise of one condition on every plan, which is checked before the plan is carried out. The promise is a
// sentence such as "the plan never pulls images". Whether any plan could have broken it is not asked: [Eventually] can say that.
func EveryStep(promise string, check func(*simulate.Simulation, *simulate.Step) error) Promise {
	if check == nil {
		return Promise{wrong: fmt.Sprintf("EveryStep: check is nil (%s)", promise)}
	}
	return Promise{Says: promise, Begin: func(simulate.Scenario, *simulate.Simulation) Guard {
		return Guard{Step: check}
	}}
}

// Eventually is a promise of something that has to happen: the condition must hold at one of the steps, before it is carried
// out. The promise is a sentence such as "the canary is paused at some time".
func Eventually(promise string, condition func(*simulate.Simulation, *simulate.Step) bool) Promise {
	if condition == nil {
		return Promise{wrong: fmt.Sprintf("Eventually: condition is nil (%s)", promise)}
	}
	return Promise{Says: promise, Begin: func(simulate.Scenario, *simulate.Simulation) Guard {
		steps, held := 0, false
		return Guard{
			Step: func(s *simulate.Simulation, step *simulate.Step) error {
				steps++
				held = held || condition(s, step)
				return nil
			},
			End: func(_ *simulate.Simulation, report simulate.Report) error {
				if !held {
					return breach(nil, "that was so at none of the %d steps%s", steps, standing(report))
				}
				return nil
			},
		}
	}}
}
