package command_test

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// The revisions of the demo in ExtendedDaemonSet's README.
const (
	oldHash, newHash = "8z7lr", "xdj4b"
	oldName, newName = "foo-8z7lr", "foo-xdj4b"
)

// demo returns the set of the demo: three nodes, of which "kind-worker" is the canary's.
func demo(phase canary.Phase) command.View {
	now := rollouttest.Noon()
	spec := rollouttest.Spec("foo", rollouttest.Image("k8s.gcr.io/pause:3.1"))
	spec.APIVersion, spec.Kind, spec.UID = "datadoghq.com/v1alpha1", "ExtendedDaemonSet", "set-foo"
	spec.Strategy.Canary = &canary.Options{}
	old := rollouttest.Spec("foo", rollouttest.Image("k8s.gcr.io/pause:3.0"))

	view := command.View{
		Spec:    spec,
		Created: now.Add(-85 * time.Second),
		Snapshot: rollout.Snapshot{
			Now:   now,
			Nodes: rollouttest.Nodes("kind-control-plane", "kind-worker", "kind-worker2"),
			Pods: []*corev1.Pod{
				demoPod("foo-8z7lr-bp9w8", "kind-worker2", oldHash, 108*time.Second),
				demoPod("foo-8z7lr-jlvrq", "kind-control-plane", oldHash, 88*time.Second),
				demoPod("foo-xdj4b-zvss2", "kind-worker", newHash, 8*time.Second),
			},
			Revisions: []*appsv1.ControllerRevision{
				demoRevision(oldName, oldHash, 1, old.Template, 2*time.Minute),
				demoRevision(newName, newHash, 2, spec.Template, 40*time.Second),
			},
		},
		Plan: rollout.Plan{
			Canary: rollout.Canary{
				Finding: canary.Finding{Phase: phase}, Revision: newHash, Stable: oldHash,
				Nodes: []string{"kind-worker"}, Wanted: 1,
			},
			Decisions: []rollout.Decision{
				demoDecision("kind-control-plane", rollout.TargetStable, 0),
				demoDecision("kind-worker", rollout.TargetUpdate, status.Updated),
				demoDecision("kind-worker2", rollout.TargetStable, 0),
			},
			Status: status.Status{
				Counts:         status.Counts{Desired: 3, Current: 3, Ready: 3, Available: 3, Updated: 1},
				UpdateRevision: newHash, StableRevision: oldHash, State: status.Canary,
			},
		},
	}
	if phase == canary.Idle {
		view.Plan.Canary = rollout.Canary{}
	}
	return view
}

func demoDecision(node string, target rollout.Target, extra status.Facts) rollout.Decision {
	facts := status.Desired | status.Present | status.Ready | status.Available | extra
	state := rollout.StateStable
	if target == rollout.TargetUpdate {
		state = rollout.StateUpdated
	}
	return rollout.Decision{Node: node, Facts: facts, State: state, Target: target}
}

func demoRevision(name, hash string, number int64, template corev1.PodTemplateSpec, age time.Duration) *appsv1.ControllerRevision {
	data, err := history.Data(&template)
	if err != nil {
		panic(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: hash},
			CreationTimestamp: metav1.NewTime(rollouttest.Noon().Add(-age)),
		},
		Revision: number,
		Data:     runtime.RawExtension{Raw: data},
	}
}

// demoPod is Ready since it was made, and its container runs.
func demoPod(name, node, hash string, age time.Duration) *corev1.Pod {
	since := rollouttest.Noon().Add(-age)
	pod := rollouttest.Pod(name, rollouttest.OnNode(node), rollouttest.AtRevision(hash), rollouttest.Created(since),
		rollouttest.Ready(since))
	pod.UID = types.UID("pod-" + name)
	pod.Spec.Containers = []corev1.Container{{Name: "daemon", Image: "k8s.gcr.io/pause:3.0"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "daemon", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}},
	}}
	return pod
}
