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

// warnUnused prints which rules and events in the world file applied to nothing under any seed. Most often a name or label is
// misspelt.
func (p *program) warnUnused(e *experiment, outcomes []*outcome) {
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
	for _, path := range paths {
		of := ""
		if len(labels[path]) < len(outcomes) {
			of = " of " + strings.Join(labels[path], ", ")
		}
		p.warnPath(e, path, of)
	}
}

// warnPath prints one path. Of is empty, or names the candidates in whose runs it applied to nothing.
func (p *program) warnPath(e *experiment, path, of string) {
	what := "this rule applied to no pod"
	if strings.HasPrefix(path, "events") {
		what = "this event happened to no node"
	}
	p.tell(e, fmt.Sprintf("%s: %s: %s%s", e.question.World, path, what, of))
}
