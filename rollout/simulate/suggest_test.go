package simulate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
)

// forecastWaves takes a minute for each wave, and in addition as many seconds as the last digit of the seed.
func forecastWaves(nodes int, knob func(rollout.Strategy) int32, tried map[int]int) func(Scenario, time.Duration) (Report, error) {
	return func(s Scenario, _ time.Duration) (Report, error) {
		value := int(knob(s.Spec.Strategy))
		tried[value]++
		waves := (nodes + value - 1) / value
		took := time.Duration(waves)*time.Minute + time.Duration(s.Seed%10)*time.Second
		return Report{End: EndDone, Finished: took, Waves: waves}, nil
	}
}

func TestSuggest(t *testing.T) {
	unavailable := func(s rollout.Strategy) int32 { return s.MaxUnavailable.IntVal }
	surge := func(s rollout.Strategy) int32 { return s.MaxSurge.IntVal }
	slow := func(s rollout.Strategy) int32 { return s.SlowStart.Increase.IntVal }
	tests := []struct {
		name, why string
		knob      Knob
		of        func(rollout.Strategy) int32
		nodes     int
		deadline  time.Duration
		value     int
		runs      map[int]int // by value
		waves     int
	}{
		{
			"first value", "one node at a time will do: 10 waves of a minute and at most 9 s",
			KnobMaxUnavailable, unavailable, 10, 10*time.Minute + 8*time.Second, 1, map[int]int{1: 20}, 10,
		},
		{
			"one run too many", "of 20 runs 2 may be late; with 7 s those of 8 s and 9 s are, 4 of them, and the third one decides",
			KnobMaxUnavailable, unavailable, 10, 10*time.Minute + 7*time.Second, 2, map[int]int{1: 19, 2: 20}, 5,
		},
		{
			"in between", "3 waves are needed, 4 nodes each: 2 fails, 4 does, 3 fails",
			KnobMaxUnavailable, unavailable, 10, 3*time.Minute + 9*time.Second, 4, map[int]int{1: 3, 2: 3, 3: 3, 4: 20}, 3,
		},
		{
			"below a power of two", "15 nodes in 3 waves: 4 fails, 8 does, then 6 does, 5 does",
			KnobMaxSurge, surge, 15, 3*time.Minute + 9*time.Second, 5, map[int]int{1: 3, 2: 3, 4: 3, 8: 20, 6: 20, 5: 20}, 3,
		},
		{
			"all at once", "the last value is the number of nodes, which is no power of two",
			KnobSlowStart, slow, 5, time.Minute + 9*time.Second, 5, map[int]int{1: 3, 2: 3, 4: 3, 5: 20}, 1,
		},
		{
			"never", "no value will do; the last one is run to the end to say how it would be",
			KnobMaxUnavailable, unavailable, 5, time.Second, 0, map[int]int{1: 3, 2: 3, 4: 3, 5: 20}, 0,
		},
		{
			"no nodes", "there is nothing to do, and one value to try",
			KnobMaxUnavailable, unavailable, 0, 9 * time.Second, 1, map[int]int{1: 20}, 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			tried := map[int]int{}
			got, err := suggester{
				forecastWaves(test.nodes, test.of, tried), forecastSpec(), forecastSnapshot(test.nodes), Assumptions{}, test.knob,
				test.deadline,
			}.suggest()
			if err != nil {
				t.Fatal(err)
			}
			if got.Value != test.value {
				t.Errorf("%d, want %d: %s", got.Value, test.value, test.why)
			}
			if got.Prediction.Runs != 20 || got.Prediction.Waves.Max != test.waves {
				t.Errorf("%+v", got.Prediction)
			}
			for value, runs := range tried {
				// The runs of a value stop at the third late one, because then the value has failed.
				if runs != test.runs[value] {
					t.Errorf("%d runs with %d, want %d", runs, value, test.runs[value])
				}
			}
			if len(tried) != len(test.runs) {
				t.Errorf("tried %v, want %v", tried, test.runs)
			}
		})
	}
}

