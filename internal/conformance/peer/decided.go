package peer

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// Decided is what a plan does, as far as it can be compared.
type Decided struct {
	Creates []string // names of nodes
	Fates   []string // of pods, see [Fate.To]
	Status  Counters
}

// DecidedBy reads a plan.
func DecidedBy(plan rollout.Plan) Decided {
	s := plan.Status
	return Decided{
		Creates: nodesOf(plan.Creates), Fates: FatesOf(plan),
		Status: Counters{
			Desired: s.Desired, Current: s.Current, Misscheduled: s.Misscheduled, Ready: s.Ready,
			Updated: s.Updated, Available: s.Available, Unavailable: s.Unavailable,
		},
	}
}

// Fate returns what happens to the pod; empty if nothing.
func (d *Decided) Fate(p *corev1.Pod) Fate {
	for _, f := range []Fate{Deleted, InPlace, Preparing, TakenBack} {
		if slices.Contains(d.Fates, f.To(p.Name)) {
			return f
		}
	}
	return ""
}

// FatesOf lists what the plan does to pods. A pod is updated in place if its spec is, or if that is begun.
func FatesOf(plan rollout.Plan) []string {
	fates := Deleted.Of(podsOf(plan.Deletes)...)
	for _, p := range plan.Patches {
		if f := FateBy(p); f != "" && !slices.Contains(fates, f.To(p.Pod)) {
			fates = append(fates, f.Of(p.Pod)...)
		}
	}
	return fates
}

// FateBy reads off a patch what happens to the pod. It is empty if the patch is no decision (see [Situation.Upkeep]), and no
// fate of any model if the patch cannot be read.
func FateBy(patch rollout.Patch) Fate {
	var change corev1.Pod
	if err := json.Unmarshal(patch.Data, &change); err != nil {
		return Fate(err.Error())
	}
	unready := condition(&change, lifecycle.InPlaceUpdateReady)
	switch state := lifecycle.StateOf(&change); {
	case change.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != "" && patch.Reason != rollout.ReasonDuplicateRevision:
		return InPlace
	case unready != nil && unready.Status == corev1.ConditionFalse:
		return InPlace
	case state == lifecycle.PreparingDelete:
		return Preparing
	case state == lifecycle.Normal && patch.Reason == rollout.ReasonTakenBack:
		return TakenBack
	default:
		return ""
	}
}

// Upkeep reports whether the patch does nothing but make a pod ready that OpenKruise makes ready too.
//
// Such a patch is no decision that was recorded, and no difference. Between its two phases, outside both, OpenKruise goes over
// all pods and makes those ready again whose in-place update is complete, new ones with the readiness gate first of all. Our
// plan does that in the same plan (I5). Whether an update is complete is compared with other recordings, in package inplace:
// no pod of a case has an in-place update that is not complete.
func (s *Situation) Upkeep(patch rollout.Patch) bool {
	pod := s.pod(patch.Pod)
	var change corev1.Pod
	if pod == nil || patch.Subresource != "status" || json.Unmarshal(patch.Data, &change) != nil {
		return false
	}
	want := condition(pod, lifecycle.InPlaceUpdateReady)
	got := condition(&change, lifecycle.InPlaceUpdateReady)
	return hasGate(pod) && !marked(pod) && !lifecycle.Terminal(pod) && (want == nil || want.Status != corev1.ConditionTrue) &&
		got != nil && got.Status == corev1.ConditionTrue &&
		change.Labels == nil && change.Annotations == nil && len(change.Finalizers) == 0
}

func nodesOf(creates []rollout.Create) (nodes []string) {
	for _, c := range creates {
		nodes = append(nodes, c.Node)
	}
	return nodes
}

func podsOf(deletes []rollout.Delete) (pods []string) {
	for _, d := range deletes {
		pods = append(pods, d.Pod)
	}
	return pods
}
