package integration_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/status"
)

// A spec that is invalid is refused as a whole, with the field. What the one before ran is repaired meanwhile, and none of its rollout
// goes on: it may be that which somebody wanted to stop. A mended spec is rolled out.
func TestInvalidSpec(t *testing.T) {
	w := newWorld(t, 4)
	w.set(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.Partition = new(intstr.FromInt32(2)) })
	w.runController()
	w.settled(4)
	w.change(image("v2"))
	w.eventually("two nodes are updated", func() error { return w.updated(2, 4) })
	w.change(func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.Template.Labels = map[string]string{"app": "another"}
		s.Spec.UpdateStrategy.Partition = nil
		image("v3")(s)
	})
	invalid := func() error {
		condition := w.validity("agent")
		if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "spec.template.metadata.labels") {
			return fmt.Errorf("condition %+v", condition)
		}
		set := w.current()
		if s := set.Status; s.State != "Invalid" || s.ObservedGeneration != set.Generation {
			return fmt.Errorf("generation %d observed, %s", s.ObservedGeneration, s.State)
		}
		// Tools give up, and who waits for the rollout sees that nothing was planned for this generation.
		stalled := meta.FindStatusCondition(set.Status.Conditions, status.ConditionStalled)
		progressing := meta.FindStatusCondition(set.Status.Conditions, status.ConditionProgressing)
		if stalled == nil || stalled.Status != metav1.ConditionTrue || progressing.ObservedGeneration >= set.Generation {
			return fmt.Errorf("stalled %+v, progressing %+v", stalled, progressing)
		}
		return nil
	}
	w.eventually("the set says what is wrong", invalid)
	before := w.pods()
	lost := before[w.namespace+"-0001"]
	if err := w.Delete(w.Context(), lost, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pod that was lost comes back", func() error { return w.updated(3, 4) })
	for node, pod := range w.pods() {
		if (node == w.namespace+"-0001") == (pod.UID == before[node].UID) || pod.DeletionTimestamp != nil || pod.Labels["app"] != "agent" {
			t.Errorf("node %s has pod %s; want a new one of the last valid spec on the node that lost its pod only", node, pod.Name)
		}
	}
	if err := invalid(); err != nil {
		t.Errorf("the set no longer says what is wrong: %v", err)
	}
	w.change(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.Template.Labels = map[string]string{"app": "agent"} })
	w.settled(4)
}

// updated is nil if so many nodes are updated, and so many available.
func (w *world) updated(nodes, available int32) error {
	if s := w.current().Status; s.UpdatedNumberScheduled != nodes || s.NumberAvailable != available {
		return fmt.Errorf("%d updated, %d available", s.UpdatedNumberScheduled, s.NumberAvailable)
	}
	return nil
}

// A rollout in the middle of which the spec gets invalid begins no other node.
func TestInvalidSpecStopsARollout(t *testing.T) {
	w := newWorld(t, 12)
	w.set(maxUnavailable("1"))
	w.runController()
	w.settled(12)
	w.change(image("v2"))
	w.eventually("a node is updated", func() error {
		if w.current().Status.UpdatedNumberScheduled == 0 {
			return fmt.Errorf("none is")
		}
		return nil
	})
	w.change(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.Template.Labels = map[string]string{"app": "another"} })
	w.eventually("the set says what is wrong", func() error {
		if s := w.current().Status; s.State != "Invalid" || s.NumberAvailable != 12 {
			return fmt.Errorf("%s, %d available", s.State, s.NumberAvailable)
		}
		return nil
	})
	_, deleted, _ := w.counts()
	if deleted == 12 {
		t.Fatal("the rollout was over before the spec was invalid")
	}
	time.Sleep(2 * time.Second)
	if _, after, _ := w.counts(); after != deleted {
		t.Errorf("%d pods more were replaced, want none", after-deleted)
	}
	w.change(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.Template.Labels = map[string]string{"app": "agent"} })
	w.settled(12)
}

