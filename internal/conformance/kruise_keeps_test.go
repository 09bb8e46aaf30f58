package conformance_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// invariant is a condition that each of our plans meets, and that OpenKruise does not always meet.
type invariant struct {
	name string
	rule string
	// entries are the differences because of which OpenKruise breaks it.
	entries []peer.Rule
	holds   func(k *keeping) bool
	// union reports whether OpenKruise's phases are taken together, because one plan of ours does both. Otherwise one real sync
	// is taken.
	union bool
}

// keeping is a situation and what is done about it, counted directly.
type keeping struct {
	*peer.Model
	did peer.Decided
}

var invariants = []invariant{
	{name: "counters", rule: "S1, B5, R5, M1", holds: (*keeping).counters,
		entries: []peer.Rule{peer.TerminatingIsNotLive, peer.AnyPodCounts, peer.ExactlyLongEnough, peer.GenerationLabel, peer.InPlaceConditionCounts, peer.EndedPodIsIgnored}},
	{name: "maxUnavailable", rule: "V1, B2, B3", holds: (*keeping).budget,
		entries: []peer.Rule{peer.BrokenNodesCount, peer.HeldNodesCount, peer.InPlaceConditionCounts, peer.ReadyPodServes}},
	{name: "maxSurge", rule: "V2, B4, M7", holds: (*keeping).surges, union: true,
		entries: []peer.Rule{peer.UnavailableNewPodHoldsPlace, peer.MissingPodsComeFirst}},
	{name: "the budget is used", rule: "B2, B4, T2", holds: (*keeping).used,
		entries: []peer.Rule{peer.BudgetCountsRunNodes, peer.OneServingPodWillDo, peer.LeavingIsGone}},
	{name: "partition", rule: "V5", holds: (*keeping).partitioned,
		entries: []peer.Rule{peer.PartitionOfDesired}},
	{name: "creates where it may run", rule: "V3, B4", holds: (*keeping).placed,
		entries: []peer.Rule{peer.SurgesWhereItMayRun}},
	{name: "what cannot come back stays", rule: "M4, T2", holds: (*keeping).comesBack, union: true,
		entries: []peer.Rule{peer.KeepReplacesNothing, peer.PartitionOfRunNodes}},
	{name: "serves while leaving", rule: "M4", holds: (*keeping).outnumbered,
		entries: []peer.Rule{peer.ServesWhileLeaving}},
	{name: "the available pod stays", rule: "M3", holds: (*keeping).bestStays,
		entries: []peer.Rule{peer.BestPodStays}},
	{name: "hands off", rule: "V4, L2", holds: (*keeping).handsOff,
		entries: []peer.Rule{peer.DeletionIsTakenBack}},
	{name: "finished pods go", rule: "M2", holds: (*keeping).finishedGo,
		entries: []peer.Rule{peer.FailedGoTogether, peer.SucceededPodGoes}},
	{name: "finished pods go first", rule: "M1", holds: (*keeping).finishedFirst,
		entries: []peer.Rule{peer.FinishedPodGoesFirst}},
	{name: "missing pods come", rule: "M1, M6, T7", holds: (*keeping).missingCome,
		entries: []peer.Rule{peer.EndedPodIsIgnored, peer.BurstOfDesired, peer.ScalingInstalls}},
	{name: "deleted once", rule: "M5", holds: (*keeping).once,
		entries: []peer.Rule{peer.DeletedOnce}},
	{name: "burst", rule: "V11, M6", holds: (*keeping).inBurst, union: true,
		entries: []peer.Rule{peer.BurstIsPerPlan}},
	{name: "what was prepared goes one after the other", rule: "V1, B3, B4", holds: (*keeping).inTurn, union: true,
		entries: []peer.Rule{peer.PreparedPodNeedsRoom}},
	{name: "only what runs is updated in place", rule: "I3, M2", holds: (*keeping).runs, union: true,
		entries: []peer.Rule{peer.IdlePodIsRecreated}},
}

