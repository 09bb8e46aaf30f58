//go:build teeth

package conformance_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// wrongKruiseDecisions are mistakes in what only OpenKruise has.
var wrongKruiseDecisions = []wrongDecision{
	{"deleted instead of in place", instead(peer.InPlace, peer.Deleted), 30, 0},
	{"in place instead of deleted", func(s *peer.Situation, plan rollout.Plan, d *peer.Decided) {
		for _, a := range plan.Deletes {
			if a.Reason == rollout.ReasonOutdated || a.Reason == rollout.ReasonOutdatedNotReady {
				d.Fates[slices.Index(d.Fates, peer.Deleted.To(a.Pod))] = peer.InPlace.To(a.Pod)
			}
		}
	}, 40, 0},
	{"nothing in place", without(peer.InPlace), 30, 0},
	{"hooks ignored", instead(peer.Preparing, peer.Deleted), 10, 0},
	{"hooks for ever", without(peer.Preparing), 10, 0},
	{"nothing taken back", without(peer.TakenBack), 25, 0},
	{"deleted instead of taken back", instead(peer.TakenBack, peer.Deleted), 25, 0},
	{"an update past the holds", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		m := peer.Model{Situation: s, Rules: peer.AllRules}
		held := m.Held()
		for _, n := range s.Nodes {
			live := n.Live()
			if !held[n.Name] || n.Outcome != placement.Run || len(live) != 1 || m.Updated(live[0]) || d.Fate(live[0]) != "" {
				continue
			}
			if s.Surge {
				d.Creates = append(d.Creates, n.Name)
			} else {
				d.Fates = append(d.Fates, m.UpdateOf(live[0])...)
			}
			return
		}
	}, 60, 0},
	{"another node held", func(s *peer.Situation, plan rollout.Plan, d *peer.Decided) {
		for _, f := range []peer.Fate{peer.InPlace, peer.Deleted} {
			for i, action := range d.Fates {
				held := heldPod(plan)
				if peer.FateOf(action) == f && held != "" {
					d.Fates[i] = f.To(held)
					return
				}
			}
		}
	}, 10, 0},
}

// heldPod returns a pod that partition or selector holds; empty if there is none.
func heldPod(plan rollout.Plan) string {
	for _, d := range plan.Decisions {
		if d.Verb == rollout.VerbHold && (d.Limit == rollout.LimitPartition || d.Limit == rollout.LimitNodeSelector) {
			return d.Pod
		}
	}
	return ""
}

func without(f peer.Fate) func(*peer.Situation, rollout.Plan, *peer.Decided) {
	return func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		d.Fates = slices.DeleteFunc(d.Fates, func(action string) bool { return peer.FateOf(action) == f })
	}
}

func instead(f, wrong peer.Fate) func(*peer.Situation, rollout.Plan, *peer.Decided) {
	return func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		for i, action := range d.Fates {
			if peer.FateOf(action) == f {
				d.Fates[i] = wrong.To(f.Among([]string{action})[0])
			}
		}
	}
}

// TestConformanceKruiseTeeth does for OpenKruise what TestConformanceTeeth does.
func TestConformanceKruiseTeeth(t *testing.T) {
	testTeeth(t, peer.Kruise, slices.Concat(wrongDecisions, wrongKruiseDecisions))
}
