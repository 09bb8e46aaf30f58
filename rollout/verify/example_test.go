package verify_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// A guard checks each plan before it is executed. The planner's plan passes, and the same plan with one more delete does not.
func ExamplePlan() {
	spec := rollout.Spec{
		Name:     "agent",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "reg.example/agent:v2"}}},
		},
	}
	snapshot := rollout.Snapshot{Now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)}
	for _, node := range []string{"n1", "n2", "n3"} {
		snapshot.Nodes = append(snapshot.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		snapshot.Pods = append(snapshot.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "agent-" + node, UID: types.UID("uid-" + node),
				Labels: map[string]string{"app": "agent", appsv1.DefaultDaemonSetUniqueLabelKey: "old"},
			},
			Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
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
	fmt.Println("violations:", len(verify.Plan(spec, snapshot, &plan)))

	plan.Deletes = append(plan.Deletes, rollout.Delete{
		Node: "n2", Pod: "agent-n2", UID: "uid-n2", Revision: "old", Reason: rollout.ReasonOutdated,
	})
	fmt.Println(verify.Plan(spec, snapshot, &plan)[0])
	// Output:
	// violations: 0
	// V1: 2 nodes are unavailable after the plan, more than maxUnavailable 1; by its choice: n2, n3; right would be 1 fewer, or none
}

func ExampleViolation_String() {
	fmt.Println(verify.Violation{Invariant: 11, Message: "300 creates, right are at most 250 (M6)"})
	fmt.Println(verify.Violation{Invariant: 3, Node: "n1", Message: "more than one create"})
	// Output:
	// V11: 300 creates, right are at most 250 (M6)
	// V3: node n1: more than one create
}

// ClaimAndPlan takes the pods of a whole namespace. Claimed checks its plan with those that belong to the set.
func ExampleClaimed() {
	spec := kit.Spec("agent")
	other := kit.Pod("other", kit.OnNode("n1"), func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} })
	snapshot := rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("n1"), Pods: []*corev1.Pod{other}}
	planner, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	claimed, err := planner.ClaimAndPlan(snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("violations:", len(verify.Claimed(spec, snapshot, &claimed)))

	claimed.Plan.Creates = append(claimed.Plan.Creates, claimed.Plan.Creates[0])
	var verifier verify.Verifier
	fmt.Println(verifier.Claimed(spec, snapshot, &claimed)[0])
	fmt.Println(verify.Claimed(spec, snapshot, nil)[0])
	// Output:
	// violations: 0
	// V3: node n1: more than one create
	// V12: R3: status.updateRevision is "", right is the newest revision that holds the template: ["67fcf8cd76"]
}
