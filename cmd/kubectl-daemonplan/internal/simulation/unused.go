package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// unused are the paths in the world file of rules and events that applied to nothing in every run so far.
type unused struct {
	paths []string
	any   bool // there was a run
}

// add adds the reports of more runs.
func (u *unused) add(reports []simulate.Report) {
	for i := range reports {
		if !u.any {
			u.any, u.paths = true, slices.Clone(reports[i].Unused)
			continue
		}
		u.paths = slices.DeleteFunc(u.paths, func(path string) bool { return !slices.Contains(reports[i].Unused, path) })
	}
}

// warnUnused prints which rules and events in the world file applied to nothing, and keeps that for the answer.
func (p *program) warnUnused(e *experiment, outcomes []*outcome) {
	for _, line := range e.unused(outcomes) {
		p.tell(e, line)
	}
}

// warnings are what the page warns of: that nothing takes any time, annotations whose change restarts nothing, a
// maxSurge beside which no second pod can be bound, fields of the manifests that have no effect, and what applied to nothing.
func (e *experiment) warnings(outcomes []*outcome) []string {
	return slices.Concat(e.timeless(), e.restartless(), e.excluded(), e.ignored(), e.unused(outcomes))
}

// timeless says that nothing takes any time, if so.
func (e *experiment) timeless() []string {
	if e.NoTimes == nil {
		return nil
	}
	return []string{"nothing takes any time, so only waves and numbers of nodes mean anything: " + e.NoTimes.Error()}
}

// ignored says which fields of the manifests have no effect.
func (e *experiment) ignored() []string {
	var lines []string
	for _, c := range e.Candidates {
		if len(c.Set.Unknown) > 0 {
			fields := strings.Join(c.Set.Unknown, ", ")
			lines = append(lines, fmt.Sprintf("%s: ignored, as its controller would: %s", c.Place, fields))
		}
	}
	return lines
}

// unused says which rules and events in the world file applied to nothing under any seed. Most often a name or label is misspelt.
func (e *experiment) unused(outcomes []*outcome) []string {
	var paths []string // in the order of the file, as each report has them
	labels := make(map[string][]string)
	for _, o := range outcomes {
		var u unused
		u.add(o.Reports)
		for _, path := range u.paths {
			if labels[path] == nil {
				paths = append(paths, path)
			}
			labels[path] = append(labels[path], o.Label)
		}
	}
	var lines []string
	for _, path := range paths {
		of := ""
		if len(labels[path]) < len(outcomes) {
			if e.approves(path) != "" || e.retries(path) {
				continue // specs with a policy are compared with others
			}
			of = " of " + strings.Join(labels[path], ", ")
		}
		lines = append(lines, e.unusedPath(path, of))
	}
	return lines
}

// unusedPath says it of one path. Of is empty, or names the candidates in whose runs it applied to nothing.
func (e *experiment) unusedPath(path, of string) string {
	what := "this rule applied to no pod"
	switch stage := e.approves(path); {
	case stage != "":
		what = fmt.Sprintf("there is no stage %q to approve", stage)
	case e.retries(path):
		what = "the spec does not watch failures, so that nothing is retried"
	case strings.HasPrefix(path, "events"):
		what = "this event happened to no node"
	}
	return fmt.Sprintf("%s: %s: %s%s", e.question.World, path, what, of)
}

// approves is the stage that the event of that path approves; empty: it is another event, or a rule.
func (e *experiment) approves(path string) string {
	for i := range e.World.Events {
		if path == fmt.Sprintf("events[%d]", i) {
			return e.World.Events[i].Approval.Stage
		}
	}
	return ""
}

// retries reports whether the event of that path is a retry.
func (e *experiment) retries(path string) bool {
	for i := range e.World.Events {
		if path == fmt.Sprintf("events[%d]", i) {
			return e.World.Events[i].What == simulate.RetryRevision
		}
	}
	return false
}

// warnPath prints it of one path, and keeps it for the answer.
func (p *program) warnPath(e *experiment, path, of string) {
	p.tell(e, e.unusedPath(path, of))
}
