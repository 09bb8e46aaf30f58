package integration_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/predownload"
)

func preDownload(parallelism int32, timeoutSeconds int32) func(*v1alpha1.PlannedDaemonSet) {
	return func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.PreDownload = &v1alpha1.PreDownload{
			Parallelism: new(intstr.FromInt32(parallelism)), TimeoutSeconds: timeoutSeconds, BackoffLimit: new(int32(0)),
		}
	}
}

// slowly lets nodes wait for their update, so that there is something to be ahead of.
func slowly(s *v1alpha1.PlannedDaemonSet) { s.Spec.MinReadySeconds = 1 }

// While the nodes of a rollout wait, pods that run nothing pull the image there, so many at a time; nothing is left of them then.
func TestPullsByPods(t *testing.T) {
	w := newWorld(t, 8)
	w.set(maxUnavailable("1"), preDownload(2, 60), slowly)
	w.runController()
	w.settled(8)
	w.audit.Begin()
	attempts := w.watchPulls(&corev1.PodList{})
	w.change(image("v2"))
	w.eventually("pulls on all nodes that wait", func() error { return attempts.are(7) })
	if updated := w.current().Status.UpdatedNumberScheduled; updated > 3 {
		t.Errorf("%d nodes were updated by then, want the pulls to be ahead", updated)
	}
	w.settled(8)
	w.eventually("the pods that pulled are gone", attempts.areGone)
	attempts.endedSoundly(t, "registry.example/agent:v2", 2)
	pulled := len(attempts.seen)
	if created, deleted, peak := w.counts(); created != 8+pulled || deleted != 8+pulled || peak > 1 {
		t.Errorf("%d pods created, %d deleted, %d nodes without a serving pod at a time; want 8 and %d that pull, and at most 1", created,
			deleted, peak, pulled)
	}
}

// With a cache that is late, a pull that was asked for counts although it does not show, also if its node is none of those any more
// that wait.
func TestPullsWithALateCache(t *testing.T) {
	w := newWorld(t, 8)
	w.set(maxUnavailable("1"), preDownload(1, 4), func(s *v1alpha1.PlannedDaemonSet) { s.Spec.MinReadySeconds = 3 })
	w.runController(through(lagging(1500 * time.Millisecond)))
	w.settled(8)
	attempts := w.watchPulls(&corev1.PodList{})
	w.change(image("missing")) // so that a pull takes as long as it may
	w.eventually("the first pull", func() error {
		attempts.mutex.Lock()
		defer attempts.mutex.Unlock()
		for first := range attempts.seen {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: first.Node}}
			return w.Patch(w.Context(), node, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"world":null}}}`)))
		}
		return fmt.Errorf("there is none")
	})
	w.eventually("several pulls", func() error { return attempts.are(3) })
	attempts.mutex.Lock()
	defer attempts.mutex.Unlock()
	if attempts.most != 1 {
		t.Errorf("%d pulls at a time, want one", attempts.most)
	}
}

// An image that cannot be pulled ahead delays nothing: the update goes on, and each node's own kubelet has the last word.
func TestPullsThatFail(t *testing.T) {
	w := newWorld(t, 4)
	w.set(maxUnavailable("1"), preDownload(4, 1), slowly)
	w.runController()
	w.settled(4)
	attempts := w.watchPulls(&corev1.PodList{})
	w.change(image("missing")) // the set's own pods start with it all the same: only pulls ahead fail
	w.settled(4)
	w.eventually("the pods that pulled are gone", attempts.areGone)
	if len(attempts.seen) == 0 || len(attempts.seen) > 4 {
		t.Errorf("%d pulls, want at most one for each node: none is to be tried again", len(attempts.seen))
	}
}

// Where OpenKruise is, its ImagePullJobs pull.
func TestPullsByJobs(t *testing.T) {
	w := newWorld(t, 8)
	w.installImagePullJobs()
	w.set(maxUnavailable("1"), preDownload(2, 60), slowly)
	w.runAs(manner{pullJobs: true})
	w.settled(8)
	w.audit.Begin()
	jobs := &unstructured.UnstructuredList{}
	jobs.SetGroupVersionKind(predownload.PullJobKind())
	attempts := w.watchPulls(jobs)
	w.change(image("v2"))
	w.settled(8)
	w.eventually("the jobs are gone", attempts.areGone)
	w.endedSoundly(8, 1)
	attempts.endedSoundly(t, "registry.example/agent:v2", 2)
}

// installImagePullJobs serves the kind without OpenKruise: watchPulls says that each job has succeeded.
func (w *world) installImagePullJobs() {
	w.Helper()
	kind := predownload.PullJobKind()
	open := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{{
		ObjectMeta: metav1.ObjectMeta{Name: "imagepulljobs." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "imagepulljobs", Kind: kind.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: open},
			}},
		},
	}}})
	if err != nil {
		w.Fatal(err)
	}
}

// pulls are what was seen of those of a test.
type pulls struct {
	mutex sync.Mutex
	seen  map[predownload.Request]bool
	most  int // that ran at a time
	there int
	wrong []string
}

// watchPulls looks at the objects of pulls several times per second until the test ends, and lets jobs succeed.
func (w *world) watchPulls(list client.ObjectList) *pulls {
	w.Helper()
	p := &pulls{seen: map[predownload.Request]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := w.List(ctx, list, client.InNamespace(w.namespace), client.HasLabels{predownload.SetLabel}); err == nil {
				p.look(ctx, w, list)
			}
			time.Sleep(30 * time.Millisecond)
		}
	}()
	w.Cleanup(func() {
		cancel()
		<-ended
	})
	return p
}

func (p *pulls) look(ctx context.Context, w *world, list client.ObjectList) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	running := 0
	p.there = 0
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object := item.(client.Object)
		attempt, ok := predownload.AttemptOf(object)
		if !ok {
			return fmt.Errorf("%s is no pull", object.GetName())
		}
		p.there++
		p.seen[attempt.Request] = true
		if attempt.Outcome != predownload.Running || object.GetDeletionTimestamp() != nil {
			return nil
		}
		running++
		if job, ok := object.(*unstructured.Unstructured); ok {
			job.Object["status"] = map[string]any{"desired": int64(1), "succeeded": int64(1)}
			return client.IgnoreNotFound(w.Update(ctx, job))
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		p.wrong = append(p.wrong, err.Error())
	}
	p.most = max(p.most, running)
}

// are is nil when so many pulls were seen.
func (p *pulls) are(want int) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.seen) < want {
		return fmt.Errorf("%d pulls, want %d", len(p.seen), want)
	}
	return nil
}

// areGone is nil when no object is left.
func (p *pulls) areGone() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.there > 0 {
		return fmt.Errorf("%d objects are left", p.there)
	}
	return nil
}

// endedSoundly checks that the image was pulled on the nodes that waited, at most so many at a time.
func (p *pulls) endedSoundly(t *testing.T, image string, most int) {
	t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.wrong) > 0 {
		t.Error(p.wrong)
	}
	if len(p.seen) < 4 || p.most > most {
		t.Errorf("%d pulls, %d at a time; want some, and at most %d at a time", len(p.seen), p.most, most)
	}
	for request := range p.seen {
		if request.Image != image {
			t.Errorf("%s was pulled on %s, want %s", request.Image, request.Node, image)
		}
	}
}
