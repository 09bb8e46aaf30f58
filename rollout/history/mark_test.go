package history_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// C6: which revision is the stable one. The template is that of "update", number 9 unless the row says otherwise.
func TestStableByMarks(t *testing.T) {
	const promoted, failed = history.PromotedAnnotation, history.FailedAnnotation
	live := func(hashes ...string) []history.Carrier {
		var carriers []history.Carrier
		for _, hash := range hashes {
			carriers = append(carriers, history.Carrier{Hash: hash, Live: true})
		}
		return carriers
	}
	tests := []struct {
		name, why  string
		marks      map[string]string // of revisions 1, 2, 3 and "update"
		noCanary   bool
		last       string
		unreadable string
		live       []history.Carrier
		want       string
		isPromoted bool
		isMarked   bool
	}{
		{name: "no marks", why: "the highest older one that a live pod carries", live: live("1", "2"), want: "2"},
		{name: "no marks, none live", why: "the history knows what was before", want: "3"},
		{name: "no marks, none live, one failed", why: "a failed one is none to go back to", marks: map[string]string{"3": failed}, want: "2"},
		{name: "no marks, none live, one unreadable", why: "no pod can be made of it", unreadable: "3", want: "2"},
		{name: "no marks, none live, all failed", why: "there is none to go back to", marks: map[string]string{"1": failed, "2": failed, "3": failed}, want: "update"},
		{name: "no canary, none live", why: "the history is for sets with one", noCanary: true, want: "update"},
		{name: "no marks, one failed", why: "a failed one is none to go back to", marks: map[string]string{"2": failed}, live: live("1", "2"), want: "1"},
		{name: "no marks, remembered", why: "it counts until a mark is there, live or not", last: "1", live: live("2"), want: "1"},
		{name: "no marks, remembered and gone", why: "fail closed: nothing else is known to be stable", last: "x", live: live("2"), want: "x"},
		{name: "no marks, none live, one carried", why: "a pod that has failed, or is on its way out, shows what was there", live: []history.Carrier{{Hash: "2"}}, want: "2"},
		{name: "no marks, all that is live has failed", why: "better than to take the update for tried", marks: map[string]string{"2": failed}, live: live("2"), want: "2"},
		{name: "marks, remembered and gone", why: "a mark that is there counts", marks: map[string]string{"1": promoted}, last: "x", want: "1", isMarked: true},
		{name: "no marks, remembered as the update", why: "it was promoted", last: "update", live: live("2"), want: "update"},
		{name: "promoted", why: "an unpromoted one does not count, however live", marks: map[string]string{"1": promoted}, live: live("2", "3"), want: "1", isMarked: true},
		{name: "promoted, remembered higher", why: "a promotion whose mark is not seen yet", marks: map[string]string{"1": promoted}, last: "2", want: "2", isMarked: true},
		{name: "promoted, remembered lower", why: "the mark came after", marks: map[string]string{"2": promoted}, last: "1", want: "2", isMarked: true},
		{name: "promoted twice", why: "the highest is the last", marks: map[string]string{"1": promoted, "3": promoted}, live: live("1"), want: "3", isMarked: true},
		{name: "update promoted", why: "it is the stable one", marks: map[string]string{"1": promoted, "update": promoted}, want: "update", isPromoted: true, isMarked: true},
		{name: "rollback to a promoted one", why: "it is promoted already, whatever its number", marks: map[string]string{"3": promoted, "update": promoted}, live: live("3"), want: "update", isPromoted: true, isMarked: true},
		{name: "no canary", why: "the marks are not for sets without one", noCanary: true, marks: map[string]string{"1": promoted}, live: live("2"), want: "2", isMarked: true},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			var revisions []*appsv1.ControllerRevision
			for i, name := range []string{"1", "2", "3", "update"} {
				number := int64(i + 1)
				if name == "update" && tt.name != "rollback to a promoted one" {
					number = 9
				}
				object := markable(t, name, number)
				if mark := tt.marks[name]; mark != "" {
					object.Annotations = map[string]string{mark: "any"}
				}
				if name == tt.unreadable {
					object.Data.Raw = []byte("{")
				}
				revisions = append(revisions, object)
			}
			got, err := markResolver(t).Resolve(history.Input{
				Revisions: revisions, Carriers: tt.live, Limit: 0, Canary: !tt.noCanary, LastStable: tt.last,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.Stable.Hash != tt.want || got.Promoted != tt.isPromoted || got.Marked != tt.isMarked {
				t.Errorf("stable %s, promoted %v, marked %v; want %s, %v, %v: %s",
					got.Stable.Hash, got.Promoted, got.Marked, tt.want, tt.isPromoted, tt.isMarked, tt.why)
			}
			for _, gone := range got.Delete {
				if history.HashOf(gone) == tt.want {
					t.Errorf("%s is deleted (R4: never the stable one)", gone.Name)
				}
			}
		})
	}
}

