package stock

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// update replaces outdated pods within the budget. Of the pods that are not on their way out each node is to have exactly one.
func (s *sync) update() {
	if s.maxSurge > 0 {
		s.updateBeside()
	} else {
		s.updateInTurn()
	}
}

// use notes that the node uses up a place of a budget.
func (s *sync) use(n *node, budget *int32) {
	*budget++
	s.users = append(s.users, n.name)
}

// pair returns the node's new and its outdated pod of those that do not terminate. It is no pair if there are two of a kind.
func (s *sync) pair(n *node) (updated, outdated *corev1.Pod, isPair bool) {
	for _, pod := range n.pods {
		switch {
		case marked(pod):
		case s.isUpdated(pod) && updated == nil:
			updated = pod
		case !s.isUpdated(pod) && outdated == nil:
			outdated = pod
		default:
			return nil, nil, false
		}
	}
	return updated, outdated, true
}

// updateInTurn deletes outdated pods: all that are not available, and of the others as many as maxUnavailable leaves room for.
// A node counts as unavailable if it has pods of the set, or is to have one, unless it has exactly one that is available: where it
// stands does not matter.
func (s *sync) updateInTurn() {
	var broken, candidates []deletion
	for _, n := range s.shuffled() {
		if len(n.pods) == 0 && !n.shouldRun {
			continue
		}
		updated, outdated, isPair := s.pair(n)
		switch {
		case !isPair || (updated == nil) == (outdated == nil):
			s.use(n, &s.unavailable)
		case updated != nil:
			if !s.isAvailable(updated) {
				s.use(n, &s.unavailable)
			}
		case !s.isAvailable(outdated):
			s.use(n, &s.unavailable)
			broken = append(broken, deletion{n, outdated, rollout.ReasonOutdatedNotReady, rollout.VerbReplace})
		default:
			candidates = append(candidates, deletion{n, outdated, rollout.ReasonOutdated, rollout.VerbReplace})
		}
	}
	room := min(max(0, int(s.maxUnavailable-s.unavailable)), len(candidates))
	for _, d := range candidates[room:] {
		d.node.waits = rollout.LimitMaxUnavailable
	}
	for _, d := range candidates[:room] {
		s.use(d.node, &s.unavailable)
	}
	s.deletes = append(broken, candidates[:room]...)
	s.send()
}

// updateBeside creates new pods beside outdated ones: beside all that are not available, and beside as many others as maxSurge
// leaves room for. An outdated pod goes when the new one beside it is available. Where no pod is to run any more it goes as far as
// there are more available pods than are desired.
func (s *sync) updateBeside() {
	var broken, candidates []create
	var outnumbered []deletion
	available := int32(0)
	for _, n := range s.shuffled() {
		updated, outdated, isPair := s.pair(n)
		if !isPair {
			s.use(n, &s.surging)
			continue
		}
		first := outdated
		if first == nil {
			first = updated
		}
		available += count(first != nil && s.isAvailable(first))
		switch {
		case outdated == nil:
		case updated != nil && s.isAvailable(updated):
			s.delete(n, outdated, rollout.VerbDelete, rollout.ReasonSuperseded)
		case updated != nil:
			s.use(n, &s.surging)
		case n.decision == nil: // the controller does not find the node, and gives this sync up
			s.creates, s.deletes, s.surging, s.users = nil, nil, 0, nil
			return
		case n.shouldRun && s.isAvailable(outdated):
			candidates = append(candidates, create{n, rollout.VerbSurge, rollout.ReasonOutdated})
		case n.shouldRun:
			broken = append(broken, create{n, rollout.VerbSurge, rollout.ReasonOutdatedNotReady})
		case s.isAvailable(outdated):
			outnumbered = append(outnumbered, deletion{n, outdated, rollout.ReasonLeaving, rollout.VerbDelete})
		default:
			s.delete(n, outdated, rollout.VerbDelete, rollout.ReasonLeaving)
		}
	}
	room := min(max(0, int(s.maxSurge-s.surging)), len(candidates))
	for _, c := range candidates[room:] {
		c.node.waits = rollout.LimitMaxSurge
	}
	s.creates = append(broken, candidates[:room]...)
	for _, c := range s.creates {
		s.use(c.node, &s.surging)
	}
	excess := min(max(0, int(available-s.desired)), len(outnumbered))
	s.deletes = append(s.deletes, outnumbered[:excess]...)
	s.send()
}
