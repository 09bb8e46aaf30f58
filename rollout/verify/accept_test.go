package verify_test

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

// TestVerifyAccepts has plans that are allowed, each at the limit of what is allowed.
func TestVerifyAccepts(t *testing.T) {
	tests := []acceptRow{
		{name: "steady", why: "nothing to do", scene: handSteady},
		{name: "rolling", why: "the budget is used up, not exceeded", scene: handRolling},
		{name: "surging", why: "both places are taken", scene: handSurging},
		{name: "no nodes at all", why: "an empty fleet needs an empty plan", scene: func() *handmade { return newHandmade("1", "0").budget(1, 0, 0, 0) }},
		{name: "more unavailable than the budget, none by choice", why: "B3: broken pods are replaced in full", scene: func() *handmade {
			s := newHandmade("1", "0")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dp", handPod(name+"-old", staleHash, "unready"))
			}
			return s.budget(1, 3, 0, 0).delete("a-old", "b-old", "c-old")
		}},
		{name: "more surging than the budget, none by choice", why: "B4: a node with a broken pod gets its new one at once", scene: func() *handmade {
			s := newHandmade("0", "1")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dp", handPod(name+"-old", staleHash, "unready"))
			}
			return s.budget(0, 3, 1, 3).create("a", "b", "c")
		}},
		{name: "beside a terminating pod, with surge", why: "M1: at once", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dp", handMarked(handPod("a-new", freshHash, "available")))
			return s.budget(0, 1, 1, 1).create("a")
		}},
		{name: "a terminal pod that is marked", why: "M1: ignored altogether, also by the node's facts", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "d", handMarked(handPod("a-old", staleHash, "failed")))
			return s.budget(1, 1, 0, 0).create("a")
		}},
		{name: "a terminal pod requested to be deleted", why: "what is in flight counts as done", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "d", handPod("a-old", staleHash, "failed"))
			s.snapshot.InFlight.Deletes = []types.UID{"uid-a-old"}
			return s.budget(1, 1, 0, 0).create("a")
		}},
		{name: "superseded while paused", why: "T4: begun nodes finish", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.spec.Strategy.Paused = true
			s.node("a", "dprau", handPod("a-old", staleHash, "available"), handPod("a-new", freshHash, "available"))
			s.node("b", "dpu", handPod("b-old", staleHash, "unready"), handPod("b-new", freshHash, "unready"))
			return s.budget(0, 1, 1, 1).delete("a-old", "b-old")
		}},
		{name: "superseded on a keep node", why: "M3 holds there too", scene: func() *handmade {
			s := handSteady()
			s.keep("k", "prau", handPod("k-old", staleHash, "available"), handPod("k-new", freshHash, "available"))
			return s.delete("k-old")
		}},
		{name: "surplus of each kind", why: "M3: one of the update revision and one other stay", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dprau", handPod("a-1", freshHash, "ready"), handPod("a-2", freshHash, "ready"),
				handPod("a-3", staleHash, "available"), handPod("a-4", staleHash, "unready"))
			s.spec.MinReadySeconds = 60
			return s.budget(0, 0, 1, 1).delete("a-2", "a-4")
		}},
		{name: "a pod requested for a keep node", why: "B2: it will not be bound there, and costs the budget nothing", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.keep("a", "")
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a"}}
			return s.budget(1, 0, 0, 0)
		}},
		{name: "a pod that is not bound to its keep node", why: "B2: it never ran, and costs the budget nothing", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.keep("a", "pu", handPod("a-1", freshHash, "unready"))
			s.pod("a-1").Spec.NodeName = ""
			s.pod("a-1").Spec.Affinity = placement.Pin(nil, "a")
			return s.budget(1, 0, 0, 0)
		}},
		{name: "Succeeded and Failed pods of one node", why: "M2: all go together, Succeeded ones at once", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"), handPod("a-2", freshHash, "succeeded"))
			return s.budget(1, 1, 0, 0).delete("a-1", "a-2")
		}},
		{name: "a Failed outdated pod in back-off", why: "M2: a fixed revision never waits", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dp", handPod("a-1", staleHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: staleHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{name: "a Failed pod with back-off of others", why: "M2: per node and revision, and never beyond 15 minutes", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: staleHash, Delay: time.Minute, Since: handNow()},
				{Node: "b", Revision: freshHash, Delay: time.Minute, Since: handNow()},
				{Node: "a", Revision: freshHash, Delay: time.Hour, Since: handNow().Add(-15 * time.Minute)},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{name: "a memory of another version", why: "it counts as lost, and its back-off with it", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion + 1, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{name: "a surplus Failed pod in back-off", why: "M3: beside a live one of its kind it is not the one to wait for", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dprau", handPod("a-1", freshHash, "failed"), handPod("a-2", freshHash, "available"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 0, 0, 0).delete("a-1")
		}},
		{name: "a pod pinned to a vanished node", why: "M5: it can never start", scene: func() *handmade {
			s := handSteady()
			s.stray(handPinned(handPod("p", staleHash, "unready")), "gone")
			return s.delete("p")
		}},
		{name: "pods pinned by something else", why: "P7: only metadata.name In [node] attributes an unbound pod", scene: func() *handmade {
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
		{name: "a template for one node", why: "P2: nodeName names it", scene: func() *handmade {
			s := handSteady()
			s.spec.Template.Spec.NodeName = "a"
			s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
			s.decision("b").Placement.Outcome = placement.Leave
			return s.withFacts("b", "prau").delete("b-new")
		}},
		{name: "two strays of one name", why: "the snapshot tells pods apart by UID; each has its decision", scene: func() *handmade {
			s := handSteady()
			s.stray(handPod("p", staleHash, "unready"), "")
			twin := handPod("p", staleHash, "unready")
			twin.UID = "uid-twin"
			s.stray(twin, "")
			return s
		}},
		{name: "percentages round up", why: "B1: 67% of 3 is 3", scene: func() *handmade {
			s := newHandmade("0", "67%")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dpra", handPod(name+"-old", staleHash, "available"))
			}
			return s.budget(0, 0, 3, 3).create("a", "b", "c")
		}},
		{name: "percentages of both budgets round alike", why: "B1: 67% of 3 is 3", scene: func() *handmade {
			s := newHandmade("67%", "0")
			for _, name := range []string{"a", "b", "c"} {
				s.node(name, "dpra", handPod(name+"-old", staleHash, "available"))
			}
			return s.budget(3, 3, 0, 0).delete("a-old", "b-old", "c-old")
		}},
		{name: "a keep node with a broken old pod", why: "B2: only the update revision is judged there", scene: func() *handmade {
			s := handRolling()
			s.keep("k", "p", handPod("k-old", staleHash, "unready"))
			return s
		}},
		{name: "the older of two unready pods, not bound", why: "M3: the bound one is further on its way", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-2", freshHash, "unready"), handPod("a-1", freshHash, "unready"))
			bound, unbound := s.pod("a-2"), s.pod("a-1")
			unbound.Spec.NodeName, unbound.Spec.Affinity = "", placement.Pin(nil, "a")
			bound.CreationTimestamp = metav1.NewTime(handNow())
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{name: "a Succeeded pod in the back-off of its revision", why: "M2: at once", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "succeeded"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{name: "a negative back-off", why: "it is none", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
				{Node: "a", Revision: freshHash, Delay: -time.Minute, Since: handNow()},
			}}
			return s.budget(1, 1, 0, 0).delete("a-1")
		}},
		{name: "a terminating pod of a deselected node, under surge", why: "M4 counts what this plan takes away, not what went before", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.unselected(handMarked(handPod("z-new", freshHash, "available")))
			return s.withFacts("z", "p").budget(0, 1, 1, 1).create("a")
		}},
		{name: "an ignored stray without a decision", why: "M1: ignored altogether", scene: func() *handmade {
			s := handSteady()
			s.snapshot.Pods = append(s.snapshot.Pods, handMarked(handPinned(handPod("p", staleHash, "failed"))))
			return s
		}},
		{name: "available pods outnumber the nodes, under surge", why: "M4: the one too many may go", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dprau", handPod("a-new", freshHash, "available"))
			s.unselected(handPod("z-new", freshHash, "available"))
			return s.budget(0, 0, 1, 0).delete("z-new")
		}},
		{name: "a tainted node under surge", why: "M4: NoExecute drives the pod away in any case", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.leave("z", "prau", handPod("z-new", freshHash, "available"))
			return s.budget(0, 1, 1, 1).delete("z-new").create("a")
		}},
		{name: "a deselected node without surge", why: "M4: every pod there goes", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.node("a", "d")
			s.unselected(handPod("z-new", freshHash, "available"))
			return s.budget(1, 1, 0, 0).delete("z-new").create("a")
		}},
		{name: "tolerated taints", why: "P1: daemon pods stay on a cordoned, unreachable node", scene: func() *handmade {
			s := handSteady()
			s.snapshot.Nodes[0].Spec.Taints = []corev1.Taint{
				{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
				{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
				{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
			}
			return s
		}},
		{name: "a toleration by value", why: "P2: Equal is the default operator", scene: func() *handmade {
			s := handSteady()
			s.spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "team", Value: "x"}}
			s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
			s.snapshot.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoExecute}}
			s.snapshot.Nodes[1].Spec.Taints = []corev1.Taint{{Key: "team", Value: "y", Effect: corev1.TaintEffectNoSchedule}}
			s.decision("b").Placement.Outcome = placement.Keep
			return s.withFacts("b", "prau")
		}},
		{name: "required node affinity", why: "P4: one of the terms is enough", scene: func() *handmade {
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
		{name: "template generation without a hash", why: "R5: it counts only for pods without a hash", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.spec.TemplateGeneration = new(int64(3))
			bare, hashed := handPod("a-new", freshHash, "available"), handPod("b-old", staleHash, "available")
			bare.Labels = map[string]string{"app": "agent", "pod-template-generation": "3"}
			hashed.Labels["pod-template-generation"] = "3"
			s.node("a", "dprau", bare)
			s.node("b", "dpra", hashed)
			return s.budget(1, 1, 0, 0).delete("b-old")
		}},
		{name: "a revision that another API version stored", why: "R2: an empty field more is no difference", scene: func() *handmade {
			s := handSteady()
			raw := string(s.snapshot.Revisions[1].Data.Raw)
			s.snapshot.Revisions[1].Data.Raw = []byte(handReplaced(raw, `"metadata":{`, `"metadata":{"creationTimestamp":null,`))
			return s
		}},
		{name: "the last history that may go", why: "R4: nobody carries it, and the limit is 0", scene: func() *handmade {
			s := handSteady()
			s.spec.RevisionHistoryLimit = new(int32(0))
			s.deleteRevision(staleHash)
			return s
		}},
		{name: "a duplicate revision is merged", why: "R3: its pods are relabelled first", scene: func() *handmade {
			s := handSteady()
			s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("twin", 1, s.spec.Template))
			s.pod("a-new").Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "twin"
			return s.relabel("a-new")
		}},
		{name: "a rollback renumbers", why: "R3: the matching older revision becomes the newest", scene: func() *handmade {
			s := handSteady()
			s.snapshot.Revisions[0].Revision = 3
			s.plan.Revisions = []rollout.RevisionAction{{Verb: rollout.RenumberRevision, Name: "agent-fresh", UID: "uid-agent-fresh", Number: 4}}
			return s
		}},
		{name: "the first plan for a template", why: "R3: no revision matches, so one is created", scene: func() *handmade {
			s := handNewRevision()
			s.createRevision()
			return s.delete("a-old").spend(1, 0)
		}},
		{name: "the second plan for a template", why: "the revision is in flight", scene: func() *handmade {
			s := handNewRevision()
			s.snapshot.InFlight.Revisions = []string{"agent-" + handNewHash()}
			return s.delete("a-old").spend(1, 0)
		}},
		{name: "a created pod that is observed", why: "its entry in flight is spent, so that it may be superseding", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "dprau", handPod("a-old", staleHash, "available"), handPod("a-new", freshHash, "available"))
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a"}, {Node: "a", Revision: staleHash}}
			return s.budget(0, 0, 1, 0).delete("a-old")
		}},
		{name: "a second available pod of a deselected node, under surge", why: "M4: pods count once per node", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.unselected(handPod("z-old", staleHash, "available"), handPod("z-new", freshHash, "available"))
			return s.budget(0, 1, 1, 1).delete("z-old").create("a")
		}},
		{name: "beside a requested pod of another revision, with surge", why: "it is an outdated pod that is not Ready (B4)", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.node("a", "d")
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: staleHash}}
			return s.budget(0, 1, 1, 1).create("a")
		}},
		{name: "a duplicate's hash that another template has too", why: "it does not say at which of the two a pod is", scene: func() *handmade {
			s := handRolling()
			twin := handRevision(staleHash, 1, s.spec.Template)
			twin.Name = "agent-twin"
			s.snapshot.Revisions = append(s.snapshot.Revisions, twin)
			return s
		}},
		{name: "OnDelete with a missing pod", why: "T5 holds updates, not repair", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.spec.Strategy = rollout.Strategy{Type: rollout.OnDelete}
			s.node("a", "d")
			return s.budget(0, 1, 0, 0).create("a")
		}},
	}
	runAccepts(t, tests)
}
