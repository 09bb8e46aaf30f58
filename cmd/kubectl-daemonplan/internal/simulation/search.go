package simulation

import (
	"fmt"
	"math"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
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
	// answer is the outcome with the smallest value that meets the deadline, or, if none does, with the largest value and
	// without a deadline.
	answer *outcome
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
		return simulate.Prediction{}, objects.Invalid(c.Place, s.spec, err)
	}
	turned := *c.Set
	turned.Spec, c.Set = spec, &turned
	tried := *s.experiment
	tried.Candidates = []*candidate{&c}
	outcomes, err := s.compare(&tried, nil)
	if err != nil {
		return simulate.Prediction{}, err
	}
	s.unused.add(outcomes[0].Reports)
	judged := make([]simulate.Report, len(outcomes[0].Reports))
	for i := range outcomes[0].Reports {
		report := &outcomes[0].Reports[i]
		s.most = max(s.most, report.Desired)
		late := s.Deadline > 0 && report.Finished > s.Deadline
		if report.End == simulate.EndDone && late { // counts as unfinished
			report.End = simulate.EndCondition
		}
		judged[i] = *report
		if outcomes[0].ending(i) == endBut { // nobody brings back by a budget what was down before
			judged[i].End, judged[i].Finished = simulate.EndDone, outcomes[0].Traces[i].reached
			if s.Deadline > 0 && judged[i].Finished > s.Deadline {
				judged[i].End = simulate.EndCondition
			}
		}
	}
	prediction := simulate.Predict(judged)
	if meets(prediction) || s.Deadline == 0 { // each value that meets the deadline is smaller than the ones before that did
		s.answer = outcomes[0]
	}
	return prediction, nil
}

// whyNone says why no value meets the deadline, a reason in each line, the answer first. It makes the runs with the largest
// value again, without a deadline.
func (s *search) whyNone() ([]string, error) {
	deadline := s.Deadline
	s.Deadline = 0
	_, err := s.try(s.most)
	s.Deadline = deadline
	if err != nil {
		return nil, err
	}
	o := s.answer
	largest := fmt.Sprintf("with %d, the largest, ", s.most)
	late := 0
	for _, d := range o.durations() {
		late += one(d > float64(deadline))
	}
	no := fmt.Sprintf("no %s meets %s: ", s.knob, asDuration(float64(deadline)))
	switch {
	case o.count(endStuck, endLimit)*10 > len(o.Reports):
		lines := []string{no + "no setting can help: " + largest + strings.TrimSuffix(o.story(), ".")}
		return append(lines, o.whyLeft()...), nil
	case o.count(endGivenUp, endReplaced)*10 > len(o.Reports):
		return []string{no + "no setting can help: " + largest + strings.TrimSuffix(o.story(), ".")}, nil
	}
	needs := ""
	if most := quantile(o.durations(), 0.9); !math.IsInf(most, 1) {
		needs = "; nine of ten runs need " + asDuration(most)
	}
	return []string{fmt.Sprintf("%s%s%d of %s late%s", no, largest, late,
		text.Agree(len(o.Reports), "run is", "runs are"), needs)}, nil
}

// meets reports whether nine of ten runs finished by the deadline.
func meets(p simulate.Prediction) bool { return 10*p.Unfinished <= p.Runs }