// counters compares the counters of the status with those of the pods, counted node by node.
func (k *keeping) counters() bool {
	var want peer.Counters
	for _, n := range k.View() {
		if n.Outcome != placement.Run {
			want.Misscheduled += count(!n.Vanished && len(n.Pods) > 0)
			continue
		}
		want.Desired++
		want.Current += count(len(n.Pods) > 0)
		want.Ready += count(slices.ContainsFunc(n.Live(), lifecycle.Ready))
		want.Updated += count(slices.ContainsFunc(n.Live(), k.Updated))
		want.Available += count(slices.ContainsFunc(n.Live(), func(p *corev1.Pod) bool {
			return lifecycle.Available(p, k.Spec.MinReadySeconds, k.Case.Now)
		}))
	}
	want.Unavailable = want.Desired - want.Available
	return k.did.Status == want
}

// after returns the live pods of a node that stay as they are.
func (k *keeping) after(n *peer.Node) []*corev1.Pod {
	return slices.DeleteFunc(n.Live(), func(p *corev1.Pod) bool {
		return peer.OnItsWayOut(p) || k.did.Fate(p) != ""
	})
}

// unserved counts the run nodes without a serving pod, now or after the plan.
func (k *keeping) unserved(pods func(*peer.Node) []*corev1.Pod) (nodes int) {
	for _, n := range k.View() {
		nodes += int(count(n.Outcome == placement.Run && !slices.ContainsFunc(pods(n), k.Serves)))
	}
	return nodes
}

func staying(n *peer.Node) []*corev1.Pod { return slices.DeleteFunc(n.Live(), peer.OnItsWayOut) }

func (k *keeping) budget() bool {
	maxUnavailable, maxSurge := k.Budgets()
	before, after := k.unserved(staying), k.unserved(k.after)
	return maxSurge > 0 || after <= before || after <= maxUnavailable
}

// inTurn checks that not more nodes lose their last Ready pod than the budget has room for. A Ready pod on its way out counts.
func (k *keeping) inTurn() bool {
	maxUnavailable, maxSurge := k.Budgets()
	if maxSurge > 0 {
		maxUnavailable = 0
	}
	up := func(n *peer.Node, gone bool) bool {
		return slices.ContainsFunc(n.Live(), func(p *corev1.Pod) bool {
			return k.Ready(p) && !k.Updated(p) && (!gone || k.did.Fate(p) != peer.Deleted)
		})
	}
	down, taken := 0, 0
	for _, n := range k.View() {
		if n.Outcome != placement.Run || slices.ContainsFunc(n.Live(), k.Updated) {
			continue
		}
		down += int(count(!up(n, true)))
		taken += int(count(up(n, false) && !up(n, true) && slices.ContainsFunc(n.Live(), peer.OnItsWayOut)))
	}
	return taken == 0 || down <= maxUnavailable
}

// surges checks that not more nodes than maxSurge have a new pod to wait for, of those that get a pod beside one that is Ready.
func (k *keeping) surges() bool {
	_, maxSurge := k.Budgets()
	waiting, chosen := 0, false
	for _, n := range k.View() {
		created := slices.Contains(k.did.Creates, n.Name)
		stays := slices.DeleteFunc(n.Live(), func(p *corev1.Pod) bool { return k.did.Fate(p) == peer.Deleted })
		bad := slices.ContainsFunc(stays, func(p *corev1.Pod) bool {
			return k.Updated(p) && !k.Available(p) && p.Spec.NodeName != ""
		})
		waiting += int(count(n.Outcome != placement.Leave && (bad || created)))
		chosen = chosen || created && slices.ContainsFunc(stays, k.Ready)
	}
	return maxSurge == 0 || !chosen || waiting <= maxSurge
}

