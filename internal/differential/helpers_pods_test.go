package differential_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/daemon"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// podOrder asks for the pod of a set on a node.
type podOrder struct {
	Set  *appsv1.DaemonSet
	Node string
	Hash string
	// Foreign: the template is one that no API server accepts. Ours takes it as that of another revision, which it does
	// not validate; such pods have no template generation.
	Foreign bool
}

// orders draws names of sets up to the longest.
func anyOrder() *rapid.Generator[podOrder] {
	names := []string{"agent", "a", "a.b", strings.Repeat("a", 252), strings.Repeat("a", 253)}
	return rapid.Custom(func(t *rapid.T) podOrder {
		o := podOrder{
			Set: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
				Name:      rapid.SampledFrom(names).Draw(t, "set"),
				Namespace: "monitoring", UID: "set-uid",
			}},
			Node:    rapid.SampledFrom([]string{"a", "node-1", "Ä", "\xfe"}).Draw(t, "node"),
			Hash:    rapid.SampledFrom([]string{"5d8f", "a", "é"}).Draw(t, "hash"),
			Foreign: rapid.Bool().Draw(t, "foreign"),
		}
		o.Set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
		template := anyTemplate().Draw(t, "template")
		if oneIn(t, 3, "labelled") { // with what the controller writes itself
			metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDaemonSetUniqueLabelKey, "stale")
			metav1.SetMetaDataLabel(&template.ObjectMeta, rollout.TemplateGenerationLabel, "7")
		}
		if !o.Foreign {
			own := template.Labels
			template = mended(template)
			for _, key := range []string{appsv1.DefaultDaemonSetUniqueLabelKey, rollout.TemplateGenerationLabel} {
				if value, found := own[key]; found {
					template.Labels[key] = value
				}
			}
			generation := rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64})
			if !rapid.Bool().Draw(t, "no generation") {
				o.Set.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: fmt.Sprint(generation.Draw(t, "generation"))}
			}
		}
		o.Set.Spec.Template = *template
		return o
	})
}

// builtPod is a pod, or why there is none.
type builtPod struct {
	Pod *corev1.Pod
	Err error
}

func plannedPod(o podOrder) builtPod {
	set := o.Set.DeepCopy()
	create := rollout.Create{Node: o.Node, Revision: o.Hash}
	if o.Foreign {
		create.Template = set.Spec.Template.DeepCopy()
		set.Spec.Template = *mended(create.Template)
	}
	spec, err := manifest.FromDaemonSet(set)
	if err != nil {
		return builtPod{Err: err}
	}
	planner, err := rollout.New(spec)
	if err != nil {
		return builtPod{Err: err}
	}
	pod, err := planner.Pod(create)
	return builtPod{pod, err}
}

// comparePods puts the controller's functions together as its sync does: the template once, then for each node its
// affinity and the pod.
func comparePods() comparison[podOrder, builtPod] {
	const (
		valid = iota
		foreign
	)
	changed := func(change func(*corev1.Pod)) func(podOrder) builtPod {
		return func(o podOrder) builtPod {
			m := plannedPod(o)
			if m.Err == nil {
				change(m.Pod)
			}
			return m
		}
	}
	return comparison[podOrder, builtPod]{
		theirs: "CreatePodTemplate, GetPodFromTemplate", ours: "rollout.Planner.Pod",
		kinds: []string{valid: "valid", foreign: "invalid template"}, inputs: anyOrder(), batch: 40, answer: plannedPod,
		judge: func(o podOrder, ours builtPod) judgement {
			j := judgement{kind: kindIf(o.Foreign)}
			theirs, err := controllersPod(o)
			if err != nil || ours.Err != nil {
				j.err = fmt.Errorf("the controller: %w, ours: %w, for\n%s", err, ours.Err, shown(o))
				return j
			}
			if !samePod(theirs, ours.Pod) {
				j.err = disagree(o, theirs, ours.Pod)
			}
			return j
		},
		bugs: []plantedBug[podOrder, builtPod]{
			{"drops a toleration", "pods would be evicted", changed(func(pod *corev1.Pod) {
				pod.Spec.Tolerations = pod.Spec.Tolerations[1:]
			})},
			{"no hash", "the pod would be outdated at once", changed(func(pod *corev1.Pod) {
				delete(pod.Labels, appsv1.DefaultDaemonSetUniqueLabelKey)
			})},
			{"no generation", "the controller labels pods with it where the set has one", changed(func(pod *corev1.Pod) {
				delete(pod.Labels, rollout.TemplateGenerationLabel)
			})},
			{"drops finalizers", "they are the template's", changed(func(pod *corev1.Pod) { pod.Finalizers = nil })},
			{"no owner", "the controller would release or orphan it", changed(func(pod *corev1.Pod) { pod.OwnerReferences = nil })},
			{"name of the template", "pods are named by the API server", changed(func(pod *corev1.Pod) { pod.Name = "pod" })},
		},
	}
}

