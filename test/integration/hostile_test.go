package integration_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/examples/controller/controller"
	"github.com/daemonplan/daemonplan/predownload"
)

// The label of pods that pull makes no such pod of one of the set, neither in its template nor put on by somebody.
func TestPullLabelOnPodsOfTheSet(t *testing.T) {
	w := newWorld(t, 2)
	w.set(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.Template.Labels[predownload.SetLabel] = "x" })
	w.runController()
	w.settled(2)
	w.change(func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.Frozen = true })
	w.observed()
	before := w.pods()
	label := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, predownload.SetLabel, w.current().UID)
	for _, pod := range before {
		if err := w.Patch(w.Context(), pod, client.RawPatch(types.MergePatchType, label)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * time.Second)
	if created, deleted, _ := w.counts(); created != 2 || deleted != 0 {
		t.Errorf("%d pods created, %d deleted; want 2 and none: each has a controller", created, deleted)
	}
}

// A pod that the API server does not let the set adopt is not its pod: the node gets another one, and it is said.
func TestAdoptionIsRefused(t *testing.T) {
	w := newWorld(t, 2)
	stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Namespace: w.namespace, Labels: map[string]string{"app": "agent"}}}
	stray.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v0"}}
	stray.Spec.NodeName = w.namespace + "-0000"
	w.create(stray)
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/pods/stray") {
			return answer(request, http.StatusForbidden), nil
		}
		return next.RoundTrip(request)
	}))
	w.set()
	w.settled(2)
	w.eventually("an event says so", func() error { return w.event("Failed", "storm") })
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(stray), stray); err != nil || stray.DeletionTimestamp != nil {
		t.Errorf("the stray pod was deleted: %v", err)
	}
}

// A pod that could not be adopted because somebody was faster, or the API server had no time, may well be the set's: nothing is put
// beside it.
func TestAdoptionConflicts(t *testing.T) {
	for _, code := range []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusUnauthorized} {
		t.Run(fmt.Sprint(code), func(t *testing.T) { adoptsLater(t, code) })
	}
}

func adoptsLater(t *testing.T, code int) {
	w := newWorld(t, 1)
	w.set()
	stop := w.runController()
	w.settled(1)
	stop()
	orphan := w.pods()[w.namespace+"-0000"]
	if err := w.Patch(w.Context(), orphan, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))); err != nil {
		t.Fatal(err)
	}
	w.audit.Begin()
	var refused atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/pods/"+orphan.Name) && refused.Add(1) <= 3 {
			return answer(request, code), nil
		}
		return next.RoundTrip(request)
	}))
	w.eventually("the orphan is adopted", func() error {
		if pod := w.pods()[w.namespace+"-0000"]; pod == nil || metav1.GetControllerOf(pod) == nil {
			return errors.New("it is not")
		}
		return nil
	})
	if created, deleted, _ := w.counts(); created != 0 || deleted != 0 {
		t.Errorf("%d pods created, %d deleted; want none", created, deleted)
	}
}

// A DaemonSet of the same name, annotated or not, is another set to the metrics.
func TestMetricsOfNamesakes(t *testing.T) {
	w := newWorld(t, 1)
	w.set()
	w.runController()
	w.runAs(manner{kind: controller.Annotated{}})
	w.settled(1)
	before := w.plans()
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: w.namespace}}
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "old"}}
	ds.Spec.Template.Labels = map[string]string{"app": "old"}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/old:v1"}}
	w.create(ds)
	time.Sleep(time.Second)
	if after := w.plans(); after < before {
		t.Errorf("%d plans were counted, and %d after a DaemonSet of that name came", before, after)
	}
}

// A mistake of any length is told.
func TestLongMistake(t *testing.T) {
	w := newWorld(t, 1)
	template := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "long"}}}
	for i := range 99 {
		template[fmt.Sprint("x", i, strings.Repeat("y", 500))] = "z"
	}
	w.raw("long", template)
	w.runController()
	w.eventually("the set says what is wrong", func() error {
		if condition := w.validity("long"); condition == nil || condition.Status != metav1.ConditionFalse {
			return fmt.Errorf("condition %+v", condition)
		}
		return nil
	})
}

// A revision that somebody has taken the labels off is not the set's any more: there is another one then, once.
func TestRevisionWithoutLabels(t *testing.T) {
	w := newWorld(t, 2)
	w.set()
	var creates atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPost && of(request, "controllerrevisions") {
			creates.Add(1)
		}
		return next.RoundTrip(request)
	}))
	w.settled(2)
	revision := w.revisions()[0]
	if err := w.Patch(w.Context(), &revision, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))); err != nil {
		t.Fatal(err)
	}
	w.eventually("another revision", func() error {
		if n := len(w.revisions()); n < 2 {
			return fmt.Errorf("%d revisions", n)
		}
		return nil
	})
	w.settled(2)
	time.Sleep(2 * time.Second)
	if n := creates.Load(); n > 4 {
		t.Errorf("%d revisions were asked for, want the first, one whose name is taken, and another", n)
	}
}

// The rights of config/rbac are enough, also where owner references that block deletion are guarded, as they are in this cluster.
func TestRights(t *testing.T) {
	w := newWorld(t, 3)
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "daemonplan-system"}})
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "controller", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		w.create(object)
		w.Cleanup(func() { _ = w.Delete(t.Context(), object) })
	}
	stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Namespace: w.namespace, Labels: map[string]string{"app": "agent"}}}
	stray.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v0"}}
	stray.Spec.NodeName = w.namespace + "-0000"
	w.create(stray)
	w.set(preDownload(1, 60), slowly, func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.Method = "InPlaceIfPossible" })
	account := func(config *rest.Config) {
		config.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:daemonplan-system:daemonplan-controller",
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:daemonplan-system", "system:authenticated"},
		}
	}
	var forbidden atomic.Pointer[string]
	look := through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusForbidden {
			forbidden.Store(new(request.Method + " " + request.URL.Path))
		}
		return response, err
	})
	w.runController(account, look)
	w.runAs(manner{kind: controller.Annotated{}}, account, look)
	w.settled(3)
	w.change(image("v2"))
	w.settled(3)
	w.change(func(s *v1alpha1.PlannedDaemonSet) {
		s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
	})
	w.settled(3)
	if what := forbidden.Load(); what != nil {
		t.Errorf("%s is forbidden", *what)
	}
}
