package integration_test

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// auditor watches what the API server holds, past everything that is tested, and keeps the worst that was ever seen.
type auditor struct {
	mutex sync.Mutex
	pods  map[types.UID]*corev1.Pod
	// peak is how many of the nodes that once had an available pod had none at a time; doubled lists nodes that had two
	// live pods of one revision.
	peak    int
	served  map[string]bool
	doubled []string
	created int
	deleted int
}

func newAuditor(w *world) *auditor {
	w.Helper()
	a := &auditor{pods: map[types.UID]*corev1.Pod{}, served: map[string]bool{}}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	watch := cache.NewListWatchFromClient(set.CoreV1().RESTClient(), "pods", w.namespace, fields.Everything())
	informer := cache.NewSharedInformer(watch, &corev1.Pod{}, 0)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.see(object.(*corev1.Pod), true) },
		UpdateFunc: func(_, object any) { a.see(object.(*corev1.Pod), false) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			a.gone(object.(*corev1.Pod))
		},
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.Cleanup(cancel)
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		w.Fatal("the auditor sees nothing")
	}
	return a
}

func (a *auditor) see(pod *corev1.Pod, isNew bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if isNew {
		a.created++
	}
	a.pods[pod.UID] = pod
	a.judge()
}

func (a *auditor) gone(pod *corev1.Pod) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.deleted++
	delete(a.pods, pod.UID)
	a.judge()
}

// judge looks at everything after each change.
func (a *auditor) judge() {
	serving, live := map[string]bool{}, map[string]int{}
	for _, pod := range a.pods {
		if pod.DeletionTimestamp != nil || lifecycle.Terminal(pod) {
			continue
		}
		key := nodeOf(pod) + " " + pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		if live[key]++; live[key] == 2 {
			a.doubled = append(a.doubled, key)
		}
		if lifecycle.Ready(pod) {
			serving[nodeOf(pod)] = true
			a.served[nodeOf(pod)] = true
		}
	}
	a.peak = max(a.peak, len(a.served)-len(serving))
}

// begin forgets the worst so far.
func (a *auditor) begin() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.peak, a.doubled, a.created, a.deleted = 0, nil, 0, 0
}

// counts are what was seen since begin: pods created and gone, and the most nodes without a serving pod.
func (a *auditor) counts() (created, deleted, peak int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.created, a.deleted, a.peak
}

// sound reports what must never be seen.
func (a *auditor) sound() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.doubled) > 0 {
		return fmt.Errorf("two live pods of one revision on %v", a.doubled)
	}
	return nil
}
