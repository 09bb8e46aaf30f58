package verify_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// In these tests a plan that was made for one world is checked against another world, in which it is wrong. All else in the plan
// stays right.

func TestVerifyCanaryNodes(t *testing.T) {
	twoNodes := handTrial(handTrying(func(o *canary.Options) { o.Replicas = new(intstr.FromInt32(2)) }))
	chosen := handFleet(handWithTrial, handPods("available", "a-old", "b-old", "c-old"), handRecorded(func(r *canary.Record) {
		*r = canary.Record{Revision: "other", Nodes: []string{"b"}}
	}))
	resting := handTrial(handTrying(func(o *canary.Options) { o.Commands.Pause = canary.Any }))
	runViolations(t, []violationRow{
		{
			name: "a node that the canary's selector leaves out", why: "C1", scene: handTrial(),
			plant: both(handTrying(func(o *canary.Options) {
				o.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: "bad", Operator: metav1.LabelSelectorOpDoesNotExist,
				}}}
			}), func(s *handmade) { s.snapshot.Nodes[0].Labels["bad"] = "yes" }),
			want: 6, mention: "node a: C1: canary node that does not run the pod",
		},
		{
			name: "a node that the strategy's selector leaves out", why: "T3", scene: handTrial(handSelecting("a", "b")),
			plant: func(s *handmade) { delete(s.snapshot.Nodes[0].Labels, "canary") }, want: 6, mention: "node a: C1: canary node that does not run",
		},
		{
			name: "too many", why: "C1", scene: twoNodes,
			plant: both(handTrying(func(o *canary.Options) { o.Replicas = nil }), func(s *handmade) { s.plan.Canary.Wanted = 1 }),
			want:  6, mention: "C1: 2 canary nodes, right are at most 1",
		},
		{
			name: "too few", why: "C1", scene: resting,
			plant: func(s *handmade) {
				s.plan.Canary.Nodes, s.plan.Memory.Canary.Nodes, s.decision("a").Canary = nil, nil, false
				s.plan.Memory.Canary.Elapsed = 0
				s.pod("a-new").Labels[rollout.CanaryLabel] = ""
				s.snapshot.Memory.Canary.Nodes = nil
			},
			want: 12, mention: "C1: 0 canary nodes, right are 1",
		},
		{
			name: "another number", why: "C1", scene: handTrial(), plant: func(s *handmade) { s.plan.Canary.Wanted = 2 },
			want: 12, mention: "C1: 2 canary nodes are wanted, right are 1",
		},
		{
			name: "not in order", why: "C1", scene: twoNodes, plant: func(s *handmade) {
				s.plan.Canary.Nodes = []string{"b", "a"}
				s.plan.Memory.Canary.Nodes = s.plan.Canary.Nodes
			},
			want: 12, mention: "C1: canary node after b",
		},
		{
			name: "a node that was chosen is given up", why: "C1: it stays for the next template", scene: chosen,
			plant: handRecorded(func(r *canary.Record) { r.Nodes = []string{"c"} }), want: 6, mention: "node c: C1: a canary node that was chosen before",
		},
		{
			name: "others than those that were chosen", why: "C1: enough of them are fit", scene: chosen,
			plant: handRecorded(func(r *canary.Record) { r.Nodes = []string{"a", "c"} }), want: 6, mention: "C1: only 0 of 1 canary nodes were chosen before",
		},
		{
			name: "another than the label tells", why: "C1: it tells which was chosen, if the memory does not", scene: handFleet(handWithTrial,
				handPods("available", "a-new", "b-new", "c-old"), handLabelled("b-new"), handForgotten),
			plant: both(handLabelled("a-new"), onPods(func(p *corev1.Pod) { delete(p.Labels, rollout.CanaryLabel) }, "b-new")), want: 6,
			mention: "node a: C1: a canary node that was chosen before",
		},
		{
			name: "without a canary", why: "nothing is on trial", scene: handFleet(handPods("available", "a-new")),
			plant: func(s *handmade) { s.plan.Canary.Nodes = []string{"a"} }, want: 12, mention: "the spec asks for none",
		},
		{
			name: "after a fail", why: "nothing is on trial", scene: handRejected(),
			plant: func(s *handmade) { s.plan.Canary.Nodes = []string{"a"} }, want: 12, mention: "although nothing is on trial",
		},
		{
			name: "a decision that does not know", why: "C1", scene: handTrial(),
			plant: func(s *handmade) { s.decision("a").Canary = false }, want: 12, mention: "node a: C1: canary is false, right is true",
		},
		{
			name: "an unknown phase", why: "codes are declared ones", scene: handTrial(),
			plant: func(s *handmade) { s.plan.Canary.Phase = canary.Failed + 1 }, want: 12, mention: "unknown phase (code 4)",
		},
	})
}

