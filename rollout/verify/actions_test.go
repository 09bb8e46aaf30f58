package verify_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
)

func TestVerifyActions(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "an action that no decision counts", why: "each belongs to exactly one", scene: handRolling,
			plant: func(s *handmade) { s.decision("c").Deletes = 0; s.decision("c").Verb = rollout.VerbWait },
			want:  12, mention: "node c: the decision about the node counts 0 creates, 0 deletes, 0 patches and 0 pulls, the plan holds 0, 1, 0 and 0",
		},
		{
			name: "an action that the wrong decision counts", why: "each belongs to its node's", scene: handRolling,
			plant: func(s *handmade) {
				s.decision("d").Deletes = 0
				s.decision("c").Deletes = 2
				s.decision("d").Verb = rollout.VerbWait
			},
			want: 12, mention: "counts 0 creates, 2 deletes",
		},
		{
			name: "a stray's action that its namesake counts", why: "by pod, for vanished nodes", scene: handStrays,
			plant: func(s *handmade) {
				s.plan.Decisions[5].Deletes, s.plan.Decisions[6].Deletes = 0, 1
				s.plan.Decisions[5].Verb, s.plan.Decisions[6].Verb = rollout.VerbWait, rollout.VerbDelete
			},
			want: 12, mention: "stray pod q",
		},
		{
			name: "a create that no decision counts", why: "creates are actions", scene: handSurging,
			plant: func(s *handmade) { s.decision("d").Creates = 0; s.decision("d").Verb = rollout.VerbWait },
			want:  12, mention: "counts 0 creates, 0 deletes, 0 patches and 0 pulls, the plan holds 1, 0, 0 and 0",
		},
		{
			name: "a patch that no decision counts", why: "patches are actions", scene: duplicated,
			plant: func(s *handmade) { s.decision("a").Patches = 0; s.decision("a").Verb = rollout.VerbWait },
			want:  12, mention: "the plan holds 0, 0, 1 and 0",
		},
		{
			name: "a delete without a reason", why: "each action names one", scene: handRolling,
			plant: func(s *handmade) { s.plan.Deletes[0].Reason = rollout.ReasonNone }, want: 12, mention: `action on pod "d-old"`,
		},
		{
			name: "a create with an unknown reason", why: "codes are declared ones", scene: handSurging,
			plant: func(s *handmade) { s.plan.Creates[0].Reason = rollout.ReasonDeparting + 1 }, want: 12, mention: "node d: action",
		},
		{
			name: "a patch without a reason", why: "each action names one", scene: duplicated,
			plant: func(s *handmade) { s.plan.Patches[0].Reason = rollout.ReasonNone }, want: 12, mention: `action on pod "a-new"`,
		},
		{
			name: "a delete under another name", why: "name and UID are of one pod", scene: handRolling,
			plant: func(s *handmade) { s.plan.Deletes[0].Pod = "d-new" }, want: 12, mention: `is pod "d-old"`,
		},
		{
			name: "a delete on another node", why: "it belongs to that node's decision", scene: handRolling,
			plant: func(s *handmade) {
				s.plan.Deletes[0].Node = "c"
				s.decision("c").Deletes, s.decision("d").Deletes, s.decision("d").Verb = 2, 0, rollout.VerbWait
			},
			want: 12, mention: `of node "d"`,
		},
		{
			name: "a delete at another revision", why: "the pod carries another hash", scene: handRolling,
			plant: func(s *handmade) { s.plan.Deletes[0].Revision = freshHash }, want: 12, mention: `at revision "fresh", but`,
		},
		{
			name: "a patch under another name", why: "name and UID are of one pod", scene: duplicated,
			plant: func(s *handmade) { s.plan.Patches[0].Pod = "other" }, want: 12, mention: `patch of pod "other"`,
		},
		{
			name: "a patch on another node", why: "it belongs to that node's decision", scene: duplicated,
			plant: func(s *handmade) {
				s.plan.Patches[0].Node = "b"
				s.decision("a").Patches, s.decision("a").Verb = 0, rollout.VerbWait
				s.decision("b").Patches, s.decision("b").Verb = 1, rollout.VerbPatch
			},
			want: 12, mention: `of node "a"`,
		},
	})
}

func TestVerifyVerbs(t *testing.T) {
	var rows []violationRow
	for verb := rollout.VerbNone; verb <= rollout.VerbSurge; verb++ {
		// c's pod is deleted, d's create is beside it: no verb is right for both.
		plant := func(s *handmade) { s.plan.Decisions[2].Verb = verb }
		scene := handRolling
		if verb == rollout.VerbDelete || verb == rollout.VerbReplace {
			plant = func(s *handmade) { s.plan.Decisions[3].Verb = verb }
			scene = handSurging
		}
		rows = append(rows, violationRow{
			name: verb.String(), why: "the verb claims another action than the plan has for the node",
			scene: scene, plant: plant, want: 12, mention: "verb " + verb.String() + " with",
		})
	}
	runViolations(t, rows)
}
