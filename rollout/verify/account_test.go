package verify_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

func TestVerifyInput(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "invalid spec", why: "New refuses it, so no plan is of it", scene: handSteady,
			plant: func(s *handmade) { s.spec.Strategy.MaxSurge = new(intstr.FromInt32(1)) }, want: 0, mention: "V0: spec.strategy.maxSurge",
		},
		{
			name: "a template that cannot be stored", why: "it can have no revision", scene: handSteady,
			plant: func(s *handmade) {
				s.spec.Template.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1("{")}}
			},
			want: 0, mention: "spec.template: ",
		},
		{
			name: "no clock", why: "readiness and waits hang on it", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Now = time.Time{} }, want: 0, mention: "snapshot.Now",
		},
		{
			name: "nil node", why: "Plan returns an error", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Nodes[1] = nil }, want: 0, mention: "snapshot.Nodes[1]: must not be nil",
		},
		{
			name: "node without a name", why: "nothing can be attributed to it", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Nodes[1].Name = "" }, want: 0, mention: "snapshot.Nodes[1]: must have a name",
		},
		{
			name: "two nodes of one name", why: "a pod would be on both", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Nodes[1].Name = "a" }, want: 0, mention: "node a: snapshot.Nodes[1]",
		},
		{
			name: "nil pod", why: "Plan returns an error", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Pods[1] = nil }, want: 0, mention: "snapshot.Pods[1]: must not be nil",
		},
		{
			name: "pod without a UID", why: "a delete needs it as precondition", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Pods[1].UID = "" }, want: 0, mention: `pod "b-new" must have a UID`,
		},
		{
			name: "two pods of one UID", why: "a delete would mean both", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Pods[1].UID = s.snapshot.Pods[0].UID }, want: 0, mention: `one pod of UID "uid-a-new"`,
		},
		{
			name: "pod of another controller", why: "a plan would delete it as one too many", scene: handSteady,
			plant: func(s *handmade) {
				s.spec.UID = "set"
				s.snapshot.Pods[1].OwnerReferences = []metav1.OwnerReference{{UID: "other", Controller: new(true)}}
			},
			want: 0, mention: "b-new is not the set's: rollout.Claim picks",
		},
		{
			name: "pod of nobody that is not selected", why: "likewise", scene: handSteady,
			plant: func(s *handmade) {
				s.snapshot.Pods[1].OwnerReferences, s.snapshot.Pods[1].Labels = nil, map[string]string{"app": "web"}
			},
			want: 0, mention: "b-new is not the set's: rollout.Claim picks",
		},
		{
			name: "pod of another namespace", why: "likewise", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Pods[1].Namespace = "web" }, want: 0, mention: "pod web/b-new is not the set's",
		},
		{
			name: "nil revision", why: "Plan returns an error", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Revisions[1] = nil }, want: 0, mention: "snapshot.Revisions[1]: must not be nil",
		},
		{
			name: "revision without a name", why: "no action can name it", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Revisions[1].Name = "" }, want: 0, mention: "snapshot.Revisions[1]: must have a name",
		},
		{
			name: "two revisions of one name", why: "an action would mean both", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Revisions[1].Name = "agent-stale" }, want: 0, mention: `one revision named "agent-stale"`,
		},
		{
			name: "several mistakes", why: "all are reported at once", scene: handSteady,
			plant: func(s *handmade) { s.snapshot.Now = time.Time{}; s.snapshot.Pods[0] = nil; s.snapshot.Nodes[0] = nil },
			want:  0, mention: "snapshot.Nodes[0]",
		},
	})
}

