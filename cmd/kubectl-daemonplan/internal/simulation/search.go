package simulation

import (
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// search does what [simulate.Suggest] does, with the runs of one value on all cores.
type search struct {
	*program
	*experiment
	knob simulate.Knob
	spec rollout.Spec
	// most is the largest value that is tried: the highest number of nodes, seen so far, that are to run the pod.
	most int
	// unused are the paths in the world file that were of no use in any run.
	unused unused
}

func (s *search) find() (simulate.Suggestion, error) {
	failed, value := 0, 1
	for {
		prediction, err := s.try(value)
		if err != nil {
			return simulate.Suggestion{}, err
		}
		switch {
		case meets(prediction):
			return s.between(failed, value, prediction)
		case value >= s.most:
			return simulate.Suggestion{Prediction: prediction}, nil
		}
		failed, value = value, min(2*value, s.most)
	}
}

// between searches the values above failed, up to met. The result is met, or a lower value that was tried.
func (s *search) between(failed, met int, prediction simulate.Prediction) (simulate.Suggestion, error) {
	for failed+1 < met {
		value := failed + (met-failed)/2
		tried, err := s.try(value)
		if err != nil {
			return simulate.Suggestion{}, err
		}
		if meets(tried) {
			met, prediction = value, tried
		} else {
			failed = value
		}
	}
	return simulate.Suggestion{Value: met, Prediction: prediction}, nil
}

// try makes all runs with the knob at that value.
func (s *search) try(value int) (simulate.Prediction, error) {
	c := *s.Candidates[0]
	spec, err := s.knob.Set(s.spec, int32(value))
	if err != nil {
		return simulate.Prediction{}, located(c.File, translated(s.spec, err))
	}
	c.Set.Spec = spec
	tried := *s.experiment
	tried.Candidates = []*candidate{&c}
	outcomes, err := s.compare(&tried, nil)
	if err != nil {
		return simulate.Prediction{}, err
	}
	s.unused.add(outcomes[0].Reports)
	for i := range outcomes[0].Reports {
		report := &outcomes[0].Reports[i]
		s.most = max(s.most, report.Desired)
		if report.End == simulate.EndDone && report.Finished > s.Deadline { // a run that ended too late counts as unfinished
			report.End = simulate.EndCondition
		}
	}
	return simulate.Predict(outcomes[0].Reports), nil
}

// meets reports whether nine of ten runs finished by the deadline.
func meets(p simulate.Prediction) bool { return 10*p.Unfinished <= p.Runs }
