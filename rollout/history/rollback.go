package history

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// A rollback puts an older template into the spec. That its revision then gets the highest number (R3) is up to Resolve.

// These are the errors of a rollback, beside ErrUnreadable and the errors of Compile and Resolve.
var (
	// ErrNoRevision: no revision has the number.
	ErrNoRevision = errors.New("no such revision")
	// ErrNothingToRollBackTo: every revision has the template that the spec has already.
	ErrNothingToRollBackTo = errors.New("nothing to roll back to")
)

// RollbackPlan is what a rollback would do.
type RollbackPlan struct {
	// Revision is the one to go back to, as given.
	Revision *appsv1.ControllerRevision
	// Template is to be put into the spec. Resolve then finds Revision and gives it the highest number (R3).
	Template *corev1.PodTemplateSpec
	// Changes are those from the current template to Template, as the function [Changes] returns them. If the spec has
	// this revision's template already, they are empty, or none of them restarts pods.
	Changes []Change
}

// Rollback plans the return to a revision: the one of the given number or, for number 0, the previous one, which is
// the highest whose data is not the current template's (R2). Of several with one number the last by name counts.
// The revisions are those of one set, in any order.
//
// Errors: ErrNoTemplate for a nil current template; ErrNilRevision, ErrNoName, ErrDuplicateRevision;
// ErrNoRevision, naming the numbers there are; ErrNothingToRollBackTo; ErrUnreadable if the revision to go back to
// cannot be decoded in full. An unreadable previous revision is an error and not passed over, because that would go back
// further than was asked for.
func Rollback(
	revisions []*appsv1.ControllerRevision, current *corev1.PodTemplateSpec, number int64,
) (RollbackPlan, error) {
	data, err := Data(current)
	if err != nil {
		return RollbackPlan{}, err
	}
	known, err := sorted(slices.Clone(revisions))
	if err != nil {
		return RollbackPlan{}, err
	}
	revision, err := rollbackTarget(known, data, number)
	if err != nil {
		return RollbackPlan{}, err
	}
	template, err := Template(revision)
	if err != nil {
		return RollbackPlan{}, err
	}
	return RollbackPlan{Revision: revision, Template: template, Changes: Changes(current, template)}, nil
}

// rollbackTarget picks the revision; known is sorted, oldest first.
func rollbackTarget(
	known []*appsv1.ControllerRevision, current []byte, number int64,
) (*appsv1.ControllerRevision, error) {
	for _, revision := range slices.Backward(known) {
		if number == 0 && !SameData(current, revision.Data.Raw) ||
			number != 0 && revision.Revision == number {
			return revision, nil
		}
	}
	if number == 0 {
		return nil, ErrNothingToRollBackTo
	}
	numbers := make([]string, len(known))
	for i, revision := range known {
		numbers[i] = strconv.FormatInt(revision.Revision, 10)
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("%w: %d; the history is empty", ErrNoRevision, number)
	}
	return nil, fmt.Errorf("%w: %d; there are %s", ErrNoRevision, number, strings.Join(numbers, ", "))
}
