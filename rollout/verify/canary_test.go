package verify_test

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

const olderHash = "older"

// handWithTrial adds a canary, and a revision older than the stable one, which is marked as promoted. The canary began 20 minutes
// ago on node a, and its clock shows 3 minutes.
func handWithTrial(s *handmade) {
	s.spec.Strategy.Canary = &canary.Options{}
	s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision(olderHash, 0, handTemplate("v0")))
	s.snapshot.Revisions[0].Annotations = map[string]string{history.PromotedAnnotation: "2026-01-01T00:00:00Z"}
	s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Canary: canary.Record{
		Revision: freshHash, Began: handNow().Add(-20 * time.Minute), Nodes: []string{"a"},
		Elapsed: 2 * time.Minute, Since: handNow().Add(-time.Minute),
	}}
	s.snapshot.Memory.Rollout = rollout.Record{Revision: freshHash, Began: handNow().Add(-20 * time.Minute)}
}

func handTrying(apply func(*canary.Options)) change {
	return func(s *handmade) { apply(s.spec.Strategy.Canary) }
}

func handRecorded(apply func(*canary.Record)) change {
	return func(s *handmade) { apply(&s.snapshot.Memory.Canary) }
}

func handLabelled(names ...string) change {
	return onPods(func(p *corev1.Pod) { p.Labels[rollout.CanaryLabel] = "true" }, names...)
}

// handTrial is in the middle of a canary on node a of four.
func handTrial(changes ...change) func() *handmade {
	fleet := []change{handWithTrial, handPods("available", "a-new", "b-old", "c-old", "d-old"), handLabelled("a-new")}
	return handFleet(append(fleet, changes...)...)
}

// handPassed is a canary on the only node. Its time is over.
func handPassed() func() *handmade {
	fleet := []change{handWithTrial, handPods("available", "a-new"), handRecorded(func(r *canary.Record) { r.Elapsed = 9 * time.Minute })}
	return handFleet(fleet...)
}

// handRejected is a canary that has failed on node a of four.
func handRejected(changes ...change) func() *handmade {
	return handTrial(append([]change{func(s *handmade) {
		s.snapshot.Revisions[1].Annotations = map[string]string{history.FailedAnnotation: "TooManyRestarts"}
	}}, changes...)...)
}

// handRestarted sets how often the only container of the pod a-new has restarted. The pod is younger than the canary.
func handRestarted(restarts int32) change {
	return onPods(func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(handNow().Add(-10 * time.Minute))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: restarts}}
	}, "a-new")
}

func handWaiting(reason string) change {
	const name = "a-new"
	return func(s *handmade) {
		handRestarted(0)(s)
		s.pod(name).Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
	}
}

// annotating adds an action that annotates a revision.
func (s *handmade) annotating(hash string, set map[string]string, remove ...string) {
	s.plan.Revisions = append(s.plan.Revisions, rollout.RevisionAction{
		Verb: rollout.AnnotateRevision, Name: "agent-" + hash, UID: types.UID("uid-agent-" + hash),
		Annotations: set, RemoveAnnotations: remove,
	})
}

func handMarkedBy(key, value string) change {
	return func(s *handmade) {
		annotations := map[string]string{key: value}
		maps.Copy(annotations, s.snapshot.Revisions[1].Annotations)
		s.snapshot.Revisions[1].Annotations = annotations
	}
}

