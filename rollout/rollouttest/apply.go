package rollouttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// Actions is the number of actions of the plan, of all five kinds.
func Actions(plan rollout.Plan) int {
	return len(plan.Revisions) + len(plan.Patches) + len(plan.Pulls) + len(plan.Deletes) + len(plan.Creates)
}

// Prefix is the plan with its first n actions only, in the order in which they are executed. All else, the memory
// too, is that of the whole plan. A negative n counts as 0.
func Prefix(plan rollout.Plan, n int) rollout.Plan {
	n = max(n, 0)
	plan.Revisions = first(plan.Revisions, &n)
	plan.Patches = first(plan.Patches, &n)
	plan.Pulls = first(plan.Pulls, &n)
	plan.Deletes = first(plan.Deletes, &n)
	plan.Creates = first(plan.Creates, &n)
	return plan
}

func first[T any](list []T, n *int) []T {
	take := min(*n, len(list))
	*n -= take
	return list[:take:take]
}

// Apply executes the plan as a controller and an API server do together, and keeps its memory for the next one. A
// request that meets an object which is gone, was replaced, or was written meanwhile (if a patch says which version it is
// for) is refused, and that is no error; after a patch that is refused the others of that pod are not sent. An error is
// a request that no API server would take.
func (c *Cluster) Apply(plan rollout.Plan) error {
	return c.ApplyPrefix(plan, Actions(plan))
}

// ApplyPrefix is [Cluster.Apply] for the first n actions, as if the controller had stopped there.
func (c *Cluster) ApplyPrefix(plan rollout.Plan, n int) error {
	plan = Prefix(plan, n)
	c.memory = plan.Memory
	var errs []error
	for i := range plan.Revisions {
		c.requests = append(c.requests, request{kind: ofRevision, name: plan.Revisions[i].Name})
		errs = append(errs, c.revise(&plan.Revisions[i]))
	}
	given := map[types.UID]bool{}
	for i := range plan.Patches {
		patch := &plan.Patches[i]
		if given[patch.UID] {
			continue
		}
		c.requests = append(c.requests, request{kind: ofPatch, uid: patch.UID})
		done, err := c.patch(patch)
		given[patch.UID] = !done
		errs = append(errs, err)
	}
	for i := range plan.Pulls {
		c.startPull(&plan.Pulls[i])
	}
	for i := range plan.Deletes {
		c.requests = append(c.requests, request{kind: ofDelete, uid: plan.Deletes[i].UID})
		c.delete(&plan.Deletes[i])
	}
	for i := range plan.Creates {
		create := plan.Creates[i]
		c.requests = append(c.requests, request{kind: ofCreate, name: create.Node, revision: create.Revision})
		errs = append(errs, c.create(create))
	}
	return errors.Join(errs...)
}

// request is one action that was sent.
type request struct {
	kind           requestKind
	name, revision string
	uid            types.UID
}

type requestKind uint8

const (
	ofRevision requestKind = iota
	ofPatch
	ofDelete
	ofCreate
)

func (r request) add(f *rollout.InFlight) {
	switch r.kind {
	case ofRevision:
		f.Revisions = append(f.Revisions, r.name)
	case ofPatch:
		f.Patches = append(f.Patches, r.uid)
	case ofDelete:
		f.Deletes = append(f.Deletes, r.uid)
	case ofCreate:
		f.Creates = append(f.Creates, rollout.InFlightCreate{Node: r.name, Revision: r.revision})
	}
}

func (c *Cluster) revise(action *rollout.RevisionAction) error {
	i := slices.IndexFunc(c.revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == action.Name })
	kind, detail := Refused, ""
	switch action.Verb {
	case rollout.CreateRevision:
		if action.Object == nil || action.Object.Name != action.Name || action.Object.Revision != action.Number {
			return fmt.Errorf("create of revision %s: object, name and number must agree", action.Name)
		}
		if i < 0 {
			kind = RevisionCreated
			object := action.Object.DeepCopy()
			object.UID = types.UID("revision-" + object.Name + "-" + strconv.Itoa(len(c.requests)))
			object.CreationTimestamp = metav1.NewTime(c.now)
			c.revisions = append(slices.Clone(c.revisions), object)
		}
	case rollout.RenumberRevision:
		if i >= 0 && c.revisions[i].UID == action.UID {
			kind = RevisionRenumbered
			object := c.revisions[i].DeepCopy()
			object.Revision = action.Number
			c.revisions = slices.Clone(c.revisions)
			c.revisions[i] = object
		}
	case rollout.AnnotateRevision:
		var err error
		if detail, err = annotations(action); err != nil {
			return err
		}
		if i >= 0 && c.revisions[i].UID == action.UID {
			kind = RevisionAnnotated
			c.revisions = slices.Clone(c.revisions)
			c.revisions[i] = annotated(c.revisions[i], action)
		}
	case rollout.DeleteRevision:
		if i >= 0 && c.revisions[i].UID == action.UID {
			kind = RevisionDeleted
			c.revisions = slices.Delete(slices.Clone(c.revisions), i, i+1)
		}
	default:
		return fmt.Errorf("revision %s: unknown verb %d", action.Name, action.Verb)
	}
	c.events = append(c.events, Event{At: c.now, Kind: kind, Object: action.Name, UID: action.UID, Detail: detail})
	return nil
}

// annotations lists what the action sets and removes. A patch that does nothing, or both to one key, is a mistake of who
// made it.
func annotations(action *rollout.RevisionAction) (string, error) {
	if len(action.Annotations)+len(action.RemoveAnnotations) == 0 {
		return "", fmt.Errorf("annotate of revision %s: no annotations", action.Name)
	}
	var words []string
	for _, key := range sortedKeys(action.Annotations) {
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
	for key, value := range action.Annotations {
		object.Annotations = with(object.Annotations, key, value)
	}
	for _, key := range action.RemoveAnnotations {
		delete(object.Annotations, key)
	}
	return object
}

// createdUID begins the UIDs of pods that a cluster creates; a number follows.
const createdUID = "created-"

// serial is the number of a pod that some cluster created; 0 for all others.
func serial(uid types.UID) int {
	digits, ok := strings.CutPrefix(string(uid), createdUID)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// sortedKeys lists the keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// earlier is the earlier of two instants; the zero one stands for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
