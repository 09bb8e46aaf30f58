package verify

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// limits are the numbers of the spec, percentages resolved.
type limits struct {
	desired, maxUnavailable, maxSurge, maxUnschedulable, maxExempt, burst, partition int
	// partitioned nodes take a place of partition.
	partitioned int
	// surge: the spec asks for maxSurge, even if a percentage of no nodes makes it 0.
	surge bool
}

func (v *verifier) resolveLimits() limits {
	var l limits
	for _, node := range v.nodes {
		if node.outcome == placement.Run {
			l.desired += node.weight
		}
	}
	if v.spec.Strategy.Type == rollout.RollingUpdate { // OnDelete has no budgets
		l.maxUnavailable = ofDesired(v.spec.Strategy.MaxUnavailable, l.desired, 99)
		l.maxSurge = ofDesired(v.spec.Strategy.MaxSurge, l.desired, 99)
		l.maxUnschedulable = ofDesired(v.spec.Strategy.MaxUnschedulable, l.desired, 99)
		if outages := v.spec.Strategy.Policy.Outages; outages != nil {
			l.maxExempt = ofDesired(outages.MaxExempt, l.desired, 99)
		}
		l.surge = ofDesired(v.spec.Strategy.MaxSurge, 1, 99) > 0
	}
	l.burst = max(1, ofDesired(v.spec.Burst, l.desired, 0))
	return l
}

// ofDesired resolves a valid number or percentage; adding 99 before the division rounds up (B1), adding 0
// down (M6).
func ofDesired(value *intstr.IntOrString, desired, carry int) int {
	if value.Type == intstr.Int {
		return int(value.IntVal)
	}
	percent, _ := strconv.Atoi(strings.TrimSuffix(value.StrVal, "%"))
	return (percent*desired + carry) / 100
}

// surges reports whether new pods may stand beside old ones.
func (v *verifier) surges() bool { return v.limits.surge }

// unavailable counts the nodes that use up maxUnavailable after the plan (B2).
func (v *verifier) unavailable() int {
	return v.count(func(node *node) bool { return node.unavailable && !node.exempt })
}

// surging counts the nodes that hold a place of maxSurge after the plan (B4).
func (v *verifier) surging() int {
	return v.count(func(node *node) bool { return node.surging && !node.exempt })
}

// count tells how many nodes satisfy f.
func (v *verifier) count(f func(*node) bool) int {
	count := 0
	for _, node := range v.nodes {
		if f(node) {
			count += node.weight
		}
	}
	return count
}

// isUnavailable reports whether the node uses up maxUnavailable after the plan (B2), unless it is exempt. On a keep node that
// counts whose pods of the revision where it is to end, if any, are all not available or not done, whatever else serves
// there: it is the revision that is judged.
func (v *verifier) isUnavailable(node *node) bool {
	current := func(p *pod) bool { return p.stays() && p.current && p.ran(node) }
	switch node.outcome {
	case placement.Run:
		return !node.any((*pod).goesOnServing)
	case placement.Keep:
		return node.any(current) && !node.any(func(p *pod) bool { return current(p) && p.settled() })
	default: // nothing on a leave node counts
		return false
	}
}

// isSurging reports whether the node holds a place of maxSurge after the plan (B4), unless it is exempt: for a pod of the
// revision where it is to end that is not available, failed ones included, and requested and created ones too.
func (v *verifier) isSurging(node *node) bool {
	if !v.surges() || node.outcome == placement.Leave {
		return false
	}
	starting := node.any(func(p *pod) bool { return p.stays() && p.current && !p.settled() && p.ran(node) })
	requested := node.outcome == placement.Run && node.requestsGoal
	isGoal := func(hash string) bool { return v.isGoal(node, hash) }
	return starting || requested || slices.ContainsFunc(node.creates, isGoal)
}

// checkBudget is V1. By choice is what takes a node its last serving pod, an outdated Ready one, for the sake of the
// rollout: its delete, also by way of its hook, or its update in place. All other deletes that V4 allows are repair.
func (v *verifier) checkBudget() {
	var chosen []string
	for _, node := range v.nodes {
		if v.isTakenByChoice(node) {
			chosen = append(chosen, node.name)
		}
	}
	if n := v.unavailable(); len(chosen) > 0 && n > v.limits.maxUnavailable {
		v.report(1, "", "%d nodes are unavailable after the plan, more than maxUnavailable %d; by its choice: %s; "+
			"right would be %d fewer, or none", n, v.limits.maxUnavailable, strings.Join(chosen, ", "),
			n-v.limits.maxUnavailable)
	}
}

