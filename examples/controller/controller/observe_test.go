package controller

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func storeOf[T client.Object](t *testing.T, objects ...T) toolscache.Indexer {
	t.Helper()
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{
		toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc,
	})
	for _, object := range objects {
		if err := store.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// The plan of a set reads no object again that has not changed.
func TestNothingIsReadTwice(t *testing.T) {
	spec := kit.Spec("agent")
	pods := []*corev1.Pod{
		kit.Pod("agent-a", kit.Of(spec), kit.OnNode("a")),
		kit.Pod("agent-b", kit.Of(spec), kit.OnNode("b")),
		kit.Pod("elsewhere", kit.Of(spec), kit.OnNode("b"), func(p *corev1.Pod) { p.Namespace, p.UID = "elsewhere", "elsewhere" }),
	}
	r := &Reconciler{Clock: clocktesting.NewFakePassiveClock(kit.Noon()), Events: events.NewFakeRecorder(10), Verify: true}
	r.stores = stores{
		nodes: storeOf(t, kit.Nodes("a", "b")...), pods: storeOf(t, pods...), revisions: storeOf(t, kit.Revision(spec, 1)),
	}
	s := r.sets.of(&appsv1.DaemonSet{ObjectMeta: pods[0].ObjectMeta}, "PlannedDaemonSet")
	if err := r.sets.compile(s, spec); err != nil {
		t.Fatal(err)
	}
	s.resumed = true
	read := func() *rollout.Reading {
		t.Helper()
		seen, err := r.observe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		plan, notOurs, err := r.plan(t.Context(), s, seen.Snapshot)
		if err != nil || notOurs != nil || len(plan.Decisions) != 2 || !plan.Empty() {
			t.Fatalf("%v, %v: %+v; want a plan that does nothing on two nodes", err, notOurs, plan)
		}
		return s.carry.Reading
	}
	read()
	before := read()
	if read() != before {
		t.Error("something was read again that has not changed")
	}
	if err := r.stores.pods.Update(pods[0].DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if read() == before {
		t.Error("a pod that has changed was not read")
	}
}

// A cache of some namespaces has an informer for each. Its list of pods is refused at the start.
func TestOpenStores(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"), meta.RESTScopeNamespace)
	open := func(namespaces map[string]cache.Config) error {
		informers, err := cache.New(&rest.Config{}, cache.Options{Scheme: scheme.Scheme, Mapper: mapper, DefaultNamespaces: namespaces})
		if err != nil {
			t.Fatal(err)
		}
		_, err = openStores(t.Context(), informers)
		return err
	}
	if err := open(nil); err != nil {
		t.Error(err)
	}
	if err := open(map[string]cache.Config{"logging": {}}); err == nil || !strings.Contains(err.Error(), "*v1.Pod") {
		t.Errorf("%v, want an error that names the kind", err)
	}
}
