package differential_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/differential"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// revisionOf is the revision that the set gets for a template. TestHistory holds that the controller makes the same.
func revisionOf(set *appsv1.DaemonSet, template *corev1.PodTemplateSpec, number int64) *appsv1.ControllerRevision {
	data, err := history.Data(template)
	if err != nil {
		panic(err) // no generated template is like that
	}
	hash := history.Hash(template, set.Status.CollisionCount)
	name := set.Name + "-" + hash
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, UID: types.UID("revision-" + name),
			Labels:          map[string]string{"app": "agent", appsv1.DefaultDaemonSetUniqueLabelKey: hash},
			OwnerReferences: []metav1.OwnerReference{ownerReference(set)},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
}

func ownerReference(set *appsv1.DaemonSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
}

// pods draws what runs on the nodes: mostly one pod each, sometimes none or several, some on nodes that are gone, and a
// few that are nobody's or cannot be attributed.
func (g generator) pods(w *differential.World) (pods []*corev1.Pod) {
	add := func(node string) {
		pods = append(pods, g.pod(w, fmt.Sprintf("agent-%02d", len(pods)), node))
	}
	for _, n := range w.Nodes {
		for range g.oneOf("pods", 1, 1, 1, 1, 1, 0, 2, 3) {
			add(n.Name)
		}
	}
	for range g.oneOf("pods of nodes that are gone", 0, 0, 0, 0, 1, 2) {
		add("vanished")
	}
	if len(pods) > 0 && g.chance("odd pod", 10) {
		odd := pods[rapid.IntRange(0, len(pods)-1).Draw(g.T, "which")]
		switch g.oneOf("oddity", 0, 1, 2, 3) {
		case 0: // of nobody: the controller adopts it
			odd.OwnerReferences = nil
		case 1: // of another set
			odd.OwnerReferences[0].UID, odd.OwnerReferences[0].Name = "set-other", "other"
		case 2: // of no node
			odd.Spec.NodeName, odd.Spec.Affinity = "", nil
		case 3: // no longer selected: the controller releases it
			odd.Labels["app"] = "other"
		}
	}
	return pods
}

// pod draws a pod of the set on a node.
func (g generator) pod(w *differential.World, name, node string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Set.Namespace, Name: name, UID: types.UID("pod-" + name),
			Labels:            map[string]string{"app": "agent"},
			OwnerReferences:   []metav1.OwnerReference{ownerReference(w.Set)},
			CreationTimestamp: metav1.NewTime(w.Now.Add(-time.Duration(g.oneOf("age", 3600, 3600, 3600, 600, 60, 0)) * time.Second)),
		},
		Spec:   *w.Set.Spec.Template.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	pod.Spec.NodeName, pod.Spec.Affinity = "", pinned(node)
	if !g.chance("unbound", 8) {
		pod.Spec.NodeName = node
	}
	g.label(w, pod)
	if g.chance("finished", 10) {
		pod.Status.Phase = pick(g, "phase", corev1.PodFailed, corev1.PodFailed, corev1.PodSucceeded)
	} else if pod.Spec.NodeName == "" || g.chance("pending", 5) {
		pod.Status.Phase = corev1.PodPending
	}
	if pod.Status.Phase == corev1.PodRunning || g.chance("ready all the same", 10) {
		g.condition(w, pod)
	}
	if g.chance("terminating", 10) {
		pod.DeletionTimestamp = &metav1.Time{Time: w.Now.Add(-10 * time.Second)}
		pod.DeletionGracePeriodSeconds = new(int64(30))
	}
	return pod
}

// label says of which revision the pod is: mostly of the newest or of one before it.
func (g generator) label(w *differential.World, pod *corev1.Pod) {
	revision := w.Revisions[len(w.Revisions)-1]
	if g.chance("outdated", 50) {
		revision = w.Revisions[rapid.IntRange(0, len(w.Revisions)-1).Draw(g.T, "revision")]
	}
	pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	switch {
	case g.chance("unknown revision", 3):
		pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "5f6d7c8b9"
	case g.chance("no revision", 3):
		delete(pod.Labels, appsv1.DefaultDaemonSetUniqueLabelKey)
	}
	if w.Set.Annotations != nil || g.chance("template generation", 3) {
		pod.Labels[rollout.TemplateGenerationLabel] = pick(g, "generation", "1", "2")
	}
}

// condition draws how ready the pod is, and since when: around the instant at which it becomes available.
func (g generator) condition(w *differential.World, pod *corev1.Pod) {
	if g.chance("no condition", 10) {
		return
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	if g.chance("not ready", 15) {
		ready.Status = pick(g, "status", corev1.ConditionFalse, corev1.ConditionUnknown)
	}
	minReady := time.Duration(w.Set.Spec.MinReadySeconds) * time.Second
	ago := pick(g, "ready for", time.Hour, time.Hour, minReady, minReady+time.Second, minReady-time.Second, 10*time.Second, -10*time.Second)
	ready.LastTransitionTime = metav1.NewTime(w.Now.Add(-ago))
	if g.chance("no transition time", 2) {
		ready.LastTransitionTime = metav1.Time{}
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, ready}
}

func readySince(since time.Time) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)},
	}}
}

// pinned is the affinity of a daemon pod for its node.
func pinned(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
		}}}},
	}}}
}