// used checks that no node waits that only the budget can hold while the budget has room.
func (k *keeping) used() bool {
	maxUnavailable, maxSurge := k.Budgets()
	if maxSurge > 0 || k.Case.Set.Rolling().Paused || len(k.did.Fates) >= k.Burst() || k.unserved(k.after) >= maxUnavailable {
		return true
	}
	held := k.Held()
	for _, n := range k.View() {
		waits := len(n.Live()) == 1 && len(k.after(n)) == 1 && !k.Updated(n.Live()[0]) && n.Outcome == placement.Run
		if waits && !held[n.Name] && !k.brokenKeepNodes() {
			return false
		}
	}
	return true
}

// brokenKeepNodes reports whether there is a keep node with an updated pod that is not available. Such nodes count against the
// budget, too (B2).
func (k *keeping) brokenKeepNodes() bool {
	return slices.ContainsFunc(k.View(), func(n *peer.Node) bool {
		return n.Outcome == placement.Keep && slices.ContainsFunc(n.Live(), func(p *corev1.Pod) bool { return k.Updated(p) && !k.Available(p) })
	})
}

// partitioned checks that as many nodes as the partition requires, of the nodes that there are now, are not updated.
func (k *keeping) partitioned() bool {
	base, before, after := 0, 0, 0
	for _, n := range k.View() {
		live := slices.DeleteFunc(n.Live(), lifecycle.Terminal)
		if n.Outcome == placement.Leave || n.Outcome == placement.Keep && len(live) == 0 {
			continue
		}
		base++
		if len(live) == 0 || slices.ContainsFunc(live, k.Updated) {
			continue
		}
		before++
		begun := slices.Contains(k.did.Creates, n.Name) || slices.ContainsFunc(live, func(p *corev1.Pod) bool {
			f := k.did.Fate(p)
			return f != "" && f != peer.TakenBack && !peer.OnItsWayOut(p) && len(live) == 1
		})
		after += int(count(!begun))
	}
	return after >= min(before, k.Partition(base))
}

func (k *keeping) placed() bool {
	return !slices.ContainsFunc(k.Nodes, func(n *peer.Node) bool {
		return n.Outcome != placement.Run && slices.Contains(k.did.Creates, n.Name)
	})
}

func (k *keeping) comesBack() bool {
	return !slices.ContainsFunc(k.Nodes, func(n *peer.Node) bool {
		running := slices.DeleteFunc(n.Live(), func(p *corev1.Pod) bool {
			return lifecycle.Terminal(p) || p.Spec.NodeName == ""
		})
		return n.Outcome == placement.Keep && len(running) > 0 && !slices.ContainsFunc(running, func(p *corev1.Pod) bool {
			return k.did.Fate(p) == "" || k.did.Fate(p) == peer.TakenBack || k.did.Fate(p) == peer.Preparing
		})
	})
}

// outnumbered checks that the plan does not, by its own choice, leave fewer available nodes than desired. Nodes that their pods
// must leave count, too.
func (k *keeping) outnumbered() bool {
	before, after, left := 0, 0, false
	for _, n := range k.Nodes {
		if n.Outcome != placement.Run && !k.Lingers(n) {
			continue
		}
		was, is := slices.ContainsFunc(n.Live(), k.StaysAvailable), slices.ContainsFunc(k.after(n), k.Available)
		before += int(count(was))
		after += int(count(is))
		left = left || was && !is && n.Outcome == placement.Leave
	}
	return !left || after >= int(k.Desired)
}

func (k *keeping) bestStays() bool {
	return !slices.ContainsFunc(k.Nodes, func(n *peer.Node) bool {
		stays := staying(n)
		return n.Outcome != placement.Leave && len(stays) > 1 && slices.ContainsFunc(stays, k.Available) &&
			!slices.ContainsFunc(k.after(n), k.Available)
	})
}

func (k *keeping) handsOff() bool {
	return !slices.ContainsFunc(k.Nodes, func(n *peer.Node) bool {
		live := n.Live()
		return n.Outcome == placement.Run && len(live) == 1 && k.Updated(live[0]) && k.Available(live[0]) &&
			k.did.Fate(live[0]) != "" && k.did.Fate(live[0]) != peer.TakenBack
	})
}

