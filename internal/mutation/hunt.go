package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"
	"time"
)

// status of a mutant after a run.
type status string

const (
	killed      status = "killed"
	expired     status = "timed out" // killed by a limit: an endless loop, mostly
	lived       status = "lived"
	uncovered   status = "not covered"
	notTried    status = "not tried" // time was up, or only tests reach it that take longer than the effort
	unbuildable status = "does not compile"
)

// result is what became of a mutant.
type result struct {
	Mutant *mutant `json:"mutant"`
	Status status  `json:"status"`
	Test   string  `json:"test,omitempty"`  // that killed it
	Suite  string  `json:"suite,omitempty"` // package of that test
	Same   bool    `json:"same,omitempty"`  // lived because it never made a difference where a test reached it
	Left   int     `json:"left,omitempty"`  // tests that make a difference to it and were not run, for the effort
}

// hunter runs tests on mutants.
type hunter struct {
	effort   time.Duration  // tests worth a mutant, by their processor time without it; 0: all
	tests    *regexp.Regexp // only those that match; nil: all
	grace    time.Duration  // processor time that a run may take beyond five times that of its tests
	deadline time.Time      // when to begin no more mutants; zero: never
	stopped  <-chan struct{}
	progress io.Writer // told now and then how far the hunt is
	parallel int

	mutex     sync.Mutex
	favourite map[string]*test // the test that killed the last mutant of a function
}

// first is the processor time of the tests that are run together first. Each further run may take growth times as much: most
// mutants fall to the first, and a process for each test would cost more than the tests.
const (
	first  = 250 * time.Millisecond
	growth = 4
)

// reportEvery is how often a long run says how far it is.
const reportEvery = 30 * time.Second

// hunt tries mutants, in this order, against a suite.
func (h *hunter) hunt(s *suite, mutants []*mutant) []result {
	results := make([]result, len(mutants))
	told, alive := time.Now(), 0
	_ = inParallel(h.parallel, len(mutants), func(i int) error {
		results[i] = h.try(s, mutants[i])
		h.mutex.Lock()
		defer h.mutex.Unlock()
		if results[i].Status == lived {
			alive++
		}
		if time.Since(told) > reportEvery && !h.over() {
			told = time.Now()
			fmt.Fprintf(h.progress, "%s: mutant %d of %d, %d alive\n", s.dir, i+1, len(mutants), alive)
		}
		return nil
	})
	return results
}

// over says whether to begin no more mutants.
func (h *hunter) over() bool {
	return h.interrupted() || !h.deadline.IsZero() && time.Now().After(h.deadline)
}

func (h *hunter) interrupted() bool {
	select {
	case <-h.stopped:
		return true
	default:
		return false
	}
}

func (h *hunter) try(s *suite, m *mutant) result {
	candidates, reached := s.against(m.ID)
	slow := slices.ContainsFunc(s.slow, func(t *test) bool { return t.reaches[m.ID] })
	switch {
	case h.over():
		return result{Mutant: m, Status: notTried}
	case len(candidates) == 0 && slow:
		return result{Mutant: m, Status: notTried, Left: 1}
	case len(candidates) == 0 && reached:
		return result{Mutant: m, Status: lived, Same: true}
	case len(candidates) == 0:
		return result{Mutant: m, Status: uncovered}
	}
	place := m.File + " " + m.Function
	h.mutex.Lock()
	favourite := h.favourite[place]
	h.mutex.Unlock()
	runs, left := plan(candidates, favourite, h.effort)
	for _, tests := range runs {
		var cost time.Duration
		for _, t := range tests {
			cost += t.cost
		}
		// A mutant may do more work than the original without being endless.
		_, outcome, name := s.run(tests, m.ID, "", 5*cost+h.grace)
		if h.interrupted() { // and so may the tests have been
			return result{Mutant: m, Status: notTried}
		}
		switch outcome {
		case failed:
			if i := slices.IndexFunc(tests, func(t *test) bool { return t.name == name }); i >= 0 {
				h.mutex.Lock()
				h.favourite[place] = tests[i]
				h.mutex.Unlock()
			}
			return result{Mutant: m, Status: killed, Test: name, Suite: s.dir}
		case timedOut:
			return result{Mutant: m, Status: expired, Suite: s.dir}
		case passed:
		}
	}
	if slow {
		left += len(s.slow)
	}
	return result{Mutant: m, Status: lived, Left: left}
}

// against returns the tests in which a mutant makes a difference, cheapest first, and whether any reaches it at all.
func (s *suite) against(id int) (candidates []*test, reached bool) {
	for _, t := range s.tests {
		differs, reaches := t.reaches[id]
		reached = reached || reaches
		if differs {
			candidates = append(candidates, t)
		}
	}
	return candidates, reached
}

// plan divides tests into runs of growing cost, with the favourite in the first. It stops at the effort and says how many
// tests it leaves out.
func plan(candidates []*test, favourite *test, effort time.Duration) (runs [][]*test, left int) {
	if i := slices.Index(candidates, favourite); i > 0 && favourite.cost < 4*first {
		candidates = slices.Concat([]*test{favourite}, candidates[:i], candidates[i+1:])
	}
	var total, cost time.Duration
	limit := first
	for i, t := range candidates {
		if effort > 0 && i > 0 && total+t.cost > effort {
			return runs, len(candidates) - i
		}
		if len(runs) == 0 || cost > 0 && cost+t.cost > limit {
			if len(runs) > 0 {
				limit *= growth
			}
			runs, cost = append(runs, nil), 0
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], t)
		cost += t.cost
		total += t.cost
	}
	return runs, 0
}

// inParallel calls do for each number below n, so many at a time, in ascending order, and returns the first error.
func inParallel(parallel, n int, do func(i int) error) error {
	var (
		group sync.WaitGroup
		mutex sync.Mutex
		next  int
		fault error
	)
	for range parallel {
		group.Go(func() {
			for {
				mutex.Lock()
				i := next
				next++
				stop := fault != nil
				mutex.Unlock()
				if i >= n || stop {
					return
				}
				if err := do(i); err != nil {
					mutex.Lock()
					if fault == nil {
						fault = err
					}
					mutex.Unlock()
				}
			}
		})
	}
	group.Wait()
	return fault
}