func TestVerifyAcceptsTrials(t *testing.T) {
	replicas := func(quantity string) change {
		return handTrying(func(o *canary.Options) { o.Replicas = new(intstr.Parse(quantity)) })
	}
	runAccepts(t, []acceptRow{
		{name: "in the middle", why: "nothing to do but to wait", scene: handTrial()},
		{name: "it has passed", why: "C2: ten minutes", scene: handPassed()},
		{name: "it has failed", why: "C7: all go back", scene: handRejected()},
		{name: "a percentage of less than a node", why: "C1: at least one", scene: handTrial(replicas("1%"))},
		{name: "a percentage that rounds up", why: "C1: 26% of 4 is 2", scene: handTrial(replicas("26%"))},
		{name: "all but one", why: "C1: 99% leaves one out", scene: handTrial(replicas("99%"))},
		{name: "all", why: "C1: 100% is meant", scene: handTrial(replicas("100%"))},
		{name: "more than there are", why: "C1: those there are", scene: handTrial(replicas("9"))},
		{name: "fewer than before", why: "C1: who is updated stays", scene: handTrial(handRecorded(func(r *canary.Record) {
			r.Nodes = []string{"a", "b", "c"}
		}))},
		{name: "a lost memory", why: "C6: the clock starts anew where the revision is", scene: handTrial(func(s *handmade) {
			s.snapshot.Memory = rollout.Memory{}
		})},
		{name: "a memory of another layout", why: "it counts as lost", scene: handTrial(func(s *handmade) { s.snapshot.Memory.Version = 99 })},
		{name: "the node of the canary is gone", why: "C1: another takes its place", scene: handTrial(handRecorded(func(r *canary.Record) {
			r.Nodes = []string{"z"}
		}))},
		{name: "the node of the canary was tainted", why: "C1: it may have been broken by the revision, and stays", scene: handFleet(handWithTrial,
			handPods("unready", "a-new"), handPods("available", "b-old", "c-old"), tainted("a"))},
		{name: "the node of the canary was tainted, and serves", why: "C1: it is replaced", scene: handTrial(tainted("a"))},
		{name: "the node of the canary was tainted before its turn", why: "C1: nothing of the revision has broken it", scene: handFleet(handWithTrial,
			handPods("unready", "a-old"), handPods("available", "b-old", "c-old"), tainted("a"))},
		{name: "the node of the canary was tainted, and is not ready", why: "C1: whatever its pod says", scene: handTrial(tainted("a"), handUnreachable("a"))},
		{name: "the node of the canary was tainted, serves, and has no pressure", why: "C1: only the condition Ready counts", scene: handTrial(tainted("a"),
			handNode("a", func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{
					{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				}
			}))},
		{name: "fewer are remembered than are wanted, and a pod is labelled elsewhere", why: "C1: what is remembered counts", scene: handTrial(
			replicas("2"), handLabelled("c-old"))},
		{name: "a new template", why: "C1: its canary begins on the same node", scene: handTrial(func(s *handmade) {
			s.spec.Template = handTemplate("v3")
		})},
		{name: "paused by command", why: "C7: who has it keeps it", scene: handTrial(handTrying(func(o *canary.Options) { o.Commands.Pause = canary.Any }))},
		{name: "a canary node that has lost its pod, paused", why: "C7: it comes back at the stable revision", scene: handTrial(
			handTrying(func(o *canary.Options) { o.Commands.Pause = canary.Any }), func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[1:] })},
		{name: "another that has lost its pod", why: "T6", scene: handTrial(func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[:3] })},
		{name: "the set is paused", why: "C7: so is the canary", scene: handTrial(handStrategy(func(s *rollout.Strategy) { s.Paused = true }))},
		{name: "the set is frozen", why: "T4", scene: handTrial(handStrategy(func(s *rollout.Strategy) { s.Frozen = true }))},
		{name: "with a partition", why: "C7: the canary node is updated first", scene: handFleet(handWithTrial,
			handPods("available", "a-old", "b-old", "c-old", "d-old"), partitionOf("3"))},
		{name: "a partition of all", why: "T2: the canary node is held too", scene: handFleet(handWithTrial,
			handPods("available", "a-old", "b-old", "c-old", "d-old"), partitionOf("100%"))},
		{name: "a failed canary with a partition", why: "C7: past T2", scene: handRejected(partitionOf("4"))},
		{name: "no restarts", why: "C3: a pod that does not come up pauses", scene: handTrial(handRestarted(3))},
		{name: "far too many restarts", why: "C4", scene: handTrial(handRestarted(6))},
		{name: "a pod that cannot start", why: "C3", scene: handTrial(handWaiting("ErrImagePull"))},
		{name: "a pod that is given time", why: "C3: maxSlowStartDuration", scene: handTrial(handWaiting("ErrImagePull"),
			handTrying(func(o *canary.Options) { o.AutoPause.MaxSlowStartDuration = new(time.Hour) }))},
		{name: "a pod that has had its time", why: "C3: maxSlowStartDuration", scene: handTrial(handWaiting("ContainerCreating"),
			handTrying(func(o *canary.Options) { o.AutoPause.MaxSlowStartDuration = new(time.Minute) }))},
		{name: "unpaused", why: "C3: it goes on, whatever the pods do", scene: handTrial(handRestarted(3),
			handTrying(func(o *canary.Options) { o.Commands.Unpause = freshHash }))},
		{name: "timed out", why: "C4", scene: handTrial(handTrying(func(o *canary.Options) { o.AutoFail.CanaryTimeout = new(15 * time.Minute) }))},
		{name: "about to time out", why: "C4: not yet", scene: handTrial(handTrying(func(o *canary.Options) { o.AutoFail.CanaryTimeout = new(20 * time.Minute) }))},
		{name: "validated", why: "C5: all go", scene: handTrial(handTrying(func(o *canary.Options) { o.Commands.Validate = "agent-" + freshHash }))},
		{name: "given up", why: "C5: all go back", scene: handTrial(handTrying(func(o *canary.Options) { o.Commands.Fail = freshHash }))},
		{name: "retried", why: "C5: the trial begins anew", scene: handRejected(handTrying(func(o *canary.Options) { o.Commands.Retry = freshHash + "/2" }))},
		{name: "retried before", why: "C5: once per value", scene: handRejected(handMarkedBy(history.RetriedAnnotation, freshHash),
			handTrying(func(o *canary.Options) { o.Commands.Retry = freshHash }))},
		{name: "commands for another revision", why: "C5: they are stale", scene: handTrial(handTrying(func(o *canary.Options) {
			o.Commands = canary.Commands{Pause: "x", Unpause: "x", Validate: "x", Fail: "x", Retry: "x/1"}
		}))},
		{name: "a label on another pod", why: "C1: it is taken off", scene: handTrial(handLabelled("b-old"))},
		{name: "a canary pod without its label", why: "C1: it gets it", scene: handTrial(onPods(func(p *corev1.Pod) {
			delete(p.Labels, rollout.CanaryLabel)
		}, "a-new"))},
		{name: "promoted before", why: "C6: a rollback needs no canary", scene: handTrial(handMarkedBy(history.PromotedAnnotation, "?"))},
		{name: "nothing is marked", why: "C6: the older one that runs is the stable one, and is marked", scene: handTrial(func(s *handmade) {
			s.snapshot.Revisions[0].Annotations = nil
		})},
		{name: "the canary was turned off", why: "the marks are kept up", scene: handTrial(func(s *handmade) { s.spec.Strategy.Canary = nil })},
		{name: "with surge", why: "B4 holds for canary nodes too", scene: handFleet(handWithTrial,
			handPods("available", "a-old", "b-old", "c-old"), func(s *handmade) {
				s.spec.Strategy.MaxUnavailable, s.spec.Strategy.MaxSurge = nil, new(intstr.FromInt32(1))
			})},
		{name: "a failed one, with surge", why: "C7 by way of B4", scene: handRejected(func(s *handmade) {
			s.spec.Strategy.MaxUnavailable, s.spec.Strategy.MaxSurge = nil, new(intstr.FromInt32(1))
		})},
		{name: "in place", why: "I1: the canary's pod is updated", scene: handFleet(handWithTrial,
			handPods("available", "a-old", "b-old"), inPlaceBy("InPlaceIfPossible"))},
		{name: "back in place", why: "C7 by way of I4", scene: handRejected(inPlaceBy("InPlaceIfPossible"))},
	})
}
