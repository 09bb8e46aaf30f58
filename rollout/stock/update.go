package stock

import (
	"slices"

	"github.com/daemonplan/daemonplan/rollout"
)

// changes are what there is to update, whatever the budget has room for.
type changes struct {
	// broken and brokenBeside need no room, because the outdated pod is not available; candidates and beside do.
	broken, candidates   []outdatedPod
	brokenBeside, beside []create
	// superseded pods go in any case, of the outnumbered ones as many as excess.
	superseded, outnumbered []deletion
	excess                  int
	// failed: a node that a pod names does not exist, for which the controller gives the update up.
	failed bool
}

// emptied are no changes, with the memory of these.
func (c *changes) emptied() changes {
	return changes{
		broken: c.broken[:0], candidates: c.candidates[:0], brokenBeside: c.brokenBeside[:0], beside: c.beside[:0],
		superseded: c.superseded[:0], outnumbered: c.outnumbered[:0],
	}
}

// outdatedPod is a pod to be updated. In which way is decided when its turn comes.
type outdatedPod struct {
	node   *node
	pod    *member
	reason rollout.Reason
}

// survey counts how much of the budget is used up, and finds what there is to update. Of the pods that are not on their way out
// each node is to have exactly one.
func (s *round) survey() (c changes) {
	if s.lent != nil {
		c = s.lent.emptied()
	}
	switch {
	case s.kruise && s.maxSurge > 0:
		s.surveyKruiseBeside(&c)
	case s.kruise:
		s.surveyKruiseInTurn(&c)
	case s.maxSurge > 0:
		s.surveyBeside(&c)
	default:
		s.surveyInTurn(&c)
	}
	if s.lent != nil {
		*s.lent = c
	}
	// There is one of each node, so that any order will do.
	shuffle(s, c.broken, c.candidates)
	shuffle(s, c.superseded, c.outnumbered)
	shuffle(s, c.brokenBeside, c.beside)
	return c
}

func shuffle[T any](s *round, lists ...[]T) {
	for _, list := range lists {
		s.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
}

// wait notes that all changes wait for that.
func (c *changes) wait(limit rollout.Limit) {
	for _, outdated := range slices.Concat(c.broken, c.candidates) {
		outdated.node.waits = limit
	}
	for _, beside := range slices.Concat(c.brokenBeside, c.beside) {
		beside.node.waits = limit
	}
}

// room is how many candidates the budget leaves room for. The others are noted to wait for it.
func (s *round) room(c *changes) int {
	limit, left, waiting := rollout.LimitMaxUnavailable, s.maxUnavailable-s.unavailable, len(c.candidates)
	if s.maxSurge > 0 {
		limit, left, waiting = rollout.LimitMaxSurge, s.maxSurge-s.surging, len(c.beside)
	}
	room := min(max(0, int(left)), waiting)
	for i := room; i < len(c.candidates); i++ {
		c.candidates[i].node.waits = limit
	}
	for i := room; i < len(c.beside); i++ {
		c.beside[i].node.waits = limit
	}
	return room
}

// update replaces outdated pods: those that are not available, and of the others as many as the budget leaves room for.
func (s *round) update(c changes, room int) {
	if c.failed {
		return // the controller does not find a node, and gives this sync up
	}
	if s.maxSurge > 0 {
		s.creates = append(c.brokenBeside, c.beside[:room]...)
		s.deletes = append(c.superseded, c.outnumbered[:c.excess]...)
		for _, beside := range s.creates {
			s.use(beside.node, &s.surging)
		}
	} else {
		for _, outdated := range slices.Concat(c.broken, c.candidates[:room]) {
			s.deletes = append(s.deletes, s.replacement(outdated)...)
		}
		for _, outdated := range c.candidates[:room] {
			s.use(outdated.node, &s.unavailable)
		}
	}
	s.send()
}

// use notes that the node uses up a place of a budget.
func (s *round) use(n *node, budget *int32) {
	*budget++
	n.uses = true
	s.users = append(s.users, n.name)
}

// pair returns the node's new and its outdated pod of those that do not terminate. It is no pair if there are two of a kind.
func (s *round) pair(n *node) (updated, outdated *member, isPair bool) {
	for _, pod := range n.pods {
		switch {
		case pod.marked:
		case pod.updated && updated == nil:
			updated = pod
		case !pod.updated && outdated == nil:
			outdated = pod
		default:
			return nil, nil, false
		}
	}
	return updated, outdated, true
}

// surveyInTurn is survey without surge: outdated pods are deleted. A node counts as unavailable if it has pods of the set, or is
// to have one, unless it has exactly one that is available: where it stands does not matter.
func (s *round) surveyInTurn(c *changes) {
	for _, n := range s.nodes {
		if len(n.pods) == 0 && !n.shouldRun {
			continue
		}
		updated, outdated, isPair := s.pair(n)
		switch {
		case !isPair || (updated == nil) == (outdated == nil):
			s.use(n, &s.unavailable)
		case updated != nil:
			if !updated.available {
				s.use(n, &s.unavailable)
			}
		case !outdated.available:
			s.use(n, &s.unavailable)
			c.broken = append(c.broken, outdatedPod{n, outdated, rollout.ReasonOutdatedNotReady})
		default:
			c.candidates = append(c.candidates, outdatedPod{n, outdated, rollout.ReasonOutdated})
		}
	}
}

// surveyBeside is survey with surge: new pods are created beside outdated ones. An outdated pod goes when the new one beside it
// is available. Where no pod is to run any more it goes as far as there are more available pods than are desired.
func (s *round) surveyBeside(c *changes) {
	available := int32(0)
	for _, n := range s.nodes {
		updated, outdated, isPair := s.pair(n)
		if !isPair {
			s.use(n, &s.surging)
			continue
		}
		first := outdated
		if first == nil {
			first = updated
		}
		available += count(first != nil && first.available)
		switch {
		case outdated == nil:
		case updated != nil && updated.available:
			c.superseded = append(c.superseded, s.removal(n, outdated, rollout.ReasonSuperseded, rollout.VerbDelete)...)
		case updated != nil:
			s.use(n, &s.surging)
		case n.decision == nil:
			c.failed = true
		case n.shouldRun && outdated.available:
			c.beside = append(c.beside, s.creation(n, rollout.VerbSurge, rollout.ReasonOutdated))
		case n.shouldRun:
			c.brokenBeside = append(c.brokenBeside, s.creation(n, rollout.VerbSurge, rollout.ReasonOutdatedNotReady))
		case outdated.available:
			c.outnumbered = append(c.outnumbered, s.removal(n, outdated, rollout.ReasonLeaving, rollout.VerbDelete)...)
		default:
			c.superseded = append(c.superseded, s.removal(n, outdated, rollout.ReasonLeaving, rollout.VerbDelete)...)
		}
	}
	c.excess = min(max(0, int(available-s.desired)), len(c.outnumbered))
}
