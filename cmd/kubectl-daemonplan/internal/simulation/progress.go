package simulation

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// progress shows how much of all runs is done: on a terminal as a bar, else as a line now and then.
type progress struct {
	mutex sync.Mutex
	bar   *progressbar.ProgressBar // nil: there is no terminal
	jobs  []int                    // thousandths of each run that are done
	total int
	shown int

	out    io.Writer
	every  time.Duration // between lines
	begun  time.Time
	spoken time.Time
}

// thousand is what the bar counts for each run.
const thousand = 1000

// quiet is how long nothing is said where there is no terminal.
const quiet = 15 * time.Second

// progress begins to show the progress of that many runs.
func (p *program) progress(jobs int) *progress {
	now := time.Now()
	shown := &progress{jobs: make([]int, jobs), out: p.Stderr, every: quiet, begun: now, spoken: now}
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
	if t.desired == 0 {
		return
	}
	// One node of a large fleet is less than the bar can show. The mutex is locked only if the bar changes.
	if done := t.Version.Now * thousand / t.desired; done != s.jobs[job] {
		s.set(job, min(done, thousand-1))
	}
}

// Done sets the progress of a run to its end.
func (s *progress) Done(job int) { s.set(job, thousand) }

func (s *progress) set(job, done int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.total += done - s.jobs[job]
	s.jobs[job] = done
	if s.total > s.shown { // the bar does not go back if a run does
		s.shown = s.total
		s.say(time.Now())
	}
}

// say shows what is done. An error of standard error must not stop the program.
func (s *progress) say(now time.Time) {
	switch {
	case s.bar != nil:
		_ = s.bar.Set(s.shown)
	case now.Sub(s.spoken) >= s.every:
		s.spoken = now
		_, _ = fmt.Fprintf(s.out, "simulating: %d %% of %s after %s\n", 100*s.shown/(thousand*len(s.jobs)),
			text.Counted(len(s.jobs), "run"), text.Duration(now.Sub(s.begun)))
	}
}

// Finish removes the bar.
func (s *progress) Finish() {
	if s.bar != nil {
		_ = s.bar.Finish()
	}
}
