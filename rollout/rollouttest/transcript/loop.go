package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// run: run [1m]. Plans and executes whenever something has happened or NextWake has come, and at no other time,
// until everything rests, or for that long. One line for each plan that has actions, another NextWake or another state of
// the canary or of the parts, and one for the last.
func (s *stage) run(a *arguments) error {
	began := s.cluster.Now()
	var limit time.Duration
	if text := a.next(); text != "" {
		var err error
		if limit, err = lasting(text); err != nil {
			return err
		}
	}
	columns := []string{"NEXT WAKE", "PLAN"}
	tried, staged := s.cluster.Spec().Strategy.Canary != nil, s.staged()
	if staged {
		columns = slices.Insert(columns, 0, "PARTS")
	}
	if tried {
		columns = slices.Insert(columns, 0, "CANARY")
	}
	rows := [][]string{slices.Concat([]string{"AFTER"}, counterNames, columns)}
	last, err := s.runOn(limit, func(p planned) {
		wake := "none"
		if !p.plan.NextWake.IsZero() {
			wake = p.plan.NextWake.Sub(began).String()
		}
		does := "nothing to do"
		if len(p.actions) > 0 {
			does = strings.Join(p.actions, "; ")
		}
		rest := []string{wake, does}
		if staged {
			rest = slices.Insert(rest, 0, partsState(p.plan))
		}
		if tried {
			rest = slices.Insert(rest, 0, s.canaryState(p.plan))
		}
		rows = append(rows, slices.Concat([]string{p.at.Sub(began).String()}, counters(p.plan), rest))
	})
	if err != nil {
		return err
	}
	s.table(rows...)
	s.row(last)
	s.rest(last)
	return nil
}

// lasting is a duration in which time passes.
func lasting(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("no time passes in %s", d)
	}
	return d, err
}

// install is run, with nothing but the outcome shown.
func (s *stage) install(*arguments) error {
	last, err := s.runOn(0, func(planned) {})
	if err != nil {
		return err
	}
	s.row(last)
	s.rest(last)
	return nil
}

// planned is one plan of a run.
type planned struct {
	at      time.Time
	plan    rollout.Plan
	actions []string
}

const (
	// restful is for how long nothing may happen until everything counts as resting: longer than pods take to start.
	restful = 10 * time.Second
	// longest is for how long a story may go on by itself.
	longest = time.Hour
)

// runOn is the loop of run; without a limit it goes on until everything rests. It returns the plan of that instant,
// which is not executed.
func (s *stage) runOn(limit time.Duration, tell func(planned)) (rollout.Plan, error) {
	var last planned
	var told time.Time // the NextWake that was last told
	trial := ""        // the state of the canary and of the parts that was last told
	seen, stale, quiet := -1, false, time.Duration(0)
	for end := s.cluster.Now().Add(cmp.Or(limit, longest)); s.cluster.Now().Before(end); {
		wake := last.plan.NextWake
		if stale || len(s.cluster.Events()) != seen || !wake.IsZero() && !s.cluster.Now().Before(wake) {
			quiet, seen = 0, len(s.cluster.Events())
			plan, claims, err := s.plan()
			if err != nil {
				return plan, err
			}
			last = planned{at: s.cluster.Now(), plan: plan, actions: s.actions(plan)}
			state := s.canaryState(plan)
			if s.staged() {
				state += partsState(plan)
			}
			if len(last.actions) > 0 || !plan.NextWake.IsZero() && !plan.NextWake.Equal(told) || state != trial {
				tell(last)
				told, trial, last.at = plan.NextWake, state, time.Time{}
			}
			if err := s.execute(plan, claims); err != nil {
				return plan, err
			}
			// With a lagging view, what is seen next changes although nothing happens.
			stale = s.cluster.Behind()
		} else if quiet += time.Second; quiet > restful && wake.IsZero() && s.rests() {
			break
		}
		if err := s.tick(time.Second); err != nil {
			return rollout.Plan{}, err
		}
	}
	if !last.at.IsZero() {
		tell(last)
	}
	s.told = len(s.cluster.Events())
	plan, _, err := s.plan()
	if err == nil && limit == 0 && (!plan.Empty() || !plan.NextWake.IsZero()) {
		err = errors.New("does not come to rest")
	}
	return plan, err
}

// rests tells whether nothing happens by itself any more. What is held never comes to an end.
func (s *stage) rests() bool { return s.cluster.Next().IsZero() || len(s.failing)+len(s.down) > 0 }