func TestVerifyDecisions(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "a node without a decision", why: "each node has exactly one", scene: handSteady,
			plant: func(s *handmade) { s.plan.Decisions = s.plan.Decisions[:1]; s.recount(); s.plan.Budget.Desired = 2 },
			want:  12, mention: "node b: 0 decisions about the node, right are 1",
		},
		{
			name: "a node with two decisions", why: "each node has exactly one", scene: handSteady,
			plant: func(s *handmade) {
				twin := s.plan.Decisions[1]
				twin.Facts = 0
				s.plan.Decisions = append(s.plan.Decisions, twin)
			},
			want: 12, mention: "node b: 2 decisions about the node",
		},
		{
			name: "decisions out of order", why: "nodes ascend by name", scene: handSteady,
			plant: func(s *handmade) {
				d := s.plan.Decisions
				d[0], d[1] = d[1], d[0]
			},
			want: 12, mention: `decision 1 comes after one about node "b"`,
		},
		{
			name: "a stray before the nodes", why: "stray pods come last", scene: handStrays,
			plant: func(s *handmade) {
				d := s.plan.Decisions
				s.plan.Decisions = append([]rollout.Decision{d[4]}, append(d[:4:4], d[5:]...)...)
			},
			want: 12, mention: "node a: decision 1 comes after",
		},
		{
			name: "strays out of order", why: "stray pods ascend by node and name", scene: handStrays,
			plant: func(s *handmade) {
				d := s.plan.Decisions
				d[5], d[6] = d[6], d[5]
			},
			want: 12, mention: `after one about node "gone", pod "q"`,
		},
		{
			name: "a stray without a decision", why: "each stray pod has exactly one", scene: handStrays,
			plant: func(s *handmade) { s.plan.Decisions = s.plan.Decisions[:6] }, want: 12, mention: "0 decisions about stray pod q",
		},
		{
			name: "a decision about nothing", why: "the node is not in the snapshot", scene: handSteady,
			plant: func(s *handmade) {
				s.plan.Decisions = append(s.plan.Decisions, rollout.Decision{
					Node: "z", Pod: "z-1", State: rollout.StateVanished, Reason: rollout.ReasonVanished,
				})
			},
			want: 12, mention: "node z: 1 decisions about stray pod z-1, right are 0",
		},
		{
			name: "no reason", why: "each decision has one", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Reason = rollout.ReasonNone }, want: 12, mention: "without a known reason (code 0)",
		},
		{
			name: "unknown reason", why: "codes are declared ones", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Reason = rollout.ReasonDeparting + 1 }, want: 12, mention: "without a known reason",
		},
		{
			name: "unknown state", why: "codes are declared ones", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").State = rollout.StateUnattributed + 1 }, want: 12, mention: "unknown code", raw: true,
		},
		{
			name: "unknown target", why: "codes are declared ones", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Target = rollout.TargetHeld + 1 }, want: 12, mention: "unknown code", raw: true,
		},
		{
			name: "unknown verb", why: "codes are declared ones", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Verb = rollout.VerbSurge + 1 }, want: 12, mention: "unknown code", raw: true,
		},
		{
			name: "unknown limit", why: "codes are declared ones", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Limit = rollout.LimitDomain + 1 }, want: 12, mention: "unknown code", raw: true,
		},
		{
			name: "a node in the state of a vanished one", why: "it is in the snapshot", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").State = rollout.StateVanished }, want: 12, mention: "state vanished, which such an owner cannot have", raw: true,
		},
		{
			name: "a node in the state of no node", why: "it is in the snapshot", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").State = rollout.StateUnattributed }, want: 12, mention: "state unattributed, which such an owner cannot have", raw: true,
		},
		{
			name: "a stray in the state of a node", why: "its node is gone", scene: handStrays,
			plant: func(s *handmade) { s.plan.Decisions[6].State = rollout.StateUnattributed }, want: 12, mention: "node gone: decision with state unattributed", raw: true,
		},
		{
			name: "an unattributable pod called vanished", why: "it never had a node", scene: handStrays,
			plant: func(s *handmade) { s.plan.Decisions[4].State = rollout.StateVanished }, want: 12, mention: "state vanished", raw: true,
		},
		{
			name: "wrong fact", why: "S1: the pod is Ready", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Facts &^= status.Ready | status.Available; s.recount() },
			want:  12, mention: "node a: S1: facts are desired|present|updated, right are desired|present|ready|available|updated",
		},
		{
			name: "facts about a stray", why: "S1 counts by node", scene: handStrays,
			plant: func(s *handmade) { s.plan.Decisions[6].Facts = status.Present; s.recount() }, want: 12, mention: "about stray pod q",
		},
		{
			name: "wrong placement", why: "P2: nothing keeps the pod away", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Placement.Outcome = placement.Keep }, want: 12, mention: "placement is keep, right is run",
		},
	})
}

