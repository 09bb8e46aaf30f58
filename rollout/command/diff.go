package command

import (
	"fmt"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// Difference is what the template of one revision changes in that of another.
type Difference struct {
	// From and To are the names of the revisions, or their hashes if there are no such objects.
	From, To string
	// Changes by path; nil if From is To.
	Changes []history.Change
}

// CompareRevisions compares two revisions: if one is on trial or has failed, the active revision with that one, else the stable
// revision with the one that is rolled out. Before there is another revision the two are the same. The error says which
// revision is not there or cannot be read.
func CompareRevisions(v View) (Difference, error) {
	from, to := v.active(), v.tried()
	if !v.onTrial() {
		from, to = v.Plan.Status.StableRevision, v.Plan.Status.UpdateRevision
	}
	d := Difference{From: v.name(from), To: v.name(to)}
	if from == to {
		return d, nil
	}
	old, err := v.data(from)
	if err != nil {
		return Difference{}, err
	}
	update, err := v.data(to)
	if err != nil {
		return Difference{}, err
	}
	if d.Changes, err = history.DiffData(old, update); err != nil {
		return Difference{}, fmt.Errorf("%s or %s: %w", d.From, d.To, err)
	}
	return d, nil
}

// data returns the data of the revision of that hash. That of the update revision is made from the spec, because the revision may
// not be stored yet.
func (v *View) data(hash string) ([]byte, error) {
	if revision := v.revision(hash); revision != nil {
		return revision.Data.Raw, nil
	}
	if hash != "" && hash == v.Plan.Status.UpdateRevision {
		return history.Data(&v.Spec.Template)
	}
	return nil, fmt.Errorf("there is no revision with the hash %q", hash)
}
