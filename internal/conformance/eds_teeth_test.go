//go:build teeth

package conformance_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// edsWrong makes a wrong decision from a right one. A decision that it leaves unchanged is not counted.
type edsWrong struct {
	name  string
	spoil func(call edsCall, d *edsDecided)
	// least is how many calls it must change at least.
	least int
}

var edsWrongs = []edsWrong{
	{"one create fewer", func(_ edsCall, d *edsDecided) { d.creates = d.creates[:max(0, len(d.creates)-1)] }, 200},
	{"one delete fewer", func(_ edsCall, d *edsDecided) { d.deletes = d.deletes[:max(0, len(d.deletes)-1)] }, 300},
	{"no deletes", func(_ edsCall, d *edsDecided) { d.deletes = nil }, 300},
	{"one create twice", func(_ edsCall, d *edsDecided) {
		d.creates = append(d.creates, d.creates[:min(1,
			len(d.creates))]...)
	}, 200},
	{"a create where one pod is", func(c edsCall, d *edsDecided) {
		for _, n := range c.world.nodes {
			if len(n.pods) > 0 && !slices.Contains(d.creates, n.name) {
				d.creates = append(d.creates, n.name)
				return
			}
		}
	}, 500},
	{"a create on a node that runs no pod", func(c edsCall, d *edsDecided) {
		for _, n := range c.world.nodes {
			if n.ours != placement.Run {
				d.creates = append(d.creates, n.name)
				return
			}
		}
	}, 200},
	{"another victim", func(c edsCall, d *edsDecided) {
		if p := c.spared(d, edsReady); p != "" && len(d.deletes) > 0 {
			d.deletes[0] = p
		}
	}, 150},
	{"a healthy victim more", func(c edsCall, d *edsDecided) {
		if p := c.spared(d, edsReady); p != "" {
			d.deletes = append(d.deletes, p)
		}
	}, 200},
	{"a broken victim more", func(c edsCall, d *edsDecided) {
		if p := c.spared(d, func(p *corev1.Pod) bool { return !edsReady(p) && !marked(p) }); p != "" {
			d.deletes = append(d.deletes, p)
		}
	}, 150},
	{"a terminating pod again", func(c edsCall, d *edsDecided) {
		if p := c.spared(d, marked); p != "" {
			d.deletes = append(d.deletes, p)
		}
	}, 100},
	{"desired + 1", func(_ edsCall, d *edsDecided) { d.desired++ }, 500},
	{"updated - 1", func(_ edsCall, d *edsDecided) { d.updated-- }, 500},
	{"what the controller does", func(c edsCall, d *edsDecided) {
		theirs := c.theirs()
		theirs.desired, theirs.updated = d.desired, d.updated
		*d = theirs
	}, 200},
}

// spared returns a pod of some kind that is not deleted.
func (c edsCall) spared(d *edsDecided, kind func(*corev1.Pod) bool) string {
	for _, n := range c.world.nodes {
		for _, p := range n.pods {
			if kind(p) && !slices.Contains(d.deletes, p.Name) {
				return p.Name
			}
		}
	}
	return ""
}

// theirs returns what the controller does, with one of its choices.
func (c edsCall) theirs() edsDecided {
	o := c.outcome(0)
	return edsDecided{
		creates: slices.Concat(o.creates.Must, o.creates.From[:o.creates.Count]), deletes: slices.Concat(o.deletes.Must,
			o.deletes.From[:o.deletes.Count]),
		desired: o.counters.Desired, updated: o.counters.Current,
	}
}

func (d edsDecided) equals(e edsDecided) bool {
	same := func(a, b []string) bool {
		return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
	}
	return same(d.creates, e.creates) && same(d.deletes, e.deletes) && d.desired == e.desired && d.updated == e.updated
}

// allEDSCalls plans for all compiled-in recordings.
func allEDSCalls(t *testing.T) (all []edsCall) {
	t.Helper()
	t.Setenv(conformance.EnvDir, "")
	for _, file := range edsFiles {
		for _, c := range edsLines[edsCase](t, file) {
			calls, _ := edsCalls(t, file, c)
			all = append(all, calls...)
		}
	}
	return all
}