// The suggested value meets the deadline and the value below it does not, or no value meets it. It is the smallest such value if
// a higher value is never slower.
func TestSuggestFindsTheSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(0, 70).Draw(t, "nodes")
		// good marks the values that meet the deadline: all from one value on, or any.
		good := make([]bool, max(nodes, 1)+1)
		from := rapid.IntRange(1, len(good)).Draw(t, "from")
		monotone := rapid.Bool().Draw(t, "monotone")
		for v := 1; v < len(good); v++ {
			good[v] = v >= from
			if !monotone {
				good[v] = rapid.Bool().Draw(t, "good")
			}
		}
		runs := map[int]int{}
		got, err := suggester{func(s Scenario, _ time.Duration) (Report, error) {
			v := int(s.Spec.Strategy.MaxUnavailable.IntVal)
			if v < 1 || v >= len(good) {
				t.Fatalf("tried %d of %d", v, nodes)
			}
			runs[v]++
			if good[v] {
				return Report{End: EndDone}, nil
			}
			return Report{End: EndLimit}, nil
		}, forecastSpec(), forecastSnapshot(nodes), Assumptions{Seeds: 4}, KnobMaxUnavailable, time.Minute}.suggest()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case got.Value == 0 && good[len(good)-1]:
			t.Fatal("the largest value meets the deadline")
		case got.Value == 0 && got.Prediction.Unfinished != 4:
			t.Fatalf("the largest value was not run to the end: %+v", got.Prediction)
		case got.Value > 0 && (!good[got.Value] || got.Prediction.Unfinished > 0 || got.Prediction.Runs != 4):
			t.Fatalf("%d does not meet the deadline: %+v", got.Value, got.Prediction)
		case got.Value > 1 && (good[got.Value-1] || runs[got.Value-1] == 0):
			t.Fatalf("%d meets it, too, or was not tried", got.Value-1)
		case got.Value > 1 && monotone && got.Value != from:
			t.Fatalf("%d, want %d", got.Value, from)
		}
		for v, n := range runs {
			if n > 4 {
				t.Fatalf("%d runs with %d", n, v)
			}
		}
	})
}

func TestSuggestRefuses(t *testing.T) {
	zero, two := intstr.FromInt32(0), intstr.FromInt32(2)
	tests := []struct {
		name, why string
		change    func(*rollout.Spec, *rollout.Snapshot)
		knob      Knob
		deadline  time.Duration
		want      string
	}{
		{"deadline 0", "nothing is done before the beginning", nil, KnobMaxUnavailable, 0, "deadline 0s: must be positive"},
		{"deadline before 0", "nor before that", nil, KnobMaxUnavailable, -time.Second, "deadline -1s: must be positive"},
		{"a nanosecond", "that is positive", nil, KnobMaxUnavailable, 1, "run 1"},
		{
			"no instant", "a list of objects does not say when it was made, and what is wrong is something else",
			func(_ *rollout.Spec, s *rollout.Snapshot) { s.Now = time.Time{} }, KnobMaxUnavailable, time.Hour, "run 1",
		},
		{"no knob", "the zero value is none", nil, 0, time.Hour, "no such knob"},
		{"unknown knob", "one that was never declared", nil, knobs, time.Hour, "no such knob"},
		{
			"surge in place", "a pod that is updated in place has none beside it",
			func(s *rollout.Spec, _ *rollout.Snapshot) { s.Strategy.Method = inplace.IfPossible }, KnobMaxSurge, time.Hour,
			"with maxSurge 1: spec.strategy.maxSurge",
		},
		{
			"OnDelete", "the rollout updates no node by itself",
			func(s *rollout.Spec, _ *rollout.Snapshot) { s.Strategy.Type = rollout.OnDelete }, KnobMaxUnavailable, time.Hour,
			"maxUnavailable decides nothing: with OnDelete",
		},
		{
			"invalid spec", "as rollout.New says it",
			func(s *rollout.Spec, _ *rollout.Snapshot) { s.Name = "" }, KnobMaxUnavailable, time.Hour, "spec.name",
		},
		{
			"no budget at all", "what the knob does not touch must be valid itself",
			func(s *rollout.Spec, _ *rollout.Snapshot) {
				s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = &zero, &zero
			},
			KnobSlowStart, time.Hour, "spec.strategy.maxUnavailable",
		},
		{
			"broken snapshot", "as Plan says it",
			func(_ *rollout.Spec, s *rollout.Snapshot) { s.Nodes = append(s.Nodes, nil) }, KnobMaxUnavailable, time.Hour, "snapshot.Nodes",
		},
		{
			"fails later", "an error of a run is the answer",
			func(s *rollout.Spec, _ *rollout.Snapshot) { s.Strategy.MaxUnavailable = &two }, KnobMaxUnavailable, time.Hour, "run 1",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			spec, snapshot := forecastSpec(), forecastSnapshot(3)
			if test.change != nil {
				test.change(&spec, &snapshot)
			}
			got, err := suggester{
				func(s Scenario, _ time.Duration) (Report, error) {
					return Report{}, fmt.Errorf("run %v", s.Spec.Strategy.MaxUnavailable)
				},
				spec, snapshot, Assumptions{}, test.knob, test.deadline,
			}.suggest()
			if err == nil || !strings.Contains(err.Error(), test.want) || got != (Suggestion{}) {
				t.Errorf("%v, want %q (%s); %+v", err, test.want, test.why, got)
			}
		})
	}
}

