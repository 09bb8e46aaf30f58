package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// set is what the controller keeps of one set between two plans. All of it but the requests can be lost: a controller that
// starts finds the memory in the status, and its caches are newer than any request of the one before.
type set struct {
	kind     schema.GroupVersionKind
	object   client.Object
	spec     rollout.Spec
	planner  *rollout.Planner
	requests requests
	// remembered is the memory of the last plan: the status in the cache may be older. Nil: no plan yet.
	remembered  *rollout.Memory
	stored      rollout.Memory // as the status had it
	failedPulls []predownload.Failure
	wake        time.Time // when a request is given up
	told        string    // what the last event said that blocks the rollout
}

// memory for the next plan.
func (s *set) memory() rollout.Memory {
	if s.remembered != nil {
		return *s.remembered
	}
	return s.stored
}

// compile makes the planner, if the spec has changed.
func (s *set) compile(object client.Object, kind schema.GroupVersionKind, spec rollout.Spec, stored rollout.Memory) error {
	same := s.planner != nil && s.spec.Generation == spec.Generation
	s.object, s.kind, s.spec, s.stored = object, kind, spec, stored
	if same {
		return nil
	}
	var err error
	s.planner, err = rollout.New(spec)
	return err
}

// pod to create.
func (s *set) pod(create rollout.Create) (*corev1.Pod, error) { return s.planner.Pod(create) }

// sets by UID: a namesake begins anew.
type sets struct {
	mutex sync.Mutex
	byUID map[types.UID]*set
	names map[types.NamespacedName]types.UID
}

func (s *sets) of(object client.Object) *set {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.byUID == nil {
		s.byUID, s.names = map[types.UID]*set{}, map[types.NamespacedName]types.UID{}
	}
	name := client.ObjectKeyFromObject(object)
	if uid := s.names[name]; uid != object.GetUID() {
		delete(s.byUID, uid)
	}
	s.names[name] = object.GetUID()
	if s.byUID[object.GetUID()] == nil {
		s.byUID[object.GetUID()] = &set{}
	}
	return s.byUID[object.GetUID()]
}

func (s *sets) forget(name types.NamespacedName) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.byUID, s.names[name])
	delete(s.names, name)
}
