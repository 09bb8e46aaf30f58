package lifecycle

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patch is a change of a pod, ready for a client's Patch call. It carries the UID of the pod, so that it never hits a
// namesake.
type Patch struct {
	// Type of the patch.
	Type types.PatchType
	// Subresource to patch: "" is the pod itself, else "status" or "resize".
	Subresource string
	// Data is the patch.
	Data []byte
}

// Patches returns the patches of one step of pod, in the order in which they have to be sent; if one fails, the rest
// must not be sent. t is what [Hooks.Next] answered for this very pod. None (nil) if there is nothing to change.
//
// The status patch comes first, so that a pod is not ready before anybody reads that it is being prepared. It carries the
// pod's resource version, so that it must also come before all other patches that are sent for the pod. The state of an
// in-place update that may proceed is not among the patches: it goes with the spec patch, by [Transition.Metadata].
//
// There are two exceptions, in which a pod gets its state alone, and the condition by the next step. One that enters
// PreparingDelete or PreparingUpdate may become ready by the same step, because another hook marked it. In the other order it
// would be ready for a moment without a sign of what is planned for it, and a caller that stops there may then find that a ready
// pod is not to be touched. And one whose deletion is taken back may become not ready by the same step, because it waits for
// PreNormal. In the other order it would be leaving still, and not ready, so that a caller that stops there may then choose
// another pod to stay.
func (t Transition) Patches(pod *corev1.Pod, now time.Time) []Patch {
	if pod == nil {
		return nil
	}
	begins := t.Mark == ClearMark && (t.To == PreparingUpdate || t.To == PreparingDelete)
	takenBack := t.Mark == SetMark && t.From == PreparingDelete
	if t.patchesState() && (begins || takenBack) {
		return []Patch{t.statePatch(pod, now)}
	}
	var patches []Patch
	switch t.Mark {
	case BeginMark:
		patches = append(patches, beginPatch(pod, now))
	case SetMark, ClearMark:
		// The messages were readable when t was made of this pod.
		edit, _ := editMessages(pod, t.Set, t.Clear)
		patches = edit.patches(pod, now)
	default:
	}
	if t.patchesState() {
		patches = append(patches, t.statePatch(pod, now))
	}
	return patches
}

func (t Transition) statePatch(pod *corev1.Pod, now time.Time) Patch {
	meta := patchMeta{UID: pod.UID}
	meta.Labels, meta.Annotations = t.Metadata(now)
	for _, missing := range t.Restore {
		if missing.Finalizer != "" {
			meta.Finalizers = append(meta.Finalizers, missing.Finalizer)
		} else {
			meta.Labels[missing.Label] = missing.Value
		}
	}
	return strategic("", patchBody{Metadata: meta})
}

// patchBody is all that the patches of this package contain. Strategic merge patches add to labels, annotations and
// finalizers, and find a condition by its type, so others' entries stay.
type patchBody struct {
	Metadata patchMeta    `json:"metadata"`
	Status   *patchStatus `json:"status,omitempty"`
}

type patchMeta struct {
	UID             types.UID         `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	Finalizers      []string          `json:"finalizers,omitempty"`
}

type patchStatus struct {
	Conditions []patchCondition `json:"conditions"`
}

// patchCondition leaves out what stays as it is.
type patchCondition struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status,omitempty"`
	LastTransitionTime string                  `json:"lastTransitionTime,omitempty"`
	Reason             string                  `json:"reason,omitempty"`
	Message            string                  `json:"message,omitempty"`
}

func strategic(subresource string, body patchBody) Patch {
	// Strings and maps of strings: there is nothing that could fail to be marshalled.
	data, _ := json.Marshal(body)
	return Patch{Type: types.StrategicMergePatchType, Subresource: subresource, Data: data}
}
