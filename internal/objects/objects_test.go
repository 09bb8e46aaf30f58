package objects_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want, +got):\n%s", what, diff)
	}
}

// progress is what a pod says of its in-place update.
func progress(t *testing.T, p *corev1.Pod) inplace.UpdateState {
	t.Helper()
	var state inplace.UpdateState
	if err := json.Unmarshal([]byte(p.Annotations[inplace.StateKey]), &state); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestUpdatingTo: a pod in the middle of an update says what it should be and what it was, container by container.
func TestUpdatingTo(t *testing.T) {
	second := func(s *rollout.Spec) {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "a", Image: "a:v1"},
			corev1.Container{Name: "same", Image: "same:v1"})
	}
	old := kit.Spec("agent", kit.InPlaceIfPossible(), second)
	spec := kit.Changed(old, kit.Image("agent:v2"), kit.PodTemplateLabel("tier", "gold"), kit.PodTemplateAnnotation("note", "x"),
		kit.Limits(corev1.ResourceCPU, "1"))
	spec.Template.Spec.Containers[1].Image = "a:v2"
	pod := kit.Pod("p", kit.Of(old), kit.OnNode("n"), objects.UpdatingTo(spec, kit.Noon()))
	state := progress(t, pod)
	same(t, "what is updated", []bool{state.UpdateImages, state.UpdateResources}, []bool{true, true})
	same(t, "what ran before", state.LastContainerStatuses, map[string]inplace.ContainerStatus{
		"main": {ImageID: kubelet.ImageID("agent:v1")}, "a": {ImageID: kubelet.ImageID("a:v1")},
	})
	same(t, "containers by name, once", len(state.ContainerBatchesRecord), 1)
	same(t, "containers by name, once", state.ContainerBatchesRecord[0].Containers, []string{"a", "main"})
	same(t, "its begin", state.UpdateTimestamp.Equal(&state.ContainerBatchesRecord[0].Timestamp), true)
	same(t, "revision", state.Revision+objects.RevisionOf(pod), kit.Hash(spec)+kit.Hash(spec))
	same(t, "metadata", []string{pod.Labels["tier"], pod.Annotations["note"]}, []string{"gold", "x"})
	same(t, "limit, and the request that it brings", []string{
		pod.Spec.Containers[0].Resources.Limits.Cpu().String(), pod.Spec.Containers[0].Resources.Requests.Cpu().String(),
	}, []string{"1", "1"})
	same(t, "gates", len(pod.Spec.ReadinessGates), 1)
	same(t, "image", pod.Spec.Containers[0].Image, "agent:v2")
	for _, kind := range []corev1.PodConditionType{lifecycle.InPlaceUpdateReady, corev1.PodReady} {
		same(t, string(kind), kubelet.ConditionStatus(pod, kind), corev1.ConditionFalse)
	}

	plain := kit.Pod("p", kit.Of(kit.Spec("agent")), kit.OnNode("n"), objects.UpdatingTo(kit.Spec("agent", kit.Image("agent:v2")), kit.Noon()))
	same(t, "a pod without statuses", progress(t, plain).LastContainerStatuses, map[string]inplace.ContainerStatus{"main": {}})
	same(t, "gates of a pod that had none", kubelet.HasGate(plain, lifecycle.InPlaceUpdateReady), true)

	onlySize := kit.Changed(old, kit.Requests(corev1.ResourceCPU, "1"))
	state = progress(t, kit.Pod("p", kit.Of(old), kit.OnNode("n"), objects.UpdatingTo(onlySize, kit.Noon())))
	same(t, "images of an update of resources", []any{state.UpdateImages, len(state.LastContainerStatuses)}, []any{false, 0})
	same(t, "its containers", state.ContainerBatchesRecord[0].Containers, []string{"main"})

	by := []placement.Resources{{Container: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
	}, Source: "x"}}
	overridden := kit.Pod("p", kit.Of(old), kit.OnNode("n"),
		objects.Overridden(placement.Overridden{Resources: by, Digest: placement.Digest(by)}), objects.UpdatingTo(spec, kit.Noon()))
	same(t, "resources that are overridden", overridden.Spec.Containers[0].Resources.Requests.Cpu().String(), "3")
	same(t, "whether they are updated", progress(t, overridden).UpdateResources, false)

	gone := kit.Changed(spec, func(s *rollout.Spec) { s.Template.Spec.Containers = s.Template.Spec.Containers[:1] })
	kept := kit.Pod("p", kit.Of(old), kit.OnNode("n"), objects.UpdatingTo(gone, kit.Noon()))
	same(t, "a container that the spec has no more", kept.Spec.Containers[1].Image, "a:v1")
	gone.Template.Spec.Containers[0].Name = "other"
	gone.Template.Spec.Containers = append(gone.Template.Spec.Containers, corev1.Container{Name: "a", Image: "a:v2"})
	kept = kit.Pod("p", kit.Of(old), kit.OnNode("n"), objects.UpdatingTo(gone, kit.Noon()))
	same(t, "a container after one that the spec has no more", kept.Spec.Containers[1].Image, "a:v2")
}

