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

// runControllers makes of each candidate one for each controller that was asked for, else one for the controller that runs such
// sets. Where there are several the labels say whose behaviour it is.
func (e *experiment) runControllers() error {
	var list []*candidate
	used := make(map[string]bool)
	for _, c := range e.Candidates {
		var names []controllers.Name
		for _, argument := range e.Controllers {
			if label, name := controllerOf(argument); label == "" || label == c.Label {
				names = append(names, controllers.Name(name))
				used[argument] = true
			}
		}
		if names == nil {
			names = []controllers.Name{controllers.Name("").For(c.Set)}
		}
		for _, name := range names {
			run := *c
			if len(names) > 1 {
				run.Label += " by " + string(name)
			}
			if err := run.by(name); err != nil {
				return err
			}
			if note := name.Disobeyed(c.Set); note != "" {
				e.Notes = append(e.Notes, run.Label+": "+note)
			}
			if note := run.takeover(); note != "" {
				e.Notes = append(e.Notes, run.Label+": "+note)
			}
			list = append(list, &run)
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

// takeover says that a canary of the ExtendedDaemonSet controller is lost when another one takes the set over; empty: none is.
func (c *candidate) takeover() string {
	if c.Controller != controllers.Daemonplan || c.Running == nil || c.Running.Revised ||
		len(c.Running.Memory.Canary.Nodes) == 0 || len(c.Cluster.ReplicaSetsOf(c.Running)) == 0 {
		return ""
	}
	return "a canary of the ExtendedDaemonSet controller is under way, which this controller does not go on with: " +
		"it takes the template for a first installation, and rolls it out"
}

// by gives the candidate a controller: of its spec remains what that one obeys.
func (c *candidate) by(name controllers.Name) error {
	if err := name.Runs(c.Set); err != nil {
		return err
	}
	obeyed := *c.Set
	obeyed.Spec = name.Obeyed(c.Set.Spec)
	c.Set, c.Controller = &obeyed, name
	if c.Running == nil || name != controllers.EDS {
		return nil
	}
	running := *c.Running
	running.Spec = obeyed.Spec
	c.Cluster.Adopt(&running, c.Running)
	seen, _, err := name.Snapshot(c.Cluster, &running, c.Fleet.Snapshot.Now)
	c.Fleet.Snapshot = &seen
	return err
}

// whose says first whose behaviour it is: of all specs, or of each one if they differ.
func (e *experiment) whose() (lines []string) {
	for _, c := range e.Candidates {
		lines = append(lines, c.Controller.Whose(c.Set))
	}
	if one := slices.Compact(slices.Clone(lines)); len(one) == 1 {
		return one
	}
	for i, c := range e.Candidates {
		lines[i] = c.Label + ": " + lowered(lines[i])
	}
	return lines
}

// lowered is the text with a small letter at the beginning.
func lowered(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// tellWhose prints whose behaviour it is.
func (p *program) tellWhose(e *experiment) {
	for _, line := range e.whose() {
		fmt.Fprintln(p.Stdout, line)
	}
}

// oneController refuses several controllers, for commands that answer for one.
func (q *question) oneController(command string) error {
	if len(q.Controllers) > 1 {
		return fmt.Errorf("%s answers for one --controller, not for %s; simulate compares them", command,
			strings.Join(q.Controllers, " and "))
	}
	return nil
}