// A controller that starts does not know the last valid spec. It leaves the pods as they are, and claims nothing about them.
func TestInvalidSpecAfterARestart(t *testing.T) {
	w := newWorld(t, 2)
	w.set()
	stop := w.runController()
	w.settled(2)
	stop()
	w.change(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.Template.Labels = map[string]string{"app": "another"} })
	w.runController()
	w.eventually("nothing is claimed", func() error {
		for _, kind := range []string{"Available", "Progressing"} {
			if c := meta.FindStatusCondition(w.current().Status.Conditions, kind); c == nil || c.Status != metav1.ConditionUnknown {
				return fmt.Errorf("%s: %+v", kind, c)
			}
		}
		return nil
	})
	if created, deleted, _ := w.counts(); created != 2 || deleted != 0 {
		t.Errorf("%d pods created, %d deleted; want 2 and none", created, deleted)
	}
	w.change(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.Template.Labels = map[string]string{"app": "agent"} })
	w.settled(2)
	if c := meta.FindStatusCondition(w.current().Status.Conditions, "Available"); c.Status != metav1.ConditionTrue {
		t.Errorf("mended: %+v", c)
	}
}

// However many mistakes there are, they are written once: in the same order each time.
func TestManyMistakes(t *testing.T) {
	w := newWorld(t, 1)
	w.set()
	var writes atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/planneddaemonsets/agent/status") {
			writes.Add(1)
		}
		return next.RoundTrip(request)
	}))
	w.settled(1)
	w.counts()
	writes.Store(0)
	w.change(func(s *v1alpha1.PlannedDaemonSet) {
		for i := range 40 {
			s.Spec.Template.Labels[fmt.Sprintf("key%d", i)] = fmt.Sprintf("not valid %d!", i)
		}
	})
	w.eventually("the mistakes are told", func() error {
		if c := w.validity("agent"); c == nil || !strings.Contains(c.Message, "not valid 0!") {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	time.Sleep(2 * time.Second)
	if n := writes.Load(); n > 3 {
		t.Errorf("the status was written %d times, want once, and once for the pause", n)
	}
}

// Nodes that an override selects have pods with its resources, and each plan after the first knows that they are right.
func TestOverrides(t *testing.T) {
	w := newWorld(t, 3)
	big := w.namespace + "-0001"
	w.editNode(big, func(n *corev1.Node) { n.Labels["size"] = "big" })
	override := func(cpu string) func(*v1alpha1.PlannedDaemonSet) {
		return func(s *v1alpha1.PlannedDaemonSet) {
			s.Spec.Overrides = []v1alpha1.Override{{
				Name: "big", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"size": "big"}},
				Containers: map[string]corev1.ResourceRequirements{
					"main": {Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
				},
			}}
		}
	}
	w.set(override("10m"))
	w.runController()
	w.settled(3)
	before := w.pods()
	w.audit.Begin()
	w.change(override("20m"))
	w.settled(3)
	w.endedSoundly(1, 1)
	for node, pod := range w.pods() {
		cpu := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
		if want := map[bool]string{true: "20m", false: "0"}[node == big]; cpu.String() != want || (pod.UID == before[node].UID) == (node == big) {
			t.Errorf("node %s: pod %s has cpu %s, want %s; only the pod of %s is replaced", node, pod.Name, &cpu, want, big)
		}
	}
}

// An API server that does not know a subresource says that it is not found. That is not the pod.
func TestUnknownSubresource(t *testing.T) {
	w := newWorld(t, 2)
	cpu := func(value string) func(*v1alpha1.PlannedDaemonSet) {
		return func(s *v1alpha1.PlannedDaemonSet) {
			s.Spec.UpdateStrategy.Method, s.Spec.UpdateStrategy.InPlace.Resize = "InPlaceIfPossible", true
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(value)}
		}
	}
	w.set(cpu("100m"))
	var refused atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.HasSuffix(request.URL.Path, "/resize") || refused.Load() >= 3 {
			return next.RoundTrip(request)
		}
		refused.Add(1)
		return &http.Response{
			StatusCode: http.StatusNotFound, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
			Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("404 page not found\n")),
		}, nil
	}))
	w.settled(2)
	w.change(cpu("200m"))
	w.settled(2)
	if err := w.event("Failed", "could not find the requested resource"); err != nil {
		t.Error(err)
	}
}
