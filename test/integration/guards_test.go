package integration_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
)

// Each test here is about one thing that the controller takes care of; removals_test.go takes that away and sees the test fail.

// A pod that has taken the name of the one that is to be deleted is not hit.
func TestNamesakeIsNotDeleted(t *testing.T) {
	w := newWorld(t, 2)
	w.set()
	var once sync.Once
	var name atomic.Pointer[string]
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodDelete && of(request, "pods") {
			once.Do(func() {
				bystander := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: path.Base(request.URL.Path)}}
				name.Store(&bystander.Name)
				if err := w.Delete(request.Context(), bystander, client.GracePeriodSeconds(0)); err != nil {
					t.Error(err)
				}
				bystander.ObjectMeta = metav1.ObjectMeta{Namespace: bystander.Namespace, Name: bystander.Name}
				bystander.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/bystander:v1"}}
				bystander.Spec.NodeName = w.namespace + "-0000"
				if err := w.Create(request.Context(), bystander); err != nil {
					t.Error(err)
				}
			})
		}
		return next.RoundTrip(request)
	}))
	w.settled(2)
	w.change(image("v2"))
	w.settled(2)
	var bystander corev1.Pod
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: *name.Load()}, &bystander); err != nil || bystander.DeletionTimestamp != nil {
		t.Errorf("the pod that took the name of another was deleted: %v", err)
	}
}

// A status that was made for one set is not written into another of its name.
func TestNamesakeGetsNoStatus(t *testing.T) {
	w := newWorld(t, 1)
	w.set()
	var once sync.Once
	var armed atomic.Bool
	var code atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		mine := false
		if armed.Load() && strings.HasSuffix(request.URL.Path, "/agent/status") {
			once.Do(func() {
				mine = true
				if err := w.Delete(request.Context(), w.current()); err != nil {
					t.Error(err)
				}
				w.set(image("v9"))
			})
		}
		response, err := next.RoundTrip(request)
		if err == nil && mine {
			code.Store(int64(response.StatusCode))
		}
		return response, err
	}))
	w.settled(1)
	armed.Store(true)
	w.change(image("v2"))
	w.eventually("the controller writes a status", func() error {
		if code.Load() == 0 {
			return fmt.Errorf("it has not")
		}
		return nil
	})
	if code.Load() != http.StatusUnprocessableEntity {
		t.Errorf("the API server answered %d, want 422", code.Load())
	}
	w.settled(1)
}

// An admission policy that refuses pods is asked for one at a time, not for one per node (M6).
func TestRefusedPods(t *testing.T) {
	w := newWorld(t, 12)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	policy.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{
		Expression: fmt.Sprintf("object.metadata.namespace != %q", w.namespace), Message: "no pods today",
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	binding.Spec.PolicyName = policy.Name
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	w.create(policy)
	w.create(binding)
	w.Cleanup(func() {
		_ = w.Delete(t.Context(), binding)
	})
	w.eventually("pods are refused", func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: w.namespace}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v1"}}
		if err := w.Create(w.Context(), pod); err == nil {
			return fmt.Errorf("one was created: %w", w.Delete(w.Context(), pod, client.GracePeriodSeconds(0)))
		}
		return nil
	})
	var now, most, all atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodPost || !of(request, "pods") {
			return next.RoundTrip(request)
		}
		all.Add(1)
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		time.Sleep(50 * time.Millisecond) // so that those of a batch meet
		return next.RoundTrip(request)
	}))
	w.set()
	w.eventually("some attempts", func() error {
		if all.Load() < 5 {
			return fmt.Errorf("%d so far", all.Load())
		}
		return nil
	})
	if most.Load() != 1 {
		t.Errorf("%d creates at a time, want 1 until one succeeds", most.Load())
	}
	w.eventually("the event says who refuses", func() error { return w.event("Failed", "no pods today") })
	if err := w.Delete(w.Context(), binding); err != nil {
		t.Fatal(err)
	}
	w.settled(12)
	w.eventually("an event says what was created, and why", func() error { return w.event("Created", "reason Missing: agent-") })
}

