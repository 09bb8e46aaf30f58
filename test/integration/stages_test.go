package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/test/integration/auditor"
)

const (
	ringLabel = "example.com/ring"
	// soak of ring 0. Whole seconds, as the time stamps of the API have.
	soak               = 2 * time.Second
	oldImage, newImage = "registry.example/agent:v1", "registry.example/agent:v2"
)

// Ring 0 soaks, ring 1 needs an approval, and the rest follows (T8). Meanwhile pods are lost, a node joins, and the controller
// starts anew, with and without its memory.
func TestStages(t *testing.T) {
	for _, test := range []struct {
		name   string
		method string
		access []func(*rest.Config)
	}{
		{"Recreate", "Recreate", nil},
		{"InPlace", "InPlaceIfPossible", nil},
		{"WatchLag", "Recreate", []func(*rest.Config){through(lagging(300 * time.Millisecond))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 8)
			rings := w.rings()
			w.audit.Always(rings.areOpened)
			w.set(maxUnavailable("100%"), stages(ring0, ring1), func(s *v1alpha1.PlannedDaemonSet) {
				s.Spec.UpdateStrategy.Method = test.method
			})
			stop := w.runController(test.access...)
			w.settled(8)
			w.isMarked(history.CompletedAnnotation)
			first := w.current().Status.UpdateRevision

			w.change(image("v2"))
			w.ring0IsDone(time.Time{})
			before := w.frontier()
			stop()
			stop = w.runController(test.access...)
			w.needsApproval()
			if after := w.frontier(); !after.At.Equal(before.At) {
				t.Errorf("ring 0 is done since %v, want what the memory says: %v", after.At, before.At)
			}
			if s := w.current().Status; s.State != "Paused" || s.Reason != "ApprovalNeeded" || s.UpdatedNumberScheduled != 2 {
				t.Errorf("%s %s, %d updated, want Paused ApprovalNeeded and the two of ring 0", s.State, s.Reason,
					s.UpdatedNumberScheduled)
			}
			w.showsWhatWaits("stage ring-1 comes first, and needs an approval for this revision")

			// What is lost comes back as it was, and what joins gets the base.
			w.loses(w.node(2), w.node(7))
			w.addNode(rings.joining, func(n *corev1.Node) { n.Labels[ringLabel] = "1" })
			w.runs(oldImage, w.node(2), w.node(7), rings.joining)

			// An approval of another revision opens nothing.
			w.change(approve("ring-1", first))
			w.observed()

			// What is forgotten is on the revision: no soak begins anew (P-C).
			stop()
			w.forgets()
			w.runController(test.access...)
			w.ring0IsDone(time.Time{})
			w.needsApproval()
			if after := w.frontier(); !after.At.Equal(before.At) {
				t.Errorf("the memory was lost, and ring 0 is done since %v, want what the revision says: %v", after.At, before.At)
			}
			w.sound()

			rings.approved.Store(true)
			w.change(approve("ring-1", w.current().Status.UpdateRevision))
			w.settled(9)
			w.isMarked(history.CompletedAnnotation)
			w.sound()
			if err := rings.haveSoaked(w.pods(), before.At, soak); err != nil {
				t.Error(err)
			}

			// A rollback to a revision that was completed has no stages: the approval in the spec is not of that one.
			w.change(image("v1"))
			w.settled(9)
			w.runs(oldImage, slices.Collect(maps.Keys(w.pods()))...)
			w.sound()
		})
	}
}

// The rules of TestStages notice what no stage forbids.
func TestStagesAreNoticed(t *testing.T) {
	noSoak, noApproval := ring0, ring1
	noSoak.Soak, noApproval.Approval = nil, false
	for _, test := range []struct {
		name     string
		stages   []v1alpha1.Stage
		approved bool
		broken   string
	}{
		{"NoStages", nil, true, "has v2 before ring 0 is done"},
		{"OneRing", []v1alpha1.Stage{ring0}, true, "has v2 before ring 1 is done"},
		{"NoApproval", []v1alpha1.Stage{ring0, noApproval}, false, "has v2 without an approval"},
		{"NoSoak", []v1alpha1.Stage{noSoak, noApproval}, true, "after ring 0 was done, and it soaks for 1m0s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 8)
			rings := w.rings()
			rings.approved.Store(test.approved)
			w.audit.Always(rings.areOpened)
			w.set(maxUnavailable("100%"), stages(test.stages...))
			w.runController()
			w.settled(8)
			w.sound()
			w.change(image("v2"))
			w.settled(8)
			w.counts()
			err := errors.Join(w.audit.Sound(), rings.haveSoaked(w.pods(), time.Time{}, time.Minute))
			if err == nil || !strings.Contains(err.Error(), test.broken) {
				t.Errorf("%v, want that %q was seen", err, test.broken)
			}
		})
	}
}