// TestDress: pods of a set with hooks are what its planner makes, once they are Normal.
func TestDress(t *testing.T) {
	hook := lifecycle.Hook{Labels: map[string]string{"in": "yes"}, Finalizers: []string{"example.com/a", "example.com/b"}}
	spec := kit.Spec("agent", kit.InPlaceIfPossible(), kit.PreNormalHook(hook), objects.PodTemplateFinalizer("example.com/a"),
		kit.Limits(corev1.ResourceCPU, "1"))
	pod := kit.Pod("p", kit.Of(spec))
	same(t, "state", lifecycle.StateOf(pod), lifecycle.Normal)
	same(t, "handlers", pod.Labels["in"], "yes")
	same(t, "finalizers", pod.Finalizers, []string{"example.com/a", "example.com/b"})
	same(t, "requests", pod.Spec.Containers[0].Resources.Requests.Cpu().String(), "1")
	same(t, "what the kubelet says of them", pod.Status.ContainerStatuses[0].Resources.Requests.Cpu().String(), "1")
	same(t, "state without hooks that new pods wait for", lifecycle.StateOf(kit.Pod("p", kit.Of(kit.Spec("agent")))), lifecycle.State(""))
	labelled := kit.Spec("agent", kit.PreDeleteHook(kit.HookLabel("drain", "please")))
	same(t, "state with another hook", lifecycle.StateOf(kit.Pod("p", kit.Of(labelled))), labelled.Lifecycle.InitialState())
}

func TestPodOptions(t *testing.T) {
	pod := kit.Pod("p", objects.Gated(lifecycle.PodReady), objects.Gated(lifecycle.PodReady))
	same(t, "gates", len(pod.Spec.ReadinessGates), 1)
	same(t, "a pod that others keep from being ready", kubelet.HasGate(kit.Pod("p", objects.MarkedNotReady()), lifecycle.PodReady), true)
	pod = kit.Pod("p", kit.Of(kit.Spec("agent")), objects.Containers(), objects.Containers())
	same(t, "statuses", len(pod.Status.ContainerStatuses), 1)
	same(t, "resources of a container that has none", pod.Status.ContainerStatuses[0].Resources, (*corev1.ResourceRequirements)(nil))
	for _, resources := range []kit.SpecOption{kit.Requests(corev1.ResourceCPU, "1"), kit.Limits(corev1.ResourceCPU, "1")} {
		pod = kit.Pod("p", kit.Of(kit.Spec("agent", resources)), objects.Containers())
		same(t, "resources of a container that has some", pod.Status.ContainerStatuses[0].Resources != nil, true)
	}
	bare := &corev1.Pod{}
	objects.Label("a", "b")(bare)
	objects.MetadataOf(kit.Spec("agent", kit.PodTemplateAnnotation("note", "x")))(bare)
	same(t, "metadata", []any{bare.Labels, bare.Annotations}, []any{map[string]string{"a": "b", "app": "agent"}, map[string]string{"note": "x"}})
}

func TestSameResources(t *testing.T) {
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	none := corev1.ResourceRequirements{}
	for _, tt := range []struct {
		name string
		a, b corev1.ResourceRequirements
		want bool
	}{
		{"no resources", none, none, true},
		{"a request that was defaulted", none, corev1.ResourceRequirements{Requests: list("1")}, true},
		{"a request that is missing", corev1.ResourceRequirements{Requests: list("1")}, none, false},
		{"the same amount", corev1.ResourceRequirements{Requests: list("1")}, corev1.ResourceRequirements{Requests: list("1000m")}, true},
		{"another limit", corev1.ResourceRequirements{Limits: list("1")}, corev1.ResourceRequirements{Limits: list("2")}, false},
		{"a limit that is too much", none, corev1.ResourceRequirements{Limits: list("2")}, false},
	} {
		same(t, tt.name, objects.SameResources(tt.a, tt.b), tt.want)
	}
}

