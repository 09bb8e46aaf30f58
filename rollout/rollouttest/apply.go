package rollouttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// Actions is the number of actions of the plan, of all four kinds.
func Actions(plan rollout.Plan) int {
	return len(plan.Revisions) + len(plan.Patches) + len(plan.Deletes) + len(plan.Creates)
}

// Prefix is the plan with its first n actions only, in the order in which they are executed. All else, the memory
// too, is that of the whole plan. A negative n counts as 0.
func Prefix(plan rollout.Plan, n int) rollout.Plan {
	n = max(n, 0)
	plan.Revisions = first(plan.Revisions, &n)
	plan.Patches = first(plan.Patches, &n)
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
// request that meets an object which is gone or was replaced is refused, and that is no error. An error is a request
// that no API server would take.
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
	for i := range plan.Patches {
		c.requests = append(c.requests, request{kind: ofPatch, uid: plan.Patches[i].UID})
		errs = append(errs, c.patch(&plan.Patches[i]))
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
	kind := Refused
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
	case rollout.DeleteRevision:
		if i >= 0 && c.revisions[i].UID == action.UID {
			kind = RevisionDeleted
			c.revisions = slices.Delete(slices.Clone(c.revisions), i, i+1)
		}
	default:
		return fmt.Errorf("revision %s: unknown verb %d", action.Name, action.Verb)
	}
	c.events = append(c.events, Event{At: c.now, Kind: kind, Object: action.Name, UID: action.UID})
	return nil
}

func (c *Cluster) find(uid types.UID, name string) *simulated {
	i := slices.IndexFunc(c.pods, func(p *simulated) bool { return p.UID == uid && p.Name == name })
	if i < 0 {
		return nil
	}
	return c.pods[i]
}

func (c *Cluster) refuse(node, pod string, uid types.UID) {
	c.events = append(c.events, Event{At: c.now, Kind: Refused, Node: node, Object: pod, UID: uid})
}

func (c *Cluster) patch(patch *rollout.Patch) error {
	p := c.find(patch.UID, patch.Pod)
	if p == nil {
		c.refuse(patch.Node, patch.Pod, patch.UID)
		return nil
	}
	patched, err := patchedPod(p.Pod, patch)
	if err != nil {
		return fmt.Errorf("patch of pod %s: %w", patch.Pod, err)
	}
	p.Pod = patched
	c.record(PodPatched, p.Pod)
	return nil
}

// patchedPod applies a merge patch, or a strategic one whose meaning is the same.
func patchedPod(pod *corev1.Pod, patch *rollout.Patch) (*corev1.Pod, error) {
	if patch.Type != types.StrategicMergePatchType && patch.Type != types.MergePatchType || patch.Subresource != "" {
		return nil, fmt.Errorf("patches of type %q to subresource %q are not simulated", patch.Type, patch.Subresource)
	}
	var change map[string]any
	if err := json.Unmarshal(patch.Data, &change); err != nil {
		return nil, err
	}
	if patch.Type == types.StrategicMergePatchType && !plain(change) {
		return nil, errors.New("strategic patches with lists or directives are not simulated")
	}
	encoded, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(encoded, &object); err != nil {
		return nil, err
	}
	merge(object, change)
	if encoded, err = json.Marshal(object); err != nil {
		return nil, err
	}
	var merged corev1.Pod
	if err := json.Unmarshal(encoded, &merged); err != nil {
		return nil, err
	}
	if merged.UID != pod.UID || merged.Name != pod.Name {
		return nil, errors.New("a patch must not change identity")
	}
	// JSON cuts instants to seconds; what the patch did not name must stay as it was.
	patched := pod.DeepCopy()
	patched.Labels, patched.Annotations = merged.Labels, merged.Annotations
	patched.OwnerReferences, patched.Finalizers = merged.OwnerReferences, merged.Finalizers
	patched.Spec = merged.Spec
	return patched, nil
}

// plain tells whether a strategic patch consists of objects and scalars only.
func plain(value any) bool {
	switch v := value.(type) {
	case []any:
		return false
	case map[string]any:
		for key, inner := range v {
			if key == "" || key[0] == '$' || !plain(inner) {
				return false
			}
		}
	}
	return true
}

// merge is RFC 7386 for objects.
func merge(object, change map[string]any) {
	for key, value := range change {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isObject:
			old, ok := object[key].(map[string]any)
			if !ok {
				old = map[string]any{}
			}
			merge(old, inner)
			object[key] = old
		default:
			object[key] = value
		}
	}
}

// delete marks a bound pod. One that no kubelet knows of is gone at once, as the API server does it.
func (c *Cluster) delete(action *rollout.Delete) {
	p := c.find(action.UID, action.Pod)
	switch {
	case p == nil:
		c.refuse(action.Node, action.Pod, action.UID)
		return
	case p.Spec.NodeName == "":
		c.remove(p)
	case p.DeletionTimestamp == nil:
		marked := p.DeepCopy()
		Terminating(c.now)(marked)
		p.Pod, p.since = marked, c.now
	}
	c.record(PodDeleted, p.Pod)
}

func (c *Cluster) remove(p *simulated) {
	c.pods = slices.DeleteFunc(c.pods, func(other *simulated) bool { return other == p })
}

func (c *Cluster) create(action rollout.Create) error {
	pod, err := c.planner.Pod(action)
	if err != nil {
		return err
	}
	c.created++
	pod.Name = fmt.Sprintf("%sx%04d", pod.GenerateName, c.created)
	pod.UID = types.UID(createdUID + strconv.Itoa(c.created))
	pod.CreationTimestamp = metav1.NewTime(c.now)
	pod.Status.Phase = corev1.PodPending
	c.pods = append(c.pods, &simulated{Pod: pod, since: c.now})
	c.record(PodCreated, pod)
	return nil
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
