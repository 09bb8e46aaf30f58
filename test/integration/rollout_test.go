package integration_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
)

func TestInstall(t *testing.T) {
	w := newWorld(t, 30)
	w.set()
	w.runController()
	w.settled(30)
	if created, deleted, _ := w.counts(); created != 30 || deleted != 0 {
		t.Errorf("%d pods were created and %d deleted, want 30 and none", created, deleted)
	}
	if err := w.audit.Sound(); err != nil {
		t.Error(err)
	}
}

func TestRollingUpdate(t *testing.T) {
	w := newWorld(t, 30)
	w.set(maxUnavailable("10%"))
	w.runController()
	w.settled(30)
	w.audit.Begin()
	w.change(image("v2"))
	w.settled(30)
	created, deleted, peak := w.counts()
	if created != 30 || deleted != 30 {
		t.Errorf("%d pods were created and %d deleted, want each once", created, deleted)
	}
	if peak == 0 || peak > 3 {
		t.Errorf("%d nodes were without a serving pod at a time, want 1 to 3", peak)
	}
	if err := w.audit.Sound(); err != nil {
		t.Error(err)
	}
}

func TestInPlaceImageUpdate(t *testing.T) {
	w := newWorld(t, 10)
	w.set(maxUnavailable("2"), func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.Method = "InPlaceIfPossible" })
	w.runController()
	w.settled(10)
	before := w.pods()
	w.audit.Begin()
	w.change(image("v2"))
	w.settled(10)
	for node, pod := range w.pods() {
		if pod.UID != before[node].UID || pod.Spec.Containers[0].Image != "registry.example/agent:v2" {
			t.Errorf("%s: pod %s runs %s, want the same pod with the new image", node, pod.Name, pod.Spec.Containers[0].Image)
		}
	}
	if created, deleted, peak := w.counts(); created != 0 || deleted != 0 || peak > 2 {
		t.Errorf("%d pods created, %d deleted, %d nodes without a serving pod at a time; want none, none and at most 2", created, deleted, peak)
	}
}
