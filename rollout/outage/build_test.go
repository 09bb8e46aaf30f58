package outage_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout/outage"
)

func noon() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) }

// ago is an instant before noon.
func ago(d time.Duration) time.Time { return noon().Add(-d) }

// mark is that instant as objects have it.
func mark(d time.Duration) *metav1.Time { return new(metav1.NewTime(ago(d))) }

// uniqueRows refuses rows that share a name or give no reason.
type uniqueRows map[string]bool

func (u uniqueRows) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || u[name] {
		t.Fatalf("row %q needs a reason and a name of its own", name)
	}
	u[name] = true
}

type nodeOption func(*corev1.Node)

// nodeOf makes a node without conditions.
func nodeOf(options ...nodeOption) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	for _, o := range options {
		o(n)
	}
	return n
}

// condition is one that the node has had for so long; negative: since when nobody knows.
func condition(kind string, status corev1.ConditionStatus, since time.Duration) nodeOption {
	return func(n *corev1.Node) {
		c := corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: status}
		if since >= 0 {
			c.LastTransitionTime = *mark(since)
		}
		n.Status.Conditions = append(n.Status.Conditions, c)
	}
}

func up(n *corev1.Node) { condition("Ready", corev1.ConditionTrue, 3*time.Hour)(n) }

func down(since time.Duration) nodeOption { return condition("Ready", corev1.ConditionFalse, since) }

// taint is one that the node has had for so long; negative: since when nobody knows.
func taint(key string, since time.Duration) nodeOption {
	return func(n *corev1.Node) {
		t := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
		if since >= 0 {
			t.TimeAdded = mark(since)
		}
		n.Spec.Taints = append(n.Spec.Taints, t)
	}
}

// deletedNode marks the node for deletion so long ago.
func deletedNode(since time.Duration) nodeOption {
	return func(n *corev1.Node) { n.DeletionTimestamp = mark(since) }
}

type podOption func(*corev1.Pod)

// podOf makes a pod that was created an hour before noon, with one container that nobody has started.
func podOf(options ...podOption) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-1", CreationTimestamp: *mark(time.Hour)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	for _, o := range options {
		o(p)
	}
	return p
}

func created(d time.Duration) podOption {
	return func(p *corev1.Pod) { p.CreationTimestamp = *mark(d) }
}

// noticed: a kubelet has started the pod.
func noticed(p *corev1.Pod) { p.Status.StartTime = mark(time.Minute) }

// ran is a container that has been running for so long.
func ran(name string, d time.Duration) podOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *mark(d)}},
		})
	}
}

// ended is a container that was started so long ago, and has ended.
func ended(name string, d time.Duration) podOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: *mark(d), FinishedAt: *mark(0)}},
		})
	}
}

// restarted is a container that waits after it was started so long ago.
func restarted(name string, d time.Duration) podOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: *mark(d)}},
		})
	}
}

// needsMore adds a container "more" to the spec of the pod.
func needsMore(p *corev1.Pod) {
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more"})
}

// initially turns the statuses of containers into those of init containers.
func initially(o podOption) podOption {
	return func(p *corev1.Pod) {
		var of corev1.Pod
		o(&of)
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, of.Status.ContainerStatuses...)
	}
}

// updatedInPlace is a pod whose containers were given another image so long ago, and still report the old one.
func updatedInPlace(d time.Duration) podOption {
	return func(p *corev1.Pod) {
		state, err := json.Marshal(inplace.UpdateState{
			Revision: "new", UpdateTimestamp: *mark(d), UpdateImages: true,
			LastContainerStatuses:  map[string]inplace.ContainerStatus{"main": {ImageID: "old"}},
			ContainerBatchesRecord: []inplace.Batch{{Timestamp: *mark(d), Containers: []string{"main"}}},
		})
		if err != nil {
			panic(err)
		}
		annotation(inplace.StateKey, string(state))(p)
	}
}

// hasImage makes the first container report an image.
func hasImage(id string) podOption {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ImageID = id }
}

func annotation(key, value string) podOption {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

// deleted marks the pod for deletion: that was requested so long ago.
func deleted(since time.Duration) podOption {
	return func(p *corev1.Pod) {
		const grace = 30
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = mark(since-grace*time.Second), new(int64(grace))
	}
}

func inState(state string) podOption {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"lifecycle.apps.kruise.io/state": state} }
}

// asked is in its preDelete hook for so long.
func asked(d time.Duration) podOption {
	return func(p *corev1.Pod) {
		inState("PreparingDelete")(p)
		annotation("lifecycle.apps.kruise.io/timestamp", ago(d).Format(time.RFC3339))(p)
	}
}

// preparing was made not ready for its update in place.
func preparing(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: *mark(time.Hour),
	}, corev1.PodCondition{
		Type: "InPlaceUpdateReady", Status: corev1.ConditionFalse, LastTransitionTime: *mark(0),
	})
}

// sayOutage is the outage in a few words.
func sayOutage(out outage.Outage) string {
	text := "up"
	switch {
	case out.Departing && out.Out:
		text = "departing"
	case out.Departing:
		text = "departing, but not out"
	case out.Out:
		text = "out"
	}
	if !out.Since.IsZero() {
		text += fmt.Sprintf(" for %v", noon().Sub(out.Since))
	}
	if out.Draining {
		text += ", draining"
		if !out.DrainingSince.IsZero() {
			text += fmt.Sprintf(" for %v", noon().Sub(out.DrainingSince))
		}
	}
	return text
}
