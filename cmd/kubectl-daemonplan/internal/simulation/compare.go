package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// outcome is the result of one candidate under all seeds.
type outcome struct {
	*candidate
	// Reports and Traces are those of each seed. The trace of the first seed has the history of each node.
	Reports []simulate.Report
	Traces  []*trace
	// AtOnce is the outcome if pods stop at once; nil: how long they take is known. See program.outcomes.
	AtOnce *outcome
}

// runError is the error of a run that broke an invariant, or failed in another way that is not a mistake in the input.
type runError struct {
	Label string
	Step  *simulate.StepError
}

func (e *runError) Error() string { return e.Label + ": " + trimmed(e.Step) }

// Unwrap makes it a negative answer: nobody has made a mistake in the input.
func (e *runError) Unwrap() error { return &exit.NegativeError{} }

// compare makes all runs, as many at a time as there are workers. The outcomes do not depend on the order in which the runs end.
func (p *program) compare(e *experiment, record func(c int) func(simulate.Record)) ([]*outcome, error) {
	outcomes := make([]*outcome, len(e.Candidates))
	for i, c := range e.Candidates {
		outcomes[i] = &outcome{
			candidate: c, Reports: make([]simulate.Report, e.Seeds), Traces: make([]*trace, e.Seeds),
		}
	}
	domains := e.domains()
	var jobs []int
	for job := range len(outcomes) * e.Seeds {
		if e.shard.has(job % e.Seeds) {
			jobs = append(jobs, job)
		}
	}
	bar := p.progress(len(jobs))
	defer bar.Finish()
	errs := p.parallel(len(jobs), func(number int) error {
		job := jobs[number]
		o, seed := outcomes[job/e.Seeds], job%e.Seeds
		scenario := e.scenario(o.candidate, e.Seed+uint64(seed))
		traced := newTrace(seed == 0, domains...)
		if !e.Page {
			traced.Explanations = nil
		}
		var keep func(simulate.Record)
		if seed == 0 && record != nil {
			keep = record(job / e.Seeds)
		}
		scenario.History = func(r simulate.Record) {
			traced.add(r)
			bar.Show(number, traced)
			if keep != nil {
				keep(r)
			}
		}
		report, err := p.Engine(scenario, traced, func() bool { return e.Deadline > 0 && traced.reached > e.Deadline })
		if step, ok := errors.AsType[*simulate.StepError](err); ok {
			err = &runError{Label: o.Label, Step: step}
		} else if err != nil {
			err = e.blame(o.candidate, err)
		}
		traced.finish(&report)
		o.Reports[seed], o.Traces[seed] = report, traced
		bar.Done(number)
		return err
	})
	return outcomes, errs
}

// outcomes are those of compare. Where pods are taken to use up their grace period, because nobody knows how long they take to
// stop, each has the one beside it in which they stop at once: the truth lies between the two.
func (p *program) outcomes(e *experiment, record func(c int) func(simulate.Record)) ([]*outcome, error) {
	outcomes, err := p.compare(e, record)
	if err != nil {
		return outcomes, err
	}
	quick := *e
	quick.Page, quick.Candidates = false, nil
	var of []*outcome
	for _, o := range outcomes {
		if o.Derived == nil || o.Derived.Grace == 0 {
			continue
		}
		c := *o.candidate
		c.Derived = c.Derived.atOnce()
		quick.Candidates, of = append(quick.Candidates, &c), append(of, o)
	}
	if len(of) == 0 {
		return outcomes, nil
	}
	atOnce, err := p.compare(&quick, nil)
	for i, o := range of {
		o.AtOnce = atOnce[i]
	}
	return outcomes, err
}

// blame puts before each mistake in a scenario the name of the file that it is in.
func (e *experiment) blame(c *candidate, err error) error {
	mistakes := rollout.FieldErrors(err)
	if len(mistakes) == 0 {
		return fmt.Errorf("%s: %w", c.Label, err)
	}
	if c.Place != "" && !slices.ContainsFunc(mistakes, func(mistake *field.Error) bool {
		return !strings.HasPrefix(mistake.Field, "spec.")
	}) {
		return objects.Invalid(c.Place, c.Set.Spec, err)
	}
	var lines []error
	for _, mistake := range mistakes {
		part, _, _ := strings.Cut(mistake.Field, ".")
		part, _, _ = strings.Cut(part, "[")
		file := c.File.Name
		switch part {
		case "model", "controller", "events":
			file = cmp.Or(objects.Shown(e.question.World), file)
		case "fleet":
			file = cmp.Or(e.origin(), objects.Shown(cmp.Or(e.Fleet, "--nodes")))
		}
		in := *mistake
		if part == "fleet" && e.Fleet != "" { // the file has the fields of the fleet at its top
			in.Field = strings.TrimPrefix(in.Field, "fleet.")
		}
		lines = append(lines, fmt.Errorf("%s: %w", file, &in))
	}
	return errors.Join(lines...)
}

// parallel calls work for each number below jobs, on all cores, and returns the error of the first job that has one. Jobs that
// have not begun when one fails are not begun.
func (p *program) parallel(jobs int, work func(job int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	errs := make([]error, jobs)
	for range min(max(p.Workers, 1), jobs) {
		group.Go(func() {
			for !failed.Load() {
				job := int(next.Add(1)) - 1
				if job >= jobs {
					return
				}
				if errs[job] = work(job); errs[job] != nil {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
