package integration_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
)

// An orphan that the selector matches becomes the set's, and a pod that it no longer matches is let go and followed by another.
func TestAdoptsAndReleases(t *testing.T) {
	w := newWorld(t, 2)
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Namespace: w.namespace, Labels: map[string]string{"app": "agent"}}}
	orphan.Spec.NodeName = w.namespace + "-0000"
	orphan.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v0"}}
	w.create(orphan)
	w.set(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.Type = "OnDelete" })
	w.runController()
	w.eventually("both nodes have a pod of the set", func() error {
		for node, pod := range w.pods() {
			if !metav1.IsControlledBy(pod, w.current()) {
				return fmt.Errorf("%s on %s is not the set's", pod.Name, node)
			}
		}
		if n := w.current().Status.NumberAvailable; n != 2 {
			return fmt.Errorf("%d available", n)
		}
		return nil
	})
	if pod := w.pods()[w.namespace+"-0000"]; pod.UID != orphan.UID {
		t.Fatalf("%s took the place of the orphan", pod.Name)
	}

	released := orphan.DeepCopy()
	released.Labels["app"] = "mine"
	if err := w.Patch(w.Context(), released, client.MergeFrom(orphan)); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is released, and its node has a pod of the set", func() error {
		var pod corev1.Pod
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(orphan), &pod); err != nil {
			return err
		}
		if len(pod.OwnerReferences) > 0 {
			return fmt.Errorf("it belongs to %v", pod.OwnerReferences)
		}
		if s := w.current().Status; s.NumberAvailable != 2 || s.UpdatedNumberScheduled != 2 {
			return fmt.Errorf("%d available, %d updated", s.NumberAvailable, s.UpdatedNumberScheduled)
		}
		return nil
	})
}
