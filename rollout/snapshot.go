package rollout

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// Snapshot is everything a plan depends on beside the spec. Nothing in it is written, and only
// Plan.Reading keeps any of it, so pointers from an informer cache may be passed as they are. The order of the slices carries no
// meaning.
type Snapshot struct {
	// Now is the time at which the plan is made; the planner has no clock of its own. Required.
	Now time.Time
	// Nodes of the cluster, all of them: a pod bound to a node that is not here counts as stranded (M5).
	// Names must be unique and not empty.
	Nodes []*corev1.Node
	// Pods of the set ([Claim] picks them), terminating and finished ones too. UIDs must be unique and not empty. A pod that is
	// not the set's is refused, because a node with one would have one too many: one of another namespace, one that another
	// object controls, and one that nobody controls and the selector does not match.
	Pods []*corev1.Pod
	// Revisions of the set ([ClaimRevisions] picks them). Names must be unique, and none may belong to another
	// controller. Empty is fine: a first installation.
	Revisions []*appsv1.ControllerRevision
	// FailedPulls are the pulls of images that failed, each with the number of failures in a row: Plan.FailedPulls of the
	// previous call, and what has failed since. A failed pull is tried again after a back-off, up to the limit of
	// predownload.Options. If its entry is taken out, the count begins anew.
	FailedPulls []predownload.Failure
	// InFlight is what earlier plans asked for and Nodes, Pods and Revisions do not show yet. The zero value stands for
	// nothing.
	InFlight InFlight
	// Memory is Plan.Memory of the previous call. The zero value is always safe.
	Memory Memory
	// Reading is Plan.Reading of an earlier call, or nil; after an error keep the one that you have. A Reading of any plan will
	// do, of [Planner.Plan] or [Planner.ClaimAndPlan], though one of another set knows little. It changes nothing but the time
	// that the plan takes: objects of Nodes and Pods whose pointers were in the snapshot of that call are not read again. The
	// caller owes that such an object has not been changed since, as a cache of client-go demands anyway;
	// rollouttest.CheckReading finds one who does.
	Reading *Reading `json:"-"`
}

// InFlight lists requests that were sent and are not yet seen in the snapshot (a watch lags behind). They count as
// done, so that a stale cache cannot make the planner act twice.
//
// The caller takes entries out again, because only the caller knows what the API server answered: a create when the
// cache shows the pod of that name (or its deletion), a delete when the pod is marked or gone, a patch or a revision when
// the cache shows a resource version at least as new as the answer's, and anything when the request failed. An entry
// that stays for ever keeps its node waiting with [ReasonRequested].
type InFlight struct {
	// Creates are pods that were asked for.
	Creates []InFlightCreate
	// Deletes are UIDs of pods whose deletion was asked for.
	Deletes []types.UID
	// Patches are UIDs of pods for which a patch was sent. Until the patch is seen, the pod does not count as serving, because
	// the patch may take it out of service (B2), and nothing else is done to it.
	Patches []types.UID
	// Revisions are names of revisions for which any action was sent.
	Revisions []string
	// Pulls are pulls of images that were started and have not ended. The caller takes out a pull that ended well when the node
	// reports the image, and moves one that failed to Snapshot.FailedPulls.
	Pulls []predownload.Request
	// Refused are patches of pods that the API server has refused and would refuse again, because of what they ask for. The
	// update in place that they belong to is not possible then, or cannot be completed: with InPlaceIfPossible the pod is
	// recreated, with InPlaceOnly held (I1). They are not in flight any more, but they come from the same tracker, and end as its
	// requests do. Nil: none.
	Refused []RefusedPatch `json:",omitempty"`
}

// RefusedPatch is a patch of a pod that the API server has refused.
type RefusedPatch struct {
	// UID of the pod.
	UID types.UID
	// Revision is [Patch].Revision: that to which the pod was to be brought.
	Revision string
	// Reason is [Patch].Reason, which tells the steps of an update apart: to begin it, to go on, to take it back. ReasonNone:
	// any.
	Reason Reason
	// Message is what the server said, for readers. It may be empty.
	Message string
}

// InFlightCreate is one requested pod.
type InFlightCreate struct {
	// Node the pod is pinned to.
	Node string
	// Revision is the hash the pod was built from. Empty: the update revision.
	Revision string
}

// With returns the in-flight requests after all actions of the plan were sent as well. The receiver is not changed. A nil
// plan has no actions.
func (f InFlight) With(plan *Plan) InFlight {
	out := InFlight{
		Creates:   append([]InFlightCreate(nil), f.Creates...),
		Deletes:   append([]types.UID(nil), f.Deletes...),
		Patches:   append([]types.UID(nil), f.Patches...),
		Revisions: append([]string(nil), f.Revisions...),
		Pulls:     append([]predownload.Request(nil), f.Pulls...),
		Refused:   append([]RefusedPatch(nil), f.Refused...),
	}
	if plan == nil {
		return out
	}
	for i := range plan.Creates {
		out.Creates = append(out.Creates, InFlightCreate{Node: plan.Creates[i].Node, Revision: plan.Creates[i].Revision})
	}
	for i := range plan.Deletes {
		out.Deletes = append(out.Deletes, plan.Deletes[i].UID)
	}
	for i := range plan.Patches {
		out.Patches = append(out.Patches, plan.Patches[i].UID)
	}
	for i := range plan.Pulls {
		out.Pulls = append(out.Pulls, predownload.Request{Node: plan.Pulls[i].Node, Image: plan.Pulls[i].Image})
	}
	for i := range plan.Revisions {
		out.Revisions = append(out.Revisions, plan.Revisions[i].Name)
	}
	return out
}

func (f InFlight) empty() bool {
	return len(f.Creates)+len(f.Deletes)+len(f.Patches)+len(f.Revisions)+len(f.Pulls) == 0
}

// wrong says what is wrong with an element of a list of the snapshot.
func wrong(list string, i int, problem string) error {
	return &fleet.Error{List: list, Index: i, Problem: problem}
}

// snapshotError is a [*SnapshotError] of what facts could not be read from.
func snapshotError(err error) error {
	if wrong, ok := errors.AsType[*fleet.Error](err); ok {
		return &SnapshotError{Field: wrong.Field(), Problem: wrong.Problem}
	}
	return err
}

// SnapshotError says how a snapshot breaks the contract of [Snapshot].
type SnapshotError struct {
	// Field is the place in the snapshot, such as "Pods[3]".
	Field string
	// Problem says what is wrong there, and what would be right.
	Problem string
}

// Error joins place and problem.
func (e *SnapshotError) Error() string {
	if e == nil {
		return "snapshot: no error"
	}
	return fmt.Sprintf("snapshot.%s: %s", e.Field, e.Problem)
}
