package simulate

import (
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// populate adds what is there if the spec was rolled out on the generated nodes long ago: its revision, and a pod on each node
// that is to run one. The planner decides which nodes these are and with which resources.
func populate(snapshot *rollout.Snapshot, nodes []*corev1.Node, spec rollout.Spec) error {
	spec = spec.Default()
	canaries := spec.Strategy.Canary != nil
	// Only the fields of the strategy are kept that decide what pods look like. The others would keep pods from being created
	// at once.
	spec.Strategy = rollout.Strategy{Method: spec.Strategy.Method, InPlace: spec.Strategy.InPlace}
	spec.Burst = new(intstr.FromInt32(math.MaxInt32))
	planner, err := rollout.New(spec)
	if err != nil {
		return err
	}
	plan, err := planner.Plan(rollout.Snapshot{Now: snapshot.Now, Nodes: nodes, Revisions: snapshot.Revisions})
	if err != nil {
		return err
	}
	old := max(age, time.Duration(spec.MinReadySeconds)*time.Second)
	since := metav1.NewTime(snapshot.Now.Add(-old).Truncate(time.Second))
	for i := range plan.Revisions {
		if plan.Revisions[i].Object == nil || plan.Revisions[i].Verb != rollout.CreateRevision {
			continue
		}
		revision := plan.Revisions[i].Object.DeepCopy()
		revision.UID = types.UID("revision-" + revision.Name)
		revision.CreationTimestamp = since
		if canaries {
			// A canary leaves its revision marked as promoted. Without a canary nothing marks revisions.
			revision.Annotations = maps.Clone(revision.Annotations)
			if revision.Annotations == nil {
				revision.Annotations = map[string]string{}
			}
			revision.Annotations[history.PromotedAnnotation] = since.UTC().Format(time.RFC3339)
		}
		snapshot.Revisions = append(snapshot.Revisions, revision)
	}
	settled := settler{
		planner: planner, spec: &spec, since: since,
		images: predownload.Images(&spec.Template), onNodes: map[*corev1.ContainerImage][]corev1.ContainerImage{},
	}
	return settled.pods(snapshot, nodes, plan.Creates)
}

// settler makes pods that have been available for a long time. Pods with the same resources share everything that does not
// depend on their node.
type settler struct {
	planner *rollout.Planner
	spec    *rollout.Spec
	since   metav1.Time
	images  []string
	// onNodes has the new list of images that nodes report, by the first image of their old list.
	onNodes map[*corev1.ContainerImage][]corev1.ContainerImage
}

func (s *settler) pods(snapshot *rollout.Snapshot, nodes []*corev1.Node, creates []rollout.Create) error {
	byName := make(map[string]*corev1.Node, len(nodes))
	for _, node := range nodes {
		byName[node.Name] = node
	}
	// The planner returns the same slice for nodes with the same resources. If it did not, that would only cost time.
	prototypes := map[*placement.Resources]*corev1.Pod{}
	for i := range creates {
		create := &creates[i]
		var key *placement.Resources
		if len(create.Resources) > 0 {
			key = &create.Resources[0]
		}
		prototype := prototypes[key]
		if prototype == nil {
			var err error
			if prototype, err = s.prototype(*create); err != nil {
				return err
			}
			prototypes[key] = prototype
		}
		pod := *prototype
		pod.Name = podName(prototype.GenerateName, create.Node)
		pod.UID = types.UID("pod-" + pod.Name)
		pod.Spec.Affinity = placement.Pin(prototype.Spec.Affinity, create.Node)
		pod.Spec.NodeName = create.Node
		pod.Status.ContainerStatuses = slices.Clone(prototype.Status.ContainerStatuses)
		for i := range pod.Status.ContainerStatuses {
			status := &pod.Status.ContainerStatuses[i]
			status.ContainerID = kubelet.ContainerID(&pod, status.Name, status.RestartCount)
		}
		snapshot.Pods = append(snapshot.Pods, &pod)
		byName[create.Node].Status.Images = s.having(byName[create.Node].Status.Images)
	}
	return nil
}

// having is what a node reports that had those images before. All nodes of a pool get the same slice.
func (s *settler) having(images []corev1.ContainerImage) []corev1.ContainerImage {
	var key *corev1.ContainerImage
	if len(images) > 0 {
		key = &images[0]
	}
	if all, ok := s.onNodes[key]; ok {
		return all
	}
	all := slices.Clone(images)
	for _, image := range s.images {
		if !predownload.Reported(all, image) {
			all = append(all, corev1.ContainerImage{Names: []string{image}})
		}
	}
	s.onNodes[key] = all
	return all
}

// podName ends in the node's name, so that it is readable and no other pod has it. An API server cuts the beginning short
// in the same way to append five letters.
func podName(generateName, node string) string {
	const longestBase = 58
	return generateName[:min(len(generateName), longestBase)] + node
}

func (s *settler) prototype(create rollout.Create) (*corev1.Pod, error) {
	pod, err := s.planner.Pod(create)
	if err != nil {
		return nil, err
	}
	apiserver.Admit(pod, "", "", s.since.Time)
	pod.ResourceVersion = "1"
	if s.spec.Lifecycle.InitialState() != "" {
		pod.Labels[lifecycle.StateLabel] = string(lifecycle.Normal)
	}
	if hook := s.spec.Lifecycle.PreNormal; hook != nil {
		maps.Copy(pod.Labels, hook.Labels)
		for _, name := range hook.Finalizers {
			if !slices.Contains(pod.Finalizers, name) {
				pod.Finalizers = append(pod.Finalizers, name)
			}
		}
	}
	kubelet.Bind(pod, create.Node, s.since.Time)
	kubelet.Notice(pod, s.since.Time)
	kubelet.StartContainers(pod, nil, nil, s.since.Time)
	for _, gate := range pod.Spec.ReadinessGates {
		kubelet.SetCondition(pod, gate.ConditionType, corev1.ConditionTrue, s.since.Time)
	}
	kubelet.Ready(pod, s.since.Time)
	return pod, nil
}
