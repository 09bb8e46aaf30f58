package verify

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// The principles that stand above the rules (V28 to V32), as far as one plan shows them. They are read off the objects, the
// memory and the marks, and not off the rules that are to keep them: what the other checks here find out about parts, failures
// and exemptions is not asked.

func (v *verifier) checkPrinciples() {
	v.checkMotion()
	v.checkBlame()
	v.checkGates()
	v.checkLastPods()
	v.checkJoins()
}

// checkMotion is P-A: a plan without an action and without a wake, while nothing is in motion, does not say that the set goes on
// by itself; and who says that it is stuck says what would help.
func (v *verifier) checkMotion() {
	s := &v.plan.Status
	for i := range v.plan.Blockers {
		b := &v.plan.Blockers[i]
		if len(b.Nodes) == 0 && b.Count > 0 || b.Why == "" || len(b.Helps) == 0 || slices.Contains(b.Helps, "") {
			v.report(28, "",
				"P-A: a blocker names %d of %d nodes, says %q, and %d things that help; right is one of each at least",
				len(b.Nodes), b.Count, b.Why, len(b.Helps))
		}
	}
	if s.State != status.Stuck && len(v.plan.Blockers) > 0 {
		v.report(28, "", "P-A: the state is %s, and the plan names who is in the way; right is only of a set that is stuck",
			s.State)
	}
	if s.State == status.Stuck && len(v.plan.Blockers) == 0 {
		v.report(28, "", "P-A: the state is %s (%s), and the plan does not say what is in the way", s.State, s.Reason)
	}
	f := &v.snapshot.InFlight
	asked := len(f.Creates) + len(f.Deletes) + len(f.Patches) + len(f.Revisions) + len(f.Pulls)
	if s.State != status.Updating || s.Reason == status.ReasonNone || asked > 0 || !v.plan.Empty() || !v.plan.NextWake.IsZero() {
		return
	}
	hooked := slices.ContainsFunc(v.pods, func(p *pod) bool { // every other motion has a clock by which it is over
		state := lifecycle.StateOf(p.object)
		letGo := state == lifecycle.PreparingDelete && !v.spec.Lifecycle.PreDelete.Matches(p.object)
		return state != "" && state != lifecycle.Normal && !letGo
	})
	if !hooked {
		v.report(28, "", "P-A: the state is Updating (%s), and nothing is done, nothing is in motion, and no clock runs; "+
			"right is Stuck, with who is in the way", s.Reason)
	}
}

// checkBlame is P-B: a node is said to have failed only if it ever had the update revision, and was not down since before there
// was one.
func (v *verifier) checkBlame() {
	for _, d := range v.statements {
		if !d.Failed || d.node == nil {
			continue
		}
		had, started := false, false
		for _, p := range slices.Concat(d.node.pods, d.node.ignored) {
			had = had || p.atUpdate
			started = started || p.atUpdate && p.object.Status.StartTime != nil
		}
		for _, entry := range v.remembered.Backoffs {
			had = had || entry.Node == d.node.name && entry.Revision == v.plan.Status.UpdateRevision
		}
		update := v.history.update
		switch {
		case !had:
			v.report(29, d.Node, "P-B: blamed on the update revision, which it never had")
		case update != nil && !started && d.node.out && !d.node.outSince.IsZero() &&
			d.node.outSince.Unix() < update.CreationTimestamp.Unix():
			v.report(29, d.Node, "P-B: blamed on the update revision, and it is down since %s, before there was one",
				spelled(d.node.outSince))
		}
	}
}

// checkGates is P-C: no node is begun while a part before its own, of those with nodes that may get a pod, was not passed by the
// end of this plan; and what this plan passes has a node that runs the update revision, and what it needs to be open.
func (v *verifier) checkGates() {
	if len(v.stages) == 0 || v.allOpen() || v.tried() || v.history.completed {
		return
	}
	at, known := v.placeOf(v.plan.Memory.Rollout.Frontier)
	for _, d := range v.statements {
		if d.node == nil || d.Target == rollout.TargetBase || d.Reason == rollout.ReasonBegun || !d.node.begins() {
			continue
		}
		for _, n := range v.nodes {
			waits := n.outcome == placement.Run && n.selected || n.outcome == placement.Keep && n.selected && len(n.pods) > 0
			if waits && compareParts(n.part, d.node.part) < 0 && (!known || compareParts(n.part, at) > 0) {
				v.report(30, d.Node, "P-C: begun, and part %q %q before it, with node %s, was not passed",
					v.stageOf(n.part).Name, n.part.value, n.name)
				break
			}
		}
	}
	was, before := v.placeOf(v.rolloutRecord().Frontier)
	if !known || before && compareParts(at, was) <= 0 {
		return
	}
	runs := func(n *node) bool {
		return n.part == at && n.any(func(p *pod) bool { return p.active() && p.atUpdate && p.avail })
	}
	if !slices.ContainsFunc(v.nodes, runs) {
		v.report(30, "", "P-C: part %q %q is passed, and no node there runs the update revision", v.stageOf(at).Name, at.value)
	}
	if of := v.stageOf(at); of.Approval && !v.isApproved(&partState{part: at, of: of}) {
		v.report(30, "", "P-C: part %q %q is passed without an approval", of.Name, at.value)
	}
	if before {
		done := v.rolloutRecord().Frontier
		done.At = earliest(done.At, v.snapshot.Now) // one in the future is of a clock that was set back since: it was done by now
		if soaked := v.soakEnds(done); soaked.After(v.snapshot.Now) {
			v.report(30, "", "P-C: part %q %q is passed while the one before soaks until %s",
				v.stageOf(at).Name, at.value, spelled(soaked))
		}
	}
}

