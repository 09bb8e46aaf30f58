package inplace

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// Obstruction is why a pod cannot be updated in place, whatever the change. The zero value is that of a pod that can.
type Obstruction uint8

// The obstructions.
const (
	// NoPod: the pod is nil.
	NoPod Obstruction = iota + 1
	// Deleting: it is marked for deletion.
	Deleting
	// Ended: it is Failed or Succeeded.
	Ended
	// Unbound: it is not bound to a node, and may never be.
	Unbound
	// NoReadinessGate: it lacks the readiness gate InPlaceUpdateReady, which cannot be added to a pod (I3).
	NoReadinessGate
	// NoRevision: it has no label controller-revision-hash, so what it runs is unknown (I3).
	NoRevision
	// Unlike: it differs from what its revision says. It lacks a container or a resource that changes, or others gave it
	// resources with which its QoS class would change, or its kubelet cannot resize. [Obstruct] does not find that, because
	// it knows no change; it stands for an [ErrObstacle] of [Update.Begin].
	Unlike
	// Overridden: its resources are overridden on its node (P8), and are not those wanted there, or would be changed by the
	// update. [Obstruct] does not find that either; package rollout does.
	Overridden
	// NodeLacks: its node lacks what the change needs, which [Update.Lacks] tells: a feature, or a kubelet that is new enough.
	NodeLacks
	// Refused: the API server refused a step of the update. [Obstruct] does not find that; package rollout is told
	// (rollout.InFlight.Refused).
	Refused
)

// obstructionTexts are the texts of the obstructions, by number.
var obstructionTexts = [...]string{
	0:               "",
	NoPod:           "no pod",
	Deleting:        "marked for deletion",
	Ended:           "has ended",
	Unbound:         "not bound to a node",
	NoReadinessGate: "no readiness gate InPlaceUpdateReady",
	NoRevision:      "revision unknown",
	Unlike:          "not what its revision says",
	Overridden:      "its resources are overridden on its node, and have to change",
	NodeLacks:       "its node cannot take that change",
	Refused:         "the API server refused a step of the update",
}

// String returns the obstruction in a few words, "" for the zero value. An undefined value gives "Obstruction(n)".
func (o Obstruction) String() string {
	if int(o) >= len(obstructionTexts) {
		return fmt.Sprintf("Obstruction(%d)", uint8(o))
	}
	return obstructionTexts[o]
}

// MarshalText is String, so that a plan encoded as JSON reads in words.
func (o Obstruction) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Obstruct returns the first reason, in the order of the constants, why pod cannot be updated in place whatever the
// change; zero: there is none. It does not allocate.
func Obstruct(pod *corev1.Pod) Obstruction {
	switch {
	case pod == nil:
		return NoPod
	case pod.DeletionTimestamp != nil:
		return Deleting
	case lifecycle.Terminal(pod):
		return Ended
	case pod.Spec.NodeName == "":
		return Unbound
	case !hasGate(pod):
		return NoReadinessGate
	case pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == "":
		return NoRevision
	}
	return 0
}
