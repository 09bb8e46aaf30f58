package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// set is what the controller keeps of one set between two plans. To lose all of it is safe: a controller that starts finds the
// memory in the object, and it fills its caches after the controller before it has lost the lease.
type set struct {
	object  client.Object
	kind    string
	spec    rollout.Spec
	planner *rollout.Planner
	// carry is what the last plan hands to the next one. resumed reports whether there was one, or its memory was found in the
	// object. The memory in the cached object may be older.
	carry   rollout.Carry
	resumed bool
	// verifier knows what it has read by itself, so that it reads only what has changed since.
	verifier verify.Verifier
	// workspace is where plans are made. Each is good until the next one.
	workspace rollout.Workspace
	pulls     map[string]started // by the names of their objects
	counted   []types.UID        // failed pulls that carry.FailedPulls counts already
	told      []string           // what blocked the rollout, in the last event about that
	refused   string             // what was invalid, in the last event about that; empty: nothing

	mutex   sync.Mutex // guards tracker and pulls, because several requests are sent at a time
	tracker inflight.Tracker
}

func (s *set) name() types.NamespacedName { return client.ObjectKeyFromObject(s.object) }

// giveUp is when to stop waiting for the caches to show a request.
func (s *set) giveUp() time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	first := s.tracker.GiveUp()
	for _, p := range s.pulls {
		if first.IsZero() || p.until.Before(first) {
			first = p.until
		}
	}
	return first
}

func (s *set) labels() []string {
	return []string{s.object.GetNamespace(), s.object.GetName(), s.kind}
}

// sets holds the sets by name. A set with the name of one that is gone starts anew.
type sets struct {
	mutex  sync.Mutex
	byName map[types.NamespacedName]*set
}

func (s *sets) of(object client.Object, kind string) *set {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.byName == nil {
		s.byName = map[types.NamespacedName]*set{}
	}
	name := client.ObjectKeyFromObject(object)
	known := s.byName[name]
	if known == nil || known.object.GetUID() != object.GetUID() {
		known = &set{pulls: map[string]started{}}
		s.byName[name] = known
	}
	known.object, known.kind = object, kind
	return known
}

// specs compares specs. Unlike the equalities of apimachinery it can compare a time.Time, which a spec has, too.
var specs = conversion.EqualitiesOrDie(
	func(a, b resource.Quantity) bool { return a.Equal(b) },
	func(a, b metav1.Time) bool { return a.Equal(&b) },
	func(a, b time.Time) bool { return a.Equal(b) },
)

// compile makes the planner if the spec has changed. It locks, because watches read the spec.
func (s *sets) compile(known *set, spec rollout.Spec) error {
	if known.planner != nil && specs.DeepEqual(known.spec, spec) {
		return nil
	}
	planner, err := rollout.New(spec)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known.spec, known.planner = spec, planner
	return nil
}

// pause lets a set whose spec is invalid continue with the last valid spec, paused: lost pods are replaced and updates that have
// begun are completed, but no update begins. The invalid spec may be one that somebody wrote to stop a rollout.
func (s *sets) pause(known *set) error {
	spec := known.spec
	spec.Strategy.Paused = true
	return s.compile(known, spec)
}

func (s *sets) concerned(by func(*set) bool) []reconcile.Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var requests []reconcile.Request
	for name, known := range s.byName {
		if by(known) {
			requests = append(requests, reconcile.Request{NamespacedName: name})
		}
	}
	return requests
}

// forget removes a set and returns it; nil: it was not known.
func (s *sets) forget(name types.NamespacedName) *set {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known := s.byName[name]
	delete(s.byName, name)
	return known
}
