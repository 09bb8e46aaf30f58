package main

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows a person how far all runs have come.
type progress struct {
	mutex sync.Mutex
	bar   *progressbar.ProgressBar // nil: nobody looks
	jobs  []int                    // thousandths of each run that are done
	total int
	shown int
}

// thousand is what the bar counts for a run.
const thousand = 1000

// progress begins a bar for that many runs, if a person looks.
func (p *program) progress(jobs int) *progress {
	shown := &progress{jobs: make([]int, jobs)}
	if p.Terminal {
		shown.bar = progressbar.NewOptions(jobs*thousand,
			progressbar.OptionSetWriter(p.Stderr), progressbar.OptionSetDescription("simulating"),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(40), progressbar.OptionClearOnFinish())
	}
	return shown
}

// Show goes by the share of the nodes that are updated.
func (s *progress) Show(job int, t *trace) {
	if s.bar == nil || t.desired == 0 {
		return
	}
	// One node of a large fleet is less than the bar can show: lock only for what is seen.
	if done := t.updated * thousand / t.desired; done != s.jobs[job] {
		s.set(job, min(done, thousand-1))
	}
}

// Done ends a run.
func (s *progress) Done(job int) {
	if s.bar != nil {
		s.set(job, thousand)
	}
}

func (s *progress) set(job, done int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.total += done - s.jobs[job]
	s.jobs[job] = done
	if s.total > s.shown { // a run that goes back does not take the bar back
		s.shown = s.total
		_ = s.bar.Set(s.shown) // an error of a terminal is nothing to stop for
	}
}

// Finish takes the bar away.
func (s *progress) Finish() {
	if s.bar != nil {
		_ = s.bar.Finish()
	}
}