// What was promoted under another name, or under a hash that the update revision has too, cannot be told from it (R3, C6).
func TestStableAmongTwins(t *testing.T) {
	twin := markable(t, "update", 3)
	twin.Name, twin.Labels = "agent-twin", map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: "twin"}
	namesake := markable(t, "2", 2)
	namesake.Labels = map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: "update"}
	namesake.Annotations = map[string]string{history.PromotedAnnotation: "any"}
	for name, in := range map[string]history.Input{
		"R3: a duplicate is remembered": {LastStable: "twin", Revisions: []*appsv1.ControllerRevision{markable(t, "1", 1), twin, markable(t, "update", 9)}},
		"C6: another revision of that hash is promoted": {
			Revisions: []*appsv1.ControllerRevision{markable(t, "1", 1), namesake, markable(t, "update", 9)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in.Canary, in.Limit = true, 9
			in.Carriers = []history.Carrier{{Hash: "1", Live: true}}
			got, err := markResolver(t).Resolve(in)
			if err != nil || got.Stable.Hash != "update" {
				t.Errorf("stable %q, error %v; want update", got.Stable.Hash, err)
			}
		})
	}
}

func TestMarksOfNil(t *testing.T) {
	if history.Promoted(nil) || history.Failed(nil) {
		t.Error("a nil revision carries no mark")
	}
}

func ExamplePromoted() {
	revision := &appsv1.ControllerRevision{}
	fmt.Println(history.Promoted(revision))
	revision.Annotations = map[string]string{history.PromotedAnnotation: "2026-01-01T12:00:00Z"}
	fmt.Println(history.Promoted(revision))
	// Output:
	// false
	// true
}

func ExampleFailed() {
	revision := &appsv1.ControllerRevision{}
	revision.Annotations = map[string]string{history.FailedAnnotation: "TooManyRestarts"}
	fmt.Println(history.Failed(revision))
	// Output: true
}

func markTemplate(name string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: name}}}}
}

func markResolver(t *testing.T) *history.Resolver {
	t.Helper()
	resolver, err := history.Compile(history.Set{Name: "agent"}, markTemplate("update"))
	if err != nil {
		t.Fatal(err)
	}
	return resolver
}

func markable(t *testing.T, name string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	data, err := history.Data(markTemplate(name))
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + name, Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: name}},
		Data:       runtime.RawExtension{Raw: data}, Revision: number,
	}
}

// Fallback is what is still there of the time before the update revision, whatever the marks say.
func TestOlder(t *testing.T) {
	revisions := []*appsv1.ControllerRevision{markable(t, "1", 1), markable(t, "2", 2), markable(t, "3", 3), markable(t, "update", 9)}
	revisions[3].Annotations = map[string]string{history.PromotedAnnotation: "any"}
	revisions[2].Annotations = map[string]string{history.FailedAnnotation: "any"}
	carriers := []history.Carrier{{Hash: "1", Live: true}, {Hash: "2"}, {Hash: "3", Live: true}}
	got, err := markResolver(t).Resolve(history.Input{Revisions: revisions, Carriers: carriers, Limit: 9, Canary: true})
	if err != nil || got.Fallback.Hash != "1" || got.Stable.Hash != "update" {
		t.Errorf("older %s, stable %s, error %v; want 1: 2 is carried by no live pod, and 3 has failed", got.Fallback.Hash, got.Stable.Hash, err)
	}
	got, err = markResolver(t).Resolve(history.Input{Revisions: revisions, Carriers: carriers[1:2], Limit: 9})
	if err != nil || got.Fallback.Hash != "update" {
		t.Errorf("older %s, error %v; want the update revision: nothing else is there", got.Fallback.Hash, err)
	}
}
