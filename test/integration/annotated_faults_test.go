package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/controller"
	"github.com/daemonplan/daemonplan/rollout"
)

// What cannot be had, or read, is refused by name; nothing is done, and nothing is written twice.
func (w *annotated) refuses() {
	sent := w.install(`{}`)
	w.change(tag("v2"), strategy(`{"paused": true}`))
	w.updated(0, "Paused")
	for _, test := range []struct {
		annotation string
		why        []string
	}{
		{`{"maxUnavailble": 2}`, []string{controller.StrategyAnnotation, "maxUnavailble"}},
		{`{"maxUnavailable": 2, "MaxSurge": 1, "pause": true}`, []string{controller.StrategyAnnotation, "MaxSurge", "pause"}},
		{`{"maxSurge": 1}`, []string{controller.StrategyAnnotation + "].maxSurge"}},
		{`{"canary": {}}`, []string{controller.StrategyAnnotation + "].canary"}},
		{`{"holdRevision": true}`, []string{controller.StrategyAnnotation + "].holdRevision"}},
		{`{"frozen": true}`, []string{controller.StrategyAnnotation + "].frozen"}},
		{`{"partitionedScaling": true, "partition": 1}`, []string{controller.StrategyAnnotation + "].partitionedScaling"}},
		{`{"maxSurge": 1, "canary": {}, "frozen": true, "holdRevision": true, "partitionedScaling": true}`,
			[]string{"].maxSurge", "].canary", "].frozen", "].holdRevision", "].partitionedScaling"}},
		{`{"maxUnavailable": "many"}`, []string{"maxUnavailable", "many"}},
		{`{"method": "InPlace"}`, []string{"method", "InPlace"}},
		{`{"slowStart": {"interval": "soon"}}`, []string{controller.StrategyAnnotation, "soon"}},
		{`maxUnavailable: 2`, []string{controller.StrategyAnnotation}},
		{``, []string{controller.StrategyAnnotation}},
	} {
		w.change(strategy(test.annotation), nothingSaid)
		w.invalid(test.why...)
		before := sent.sets.Load()
		w.stays("no writes", 300*time.Millisecond, func() error {
			if n := sent.sets.Load() - before; n > 0 {
				return fmt.Errorf("with %s, %d more times", test.annotation, n)
			}
			return nil
		})
	}
	if created, deleted, _ := w.counts(); created != 0 || deleted != 0 || sent.deletes.Load() != 0 {
		w.Errorf("%d pods created, %d deleted; want none", created, deleted)
	}
	w.eventually("an event that says why", func() error {
		for _, warning := range w.warnings() {
			if strings.Contains(warning, "Invalid: ") && strings.Contains(warning, "maxUnavailble") {
				return nil
			}
		}
		return fmt.Errorf("there is none in %q", w.warnings())
	})
	w.change(strategy(`{"maxUnavailable": 2}`))
	w.rolledOut(6)
	w.endedSoundly(6, 2)
}

// With RollingUpdate the DaemonSet controller replaces the pods, and we none.
func (w *annotated) leavesRollingUpdates() {
	sent := w.install(`{"maxUnavailable": 2}`)
	w.change(tag("v2"), func(ds *appsv1.DaemonSet) { ds.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType })
	w.invalid("spec.updateStrategy.type", "OnDelete")
	w.eventually("the DaemonSet controller updates 6 nodes", func() error {
		ds := w.current()
		if s := ds.Status; s.ObservedGeneration != ds.Generation || s.UpdatedNumberScheduled != 6 || s.NumberAvailable != 6 {
			return fmt.Errorf("generation %d of %d, %d updated, %d available", s.ObservedGeneration, ds.Generation,
				s.UpdatedNumberScheduled, s.NumberAvailable)
		}
		return nil
	})
	if sent.deletes.Load()+sent.pods.Load() != 0 {
		w.Errorf("our controller has sent %v", sent)
	}
	w.endedSoundly(6, 1)
	w.change(tag("v3"), func(ds *appsv1.DaemonSet) { ds.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType })
	w.rolledOut(6)
	if n := sent.deletes.Load(); n != 6 {
		w.Errorf("back at OnDelete our controller has deleted %d pods, want 6", n)
	}
}

// Without the annotation the DaemonSet is nobody's but the DaemonSet controller's, also in the middle of a rollout.
func (w *annotated) stopsWithoutAnnotation() {
	w.install(`{"maxUnavailable": 1, "partition": 3}`)
	w.change(tag("v2"))
	w.updated(3, "")
	w.change(func(ds *appsv1.DaemonSet) { delete(ds.Annotations, controller.StrategyAnnotation) })
	w.change(tag("v3"))
	w.eventually("the DaemonSet controller has seen the template", func() error {
		if ds := w.current(); ds.Status.ObservedGeneration != ds.Generation {
			return fmt.Errorf("generation %d of %d", ds.Status.ObservedGeneration, ds.Generation)
		}
		return nil
	})
	w.stands(0)
	w.change(strategy(`{"maxUnavailable": 2}`))
	w.rolledOut(6)
	w.endedSoundly(9, 2)
}

