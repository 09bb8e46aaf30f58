package verify

import (
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// counters are the counters of S1.
type counters struct {
	desired, current, misscheduled, ready, available, unavailable, updated int
}

// add counts so many nodes as S1 says.
func (c *counters) add(f status.Facts, nodes int) {
	present := f.Has(status.Present)
	if !f.Has(status.Desired) {
		if present {
			c.misscheduled += nodes
		}
		return
	}
	c.desired += nodes
	c.unavailable += nodes
	if !present {
		return
	}
	c.current += nodes
	if f.Has(status.Updated) {
		c.updated += nodes
	}
	if f.Has(status.Ready) {
		c.ready += nodes
	}
	if f.Has(status.Available) {
		c.available += nodes
		c.unavailable -= nodes
	}
}

// checkCounters is the rest of V12: the numbers in Status and Budget.
func (v *verifier) checkCounters() {
	s := &v.plan.Status
	if s.Available < 0 || s.Ready < s.Available || s.Current < s.Ready || s.Desired < s.Current {
		v.report(12, "", "status: right is 0 <= available %d <= ready %d <= current %d <= desired %d",
			s.Available, s.Ready, s.Current, s.Desired)
	}
	if int64(s.Unavailable) != int64(s.Desired)-int64(s.Available) {
		v.report(12, "", "status.unavailable is %d, right is desired %d - available %d", s.Unavailable, s.Desired, s.Available)
	}
	var decided, seen counters
	for _, d := range v.statements {
		decided.add(d.Facts, d.weight)
	}
	for _, node := range v.nodes {
		seen.add(node.facts, node.weight)
	}
	for _, c := range []struct {
		name               string
		is                 int32
		fromFacts, fromPod int
	}{
		{"desired", s.Desired, decided.desired, seen.desired},
		{"current", s.Current, decided.current, seen.current},
		{"misscheduled", s.Misscheduled, decided.misscheduled, seen.misscheduled},
		{"ready", s.Ready, decided.ready, seen.ready},
		{"available", s.Available, decided.available, seen.available},
		{"unavailable", s.Unavailable, decided.unavailable, seen.unavailable},
		{"updated", s.Updated, decided.updated, seen.updated},
	} {
		if int(c.is) != c.fromFacts || int(c.is) != c.fromPod {
			v.report(12, "", "status.%s is %d, the facts of the decisions give %d, the snapshot gives %d", c.name, c.is,
				c.fromFacts, c.fromPod)
		}
	}
	v.checkReported()
}

// checkReported holds Budget, and what of Status is not a counter, to the spec and the snapshot.
func (v *verifier) checkReported() {
	equal := func(name string, is int64, want int) {
		if is != int64(want) {
			v.report(12, "", "%s is %d, right is %d", name, is, want)
		}
	}
	if v.plan.Status.State == status.Unknown {
		v.report(12, "", "S2: status.state is unknown, right is any other")
	}
	b, unavailable := &v.plan.Budget, v.unavailable()
	equal("budget.desired", int64(b.Desired), v.limits.desired)
	equal("budget.burst", int64(b.Burst), v.limits.burst)
	equal("status.observedGeneration", v.plan.Status.ObservedGeneration, int(v.spec.Generation))
	equal("budget.maxUnavailable", int64(b.MaxUnavailable), v.limits.maxUnavailable)
	equal("budget.unavailable", int64(b.Unavailable), unavailable)
	equal("budget.maxSurge", int64(b.MaxSurge), v.limits.maxSurge)
	equal("budget.surging", int64(b.Surging), v.surging())
	equal("budget.maxUnschedulable", int64(b.MaxUnschedulable), v.limits.maxUnschedulable)
	equal("budget.exempt", int64(b.Exempt), v.count(func(node *node) bool { return node.exempt }))
	equal("budget.maxExempt", int64(b.MaxExempt), v.limits.maxExempt)
	equal("budget.exemptOut", int64(b.ExemptOut), v.count(func(n *node) bool { return n.exemption == rollout.ExemptionOut }))
	equal("budget.slowStart", int64(b.SlowStart), v.slow.limit)
	equal("budget.underWay", int64(b.UnderWay), v.slow.underWay)
	equal("budget.partition", int64(b.Partition), v.limits.partition)
	equal("budget.partitioned", int64(b.Partitioned), v.limits.partitioned)
	if stable := v.plan.Status.StableRevision; !v.trial.stables[stable] {
		v.report(12, "", "C6: status.stableRevision is %q, right is %q", stable, sortedKeys(v.trial.stables))
	}
	if v.plan.NodeSelector != v.selector {
		v.report(12, "", "T3: nodeSelector is %q, right is %q", v.plan.NodeSelector, v.selector)
	}
	// A node that may be taken for one that waits counts, or not.
	most := v.count(func(node *node) bool { return node.mightWait && (node.mayWait || v.waits(node)) })
	if int(b.Waiting) != most {
		if least := v.count(v.waits); int(b.Waiting) < least || int(b.Waiting) > most {
			v.report(12, "", "budget.waiting is %d, right is %d", b.Waiting, least)
		}
	}
	equal("status.disruptionsAllowed", int64(v.plan.Status.DisruptionsAllowed), max(0, v.limits.maxUnavailable-unavailable))
}
