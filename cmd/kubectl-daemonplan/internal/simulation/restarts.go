package simulation

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// restartless says of each candidate that changes annotations in place, and with them no container: some annotations stand for a
// configuration that is read when a container starts, and its owner expects that.
func (e *experiment) restartless() []string {
	var lines []string
	for _, c := range e.Candidates {
		spec := c.Set.Spec.Default()
		if spec.Strategy.Method == inplace.Recreate {
			continue
		}
		var keys []string
		for _, running := range c.running() {
			update := inplace.Compare(running, &spec.Template, spec.Strategy.InPlace)
			if !update.InPlace() || update.Restarts() {
				continue
			}
			for _, change := range update.Annotations {
				keys = append(keys, change.Key)
			}
		}
		slices.Sort(keys)
		if keys = slices.Compact(keys); len(keys) > 0 {
			lines = append(lines, text.Printable(fmt.Sprintf(
				"%s: no container restarts: what reads its configuration when it starts goes on with the old one (%s)",
				c.Label, strings.Join(keys, ", "))))
		}
	}
	return lines
}

// excluded says of each candidate that new pods cannot be bound beside those that run, so that its maxSurge never ends.
func (e *experiment) excluded() []string {
	var lines []string
	for _, c := range e.Candidates {
		planner, err := rollout.New(c.Set.Spec)
		if err != nil {
			continue // that is said where it is simulated
		}
		for _, running := range c.running() {
			if found := planner.Exclusions(running, c.Fleet.Claims); len(found) > 0 {
				lines = append(lines, text.Printable(fmt.Sprintf(
					"%s: with maxSurge no new pod can be bound beside one that runs: %s (%s)", c.Label, found[0], found[0].Path)))
				break
			}
		}
	}
	return lines
}

// running are the templates of the pods that the fleet begins with, as far as their revisions can be read.
func (c *candidate) running() []*corev1.PodTemplateSpec {
	var templates []*corev1.PodTemplateSpec
	if c.Fleet.Running != nil {
		templates = append(templates, &c.Fleet.Running.Template)
	}
	if c.Fleet.Snapshot == nil {
		return templates
	}
	carried := make(map[string]bool)
	for _, pod := range c.Fleet.Snapshot.Pods {
		carried[pod.Labels[appsv1.ControllerRevisionHashLabelKey]] = true
	}
	for _, revision := range c.Fleet.Snapshot.Revisions {
		if !carried[history.HashOf(revision)] {
			continue
		}
		if template, err := history.Template(revision); err == nil {
			templates = append(templates, template)
		}
	}
	return templates
}