// A DaemonSet of the same name is another one: it begins anew, while the pods of the one before it go.
func (w *annotated) rollsOutNamesake() {
	w.install(`{"maxUnavailable": 2}`)
	w.change(tag("v2"))
	w.begun()
	before := w.pods()
	if err := w.Delete(w.Context(), w.current(), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		w.Fatal(err)
	}
	w.set(`{"maxUnavailable": 2}`, tag("v3"))
	w.rolledOut(6)
	w.eventually("the pods of the one before are gone", func() error {
		for node, pod := range w.pods() {
			if old := before[node]; old != nil && old.UID == pod.UID || pod.Spec.Containers[0].Image != "registry.example/agent:v3" {
				return fmt.Errorf("%s is there", pod.Name)
			}
		}
		return nil
	})
	w.audit.Begin()
	w.change(tag("v4"))
	w.rolledOut(6)
	w.endedSoundly(6, 2)
	w.noWarnings()
}

// A DaemonSet that leaves its pods behind is followed by one that adopts them, with both controllers at it at the same time; they
// are outdated, and are replaced within the budget.
func (w *annotated) adoptsOrphans() {
	w.install(`{"maxUnavailable": 2}`)
	if err := w.Delete(w.Context(), w.current(), client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		w.Fatal(err)
	}
	w.waitFor("the DaemonSet goes without its pods", w.podsText, func() error {
		var ds appsv1.DaemonSet
		err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "agent"}, &ds)
		if err == nil {
			return fmt.Errorf("it is there")
		}
		return client.IgnoreNotFound(err)
	})
	w.set(`{"maxUnavailable": 2}`, tag("v2"))
	w.rolledOut(6)
	w.endedSoundly(6, 2)
	for node, pod := range w.pods() {
		if !metav1.IsControlledBy(pod, w.current()) {
			w.Errorf("%s: pod %s is not the set's", node, pod.Name)
		}
	}
	w.noWarnings()
}

// A controller that dies between any two calls is followed by one that knows what the API server shows.
func (w *annotated) survivesDeath() {
	w.set(`{"maxUnavailable": 2, "method": "InPlaceIfPossible"}`, gate)
	stop := w.runOurs()
	w.rolledOut(6)
	stop()
	w.audit.Begin()
	before := w.pods()
	w.change(tag("v2"))
	for n, done := 1, false; !done; n++ {
		m := newMortal(1+n%3, n%2 == 0)
		stop := w.runOurs(through(m.transport))
		for dead := false; !dead && !done; {
			select {
			case <-m.dead:
				dead = true
			case <-time.After(100 * time.Millisecond):
				ds := w.current()
				done = ds.Status.UpdatedNumberScheduled == 6 && ds.Status.NumberAvailable == 6 &&
					ds.Annotations[controller.StateAnnotation] == "Running"
			}
		}
		stop()
		if n > 60 {
			w.Fatalf("no end after %d controllers\n%s", n, w.describe())
		}
	}
	if created, deleted, peak := w.counts(); created != 0 || deleted != 0 || peak > 2 {
		w.Errorf("%d pods created, %d deleted, %d nodes without a serving pod at a time; want 0, 0 and at most 2", created, deleted, peak)
	}
	for node, pod := range w.pods() {
		if pod.UID != before[node].UID {
			w.Errorf("node %s has another pod than before", node)
		}
	}
}

// The memory is in the object: a controller that follows goes on with the rollout that the one before it began.
func (w *annotated) remembers() {
	w.set(`{"maxUnavailable": 2, "partition": 3}`)
	stop := w.runOurs()
	w.rolledOut(6)
	w.audit.Begin()
	w.change(tag("v2"))
	w.updated(3, "")
	began := w.memory().Rollout
	stop()
	time.Sleep(time.Second) // times in the memory have whole seconds
	w.change(strategy(`{"maxUnavailable": 2}`))
	w.runOurs()
	w.rolledOut(6)
	w.endedSoundly(6, 2)
	if now := w.memory().Rollout; began.Began.IsZero() || now.Revision != began.Revision || !now.Began.Equal(began.Began) {
		w.Errorf("the second controller remembers %+v, the first wrote %+v", now, began)
	}
}

func (w *annotated) memory() (memory rollout.Memory) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.current().Annotations[controller.MemoryAnnotation]), &memory); err != nil {
		w.Fatal(err)
	}
	return memory
}

