package stock

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/rollout"
)

// How OpenKruise's controller updates: partition and node selector say which nodes are looked at, also to see how much of the
// budget is used up.

// kinds returns the pods of a node that do not terminate, new ones and outdated ones. It counts those that have ended.
func (s *round) kinds(n *node) (updated, outdated []*member) {
	for _, pod := range n.pods {
		switch {
		case pod.marked:
		case pod.updated:
			updated = append(updated, pod)
		default:
			outdated = append(outdated, pod)
		}
	}
	return updated, outdated
}

// begin marks the nodes that may be updated: first those that are updated, then those that are about to be, then the others that
// the selector matches, each by descending name. As many as the partition says are left out at the end.
func (s *round) begin() {
	selector := labels.Everything()
	if given := s.spec.Strategy.NodeSelector; given != nil {
		selector, _ = metav1.LabelSelectorAsSelector(given) // New has validated it
	}
	s.plan.NodeSelector = selector.String()
	var updated, updating, rest []*node
	all := 0
	for _, n := range slices.Backward(s.nodes) {
		if n.decision == nil || len(n.pods) == 0 && !n.shouldRun {
			continue
		}
		all++
		news, olds := s.kinds(n)
		switch {
		case len(news) > 0 || len(olds) > 1:
			updated = append(updated, n)
		case len(olds) == 0 || s.isLeaving(olds[0]):
			updating = append(updating, n)
		case selector.Matches(labels.Set(n.object.Labels)):
			rest = append(rest, n)
			n.waits = rollout.LimitPartition
		default:
			n.waits = rollout.LimitNodeSelector
		}
	}
	list := slices.Concat(updated, updating, rest)
	for _, n := range list[:max(0, min(all-int(s.partition), len(list)))] {
		n.begun, n.waits = true, rollout.LimitNone
	}
}

// surveyKruiseInTurn is survey without surge: outdated pods are deleted or updated in place. An outdated pod that is alone on its
// node uses up nothing, whether it is available or not.
func (s *round) surveyKruiseInTurn(c *changes) {
	s.begin()
	for _, n := range s.nodes {
		if !n.begun {
			continue
		}
		updated, outdated := s.kinds(n)
		s.unavailable += s.takes(n, updated, outdated)
		if len(updated) > 0 || len(outdated) != 1 || s.isLeaving(outdated[0]) {
			continue
		}
		if outdated[0].available {
			c.candidates = append(c.candidates, outdatedPod{n, outdated[0], rollout.ReasonOutdated})
		} else {
			c.broken = append(c.broken, outdatedPod{n, outdated[0], rollout.ReasonOutdatedNotReady})
		}
	}
}

// takes is how much of maxUnavailable the node uses up: 0 or 1, and up to 2 where a new pod that waits for its hook stands beside
// an outdated one, because the controller counts both.
func (s *round) takes(n *node, updated, outdated []*member) (places int32) {
	var staying []*member
	for _, pod := range slices.Concat(updated, outdated) {
		if !s.isLeaving(pod) {
			staying = append(staying, pod)
		}
	}
	switch {
	case len(n.pods) == 0:
		places = count(n.shouldRun)
	case len(updated) == 0 && len(outdated) == 1 && len(staying) == 1:
	case len(updated) == 1 && len(outdated) == 1 && s.isLeaving(updated[0]) && len(staying) == 1:
		places = 1 + count(!updated[0].available)
	default:
		places = count(len(updated) > 1 || len(outdated) > 1 || len(staying) != 1 || !staying[0].available)
	}
	if places > 0 {
		n.uses = true
		s.users = append(s.users, n.name)
	}
	return places
}

// surveyKruiseBeside is survey with surge: new pods are created beside outdated ones, also where they are not to run.
func (s *round) surveyKruiseBeside(c *changes) {
	s.begin()
	for _, n := range s.nodes {
		if n.decision != nil && !n.begun {
			continue
		}
		updated, outdated := s.kinds(n)
		if n.begun && s.holdsPlace(updated, outdated) {
			s.use(n, &s.surging)
		}
		switch {
		case len(updated) > 1 || len(outdated) != 1 || s.isLeaving(outdated[0]):
		case len(updated) == 1:
			if updated[0].available && !s.isLeaving(updated[0]) {
				c.superseded = append(c.superseded, s.removal(n, outdated[0], rollout.ReasonSuperseded, rollout.VerbDelete)...)
			}
		case n.decision == nil:
		case outdated[0].available:
			c.beside = append(c.beside, s.creation(n, rollout.VerbSurge, rollout.ReasonOutdated))
		default:
			c.brokenBeside = append(c.brokenBeside, s.creation(n, rollout.VerbSurge, rollout.ReasonOutdatedNotReady))
		}
	}
}

// holdsPlace reports whether the node uses up one of maxSurge: with an outdated pod beside a new one that is not available, and
// with several of a kind.
func (s *round) holdsPlace(updated, outdated []*member) bool {
	switch {
	case len(updated) > 1 || len(outdated) > 1:
		return true
	case len(updated) == 0 || len(outdated) == 0 || s.isLeaving(outdated[0]):
		return false
	default:
		return !updated[0].available || s.isLeaving(updated[0])
	}
}
