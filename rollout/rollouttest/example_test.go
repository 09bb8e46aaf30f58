package rollouttest_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// upgrade is a fleet of two nodes whose set has got another image. The options are those of the old spec and of the new one.
func upgrade(options ...rollouttest.SpecOption) simulate.Case {
	old := rollouttest.Spec("agent", options...)
	return simulate.Case{Spec: rollouttest.Changed(old, rollouttest.Image("agent:v2")), Snapshot: rollout.Snapshot{
		Now:   rollouttest.Noon(),
		Nodes: rollouttest.Nodes("a", "b"),
		Pods: []*corev1.Pod{
			rollouttest.Pod("agent-a", rollouttest.Of(old), rollouttest.OnNode("a")),
			rollouttest.Pod("agent-b", rollouttest.Of(old), rollouttest.OnNode("b")),
		},
		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)},
	}}
}

// plan makes one plan and shows its actions.
func plan(s simulate.Case) {
	planner, err := rollout.New(s.Spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := planner.Plan(s.Snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range p.Deletes {
		fmt.Println("delete", a.Pod, a.Reason)
	}
	for _, a := range p.Creates {
		fmt.Println("create on", a.Node, a.Reason)
	}
	if len(p.Deletes)+len(p.Creates) == 0 {
		fmt.Println("nothing", p.Status.State)
	}
}

// reporter is what *testing.T is in a test.
type reporter struct{}

func (reporter) Helper()                           {}
func (reporter) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (reporter) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func planner(spec rollout.Spec) simulate.PlanFunc {
	p, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
	}
	return p.Plan
}

func ExampleSpec() {
	spec := rollouttest.Spec("agent", rollouttest.MaxUnavailable("10%"))
	fmt.Println(spec.Namespace, spec.Name, spec.Template.Spec.Containers[0].Image, spec.Strategy.MaxUnavailable)
	// Output: default agent agent:v1 10%
}

func ExampleNoon() {
	fmt.Println(rollouttest.Noon())
	// Output: 2026-01-01 12:00:00 +0000 UTC
}

func ExampleImage() {
	a := rollouttest.Hash(rollouttest.Spec("agent"))
	b := rollouttest.Hash(rollouttest.Spec("agent", rollouttest.Image("agent:v2")))
	fmt.Println(a == b)
	// Output: false
}

func ExampleMaxUnavailable() {
	plan(upgrade(rollouttest.MaxUnavailable("100%")))
	// Output:
	// delete agent-b Outdated
	// delete agent-a Outdated
}

func ExampleMaxSurge() {
	plan(upgrade(rollouttest.MaxSurge("1")))
	// Output: create on b Outdated
}

func ExampleOnDelete() {
	plan(upgrade(rollouttest.OnDelete()))
	// Output: nothing Running
}

func ExamplePaused() {
	plan(upgrade(rollouttest.Paused()))
	// Output: nothing Paused
}

func ExampleFrozen() {
	plan(upgrade(rollouttest.Frozen()))
	// Output: nothing Frozen
}

func ExampleMinReadySeconds() {
	spec := rollouttest.Spec("agent", rollouttest.MinReadySeconds(30))
	fmt.Println(spec.MinReadySeconds)
	// Output: 30
}

func ExampleBurst() {
	plan(upgrade(rollouttest.MaxUnavailable("100%"), rollouttest.Burst("1")))
	// Output: delete agent-b Outdated
}

func ExampleHistoryLimit() {
	spec := rollouttest.Spec("agent", rollouttest.HistoryLimit(2))
	fmt.Println(*spec.RevisionHistoryLimit)
	// Output: 2
}

// outcome says what a node is to the pods of a spec.
func outcome(spec rollout.Spec, node *corev1.Node) {
	matcher, err := placement.Compile(&spec.Template)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := matcher.Evaluate(node)
	fmt.Printf("%s: %s\n", v.Outcome, v)
}

func ExampleTemplateNodeSelector() {
	spec := rollouttest.Spec("agent", rollouttest.TemplateNodeSelector("zone", "east"))
	outcome(spec, rollouttest.Node("a", rollouttest.Label("zone", "west")))
	// Output: leave: label zone is not "east"
}

func ExampleAffinity() {
	spec := rollouttest.Spec("agent", rollouttest.Affinity("zone", "east", "west"))
	outcome(spec, rollouttest.Node("a", rollouttest.Label("zone", "west")))
	// Output: run: node is eligible
}

func ExampleTolerating() {
	spec := rollouttest.Spec("agent", rollouttest.Tolerating("gpu", corev1.TaintEffectNoSchedule))
	outcome(spec, rollouttest.Node("a", rollouttest.Taint("gpu", "yes", corev1.TaintEffectNoSchedule)))
	// Output: run: node is eligible
}

func ExampleNode() {
	node := rollouttest.Node("a", rollouttest.Label("zone", "east"))
	fmt.Println(node.Name, node.UID, node.Labels)
	// Output: a node-a map[kubernetes.io/hostname:a zone:east]
}

func ExampleNodes() {
	for _, node := range rollouttest.Nodes("a", "b") {
		fmt.Println(node.Name)
	}
	// Output:
	// a
	// b
}

func ExampleLabel() {
	fmt.Println(rollouttest.Node("a", rollouttest.Label("zone", "east")).Labels["zone"])
	// Output: east
}

func ExampleTaint() {
	outcome(rollouttest.Spec("agent"), rollouttest.Node("a", rollouttest.Taint("gpu", "yes", corev1.TaintEffectNoExecute)))
	// Output: leave: taint gpu=yes:NoExecute is not tolerated
}

func ExampleCordoned() {
	outcome(rollouttest.Spec("agent"), rollouttest.Node("a", rollouttest.Cordoned()))
	// Output: run: node is eligible
}

func ExampleNotReady() {
	outcome(rollouttest.Spec("agent"), rollouttest.Node("a", rollouttest.NotReady()))
	// Output: keep: taint node.kubernetes.io/not-ready:NoSchedule is not tolerated
}

func ExampleUnreachable() {
	outcome(rollouttest.Spec("agent"), rollouttest.Node("a", rollouttest.Unreachable()))
	// Output: keep: taint node.kubernetes.io/unreachable:NoSchedule is not tolerated
}

// show writes a pod in one line.
func show(pod *corev1.Pod) {
	node, _ := placement.TargetNode(pod)
	var ready corev1.ConditionStatus
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			ready = c.Status
		}
	}
	fmt.Printf("%s node=%q bound=%t phase=%s ready=%q terminating=%t\n",
		pod.Name, node, pod.Spec.NodeName != "", pod.Status.Phase, ready, pod.DeletionTimestamp != nil)
}

