package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
)

// controllerOf splits an argument of --controller: a controller for all specs, or LABEL=CONTROLLER for one.
func controllerOf(argument string) (label, name string) {
	if label, name, found := strings.Cut(argument, "="); found {
		return label, name
	}
	return "", argument
}

// checkControllers refuses controllers that are not known or given twice.
func (q *question) checkControllers() error {
	for i, argument := range q.Controllers {
		_, name := controllerOf(argument)
		if _, err := controllers.Parse(name); err != nil {
			return err
		}
		if slices.Contains(q.Controllers[:i], argument) {
			return fmt.Errorf("--controller %s is given twice", argument)
		}
	}
	return nil
}

// runControllers makes of each candidate one for each controller that was asked for. The labels then say whose behaviour it is.
func (e *experiment) runControllers() error {
	var list []*candidate
	used := make(map[string]bool)
	for _, c := range e.Candidates {
		own := 0
		for _, argument := range e.Controllers {
			label, name := controllerOf(argument)
			if label != "" && label != c.Label {
				continue
			}
			own, used[argument] = own+1, true
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
		if own == 0 {
			list = append(list, c)
		}
	}
	for _, argument := range e.Controllers {
		if !used[argument] {
			label, _ := controllerOf(argument)
			return fmt.Errorf("--controller %s: there is no spec %s", quoted(argument), quoted(label))
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
