package simulate_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Each pod that is created is the one that the planner makes of its create, whatever it shares with others: of the spec in force
// then, on its node, with the resources of its node, and with the label of canary pods.
func TestCreatedPodsAreThePlanners(t *testing.T) {
	limited := func(s *rollout.Spec) { // the API server adds the requests
		s.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}
	override := placement.Override{
		Name: "more", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: "web-00002"}},
		Containers: map[string]corev1.ResourceRequirements{
			"main": {Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")}},
		},
	}
	old := kit.Spec("agent", limited, kit.MaxUnavailable("2"), kit.Override(override))
	second := kit.Changed(old, kit.Image("agent:v2"), kit.Canary("2"), kit.CanaryFor(10*time.Second, 0))
	third := kit.Changed(second, kit.Image("agent:v3"))
	scenario := simulate.Scenario{
		Seed: 3, Spec: second, Model: simTimes(),
		Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 8}}, Running: &old},
		Events: []simulate.Event{
			{At: 3 * time.Minute, What: simulate.SetSpec, Spec: &third},
			{At: 4 * time.Minute, What: simulate.DeletePod, Count: 4},
		},
	}
	var before *simulate.Step
	seen, compared, canaries, overridden := map[types.UID]bool{}, 0, 0, 0
	_, err := simulate.Run(scenario, func(_ *simulate.Simulation, step *simulate.Step) error {
		for _, pod := range step.Snapshot.Pods {
			name, _ := placement.TargetNode(pod)
			if seen[pod.UID] || before == nil {
				seen[pod.UID] = true
				continue
			}
			seen[pod.UID] = true
			i := slices.IndexFunc(before.Plan.Creates, func(c rollout.Create) bool { return c.Node == name })
			if i < 0 {
				continue
			}
			create := before.Plan.Creates[i]
			planner, err := rollout.New(before.Spec)
			if err != nil {
				return err
			}
			right, err := planner.Pod(create)
			if err != nil {
				return err
			}
			apiserver.Admit(right, pod.Name, pod.UID, pod.CreationTimestamp.Time)
			right.ResourceVersion, right.Spec.NodeName, right.Status = pod.ResourceVersion, pod.Spec.NodeName, pod.Status
			if !equality.Semantic.DeepEqual(pod, right) {
				t.Errorf("step %d: pod %+v, right is %+v", step.Number, pod, right)
			}
			compared++
			if create.Canary {
				canaries++
			}
			if len(create.Resources) > 0 {
				overridden++
			}
		}
		copied := *step
		before = &copied
		return nil
	})
	if err != nil || compared < 16 || canaries == 0 || canaries == compared || overridden == 0 {
		t.Fatalf("%d pods compared, %d of the canary, %d with other resources: %v", compared, canaries, overridden, err)
	}
}
