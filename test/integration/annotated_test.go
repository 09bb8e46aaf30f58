package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/controller"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// A DaemonSet of apps/v1 with the annotation is rolled out by two controllers: the real one creates its pods, ours replaces them.
func TestAnnotated(t *testing.T) {
	c := startReal(t, "kube-controller-manager", &kubelet.Agent{})
	theirs := &daemonSetController{cluster: c}
	theirs.start(t)
	for _, test := range []struct {
		name string
		run  func(*annotated)
	}{
		{"Rollout", (*annotated).rollsOut},
		{"Partition", (*annotated).holdsPartition},
		{"Paused", (*annotated).pauses},
		{"NodeSelector", (*annotated).holdsNodes},
		{"InPlace", (*annotated).updatesInPlace},
		{"Rollback", (*annotated).rollsBack},
		{"Broken", (*annotated).stopsAtBroken},
		{"Nodes", (*annotated).nodesComeAndGo},
		{"Refused", (*annotated).refuses},
		{"RollingUpdate", (*annotated).leavesRollingUpdates},
		{"Removed", (*annotated).stopsWithoutAnnotation},
		{"Namesake", (*annotated).rollsOutNamesake},
		{"Orphans", (*annotated).adoptsOrphans},
		{"Killed", (*annotated).survivesDeath},
		{"Restarted", (*annotated).remembers},
		{"NotSeen", (*annotated).waitsForDaemonSetController},
		{"Late", (*annotated).hasLateCaches},
		{"Steady", (*annotated).isStill},
		{"Kubectl", (*annotated).isAdoptedByKubectl},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(&annotated{world: worldOn(t, c, 6), theirs: theirs}) })
	}
}

// daemonSetController is the real one. It can be taken away for a while.
type daemonSetController struct {
	cluster *controlplane.Cluster
	process *controlplane.Process
}

// start also runs the garbage collector, which DaemonSets that are deleted need. The limit of requests is lifted: it is not tested.
func (c *daemonSetController) start(t *testing.T) {
	t.Helper()
	process, err := c.cluster.DaemonSetController("daemonset-controller",
		"--controllers=daemonset-controller,garbage-collector-controller", "--kube-api-qps=1000", "--kube-api-burst=1000")
	if err != nil {
		t.Fatal(err)
	}
	c.process = process
}

// annotated is a world with a DaemonSet in it.
type annotated struct {
	*world
	theirs *daemonSetController
}

// install makes a DaemonSet with a strategy, runs our controller, and waits for the pods.
func (w *annotated) install(strategy string, change ...func(*appsv1.DaemonSet)) *requests {
	w.Helper()
	w.set(strategy, change...)
	sent := &requests{}
	w.runOurs(through(sent.count))
	w.rolledOut(6)
	w.audit.Begin()
	return sent
}

// runOurs starts the example's controller for DaemonSets.
func (w *annotated) runOurs(tweak ...func(*rest.Config)) (stop func()) {
	w.Helper()
	return w.runAs(manner{kind: controller.Annotated{}}, slices.Insert(tweak, 0, on(w.theirs.cluster))...)
}

// set makes a DaemonSet on the nodes of this world.
func (w *annotated) set(strategy string, change ...func(*appsv1.DaemonSet)) {
	w.Helper()
	w.create(w.daemonSet(strategy, change...))
}

// daemonSet is what set makes.
func (w *annotated) daemonSet(strategy string, change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "agent", Namespace: w.namespace, Annotations: map[string]string{controller.StrategyAnnotation: strategy},
	}}
	ds.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	ds.Spec.Template.Labels = map[string]string{"app": "agent"}
	ds.Spec.Template.Spec.NodeSelector = map[string]string{"world": w.namespace}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v1"}}
	ds.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(1))
	for _, f := range change {
		f(ds)
	}
	return ds
}

