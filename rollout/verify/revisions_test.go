package verify_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// duplicated has a pod of a duplicate of the update revision.
func duplicated() *handmade {
	s := handSteady()
	s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("twin", 1, s.spec.Template))
	s.pod("a-new").Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "twin"
	return s.relabel("a-new")
}

func TestVerifyPatches(t *testing.T) {
	data := func(format string, args ...any) func(*handmade) {
		return func(s *handmade) { s.plan.Patches[0].Data = fmt.Appendf(nil, format, args...) }
	}
	const label = appsv1.DefaultDaemonSetUniqueLabelKey
	runViolations(t, []violationRow{
		{
			name: "a pod of the update revision", why: "V4: its label is right", scene: handSteady,
			plant: func(s *handmade) { s.relabel("a-new") }, want: 4, mention: "a-new",
		},
		{
			name: "a pod of another revision", why: "R3: to relabel it would hide that it is outdated",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dp", handPod("a-old", staleHash, "unready"))
				return s.budget(1, 1, 0, 0)
			},
			plant: func(s *handmade) { s.relabel("a-old") }, want: 9, mention: "a-old: I1: begins an update in place",
		},
		{
			name: "to another revision", why: "R3: to the update revision", scene: duplicated,
			plant: func(s *handmade) { s.plan.Patches[0].Revision = staleHash }, want: 12, mention: `says that the pod is at revision "stale" then`,
		},
		{
			name: "another value", why: "the label says at which revision the pod is", scene: duplicated,
			plant: func(s *handmade) {
				data(`{"metadata":{"uid":"uid-a-new","labels":{%q:"stale"}}}`, label)(s)
				s.plan.Patches[0].Revision = staleHash
			},
			want: 9, mention: `sets revision "stale", right is "fresh"`,
		},
		{
			name: "another label too", why: "V4: only the revision label", scene: duplicated,
			plant: data(`{"metadata":{"uid":"uid-a-new","labels":{%q:"fresh","app":"x"}}}`, label), want: 4, mention: "changes the label app",
		},
		{
			name: "an annotation too", why: "V4: only the revision label", scene: duplicated,
			plant: data(`{"metadata":{"uid":"uid-a-new","labels":{%q:"fresh"},"annotations":{"x":"y"}}}`, label), want: 4, mention: "changes the annotation x",
		},
		{
			name: "the spec too", why: "V4: only the revision label", scene: duplicated,
			plant: data(`{"metadata":{"uid":"uid-a-new","labels":{%q:"fresh"}},"spec":{"nodeName":"b"}}`, label), want: 9, mention: "changes what is not to be changed there",
		},
		{
			name: "no UID", why: "a namesake must not be hit", scene: duplicated,
			plant: data(`{"metadata":{"name":"a-new","labels":{%q:"fresh"}}}`, label), want: 9, mention: `demands UID ""`,
		},
		{
			name: "another UID", why: "a namesake must not be hit", scene: duplicated,
			plant: data(`{"metadata":{"uid":"uid-b-new","labels":{%q:"fresh"}}}`, label), want: 9, mention: `demands UID "uid-b-new"`,
		},
		{
			name: "labels of another kind", why: "what cannot be read is not trusted", scene: duplicated,
			plant: data(`{"metadata":{"uid":"uid-a-new","labels":[]}}`), want: 9, mention: "cannot be read",
		},
		{
			name: "no JSON", why: "what cannot be read is not trusted", scene: duplicated,
			plant: data(`{`), want: 9, mention: "cannot be read",
		},
		{
			name: "a JSON patch", why: "what is not read is not trusted", scene: duplicated,
			plant: func(s *handmade) { s.plan.Patches[0].Type = types.JSONPatchType }, want: 9, mention: "cannot be read",
		},
		{
			name: "the status", why: "labels are not there", scene: duplicated,
			plant: func(s *handmade) { s.plan.Patches[0].Subresource = "status" }, want: 9, mention: `to subresource "status" changes`,
		},
		{
			name: "an unknown UID", why: "the pod is not there", scene: duplicated,
			plant: func(s *handmade) { s.plan.Patches[0].UID = "uid-other" }, want: 14, mention: "uid-other",
		},
		{
			name: "twice", why: "once is enough", scene: duplicated,
			plant: func(s *handmade) { s.relabel("a-new") }, want: 14, mention: "patch 2 of pod a-new changes nothing",
		},
		{
			name: "in flight", why: "it was sent before", scene: duplicated,
			plant: func(s *handmade) {
				s.snapshot.InFlight.Patches = []types.UID{"uid-a-new"}
				s.spend(1, 0)
			}, want: 14, mention: "second patch of pod a-new",
		},
	})
	s := duplicated()
	s.plan.Patches[0].Type = types.MergePatchType
	s.settle()
	if got := s.verify(); got != nil {
		t.Errorf("a merge patch says the same, but: %v", got)
	}
}

