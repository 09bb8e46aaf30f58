package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// Revise carries out one revision action. Uid is that of a revision that is created. If the action took effect, done is true, and
// after is a new list. If an action to create finds a revision of that name, or another action finds none or one with another
// UID, done is false, after is the list that was given, and there is no error. Detail lists the annotations that an action is
// about ("key=value, key-"), whether it took effect or not. An action that no API server would accept is an error.
//
// Neither the list nor its objects are written to. Revisions that did not change are the same objects in both lists.
func Revise(
	revisions []*appsv1.ControllerRevision, action *rollout.RevisionAction, now time.Time, uid types.UID,
) (after []*appsv1.ControllerRevision, done bool, detail string, err error) {
	named := slices.IndexFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == action.Name })
	met := named >= 0 && revisions[named].UID == action.UID
	switch action.Verb {
	case rollout.CreateRevision:
		if action.Object == nil || action.Object.Name != action.Name || action.Object.Revision != action.Number {
			return revisions, false, "", fmt.Errorf("create of revision %s: object, name and number must agree", action.Name)
		}
		if named >= 0 {
			return revisions, false, "", nil
		}
		object := action.Object.DeepCopy()
		object.UID, object.CreationTimestamp = uid, metav1.NewTime(now)
		return append(slices.Clone(revisions), object), true, "", nil
	case rollout.RenumberRevision:
		if !met {
			return revisions, false, "", nil
		}
		object := revisions[named].DeepCopy()
		object.Revision = action.Number
		return replaced(revisions, named, object), true, "", nil
	case rollout.AnnotateRevision:
		if detail, err = annotations(action); err != nil || !met {
			return revisions, false, detail, err
		}
		return replaced(revisions, named, annotated(revisions[named], action)), true, detail, nil
	case rollout.DeleteRevision:
		if !met {
			return revisions, false, "", nil
		}
		return slices.Delete(slices.Clone(revisions), named, named+1), true, "", nil
	default:
		return revisions, false, "", fmt.Errorf("revision %s: unknown verb %d", action.Name, action.Verb)
	}
}

func replaced(revisions []*appsv1.ControllerRevision, i int, by *appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	revisions = slices.Clone(revisions)
	revisions[i] = by
	return revisions
}

// annotations lists what the action sets and removes. An action that does nothing, or that sets and removes one key, is an error
// of the planner.
func annotations(action *rollout.RevisionAction) (string, error) {
	if len(action.Annotations)+len(action.RemoveAnnotations) == 0 {
		return "", fmt.Errorf("annotate of revision %s: no annotations", action.Name)
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(action.Annotations)) {
		words = append(words, key+"="+action.Annotations[key])
	}
	for _, key := range slices.Sorted(slices.Values(action.RemoveAnnotations)) {
		if _, set := action.Annotations[key]; set {
			return "", fmt.Errorf("annotate of revision %s: %s is set and removed", action.Name, key)
		}
		words = append(words, key+"-")
	}
	return strings.Join(words, ", "), nil
}

func annotated(revision *appsv1.ControllerRevision, action *rollout.RevisionAction) *appsv1.ControllerRevision {
	object := revision.DeepCopy()
	if object.Annotations == nil {
		object.Annotations = make(map[string]string, len(action.Annotations))
	}
	maps.Copy(object.Annotations, action.Annotations)
	for _, key := range action.RemoveAnnotations {
		delete(object.Annotations, key)
	}
	return object
}