// The patches of a pod are sent one after the other, and none after one that failed: a pod is not changed before it was taken out
// of service.
func TestPatchesOfAPodKeepTheirOrder(t *testing.T) {
	w := newWorld(t, 4)
	w.set(maxUnavailable("2"), func(s *v1alpha1.PlannedDaemonSet) { s.Spec.UpdateStrategy.Method = "InPlaceIfPossible" })
	var mutex sync.Mutex
	refused, out := map[string]int{}, map[string]bool{}
	var early []string
	armed := false
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		mutex.Lock()
		judge := armed
		mutex.Unlock()
		if !judge || request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/pods/") {
			return next.RoundTrip(request)
		}
		pod, isStatus := strings.CutSuffix(request.URL.Path, "/status")
		mutex.Lock()
		refused[pod]++
		refuse := isStatus && refused[pod] <= 2
		if !isStatus && !out[pod] {
			early = append(early, path.Base(pod))
		}
		mutex.Unlock()
		if refuse {
			return answer(request, http.StatusTooManyRequests), nil
		}
		response, err := next.RoundTrip(request)
		if err == nil && isStatus && response.StatusCode == http.StatusOK {
			mutex.Lock()
			out[pod] = true
			mutex.Unlock()
		}
		return response, err
	}))
	w.settled(4)
	before := w.pods()
	mutex.Lock()
	armed = true
	mutex.Unlock()
	w.change(image("v2"))
	w.settled(4)
	mutex.Lock()
	defer mutex.Unlock()
	if len(early) > 0 {
		t.Errorf("changed while in service: %v", early)
	}
	for node, pod := range w.pods() {
		if pod.UID != before[node].UID {
			t.Errorf("the pod of %s was not updated in place", node)
		}
	}
}

// A revision that cannot be written keeps everything back that refers to it.
func TestNoPodsWithoutTheirRevision(t *testing.T) {
	w := newWorld(t, 3)
	var revision lateRevision
	w.runController(through(revision.transport))
	w.set()
	w.settled(3)
	if revision.early.Load() > 0 {
		t.Errorf("%d pods were created of a revision that there was not", revision.early.Load())
	}
}

// A conflict is tried again although nothing else happens: the API server answers so if quotas are written at the same time.
func TestConflictIsTriedAgain(t *testing.T) {
	w := newWorld(t, 1)
	var refused atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPost && of(request, "pods") && refused.Add(1) <= 8 { // more often than anything else wakes the set
			return answer(request, http.StatusConflict), nil
		}
		return next.RoundTrip(request)
	}))
	w.set()
	w.settled(1)
	if err := w.event("Failed", ""); err == nil {
		t.Error("a conflict is reported as if something were wrong")
	}
}

// In a namespace that is going nothing can be created, and nobody tries all the time.
func TestNamespaceGoes(t *testing.T) {
	w := newWorld(t, 2)
	w.set()
	var posts atomic.Int64
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPost && of(request, "pods") {
			posts.Add(1)
		}
		return next.RoundTrip(request)
	}))
	w.settled(2)
	// Nobody here empties namespaces: it stays as it is from now on.
	if err := w.Delete(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}); err != nil {
		t.Fatal(err)
	}
	posts.Store(0)
	for _, pod := range w.pods() {
		if err := w.Delete(w.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(4 * time.Second)
	if n := posts.Load(); n == 0 || n > 4 {
		t.Errorf("%d creates were tried in 4 s, want one or two for each pod that went", n)
	}
}

// A set that is gone, which the cache does not know yet, adopts nothing.
func TestNothingIsAdoptedByOneThatIsGone(t *testing.T) {
	w := newWorld(t, 1)
	w.set()
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/planneddaemonsets") {
			response.Body = late(response.Body, 5*time.Second)
		}
		return response, err
	}))
	w.eventually("the pod is ready", func() error {
		for _, pod := range w.pods() {
			if len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].Ready {
				return nil
			}
		}
		return fmt.Errorf("there is none")
	})
	if err := w.Delete(w.Context(), w.current(), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Namespace: w.namespace, Labels: map[string]string{"app": "agent"}}}
	orphan.Spec.NodeName = w.namespace + "-0000"
	orphan.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/agent:v0"}}
	w.create(orphan)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(orphan), orphan); err != nil {
			t.Fatal(err)
		}
		if len(orphan.OwnerReferences) > 0 || orphan.DeletionTimestamp != nil {
			t.Fatalf("the orphan was adopted by a set that is gone: %v", orphan.OwnerReferences)
		}
	}
}