func (k *keeping) finishedGo() bool {
	if len(k.did.Fates) >= k.Burst() {
		return true
	}
	return !slices.ContainsFunc(k.Nodes, func(n *peer.Node) bool {
		return !n.Vanished && slices.ContainsFunc(n.Live(), func(p *corev1.Pod) bool {
			return lifecycle.Terminal(p) && k.did.Fate(p) == "" && !k.Hooked(p)
		})
	})
}

func (k *keeping) finishedFirst() bool {
	return !slices.ContainsFunc(k.Nodes, func(n *peer.Node) bool {
		return slices.Contains(k.did.Creates, n.Name) && slices.ContainsFunc(n.Live(), lifecycle.Terminal)
	})
}

// missingCome checks that a run node without a pod gets one, except for burst and a first installation.
func (k *keeping) missingCome() bool {
	if limit, ordered := k.Scaling(); len(k.did.Creates) >= k.Burst() || ordered && len(k.did.Creates) >= limit {
		return true
	}
	return !slices.ContainsFunc(k.View(), func(n *peer.Node) bool {
		return n.Outcome == placement.Run && len(n.Pods) == 0 && !slices.Contains(k.did.Creates, n.Name)
	})
}

func (k *keeping) once() bool {
	return !slices.ContainsFunc(k.Case.Own(), func(p *corev1.Pod) bool { return marked(p) && k.did.Fate(p) != "" })
}

func (k *keeping) inBurst() bool {
	burst := k.Burst()
	return len(k.did.Creates) <= burst && len(peer.Deleted.Among(k.did.Fates)) <= burst && len(peer.InPlace.Among(k.did.Fates)) <= burst
}

func (k *keeping) runs() bool {
	return !slices.ContainsFunc(k.Case.Own(), func(p *corev1.Pod) bool {
		return k.did.Fate(p) == peer.InPlace && (marked(p) || lifecycle.Terminal(p) || p.Spec.NodeName == "")
	})
}

// TestConformanceKruiseKeeps checks the invariants behind the entries of the table for our plans, each counted directly. It also
// shows that OpenKruise breaks an invariant where its entry makes a difference.
func TestConformanceKruiseKeeps(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	broken := make(map[string]int)              // by invariant
	because := make(map[string][peer.Rules]int) // by invariant and entry
	for _, file := range files[peer.Kruise] {
		for _, c := range cases(t, file) {
			spec := specOf(t, c)
			if c.Refused(spec) != "" {
				continue
			}
			s, plan := situationOf(t, c, spec), planOf(t, c, spec)
			ours := peer.DecidedBy(plan)
			explanation, _ := s.Explain(ours)
			m := &peer.Model{Situation: s, Rules: peer.AllRules, Ours: ours}
			for _, v := range invariants {
				if !v.holds(&keeping{m, ours}) {
					t.Errorf("%s: our plan breaks %q (%s): %v", c.Name, v.name, v.rule, ours)
				}
				if v.holds(&keeping{m, c.Expected().Decision(v.union)}) {
					continue
				}
				broken[v.name]++
				counts := because[v.name]
				for r := range peer.Rules {
					counts[r] += int(count(explanation.Has(r) || s.Matters(r, ours)))
				}
				because[v.name] = counts
			}
		}
	}
	missing := make(map[peer.Rule]bool)
	for r, e := range peer.Entries[:] {
		missing[peer.Rule(r)] = e.Of.Has(peer.Kruise)
	}
	for _, v := range invariants {
		t.Logf("OpenKruise breaks %q (%s) in %d cases", v.name, v.rule, broken[v.name])
		for _, r := range v.entries {
			t.Logf("    %d with %s", because[v.name][r], peer.Entries[r].ID)
			if because[v.name][r] == 0 {
				t.Errorf("OpenKruise never breaks %q because of %s", v.name, peer.Entries[r].ID)
			}
			missing[r] = false
		}
	}
	for r, e := range peer.Entries[:] {
		if missing[peer.Rule(r)] {
			t.Errorf("no invariant stands behind %s", e.ID)
		}
	}
}