func controllersPod(o podOrder) (*corev1.Pod, error) {
	set := o.Set.DeepCopy()
	generation, err := daemonutil.GetTemplateGeneration(set)
	if err != nil {
		return nil, err
	}
	template := daemonutil.CreatePodTemplate(set.Spec.Template, generation, o.Hash)
	template.Spec.Affinity = daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(template.Spec.Affinity, o.Node)
	owner := metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	pod, err := controller.GetPodFromTemplate(&template, set, owner)
	if err != nil {
		return nil, err
	}
	pod.Namespace = set.Namespace
	return pod, nil
}

// samePod tells whether two pods are the same request: by their JSON, and by what it cannot express.
func samePod(a, b *corev1.Pod) bool {
	first, errA := json.Marshal(a)
	second, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(first, second) && apiequality.Semantic.DeepEqual(a, b)
}

// compareMatchedPods is about the pod that the controller matches against a node. It is bound, not pinned, and has the
// template's metadata; the rest has to be what is created.
func compareMatchedPods() comparison[podOrder, *corev1.Pod] {
	build := func(o podOrder) *corev1.Pod { return placement.Pod(&o.Set.Spec.Template, o.Node) }
	const (
		plain = iota
		affine
	)
	return comparison[podOrder, *corev1.Pod]{
		theirs: "NewPod", ours: "placement.Pod",
		kinds: []string{plain: "no affinity", affine: "with affinity"}, inputs: anyOrder(), batch: 60, answer: build,
		judge: func(o podOrder, ours *corev1.Pod) judgement {
			j := judgement{kind: kindIf(o.Set.Spec.Template.Spec.Affinity != nil)}
			theirs := daemon.NewPod(o.Set.DeepCopy(), o.Node).DeepCopy()
			if theirs.Spec.NodeName != o.Node {
				j.err = fmt.Errorf("the controller's pod is on %q, not on %q", theirs.Spec.NodeName, o.Node)
				return j
			}
			theirs.Spec.NodeName = o.Set.Spec.Template.Spec.NodeName
			theirs.Spec.Affinity = daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(theirs.Spec.Affinity, o.Node)
			switch {
			case !apiequality.Semantic.DeepEqual(theirs.Spec, ours.Spec):
				j.err = disagree(o, theirs.Spec, ours.Spec)
			case !maps.Equal(theirs.Labels, ours.Labels) || !maps.Equal(theirs.Annotations, ours.Annotations):
				j.err = disagree(o, theirs.ObjectMeta, ours.ObjectMeta)
			}
			return j
		},
		bugs: []plantedBug[podOrder, *corev1.Pod]{
			{"drops a toleration", "the node would look tainted", func(o podOrder) *corev1.Pod {
				pod := build(o)
				pod.Spec.Tolerations = pod.Spec.Tolerations[:len(pod.Spec.Tolerations)-1]
				return pod
			}},
		},
	}
}
