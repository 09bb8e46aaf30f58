package main

import (
	"context"
	"fmt"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
)

const (
	namespace = "fleet"
	before    = "registry.example/agent:v1"
	after     = "registry.example/agent:v2"
)

// runner is a controller that is measured.
type runner struct {
	name string
	// ours: what it does is judged, and not only shown.
	ours bool
	user string
	// watches are the resources that it watches once it is ready to work.
	watches []string
	start   func(*controlplane.Cluster) (*controlplane.Process, error)
	set     set
	profile string // file for a CPU profile of its update; empty: none
}

// set is the object of a controller that says what runs where.
type set interface {
	object() client.Object
	// update changes the image.
	update()
	// status is what the controller last wrote.
	status() progress
}

// progress is what both kinds of sets have in their status.
type progress struct {
	observed                    int64
	desired, updated, available int32
}

func runners(s settings, binary string) []runner {
	kubernetes := func(name string, arguments ...string) runner {
		return runner{
			name: name, user: "daemonset-controller", watches: []string{"daemonsets", "controllerrevisions", "pods", "nodes"},
			start: func(c *controlplane.Cluster) (*controlplane.Process, error) {
				return c.DaemonSetController("daemonset-controller", arguments...)
			},
			set: &daemonSet{daemonSetOf(s)},
		}
	}
	example := runner{
		name: "example", ours: true, user: "daemonplan-controller", profile: s.profile,
		watches: []string{"planneddaemonsets", "controllerrevisions", "pods", "nodes"},
		start: func(c *controlplane.Cluster) (*controlplane.Process, error) {
			kubeconfig, err := c.User("daemonplan-controller")
			if err != nil {
				return nil, err
			}
			return c.Run("controller", binary, "-kubeconfig="+kubeconfig, "-leader-elect=false", "-metrics-bind-address=0",
				"-health-probe-bind-address=0", "-pprof-bind-address="+s.pprof, fmt.Sprintf("-verify=%t", s.verify))
		},
		set: &planned{plannedOf(s)},
	}
	if s.alone {
		return []runner{example}
	}
	return []runner{
		kubernetes("DaemonSet controller, 20 requests/s"), // on average; 30 in a burst
		kubernetes("DaemonSet controller, no limit", "--kube-api-qps=-1", "--kube-api-burst=-1"),
		example,
	}
}

// crds of the example.
func (s settings) crds() string { return filepath.Join(s.example, "config", "crd") }

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "main", Image: before}},
			TerminationGracePeriodSeconds: new(int64(1)),
		},
	}
}

var named = metav1.ObjectMeta{Namespace: namespace, Name: "agent"}

type daemonSet struct{ *appsv1.DaemonSet }

func daemonSetOf(s settings) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: named, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template().Labels}, Template: template(),
		UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
			Type:          appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.Parse(s.budget))},
		},
	}}
}

func (d *daemonSet) object() client.Object { return d.DaemonSet }

func (d *daemonSet) update() { d.Spec.Template.Spec.Containers[0].Image = after }

func (d *daemonSet) status() progress {
	now := d.Status
	return progress{now.ObservedGeneration, now.DesiredNumberScheduled, now.UpdatedNumberScheduled, now.NumberAvailable}
}

type planned struct{ *v1alpha1.PlannedDaemonSet }

func plannedOf(s settings) *v1alpha1.PlannedDaemonSet {
	return &v1alpha1.PlannedDaemonSet{ObjectMeta: named, Spec: v1alpha1.PlannedDaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template().Labels}, Template: template(),
		UpdateStrategy: v1alpha1.UpdateStrategy{MaxUnavailable: new(intstr.Parse(s.budget))},
	}}
}

func (p *planned) object() client.Object { return p.PlannedDaemonSet }

func (p *planned) update() { p.Spec.Template.Spec.Containers[0].Image = after }

func (p *planned) status() progress {
	now := p.Status
	return progress{now.ObservedGeneration, now.DesiredNumberScheduled, now.UpdatedNumberScheduled, now.NumberAvailable}
}

// says tells whether the controller has reported that all nodes are done.
func says(ctx context.Context, api client.Client, s set, nodes int) (bool, error) {
	if err := api.Get(ctx, client.ObjectKeyFromObject(s.object()), s.object()); err != nil {
		return false, err
	}
	n := int32(nodes) //nolint:gosec // at most 9999
	return s.status() == progress{s.object().GetGeneration(), n, n, n}, nil
}