// While there is nobody who creates pods of the new template, none of the old one is deleted: not before the DaemonSet controller
// has seen the template, and no more than the budget when it is lost in the middle.
func (w *annotated) waitsForDaemonSetController() {
	sent := w.install(`{"maxUnavailable": 2}`)
	without := func(happens func()) {
		w.Helper()
		w.theirs.process.Stop()
		before := sent.actions()
		happens()
		w.stays("no pod is touched", 2*time.Second, func() error {
			if sent.actions() != before {
				return fmt.Errorf("our controller has sent %v", sent)
			}
			return nil
		})
		w.theirs.start(w.T)
	}
	without(func() { w.change(tag("v2")) })
	w.eventually("a pod is replaced", func() error {
		if sent.deletes.Load() == 0 {
			return fmt.Errorf("none is deleted")
		}
		return nil
	})
	w.theirs.process.Stop()
	w.stays("two nodes at most", 2*time.Second, func() error {
		if peak := w.audit.Counts().Peak; peak > 2 {
			return fmt.Errorf("%d nodes were without a serving pod", peak)
		}
		return nil
	})
	w.theirs.start(w.T)
	w.rolledOut(6)
	w.endedSoundly(6, 2)

	w.audit.Begin()
	w.change(tag("v3"), strategy(`{"maxUnavailable": 2, "partition": 3}`))
	w.updated(3, "")
	without(func() {
		w.change(tag("v4"))
		w.change(tag("v3"), strategy(`{"maxUnavailable": 2}`)) // whose revision is there, and is the newest
	})
	w.rolledOut(6)
	w.endedSoundly(6, 2)

	// Nor is anything done that is the DaemonSet controller's, though it is late.
	without(func() {
		w.editNode(w.node(0), func(n *corev1.Node) { delete(n.Labels, "world") })
		if err := w.Delete(w.Context(), w.pods()[w.node(1)]); err != nil {
			w.Fatal(err)
		}
	})
	w.rolledOut(5)
}

// Late caches make nothing happen twice, whichever of them it is.
func (w *annotated) hasLateCaches() {
	w.set(`{"maxUnavailable": 2}`)
	for i, test := range []struct {
		late []string
		lost bool // a pod is, and comes back before the late caches show the template
	}{
		{late: []string{"/pods"}},
		{late: []string{"/daemonsets"}, lost: true},
		{late: []string{"/controllerrevisions"}, lost: true},
		{late: []string{"/daemonsets", "/controllerrevisions"}, lost: true},
	} {
		w.change(nothingSaid)
		stop := w.runOurs(through(laggingOn(2*time.Second, test.late...)))
		w.rolledOut(6)
		w.audit.Begin()
		w.change(tag(fmt.Sprint("late", i)))
		if test.lost {
			if err := w.Delete(w.Context(), w.pods()[w.node(3)]); err != nil {
				w.Fatal(err)
			}
		}
		w.rolledOut(6)
		stop()
		if w.endedSoundly(6, 2); w.Failed() {
			w.Fatalf("with late watches of %v", test.late)
		}
	}
	w.noWarnings()
}

// laggingOn holds back what watches of these resources say.
func laggingOn(by time.Duration, resources ...string) transport {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" &&
			slices.ContainsFunc(resources, func(r string) bool { return strings.HasSuffix(request.URL.Path, r) }) {
			response.Body = late(response.Body, by)
		}
		return response, err
	}
}

// Two controllers that write into one object do not keep each other awake, neither when all is done nor when nodes wait.
func (w *annotated) isStill() {
	sent := w.install(`{"maxUnavailable": 2, "partition": 3}`)
	w.change(tag("v2"))
	w.updated(3, "")
	for _, state := range []string{"with nodes that wait", "with all done"} {
		time.Sleep(time.Second) // what is on its way arrives
		before, ds := sent.String(), w.current()
		versions := map[string]string{}
		for node, pod := range w.pods() {
			versions[node] = pod.ResourceVersion
		}
		time.Sleep(5 * time.Second)
		if after := sent.String(); after != before {
			w.Errorf("%s, our controller has sent %s, and 5 seconds later %s", state, before, after)
		}
		if now := w.current(); now.ResourceVersion != ds.ResourceVersion {
			w.Errorf("%s, the DaemonSet was written to within 5 seconds: %v", state, now.Annotations)
		}
		for node, pod := range w.pods() {
			if pod.ResourceVersion != versions[node] {
				w.Errorf("%s, pod %s was written to within 5 seconds", state, pod.Name)
			}
		}
		w.change(strategy(`{"maxUnavailable": 2}`))
		w.rolledOut(6)
	}
}
