package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// RequeueAfter returns how long to sleep until the next plan, if nothing else happens: until NextWake or the earliest of some
// other instants, such as that of inflight.Tracker.GiveUp. Zero instants are ignored. The result is 0 if all are zero, which
// stands for no end, as with RequeueAfter of a controller; otherwise it is at least a millisecond, also for an instant that is
// past.
func (p *Plan) RequeueAfter(now time.Time, others ...time.Time) time.Duration {
	var sleep time.Duration
	for _, at := range append([]time.Time{p.NextWake}, others...) {
		if d := max(at.Sub(now), time.Millisecond); !at.IsZero() && (sleep == 0 || d < sleep) {
			sleep = d
		}
	}
	return sleep
}

// PatchesByPod groups Patches by pod, in the order in which the pods first appear. The patches of one pod keep their order.
// Groups may be sent in parallel. Send the patches of one group one after the other, and stop at the first that fails: the
// ones after it say that it was made. The result is nil without patches. The groups share Data with Patches, and no other
// memory.
func (p *Plan) PatchesByPod() [][]Patch {
	var groups [][]Patch
	at := make(map[types.UID]int)
	for _, patch := range p.Patches {
		i, ok := at[patch.UID]
		if !ok {
			i = len(groups)
			at[patch.UID] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], patch)
	}
	return groups
}

// Patch returns the JSON merge patch that carries out RenumberRevision or AnnotateRevision, with the UID as precondition. It
// returns nil for the other verbs, which need no patch.
func (a RevisionAction) Patch() []byte {
	metadata := map[string]any{"uid": a.UID}
	object := map[string]any{"metadata": metadata}
	switch a.Verb {
	case RenumberRevision:
		object["revision"] = a.Number
	case AnnotateRevision:
		annotations := make(map[string]any, len(a.Annotations)+len(a.RemoveAnnotations))
		for key, value := range a.Annotations {
			annotations[key] = value
		}
		for _, key := range a.RemoveAnnotations {
			annotations[key] = nil
		}
		metadata["annotations"] = annotations
	default:
		return nil
	}
	return mergePatch(object)
}

// AdoptPatch returns the JSON merge patch that makes the set of the spec the controller of an object, such as one of
// [Claims].Adopt. The patch carries the object's UID and resource version, because it replaces the owner references as a
// whole: if somebody has written the object since, the API server answers with a conflict, and the object is to be claimed
// anew. A nil object gives nil.
func AdoptPatch(spec Spec, object *metav1.ObjectMeta) []byte {
	if object == nil {
		return nil
	}
	return ownersPatch(object, append(ownersBut(spec.UID, object), controllerRef(spec.Default())))
}

// ReleasePatch returns the JSON merge patch that takes the reference to the set of the spec off an object, such as one of
// [Claims].Release, with the preconditions of [AdoptPatch]. A nil object gives nil.
func ReleasePatch(spec Spec, object *metav1.ObjectMeta) []byte {
	if object == nil {
		return nil
	}
	return ownersPatch(object, ownersBut(spec.UID, object))
}

func ownersBut(uid types.UID, object *metav1.ObjectMeta) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(object.OwnerReferences), func(r metav1.OwnerReference) bool { return r.UID == uid })
}

func ownersPatch(object *metav1.ObjectMeta, references []metav1.OwnerReference) []byte {
	return mergePatch(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion, "ownerReferences": references,
	}})
}

// mergePatch encodes the object as JSON with sorted keys. Encoding maps of strings, numbers and references cannot fail.
func mergePatch(object map[string]any) []byte {
	data, _ := json.Marshal(object)
	return data
}

func (p *Planner) pod(create Create) (*corev1.Pod, error) {
	if create.Node == "" {
		return nil, fmt.Errorf("create: node must not be empty")
	}
	if create.Revision == "" {
		return nil, fmt.Errorf("create: revision must not be empty: take it from a plan")
	}
	template := &p.spec.Template
	if create.Template != nil {
		template = create.Template
	}
	pod := placement.Pod(template, create.Node)
	placement.Overridden{Resources: create.Resources}.Apply(pod)
	pod.GenerateName = p.spec.Name + "-"
	pod.Namespace = p.spec.Namespace
	pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = create.Revision
	if create.Canary {
		pod.Labels[CanaryLabel] = "true"
	}
	if p.spec.TemplateGeneration != nil && create.Template == nil {
		pod.Labels[TemplateGenerationLabel] = strconv.FormatInt(*p.spec.TemplateGeneration, 10)
	}
	if p.spec.Strategy.Method != inplace.Recreate {
		addGate(pod, lifecycle.InPlaceUpdateReady)
	}
	for _, gate := range p.spec.Lifecycle.Gates() {
		addGate(pod, gate)
	}
	if state := p.spec.Lifecycle.InitialState(); state != "" {
		pod.Labels[lifecycle.StateLabel] = string(state)
	}
	if p.spec.UID != "" {
		pod.OwnerReferences = []metav1.OwnerReference{controllerRef(p.spec)}
	}
	return pod, nil
}

// controllerRef returns the owner reference that makes the set the controller of an object.
func controllerRef(spec Spec) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: spec.APIVersion, Kind: spec.Kind, Name: spec.Name, UID: spec.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

// addGate adds a readiness gate that in-place updates (I3) or hooks (L4) need, unless the template has it already.
func addGate(pod *corev1.Pod, condition corev1.PodConditionType) {
	if !slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: condition}) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: condition})
	}
}
