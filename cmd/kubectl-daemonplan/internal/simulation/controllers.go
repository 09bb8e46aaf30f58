package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
)

// checkControllers refuses controllers that are not known or given twice.
func (q *question) checkControllers() error {
	for i, name := range q.Controllers {
		if _, err := controllers.Parse(name); err != nil {
			return err
		}
		if slices.Contains(q.Controllers[:i], name) {
			return fmt.Errorf("--controller %s is given twice", name)
		}
	}
	return nil
}

// runControllers makes of each candidate one for each controller that was asked for. The labels then say whose behaviour is
// shown.
func (e *experiment) runControllers() error {
	if len(e.Controllers) == 0 {
		return nil
	}
	var list []*candidate
	for _, c := range e.Candidates {
		for _, name := range e.Controllers {
			run := *c
			run.Label, run.Controller = c.Label+" by "+name, controllers.Name(name)
			if err := run.Controller.Runs(c.Set); err != nil {
				return err
			}
			if note := run.Controller.Disobeyed(c.Set); note != "" {
				e.Notes = append(e.Notes, run.Label+": "+note)
			}
			list = append(list, &run)
		}
	}
	e.Candidates = list
	return nil
}

// oneController refuses several controllers, for commands that answer for one.
func (q *question) oneController(command string) error {
	if len(q.Controllers) > 1 {
		return fmt.Errorf("%s answers for one --controller, not for %s; simulate compares them", command,
			strings.Join(q.Controllers, " and "))
	}
	return nil
}