func TestVerifyRevisions(t *testing.T) {
	act := func(verb rollout.RevisionVerb, hash string) func(*handmade) {
		return func(s *handmade) {
			s.plan.Revisions = append(s.plan.Revisions, rollout.RevisionAction{
				Verb: verb, Name: "agent-" + hash, UID: types.UID("uid-agent-" + hash), Number: 9,
			})
		}
	}
	old := func(limit int32) func() *handmade {
		return func() *handmade {
			s := handSteady()
			s.spec.RevisionHistoryLimit = &limit
			s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("older", 0, handTemplate("v0")))
			act(rollout.DeleteRevision, "older")(s)
			return s
		}
	}
	creating := func() *handmade {
		return handNewRevision().createRevision()
	}
	runViolations(t, []violationRow{
		{
			name: "below the history limit", why: "R4: one old revision is to stay", scene: old(1),
			plant: act(rollout.DeleteRevision, staleHash), want: 4, mention: "R4: 0 old revisions stay, right are 1",
		},
		{
			name: "one that a pod carries", why: "R4: the pod could not be rolled back to it", scene: old(0),
			plant: func(s *handmade) {
				s.snapshot.Pods = append(s.snapshot.Pods, handMarked(handPod("ghost", "older", "failed")))
				s.snapshot.Pods[2].Spec.NodeName = "a"
			},
			want: 4, mention: "R4: delete of revision agent-older, which pods carry",
		},
		{
			name: "one that a requested pod carries", why: "what is in flight counts as done", scene: old(0),
			plant: func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "b", Revision: "older"}}
			},
			want: 4, mention: "R4: delete of revision agent-older, which pods carry",
		},
		{
			name: "a duplicate that a pod carries", why: "R3: its pods are relabelled first", scene: duplicated,
			plant: act(rollout.DeleteRevision, "twin"), want: 4, mention: "agent-twin",
		},
		{
			name: "the update revision", why: "R4: never", scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "d")
				return s.budget(1, 1, 0, 0).create("a")
			},
			plant: act(rollout.DeleteRevision, freshHash), want: 4, mention: "R4: delete of the update revision agent-fresh",
		},
		{
			name: "the update revision, while a duplicate of its hash stays", why: "R3: the highest is kept", scene: handTrial(handCopied(1, 0, nil)),
			plant: func(s *handmade) {
				for i := range s.plan.Revisions {
					if s.plan.Revisions[i].Name == "agent-z" {
						s.plan.Revisions[i].Name, s.plan.Revisions[i].UID = "agent-"+freshHash, types.UID("uid-agent-"+freshHash)
					}
				}
			},
			want: 4, mention: "R4: delete of the update revision agent-fresh",
		},
		{
			name: "renumber of an old one", why: "R3: the matching one is renumbered", scene: handSteady,
			plant: act(rollout.RenumberRevision, staleHash), want: 4, mention: "R3: renumber of revision agent-stale, which is not the update revision",
		},
		{
			name: "renumber of a duplicate", why: "R3: of the update revision", scene: func() *handmade {
				s := handSteady()
				s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("twin", 1, s.spec.Template))
				return s
			},
			plant: func(s *handmade) {
				act(rollout.RenumberRevision, "twin")(s)
				s.plan.Revisions[0].Number = 2
			},
			want: 4, mention: "R3: renumber of revision agent-twin, which is not the update revision",
		},
		{
			name: "the only old one, below the history limit", why: "R4: it is to stay", scene: func() *handmade {
				s := handSteady()
				s.spec.RevisionHistoryLimit = new(int32(1))
				return s
			},
			plant: act(rollout.DeleteRevision, staleHash), want: 4, mention: "R4: 0 old revisions stay, right are 1",
		},
		{
			name: "an unknown one", why: "it is gone", scene: handSteady,
			plant: act(rollout.DeleteRevision, "other"), want: 14, mention: "agent-other",
		},
		{
			name: "another UID", why: "a namesake must not be hit", scene: old(0),
			plant: func(s *handmade) { s.plan.Revisions[0].UID = "uid-other" }, want: 14, mention: `delete of revision agent-older with UID "uid-other"`,
		},
		{
			name: "twice", why: "once is enough", scene: old(0),
			plant: act(rollout.DeleteRevision, "older"), want: 14, mention: "second action on revision agent-older",
		},
		{
			name: "an unknown one behind one that is deleted twice", why: "each is looked at", scene: old(0),
			plant: func(s *handmade) {
				act(rollout.DeleteRevision, "older")(s)
				act(rollout.DeleteRevision, "other")(s)
			},
			want: 14, mention: "delete of revision agent-other with UID",
		},
		{
			name: "in flight", why: "it was sent before", scene: old(0),
			plant: func(s *handmade) { s.snapshot.InFlight.Revisions = []string{"agent-older"} }, want: 14, mention: "second action",
		},
		{
			name: "unknown verb", why: "codes are declared ones", scene: old(0),
			plant: func(s *handmade) { s.plan.Revisions[0].Verb = rollout.DeleteRevision + 1 }, want: 12, mention: "there is no verb 4",
		},
		{
			name: "create without an object", why: "there is nothing to send",
			scene: creating, plant: func(s *handmade) { s.plan.Revisions[0].Object = nil }, want: 12, mention: "is to be created from",
		},
		{
			name: "create under another name", why: "action and object are of one revision",
			scene: creating, plant: func(s *handmade) { s.plan.Revisions[0].Name = "agent-other" }, want: 12, mention: "agent-other",
		},
		{
			name: "create of another template", why: "R1: the data is the template's", scene: creating,
			plant: func(s *handmade) {
				s.plan.Revisions[0].Object.Data.Raw = handRevision("x", 1, handTemplate("v3")).Data.Raw
			},
			want: 12, mention: "holds the template",
		},
		{
			name: "create under a name that is taken", why: "R3: the collision count is bumped", scene: creating,
			plant: func(s *handmade) {
				s.snapshot.Revisions[0].Name = s.plan.Revisions[0].Name
				s.plan.Status.UpdateRevision = history.Hash(&s.spec.Template, new(int32(1)))
			}, want: 14, mention: "its name is taken",
		},
		{
			name: "create of a duplicate", why: "R3: the template has a revision",
			scene: handSteady,
			plant: func(s *handmade) {
				s.plan.Revisions = []rollout.RevisionAction{{
					Verb: rollout.CreateRevision, Name: "agent-twin", Number: 3, Object: handRevision("twin", 3, s.spec.Template),
				}}
			},
			want: 14, mention: "the template has a revision",
		},
		{
			name: "the plan's word against a taken hash", why: "R3: a hash of another template is nobody's update revision",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.snapshot.Revisions = s.snapshot.Revisions[:1]
				s.plan.Status.UpdateRevision = handNewHash()
				return s.budget(1, 0, 0, 0)
			},
			plant: func(s *handmade) { s.plan.Status.UpdateRevision = staleHash }, want: 12, mention: `status.updateRevision is "stale"`,
		},
	})
}
