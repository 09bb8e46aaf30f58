package simulation

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how much of all runs is done.
type progress struct {
	mutex sync.Mutex
	bar   *progressbar.ProgressBar // nil: there is no terminal
	jobs  []int                    // thousandths of each run that are done
	total int
	shown int
}

// thousand is what the bar counts for each run.
const thousand = 1000

// progress begins a bar for that many runs, if there is a terminal.
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

// Show sets the progress of a run to the share of its nodes that are updated.
func (s *progress) Show(job int, t *trace) {
	if s.bar == nil || t.desired == 0 {
		return
	}
	// One node of a large fleet is less than the bar can show. The mutex is locked only if the bar changes.
	if done := t.Version.Now * thousand / t.desired; done != s.jobs[job] {
		s.set(job, min(done, thousand-1))
	}
}

// Done sets the progress of a run to its end.
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
	if s.total > s.shown { // the bar does not go back if a run does
		s.shown = s.total
		_ = s.bar.Set(s.shown) // an error of the terminal must not stop the program
	}
}

// Finish removes the bar.
func (s *progress) Finish() {
	if s.bar != nil {
		_ = s.bar.Finish()
	}
}
