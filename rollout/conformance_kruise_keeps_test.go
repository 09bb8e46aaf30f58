package rollout_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// invariant holds for each of our plans, and not for what OpenKruise decides.
type invariant struct {
	name string
	rule string
	// entries are those because of which OpenKruise breaks it.
	entries []rule
	holds   func(k *keeping) bool
	// union: the phases are taken together, as one plan of ours does both. Otherwise one real sync counts.
	union bool
}

// keeping is a situation and what is done about it, counted directly.
type keeping struct {
	*model
	did decided
}

var invariants = []invariant{
	{name: "counters", rule: "S1, B5, R5, M1", holds: (*keeping).counters,
		entries: []rule{terminatingIsNotLive, anyPodCounts, exactlyLongEnough, generationLabel, inPlaceConditionCounts, endedPodIsIgnored}},
	{name: "maxUnavailable", rule: "V1, B2, B3", holds: (*keeping).budget,
		entries: []rule{brokenNodesCount, heldNodesCount, inPlaceConditionCounts, readyPodServes}},
	{name: "maxSurge", rule: "V2, B4, M7", holds: (*keeping).surges, union: true,
		entries: []rule{unavailableNewPodHoldsPlace, missingPodsComeFirst}},
	{name: "the budget is used", rule: "B2, B4, T2", holds: (*keeping).used,
		entries: []rule{budgetCountsRunNodes, oneServingPodWillDo, leavingIsGone}},
	{name: "partition", rule: "V5", holds: (*keeping).partitioned,
		entries: []rule{partitionOfDesired}},
	{name: "creates where it may run", rule: "V3, B4", holds: (*keeping).placed,
		entries: []rule{surgesWhereItMayRun}},
	{name: "what cannot come back stays", rule: "M4, T2", holds: (*keeping).comesBack, union: true,
		entries: []rule{keepReplacesNothing, partitionOfRunNodes}},
	{name: "serves while leaving", rule: "M4", holds: (*keeping).outnumbered,
		entries: []rule{servesWhileLeaving}},
	{name: "the available pod stays", rule: "M3", holds: (*keeping).bestStays,
		entries: []rule{bestPodStays}},
	{name: "hands off", rule: "V4, L2", holds: (*keeping).handsOff,
		entries: []rule{deletionIsTakenBack}},
	{name: "finished pods go", rule: "M2", holds: (*keeping).finishedGo,
		entries: []rule{failedGoTogether, succeededPodGoes}},
	{name: "finished pods go first", rule: "M1", holds: (*keeping).finishedFirst,
		entries: []rule{finishedPodGoesFirst}},
	{name: "missing pods come", rule: "M1, M6, T7", holds: (*keeping).missingCome,
		entries: []rule{endedPodIsIgnored, burstOfDesired, scalingInstalls}},
	{name: "deleted once", rule: "M5", holds: (*keeping).once,
		entries: []rule{deletedOnce}},
	{name: "burst", rule: "V11, M6", holds: (*keeping).inBurst, union: true,
		entries: []rule{burstIsPerPlan}},
	{name: "only what runs is updated in place", rule: "I3, M2", holds: (*keeping).runs, union: true,
		entries: []rule{idlePodIsRecreated}},
}

// counters are those of the pods, node by node.
func (k *keeping) counters() bool {
	var want statusCounters
	for _, n := range k.view() {
		if n.outcome != placement.Run {
			want.Misscheduled += count(!n.vanished && len(n.pods) > 0)
			continue
		}
		want.Desired++
		want.Current += count(len(n.pods) > 0)
		want.Ready += count(slices.ContainsFunc(n.live(), lifecycle.Ready))
		want.Updated += count(slices.ContainsFunc(n.live(), k.updated))
		want.Available += count(slices.ContainsFunc(n.live(), func(p *corev1.Pod) bool {
			return lifecycle.Available(p, k.spec.MinReadySeconds, k.recorded.Now)
		}))
	}
	want.Unavailable = want.Desired - want.Available
	return k.did.status == want
}

// after is the live pods of a node that stay as they are.
func (k *keeping) after(n *nodeSituation) []*corev1.Pod {
	return slices.DeleteFunc(n.live(), func(p *corev1.Pod) bool {
		return onItsWayOut(p) || k.did.fate(p) != ""
	})
}

// unserved counts the run nodes without a serving pod, now or after the plan.
func (k *keeping) unserved(pods func(*nodeSituation) []*corev1.Pod) (nodes int) {
	for _, n := range k.view() {
		nodes += int(count(n.outcome == placement.Run && !slices.ContainsFunc(pods(n), k.serves)))
	}
	return nodes
}

func staying(n *nodeSituation) []*corev1.Pod { return slices.DeleteFunc(n.live(), onItsWayOut) }

