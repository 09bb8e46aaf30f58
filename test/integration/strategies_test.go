package integration_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
)

func TestSurge(t *testing.T) {
	w := newWorld(t, 12)
	w.set(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.MaxSurge = new(intstr.FromInt32(3)) })
	w.runController()
	w.settled(12)
	w.audit.Begin()
	w.change(image("v2"))
	w.settled(12)
	created, deleted, peak := w.counts()
	if created != 12 || deleted != 12 || peak != 0 {
		t.Errorf("%d pods created, %d deleted, %d nodes without a serving pod at a time; want 12, 12 and none", created, deleted, peak)
	}
}

func TestOnDelete(t *testing.T) {
	w := newWorld(t, 4)
	w.set(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.Type = "OnDelete" })
	w.runController()
	w.settled(4)
	before := w.pods()
	w.change(image("v2"))
	w.observed()
	var chosen string
	for node, pod := range before {
		chosen = node
		if err := w.Delete(w.Context(), pod); err != nil {
			t.Fatal(err)
		}
		break
	}
	w.eventually("the pod that was deleted comes back updated", func() error {
		if s := w.current().Status; s.UpdatedNumberScheduled != 1 || s.NumberAvailable != 4 {
			return fmt.Errorf("%d updated, %d available", s.UpdatedNumberScheduled, s.NumberAvailable)
		}
		return nil
	})
	for node, pod := range w.pods() {
		if (node == chosen) == (pod.UID == before[node].UID) {
			t.Errorf("node %s has pod %s; want a new one on %s only", node, pod.Name, chosen)
		}
	}
}

func TestResize(t *testing.T) {
	w := newWorld(t, 4)
	cpu := func(value string) func(*v1alpha1.PlannedDaemonSet) {
		return func(s *v1alpha1.PlannedDaemonSet) {
			s.Spec.UpdateStrategy.Method = "InPlaceIfPossible"
			s.Spec.UpdateStrategy.InPlace.Resize = true
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(value)}
		}
	}
	w.set(cpu("100m"))
	w.runController()
	w.settled(4)
	before := w.pods()
	w.change(cpu("200m"))
	w.settled(4)
	for node, pod := range w.pods() {
		got := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
		if pod.UID != before[node].UID || got.String() != "200m" || pod.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("node %s: pod %s has %v, restarted %d times; want the same pod with 200m, running on", node, pod.Name, &got,
				pod.Status.ContainerStatuses[0].RestartCount)
		}
	}
}

// A second controller takes the label off that keeps a pod, when it has done what is to be done before the pod goes.
func TestPreDeleteHook(t *testing.T) {
	w := newWorld(t, 3)
	w.set(func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.Template.Labels["drain"] = "wanted"
		s.Spec.Lifecycle.PreDelete = &v1alpha1.Hook{Labels: map[string]string{"drain": "wanted"}}
	})
	w.runController()
	w.settled(3)
	before := w.pods()
	w.change(image("v2"))
	for range 3 {
		var asked *corev1.Pod
		w.eventually("a pod is asked to leave", func() error {
			asked = nil
			for _, pod := range w.pods() {
				if pod.Labels["lifecycle.apps.kruise.io/state"] == "PreparingDelete" && pod.Labels["drain"] == "wanted" {
					if asked != nil {
						t.Fatalf("%s and %s are asked at a time", asked.Name, pod.Name)
					}
					asked = pod
				}
			}
			if asked == nil {
				return fmt.Errorf("none is")
			}
			return nil
		})
		time.Sleep(200 * time.Millisecond)
		if !has(w.pods(), asked) {
			t.Fatalf("%s is gone before its hook let it go", asked.Name)
		}
		patched := asked.DeepCopy()
		delete(patched.Labels, "drain")
		if err := w.Patch(w.Context(), patched, client.MergeFrom(asked)); err != nil {
			t.Fatal(err)
		}
		w.eventually("it goes", func() error {
			if has(w.pods(), asked) {
				return fmt.Errorf("%s is there", asked.Name)
			}
			return nil
		})
	}
	w.settled(3)
	for node, pod := range w.pods() {
		if pod.UID == before[node].UID {
			t.Errorf("node %s still has %s", node, pod.Name)
		}
	}
}

func has(pods map[string]*corev1.Pod, wanted *corev1.Pod) bool {
	for _, pod := range pods {
		if pod.UID == wanted.UID {
			return true
		}
	}
	return false
}

// The pods of a revision named "broken" crash; the canary finds out before any other node has one.
func TestCanaryFails(t *testing.T) {
	w := newWorld(t, 8)
	w.set(maxUnavailable("100%"), func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.UpdateStrategy.Canary = &v1alpha1.Canary{
			Duration: &v1alpha1.Duration{Duration: metav1.Duration{Duration: time.Minute}}, NoRestartsDuration: &v1alpha1.Duration{Duration: metav1.Duration{Duration: time.Minute}},
			AutoPause: v1alpha1.AutoPause{Disabled: true},
			AutoFail:  v1alpha1.AutoFail{MaxRestarts: new(int32(0))},
		}
	})
	w.runController()
	w.settled(8)
	before := w.pods()
	w.change(image("broken"))
	w.eventually("the canary fails, and its node goes back", func() error {
		if s := w.current().Status; s.State != "CanaryFailed" || s.NumberAvailable != 8 {
			return fmt.Errorf("%s %s, %d available", s.State, s.Reason, s.NumberAvailable)
		}
		return nil
	})
	touched := 0
	for node, pod := range w.pods() {
		if pod.UID != before[node].UID {
			touched++
		}
		if pod.Spec.Containers[0].Image != "registry.example/agent:v1" {
			t.Errorf("node %s runs %s", node, pod.Spec.Containers[0].Image)
		}
	}
	if touched != 1 {
		t.Errorf("%d nodes had another pod, want the one canary node", touched)
	}
}

// A canary that holds is promoted, and the rest follows.
func TestCanaryPromotes(t *testing.T) {
	w := newWorld(t, 6)
	w.set(maxUnavailable("100%"), func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.UpdateStrategy.Canary = &v1alpha1.Canary{
			Duration: &v1alpha1.Duration{Duration: metav1.Duration{Duration: time.Second}}, NoRestartsDuration: &v1alpha1.Duration{},
		}
	})
	w.runController()
	w.settled(6)
	w.change(image("v2"))
	w.settled(6)
}

// A rollback makes the revision that is there already the newest, and no third one.
func TestRollback(t *testing.T) {
	w := newWorld(t, 4)
	w.set(maxUnavailable("100%"))
	w.runController()
	w.settled(4)
	first := w.current().Status.UpdateRevision
	w.change(image("v2"))
	w.settled(4)
	w.change(image("v1"))
	w.settled(4)
	if now := w.current().Status.UpdateRevision; now != first {
		t.Errorf("rolled back to %s, want %s", now, first)
	}
	if revisions := w.revisions(); len(revisions) != 2 {
		t.Errorf("%d revisions, want the two templates that there were", len(revisions))
	}
}
