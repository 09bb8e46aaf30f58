package history_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// named lists revisions by the last part of their names.
func named(revisions []*appsv1.ControllerRevision) string {
	var names []string
	for _, revision := range revisions {
		names = append(names, strings.TrimPrefix(revision.Name, "agent-"))
	}
	return strings.Join(names, " ")
}

func promoted(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	revision.Annotations = map[string]string{history.PromotedAnnotation: "any"}
	return revision
}

// TestTheLastPromotionIsKept: until the next mark is seen, nothing else shows what was stable (R4, C6).
func TestTheLastPromotionIsKept(t *testing.T) {
	tests := []struct {
		name, why string
		promoted  []string
		last      string
		noCanary  bool
		gone      string
	}{
		{name: "not promoted yet", why: "1 has the last mark, 2 is remembered as stable", promoted: []string{"1"}, last: "2", gone: "3"},
		{name: "promoted twice", why: "the highest of them is the last", promoted: []string{"1", "2"}, last: "3", gone: "1"},
		{name: "no mark", why: "nothing is kept for one", last: "3", gone: "1 2"},
		{name: "update promoted", why: "its own mark tells what is stable", promoted: []string{"1", "update"}, gone: "1 2 3"},
		{name: "no canary", why: "the marks are not for sets without one", promoted: []string{"1"}, noCanary: true, gone: "1 2 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := history.Input{Canary: !test.noCanary, LastStable: test.last}
			for i, name := range []string{"1", "2", "3", "update"} {
				revision := markable(t, name, int64(i)+1)
				if slices.Contains(test.promoted, name) {
					promoted(revision)
				}
				in.Revisions = append(in.Revisions, revision)
			}
			got, err := markResolver(t).Resolve(in)
			if err != nil || named(got.Delete) != test.gone {
				t.Errorf("deletes %q, error %v, want %q: %s", named(got.Delete), err, test.gone, test.why)
			}
		})
	}
}

// TestAFailedUpdateIsNotRemembered as the stable revision, whatever the memory says (C6).
func TestAFailedUpdateIsNotRemembered(t *testing.T) {
	update := markable(t, "update", 2)
	in := history.Input{
		Canary: true, LastStable: "update", Limit: 9, Carriers: []history.Carrier{{Hash: "1", Live: true}},
		Revisions: []*appsv1.ControllerRevision{markable(t, "1", 1), update},
	}
	got, err := markResolver(t).Resolve(in)
	if err != nil || got.Stable.Existing != update {
		t.Errorf("stable %+v, error %v: it is the update revision itself, with all that is known of it", got.Stable, err)
	}
	update.Annotations = map[string]string{history.FailedAnnotation: "any"}
	got, err = markResolver(t).Resolve(in)
	if err != nil || got.Stable.Hash != "1" {
		t.Errorf("stable %q, error %v, want 1", got.Stable.Hash, err)
	}
	// Another revision's failure is another revision's.
	in.LastStable = "gone"
	got, err = markResolver(t).Resolve(in)
	if err != nil || got.Stable.Hash != "gone" {
		t.Errorf("stable %q, error %v, want the one that is remembered", got.Stable.Hash, err)
	}
	// Without a canary nothing is remembered.
	in.Canary, in.LastStable = false, "gone"
	got, err = markResolver(t).Resolve(in)
	if err != nil || got.Stable.Hash != "1" {
		t.Errorf("stable %q without a canary, error %v, want 1", got.Stable.Hash, err)
	}
}

// TestFirstRevision: the first one is the one that has no other before it (R3).
func TestFirstRevision(t *testing.T) {
	for _, others := range []int{0, 1, 2} {
		var in history.Input
		for i := range others {
			in.Revisions = append(in.Revisions, markable(t, string(rune('1'+i)), int64(i)+1))
		}
		got, err := markResolver(t).Resolve(in)
		if err != nil || got.First != (others == 0) {
			t.Errorf("after %d others: first %v, error %v", others, got.First, err)
		}
	}
}

// TestManyDuplicates: each is dealt with, whatever comes before it (R3).
func TestManyDuplicates(t *testing.T) {
	duplicate := func(name, hash string, number int64) *appsv1.ControllerRevision {
		revision := markable(t, "update", number)
		revision.ObjectMeta = metav1.ObjectMeta{
			Name: "agent-" + name, Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash},
		}
		return revision
	}
	in := history.Input{
		Limit: 9,
		Revisions: []*appsv1.ControllerRevision{
			duplicate("namesake", "update", 1), duplicate("z", "z", 2), duplicate("z2", "z", 3),
			duplicate("a", "a", 4), duplicate("unused", "unused", 5), markable(t, "update", 9),
		},
		Carriers: []history.Carrier{{Hash: "z", Live: true}, {Hash: "a", Live: true}, {Hash: "update", Live: true}},
	}
	for range 2 {
		got, err := markResolver(t).Resolve(in)
		if err != nil {
			t.Fatal(err)
		}
		deleted := strings.Fields(named(got.Delete))
		slices.Sort(deleted)
		if got := strings.Join(deleted, " "); got != "namesake unused" {
			t.Errorf("deletes %q: those that no pod can be told to carry, each once", got)
		}
		in.Carriers = in.Carriers[:2] // nobody carries the update revision any more
	}
	in.Carriers = in.Carriers[:3]
	got, err := markResolver(t).Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Relabel, []string{"a", "z"}) || !slices.Equal(got.Matches, []string{"a", "unused", "update", "z"}) {
		t.Errorf("relabels %q, matches %q", got.Relabel, got.Matches)
	}
}
