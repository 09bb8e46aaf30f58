package integration_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimeconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/examples/controller/controller"
	"github.com/daemonplan/daemonplan/test/integration/auditor"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

var patience = flag.Duration("patience", 2*time.Minute, "how long a test waits for what is to happen: a busy machine is no reason to fail")

// world is the part of the cluster that belongs to one test.
type world struct {
	*testing.T
	client.Client
	namespace string
	audit     *auditor.Auditor
}

// newWorld makes a namespace and so many nodes, and skips the test if there is no cluster.
func newWorld(t *testing.T, nodes int) *world {
	t.Helper()
	if config == nil {
		t.Skip("KUBEBUILDER_ASSETS does not say where etcd and kube-apiserver are: run make cluster, which builds them, and set it to what that prints")
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: c, namespace: "test-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: w.namespace}})
	for i := range nodes {
		w.addNode(fmt.Sprintf("%s-%04d", w.namespace, i))
	}
	w.Cleanup(func() { // controllers of later tests have no business with its sets
		_ = w.DeleteAllOf(context.Background(), &v1alpha1.PlannedDaemonSet{}, client.InNamespace(w.namespace))
	})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if w.audit, err = auditor.Watch(ctx, config, w.namespace); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) addNode(name string, change ...func(*corev1.Node)) {
	w.Helper()
	node := kubelet.Node(name, map[string]string{"world": w.namespace})
	for _, f := range change {
		f(node)
	}
	w.create(node)
	if err := kubelet.MakeReady(w.Context(), w.Client, node); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.Delete(context.Background(), node) })
}

func (w *world) create(object client.Object) {
	w.Helper()
	if err := w.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// set makes a set on the nodes of this world.
func (w *world) set(change ...func(*v1alpha1.PlannedDaemonSet)) {
	w.Helper()
	set := &v1alpha1.PlannedDaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: w.namespace}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	set.Spec.Template.Labels = map[string]string{"app": "agent"}
	set.Spec.Template.Spec.NodeSelector = map[string]string{"world": w.namespace}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v1"}}
	set.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(1))
	for _, f := range change {
		f(set)
	}
	w.create(set)
}

// change edits the set as a user does.
func (w *world) change(edit func(*v1alpha1.PlannedDaemonSet)) {
	w.Helper()
	set := w.current()
	before := set.DeepCopy()
	edit(set)
	if err := w.Patch(w.Context(), set, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) current() *v1alpha1.PlannedDaemonSet {
	w.Helper()
	var set v1alpha1.PlannedDaemonSet
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "agent"}, &set); err != nil {
		w.Fatal(err)
	}
	return &set
}

func image(tag string) func(*v1alpha1.PlannedDaemonSet) {
	return func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.Template.Spec.Containers[0].Image = "registry.example/agent:" + tag
	}
}

func maxUnavailable(value string) func(*v1alpha1.PlannedDaemonSet) {
	return func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.MaxUnavailable = new(intstr.Parse(value)) }
}

// manner is how a controller runs.
type manner struct {
	// kind of the sets; nil: PlannedDaemonSets.
	kind controller.Kind
	// replica is who it is among replicas that elect a leader. Empty: there are no others.
	replica string
	// pullJobs: images are pulled by ImagePullJobs.
	pullJobs bool
}

// runController starts the example's controller; it ends with the test, or when stop is called.
func (w *world) runController(tweak ...func(*rest.Config)) (stop func()) {
	w.Helper()
	return w.runAs(manner{}, tweak...)
}

