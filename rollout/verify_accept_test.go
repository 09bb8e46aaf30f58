package rollout_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// TestVerifyAccepts holds what is allowed, each at the edge of what is not.
func TestVerifyAccepts(t *testing.T) {
	tests := []struct {
		name, why string
		scene     func() *handmade
	}{
		{"steady", "nothing to do", handSteady},
		{"rolling", "the budget is used up, not exceeded", handRolling},
		{"surging", "both places are taken", handSurging},
		{"no nodes at all", "an empty fleet needs an empty plan", func() *handmade { return newHandmade("1", "0").budget(1, 0, 0, 0) }},
		{"more unavailable than the budget, none by choice", "B3: broken pods are replaced in full", func() *handmade {
			s := newHandmade("1", "0")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dp", handPod(name+"-old", staleHash, "unready"))
			}
			return s.budget(1, 3, 0, 0).delete("a-old", "b-old", "c-old")
		}},
		{"more surging than the budget, none by choice", "B4: a node with a broken pod gets its new one at once", func() *handmade {
			s := newHandmade("0", "1")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dp", handPod(name+"-old", staleHash, "unready"))
			}
			return s.budget(0, 3, 1, 3).create("a", "b", "c")
		}},
		{"beside a terminating pod, with surge", "M1: at once", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dp", handMarked(handPod("a-new", freshHash, "available")))
			return s.budget(0, 1, 1, 1).create("a")
		}},
		{"a terminal pod that is marked", "M1: ignored altogether, also by the node's facts", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "d", handMarked(handPod("a-old", staleHash, "failed")))
			return s.budget(1, 1, 0, 0).create("a")
		}},
		{"a terminal pod requested to be deleted", "what is in flight counts as done", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "d", handPod("a-old", staleHash, "failed"))
			s.snapshot.InFlight.Deletes = []types.UID{"uid-a-old"}
			return s.budget(1, 1, 0, 0).create("a")
		}},
		{"superseded while paused", "T4: begun nodes finish", func() *handmade {
			s := newHandmade("0", "1")
			s.spec.Strategy.Paused = true
			s.node("a", "dprau", handPod("a-old", staleHash, "available"), handPod("a-new", freshHash, "available"))
			s.node("b", "dpu", handPod("b-old", staleHash, "unready"), handPod("b-new", freshHash, "unready"))
			return s.budget(0, 1, 1, 1).delete("a-old", "b-old")
		}},
		{"superseded on a keep node", "M3 holds there too", func() *handmade {
			s := handSteady()
			s.keep("k", "prau", handPod("k-old", staleHash, "available"), handPod("k-new", freshHash, "available"))
			return s.delete("k-old")
		}},
		{"surplus of each kind", "M3: one of the update revision and one other stay", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dprau", handPod("a-1", freshHash, "ready"), handPod("a-2", freshHash, "ready"),
				handPod("a-3", staleHash, "available"), handPod("a-4", staleHash, "unready"))
			s.spec.MinReadySeconds = 60
			return s.budget(0, 0, 1, 1).delete("a-2", "a-4")
		}},
		{"a pod requested for a keep node", "B2: it will not be bound there, and costs the budget nothing", func() *handmade {
			s := newHandmade("1", "0")
			s.keep("a", "")
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a"}}
			return s.budget(1, 0, 0, 0)
		}},
		{"a pod that is not bound to its keep node", "B2: it never ran, and costs the budget nothing", func() *handmade {
			s := newHandmade("1", "0")
			s.keep("a", "pu", handPod("a-1", freshHash, "unready"))
			s.pod("a-1").Spec.NodeName = ""
			s.pod("a-1").Spec.Affinity = placement.Pin(nil, "a")
			return s.budget(1, 0, 0, 0)
		}},
		{"Succeeded and Failed pods of one node", "M2: all go together, Succeeded ones at once", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"), handPod("a-2", freshHash, "succeeded"))
			return s.budget(1, 1, 0, 0).delete("a-1", "a-2")
		}},
		{"a Failed outdated pod in back-off", "M2: a fixed revision never waits", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dp", handPod("a-1", staleHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: staleHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{"a Failed pod with back-off of others", "M2: per node and revision, and never beyond 15 minutes", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: staleHash, Delay: time.Minute, Since: handNow()},
				{Node: "b", Revision: freshHash, Delay: time.Minute, Since: handNow()},
				{Node: "a", Revision: freshHash, Delay: time.Hour, Since: handNow().Add(-15 * time.Minute)},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{"a memory of another version", "it counts as lost, and its back-off with it", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion + 1, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{"a surplus Failed pod in back-off", "M3: beside a live one of its kind it is not the one to wait for", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dprau", handPod("a-1", freshHash, "failed"), handPod("a-2", freshHash, "available"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 0, 0, 0).delete("a-1")
		}},
		{"a pod pinned to a vanished node", "M5: it can never start", func() *handmade {
			s := handSteady()
			s.stray(handPinned(handPod("p", staleHash, "unready")), "gone")
			return s.delete("p")
		}},
		{"pods pinned by something else", "P7: only metadata.name In [node] attributes an unbound pod", func() *handmade {
			s := handSteady()
			unpinned := func(name string, fields ...corev1.NodeSelectorRequirement) {
				pod := handPinned(handPod(name, staleHash, "unready"))
				pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields = fields
				s.stray(pod, "")
			}
			unpinned("p1")
			unpinned("p2", corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}})
			unpinned("p3", corev1.NodeSelectorRequirement{Key: "spec.x", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}})
			preferring := handPod("p4", staleHash, "unready")
			preferring.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
			s.stray(preferring, "")
			beside := handPod("p5", staleHash, "unready")
			beside.Spec.Affinity = &corev1.Affinity{}
			s.stray(beside, "")
			return s
		}},
		{"a template for one node", "P2: nodeName names it", func() *handmade {
			s := handSteady()
			s.spec.Template.Spec.NodeName = "a"
			s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
			s.decision("b").Placement.Outcome = placement.Leave
			return s.withFacts("b", "prau").delete("b-new")
		}},
		{"two strays of one name", "the snapshot tells pods apart by UID; each has its decision", func() *handmade {
			s := handSteady()
			s.stray(handPod("p", staleHash, "unready"), "")
			twin := handPod("p", staleHash, "unready")
			twin.UID = "uid-twin"
			s.stray(twin, "")
			return s
		}},
		{"percentages round up", "B1: 67% of 3 is 3", func() *handmade {
			s := newHandmade("0", "67%")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dpra", handPod(name+"-old", staleHash, "available"))
			}
			return s.budget(0, 0, 3, 3).create("a", "b", "c")
		}},
		{"percentages of both budgets round alike", "B1: 67% of 3 is 3", func() *handmade {
			s := newHandmade("67%", "0")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dpra", handPod(name+"-old", staleHash, "available"))
			}
			return s.budget(3, 3, 0, 0).delete("a-old", "b-old", "c-old")
		}},
		{"a keep node with a broken old pod", "B2: only the update revision is judged there", func() *handmade {
			s := handRolling()
			s.keep("k", "p", handPod("k-old", staleHash, "unready"))
			return s
		}},
		{"the older of two unready pods, not bound", "M3: the bound one is further on its way", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-2", freshHash, "unready"), handPod("a-1", freshHash, "unready"))
			bound, unbound := s.pod("a-2"), s.pod("a-1")
			unbound.Spec.NodeName, unbound.Spec.Affinity = "", placement.Pin(nil, "a")
			bound.CreationTimestamp = metav1.NewTime(handNow())
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{"a Succeeded pod in the back-off of its revision", "M2: at once", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "succeeded"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{"a negative back-off", "it is none", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: -time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{"a terminating pod of a deselected node, under surge", "M4 counts what this plan takes away, not what went before", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.unselected(handMarked(handPod("z-new", freshHash, "available")))
			return s.withFacts("z", "p").budget(0, 1, 1, 1).create("a")
		}},
		{"an ignored stray without a decision", "M1: ignored altogether", func() *handmade {
			s := handSteady()
			s.snapshot.Pods = append(s.snapshot.Pods, handMarked(handPinned(handPod("p", staleHash, "failed"))))
			return s
		}},
		{"available pods outnumber the nodes, under surge", "M4: the one too many may go", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dprau", handPod("a-new", freshHash, "available"))
			s.unselected(handPod("z-new", freshHash, "available"))
			return s.budget(0, 0, 1, 0).delete("z-new")
		}},
		{"a tainted node under surge", "M4: NoExecute drives the pod away in any case", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.leave("z", "prau", handPod("z-new", freshHash, "available"))
			return s.budget(0, 1, 1, 1).delete("z-new").create("a")
		}},
		{"a deselected node without surge", "M4: every pod there goes", func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "d")
			s.unselected(handPod("z-new", freshHash, "available"))
			return s.budget(1, 1, 0, 0).delete("z-new").create("a")
		}},
		{"tolerated taints", "P1: daemon pods stay on a cordoned, unreachable node", func() *handmade {
			s := handSteady()
			s.snapshot.Nodes[0].Spec.Taints = []corev1.Taint{
				{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
				{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
				{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
			}
			return s
		}},
		{"a toleration by value", "P2: Equal is the default operator", func() *handmade {
			s := handSteady()
			s.spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "team", Value: "x"}}
			s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
			s.snapshot.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoExecute}}
			s.snapshot.Nodes[1].Spec.Taints = []corev1.Taint{{Key: "team", Value: "y", Effect: corev1.TaintEffectNoSchedule}}
			s.decision("b").Placement.Outcome = placement.Keep
			return s.withFacts("b", "prau")
		}},
		{"required node affinity", "P4: one of the terms is enough", func() *handmade {
			s := handSteady()
			s.spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}},
					{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}},
				}},
			}}
			s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
			s.decision("b").Placement.Outcome = placement.Leave
			return s.withFacts("b", "prau").delete("b-new")
		}},
		{"template generation without a hash", "R5: it counts only for pods without a hash", func() *handmade {
			s := newHandmade("1", "0")
			s.spec.TemplateGeneration = new(int64(3))
			bare, hashed := handPod("a-new", freshHash, "available"), handPod("b-old", staleHash, "available")
			bare.Labels = map[string]string{"pod-template-generation": "3"}
			hashed.Labels["pod-template-generation"] = "3"
			s.node("a", "dprau", bare)
			s.node("b", "dpra", hashed)
			return s.budget(1, 1, 0, 0).delete("b-old")
		}},
		{"a revision that another API version stored", "R2: an empty field more is no difference", func() *handmade {
			s := handSteady()
			raw := string(s.snapshot.Revisions[1].Data.Raw)
			s.snapshot.Revisions[1].Data.Raw = []byte(handReplaced(raw, `"metadata":{`, `"metadata":{"creationTimestamp":null,`))
			return s
		}},
		{"the last history that may go", "R4: nobody carries it, and the limit is 0", func() *handmade {
			s := handSteady()
			s.spec.RevisionHistoryLimit = new(int32(0))
			s.deleteRevision(staleHash)
			return s
		}},
		{"a duplicate revision is merged", "R3: its pods are relabelled first", func() *handmade {
			s := handSteady()
			s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("twin", 1, s.spec.Template))
			s.pod("a-new").Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "twin"
			return s.relabel("a-new")
		}},
		{"a rollback renumbers", "R3: the matching older revision becomes the newest", func() *handmade {
			s := handSteady()
			s.snapshot.Revisions[0].Revision = 3
			s.plan.Revisions = []rollout.RevisionAction{{Verb: rollout.RenumberRevision, Name: "agent-fresh", UID: "uid-agent-fresh", Number: 4}}
			return s
		}},
		{"the first plan for a template", "R3: no revision matches, so one is created", func() *handmade {
			s := handNewRevision()
			s.plan.Revisions = []rollout.RevisionAction{{Verb: rollout.CreateRevision, Name: "agent-fresh", Number: 2, Object: handRevision(freshHash, 2, s.spec.Template)}}
			return s.delete("a-old").spend(1, 0)
		}},
		{"the second plan for a template", "the revision is in flight, its hash is the plan's word", func() *handmade {
			s := handNewRevision()
			s.snapshot.InFlight.Revisions = []string{"agent-fresh"}
			return s.delete("a-old").spend(1, 0)
		}},
		{"a created pod that is observed", "its entry in flight is spent, so that it may be superseding", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dprau", handPod("a-old", staleHash, "available"), handPod("a-new", freshHash, "available"))
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a"}, {Node: "a", Revision: staleHash}}
			return s.budget(0, 0, 1, 0).delete("a-old")
		}},
		{"a second available pod of a deselected node, under surge", "M4: pods count once per node", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.unselected(handPod("z-old", staleHash, "available"), handPod("z-new", freshHash, "available"))
			return s.budget(0, 1, 1, 1).delete("z-old").create("a")
		}},
		{"beside a requested pod of another revision, with surge", "it is an outdated pod that is not Ready (B4)", func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: staleHash}}
			return s.budget(0, 1, 1, 1).create("a")
		}},
		{"a duplicate's hash that another template has too", "it does not say at which of the two a pod is", func() *handmade {
			s := handRolling()
			twin := handRevision(staleHash, 1, s.spec.Template)
			twin.Name = "agent-twin"
			s.snapshot.Revisions = append(s.snapshot.Revisions, twin)
			return s
		}},
		{"OnDelete with a missing pod", "T5 holds updates, not repair", func() *handmade {
			s := newHandmade("1", "0")
			s.spec.Strategy = rollout.Strategy{Type: rollout.OnDelete}
			s.node("a", "d")
			return s.create("a")
		}},
	}
	seen := make(map[string]bool)
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q: needs a name of its own and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.scene().verify(); got != nil {
				t.Errorf("%s, but: %v", tt.why, got)
			}
		})
	}
}
