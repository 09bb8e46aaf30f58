//go:build teeth

package status_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/status"
)

// TestScenePropertyRejectsMutants holds the property itself: each planted bug must be found.
func TestScenePropertyRejectsMutants(t *testing.T) {
	with := func(edit func(*status.Input)) summarize {
		return func(in status.Input) status.Status { edit(&in); return status.Summarize(in) }
	}
	mutants := map[string]summarize{
		"completion by counters alone":  with(func(in *status.Input) { in.Settled = min(in.Counts.Updated, in.Counts.Available) }),
		"held nodes keep it open":       with(func(in *status.Input) { in.Held = 0 }),
		"OnDelete is not known":         with(func(in *status.Input) { in.OnDelete = false }),
		"pause is not known":            with(func(in *status.Input) { in.Paused = false }),
		"frozen is not known":           with(func(in *status.Input) { in.Frozen = false }),
		"surge has no limit of its own": with(func(in *status.Input) { in.MaxSurge = 0 }),
		"never stuck":                   with(func(in *status.Input) { in.HeldUnavailable = 0 }),
		"stuck while it acts": with(func(in *status.Input) {
			if in.HeldUnavailable > 1 {
				in.Acting = false
			}
		}),
		"no latch":                          with(func(in *status.Input) { in.CompletedRevision = "" }),
		"latched for any revision":          with(func(in *status.Input) { in.CompletedRevision = in.UpdateRevision }),
		"pods elsewhere do not matter":      with(func(in *status.Input) { in.Counts.Misscheduled = 0 }),
		"transition times are forgotten":    with(func(in *status.Input) { in.Previous = nil }),
		"the last condition of a type wins": with(func(in *status.Input) { in.Previous = slices.Clone(in.Previous); slices.Reverse(in.Previous) }),
		"transition times never move": func(in status.Input) status.Status {
			s := status.Summarize(in)
			for i := range s.Conditions {
				for _, p := range in.Previous {
					if p.Type == s.Conditions[i].Type {
						s.Conditions[i].LastTransitionTime = p.LastTransitionTime
					}
				}
			}
			return s
		},
		"the latch is not cleared": func(in status.Input) status.Status {
			s := status.Summarize(in)
			if s.CompletedRevision == "" {
				s.CompletedRevision = in.CompletedRevision
			}
			return s
		},
		"the canary is not known": with(func(in *status.Input) { in.Trial = status.Trial{Promoted: in.Trial.Promoted} }),
		"a pause of the canary is not known": with(func(in *status.Input) {
			if in.Trial.State == status.CanaryPaused {
				in.Trial.State = status.Canary
			}
		}),
		"a failed canary is one that runs": with(func(in *status.Input) {
			if in.Trial.State == status.CanaryFailed {
				in.Trial.State = status.Canary
			}
		}),
		"a promotion is not known":      with(func(in *status.Input) { in.Trial.Promoted = false }),
		"the trial's reason is dropped": with(func(in *status.Input) { in.Trial.Reason = "" }),
		"any reason will do": func(in status.Input) status.Status {
			s := status.Summarize(in)
			for i := range s.Conditions {
				if s.Conditions[i].Type == "Canary" && in.Trial.Reason != "" {
					s.Conditions[i].Reason = in.Trial.Reason
				}
			}
			return s
		},
		"the canary outranks the pause": func(in status.Input) status.Status {
			if in.Trial.State == status.Canary {
				in.Paused, in.Frozen = false, false
			}
			return status.Summarize(in)
		},
		"a canary that covers every node is complete": func(in status.Input) status.Status {
			s := status.Summarize(in)
			plain := in
			plain.Trial = status.Trial{}
			if in.Trial.State == status.Canary {
				s.CompletedRevision = status.Summarize(plain).CompletedRevision
			}
			return s
		},
		"a canary is stuck while its node reboots": with(func(in *status.Input) {
			if in.Trial.State == status.Canary && in.Settled == 0 {
				in.Trial.State = status.Stuck
			}
		}),
		"availability by the budget": func(in status.Input) status.Status {
			was := in.Counts
			in.Counts.Available = in.Counts.Desired - in.Unavailable
			s := status.Summarize(in)
			s.Counts = was
			return s
		},
	}
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			for seed := range 3000 {
				if sceneViolation(mutant, scenes.Example(seed)) != nil {
					return
				}
			}
			t.Error("the property does not notice")
		})
	}
}