func (w *annotated) current() *appsv1.DaemonSet {
	w.Helper()
	var ds appsv1.DaemonSet
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "agent"}, &ds); err != nil {
		w.Fatal(err)
	}
	return &ds
}

// change edits the DaemonSet as a user does.
func (w *annotated) change(edit ...func(*appsv1.DaemonSet)) {
	w.Helper()
	ds := w.current()
	before := ds.DeepCopy()
	for _, f := range edit {
		f(ds)
	}
	if err := w.Patch(w.Context(), ds, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func tag(tag string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) {
		ds.Spec.Template.Spec.Containers[0].Image = "registry.example/agent:" + tag
	}
}

func strategy(text string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) { ds.Annotations[controller.StrategyAnnotation] = text }
}

// nothingSaid takes off what our controller has said, to see that it says something again.
func nothingSaid(ds *appsv1.DaemonSet) { delete(ds.Annotations, controller.StateAnnotation) }

// gate is what pods need to be updated in place.
func gate(ds *appsv1.DaemonSet) {
	ds.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}}
}

func (w *annotated) eventually(what string, problem func() error) {
	w.Helper()
	w.waitFor(what, w.describe, problem)
}

func (w *annotated) describe() string {
	ds := w.current()
	return fmt.Sprintf("generation %d, annotations %v, status %+v\n%s", ds.Generation, ds.Annotations, ds.Status, w.podsText())
}

// rolledOut waits until both controllers say that all nodes run available pods of the newest template.
func (w *annotated) rolledOut(nodes int32) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d updated nodes", nodes), func() error {
		ds := w.current()
		s := ds.Status
		if s.ObservedGeneration != ds.Generation || s.DesiredNumberScheduled != nodes || s.UpdatedNumberScheduled != nodes ||
			s.NumberAvailable != nodes {
			return fmt.Errorf("the DaemonSet controller says: generation %d of %d, desired %d, updated %d, available %d",
				s.ObservedGeneration, ds.Generation, s.DesiredNumberScheduled, s.UpdatedNumberScheduled, s.NumberAvailable)
		}
		if state := ds.Annotations[controller.StateAnnotation]; state != "Running" {
			return fmt.Errorf("ours says %s", state)
		}
		return nil
	})
}

// begun waits until the first node has a pod of the newest template.
func (w *annotated) begun() {
	w.Helper()
	w.eventually("the rollout begins", func() error {
		ds := w.current()
		if s := ds.Status; s.ObservedGeneration != ds.Generation || s.UpdatedNumberScheduled == 0 {
			return fmt.Errorf("generation %d of %d, %d updated", s.ObservedGeneration, ds.Generation, s.UpdatedNumberScheduled)
		}
		return nil
	})
}

// updated waits until that many nodes are, and all available, and our state begins with a word.
func (w *annotated) updated(nodes int32, state string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d updated nodes, %s", nodes, state), func() error {
		ds := w.current()
		s := ds.Status
		if s.ObservedGeneration != ds.Generation || s.UpdatedNumberScheduled != nodes || s.NumberAvailable != s.DesiredNumberScheduled {
			return fmt.Errorf("generation %d of %d, %d updated, %d available", s.ObservedGeneration, ds.Generation,
				s.UpdatedNumberScheduled, s.NumberAvailable)
		}
		if got := ds.Annotations[controller.StateAnnotation]; !strings.HasPrefix(got, state) {
			return fmt.Errorf("ours says %s", got)
		}
		return nil
	})
}

// stands fails the test if more than so many nodes are updated within a second.
func (w *annotated) stands(updated int32) {
	w.Helper()
	w.stays(fmt.Sprintf("%d updated nodes", updated), time.Second, func() error {
		if n := w.current().Status.UpdatedNumberScheduled; n != updated {
			return fmt.Errorf("%d updated", n)
		}
		return nil
	})
}