// TestConformanceEDSTeeth shows that the table of deliberate differences does not explain everything: it does not explain right
// plans into which a mistake was planted.
func TestConformanceEDSTeeth(t *testing.T) {
	calls := allEDSCalls(t)
	for _, wrong := range edsWrongs {
		changed, passed := 0, 0
		for _, call := range calls {
			right, d := edsDecidedBy(call.plan), edsDecidedBy(call.plan)
			wrong.spoil(call, &d)
			if right.equals(d) {
				continue
			}
			changed++
			if _, ok := explainEDS(d, call.outcome); ok {
				passed++
				t.Errorf("%s: %s is explained", call.name, wrong.name)
			}
		}
		t.Logf("%-36s %3d calls changed, %d explained all the same", wrong.name, changed, passed)
		if changed < wrong.least {
			t.Errorf("%s: changes %d calls only, want %d", wrong.name, changed, wrong.least)
		}
	}
}

// TestConformanceEDSInvariantsTeeth shows that the assertions can fail. What the controller does, in the place of our plan,
// breaks those assertions that are about creates and deletes.
func TestConformanceEDSInvariantsTeeth(t *testing.T) {
	var caught [edsRuleCount]int
	for _, call := range allEDSCalls(t) {
		s := newEDSSight(call)
		theirs, o := call.theirs(), call.outcome(0)
		theirs.deletes = o.deletes.Possible() // any of the possible ones may be deleted
		s.plan.Creates, s.plan.Deletes = nil, nil
		for _, node := range theirs.creates {
			s.plan.Creates = append(s.plan.Creates, rollout.Create{Node: node})
		}
		for _, n := range call.world.nodes {
			for _, p := range n.pods {
				reason := rollout.ReasonSurplus
				if n.ours == placement.Run && len(n.pods) == 1 {
					reason = rollout.ReasonOutdatedNotReady
				}
				if slices.Contains(theirs.deletes, p.Name) {
					s.plan.Deletes = append(s.plan.Deletes, rollout.Delete{Node: n.name, Pod: p.Name, Reason: reason})
				}
			}
		}
		for r, holds := range edsInvariants {
			for _, n := range call.world.nodes {
				_, problem := holds(s, n)
				caught[r] += int(count(problem != ""))
			}
		}
	}
	for _, r := range []edsRule{
		edsKeepStays, edsUnknownIsPod, edsEndedIsIgnored, edsObjectHolds, edsSucceededGoes, edsFailedBackOff, edsBestPodStays,
		edsStraysStay, edsStuckIsOutdated, edsBrokenInFull, edsUnderWay, edsFrozenRests, edsOverrides, edsCanaryRests,
	} {
		if t.Logf("%4d times: %s", caught[r], edsEntries[r].id); caught[r] == 0 {
			t.Errorf("%s: the controller never offends against it", edsEntries[r].id)
		}
	}
}

// TestConformanceEDSEntries shows that the table has no entry that explains no difference.
func TestConformanceEDSEntries(t *testing.T) {
	var needed [edsRuleCount]int
	for _, call := range allEDSCalls(t) {
		rules, _ := explainEDS(edsDecidedBy(call.plan), call.outcome)
		for r := range edsRuleCount {
			needed[r] += int(rules >> r & 1)
		}
	}
	ids := make(map[string]bool)
	check := func(e edsEntry, unneeded bool) {
		if e.id == "" || e.rule == "" || e.why == "" || ids[e.id] || unneeded {
			t.Errorf("entry %q needs an id of its own, a rule, a reason, and a recording: %v", e.id, unneeded)
		}
		ids[e.id] = true
	}
	for r, e := range edsEntries {
		check(e, needed[r] == 0)
	}
	for _, e := range edsSetEntries {
		check(e, false)
	}
	for _, e := range edsLimitsEntries {
		check(e, false)
	}
}
