package integration_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
)

// An object that cannot be understood says so itself, and keeps no other back, whether it was there first or comes later.
func TestObjectsThatCannotBeUnderstood(t *testing.T) {
	w := newWorld(t, 3)
	w.raw("early", map[string]any{"spec": map[string]any{"containers": "none"}})
	w.set()
	w.runController()
	w.settled(3)
	w.raw("typo", map[string]any{"spec": map[string]any{"contaners": []any{}}})
	w.raw("late", map[string]any{"metadata": map[string]any{"labels": 7}})
	w.raw("endless", map[string]any{"spec": map[string]any{"containers": []any{map[string]any{ // to read it would take minutes, and gigabytes
		"name": "main", "resources": map[string]any{"requests": map[string]any{"cpu": "1e-2000000000"}},
	}}}})
	w.change(image("v2"))
	w.settled(3)
	for name, want := range map[string]string{"early": "containers", "typo": "contaners", "late": "labels", "endless": "containers[0].resources.requests[cpu]"} {
		w.eventually(name+" says what is wrong", func() error {
			condition := w.validity(name)
			if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, want) {
				return fmt.Errorf("condition %+v, want one that names %s", condition, want)
			}
			return nil
		})
	}
	w.eventually("there is an event about it", func() error { return w.event("Invalid", "contaners") })
}

// raw makes a set with a template that no typed client would send.
func (w *world) raw(name string, template map[string]any) {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": name}}, "template": template,
	}}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	object.SetNamespace(w.namespace)
	object.SetName(name)
	w.create(object)
}

func (w *world) validity(name string) *metav1.Condition {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, object); err != nil {
		w.Fatal(err)
	}
	var status v1alpha1.PlannedDaemonSetStatus
	if content, ok := object.Object["status"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status); err != nil {
			w.Fatal(err)
		}
	}
	return meta.FindStatusCondition(status.Conditions, v1alpha1.Valid)
}

// event is nil if there is one with the reason whose note has the text.
func (w *world) event(reason, text string) error {
	w.Helper()
	var list eventsv1.EventList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Reason == reason && strings.Contains(e.Note, text) {
			return nil
		}
	}
	return fmt.Errorf("no event %s with %q among %d", reason, text, len(list.Items))
}

// A revision whose name another object has gets another name (R3).
func TestRevisionNameIsTaken(t *testing.T) {
	w := newWorld(t, 2)
	w.set()
	stop := w.runController()
	w.settled(2)
	name := w.revisions()[0].Name
	stop()
	set := w.current()
	for _, object := range []client.Object{set, &w.revisions()[0]} {
		if err := w.Delete(w.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.namespace), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.create(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}, Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{"other":true}`)},
	})
	w.set()
	w.runController()
	w.settled(2)
	var names []string
	for _, revision := range w.revisions() {
		names = append(names, revision.Name)
	}
	if len(names) != 2 {
		t.Errorf("revisions %v, want %s, which is somebody else's, and one of the set", names, name)
	}
}

// The pods of a predecessor wake the set that replaces them, though no owner reference leads to it.
func TestPredecessorWakes(t *testing.T) {
	w := newWorld(t, 3)
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: w.namespace}}
	w.create(old)
	owner := *metav1.NewControllerRef(old, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	for i := range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("old-", i), Namespace: w.namespace, Labels: map[string]string{"app": "old"}, OwnerReferences: []metav1.OwnerReference{owner},
		}}
		pod.Spec.NodeName = fmt.Sprintf("%s-%04d", w.namespace, i)
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v0"}}
		pod.Spec.TerminationGracePeriodSeconds = new(int64(1))
		w.create(pod)
	}
	w.eventually("the old pods are ready", func() error {
		for node, pod := range w.pods() {
			if len(pod.Status.ContainerStatuses) == 0 || !pod.Status.ContainerStatuses[0].Ready {
				return fmt.Errorf("%s is not", node)
			}
		}
		return nil
	})
	w.set(func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.Predecessor = &v1alpha1.Predecessor{UIDs: []types.UID{old.UID}}
		s.Spec.UpdateStrategy.Type = "OnDelete"
	})
	w.runController()
	w.eventually("the old pods count", func() error {
		if s := w.current().Status; s.NumberAvailable != 3 || s.UpdatedNumberScheduled != 0 {
			return fmt.Errorf("%d available, %d updated", s.NumberAvailable, s.UpdatedNumberScheduled)
		}
		return nil
	})
	for i := range 3 {
		w.quiet() // what has happened before wakes nobody any more
		pod := w.pods()[fmt.Sprintf("%s-%04d", w.namespace, i)]
		if err := w.Delete(w.Context(), pod); err != nil {
			t.Fatal(err)
		}
		w.eventually("the deleted pod is replaced", func() error {
			if s := w.current().Status; s.UpdatedNumberScheduled != int32(i+1) {
				return fmt.Errorf("%d updated", s.UpdatedNumberScheduled)
			}
			return nil
		})
	}
}