// When all is done there is nothing to send, and the heartbeats of nodes are no reason to look.
func TestQuietWhenDone(t *testing.T) {
	w := newWorld(t, 4)
	w.set()
	var requests atomic.Int64
	var last atomic.Pointer[string]
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && !strings.Contains(request.URL.Path, "/events") && strings.Contains(request.URL.Path, w.namespace) {
			requests.Add(1)
			last.Store(new(request.Method + " " + request.URL.Path))
		}
		return next.RoundTrip(request)
	}))
	w.settled(4)
	time.Sleep(time.Second) // the rest of the installation: watches that are late
	requests.Store(0)
	before := w.plans()
	for range 5 {
		var node corev1.Node
		if err := w.Get(w.Context(), client.ObjectKey{Name: w.namespace + "-0000"}, &node); err != nil {
			t.Fatal(err)
		}
		was := node.DeepCopy()
		node.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Second).Truncate(time.Second))
		if err := w.Status().Patch(w.Context(), &node, client.MergeFrom(was)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(400 * time.Millisecond)
	}
	if after := w.plans(); after != before {
		t.Errorf("%d plans were made for the heartbeats of a node", after-before)
	}
	pod := w.pods()[w.namespace+"-0000"]
	was := pod.DeepCopy()
	pod.Annotations = map[string]string{"somebody": "else"}
	if err := w.Patch(w.Context(), pod, client.MergeFrom(was)); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pod is looked at", func() error {
		if w.plans() == before {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	time.Sleep(400 * time.Millisecond)
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests although nothing is to be done, the last %s", n, *last.Load())
	}
}

// The back-off of failed pods counts on what was remembered, not on what a late cache shows of it (M2).
func TestBackOffWithALateCache(t *testing.T) {
	w := newWorld(t, 1)
	w.set(image("fails"))
	w.runController(through(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/planneddaemonsets") {
			response.Body = late(response.Body, 3*time.Second)
		}
		return response, err
	}))
	time.Sleep(6 * time.Second)
	if deleted := w.audit.Counts().Deleted; deleted == 0 || deleted > 4 {
		t.Errorf("%d failed pods were deleted in 6 s, want 1 to 4: the delays are 1 s, 2 s and 4 s", deleted)
	}
}

// plans is how many plans were made in this test.
func (w *world) plans() (count uint64) {
	w.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.Metric {
			if family.GetName() == "daemonplan_plan_seconds" && slices.ContainsFunc(metric.Label, func(l *dto.LabelPair) bool { return l.GetValue() == w.namespace }) {
				count += metric.Histogram.GetSampleCount()
			}
		}
	}
	return count
}

// quiet waits until nothing has woken the sets of this test for a second.
func (w *world) quiet() {
	w.Helper()
	last, since := w.plans(), time.Now()
	w.eventually("no more plans", func() error {
		if now := w.plans(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < time.Second {
			return fmt.Errorf("%d plans, the last less than a second ago", last)
		}
		return nil
	})
}

// of tells whether a request is about a whole collection or one object of it, and no subresource.
func of(request *http.Request, resource string) bool {
	return path.Base(request.URL.Path) == resource || path.Base(path.Dir(request.URL.Path)) == resource
}
