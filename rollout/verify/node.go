package verify

import "time"

// sums are what the pods of one node come to. A check of one pod asks them for the others, of which there may be
// thousands.
type sums struct {
	// bestCurrent and bestOutdated are the pods that M3 keeps, of those at the revision where the node is to end and of the
	// others, if they are not on their way out; nil: there is none.
	bestCurrent, bestOutdated *pod
	terminal                  bool // one has ended, and is not marked
	// requestsGoal: a pod of the revision where the node is to end is in flight to it.
	requestsGoal bool

	// After the plan:

	live int // pods that are live then
	// currentGoesOn and outdatedGoesOn: one of either kind goes on to be active; outdatedStays: one of the latter that is not
	// on its way out.
	currentGoesOn, outdatedGoesOn, outdatedStays bool
	// currentStays: one of the revision where the node is to end stays, and can tell of it; currentServes: it serves, too.
	currentStays, currentServes bool
	// backoffEnds is when the last back-off of the Failed pods does; zero: none keeps them (M2).
	backoffEnds time.Time
}

// sumUp finds what the pods of the node come to before the plan.
func (n *node) sumUp() {
	for _, p := range n.pods {
		n.terminal = n.terminal || p.terminal
		best := &n.bestOutdated
		if p.current {
			best = &n.bestCurrent
		}
		if p.active() && !p.leaves() && (*best == nil || betterOf(p, *best) < 0) {
			*best = p
		}
	}
}

// sumUpAfter finds what they come to after it.
func (v *verifier) sumUpAfter(n *node) {
	for _, p := range n.pods {
		if p.stays() {
			n.live++
		}
		if p.active() && !p.goes() {
			n.currentGoesOn = n.currentGoesOn || p.current
			n.outdatedGoesOn = n.outdatedGoesOn || !p.current
			n.outdatedStays = n.outdatedStays || !p.current && !p.leaves()
		}
		if !p.marked && p.current && !p.goes() && p.ran(n) {
			n.currentStays = true
			n.currentServes = n.currentServes || p.serves()
		}
	}
	for _, p := range n.pods {
		if !p.failed || p.marked {
			continue
		}
		due := v.backoffEnd(p)
		if v.goesAtOnce(p) || !due.After(v.snapshot.Now) {
			n.backoffEnds = time.Time{} // all of a node's go together, so one that is due takes the others along
			return
		}
		if due.After(n.backoffEnds) {
			n.backoffEnds = due
		}
	}
}

// others tells how many pods of the node beside this one are live after the plan.
func (n *node) others(pod *pod) int {
	if pod.stays() {
		return n.live - 1
	}
	return n.live
}