func (w *world) runAs(how manner, tweak ...func(*rest.Config)) (stop func()) {
	w.Helper()
	access := rest.CopyConfig(config)
	for _, f := range tweak {
		f(access)
	}
	options := ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: runtimeconfig.Controller{SkipNameValidation: new(true)},
	}
	if how.replica != "" {
		lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, w.namespace, "controller",
			resourcelock.ResourceLockConfig{Identity: how.replica}, access, time.Second)
		if err != nil {
			w.Fatal(err)
		}
		options.LeaderElection, options.LeaderElectionResourceLockInterface = true, lock
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = new(3*time.Second), new(2*time.Second), new(500*time.Millisecond)
	}
	manager, err := ctrl.NewManager(access, options)
	if err != nil {
		w.Fatal(err)
	}
	if how.kind == nil {
		how.kind = controller.Planned{}
	}
	reconciler := &controller.Reconciler{
		Client: manager.GetClient(), Cache: manager.GetCache(), Live: manager.GetAPIReader(), Events: manager.GetEventRecorder("daemonplan.io/controller"),
		Clock: clock.RealClock{}, Kind: how.kind, Verify: true, ImagePullJobs: how.pullJobs, LostAfter: 2 * time.Second,
	}
	if err := reconciler.SetupWithManager(manager); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-stopped; err != nil && how.replica == "" { // one that loses its lease ends so
			w.Errorf("the controller ended with %v", err)
		}
	}
	w.Cleanup(stop)
	return stop
}

// eventually waits until there is no problem.
func (w *world) eventually(what string, problem func() error) {
	w.Helper()
	end := time.Now().Add(*patience)
	for {
		err := problem()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("%s: %v after %v\n%s", what, err, *patience, w.describe())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// settled waits until all nodes run available pods of the present generation.
func (w *world) settled(nodes int32) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d updated nodes", nodes), func() error {
		set := w.current()
		s := set.Status
		if s.ObservedGeneration != set.Generation || s.DesiredNumberScheduled != nodes || s.UpdatedNumberScheduled != nodes ||
			s.NumberAvailable != nodes || s.State != "Running" {
			return fmt.Errorf("generation %d of %d, desired %d, updated %d, available %d, %s %s", s.ObservedGeneration, set.Generation,
				s.DesiredNumberScheduled, s.UpdatedNumberScheduled, s.NumberAvailable, s.State, s.Reason)
		}
		return nil
	})
}

// observed waits until the present generation was planned for.
func (w *world) observed() {
	w.Helper()
	w.eventually("the change is observed", func() error {
		if set := w.current(); set.Status.ObservedGeneration != set.Generation {
			return fmt.Errorf("generation %d of %d", set.Status.ObservedGeneration, set.Generation)
		}
		return nil
	})
}

func (w *world) revisions() []appsv1.ControllerRevision {
	w.Helper()
	var list appsv1.ControllerRevisionList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// pods of the world, by node.
func (w *world) pods() map[string]*corev1.Pod {
	w.Helper()
	var list corev1.PodList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	byNode := map[string]*corev1.Pod{}
	for i := range list.Items {
		byNode[list.Items[i].Spec.NodeName] = &list.Items[i]
	}
	return byNode
}

// counts are what the auditor saw: pods created and gone, and the most nodes without a serving pod. It waits until no pod is on
// its way out, and until the auditor has seen all: a status is settled before the last pod that was replaced is gone.
func (w *world) counts() (created, deleted, peak int) {
	w.Helper()
	w.eventually("all pods that end are gone, and the auditor knows", func() error {
		var list corev1.PodList
		if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if pod := &list.Items[i]; pod.DeletionTimestamp != nil {
				return fmt.Errorf("pod %s is on its way out", pod.Name)
			}
		}
		if !w.audit.Current(list.Items) {
			return fmt.Errorf("the auditor has not seen all")
		}
		return nil
	})
	seen := w.audit.Counts()
	return seen.Created, seen.Deleted, seen.Peak
}

// describe shows what a failed test wants to know.
func (w *world) describe() string {
	var b strings.Builder
	set := w.current()
	fmt.Fprintf(&b, "%+v\n", set.Status)
	for node, pod := range w.pods() {
		fmt.Fprintf(&b, "%s: %s %s %v deleted %v\n", node, pod.Name, pod.Status.Phase, pod.Labels, pod.DeletionTimestamp)
	}
	return b.String()
}