func (k *keeping) budget() bool {
	maxUnavailable, maxSurge := k.budgets()
	before, after := k.unserved(staying), k.unserved(k.after)
	return maxSurge > 0 || after <= before || after <= maxUnavailable
}

// surges: where a pod is set beside one that is Ready, no more nodes than maxSurge have a new one to wait for.
func (k *keeping) surges() bool {
	_, maxSurge := k.budgets()
	waiting, chosen := 0, false
	for _, n := range k.view() {
		created := slices.Contains(k.did.creates, n.name)
		stays := slices.DeleteFunc(n.live(), func(p *corev1.Pod) bool { return k.did.fate(p) == fateDeleted })
		bad := slices.ContainsFunc(stays, func(p *corev1.Pod) bool {
			return k.updated(p) && !k.available(p) && p.Spec.NodeName != ""
		})
		waiting += int(count(n.outcome != placement.Leave && (bad || created)))
		chosen = chosen || created && slices.ContainsFunc(stays, k.ready)
	}
	return maxSurge == 0 || !chosen || waiting <= maxSurge
}

// used: while the budget has room, no node waits that nothing but the budget can hold.
func (k *keeping) used() bool {
	maxUnavailable, maxSurge := k.budgets()
	if maxSurge > 0 || k.recorded.set.rolling().Paused || len(k.did.fates) >= k.burst() || k.unserved(k.after) >= maxUnavailable {
		return true
	}
	held := k.held()
	for _, n := range k.view() {
		waits := len(n.live()) == 1 && len(k.after(n)) == 1 && !k.updated(n.live()[0]) && n.outcome == placement.Run
		if waits && !held[n.name] && !k.brokenKeepNodes() {
			return false
		}
	}
	return true
}

// brokenKeepNodes count against the budget too (B2).
func (k *keeping) brokenKeepNodes() bool {
	return slices.ContainsFunc(k.view(), func(n *nodeSituation) bool {
		return n.outcome == placement.Keep && slices.ContainsFunc(n.live(), func(p *corev1.Pod) bool { return k.updated(p) && !k.available(p) })
	})
}

// partitioned: as many nodes as the partition says, of those there are now, are not updated.
func (k *keeping) partitioned() bool {
	base, before, after := 0, 0, 0
	for _, n := range k.view() {
		live := slices.DeleteFunc(n.live(), lifecycle.Terminal)
		if n.outcome == placement.Leave || n.outcome == placement.Keep && len(live) == 0 {
			continue
		}
		base++
		if len(live) == 0 || slices.ContainsFunc(live, k.updated) {
			continue
		}
		before++
		begun := slices.Contains(k.did.creates, n.name) || slices.ContainsFunc(live, func(p *corev1.Pod) bool {
			f := k.did.fate(p)
			return f != "" && f != fateTakenBack && !onItsWayOut(p) && len(live) == 1
		})
		after += int(count(!begun))
	}
	return after >= min(before, k.partition(base))
}

func (k *keeping) placed() bool {
	return !slices.ContainsFunc(k.nodes, func(n *nodeSituation) bool {
		return n.outcome != placement.Run && slices.Contains(k.did.creates, n.name)
	})
}

func (k *keeping) comesBack() bool {
	return !slices.ContainsFunc(k.nodes, func(n *nodeSituation) bool {
		running := slices.DeleteFunc(n.live(), func(p *corev1.Pod) bool {
			return lifecycle.Terminal(p) || p.Spec.NodeName == ""
		})
		return n.outcome == placement.Keep && len(running) > 0 && !slices.ContainsFunc(running, func(p *corev1.Pod) bool {
			return k.did.fate(p) == "" || k.did.fate(p) == fateTakenBack || k.did.fate(p) == fatePreparing
		})
	})
}

// outnumbered: available nodes, those that are to be left included, do not become fewer than desired by choice.
func (k *keeping) outnumbered() bool {
	before, after, left := 0, 0, false
	for _, n := range k.nodes {
		if n.outcome != placement.Run && !k.lingers(n) {
			continue
		}
		was, is := slices.ContainsFunc(n.live(), k.staysAvailable), slices.ContainsFunc(k.after(n), k.available)
		before += int(count(was))
		after += int(count(is))
		left = left || was && !is && n.outcome == placement.Leave
	}
	return !left || after >= int(k.desired)
}

func (k *keeping) bestStays() bool {
	return !slices.ContainsFunc(k.nodes, func(n *nodeSituation) bool {
		stays := staying(n)
		return n.outcome != placement.Leave && len(stays) > 1 && slices.ContainsFunc(stays, k.available) &&
			!slices.ContainsFunc(k.after(n), k.available)
	})
}

