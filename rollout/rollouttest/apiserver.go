package rollouttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
)

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

// patch tells whether it took effect.
func (c *Cluster) patch(patch *rollout.Patch) (bool, error) {
	p := c.find(patch.UID, patch.Pod)
	if p == nil {
		c.refuse(patch.Node, patch.Pod, patch.UID)
		return false, nil
	}
	patched, err := patchedPod(p.Pod, patch)
	if errors.Is(err, errConflict) {
		c.refuse(patch.Node, patch.Pod, patch.UID)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("patch of pod %s: %w", patch.Pod, err)
	}
	if !apiequality.Semantic.DeepEqual(patched.Spec, p.Spec) || !sameEnvironment(patched, p.Pod) {
		p.changed = c.now
	}
	kind := PodPatched
	if updatedInPlace(p.Pod, patched) {
		kind = PodUpdated
	}
	c.replace(p, patched)
	c.record(kind, p.Pod)
	c.removeReleased(p)
	return true, nil
}

// removeReleased ends a pod that waited for nothing but its finalizers, as the API server does it at once.
func (c *Cluster) removeReleased(p *simulated) {
	if p.Spec.NodeName == "" && p.DeletionTimestamp != nil && len(p.Finalizers) == 0 {
		c.remove(p)
		c.record(PodGone, p.Pod)
	}
}

func sameEnvironment(a, b *corev1.Pod) bool {
	for i := range a.Spec.Containers {
		if metadataRead(a, &a.Spec.Containers[i]) != metadataRead(b, &b.Spec.Containers[i]) {
			return false
		}
	}
	return true
}

// errConflict: the patch is for another object of that name, or for another version of it.
var errConflict = errors.New("conflict")

// patchedPod is the pod after the patch, as an API server understands it: on the pod itself everything but the status
// can change, and of the spec only images; on "status" nothing but the status; on "resize" nothing but the cpu and
// memory of containers. What the subresource does not cover is dropped silently, as there.
func patchedPod(pod *corev1.Pod, patch *rollout.Patch) (*corev1.Pod, error) {
	var meant corev1.Pod
	if err := json.Unmarshal(patch.Data, &struct {
		Metadata *metav1.ObjectMeta `json:"metadata"`
	}{&meant.ObjectMeta}); err != nil {
		return nil, err
	}
	if meant.UID != "" && meant.UID != pod.UID || meant.ResourceVersion != "" && meant.ResourceVersion != pod.ResourceVersion {
		return nil, errConflict
	}
	before, merged, err := mergedPod(pod, patch)
	if err != nil {
		return nil, err
	}
	if merged.UID != pod.UID || merged.Name != pod.Name || merged.Namespace != pod.Namespace {
		return nil, errors.New("a patch must not change identity")
	}
	patched := pod.DeepCopy()
	switch patch.Subresource {
	case "":
		patched.Labels, patched.Annotations = merged.Labels, merged.Annotations
		patched.OwnerReferences, patched.Finalizers = merged.OwnerReferences, merged.Finalizers
		if !sameButImages(&before.Spec, &merged.Spec) {
			return nil, errors.New("of the spec of a pod only images can change")
		}
		for i := range patched.Spec.Containers {
			patched.Spec.Containers[i].Image = merged.Spec.Containers[i].Image
		}
		for i := range patched.Spec.InitContainers {
			patched.Spec.InitContainers[i].Image = merged.Spec.InitContainers[i].Image
		}
	case "status":
		takeOver(&patched.Status, &before.Status, &merged.Status)
	case "resize":
		if err := resize(&patched.Spec, &merged.Spec); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("pods have no subresource %q to patch", patch.Subresource)
	}
	return patched, nil
}

// mergedPod is the pod with the patch merged in. JSON cuts instants to seconds, so it comes with the pod as it was, gone
// the same way.
func mergedPod(pod *corev1.Pod, patch *rollout.Patch) (before, after *corev1.Pod, err error) {
	original, err := json.Marshal(pod)
	if err != nil {
		return nil, nil, err
	}
	var merged []byte
	switch patch.Type {
	case types.StrategicMergePatchType:
		merged, err = strategicMergePatch(original, patch.Data)
	case types.MergePatchType:
		merged, err = mergePatch(original, patch.Data)
	default:
		err = fmt.Errorf("patches of type %q are not simulated", patch.Type)
	}
	if err != nil {
		return nil, nil, err
	}
	before, after = &corev1.Pod{}, &corev1.Pod{}
	return before, after, errors.Join(json.Unmarshal(original, before), json.Unmarshal(merged, after))
}