// The stages of TestStages; the nodes of no ring come last.
var (
	ring0 = v1alpha1.Stage{
		Name: "ring-0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{ringLabel: "0"}},
		Soak: &v1alpha1.Duration{Duration: metav1.Duration{Duration: soak}},
	}
	ring1 = v1alpha1.Stage{
		Name: "ring-1", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{ringLabel: "1"}}, Approval: true,
	}
)

// stages gives the set a policy with these; none: no policy.
func stages(list ...v1alpha1.Stage) func(*v1alpha1.PlannedDaemonSet) {
	return func(s *v1alpha1.PlannedDaemonSet) {
		if len(list) > 0 {
			s.Spec.UpdateStrategy.Policy = &v1alpha1.Policy{Stages: list}
		}
	}
}

// approve has this approval in the set, and no other.
func approve(name, revision string) func(*v1alpha1.PlannedDaemonSet) {
	return func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.UpdateStrategy.Policy.Approved = []v1alpha1.Approval{{Stage: name, Revision: revision}}
	}
}

// rings are the nodes of a world by ring, and what is known of the rollout of v2 on them.
type rings struct {
	of       map[string]string // ring by node; "2": none
	joining  string            // a node of ring 1 that is not there yet
	done     map[string]bool   // by ring
	approved atomic.Bool       // whether the approval of ring 1 may be in the set
}

// rings labels the first eight nodes. Nodes whose names come last, and which would be updated first, are of the last part.
func (w *world) rings() *rings {
	w.Helper()
	of := []string{"0", "0", "1", "1", "1", "2", "2", "2"}
	byNode := w.label(len(of), ringLabel, func(i int) string { return of[i] })
	return &rings{of: byNode, joining: w.namespace + "-more", done: map[string]bool{}}
}

// areOpened is the rule that v2 is on nodes of ring 1 only when ring 0 is done and ring 1 approved, and on the rest only when
// ring 1 is done.
func (r *rings) areOpened(now auditor.Instant) error {
	for _, ring := range []string{"0", "1"} {
		r.done[ring] = r.done[ring] || r.isDone(ring, now)
	}
	for _, node := range slices.Sorted(maps.Keys(now.Images)) {
		switch ring := r.ringOf(node); {
		case ring == "0" || !slices.Contains(now.Images[node], newImage):
		case !r.done["0"]:
			return fmt.Errorf("%s of ring %s has v2 before ring 0 is done", node, ring)
		case !r.approved.Load():
			return fmt.Errorf("%s of ring %s has v2 without an approval", node, ring)
		case ring == "2" && !r.done["1"]:
			return fmt.Errorf("%s of ring %s has v2 before ring 1 is done", node, ring)
		}
	}
	return nil
}

func (r *rings) ringOf(node string) string {
	if node == r.joining {
		return "1"
	}
	return r.of[node]
}

// isDone tells whether v2 serves on all nodes of the ring.
func (r *rings) isDone(ring string, now auditor.Instant) bool {
	for node, of := range r.of {
		if of == ring && (!slices.Equal(now.Images[node], []string{newImage}) || slices.Contains(now.Disturbed, node)) {
			return false
		}
	}
	return true
}