// begins reports whether the plan takes or changes the pod that the node has, and that is not of the revision where it is to end.
func (n *node) begins() bool {
	return n.outcome == placement.Run && n.bestCurrent == nil && !n.outdatedStays &&
		n.any(func(p *pod) bool {
			return p.active() && !p.current && !p.leaving && (p.deleted || p.dismissed || p.begun)
		})
}

// checkLastPods is P-D: where a plan takes the last Ready pod of a node that is left out of the budgets, as many nodes as the
// budget allows are down with it, or another pod serves there.
func (v *verifier) checkLastPods() {
	taken, down := []string(nil), 0
	for _, d := range v.statements {
		if d.node == nil || d.node.outcome != placement.Run {
			continue
		}
		up := func(p *pod) bool { return p.active() && p.ready && !p.goes() && !p.begun }
		if d.Unavailable && !d.node.any(up) { // one that is prepared counts, and still serves
			down += d.weight
		}
		ready := func(p *pod) bool { return p.active() && p.ready && !p.leaving }
		stays := func(p *pod) bool { return ready(p) && !p.goes() && !p.begun }
		if d.Exempt() && d.node.any(ready) && !d.node.any(stays) {
			taken = append(taken, d.Node)
		}
	}
	if len(taken) > 0 && (v.surges() || down+len(taken) > v.limits.maxUnavailable) {
		v.report(31, taken[0], "P-D: the last serving pods of %q are taken, which are left out of the budgets, "+
			"beside %d nodes that are down, of at most %d", taken, down, v.limits.maxUnavailable)
	}
}

// checkJoins is P-E: in a part that is not passed and has no node that was begun, a node that gets a pod gets what it ran, what
// was rolled out everywhere, or while nothing was, what other nodes run.
func (v *verifier) checkJoins() {
	if len(v.stages) == 0 || v.allOpen() || v.tried() || v.history.completed || v.spec.Strategy.HoldRevision {
		return
	}
	good := func(revision *appsv1.ControllerRevision) bool {
		return history.Completed(revision) && !history.Failed(revision)
	}
	if !slices.ContainsFunc(v.snapshot.Revisions, good) {
		return // what was good is not known
	}
	for _, d := range v.statements {
		if d.node == nil || d.Verb != rollout.VerbCreate || v.trial.phase != canary.Idle {
			continue
		}
		closed := slices.ContainsFunc(v.plan.Parts, func(p rollout.PartState) bool {
			return !p.Phase.IsOpen() && p.Stage == v.stageOf(d.node.part).Name && p.Value == d.node.part.value
		})
		for _, hash := range d.node.creates {
			wasGood := slices.ContainsFunc(v.history.byHash[hash], good)
			retried := v.failed.retries && v.updates[hash]
			failed := !retried && slices.ContainsFunc(v.history.byHash[hash], history.Failed)
			if closed && !wasGood && (failed || !v.ranThere(d.node, hash)) {
				v.report(32, d.Node, "P-E: gets revision %q in part %q %q, which is not open; right is what ran there, "+
					"or what was rolled out everywhere", hash, v.stageOf(d.node.part).Name, d.node.part.value)
			}
		}
	}
}

// ranThere reports whether a pod of the revision was seen on the node, or the memory tells of one.
func (v *verifier) ranThere(n *node, hash string) bool {
	isUpdate := v.isUpdate(hash)
	for _, p := range slices.Concat(n.pods, n.ignored) {
		if p.hash == hash || isUpdate && p.atUpdate {
			return true
		}
	}
	return slices.ContainsFunc(v.remembered.Backoffs, func(entry rollout.Backoff) bool {
		return entry.Node == n.name && (entry.Revision == hash || isUpdate && v.isUpdate(entry.Revision))
	})
}