// sameButImages tells whether the specs differ at most in the images of containers.
func sameButImages(before, after *corev1.PodSpec) bool {
	a, b := before.DeepCopy(), after.DeepCopy()
	for _, spec := range []*corev1.PodSpec{a, b} {
		for i := range spec.Containers {
			spec.Containers[i].Image = ""
		}
		for i := range spec.InitContainers {
			spec.InitContainers[i].Image = ""
		}
	}
	return apiequality.Semantic.DeepEqual(a, b)
}

// takeOver copies to the status what merging has changed. What it did not touch keeps its fractions of seconds.
func takeOver(status, before, after *corev1.PodStatus) {
	for i := range after.Conditions {
		at := func(s *corev1.PodStatus) int {
			return slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == after.Conditions[i].Type })
		}
		if was := at(before); was >= 0 && before.Conditions[was] == after.Conditions[i] {
			after.Conditions[i] = status.Conditions[at(status)]
		}
	}
	if !reflect.DeepEqual(before.Conditions, after.Conditions) {
		status.Conditions = slices.Clone(after.Conditions)
	}
	to, from, old := reflect.ValueOf(status).Elem(), reflect.ValueOf(after).Elem(), reflect.ValueOf(before).Elem()
	for i, field := range reflect.VisibleFields(to.Type()) {
		if field.Name != "Conditions" && !apiequality.Semantic.DeepEqual(old.Field(i).Interface(), from.Field(i).Interface()) {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// resize gives containers other amounts of cpu and memory.
func resize(spec, wanted *corev1.PodSpec) error {
	for i := range spec.Containers {
		c := &spec.Containers[i]
		at := slices.IndexFunc(wanted.Containers, func(w corev1.Container) bool { return w.Name == c.Name })
		if at < 0 {
			continue
		}
		to := wanted.Containers[at].Resources
		err := errors.Join(resizable(c.Resources.Limits, to.Limits), resizable(c.Resources.Requests, to.Requests))
		if err != nil {
			return fmt.Errorf("container %s: %w", c.Name, err)
		}
		c.Resources.Limits, c.Resources.Requests = to.Limits.DeepCopy(), to.Requests.DeepCopy()
	}
	return nil
}

func resizable(before, after corev1.ResourceList) error {
	for name := range before {
		if _, ok := after[name]; !ok {
			return fmt.Errorf("%s cannot be removed", name)
		}
	}
	for name, quantity := range after {
		old := before[name]
		if quantity.Cmp(old) != 0 && name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			return fmt.Errorf("%s cannot change in a running pod", name)
		}
	}
	return nil
}

// delete marks a bound pod, and one that has finalizers. One that no kubelet knows of is gone at once otherwise, as the
// API server does it.
func (c *Cluster) delete(action *rollout.Delete) {
	p := c.find(action.UID, action.Pod)
	switch {
	case p == nil:
		c.refuse(action.Node, action.Pod, action.UID)
		return
	case p.Spec.NodeName == "" && len(p.Finalizers) == 0:
		c.remove(p)
	case p.DeletionTimestamp == nil:
		marked := p.DeepCopy()
		Terminating(c.now)(marked)
		c.replace(p, marked)
		p.since = c.now
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
	pod.ResourceVersion = c.nextVersion()
	pod.CreationTimestamp = metav1.NewTime(c.now)
	pod.Status.Phase = corev1.PodPending
	setDefaultRequests(&pod.Spec)
	c.pods = append(c.pods, c.newSimulated(pod))
	c.record(PodCreated, pod)
	return nil
}

// setDefaultRequests sets the requests that are not given to the limits, as the API server does it.
func setDefaultRequests(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			for name, limit := range resources.Limits {
				if _, given := resources.Requests[name]; given {
					continue
				}
				if resources.Requests == nil {
					resources.Requests = corev1.ResourceList{}
				}
				resources.Requests[name] = limit.DeepCopy()
			}
		}
	}
}

// updatedInPlace tells whether a patch has brought the pod to another revision in place, not merely relabelled it (R3):
// the annotation of such updates changed too.
func updatedInPlace(before, after *corev1.Pod) bool {
	const key = appsv1.DefaultDaemonSetUniqueLabelKey
	return before.Labels[key] != after.Labels[key] && before.Annotations[inplace.StateKey] != after.Annotations[inplace.StateKey]
}