// haveSoaked reports a node that was begun before ring 0 had soaked, for so many whole seconds since it was done and since that
// instant. All time stamps are in whole seconds, rounded down, so that a node that was begun in time never looks as if it was not.
func (r *rings) haveSoaked(pods map[string]*corev1.Pod, since time.Time, soak time.Duration) error {
	done := since.Truncate(time.Second)
	for node, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if r.ringOf(node) == "0" && c.Type == corev1.PodReady && c.LastTransitionTime.After(done) {
				done = c.LastTransitionTime.Time
			}
		}
	}
	for _, node := range slices.Sorted(maps.Keys(pods)) {
		began := pods[node].CreationTimestamp.Time
		state, err := inplace.StateOf(pods[node])
		if err != nil {
			return err
		}
		if state != nil && state.UpdateTimestamp.After(began) {
			began = state.UpdateTimestamp.Time
		}
		if r.ringOf(node) != "0" && began.Sub(done) < soak {
			return fmt.Errorf("%s got v2 %v after ring 0 was done, and it soaks for %v", node, began.Sub(done), soak)
		}
	}
	return nil
}

// frontier is how far the stages are, in the memory that the status holds.
func (w *world) frontier() stage.Frontier {
	w.Helper()
	return w.current().Status.RolloutMemory().Rollout.Frontier
}

// ring0IsDone waits until the memory says that it is done, since an instant after this one.
func (w *world) ring0IsDone(after time.Time) {
	w.Helper()
	w.eventually("ring 0 is done", func() error {
		if f := w.frontier(); f.Stage != "ring-0" || !f.At.After(after) {
			return fmt.Errorf("the memory has %+v", f)
		}
		return nil
	})
}

// needsApproval waits until ring 1 needs one. It does not before ring 0 has soaked.
func (w *world) needsApproval() {
	w.Helper()
	w.waiting("stage ring-1 needs an approval for this revision")
	if since := time.Since(w.frontier().At); since < soak {
		w.Errorf("ring 0 soaks for %v, and ring 1 only lacks its approval after %v", soak, since)
	}
}

// forgets takes the memory out of the status.
func (w *world) forgets() {
	w.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status": {"memory": null}}`))
	if err := w.Status().Patch(w.Context(), w.current(), patch); err != nil {
		w.Fatal(err)
	}
}

// isMarked waits until the update revision has the mark, and returns its value.
func (w *world) isMarked(annotation string) (value string) {
	w.Helper()
	w.eventually("a mark "+annotation, func() error {
		update := w.current().Status.UpdateRevision
		for _, revision := range w.revisions() {
			if value = revision.Annotations[annotation]; value != "" && strings.HasSuffix(revision.Name, "-"+update) {
				return nil
			}
		}
		return fmt.Errorf("revision %s has none", update)
	})
	return value
}

// loses deletes the pods of these nodes, and waits until they are gone.
func (w *world) loses(nodes ...string) {
	w.Helper()
	pods := w.pods()
	for _, node := range nodes {
		if err := w.Delete(w.Context(), pods[node]); err != nil {
			w.Fatal(err)
		}
	}
	w.eventually("deleted pods are gone", func() error {
		for _, node := range nodes {
			if has(w.pods(), pods[node]) {
				return fmt.Errorf("%s is there", pods[node].Name)
			}
		}
		return nil
	})
}

// runs waits until the nodes have pods with the image that serve.
func (w *world) runs(image string, nodes ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%q run %s", nodes, image), func() error {
		pods := w.pods()
		for _, node := range nodes {
			switch pod := pods[node]; {
			case pod == nil || pod.DeletionTimestamp != nil || !lifecycle.Ready(pod):
				return fmt.Errorf("%s has no pod that serves", node)
			case pod.Spec.Containers[0].Image != image:
				return fmt.Errorf("%s has %s", node, pod.Spec.Containers[0].Image)
			}
		}
		return nil
	})
}

// showsWhatWaits sees to it that the columns of kubectl get -o wide tell this.
func (w *world) showsWhatWaits(text string) {
	w.Helper()
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	path := fmt.Sprintf("/apis/%s/namespaces/%s/planneddaemonsets/agent", v1alpha1.GroupVersion, w.namespace)
	const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	data, err := api.RESTClient().Get().AbsPath(path).SetHeader("Accept", asTable).DoRaw(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		w.Fatal(err)
	}
	column := slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == "Waiting" })
	if column < 0 || len(table.Rows) != 1 || !strings.Contains(fmt.Sprint(table.Rows[0].Cells[column]), text) {
		w.Errorf("the columns are %s, want one that says %q", data, text)
	}
}