func TestVerifyPromotion(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "before its time", why: "C2", scene: handPassed(),
			plant: handRecorded(func(r *canary.Record) { r.Elapsed = 9*time.Minute - 1 }), want: 6, mention: "the clock stands at 9m59.999999999s of 10m0s",
		},
		{
			name: "of another revision's canary", why: "C2: the clock begins with each", scene: handPassed(),
			plant: handRecorded(func(r *canary.Record) { r.Revision = "other" }), want: 6, mention: "the clock stands at 0s of 10m0s",
		},
		{
			name: "with a node that joins", why: "C2: the clock begins anew", scene: handPassed(),
			plant: handRecorded(func(r *canary.Record) { r.Nodes = nil }), want: 6, mention: "the clock stands at 0s",
		},
		{
			name: "with a lost memory", why: "C6: the clock begins anew", scene: handPassed(),
			plant: func(s *handmade) { s.snapshot.Memory.Version = 0 }, want: 6, mention: "the clock stands at 0s",
		},
		{
			name: "in mode manual", why: "C2: only by command", scene: handPassed(),
			plant: handTrying(func(o *canary.Options) { o.Mode = canary.Manual }), want: 6, mention: "validation is manual",
		},
		{
			name: "while paused", why: "C2", scene: handPassed(),
			plant: handStrategy(func(s *rollout.Strategy) { s.Paused = true }), want: 6, mention: "the set is paused or frozen",
		},
		{
			name: "while frozen", why: "C2", scene: handPassed(),
			plant: handStrategy(func(s *rollout.Strategy) { s.Frozen = true }),
			want:  6, mention: "the set is paused or frozen",
		},
		{
			name: "paused by command", why: "C5", scene: handPassed(),
			plant: handTrying(func(o *canary.Options) { o.Commands.Pause = freshHash }), want: 6, mention: "it is paused by command",
		},
		{
			name: "paused by itself", why: "C3: until somebody unpauses it", scene: handPassed(),
			plant: handRecorded(func(r *canary.Record) { r.Pause = &canary.Finding{Phase: canary.Paused} }), want: 6, mention: "nobody has unpaused it",
		},
		{
			name: "without a node", why: "C1: nothing is promoted", scene: handPassed(),
			plant: handTrying(func(o *canary.Options) {
				o.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"no": "where"}}
			}),
			want: 6, mention: "there is no canary node",
		},
		{
			name: "before all hold it", why: "C2", scene: handFleet(handWithTrial, handPods("available", "a-new", "b-old"),
				partitionOf("1"), handRecorded(func(r *canary.Record) { r.Elapsed = 10 * time.Minute })),
			plant: handTrying(func(o *canary.Options) { o.Replicas = new(intstr.FromInt32(2)) }), want: 6, mention: "not every canary node holds an available pod",
		},
		{
			name: "before one that was chosen holds it", why: "C1: that one stays, whichever node joins", scene: handFleet(handWithTrial,
				handPods("available", "a-new", "b-new"), handPods("unready", "c-new"),
				handTrying(func(o *canary.Options) {
					o.Replicas, o.Duration, o.NoRestartsDuration = new(intstr.FromInt32(2)), new(time.Duration), new(time.Duration)
				}),
				handRecorded(func(r *canary.Record) { r.Nodes = []string{"a", "b"} })),
			plant: handRecorded(func(r *canary.Record) { r.Nodes = []string{"c"} }), want: 6, mention: "not every canary node holds an available pod",
		},
		{
			name: "after a restart", why: "C2", scene: handPassed(),
			plant: onPods(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1, LastTerminationState: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(handNow().Add(-4 * time.Minute))},
				}}}
			}, "a-new"),
			want: 6, mention: "restarted, failed or was evicted less than 5m0s ago",
		},
		{
			name: "after a start that tells of a restart", why: "C2", scene: handPassed(),
			plant: onPods(func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1, State: corev1.ContainerState{
					Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(handNow().Add(-4 * time.Minute))},
				}}}
			}, "a-new"),
			want: 6, mention: "less than 5m0s ago",
		},
		{
			name: "after a start of what has ended again", why: "C2", scene: handPassed(),
			plant: onPods(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1, State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(handNow().Add(-4 * time.Minute))},
				}}}
			}, "a-new"),
			want: 6, mention: "less than 5m0s ago",
		},
		{
			name: "after a disturbance that is remembered", why: "C2", scene: handPassed(),
			plant: handRecorded(func(r *canary.Record) { r.Disturbed = handNow().Add(-5*time.Minute + 1) }), want: 6, mention: "less than 5m0s ago",
		},
		{
			name: "the validation was for another revision", why: "C5", scene: handTrial(partitionOf("4"),
				handTrying(func(o *canary.Options) { o.Commands.Validate = freshHash })),
			plant: both(handTrying(func(o *canary.Options) { o.Commands.Validate = "other" }), func(s *handmade) {
				s.plan.Canary.Stale = []string{"validate other"}
			}),
			want: 6, mention: "the clock stands at 3m0s",
		},
		{
			name: "after a fail", why: "C5: a failed revision is never promoted", scene: handTrial(partitionOf("4"),
				handTrying(func(o *canary.Options) { o.Commands.Validate = freshHash })),
			plant: handRecorded(func(r *canary.Record) { r.Verdict = &canary.Finding{Phase: canary.Failed} }), want: 6, mention: "right is Failed: that is on record",
		},
		{
			name: "given up as well", why: "C5: fail comes first", scene: handTrial(partitionOf("4"),
				handTrying(func(o *canary.Options) { o.Commands.Validate = freshHash })),
			plant: handTrying(func(o *canary.Options) { o.Commands.Fail = freshHash }), want: 6, mention: "right is Failed: by command",
		},
		{
			name: "and forgotten", why: "C6", scene: handPassed(), plant: func(s *handmade) { s.plan.Memory.Canary = canary.Record{} },
			want: 12, mention: "C6: memory forgets that the canary is Idle",
		},
		{
			name: "and not written down", why: "C6", scene: handPassed(), plant: func(s *handmade) { s.plan.Revisions = nil },
			want: 12, mention: "C6: nothing writes " + history.PromotedAnnotation,
		},
	})
}
