package stock

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// repair creates the pods that are missing and deletes those that are too many or have ended, whatever the rollout.
func (s *sync) repair() {
	if s.requested {
		return
	}
	order := s.shuffled()
	for _, n := range order {
		switch {
		case n.decision == nil: // comes last
		case n.shouldRun && len(n.pods) == 0:
			s.create(n, rollout.VerbCreate, rollout.ReasonMissing)
		case n.mayRun:
			s.mend(n)
		default:
			for _, pod := range n.pods {
				if !marked(pod) {
					s.delete(n, pod, rollout.ReasonLeaving)
				}
			}
		}
	}
	for _, n := range order {
		if n.decision == nil {
			s.deleteStrays(n)
		}
	}
	s.send()
}

// deleteStrays deletes the pods of a node that does not exist if they are not bound to it, also those that terminate.
func (s *sync) deleteStrays(n *node) {
	for _, pod := range n.pods {
		if pod.Spec.NodeName == "" {
			s.delete(n, pod, rollout.ReasonNodeGone)
		}
	}
}

// mend leaves one pod on a node that may run it, or with maxSurge one of each revision while the new one is not available.
func (s *sync) mend(n *node) {
	var running []*corev1.Pod
	for _, pod := range n.pods {
		switch {
		case marked(pod):
		case pod.Status.Phase == corev1.PodFailed:
			if until := s.backoffs.until(n.name, s.now); !until.IsZero() {
				s.wakeAt(until)
				n.waits = rollout.LimitBackoff
				continue
			}
			s.backoffs.next(n.name, s.now)
			s.delete(n, pod, rollout.ReasonFailed)
		case pod.Status.Phase == corev1.PodSucceeded:
			s.delete(n, pod, rollout.ReasonSucceeded)
		default:
			running = append(running, pod)
		}
	}
	if s.surges() {
		s.mendSurging(n, running)
		return
	}
	for i := 1; i < len(running); i++ {
		s.delete(n, running[i], rollout.ReasonSurplus)
	}
}

// mendSurging is mend with maxSurge: the oldest new pod stays, and the oldest of the others beside it while that one is ready and
// the new one is not available.
func (s *sync) mendSurging(n *node, running []*corev1.Pod) {
	if len(running) == 0 && n.shouldRun {
		s.create(n, rollout.VerbCreate, rollout.ReasonBesideTerminating)
	}
	if len(running) <= 1 {
		return
	}
	var newest, other *corev1.Pod
	for _, pod := range running {
		switch {
		case s.isAtHash(pod) && newest == nil:
			newest = pod
		case !s.isAtHash(pod) && other == nil:
			other = pod
		default:
			s.delete(n, pod, rollout.ReasonSurplus)
		}
	}
	switch {
	case newest == nil || other == nil:
	case !isReady(other):
		s.delete(n, other, rollout.ReasonNotReadyBesideNew)
	case s.isAvailable(newest):
		s.delete(n, other, rollout.ReasonSuperseded)
	}
}

func (s *sync) create(n *node, verb rollout.Verb, reason rollout.Reason) {
	s.creates = append(s.creates, create{n, verb, reason})
}

func (s *sync) delete(n *node, pod *corev1.Pod, reason rollout.Reason) {
	s.deletes = append(s.deletes, deletion{n, pod, reason, rollout.VerbDelete})
}

// acts reports whether the sync has asked for anything.
func (s *sync) acts() bool { return len(s.creates)+len(s.deletes) > 0 }

// send puts what the phase wants into the plan, as far as burst allows: so many creates, and so many deletes. What is left over
// waits for a later sync.
func (s *sync) send() {
	for i, c := range s.creates {
		if i >= s.burst {
			c.node.waits = rollout.LimitBurst
			continue
		}
		s.plan.Creates = append(s.plan.Creates, rollout.Create{Node: c.node.name, Revision: s.hash, Reason: c.reason})
	}
	for i, d := range s.deletes {
		if i >= s.burst {
			d.node.waits = rollout.LimitBurst
			continue
		}
		s.plan.Deletes = append(s.plan.Deletes, rollout.Delete{
			Node: d.node.name, Pod: d.pod.Name, UID: d.pod.UID, Reason: d.reason,
			Revision: d.pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
		})
	}
}