// isTakenByChoice reports whether the plan takes a node its last serving pod for the sake of the rollout.
func (v *verifier) isTakenByChoice(node *node) bool {
	taken := func(p *pod) bool {
		return p.serves() && !p.current && (p.begun || p.goes() && !v.surplus(p) && !v.superseded(p))
	}
	return node.outcome == placement.Run && node.any(taken) && !node.any((*pod).goesOnServing)
}

// isTakenNow reports whether the plan takes away the prepared pods that alone keep a node up.
func (v *verifier) isTakenNow(node *node) bool {
	return node.outcome == placement.Run && node.any((*pod).prepared) && !node.any((*pod).serves)
}

// checkTaken is V1 at this instant, for nodes that only prepared pods keep up (B3): they have counted as unavailable since they
// were prepared, so that checkBudget passes over them, but not all of them may go at once.
func (v *verifier) checkTaken() {
	var taken []string
	down := 0
	for _, node := range v.nodes {
		if !node.unavailable || node.any((*pod).staysUp) {
			continue
		}
		takes := v.isTakenNow(node)
		if node.exempt && !takes {
			continue
		}
		down += node.weight // a node that is left out, too, if its serving pod is taken
		if takes {
			taken = append(taken, node.name)
		}
	}
	if len(taken) > 0 && down > v.limits.maxUnavailable {
		v.report(1, "", "B3: %d nodes are down after the plan, more than maxUnavailable %d; it takes prepared pods away that "+
			"are Ready: %s; right would be %d fewer, or none", down, v.limits.maxUnavailable, strings.Join(taken, ", "),
			down-v.limits.maxUnavailable)
	}
}

// prepared is an outdated pod that an earlier plan has prepared to be updated in place or deleted, and that is Ready.
func (p *pod) prepared() bool {
	return p.active() && p.ready && !p.current && !p.patched && (p.preparing || p.leaving)
}

// staysUp is prepared, and left Ready by the plan. One that is taken back may be marked as not ready by its preNormal hook,
// which is not for the rollout's sake.
func (p *pod) staysUp() bool {
	if !p.prepared() || p.deleted || p.begun {
		return false
	}
	last := p.last()
	if last == nil {
		return false
	}
	state := lifecycle.StateOf(last)
	waits := state == lifecycle.PreparingDelete || state == lifecycle.PreparingUpdate
	return !waits || markedNotReady(p.object) || !markedNotReady(last)
}

// checkSurge is V2, counted as B4 counts places, which is stricter than V2's words: a node whose old pod is
// not Ready gets its new one at once, but that holds a place like any other. A node that is left out holds none, and needs none.
func (v *verifier) checkSurge() {
	if !v.surges() {
		return // a create beside any pod is wrong then, see checkCreate
	}
	var begun []string
	for _, node := range v.nodes {
		beside := func(p *pod) bool { return p.outdated() && p.ready && !p.goes() && !p.leaves() }
		if len(node.creates) > 0 && !node.exempt && node.any(beside) {
			begun = append(begun, node.name)
		}
	}
	if n := v.surging(); len(begun) > 0 && n > v.limits.maxSurge {
		v.report(2, "", "%d nodes hold an unavailable new pod after the plan, more than maxSurge %d; begun beside a "+
			"Ready old pod: %s; right would be %d fewer, or none", n, v.limits.maxSurge,
			strings.Join(begun, ", "), n-v.limits.maxSurge)
	}
}

// checkBurst is V11.
func (v *verifier) checkBurst() {
	if n := len(v.plan.Creates); n > v.limits.burst {
		v.report(11, "", "%d creates, right are at most %d (M6)", n, v.limits.burst)
	}
	if n := len(v.plan.Deletes); n > v.limits.burst {
		v.report(11, "", "%d deletes, right are at most %d (M6)", n, v.limits.burst)
	}
	begun := 0
	for _, pod := range v.pods {
		if pod.begun && !v.underWay(pod) {
			begun++
		}
	}
	if begun > v.limits.burst {
		v.report(11, "", "%d new updates in place, right are at most %d (M6)", begun, v.limits.burst)
	}
	v.checkSlowStart()
}
