package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimeconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daemonplan/daemonplan/examples/minimal-controller/minimal"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// minimalManifest is a set for the nodes of a world, with an image. With minReadySeconds nothing but the clock says when the next
// pod may be replaced.
const minimalManifest = `apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  minReadySeconds: 1
  updateStrategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 1}
  template:
    metadata:
      labels: {app: agent}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {world: %s}
      containers: [{name: main, image: "registry.example/agent:%s"}]
`

// minimalWorld is a world with a set in a ConfigMap, and the minimal controller of the tutorial.
type minimalWorld struct {
	*world
	seen   client.Reader // what the controller sees
	mutex  sync.Mutex
	logged []string
}

func newMinimalWorld(t *testing.T, nodes int) *minimalWorld {
	t.Helper()
	return &minimalWorld{world: newWorld(t, nodes)}
}

func (w *minimalWorld) manifest(tag string) string {
	return fmt.Sprintf(minimalManifest, w.namespace, tag)
}

// install makes the ConfigMap.
func (w *minimalWorld) install() {
	w.Helper()
	w.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"},
		Data:       map[string]string{"daemonset.yaml": w.manifest("v1")},
	})
}

func (w *minimalWorld) object() *corev1.ConfigMap {
	w.Helper()
	var object corev1.ConfigMap
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "agent"}, &object); err != nil {
		w.Fatal(err)
	}
	return &object
}

