package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Revision is one row of the table of revisions.
type Revision struct {
	Number int64  `json:"number"`
	Name   string `json:"name"`
	Hash   string `json:"hash"`
	// Pods is how many pods of the set carry the hash. It includes terminating and finished ones.
	Pods int `json:"pods"`
	// Role is "update", "stable", "update, stable" or empty.
	Role string `json:"role,omitempty"`
	// Action is what the plan does with the revision: "create", "renumber", "delete" or empty.
	Action string `json:"action,omitempty"`

	data   []byte
	origin string // where it was read; empty for a revision to create
}

// revisionObjects are the revisions of the set, and the revision that the plan creates.
func (r *Result) revisionObjects() []*appsv1.ControllerRevision {
	objects := slices.Clone(r.Snapshot.Revisions)
	for _, action := range r.Plan.Revisions {
		if action.Object != nil {
			objects = append(objects, action.Object)
		}
	}
	return objects
}

// revisions lists the set's revisions and the one that the plan creates, the newest first.
func (r *Result) revisions() []Revision {
	actions := make(map[string]rollout.RevisionAction)
	for _, action := range r.Plan.Revisions {
		actions[action.Name] = action
	}
	pods := make(map[string]int)
	for _, pod := range r.Snapshot.Pods {
		pods[pod.Labels[appsv1.ControllerRevisionHashLabelKey]]++
	}
	var list []Revision
	for _, object := range r.revisionObjects() {
		one := Revision{Number: object.Revision, Name: object.Name, Hash: history.HashOf(object), data: object.Data.Raw,
			origin: r.Input.Origin(object)}
		if action, ok := actions[object.Name]; ok {
			one.Action = action.Verb.String()
			one.Number = action.Number
		}
		one.Pods = pods[one.Hash]
		var roles []string
		if one.Hash == r.Plan.Status.UpdateRevision {
			roles = append(roles, "update")
		}
		if one.Hash == r.Plan.Status.StableRevision {
			roles = append(roles, "stable")
		}
		one.Role = strings.Join(roles, ", ")
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func (r *Result) reportRevisions(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REVISION\tNAME\tHASH\tPODS\tROLE")
	all := r.revisions()
	shown := all
	if r.brief && len(all) > briefRevisions {
		shown, r.omits = all[:briefRevisions], true
	}
	for _, one := range shown {
		role := one.Role
		if one.Action != "" {
			role = strings.TrimPrefix(role+"; to "+one.Action, "; ")
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\n", text.Cells(one.Number, one.Name, one.Hash, one.Pods, cmp.Or(role, "-"))...)
	}
	_ = table.Flush() // it writes to memory
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(out, "and %s\n", text.Counted(more, "more revision"))
	}
}

// Differs reports whether the update changes any pod.
func (r *Result) Differs() bool { return len(r.outdated()) > 0 }

// Diff shows, for every other revision that pods carry, what the update changes in them. The revision that most pods carry comes
// first.
func (r *Result) Diff(out io.Writer) error {
	target, err := history.Data(&r.Spec.Template)
	if err != nil {
		return err
	}
	if _, err := history.DiffData(target, target); err != nil {
		return fmt.Errorf("%s: spec.template: %w", r.Input.SetPlace(r.Set), err)
	}
	r.warn(out)
	known := make(map[string]Revision)
	for _, one := range r.revisions() {
		known[one.Hash] = one
	}
	newest := known[r.Plan.Status.UpdateRevision]
	outdated := r.outdated()
	if len(outdated) == 0 {
		fmt.Fprintf(out, "Every pod is at revision %d (%s): the update restarts nothing.\n",
			text.Cells(newest.Number, newest.Name)...)
	}
	for _, group := range outdated {
		from, ok := known[group.hash]
		if !ok {
			fmt.Fprintf(out, "%s at revision hash %q, which is not stored: what changes is not known, %s.\n",
				text.Agree(group.pods, "pod is", "pods are"), group.hash, restart(group.pods))
			continue
		}
		changes, err := history.DiffData(from.data, target)
		changes = slices.DeleteFunc(changes, isLeftover)
		if err != nil {
			// The planner cannot read the revision either, so no pod of it counts as updated.
			fmt.Fprintf(out, "%s at revision %d (%s), whose data cannot be read (%s): what changes is not known, %s.\n",
				text.Cells(text.Agree(group.pods, "pod is", "pods are"), from.Number, from.Name, from.origin,
					restart(group.pods))...)
			continue
		}
		update := r.verdict(from.data)
		fmt.Fprintf(out, "%s at revision %d (%s); from there to revision %d (%s) %s, and %s:\n",
			text.Cells(text.Agree(group.pods, "pod is", "pods are"), from.Number, from.Name, newest.Number, newest.Name,
				text.Agree(len(changes), "value changes", "values change"), consequence(changes, update))...)
		for _, change := range changes {
			line := change.String()
			if update != nil { // whether pods restart then depends on all changes together
				line = strings.TrimSuffix(line, " (restarts)")
			}
			fmt.Fprintf(out, "  %s\n", text.Printable(line))
		}
		r.reportObstacles(out, group.hash, update)
		if update != nil && update.InPlace() && !update.Restarts() {
			reportNoRestart(out, inPlaceChanges(update))
		}
	}
	return nil
}

// isLeftover reports whether the change is that of a field which old versions of Kubernetes wrote into revisions without a value.
// Nobody changed it.
func isLeftover(change history.Change) bool { return change.Path == "metadata.creationTimestamp" }

func restart(pods int) string {
	if pods == 1 {
		return "it restarts"
	}
	return "they restart"
}

// carried is a revision hash with the number of pods that carry it.
type carried struct {
	hash string
	pods int
}

// outdated counts the live pods of each revision but the update revision.
func (r *Result) outdated() []carried {
	pods := make(map[string]int)
	for _, pod := range r.Snapshot.Pods {
		hash := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
		if pod.DeletionTimestamp == nil && hash != r.Plan.Status.UpdateRevision {
			pods[hash]++
		}
	}
	var list []carried
	for hash, n := range pods {
		list = append(list, carried{hash, n})
	}
	slices.SortFunc(list, func(a, b carried) int {
		return cmp.Or(cmp.Compare(b.pods, a.pods), cmp.Compare(a.hash, b.hash))
	})
	return list
}
