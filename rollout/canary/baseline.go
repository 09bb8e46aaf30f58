package canary

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
)

// Baseline is how often the containers of a pod had restarted before the pod got the revision on trial. A pod that is
// updated in place keeps its counts, and what was counted before the update says nothing about the revision.
type Baseline struct {
	UID types.UID `json:"uid"`
	// Restarts has the number of restarts by container. Containers that had not restarted are left out.
	Restarts map[string]int32 `json:"restarts,omitempty"`
	// InPlace reports whether the pod was updated in place. That restarts its containers once, maybe after the pod was seen.
	InPlace bool `json:"inPlace,omitempty"`
}

// baselines knows which restarts of a pod count.
type baselines struct {
	// known are those on record, in ascending order of UIDs.
	known []Baseline
	// began is when the canary on record began. Zero: its record was lost, or the canary begins now.
	began time.Time
}

func newBaselines(r Record, revision string) baselines {
	if r.Revision != revision {
		return baselines{}
	}
	return baselines{known: ordered(r.Before, compareBaselines), began: r.Began}
}

// of is the baseline of a pod of the revision:
//   - A pod on record keeps its baseline.
//   - A pod that was created before the canary began and is not on record has been updated in place. Its restarts so far do
//     not count, the one for the update included. If the record was lost, the same is true of a pod that says itself that it
//     was updated in place.
//   - Of any other pod all restarts count, even if a lost record might have known better.
func (b baselines) of(pod *corev1.Pod) Baseline {
	at, found := slices.BinarySearchFunc(b.known, Baseline{UID: pod.UID}, compareBaselines)
	base := Baseline{UID: pod.UID}
	switch {
	case found:
		base.InPlace = b.known[at].InPlace
		for container, restarts := range b.known[at].Restarts {
			base.set(container, restarts)
		}
	case pod.UID != "" && (predates(pod.CreationTimestamp.Time, b.began) || b.began.IsZero() && updatedInPlace(pod)):
		base.InPlace = true
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
			for i := range statuses {
				base.set(statuses[i].Name, statuses[i].RestartCount)
			}
		}
	}
	return base
}

// updatedInPlace reports whether the pod's state annotation says that it was updated in place. One that cannot be read says
// nothing.
func updatedInPlace(pod *corev1.Pod) bool {
	state, err := inplace.StateOf(pod)
	return err == nil && state != nil && state.UpdateTimestamp.After(pod.CreationTimestamp.Time)
}

func (b *Baseline) set(container string, restarts int32) {
	if restarts <= 0 {
		return
	}
	if b.Restarts == nil {
		b.Restarts = make(map[string]int32)
	}
	b.Restarts[container] = restarts
}

// predates reports whether a pod was created before the canary began. The start of the canary is cut to whole seconds, as
// creation times are.
func predates(created, began time.Time) bool {
	return created.Before(began.Truncate(time.Second))
}

func compareBaselines(a, b Baseline) int { return strings.Compare(string(a.UID), string(b.UID)) }
