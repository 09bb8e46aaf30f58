package stock

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// repair creates the pods that are missing and deletes those that are too many or have ended, whatever the rollout.
func (s *round) repair() {
	if s.requested {
		return
	}
	for _, n := range s.nodes {
		switch {
		case n.decision == nil:
			s.removeStrays(n)
		case n.shouldRun && len(n.pods) == 0:
			s.create(n, rollout.VerbCreate, rollout.ReasonMissing)
		case n.mayRun:
			s.mend(n)
		default:
			for _, pod := range n.pods {
				if !pod.marked {
					s.remove(n, pod, rollout.ReasonLeaving)
				}
			}
		}
	}
	mix(s, s.creates, nodeOfCreate)
	mix(s, s.deletes, nodeOfDeletion)
	s.partitionCreates()
	s.send()
	s.asked = len(s.plan.Creates)+len(s.plan.Deletes) > 0
}

// partitionCreates leaves out the pods that partitioned scaling holds back, and puts them into the order of their nodes: with a
// partition OpenKruise's controller takes nodes in that order.
func (s *round) partitionCreates() {
	if s.partition == 0 {
		return
	}
	slices.SortFunc(s.creates, func(a, b create) int { return cmp.Compare(a.node.name, b.node.name) })
	if !s.spec.Strategy.PartitionedScaling {
		return
	}
	fresh := int32(0)
	for _, n := range s.nodes {
		updated, outdated := s.kinds(n)
		fresh += count(n.decision != nil && len(updated) == 1 && len(outdated) <= 1)
	}
	limit := max(0, s.desired-fresh-min(s.partition, s.desired))
	for i := int(limit); i < len(s.creates); i++ {
		s.creates[i].node.waits = rollout.LimitPartition
	}
	s.creates = s.creates[:min(int(limit), len(s.creates))]
}

// removeStrays removes the pods of a node that does not exist if they are not bound to it, also those that terminate.
func (s *round) removeStrays(n *node) {
	for _, pod := range n.pods {
		if pod.Spec.NodeName == "" {
			s.remove(n, pod, rollout.ReasonNodeGone)
		}
	}
}

// mend leaves one pod on a node that may run it, or with maxSurge one of each revision while the new one is not available.
func (s *round) mend(n *node) {
	var running []*member
	for _, pod := range n.pods {
		switch {
		case pod.marked:
		case pod.failed:
			if until := s.backoffs.until(n.name, s.now); !until.IsZero() {
				s.wakeAt(until)
				n.waits = rollout.LimitBackoff
				continue
			}
			s.backoffs.next(n.name, s.now)
			s.remove(n, pod, rollout.ReasonFailed)
		case pod.ended && !s.kruise:
			s.remove(n, pod, rollout.ReasonSucceeded)
		case s.isLeaving(pod):
			s.remove(n, pod, rollout.ReasonReleased)
		default:
			running = append(running, pod)
		}
	}
	if s.surges() {
		s.mendSurging(n, running)
		return
	}
	for i := 1; i < len(running); i++ {
		s.remove(n, running[i], rollout.ReasonSurplus)
	}
}

// mendSurging is mend with maxSurge: the oldest new pod stays, and the oldest of the others beside it while that one is ready and
// the new one is not available.
func (s *round) mendSurging(n *node, running []*member) {
	if len(running) == 0 && n.shouldRun {
		s.create(n, rollout.VerbCreate, rollout.ReasonBesideTerminating)
	}
	if len(running) <= 1 {
		return
	}
	var newest, other *member
	for _, pod := range running {
		switch {
		case pod.atHash && newest == nil:
			newest = pod
		case !pod.atHash && other == nil:
			other = pod
		default:
			s.remove(n, pod, rollout.ReasonSurplus)
		}
	}
	switch {
	case newest == nil || other == nil:
	case !other.ready:
		s.remove(n, other, rollout.ReasonNotReadyBesideNew)
	case newest.available:
		s.remove(n, other, rollout.ReasonSuperseded)
	}
}

func (s *round) create(n *node, verb rollout.Verb, reason rollout.Reason) {
	s.creates = append(s.creates, s.creation(n, verb, reason))
}

// creation is a pod of the update revision for the node.
func (s *round) creation(n *node, verb rollout.Verb, reason rollout.Reason) create {
	return create{n, verb, rollout.Create{Node: n.name, Revision: s.hash, Reason: reason}}
}

// send puts what the phase wants into the plan, as far as burst allows: so many creates, so many deletes, and so many updates in
// place. What is left over waits for a later sync.
func (s *round) send() {
	for i, c := range s.creates {
		if i >= s.burst {
			c.node.waits = rollout.LimitBurst
			continue
		}
		s.sentCreates = append(s.sentCreates, c)
		s.plan.Creates = append(s.plan.Creates, c.asks)
	}
	sent := make(map[fate]int)
	for _, d := range s.deletes {
		if sent[d.fate] >= s.burst && d.fate != prepared {
			d.node.waits = rollout.LimitBurst
			continue
		}
		sent[d.fate]++
		s.sentDeletes = append(s.sentDeletes, d)
		if d.fate != deleted {
			s.patch(d.node, d.pod, d.patches, d.reason)
			continue
		}
		s.plan.Deletes = append(s.plan.Deletes, rollout.Delete{
			Node: d.node.name, Pod: d.pod.Name, UID: d.pod.UID, Reason: d.reason,
			Revision: d.pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
		})
	}
	s.creates, s.deletes = nil, nil
}