// apply writes another manifest.
func (w *minimalWorld) apply(text string) {
	w.Helper()
	object := w.object()
	before := object.DeepCopy()
	object.Data["daemonset.yaml"] = text
	if err := w.Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// run starts the controller; it ends with the test, or when stop is called.
func (w *minimalWorld) run(tweak ...func(*rest.Config)) (stop func()) {
	w.Helper()
	access := rest.CopyConfig(config)
	for _, f := range tweak {
		f(access)
	}
	manager, err := ctrl.NewManager(access, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: runtimeconfig.Controller{SkipNameValidation: new(true)},
		Logger: funcr.New(func(prefix, args string) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.logged = append(w.logged, prefix+" "+args)
		}, funcr.Options{}),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.seen = manager.GetClient()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- minimal.Run(ctx, manager, w.namespace, "agent") }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-stopped; err != nil {
			w.Errorf("the controller ended with %v", err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// log is what the controller has logged so far.
func (w *minimalWorld) log() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return strings.Join(w.logged, "\n")
}

// runs waits until the controller sees one pod on each of so many nodes, available, and of that image: one that is not available
// yet in its cache is nobody's loss, and would be replaced past the budget.
func (w *minimalWorld) runs(tag string, nodes int) {
	w.Helper()
	w.until(fmt.Sprintf("%s on %d nodes", tag, nodes), func() error {
		var list corev1.PodList
		if err := w.seen.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		on := map[string]bool{}
		for i := range list.Items {
			pod := &list.Items[i]
			image := pod.Spec.Containers[0].Image
			if pod.DeletionTimestamp != nil || !lifecycle.Available(pod, 1, time.Now()) || !strings.HasSuffix(image, ":"+tag) {
				return fmt.Errorf("%s on %s runs %s, and is not what is wanted", pod.Name, pod.Spec.NodeName, image)
			}
			on[pod.Spec.NodeName] = true
		}
		if len(on) != nodes || len(list.Items) != nodes {
			return fmt.Errorf("%d pods on %d nodes", len(list.Items), len(on))
		}
		return nil
	})
}

// until waits for something.
func (w *minimalWorld) until(what string, problem func() error) {
	w.Helper()
	for end := time.Now().Add(*patience); ; time.Sleep(50 * time.Millisecond) {
		err := problem()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("%s: %v\n%s", what, err, w.log())
		}
	}
}

func TestMinimal(t *testing.T) {
	w := newMinimalWorld(t, 5)
	w.install()
	stop := w.run()
	w.runs("v1", 5)
	if created, deleted, _ := w.counts(); created != 5 || deleted != 0 {
		t.Errorf("installation: %d pods were created and %d deleted, want 5 and none", created, deleted)
	}
	for node, pod := range w.pods() {
		if !metav1.IsControlledBy(pod, w.object()) {
			t.Errorf("the pod on %s is not the set's", node)
		}
	}

	w.audit.Begin()
	w.apply(w.manifest("v2"))
	w.runs("v2", 5)
	if created, deleted, peak := w.counts(); created != 5 || deleted != 5 || peak != 1 {
		t.Errorf("update: %d pods created, %d deleted, %d nodes without one at a time; want 5, 5 and 1", created, deleted, peak)
	}
	if revisions := w.revisions(); len(revisions) != 2 {
		t.Errorf("%d revisions, want the two", len(revisions))
	}

	w.audit.Begin()
	w.addNode(w.namespace + "-0005")
	w.runs("v2", 6)
	if created, deleted, _ := w.counts(); created != 1 || deleted != 0 {
		t.Errorf("a node more: %d pods created and %d deleted, want 1 and none", created, deleted)
	}

	// A manifest that cannot be used is reported, and changes nothing. What is wrong says the path, and the value.
	w.audit.Begin()
	for _, wrong := range []struct{ name, old, new, report string }{
		{"no number", "maxUnavailable: 1", "maxUnavailable: many", "maxUnavailable: Invalid value: \\\"many\\\""},
		{"no selector", "matchLabels: {app: agent}", "matchLabels: {}", "spec.selector: Invalid value"},
		{"an Advanced DaemonSet", "apps/v1", "apps.kruise.io/v1beta1", "only apps/v1 is supported here: this is apps.kruise.io/v1beta1"},
		{"a typo", "maxUnavailable: 1", "maxUnavailble: 1", "unknown are [\\\"spec.updateStrategy.rollingUpdate.maxUnavailble\\\"]"},
		{"nothing", w.manifest("v3"), "", "daemonset.yaml of the ConfigMap: the manifest holds no object"},
	} {
		w.apply(strings.Replace(w.manifest("v3"), wrong.old, wrong.new, 1))
		w.until(wrong.name+" is reported", func() error {
			if !strings.Contains(w.log(), wrong.report) {
				return fmt.Errorf("nothing is said")
			}
			return nil
		})
	}
	if created, deleted, _ := w.counts(); created != 0 || deleted != 0 {
		t.Errorf("manifests that cannot be used: %d pods created and %d deleted, want none", created, deleted)
	}
	w.apply(w.manifest("v3"))
	w.runs("v3", 6)

	// Another process goes on where the first one stopped.
	stop()
	w.audit.Begin()
	w.run()
	w.apply(w.manifest("v4"))
	w.runs("v4", 6)
	if created, deleted, peak := w.counts(); created != 6 || deleted != 6 || peak != 1 {
		t.Errorf("after a restart: %d pods created, %d deleted, %d nodes without one at a time; want 6, 6 and 1", created, deleted, peak)
	}
	if err := w.audit.Sound(); err != nil {
		t.Error(err)
	}
}

// Late caches make nothing happen twice.
func TestMinimalLateCaches(t *testing.T) {
	w := newMinimalWorld(t, 5)
	w.install()
	w.run(through(lagging(time.Second)))
	w.runs("v1", 5)
	w.apply(w.manifest("v2"))
	w.runs("v2", 5)
	if created, deleted, peak := w.counts(); created != 10 || deleted != 5 || peak != 1 {
		t.Errorf("%d pods created, %d deleted, %d nodes without one at a time; want 10, 5 and 1", created, deleted, peak)
	}
	if err := w.audit.Sound(); err != nil {
		t.Error(err)
	}
}

// A revision that cannot be written keeps the pods back that refer to it.
func TestMinimalNoPodsWithoutTheirRevision(t *testing.T) {
	w := newMinimalWorld(t, 3)
	w.install()
	var revision lateRevision
	w.run(through(revision.transport))
	w.runs("v1", 3)
	if revision.attempts.Load() != 4 || revision.early.Load() > 0 {
		t.Errorf("%d attempts to write the revision, and %d pods before it was there; want 4 and none",
			revision.attempts.Load(), revision.early.Load())
	}
}