func TestVerifyCounters(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "available that no decision knows", why: "counters are derived from the decisions", scene: handRolling,
			plant: func(s *handmade) { s.plan.Status.Available--; s.plan.Status.Unavailable++ },
			want:  12, mention: "status.available is 2, the facts of the decisions give 3, the snapshot gives 3",
		},
		{
			name: "counters of wrong facts", why: "S1: the snapshot counts, whatever the decisions say", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Facts &^= status.Ready | status.Available; s.recount() },
			want:  12, mention: "status.ready is 1, the facts of the decisions give 1, the snapshot gives 2",
		},
		{
			name: "counters against their order", why: "S1: available is at most ready", scene: handRolling,
			plant: func(s *handmade) { s.plan.Status.Ready = 2 }, want: 12, mention: "available 3 <= ready 2",
		},
		{
			name: "current above desired", why: "S1: current is at most desired", scene: handRolling,
			plant: func(s *handmade) { s.plan.Status.Current = 5 }, want: 12, mention: "current 5 <= desired 4",
		},
		{
			name: "unavailable is not the difference", why: "S1: desired - available", scene: handRolling,
			plant: func(s *handmade) { s.plan.Status.Unavailable = 0 }, want: 12, mention: "right is desired 4 - available 3",
		},
		{
			name: "updated", why: "one node is at the update revision", scene: handRolling,
			plant: func(s *handmade) { s.plan.Status.Updated = 2 }, want: 12, mention: "status.updated is 2",
		},
		{
			name: "misscheduled", why: "all pods are where they belong", scene: handRolling,
			plant: func(s *handmade) { s.plan.Status.Misscheduled = 1 }, want: 12, mention: "status.misscheduled is 1",
		},
		{
			name: "generation", why: "the plan is for generation 7", scene: handSteady,
			plant: func(s *handmade) { s.plan.Status.ObservedGeneration = 6 }, want: 12, mention: "status.observedGeneration is 6, right is 7",
		},
		{
			name: "disruptions allowed", why: "S4: maxUnavailable - unavailable", scene: handSteady,
			plant: func(s *handmade) { s.plan.Status.DisruptionsAllowed = 0 }, want: 12, mention: "status.disruptionsAllowed is 0, right is 1",
		},
		{
			name: "budget: desired", why: "two nodes are to run the pod", scene: handSteady,
			plant: func(s *handmade) { s.plan.Budget.Desired = 1 }, want: 12, mention: "budget.desired is 1, right is 2",
		},
		{
			name: "budget: maxUnavailable", why: "the spec says 1", scene: handSteady,
			plant: func(s *handmade) { s.plan.Budget.MaxUnavailable = 2 }, want: 12, mention: "budget.maxUnavailable is 2, right is 1",
		},
		{
			name: "budget: unavailable", why: "none is", scene: handSteady,
			plant: func(s *handmade) { s.plan.Budget.Unavailable = 1 }, want: 12, mention: "budget.unavailable is 1, right is 0",
		},
		{
			name: "budget: maxSurge", why: "the spec says 2", scene: handSurging,
			plant: func(s *handmade) { s.plan.Budget.MaxSurge = 1 }, want: 12, mention: "budget.maxSurge is 1, right is 2",
		},
		{
			name: "budget: surging", why: "c and d hold a place", scene: handSurging,
			plant: func(s *handmade) { s.plan.Budget.Surging = 1 }, want: 12, mention: "budget.surging is 1, right is 2",
		},
		{
			name: "budget: burst", why: "250 by default", scene: handSteady,
			plant: func(s *handmade) { s.plan.Budget.Burst = 1 }, want: 12, mention: "budget.burst is 1, right is 250",
		},
		{
			name: "the old revision as the update revision", why: "R3: it holds another template", scene: handSteady,
			plant: func(s *handmade) { s.plan.Status.UpdateRevision = staleHash }, want: 12, mention: `status.updateRevision is "stale"`,
		},
		{
			name: "a duplicate as the update revision", why: "R3: the highest is kept",
			scene: func() *handmade {
				s := handSteady()
				s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("twin", 1, s.spec.Template))
				return s
			},
			plant: func(s *handmade) { s.plan.Status.UpdateRevision = "twin" }, want: 12, mention: `right is the newest revision that holds the template: ["fresh"]`,
		},
		{
			name: "a duplicate that comes first as the update revision", why: "R3: the highest is kept, in whatever order they are",
			scene: func() *handmade {
				s := handSteady()
				s.snapshot.Revisions = append([]*appsv1.ControllerRevision{handRevision("twin", 1, s.spec.Template)}, s.snapshot.Revisions...)
				return s
			},
			plant: func(s *handmade) { s.plan.Status.UpdateRevision = "twin" }, want: 12, mention: `right is the newest revision that holds the template: ["fresh"]`,
		},
	})
}
