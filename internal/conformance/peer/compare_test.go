package peer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

func TestCompare(t *testing.T) {
	create := func(node string, why rollout.Reason) rollout.Create { return rollout.Create{Node: node, Reason: why} }
	remove := func(pod string, why rollout.Reason) rollout.Delete { return rollout.Delete{Pod: pod, Reason: why} }
	tests := []struct {
		name, why string
		theirs    peer.Outcome
		ours      rollout.Plan
		want      []string
	}{
		{
			name: "the same", why: "what both phases did, in one plan",
			theirs: peer.Outcome{
				Status: peer.Counters{Desired: 2},
				Manage: peer.Phase{Creates: peer.Act{Must: []string{"a"}}},
				Roll:   peer.Phase{Fates: peer.Act{From: peer.Deleted.Of("b", "c"), Count: 1}},
			},
			ours: rollout.Plan{
				Status:  status.Status{Counts: status.Counts{Desired: 2}},
				Creates: []rollout.Create{create("a", rollout.ReasonMissing)},
				Deletes: []rollout.Delete{remove("c", rollout.ReasonOutdated)},
			},
		},
		{
			name: "counters", why: "each counter by its name, and which way round",
			theirs: peer.Outcome{Status: peer.Counters{Desired: 2, Ready: 1}},
			ours:   rollout.Plan{Status: status.Status{Counts: status.Counts{Desired: 5, Available: 1}}},
			want: []string{
				`status: only the plan: "desired" by 3`, `status: only the controller: "ready" by 1`,
				`status: only the plan: "available" by 1`,
			},
		},
		{
			name: "another node", why: "one that we leave out, and one that we choose instead",
			theirs: peer.Outcome{Manage: peer.Phase{Creates: peer.Act{Must: []string{"a"}}}},
			ours:   rollout.Plan{Creates: []rollout.Create{create("b", rollout.ReasonMissing)}},
			want:   []string{`creates: only the controller: "a" by 1`, `creates: only the plan: "b" by 1`},
		},
		{
			name: "another fate", why: "what happens to a pod is an aspect each",
			theirs: peer.Outcome{Roll: peer.Phase{Fates: peer.Act{Must: peer.InPlace.Of("p")}}},
			ours:   rollout.Plan{Deletes: []rollout.Delete{remove("p", rollout.ReasonOutdated)}},
			want:   []string{`delete: only the plan: "p" by 1`, `inPlace: only the controller: "p" by 1`},
		},
		{
			name: "fewer of a choice", why: "which ones are missing nobody can tell",
			theirs: peer.Outcome{Roll: peer.Phase{Fates: peer.Act{From: peer.Deleted.Of("p", "q", "r"), Count: 2}}},
			ours:   rollout.Plan{Deletes: []rollout.Delete{remove("p", rollout.ReasonOutdated)}},
			want:   []string{`delete: only the controller: "" by 1`},
		},
		{
			name: "fewer where repair spends the budget", why: "M7: our repairs count in the budget of the same plan",
			theirs: peer.Outcome{
				Manage: peer.Phase{Creates: peer.Act{Must: []string{"a"}}},
				Roll:   peer.Phase{Fates: peer.Act{From: peer.Deleted.Of("p", "q", "r"), Count: 2}},
			},
			ours: rollout.Plan{
				Creates: []rollout.Create{create("a", rollout.ReasonMissing)},
				Deletes: []rollout.Delete{remove("p", rollout.ReasonOutdated)},
			},
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		var got []string
		for _, d := range peer.Compare(test.theirs, test.ours) {
			got = append(got, d.String())
		}
		if diff := cmp.Diff(strings.Join(test.want, "\n"), strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.why, diff)
		}
	}
}