func (k *keeping) handsOff() bool {
	return !slices.ContainsFunc(k.nodes, func(n *nodeSituation) bool {
		live := n.live()
		return n.outcome == placement.Run && len(live) == 1 && k.updated(live[0]) && k.available(live[0]) &&
			k.did.fate(live[0]) != "" && k.did.fate(live[0]) != fateTakenBack
	})
}

func (k *keeping) finishedGo() bool {
	if len(k.did.fates) >= k.burst() {
		return true
	}
	return !slices.ContainsFunc(k.nodes, func(n *nodeSituation) bool {
		return !n.vanished && slices.ContainsFunc(n.live(), func(p *corev1.Pod) bool {
			return lifecycle.Terminal(p) && k.did.fate(p) == "" && !k.hooked(p)
		})
	})
}

func (k *keeping) finishedFirst() bool {
	return !slices.ContainsFunc(k.nodes, func(n *nodeSituation) bool {
		return slices.Contains(k.did.creates, n.name) && slices.ContainsFunc(n.live(), lifecycle.Terminal)
	})
}

// missingCome: a run node without a pod gets one, but for burst and a first installation.
func (k *keeping) missingCome() bool {
	if limit, ordered := k.scaling(); len(k.did.creates) >= k.burst() || ordered && len(k.did.creates) >= limit {
		return true
	}
	return !slices.ContainsFunc(k.view(), func(n *nodeSituation) bool {
		return n.outcome == placement.Run && len(n.pods) == 0 && !slices.Contains(k.did.creates, n.name)
	})
}

func (k *keeping) once() bool {
	return !slices.ContainsFunc(k.recorded.own(), func(p *corev1.Pod) bool { return marked(p) && k.did.fate(p) != "" })
}

func (k *keeping) inBurst() bool {
	burst := k.burst()
	return len(k.did.creates) <= burst && len(fateDeleted.among(k.did.fates)) <= burst && len(fateInPlace.among(k.did.fates)) <= burst
}

func (k *keeping) runs() bool {
	return !slices.ContainsFunc(k.recorded.own(), func(p *corev1.Pod) bool {
		return k.did.fate(p) == fateInPlace && (marked(p) || lifecycle.Terminal(p) || p.Spec.NodeName == "")
	})
}

// decision is what the recorded controller decided, for one of its choices: in one sync the first phase that has
// anything to do, or both together.
func (o outcome) decision(union bool) decided {
	chosen := func(a act) []string { return append(slices.Clone(a.must), a.from[:min(a.count, len(a.from))]...) }
	d := decided{status: o.status, creates: chosen(o.manage.creates), fates: chosen(o.manage.fates)}
	if union || len(d.creates)+len(d.fates) == 0 {
		d.creates = append(d.creates, chosen(o.roll.creates)...)
		d.fates = append(d.fates, chosen(o.roll.fates)...)
		slices.Sort(d.creates)
		slices.Sort(d.fates)
		d.creates, d.fates = slices.Compact(d.creates), slices.Compact(d.fates)
	}
	return d
}

// TestConformanceKruiseKeeps holds our plans to the invariants behind the entries of the table, each counted directly,
// and shows that OpenKruise breaks them where the entry sets us apart.
func TestConformanceKruiseKeeps(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	broken := make(map[string]int)         // by invariant
	because := make(map[string][rules]int) // by invariant and entry
	for _, file := range files[kruise] {
		for _, c := range cases(t, file) {
			spec := c.spec(t)
			if c.refused(spec) != "" {
				continue
			}
			s, plan := newSituation(c, spec), c.plan(t, spec)
			ours := decidedBy(plan)
			explanation, _ := explain(s, ours)
			m := &model{situation: s, rules: allRules, ours: ours}
			for _, v := range invariants {
				if !v.holds(&keeping{m, ours}) {
					t.Errorf("%s: our plan breaks %q (%s): %v", c.Name, v.name, v.rule, ours)
				}
				if v.holds(&keeping{m, c.recordedOutcome().decision(v.union)}) {
					continue
				}
				broken[v.name]++
				counts := because[v.name]
				for r := range rules {
					counts[r] += int(count(explanation>>r&1 == 1 || c.matters(s, plan, r)))
				}
				because[v.name] = counts
			}
		}
	}
	missing := make(map[rule]bool)
	for r, e := range entries[:] {
		missing[rule(r)] = e.of&ofKruise != 0
	}
	for _, v := range invariants {
		t.Logf("OpenKruise breaks %q (%s) in %d cases", v.name, v.rule, broken[v.name])
		for _, r := range v.entries {
			t.Logf("    %d with %s", because[v.name][r], entries[r].id)
			if because[v.name][r] == 0 {
				t.Errorf("OpenKruise never breaks %q because of %s", v.name, entries[r].id)
			}
			missing[r] = false
		}
	}
	for r, e := range entries[:] {
		if missing[rule(r)] {
			t.Errorf("no invariant stands behind %s", e.id)
		}
	}
}