// The error occurs during the search, not at its first value.
func TestSuggestStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	for _, at := range []int32{2, 3} { // while doubling, and while halving
		_, err := suggester{func(s Scenario, _ time.Duration) (Report, error) {
			switch v := s.Spec.Strategy.MaxUnavailable.IntVal; {
			case v == at:
				return Report{}, broken
			case v < 4:
				return Report{End: EndLimit}, nil
			}
			return Report{End: EndDone}, nil
		}, forecastSpec(), forecastSnapshot(9), Assumptions{}, KnobMaxUnavailable, time.Hour}.suggest()
		if !errors.Is(err, broken) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

func TestKnobSet(t *testing.T) {
	five, zero := intstr.FromInt32(5), intstr.FromInt32(0)
	half, twenty := intstr.FromString("50%"), intstr.FromInt32(20)
	tests := []struct {
		name, why  string
		knob       Knob
		spec, want rollout.Strategy
	}{
		{
			"maxUnavailable", "instead of the surge that there was", KnobMaxUnavailable,
			rollout.Strategy{MaxSurge: &half}, rollout.Strategy{MaxUnavailable: &five, MaxSurge: &zero},
		},
		{
			"maxSurge", "instead of maxUnavailable", KnobMaxSurge,
			rollout.Strategy{MaxUnavailable: &half}, rollout.Strategy{MaxUnavailable: &zero, MaxSurge: &five},
		},
		{"slowStart", "one with defaults if there was none", KnobSlowStart,
			rollout.Strategy{}, rollout.Strategy{SlowStart: &rollout.SlowStart{Increase: &five}},
		},
		{
			"slowStart as it is", "interval and maxParallel stay, and so does the budget", KnobSlowStart,
			rollout.Strategy{MaxSurge: &half, SlowStart: &rollout.SlowStart{Interval: 7, Increase: &half, MaxParallel: &twenty}},
			rollout.Strategy{MaxSurge: &half, SlowStart: &rollout.SlowStart{Interval: 7, Increase: &five, MaxParallel: &twenty}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			spec := forecastSpec()
			spec.Strategy = test.spec
			before := spec.Default()
			got, err := test.knob.Set(spec, 5)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Strategy); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.why, diff)
			}
			if diff := cmp.Diff(before, spec.Default()); diff != "" {
				t.Errorf("the spec was changed\n-before +after\n%s", diff)
			}
		})
	}
	if _, err := KnobMaxUnavailable.Set(forecastSpec(), 0); err == nil {
		t.Error("0 nodes at a time are accepted")
	}
}

// A run that is late ends soon after the deadline. A run that is in time continues until nothing is under way.
func TestRunUntilTheDeadline(t *testing.T) {
	running, snapshot := forecastSpec(), forecastSnapshot(8)
	running.Template.Spec.Containers[0].Image = "agent:1"
	if err := populate(&snapshot, snapshot.Nodes, running); err != nil {
		t.Fatal(err)
	}
	scenario := Assumptions{Model: Model{Kubelets: []Kubelet{{
		Stop: Fixed(30 * time.Second), Start: Fixed(30 * time.Second),
	}}}}.Scenario(forecastSpec(), snapshot, 0)
	tests := []struct {
		name, why string
		deadline  time.Duration
		end       End
		elapsed   time.Duration
	}{
		{"in time", "8 nodes take a minute each", 8 * time.Minute, EndDone, 8 * time.Minute},
		{"late", "the pod that stops after 3:30 is the first thing after the deadline", 3*time.Minute + 10*time.Second, EndCondition, 3*time.Minute + 30*time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			report, err := runUntil(scenario, test.deadline)
			if err != nil || report.End != test.end || report.Elapsed != test.elapsed {
				t.Errorf("%v, %v after %v: %s", err, report.End, report.Elapsed, test.why)
			}
		})
	}
	scenario.Limit = -1
	if _, err := runUntil(scenario, time.Hour); err == nil {
		t.Error("a broken scenario is accepted")
	}
}
