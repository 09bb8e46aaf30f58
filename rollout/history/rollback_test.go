package history_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestRollback(t *testing.T) {
	for _, row := range []struct {
		name, why string
		revisions []rev
		number    int64
		to        string
		changes   []string
		err       error
		says      string
	}{
		{
			name: "previous", why: "the highest that differs, in whatever order they come",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"b", 5, "v2"}},
			to:        "b", changes: []string{`spec.containers[main].image: "v3" -> "v2" (restarts)`},
		},
		{
			name: "template not snapshotted", why: "the newest revision is then the previous one",
			revisions: []rev{{"b", 5, "v2"}, {"a", 1, "v1"}},
			to:        "b", changes: []string{`spec.containers[main].image: "v3" -> "v2" (restarts)`},
		},
		{
			name: "duplicates of the current", why: "they would change nothing (R2)",
			revisions: []rev{{"c", 8, "v3"}, {"d", 9, "v3"}, {"a", 1, "v1"}},
			to:        "a", changes: []string{`spec.containers[main].image: "v3" -> "v1" (restarts)`},
		},
		{
			name: "given number", why: "any revision can be gone back to",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"b", 5, "v2"}}, number: 1,
			to: "a", changes: []string{`spec.containers[main].image: "v3" -> "v1" (restarts)`},
		},
		{
			name: "current number", why: "asked for by number it is no error, there is just no change",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}}, number: 9, to: "c",
		},
		{
			name: "number twice", why: "the last by name, as everywhere",
			revisions: []rev{{"b", 1, "v2"}, {"a", 1, "v1"}}, number: 1,
			to: "b", changes: []string{`spec.containers[main].image: "v3" -> "v2" (restarts)`},
		},
		{
			name: "negative number", why: "a number like any other",
			revisions: []rev{{"b", -1, "v2"}}, number: -1,
			to: "b", changes: []string{`spec.containers[main].image: "v3" -> "v2" (restarts)`},
		},
		{
			name: "no such number", why: "the error names those there are",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}}, number: 4,
			err: history.ErrNoRevision, says: "no such revision: 4; there are 1, 9",
		},
		{
			name: "no such number among higher ones", why: "numbers are written as people count",
			revisions: []rev{{"c", 120, "v3"}, {"a", 11, "v1"}}, number: 4,
			err: history.ErrNoRevision, says: "no such revision: 4; there are 11, 120",
		},
		{
			name: "no history", why: "the error says so", number: 4,
			err: history.ErrNoRevision, says: "no such revision: 4; the history is empty",
		},
		{
			name: "nothing previous", why: "all is the current template",
			revisions: []rev{{"c", 9, "v3"}, {"d", 1, "v3"}}, err: history.ErrNothingToRollBackTo,
		},
		{name: "nothing at all", why: "there is no history", err: history.ErrNothingToRollBackTo},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			var revisions []*appsv1.ControllerRevision
			for _, r := range row.revisions {
				revisions = append(revisions, revisionOf(t, r.hash, r.number, image(r.image)))
			}
			before := slices.Clone(revisions)
			got, err := history.Rollback(revisions, image("v3"), row.number)
			if !errors.Is(err, row.err) || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Fatalf("error %v, want %v %q", err, row.err, row.says)
			}
			if !slices.Equal(before, revisions) {
				t.Error("the revisions were reordered")
			}
			if row.err != nil {
				if !cmp.Equal(got, history.RollbackPlan{}) {
					t.Errorf("a plan beside an error: %+v", got)
				}
				return
			}
			if history.HashOf(got.Revision) != row.to {
				t.Errorf("%s: to %s, want %s", row.why, history.HashOf(got.Revision), row.to)
			}
			if diff := cmp.Diff(row.changes, lines(got.Changes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !history.SameData(mustData(got.Template), got.Revision.Data.Raw) {
				t.Errorf("template %+v", got.Template)
			}
		})
	}
}

func TestRollbackToUnreadable(t *testing.T) {
	revisions := []*appsv1.ControllerRevision{
		revisionOf(t, "a", 1, image("v1")), revisionOf(t, "b", 2, image("v2")), revisionOf(t, "c", 3, image("v3")),
	}
	revisions[1].Data.Raw = []byte("{")
	for _, number := range []int64{0, 2} {
		_, err := history.Rollback(revisions, image("v3"), number)
		if !errors.Is(err, history.ErrUnreadable) || !strings.Contains(err.Error(), `"agent-b"`) {
			t.Errorf("number %d: %v", number, err)
		}
	}
	if got, err := history.Rollback(revisions, image("v3"), 1); err != nil || got.Revision.Name != "agent-a" {
		t.Errorf("%+v, %v", got, err)
	}
}

type rollingBack func(w world, number int64) (history.RollbackPlan, error)

// comesBack: with the planned template in the spec the revision gone back to is the update revision again, and its
// number the highest.
func comesBack(rollback rollingBack) func(world) error {
	return func(w world) error {
		got, err := rollback(w, 0)
		if errors.Is(err, history.ErrNothingToRollBackTo) || errors.Is(err, history.ErrUnreadable) {
			return nil // what a history may lack
		}
		if err != nil {
			return err
		}
		resolver, err := history.Compile(history.Set{Name: "agent"}, got.Template)
		if err != nil {
			return err
		}
		resolution, err := resolver.Resolve(w.in)
		switch {
		case err != nil:
			return err
		case !history.SameData(resolver.Data(), got.Revision.Data.Raw):
			return errors.New("the template is not that of the revision")
		case resolution.Create != nil:
			return errors.New("a new revision is created")
		case history.SameData(mustData(w.template), resolver.Data()) || !history.Restarts(got.Changes):
			return errors.New("nothing is rolled back")
		case !slices.Equal(got.Changes, history.Changes(w.template, got.Template)):
			return fmt.Errorf("changes %q", got.Changes)
		}
		matching, others := split(world{got.Template, w.in})
		if !slices.Contains(matching, resolution.Update.Existing) || resolution.Update.Number < got.Revision.Revision {
			return fmt.Errorf("update revision %+v", resolution.Update)
		}
		for _, other := range others {
			if other.Revision >= resolution.Update.Number && other.Revision < math.MaxInt64 {
				return fmt.Errorf("number %d is not the highest", resolution.Update.Number)
			}
			if other.Revision > got.Revision.Revision && !naiveSame(mustData(w.template), other.Data.Raw) {
				return errors.New("not the previous one")
			}
		}
		return nil
	}
}

func planRollback(w world, number int64) (history.RollbackPlan, error) {
	return history.Rollback(w.in.Revisions, w.template, number)
}

func TestRollbackProperty(t *testing.T) {
	property := comesBack(planRollback)
	rapid.Check(t, func(t *rapid.T) {
		if err := property(worlds().Draw(t, "world")); err != nil {
			t.Fatal(err)
		}
	})
}
