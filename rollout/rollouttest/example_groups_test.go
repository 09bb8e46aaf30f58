package rollouttest_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// What happens next on two nodes, of which one has a pod that failed?
func Example() {
	old := rollouttest.Spec("agent")
	spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	snapshot := rollout.Snapshot{
		Now:   rollouttest.Noon(),
		Nodes: rollouttest.Nodes("a", "b"),
		Pods: []*corev1.Pod{
			rollouttest.Pod("agent-a", rollouttest.Of(old), rollouttest.OnNode("a")),
			rollouttest.Pod("agent-b", rollouttest.Of(old), rollouttest.OnNode("b"), rollouttest.Failed()),
		},
		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)},
	}
	planner, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range snapshot.Nodes {
		fmt.Println(plan.Explain(node.Name))
	}
	// Output:
	// a: outdated; waits: its pod agent-a is outdated, but maxUnavailable 1 is used up by b
	// b: broken; replace pod agent-b: the outdated pod has failed, and the update revision may mend it; counts against maxUnavailable
}

// Specs come one from another, and what no option does a function does.
func Example_specs() {
	old := rollouttest.Spec("agent", rollouttest.MaxUnavailable("10%"), rollouttest.Requests(corev1.ResourceCPU, "100m"))
	spec := rollouttest.Changed(old,
		rollouttest.Image("agent:v2"),
		rollouttest.Canary("1"), rollouttest.CanaryFor(10*time.Minute, time.Minute),
		func(s *rollout.Spec) { s.Template.Spec.HostNetwork = true },
	)
	_, err := rollout.New(spec)
	fmt.Println(spec.Strategy.MaxUnavailable, spec.Template.Spec.Containers[0].Image, err)
	fmt.Println(old.Strategy.Canary, old.Template.Spec.Containers[0].Image)
	// Output:
	// 10% agent:v2 <nil>
	// <nil> agent:v1
}

// Nodes on which a daemon pod is to run, may stay, or must not be.
func Example_nodes() {
	spec := rollouttest.Spec("agent", rollouttest.TemplateNodeSelector("disk", "ssd"))
	ssd := rollouttest.Label("disk", "ssd")
	outcome(spec, rollouttest.Node("a", ssd))
	outcome(spec, rollouttest.Node("b", ssd, rollouttest.NotReady()))
	outcome(spec, rollouttest.Node("c", ssd, rollouttest.Taint("gpu", "yes", corev1.TaintEffectNoExecute)))
	outcome(spec, rollouttest.Node("d"))
	// Output:
	// run: node is eligible
	// keep: taint node.kubernetes.io/not-ready:NoSchedule is not tolerated
	// leave: taint gpu=yes:NoExecute is not tolerated
	// leave: label disk is not "ssd"
}

// Pods say whose they are, where, and how they are.
func Example_pods() {
	spec := rollouttest.Spec("agent")
	of, onNode := rollouttest.Of(spec), rollouttest.OnNode("a")
	show(rollouttest.Pod("healthy", of, onNode))
	show(rollouttest.Pod("unready", of, onNode, rollouttest.Unready()))
	show(rollouttest.Pod("crashing", of, onNode,
		rollouttest.Restarted(3, rollouttest.Noon(), "OOMKilled"), rollouttest.WaitingFor("CrashLoopBackOff")))
	show(rollouttest.Pod("leaving", of, onNode, rollouttest.Terminating(rollouttest.Noon())))
	show(rollouttest.Pod("created", of, rollouttest.PinnedTo("a")))
	// Output:
	// healthy node="a" bound=true phase=Running ready="True" terminating=false
	// unready node="a" bound=true phase=Running ready="False" terminating=false
	// crashing node="a" bound=true phase=Running ready="False" terminating=false
	// leaving node="a" bound=true phase=Running ready="True" terminating=true
	// created node="a" bound=false phase=Pending ready="" terminating=false
}

// A fleet of two pools, of which one is tainted.
func Example_fleets() {
	fleet := rollouttest.Fleet(4, rollouttest.InPool("web"), rollouttest.InZones("a", "b"),
		rollouttest.And(2, "gpu"), rollouttest.Tainted("gpu", "yes", corev1.TaintEffectNoSchedule),
		rollouttest.Running(rollouttest.Spec("agent")),
	)
	snapshot, err := fleet.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pod := range snapshot.Pods {
		fmt.Println(pod.Spec.NodeName)
	}
	fmt.Println(len(snapshot.Nodes), "nodes")
	// Output:
	// web-00000
	// web-00001
	// web-00002
	// web-00003
	// 6 nodes
}

// What one's own team promises, beside the promises that there are.
func Example_policies() {
	patient := rollouttest.EveryStep("no plan deletes more than one pod", func(_ *simulate.Simulation, step *simulate.Step) error {
		if n := len(step.Plan.Deletes); n > 1 {
			return &rollouttest.BreachError{What: fmt.Sprintf("%d pods are deleted", n)}
		}
		return nil
	})
	rollouttest.Simulate(reporter{}, threeZones(), // In a test this is the *testing.T.
		patient,
		rollouttest.NeverMoreThan(1, rollouttest.Unavailable()),
		rollouttest.EndsAtUpdateRevision(),
		rollouttest.NoPodRecreatedTwice(),
	)
	fmt.Println("kept, or it would say so")
	// Output: kept, or it would say so
}
