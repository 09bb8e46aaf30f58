package simulate_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// eventfulChronicles are chronicles of events in fleets of two nodes.
func eventfulChronicles() []chronicle {
	taint := corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoSchedule}
	labels := map[string]string{"x": "y"}
	short, long := simulate.Fixed(5*time.Second), simulate.Fixed(15*time.Second)
	same := rollouttest.Spec("agent")
	one := simulate.Pool{Name: "n", Nodes: 1}
	// each is a scenario in which one of the events happens every ten seconds.
	each := func(events ...simulate.Event) simulate.Scenario {
		for i := range events {
			events[i].At = time.Duration(i+1) * 10 * time.Second
		}
		return simulate.Scenario{Fleet: fleetOf(2), Spec: same, Events: events}
	}
	evicts := corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute}
	tolerant := func(s simulate.Scenario) simulate.Scenario {
		s.Spec = rollouttest.Spec("agent", rollouttest.Tolerating("ok", corev1.TaintEffectNoExecute))
		s.Fleet = fleetOf(2, rollouttest.Tolerating("ok", corev1.TaintEffectNoExecute))
		return s
	}
	const node = "n-00001"
	manual := []rollouttest.SpecOption{rollouttest.CanaryManual(), rollouttest.Canary("1")}
	return []chronicle{
		{
			name: "what ends by itself",
			why: `Each for 5 s. Only the drain deletes a pod, at 50 s, which is gone at 60 s; the new one is ready at 70 s.
				The node still has its image.`,
			scenario: each(
				simulate.Event{What: simulate.NodeNotReady, Node: node, For: short},
				simulate.Event{What: simulate.CordonNode, Node: node, For: short},
				simulate.Event{What: simulate.TaintNode, Node: node, Taint: taint, For: short},
				simulate.Event{What: simulate.LabelNode, Node: node, Labels: labels, For: short},
				simulate.Event{What: simulate.DrainNode, Node: node, For: short},
			),
			want: `
				10s EventHappened n-00001 NodeNotReady
				15s EventHappened n-00001 end of NodeNotReady
				20s EventHappened n-00001 CordonNode
				25s EventHappened n-00001 end of CordonNode
				30s EventHappened n-00001 TaintNode
				35s EventHappened n-00001 end of TaintNode
				40s EventHappened n-00001 LabelNode
				45s EventHappened n-00001 end of LabelNode
				50s EventHappened n-00001 DrainNode
				55s EventHappened n-00001 end of DrainNode
				1m0s PodCreated n-00001 Missing
			`,
			report: "done after 1m10s, 1 created, 10 calls",
		},
		{
			name: "what is undone before it ends",
			why: `Each would last 15 s, and another event undoes it after 10 s. Its end comes all the same, and changes
				nothing; that of the drain does not, as the node is gone by then. What ran on it is collected 20 s after that.`,
			scenario: each(
				simulate.Event{What: simulate.NodeNotReady, Node: node, For: long}, simulate.Event{What: simulate.NodeReady, Node: node},
				simulate.Event{What: simulate.CordonNode, Node: node, For: long}, simulate.Event{What: simulate.UncordonNode, Node: node},
				simulate.Event{What: simulate.TaintNode, Node: node, Taint: taint, For: long},
				simulate.Event{What: simulate.UntaintNode, Node: node, Taint: taint},
				simulate.Event{What: simulate.DrainNode, Node: node, For: long}, simulate.Event{What: simulate.RemoveNode, Node: node},
			),
			want: `
				10s EventHappened n-00001 NodeNotReady
				20s EventHappened n-00001 NodeReady
				25s EventHappened n-00001 end of NodeNotReady
				30s EventHappened n-00001 CordonNode
				40s EventHappened n-00001 UncordonNode
				45s EventHappened n-00001 end of CordonNode
				50s EventHappened n-00001 TaintNode
				1m0s EventHappened n-00001 UntaintNode
				1m5s EventHappened n-00001 end of TaintNode
				1m10s EventHappened n-00001 DrainNode
				1m20s EventHappened n-00001 RemoveNode
			`,
			report: "done after 1m40s, 7 calls",
		},
		{
			name: "what happens to pods",
			why: `The first pod that is evicted is deleted and replaced at once (M2), the one that is deleted by hand when
				it is gone. The second that is evicted crashed at 60 s: an ended pod is not started again. Deleting and evicting
				what is on its way out, or has ended, does nothing, nor does crashing what does not run.`,
			scenario: each(
				simulate.Event{What: simulate.EvictPod, Node: node}, simulate.Event{What: simulate.CrashPod, Node: node},
				simulate.Event{What: simulate.DeletePod, Node: "n-00000"}, simulate.Event{What: simulate.DeletePod, Node: node},
				simulate.Event{What: simulate.CrashPod, Node: node}, simulate.Event{What: simulate.CrashPod, Node: "n-00000"},
				simulate.Event{What: simulate.EvictPod, Node: "n-00000"},
			),
			want: `
				10s EventHappened n-00001 EvictPod
				10s PodDeleted n-00001 Failed
				10s PodCreated n-00001 Missing
				20s EventHappened n-00001 CrashPod
				30s EventHappened n-00000 DeletePod
				32s ContainerRestarted n-00001 main
				40s EventHappened n-00001 DeletePod
				40s PodCreated n-00000 Missing
				50s EventHappened n-00001 CrashPod
				50s PodCreated n-00001 Missing
				1m0s EventHappened n-00000 CrashPod
				1m10s EventHappened n-00000 EvictPod
				1m10s PodDeleted n-00000 Failed
				1m10s PodCreated n-00000 Missing
			`,
			report: "done after 1m20s, 4 created, 2 deleted, 20 calls, 1 restarts, 1 crashes",
		},
		{
			name: "what happens to all",
			why: `The same spec changes nothing. Nodes that join get pods, and a number is not used twice, though the node
				that had it is gone. A controller that crashes and is back at once does nothing, as there is nothing to do.`,
			scenario: each(
				simulate.Event{What: simulate.SetSpec, Spec: &same}, simulate.Event{What: simulate.AddNodes, Join: one},
				simulate.Event{What: simulate.RemoveNode, Node: "n-00002"}, simulate.Event{What: simulate.AddNodes, Join: one},
				simulate.Event{What: simulate.CrashController},
			),
			want: `
				10s EventHappened SetSpec
				20s EventHappened AddNodes 1 of pool n
				20s PodCreated n-00002 Missing
				21s ImagePulled n-00002 registry
				30s EventHappened n-00002 RemoveNode
				40s EventHappened AddNodes 1 of pool n
				40s PodCreated n-00003 Missing
				41s ImagePulled n-00003 registry
				50s EventHappened CrashController
				50s ControllerCrashed
				50s ControllerStarted
			`,
			report: "done after 50s, 2 created, 9 calls, 1 controller crashes",
		},
		{
			name: "a pod that crashes again and again",
			why: `It crashes at 5 s and is started 10 s later, and runs 2 s after that, at 17 s. At 15 s it does not run, so
				the second crash is at 25 s, and the pod is started 20 s later. It is ready at 54 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(1), Spec: same, Events: []simulate.Event{
				{At: 5 * time.Second, Every: simulate.Fixed(10 * time.Second), Until: 25 * time.Second, What: simulate.CrashPod},
			}},
			want: `
				5s EventHappened n-00000 CrashPod
				15s EventHappened n-00000 CrashPod
				17s ContainerRestarted n-00000 main
				25s EventHappened n-00000 CrashPod
				47s ContainerRestarted n-00000 main
			`,
			report: "done after 54s, 5 calls, 2 restarts, 2 crashes",
		},
		{
			name: "commands",
			why: `0 tries version 2 and has it at 20 s, and nothing goes on before somebody says so (C3), at 60 s. 1 follows
				until 80 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(2, manual...), Spec: second(manual...), Events: []simulate.Event{
				{At: time.Minute, What: simulate.GiveCommands, Commands: canary.Commands{Validate: rollouttest.Hash(second(manual...))}},
			}},
			want: `
				0s CanaryChanged Running Starting
				0s RevisionChanged
				0s PodDeleted n-00000 Outdated
				10s PodCreated n-00000 Missing
				11s ImagePulled n-00000 registry
				20s CanaryChanged Running AwaitingValidation
				1m0s EventHappened GiveCommands
				1m0s CanaryChanged Idle Validated
				1m0s RevisionChanged daemonplan.io/promoted=2026-01-01T12:01:00Z
				1m0s PodPatched n-00000 CanaryLabel
				1m0s PodDeleted n-00001 Outdated
				1m0s CanaryChanged Idle Stable
				1m10s PodCreated n-00001 Missing
				1m11s ImagePulled n-00001 registry
			`,
			report: "done after 1m20s, 2 created, 2 deleted, 1 patched, 17 calls",
		},
		{
			name: "taints that evict",
			why: `The pods tolerate the first taint and one that keeps new pods away only. At 30 s the node, not the planner, ends the one
				on 1: it is gone at 40 s. The taint goes at 45 s, and the next pod comes.`,
			scenario: tolerant(each(
				simulate.Event{What: simulate.TaintNode, Node: node, Taint: corev1.Taint{Key: "ok", Effect: corev1.TaintEffectNoExecute}},
				simulate.Event{What: simulate.TaintNode, Node: node, Taint: taint, For: short},
				simulate.Event{What: simulate.TaintNode, Node: node, Taint: evicts, For: long},
			)),
			want: `
				10s EventHappened n-00001 TaintNode
				20s EventHappened n-00001 TaintNode
				25s EventHappened n-00001 end of TaintNode
				30s EventHappened n-00001 TaintNode
				45s EventHappened n-00001 end of TaintNode
				45s PodCreated n-00001 Missing
			`,
			report: "done after 55s, 1 created, 9 calls",
		},
		{
			name: "back-offs after a long time",
			why: `Up since 17 s, the pod crashes at 616 s, a second too early for its first crash to be forgotten: 20 s, up at 638 s. It
				is forgotten 10 min later: 10 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(1), Spec: same, Events: []simulate.Event{
				{At: 5 * time.Second, What: simulate.CrashPod}, {At: 616 * time.Second, What: simulate.CrashPod},
				{At: 1238 * time.Second, What: simulate.CrashPod},
			}},
			want: `
				5s EventHappened n-00000 CrashPod
				17s ContainerRestarted n-00000 main
				10m16s EventHappened n-00000 CrashPod
				10m38s ContainerRestarted n-00000 main
				20m38s EventHappened n-00000 CrashPod
				20m50s ContainerRestarted n-00000 main
			`,
			report: "done after 20m57s, 7 calls, 3 restarts, 3 crashes",
		},
		{
			name: "a node that falls silent while it pulls",
			why: `The image is there at 21 s, and nobody hears of it before 30 s: the pod is ready at 39 s. Two events make the node
				silent, and it is back when both are over.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(1), Spec: second(),
				Model: simulate.Model{Registry: simulate.Registry{NodeBandwidth: 10_000_000, Size: 100_000_000}},
				Events: []simulate.Event{
					{At: 15 * time.Second, What: simulate.NodeNotReady, For: long},
					{At: 18 * time.Second, What: simulate.NodeNotReady, For: short},
				},
			},
			want: `
				0s RevisionChanged
				0s PodDeleted n-00000 Outdated
				10s PodCreated n-00000 Missing
				15s EventHappened n-00000 NodeNotReady
				18s EventHappened n-00000 NodeNotReady
				21s ImagePulled n-00000 registry
				23s EventHappened n-00000 end of NodeNotReady
				30s EventHappened n-00000 end of NodeNotReady
			`,
			report: "done after 39s, 1 created, 1 deleted, 10 calls",
		},
	}
}
