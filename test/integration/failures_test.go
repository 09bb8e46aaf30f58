package integration_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
	"github.com/daemonplan/daemonplan/test/integration/auditor"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// v2 works on all nodes but one. Two nodes may be unavailable, so that the one alone does not stop the rollout. But as it does
// not come up in time, the revision is given up, and all nodes go back (F3). A retry revives it.
func TestFailures(t *testing.T) {
	for _, test := range []struct {
		name     string
		behavior kubelet.Behavior
		method   string
	}{
		{"Crashes", kubelet.Crashes, "Recreate"},
		{"Fails", kubelet.Fails, "Recreate"},
		{"InPlace", kubelet.StaysUnready, "InPlaceIfPossible"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 8)
			broken := w.node(7)
			w.breaks(broken, test.behavior)
			verdict := &verdict{}
			w.audit.Always(verdict.isObeyed)
			w.set(oneByOne, failures("Rollback"), func(s *v1alpha1.PlannedDaemonSet) {
				s.Spec.UpdateStrategy.Method = test.method
			})
			stop := w.runController()
			w.settled(8)

			w.change(image("v2"))
			w.isRolledBack(broken)
			if reason := w.isMarked(history.FailedAnnotation); reason != "TooManyFailures" {
				t.Errorf("the revision has the mark %q, want TooManyFailures", reason)
			}
			if text := w.isMarked(history.FailedMessageAnnotation); text != "1 node failed, at most 0 may: "+broken {
				t.Errorf("the mark says %q", text)
			}

			// The mark is enough: a controller that has forgotten everything does not begin anew.
			stop()
			w.forgets()
			w.runController()
			w.isRolledBack(broken)
			w.stays("no node with v2", time.Second, func() error {
				if n := w.running("v2"); n > 0 {
					return fmt.Errorf("%d", n)
				}
				return nil
			})
			w.sound()

			// The node is mended.
			w.breaks("", test.behavior)
			verdict.retried.Store(true)
			w.change(func(s *v1alpha1.PlannedDaemonSet) {
				maxUnavailable("100%")(s)
				s.Spec.UpdateStrategy.Policy.Failures.Retry = s.Status.UpdateRevision
			})
			w.settled(8)
			w.runs(newImage, slices.Collect(maps.Keys(w.pods()))...)
			w.isMarked(history.RetriedAnnotation)
			for _, revision := range w.revisions() {
				if reason, failed := revision.Annotations[history.FailedAnnotation]; failed {
					t.Errorf("%s still has the mark %q", revision.Name, reason)
				}
			}
			w.sound()
		})
	}
}

// The rule of TestFailures notices a rollout that goes on, and one that begins anew.
func TestFailuresAreNoticed(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy func(*v1alpha1.PlannedDaemonSet)
		// again: somebody goes back by hand, and tries it once more.
		again  bool
		broken string
	}{
		{"NoPolicy", func(*v1alpha1.PlannedDaemonSet) {}, false, "7 of 8 nodes got v2"},
		{"NoRollback", failures("Pause"), true, "got v2 after"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 8)
			w.breaks(w.node(7), kubelet.Crashes)
			w.audit.Always((&verdict{}).isObeyed)
			w.set(oneByOne, test.policy)
			w.runController()
			w.settled(8)
			w.change(image("v2"))
			if test.again {
				w.eventually("nothing is begun", func() error {
					if s := w.current().Status; s.State != "Stuck" || s.Reason != "TooManyFailures" {
						return fmt.Errorf("%s %s", s.State, s.Reason)
					}
					return nil
				})
				w.sound()
				w.change(image("v1"))
				w.settled(8)
				w.change(image("v2"))
			}
			w.eventually(fmt.Sprintf("%q is seen", test.broken), func() error {
				if err := w.audit.Sound(); err == nil || !strings.Contains(err.Error(), test.broken) {
					return fmt.Errorf("%w", err)
				}
				return nil
			})
		})
	}
}

// oneByOne goes on with the next node a second after the last one got ready.
func oneByOne(s *v1alpha1.PlannedDaemonSet) {
	s.Spec.MinReadySeconds, s.Spec.UpdateStrategy.MaxUnavailable = 1, new(intstr.FromInt32(2))
}

// failures gives the set a policy that tolerates no failed node.
func failures(action string) func(*v1alpha1.PlannedDaemonSet) {
	return func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.UpdateStrategy.Policy = &v1alpha1.Policy{Failures: &v1alpha1.Failures{
			Deadline: &v1alpha1.Duration{Duration: metav1.Duration{Duration: 2 * time.Second}}, Action: action,
		}}
	}
}

// breaks has the pods of v2 behave so on the node, and all others get ready.
func (w *world) breaks(node string, behavior kubelet.Behavior) {
	behaviors.Store(w.namespace, func(pod *corev1.Pod) kubelet.Behavior {
		if pod.Spec.NodeName == node && pod.Spec.Containers[0].Image == newImage {
			return behavior
		}
		return kubelet.GetsReady
	})
	w.Cleanup(func() { behaviors.Delete(w.namespace) })
}

// isRolledBack waits until all nodes run v1 again, and the status says why.
func (w *world) isRolledBack(failed string) {
	w.Helper()
	w.eventually("all nodes go back", func() error {
		set := w.current()
		s := set.Status
		if s.ObservedGeneration != set.Generation || s.State != "RolledBack" || s.Reason != "TooManyFailures" ||
			s.NumberAvailable != 8 || s.UpdatedNumberScheduled != 0 {
			return fmt.Errorf("generation %d of %d, %s %s, %d available, %d updated", s.ObservedGeneration, set.Generation,
				s.State, s.Reason, s.NumberAvailable, s.UpdatedNumberScheduled)
		}
		return nil
	})
	w.runs(oldImage, slices.Collect(maps.Keys(w.pods()))...)
	c := meta.FindStatusCondition(w.current().Status.Conditions, status.ConditionProgressing)
	if c == nil || c.Reason != "TooManyFailures" || !strings.Contains(c.Message, "1 node failed, at most 0 may: "+failed) {
		w.Errorf("the condition is %+v, want one that names %s", c, failed)
	}
}

// verdict is what is seen of v2 on the nodes of a world.
type verdict struct {
	has, had map[string]bool // nodes with a pod of v2: in the state before, and ever
	back     string          // the first node that got v1 again
	retried  atomic.Bool     // whether v2 may come to all nodes
}

// isObeyed is the rule that v2 does not come to all nodes, as long as nobody has retried it, and to none once the first has gone
// back. Until the deadline of two seconds three or four are begun: two at first, and as the broken one takes one place up, one
// more in each second.
func (v *verdict) isObeyed(now auditor.Instant) error {
	if v.retried.Load() {
		return nil
	}
	if v.had == nil {
		v.had = map[string]bool{}
	}
	has := map[string]bool{}
	for _, node := range slices.Sorted(maps.Keys(now.Images)) {
		switch images := now.Images[node]; {
		case slices.Contains(images, newImage) && !v.has[node] && v.back != "":
			return fmt.Errorf("%s got v2 after %s had gone back", node, v.back)
		case slices.Contains(images, newImage):
			has[node], v.had[node] = true, true
		case slices.Contains(images, oldImage) && v.had[node] && v.back == "":
			v.back = node
		}
	}
	if v.has = has; len(v.had) > 6 {
		return fmt.Errorf("%d of 8 nodes got v2, although it does not work on one of them", len(v.had))
	}
	return nil
}