func ExamplePod() {
	show(rollouttest.Pod("agent-a", rollouttest.OnNode("a")))
	// Output: agent-a node="a" bound=true phase=Running ready="True" terminating=false
}

func ExampleOf() {
	spec := rollouttest.Spec("agent")
	claims, err := rollout.Claim(spec, []*corev1.Pod{
		rollouttest.Pod("agent-a", rollouttest.Of(spec)),
		rollouttest.Pod("stranger"),
	})
	fmt.Println(len(claims.Pods), claims.Pods[0].Name, err)
	// Output: 1 agent-a <nil>
}

func ExampleOnNode() {
	show(rollouttest.Pod("agent-a", rollouttest.OnNode("a")))
	// Output: agent-a node="a" bound=true phase=Running ready="True" terminating=false
}

func ExamplePinnedTo() {
	show(rollouttest.Pod("agent-a", rollouttest.PinnedTo("a")))
	// Output: agent-a node="a" bound=false phase=Pending ready="" terminating=false
}

func ExampleAtRevision() {
	fmt.Println(rollouttest.Pod("agent-a", rollouttest.AtRevision("5f46b89dcc")).Labels)
	// Output: map[controller-revision-hash:5f46b89dcc]
}

func ExamplePodLabel() {
	fmt.Println(rollouttest.Pod("agent-a", rollouttest.PodLabel("app", "agent")).Labels)
	// Output: map[app:agent]
}

func ExampleCreated() {
	pod := rollouttest.Pod("agent-a", rollouttest.Created(rollouttest.Noon()))
	fmt.Println(pod.CreationTimestamp.UTC().Format(time.TimeOnly))
	// Output: 12:00:00
}

func ExampleReady() {
	pod := rollouttest.Pod("agent-a", rollouttest.Ready(rollouttest.Noon()))
	fmt.Println(pod.Status.Conditions[0].LastTransitionTime.UTC().Format(time.TimeOnly))
	// Output: 12:00:00
}

func ExampleUnready() {
	show(rollouttest.Pod("agent-a", rollouttest.Unready()))
	// Output: agent-a node="" bound=false phase=Running ready="False" terminating=false
}

func ExamplePending() {
	show(rollouttest.Pod("agent-a", rollouttest.Pending()))
	// Output: agent-a node="" bound=false phase=Pending ready="" terminating=false
}

func ExampleFailed() {
	show(rollouttest.Pod("agent-a", rollouttest.Failed()))
	// Output: agent-a node="" bound=false phase=Failed ready="False" terminating=false
}

func ExampleSucceeded() {
	show(rollouttest.Pod("agent-a", rollouttest.Succeeded()))
	// Output: agent-a node="" bound=false phase=Succeeded ready="False" terminating=false
}

func ExampleTerminating() {
	pod := rollouttest.Pod("agent-a", rollouttest.Terminating(rollouttest.Noon()))
	fmt.Println(pod.DeletionTimestamp.UTC().Format(time.TimeOnly), *pod.DeletionGracePeriodSeconds)
	// Output: 12:00:30 30
}

func ExampleRevision() {
	spec := rollouttest.Spec("agent")
	revision := rollouttest.Revision(spec, 3)
	fmt.Println(revision.Revision, revision.Name == "agent-"+rollouttest.Hash(spec))
	// Output: 3 true
}

func ExampleHash() {
	spec := rollouttest.Spec("agent")
	pod := rollouttest.Pod("agent-a", rollouttest.Of(spec))
	fmt.Println(pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == rollouttest.Hash(spec))
	// Output: true
}

func ExampleAssertValid() {
	s := upgrade()
	p, err := planner(s.Spec)(s.Snapshot)
	if err != nil {
		fmt.Println(err)
	}
	rollouttest.AssertValid(reporter{}, s.Spec, s.Snapshot, p)
	fmt.Println("valid so far")
	// Output: valid so far
}
