package simulate_test

import (
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// forecastMinute makes the update of a node take a minute: a pod takes 20 s to stop and 40 s to start.
var forecastMinute = simulate.Model{Kubelets: []simulate.Kubelet{{
	Stop: simulate.Fixed(20 * time.Second), Start: simulate.Fixed(40 * time.Second),
}}}

// With fixed times the answers can be computed. 20 nodes in waves of v take ⌈20 / v⌉ minutes. With surge the old pod serves until
// the new one does, so a wave takes 40 s.
func TestSuggestAgreesWithArithmetic(t *testing.T) {
	tests := []struct {
		name, why string
		knob      simulate.Knob
		deadline  time.Duration
		value     int
		duration  time.Duration
		waves     int
		peak      int
	}{
		{"five waves", "4 nodes at a time are done at the deadline, and in time", simulate.KnobMaxUnavailable, 5 * time.Minute, 4, 5 * time.Minute, 5, 4},
		{"a moment less", "5 at a time are needed", simulate.KnobMaxUnavailable, 5*time.Minute - 1, 5, 4 * time.Minute, 4, 5},
		{"all at once", "20 at a time", simulate.KnobMaxUnavailable, time.Minute, 20, time.Minute, 1, 20},
		{"too early", "no value will do", simulate.KnobMaxUnavailable, time.Minute - 1, 0, 0, 0, 20},
		{"surge", "2 minutes are 3 waves of 40 s, so 7 nodes each; nobody is unavailable", simulate.KnobMaxSurge, 2 * time.Minute, 7, 2 * time.Minute, 3, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"))
			got, err := simulate.Suggest(spec, forecastFleet(), simulate.Assumptions{Model: forecastMinute, Seeds: 2}, test.knob, test.deadline)
			if err != nil {
				t.Fatal(err)
			}
			want := simulate.Suggestion{Value: test.value, Prediction: simulate.Prediction{
				Runs: 2, Duration: simulate.Quantiles[time.Duration]{P50: test.duration, P90: test.duration, Max: test.duration},
				Waves: simulate.Quantiles[int]{P50: test.waves, P90: test.waves, Max: test.waves},
				Peak:  simulate.Quantiles[int]{P50: test.peak, P90: test.peak, Max: test.peak},
			}}
			if test.value == 0 {
				want.Prediction.Unfinished = 2
			}
			if got != want {
				t.Errorf("%s:\n%+v, want\n%+v", test.why, got, want)
			}
		})
	}
}

// Forecast returns the error of the run, about the spec and about the assumptions.
func TestForecastRefuses(t *testing.T) {
	good := rollouttest.Spec("agent")
	for name, run := range map[string]func() error{
		"spec": func() error {
			_, err := simulate.Forecast(rollout.Spec{}, forecastFleet(), simulate.Assumptions{})
			return err
		},
		"snapshot": func() error {
			snapshot := forecastFleet()
			snapshot.Nodes = append(snapshot.Nodes, snapshot.Nodes[0])
			_, err := simulate.Forecast(good, snapshot, simulate.Assumptions{})
			return err
		},
		"assumptions": func() error {
			_, err := simulate.Forecast(good, forecastFleet(), simulate.Assumptions{Limit: -1})
			return err
		},
		"assumptions of a suggestion": func() error {
			_, err := simulate.Suggest(good, forecastFleet(), simulate.Assumptions{Controller: simulate.Controller{FailedCalls: 2}},
				simulate.KnobMaxUnavailable, time.Hour)
			return err
		},
	} {
		if err := run(); err == nil {
			t.Errorf("a broken %s is accepted", name)
		}
	}
}
