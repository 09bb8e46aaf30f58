package inplace_test

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

type completedCase struct {
	Input struct {
		FeatureGates gates
		Pod          corev1.Pod
	}
	Expect struct{ Completed bool }
}

// These are the numbers of the entries of completed.
const (
	imageSpelling = iota
	startedSince
	emptyID
	containerGone
	envRestarted
	hashesAgree
	resourcesUnreported
	hashesUnreadable
	nextOfNobody
)

var completedPeer = peer[completedCase]{
	file: "kruise-inplace/completed.jsonl",
	entries: []entry{
		imageSpelling: {
			id: "image-spelling", rule: "I5",
			why: "Kruise waits for ever for an image of the same ID that the status spells otherwise",
		},
		startedSince: {
			id: "started-since", rule: "I5", unrecorded: true,
			why: "Kruise looks at the ID of the image only; here a start since the update is enough",
		},
		emptyID: {
			id: "empty-id", rule: "I5", unrecorded: true,
			why: "Kruise takes an empty ID of an image for another one; here it is that of a container that does not run",
		},
		containerGone: {
			id: "container-gone", rule: "I5", unrecorded: true,
			why: "Kruise is content with the status of a container that the pod does not have; here there is nothing that could be complete",
		},
		envRestarted: {
			id: "env-restarted", rule: "I5",
			why: "Kruise needs its daemon's hashes to know that environments are up to date; here a start after the change is enough",
		},
		hashesAgree: {
			id: "hashes-agree", rule: "I5",
			why: "Kruise believes its daemon's hashes that a container is up to date; here only what the kubelet reports counts",
		},
		resourcesUnreported: {
			id: "resources-unreported", rule: "I5",
			why: "Kruise waits for ever for resources that a kubelet does not report; here a container with a new image has them",
		},
		hashesUnreadable: {
			id: "hashes-unreadable", rule: "I5",
			why: "Kruise waits for ever if its daemon's hashes are unreadable; here they are not read",
		},
		nextOfNobody: {
			id: "next-of-nobody", rule: "I5", unrecorded: true,
			why: "Kruise waits for ever for later batches of containers that the pod does not have",
		},
	},
	recorded: func(c *completedCase) any { return c.Expect.Completed },
	model:    func(c *completedCase, on rules) any { return c.model(on) },
	ours:     func(_ testing.TB, c *completedCase) any { return inplace.Completed(c.pod()).Done },
	vary:     (*completedCase).vary,
	reverse:  func(c *completedCase) { slices.Reverse(c.Input.Pod.Spec.Containers) },
}

// These are annotations of Kruise, with the older keys.
var (
	stateKeys   = []string{"apps.kruise.io/inplace-update-state", "inplace-update-state"}
	graceKeys   = []string{"apps.kruise.io/inplace-update-grace", "inplace-update-grace"}
	runtimeKeys = []string{"apps.kruise.io/runtime-containers-meta"}
)

// annotationOf returns the value of the annotation that a pod has under one of the keys, and that key.
func annotationOf(pod *corev1.Pod, keys []string) (value, key string) {
	for _, key := range keys {
		if value, ok := pod.Annotations[key]; ok {
			return value, key
		}
	}
	return "", ""
}

// pod returns the recorded pod. Without its feature gate Kruise neither writes nor reads that resources are part of an update.
func (c *completedCase) pod() *corev1.Pod {
	pod := c.Input.Pod.DeepCopy()
	value, key := annotationOf(pod, stateKeys)
	var fields map[string]json.RawMessage
	if !c.Input.FeatureGates.InPlaceWorkloadVerticalScaling && json.Unmarshal([]byte(value), &fields) == nil && fields["updateResources"] != nil {
		delete(fields, "updateResources")
		pod.Annotations[key] = text(fields)
	}
	return pod
}