func TestNodeOptions(t *testing.T) {
	node := kit.Node("a", kit.Label("zone", "a"))
	shared := *node
	objects.Unlabelled("zone")(&shared)
	same(t, "labels of the node that was copied", node.Labels["zone"], "a")
	cordoned := kit.Node("a", kit.Cordoned())
	same(t, "a cordoned node", []any{cordoned.Spec.Unschedulable, cordoned.Spec.Taints}, []any{true, []corev1.Taint{
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}})
	for status, ill := range map[corev1.ConditionStatus]struct {
		option kit.NodeOption
		taint  string
	}{
		corev1.ConditionFalse:   {kit.NotReady(), corev1.TaintNodeNotReady},
		corev1.ConditionUnknown: {kit.Unreachable(), corev1.TaintNodeUnreachable},
	} {
		node := kit.Node("a", ill.option)
		same(t, "conditions of a node that is ill", node.Status.Conditions, []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(kit.Noon())},
		})
		same(t, "its taints", node.Spec.Taints, []corev1.Taint{
			{Key: ill.taint, Effect: corev1.TaintEffectNoSchedule}, {Key: ill.taint, Effect: corev1.TaintEffectNoExecute},
		})
	}
	recovered := kit.Node("a", kit.NotReady(), kit.Taint("gpu", "", "NoExecute"), objects.Recovered(kit.Noon()))
	same(t, "taints", recovered.Spec.Taints, []corev1.Taint{{Key: "gpu", Effect: "NoExecute"}})
	same(t, "since when", recovered.Status.Conditions[0].LastTransitionTime.Time, kit.Noon())
	spec := kit.Spec("agent", func(s *rollout.Spec) { s.Namespace = "" })
	for key := range kit.Node("a", kit.ResourcesFor(spec, "main", "{}")).Annotations {
		same(t, "annotation for a spec without a namespace", key, placement.OverrideAnnotationPrefix+"default.agent.main")
	}
}

func TestSpecOptions(t *testing.T) {
	for before, after := range map[inplace.Method]inplace.Method{
		inplace.Only: inplace.IfPossible, inplace.IfPossible: inplace.IfPossible, inplace.Recreate: inplace.Recreate, "": "",
	} {
		spec := kit.Spec("agent", func(s *rollout.Spec) { s.Strategy.Method = before }, objects.Released())
		same(t, string(before), spec.Strategy.Method, after)
	}
	held := kit.Spec("agent", kit.Partition("1"), kit.StrategyNodeSelector("zone", "a"), kit.PartitionedScaling(), objects.Released())
	same(t, "holds", held.Strategy.Partition == nil && held.Strategy.NodeSelector == nil && !held.Strategy.PartitionedScaling, true)
	same(t, "policy", kit.Spec("agent", objects.RestartToResize("cpu")).Template.Spec.Containers[0].ResizePolicy,
		[]corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}})
	labels := map[string]string{"a": "b"}
	same(t, "a map with more", objects.With(labels, "c", "d"), map[string]string{"a": "b", "c": "d"})
	same(t, "the map", labels, map[string]string{"a": "b"})
	sized := kit.Spec("agent")
	large := kit.Node("a", kit.ResourcesFor(sized, "main", `{"limits":{"cpu":"1"}}`))
	same(t, "resources of the node", objects.Effect(&sized, &sized.Template, large).Digest != "", true)
	spec := kit.Spec("agent", kit.PreDownload("3"), objects.MinUpdatedReadyPods("2"))
	same(t, "pulls", spec.PreDownload.Parallelism.String()+spec.PreDownload.MinUpdatedReadyPods.String(), "32")
	same(t, "pulls that nobody asked for", kit.Spec("agent", objects.MinUpdatedReadyPods("2")).PreDownload.Parallelism.String(), "1")
	invalid := kit.Spec("agent", kit.Override(placement.Override{NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"?": "?"}}}))
	same(t, "overrides that are refused", objects.Effect(&invalid, &invalid.Template, kit.Node("a")).Digest, "")
}

// TestRevisions: a revision holds what its data says, however it is written; what cannot be read holds nothing.
func TestRevisions(t *testing.T) {
	spec := kit.Spec("agent")
	revision := objects.Revision(spec, 7)
	same(t, "name", string(revision.UID), "revision-"+revision.Name)
	same(t, "number", revision.Revision, int64(7))
	same(t, "hash", objects.Hash(spec), revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey])
	same(t, "its template", objects.Holds(revision, &spec.Template), true)
	other := kit.Spec("agent", kit.Image("agent:v2"))
	same(t, "another template", objects.Holds(revision, &other.Template), false)
	for _, data := range []string{"", "{", "{}", `{"spec":{}}`, `{"spec":{"template":null}}`, `{"spec":{"template":7}}`} {
		unreadable := *revision
		unreadable.Data = runtime.RawExtension{Raw: []byte(data)}
		same(t, data, objects.Holds(&unreadable, &corev1.PodTemplateSpec{}), false)
	}
	unset := kit.Spec("agent", func(s *rollout.Spec) { s.Template.Spec.Containers = nil; s.Name = "no such name" })
	same(t, "a spec that is refused", objects.Revision(unset, 1) == nil && objects.Hash(unset) == "", true)
	marked := objects.Marked(objects.Marked(revision, map[string]string{"a": "b"}), map[string]string{"c": "d"})
	same(t, "marks", marked.Annotations, map[string]string{"a": "b", "c": "d"})
}