// invalid waits until our controller says that it does nothing, and why.
func (w *annotated) invalid(why ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("refused because of %q", why), func() error {
		state := w.current().Annotations[controller.StateAnnotation]
		if !strings.HasPrefix(state, "Invalid: ") {
			return fmt.Errorf("ours says %s", state)
		}
		for _, word := range why {
			if !strings.Contains(state, word) {
				return fmt.Errorf("ours says %s", state)
			}
		}
		return nil
	})
}

// requests are those that change something, counted.
type requests struct {
	sets, pods, deletes, revisions, others atomic.Int64
}

func (r *requests) count(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	path := request.URL.Path
	switch {
	case request.Method == http.MethodGet || strings.Contains(path, "/events"):
	case strings.Contains(path, "/daemonsets"):
		r.sets.Add(1)
	case strings.Contains(path, "/pods") && request.Method == http.MethodDelete:
		r.deletes.Add(1)
	case strings.Contains(path, "/pods"):
		r.pods.Add(1)
	case strings.Contains(path, "/controllerrevisions"):
		r.revisions.Add(1)
	default:
		r.others.Add(1)
	}
	return next.RoundTrip(request)
}

// actions are all but those that only report.
func (r *requests) actions() int64 {
	return r.deletes.Load() + r.pods.Load() + r.revisions.Load() + r.others.Load()
}

func (r *requests) String() string {
	return fmt.Sprintf("%d of sets, %d deletes of pods, %d other of pods, %d of revisions, %d others", r.sets.Load(), r.deletes.Load(),
		r.pods.Load(), r.revisions.Load(), r.others.Load())
}

func init() { removals = append(removals, removalsOfAnnotated...) }

var removalsOfAnnotated = []removal{
	{
		what: "nobody waits until the DaemonSet controller has seen the template", file: "kind.go",
		old:  "ds.Status.ObservedGeneration == ds.Generation && ",
		new:  "",
		test: "TestAnnotated/NotSeen",
	},
	{
		what: "nobody waits for the revision of a template", file: "kind.go",
		old:  "a.Verb == rollout.CreateRevision || a.Verb == rollout.RenumberRevision",
		new:  "false",
		test: "TestAnnotated/Late",
	},
	{
		what: "a late cache is believed about the template", file: "kind.go",
		old:  "seen = now.UID == ds.UID && now.Generation == ds.Generation",
		new:  "_ = now",
		test: "TestAnnotated/Late",
	},
	{
		what: "two controllers create pods", file: "kind.go",
		old:  "plan.Revisions, plan.Creates = nil, nil",
		new:  "plan.Revisions = nil",
		test: "TestAnnotated/Rollout",
	},
	{
		what: "two controllers write revisions", file: "kind.go",
		old:  "plan.Revisions, plan.Creates = nil, nil",
		new:  "plan.Creates = nil",
		test: "TestAnnotated/NotSeen",
	},
	{
		what: "two controllers delete what is not outdated", file: "kind.go",
		old:  "return !slices.Contains(replaces, d.Reason)",
		new:  "return !slices.Contains(replaces, d.Reason) && false",
		test: "TestAnnotated/NotSeen",
	},
	{
		what: "two controllers replace pods", file: "kind.go",
		old:  "if ds.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {",
		new:  "if false {",
		test: "TestAnnotated/RollingUpdate",
	},
	{
		what: "what cannot be had is not refused", file: "kind.go",
		old:  "if field.set {",
		new:  "if false {",
		test: "TestAnnotated/Refused",
	},
	{
		what: "an empty strategy is none", file: "kind.go",
		old:  "	return annotated\n",
		new:  "	return annotated && object.GetAnnotations()[StrategyAnnotation] != \"\"\n",
		test: "TestAnnotated/Refused",
	},
	{
		what: "the memory in the annotation is not read", file: "kind.go",
		old:  "[]byte(ds.Annotations[MemoryAnnotation])",
		new:  "[]byte(\"{}\")",
		test: "TestAnnotated/Restarted",
	},
}
