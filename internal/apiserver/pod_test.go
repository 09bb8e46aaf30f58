package apiserver_test

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestDelete(t *testing.T) {
	grace := func(seconds int64) rollouttest.PodOption {
		return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
	}
	bound, at := rollouttest.OnNode("a"), rollouttest.Noon()
	tests := []struct {
		name, why string
		options   []rollouttest.PodOption
		gone      bool
		grace     int64 // -1: the result is the pod itself
	}{
		{"unbound", "no kubelet knows of it", nil, true, 0},
		{"unbound and marked", "nothing holds it any more", []rollouttest.PodOption{rollouttest.Terminating(at)}, true, 0},
		{"held by a finalizer", "somebody has to see to it", []rollouttest.PodOption{objects.Finalizer("x/y")}, false, 30},
		{"bound", "its kubelet has to end it", []rollouttest.PodOption{bound}, false, 30},
		{"bound, with a grace period", "the spec says how long", []rollouttest.PodOption{bound, grace(7)}, false, 7},
		{"bound, with none", "0 is not unset", []rollouttest.PodOption{bound, grace(0)}, false, 0},
		{"bound, with a negative one", "it means none", []rollouttest.PodOption{bound, grace(-5)}, false, 0},
		{"bound and marked", "the first instant stays", []rollouttest.PodOption{bound, rollouttest.Terminating(at)}, false, -1},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := rollouttest.Pod("p", test.options...)
			before := pod.DeepCopy()
			got := apiserver.Delete(pod, at)
			if !reflect.DeepEqual(pod, before) {
				t.Error("the pod was written to")
			}
			if (got == nil) != test.gone || (got == pod) != (test.grace < 0) {
				t.Fatalf("got %v: %s", got, test.why)
			}
			if got == nil || got == pod {
				return
			}
			if until := at.Add(time.Duration(test.grace) * time.Second); !got.DeletionTimestamp.Time.Equal(until) ||
				*got.DeletionGracePeriodSeconds != test.grace {
				t.Errorf("marked until %v, want %v: %s", got.DeletionTimestamp, until, test.why)
			}
			got.DeletionTimestamp, got.DeletionGracePeriodSeconds = nil, nil
			if !reflect.DeepEqual(got, before) {
				t.Error("something else changed")
			}
		})
	}
}

func TestReleased(t *testing.T) {
	marked := rollouttest.Terminating(rollouttest.Noon())
	for why, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"nothing holds it":              {rollouttest.Pod("p", marked), true},
		"its kubelet has to end it":     {rollouttest.Pod("p", marked, rollouttest.OnNode("a")), false},
		"a finalizer holds it":          {rollouttest.Pod("p", marked, objects.Finalizer("x/y")), false},
		"nobody has asked to delete it": {rollouttest.Pod("p"), false},
	} {
		if got := apiserver.Released(test.pod); got != test.want {
			t.Errorf("released %t: %s", got, why)
		}
	}
}

func TestAdmit(t *testing.T) {
	container := func(name string) corev1.Container {
		return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")},
		}}
	}
	limited := container("limited")
	limited.Resources.Requests = nil
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{container("init")}, Containers: []corev1.Container{container("main"), limited, {Name: "free"}},
	}}
	apiserver.Admit(pod, "p-1", "u", rollouttest.Noon())
	if pod.Name != "p-1" || pod.UID != "u" || !pod.CreationTimestamp.Time.Equal(rollouttest.Noon()) || pod.Status.Phase != corev1.PodPending {
		t.Errorf("got %v %v", pod.ObjectMeta, pod.Status)
	}
	for name, want := range map[string][2]string{"init": {"100m", "1Gi"}, "main": {"100m", "1Gi"}, "limited": {"1", "1Gi"}, "free": {"0", "0"}} {
		for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			requests := c.Resources.Requests
			if c.Name == name && (requests.Cpu().String() != want[0] || requests.Memory().String() != want[1] || len(requests) > 2) {
				t.Errorf("%s requests %v, want %v", name, requests, want)
			}
		}
	}
	if pod.Spec.Containers[2].Resources.Requests != nil {
		t.Error("a container without limits has requests")
	}
}

func TestUpdatedInPlace(t *testing.T) {
	before := rollouttest.Pod("p", rollouttest.AtRevision("a"))
	for why, test := range map[string]struct {
		after *corev1.Pod
		want  bool
	}{
		"it is at another revision, and says how":    {rollouttest.Pod("p", rollouttest.AtRevision("b"), rollouttest.PodAnnotation(inplace.StateKey, "{}")), true},
		"it was relabelled (R3)":                     {rollouttest.Pod("p", rollouttest.AtRevision("b")), false},
		"the update goes on, to the same revision":   {rollouttest.Pod("p", rollouttest.AtRevision("a"), rollouttest.PodAnnotation(inplace.StateKey, "{}")), false},
		"nothing that has to do with it has changed": {rollouttest.Pod("p", rollouttest.AtRevision("a"), rollouttest.PodLabel("x", "y")), false},
	} {
		if got := apiserver.UpdatedInPlace(before, test.after); got != test.want {
			t.Errorf("updated %t: %s", got, why)
		}
	}
}
