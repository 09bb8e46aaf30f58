package apiserver_test

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func revision(name string, number int64) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Revision: number,
	}
}

func TestRevise(t *testing.T) {
	annotated := revision("a", 1)
	annotated.Annotations = map[string]string{"old": "1", "kept": "1"}
	tests := []struct {
		name, why string
		action    rollout.RevisionAction
		done      bool
		detail    string
		fails     bool
		change    func([]*appsv1.ControllerRevision) []*appsv1.ControllerRevision
	}{
		{
			"create", "it comes last, with UID and instant",
			rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "c", Number: 3, Object: revision("c", 3)}, true, "", false,
			func(list []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
				created := revision("c", 3)
				created.UID, created.CreationTimestamp = "new", metav1.NewTime(rollouttest.Noon())
				return append(list, created)
			},
		},
		{
			"create again", "the name is taken",
			rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "b", Number: 3, Object: revision("b", 3)}, false, "", false, nil,
		},
		{"create of nothing", "there is no object", rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "c"}, false, "", true, nil},
		{
			"create of the first again", "its name is taken as well",
			rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "a", Number: 3, Object: revision("a", 3)}, false, "", false, nil,
		},
		{
			"create of another name", "object and name must agree",
			rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "c", Number: 3, Object: revision("d", 3)}, false, "", true, nil,
		},
		{
			"create of another number", "object and number must agree",
			rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "c", Number: 4, Object: revision("c", 3)}, false, "", true, nil,
		},
		{
			"renumber", "nothing else changes",
			rollout.RevisionAction{Verb: rollout.RenumberRevision, Name: "b", UID: "uid-b", Number: 9}, true, "", false,
			func(list []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
				list[1].Revision = 9
				return list
			},
		},
		{
			"renumber of a namesake", "it has another UID",
			rollout.RevisionAction{Verb: rollout.RenumberRevision, Name: "b", UID: "other", Number: 9}, false, "", false, nil,
		},
		{
			"renumber of none", "it is gone", rollout.RevisionAction{Verb: rollout.RenumberRevision, Name: "c", Number: 9}, false, "", false, nil,
		},
		{
			"annotate", "some are set, some removed, others stay",
			rollout.RevisionAction{
				Verb: rollout.AnnotateRevision, Name: "a", UID: "uid-a", Annotations: map[string]string{"y": "2", "x": "1"},
				RemoveAnnotations: []string{"z", "old"},
			}, true, "x=1, y=2, old-, z-", false,
			func(list []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
				list[0].Annotations = map[string]string{"kept": "1", "x": "1", "y": "2"}
				return list
			},
		},
		{
			"annotate the first time", "there were none",
			rollout.RevisionAction{Verb: rollout.AnnotateRevision, Name: "b", UID: "uid-b", Annotations: map[string]string{"x": "1"}},
			true, "x=1", false,
			func(list []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
				list[1].Annotations = map[string]string{"x": "1"}
				return list
			},
		},
		{
			"annotate a namesake", "it says what it would have done",
			rollout.RevisionAction{Verb: rollout.AnnotateRevision, Name: "a", UID: "other", RemoveAnnotations: []string{"old"}},
			false, "old-", false, nil,
		},
		{
			"annotate nothing", "a patch that does nothing is a mistake",
			rollout.RevisionAction{Verb: rollout.AnnotateRevision, Name: "a", UID: "uid-a"}, false, "", true, nil,
		},
		{
			"annotate both ways", "nobody knows what is meant",
			rollout.RevisionAction{
				Verb: rollout.AnnotateRevision, Name: "a", UID: "uid-a", Annotations: map[string]string{"x": "1"},
				RemoveAnnotations: []string{"x"},
			}, false, "", true, nil,
		},
		{
			"delete", "it is gone", rollout.RevisionAction{Verb: rollout.DeleteRevision, Name: "a", UID: "uid-a"}, true, "", false,
			func(list []*appsv1.ControllerRevision) []*appsv1.ControllerRevision { return list[1:] },
		},
		{
			"delete of a namesake", "it has another UID",
			rollout.RevisionAction{Verb: rollout.DeleteRevision, Name: "a", UID: "uid-b"}, false, "", false, nil,
		},
		{"unknown verb", "no planner uses one", rollout.RevisionAction{Verb: 99, Name: "a", UID: "uid-a"}, false, "", true, nil},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			given := append(make([]*appsv1.ControllerRevision, 0, 9), annotated.DeepCopy(), revision("b", 2))
			copies := func() []*appsv1.ControllerRevision {
				return []*appsv1.ControllerRevision{annotated.DeepCopy(), revision("b", 2)}
			}
			after, done, detail, err := apiserver.Revise(given, &test.action, rollouttest.Noon(), "new")
			if done != test.done || detail != test.detail || (err != nil) != test.fails {
				t.Errorf("done %t, detail %q, error %v: %s", done, detail, err, test.why)
			}
			if err != nil && !strings.Contains(err.Error(), test.action.Name) {
				t.Errorf("%v does not name the revision", err)
			}
			want := copies()
			if test.change != nil {
				want = test.change(want)
			}
			if !reflect.DeepEqual(after, want) {
				t.Errorf("got %v, want %v: %s", after, want, test.why)
			}
			if !reflect.DeepEqual(given, copies()) || given[:3][2] != nil {
				t.Errorf("the list that was given was written to: %v", given[:3])
			}
		})
	}
}
