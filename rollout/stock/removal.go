package stock

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// How OpenKruise's controller removes and updates pods: through the preDelete hook, and in place. The controller of Kubernetes
// has neither.

// fate is what becomes of a pod.
type fate uint8

const (
	deleted  fate = iota
	prepared      // it is marked for its hook
	inPlace
)

// isLeaving reports whether the pod was marked for its hook, to be deleted.
func (s *round) isLeaving(pod *member) bool {
	return s.kruise && lifecycle.StateOf(pod.Pod) == lifecycle.PreparingDelete
}

// remove wants the pod to go: at once, or when its hook has let it go.
func (s *round) remove(n *node, pod *member, reason rollout.Reason) {
	s.deletes = append(s.deletes, s.removal(n, pod, reason, rollout.VerbDelete)...)
}

// removal is what is to be done to a pod that is to go: nothing, if it waits for its hook already.
func (s *round) removal(n *node, pod *member, reason rollout.Reason, verb rollout.Verb) []deletion {
	switch {
	case !s.spec.Lifecycle.PreDelete.Matches(pod.Pod):
		return []deletion{{n, pod, reason, verb, deleted, nil}}
	case s.isLeaving(pod):
		return nil
	default:
		patches := s.spec.Lifecycle.Next(pod.Pod, lifecycle.Delete, true).Patches(pod.Pod, s.now)
		return []deletion{{n, pod, reason, rollout.VerbPrepare, prepared, patches}}
	}
}

// replacement is what is to be done to an outdated pod: it is updated in place, if it can be, or removed.
func (s *round) replacement(outdated outdatedPod) []deletion {
	n, pod := outdated.node, outdated.pod
	if patches := s.updateInPlace(n, pod); patches != nil {
		return []deletion{{n, pod, outdated.reason, rollout.VerbUpdate, inPlace, patches}}
	}
	return s.removal(n, pod, outdated.reason, rollout.VerbReplace)
}

// updateInPlace returns the patches that update the pod in place; nil: it cannot be. The controller looks at the readiness gate
// and at what changes between the revisions, and not at the pod: it may be bound to no node, or have failed.
func (s *round) updateInPlace(n *node, pod *member) []lifecycle.Patch {
	if s.spec.Strategy.Method != inplace.IfPossible || s.surges() || !hasGate(pod) {
		return nil
	}
	hash := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	update, known := s.updates[hash]
	if !known {
		update = s.compare(hash)
		s.updates[hash] = update
	}
	if !update.InPlace() {
		return nil
	}
	running := pod.DeepCopy()
	running.Spec.NodeName = n.name
	if pod.ended {
		running.Status.Phase = corev1.PodRunning
	}
	step, err := update.Begin(running, inplace.Target{Revision: s.hash}, inplace.Metadata{}, s.now)
	if err != nil {
		return nil
	}
	s.wakeAt(step.Until)
	return step.Patches
}

func hasGate(pod *member) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return gate.ConditionType == lifecycle.InPlaceUpdateReady
	})
}

// compare finds what changes from the revision with that hash to the update revision. An annotation that asks for a restart is
// none to this controller.
func (s *round) compare(hash string) *inplace.Update {
	var old *corev1.PodTemplateSpec
	for _, revision := range s.revisions {
		if history.HashOf(revision) == hash && hash != s.hash {
			old, _ = history.Template(revision) // what cannot be read is no template, and compares as an obstacle
		}
	}
	if old != nil {
		delete(old.Annotations, inplace.RestartedAt)
	}
	wanted := s.spec.Template.DeepCopy()
	delete(wanted.Annotations, inplace.RestartedAt)
	return inplace.Compare(old, wanted, s.spec.Strategy.InPlace)
}

// keepUp goes on with updates in place that were begun, and makes those pods ready whose update is complete.
func (s *round) keepUp() {
	if !s.kruise {
		return
	}
	for _, n := range s.nodes {
		for _, pod := range n.pods {
			if pod.marked || pod.ended || !inplace.Unfinished(pod.Pod) {
				continue
			}
			step, err := inplace.Continue(pod.Pod, s.now)
			if err != nil {
				continue // what cannot be read is left alone
			}
			s.wakeAt(step.Until)
			s.patch(n, pod, step.Patches, rollout.ReasonInPlaceUnfinished)
		}
	}
}

// patch puts patches of a pod into the plan.
func (s *round) patch(n *node, pod *member, patches []lifecycle.Patch, reason rollout.Reason) {
	for _, patch := range patches {
		s.plan.Patches = append(s.plan.Patches, rollout.Patch{
			Node: n.name, Pod: pod.Name, UID: pod.UID, Type: patch.Type, Subresource: patch.Subresource,
			Data: patch.Data, Revision: pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], Reason: reason,
		})
		n.patches++
	}
}
